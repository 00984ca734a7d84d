"""Events of an episode in words: for people who watch, and for comparisons."""

from collections.abc import Callable, Mapping
from typing import Any

from planbook.outcomes import outcome_of, score_of, why
from planbook.planner import NOT_JUDGED, Cell, Ending, Step, call_of
from planbook.wording import counted

NOTHING = "nothing (the recording ends here)"


def describe(kind: str, body: Any) -> str:
    """Return an event in words; its body as it is where there are none for its kind."""
    if body is None:
        return NOTHING
    return IN_WORDS[kind](body) if kind in IN_WORDS else str(body)


def _task(body: Any) -> str:
    return f"{body['task']['id']}: {body['task']['goal']}\n{body['observation']['text']}"


def _act(body: Any) -> str:
    step = Step.model_validate(body)
    return f"  line {step.line}: {call_of(step.action)} -> {step.observation.text}"


def _cell(body: Any) -> str:
    cell = Cell.model_validate(body)
    faults = "".join(f"\n  {fault}" for fault in cell.feedback.faults)
    return f"{cell.source}: {cell.feedback.kind}{faults}"


def _outcome(body: Any) -> str:
    ending = Ending.model_validate(body)
    after = f"after {counted(ending.actions, 'action')}{score_of(ending)}"
    if ending.cause == NOT_JUDGED:
        return f"{outcome_of(ending)}; {ending.message} ({after})"
    return f"{outcome_of(ending)}{why(ending)} {after}"


IN_WORDS: Mapping[str, Callable[[Any], str]] = {"task": _task, "act": _act, "cell": _cell, "outcome": _outcome}
