"""Hooks of the shopping agent's graph: its browsing history, and a check that each step is a single call."""

from pydantic import JsonValue

from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.hooking import (
    AnswerRejected,
    ComposeContext,
    answers_text,
    calls_in,
    history_of,
    history_text,
    keep_answer_as,
)

LABELS = {"page": "Page", "plan": "Plan", "did": "Done"}
"""Maps the fields of a history entry to their labels in the prompt, in the order shown."""


def browsing(context: ComposeContext) -> str:
    """Return the history of all earlier steps, and then the answers of the nodes in ``after``."""
    history = history_text(history_of(context.database), LABELS)
    return f"# The browsing so far\n\n{history}\n\n{answers_text(context.node.after, context.answers)}"


note_page, note_action, note_plan = keep_answer_as("page"), keep_answer_as("did"), keep_answer_as("plan")


def one_call(answer: JsonValue, database: GraphDatabase) -> JsonValue:
    """Accept only code with a single call of an action, since each step is one action."""
    if (count := len(calls_in(str(answer)))) != 1:
        raise AnswerRejected(
            f"the code must make exactly one call of an action, but it makes {count}. Write only the next one."
        )
    return answer
