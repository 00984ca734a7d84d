"""What a cell gave, put into words for the planner: one format for every method and world."""

from collections.abc import Sequence

from planner.surface import AGENT
from planner.types import Feedback, FeedbackKind, Step
from sandbox.types import CellResult, Fault, FaultKind

KIND_OF_FAULT = {
    FaultKind.CHECK: FeedbackKind.CHECK,
    FaultKind.RAISED: FeedbackKind.RAISED,
    FaultKind.LIMIT: FeedbackKind.LIMIT,
}


def of_check(faults: Sequence[Fault], state: str) -> Feedback:
    """The feedback for code that was refused before it ran."""
    listed = "\n".join(str(fault) for fault in faults)
    text = f"The code was not run. Mend this first:\n{listed}\n{_state(state)}"
    return Feedback(kind=FeedbackKind.CHECK, text=text, line=faults[0].line, faults=tuple(faults))


def of_reply(problem: str, state: str) -> Feedback:
    """The feedback where no reply could be used."""
    fault = Fault(FaultKind.CHECK, "reply", problem)
    return Feedback(kind=FeedbackKind.PARSE, text=f"Nothing was run: {problem}\n{_state(state)}", faults=(fault,))


def of_result(result: CellResult, steps: Sequence[Step], state: str) -> Feedback:
    """The feedback for code that ran until it ended or failed."""
    fault = result.fault
    ending = f"The code ended in an error.\n{fault}" if fault else "The code ran to its end; the task is not done yet."
    return Feedback(
        kind=KIND_OF_FAULT[fault.kind] if fault else FeedbackKind.UNFINISHED,
        text=_text(steps, result.output, ending, state),
        line=fault.line if fault else None,
        faults=result.faults,
        output=result.output,
    )


def of_end(kind: FeedbackKind, ending: str, output: str, steps: Sequence[Step], state: str) -> Feedback:
    """The feedback for code that was running when the episode ended."""
    faults = (Fault(FaultKind.LIMIT, "actions", ending),) if kind is FeedbackKind.LIMIT else ()
    return Feedback(kind=kind, text=_text(steps, output, ending, state), faults=faults, output=output)


def _text(steps: Sequence[Step], output: str, ending: str, state: str) -> str:
    acted = "".join(
        f"{number}. {AGENT}.{step.action} -> {step.observation.text}\n" for number, step in enumerate(steps, 1)
    )
    printed = f"Printed:\n{output}\n" if output else ""
    return f"{acted}{printed}{ending}\n{_state(state)}".rstrip()


def _state(state: str) -> str:
    return f"Current state: {state}" if state else ""
