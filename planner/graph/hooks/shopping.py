"""Hooks of the shopping agent: its browsing history, and the check that a step is one call."""

from pydantic import JsonValue

from planbook.planner.graph.database import GraphDatabase, answers_text, calls_in, steps, table
from planbook.planner.graph.hooking import AfterQueryError, Composing, keep_answer_as

LABELS = {"page": "Page", "plan": "Plan", "did": "Done"}
"""The parts of a step in the history, in this order."""


def browsing(composing: Composing) -> str:
    """Return the history of the steps so far, and the answers of ``after``."""
    history = table(steps(composing.database), LABELS)
    return f"# The browsing so far\n\n{history}\n\n{answers_text(composing.node.after, composing.answers)}"


note_page, note_action, note_plan = keep_answer_as("page"), keep_answer_as("did"), keep_answer_as("plan")


def one_call(answer: JsonValue, database: GraphDatabase) -> JsonValue:
    """Accept code that calls one action once: a step is one action. Raises AfterQueryError."""
    if (count := len(calls_in(str(answer)))) != 1:
        raise AfterQueryError(f"the code must call one action, once; it has {count} calls. Write the one for now.")
    return answer
