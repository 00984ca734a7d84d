"""What a cell gave, put into words for the planner: one format for every method and world."""

from collections.abc import Sequence

from envs import Environment
from planner.surface import AGENT
from planner.types import Feedback, FeedbackKind, Step
from sandbox.types import CellResult, Fault, FaultKind

KIND_OF_FAULT = {
    FaultKind.CHECK: FeedbackKind.CHECK,
    FaultKind.RAISED: FeedbackKind.RAISED,
    FaultKind.LIMIT: FeedbackKind.LIMIT,
}


def of_check(faults: Sequence[Fault], world: Environment) -> Feedback:
    """The feedback for code that was refused before it ran."""
    listed = "\n".join(str(fault) for fault in faults)
    text = f"The code was not run. Mend this first:\n{listed}\n{_state(world)}"
    return Feedback(kind=FeedbackKind.CHECK, text=text, line=faults[0].line, faults=tuple(faults))


def of_reply(problem: str, world: Environment) -> Feedback:
    """The feedback where no reply could be used."""
    fault = Fault(FaultKind.CHECK, "reply", problem)
    return Feedback(kind=FeedbackKind.PARSE, text=f"Nothing was run: {problem}\n{_state(world)}", faults=(fault,))


def of_result(result: CellResult, steps: Sequence[Step], world: Environment) -> Feedback:
    """The feedback for code that ran until it ended or failed."""
    fault = result.fault
    ending = f"The code ended in an error.\n{fault}" if fault else "The code ran to its end; the task is not done yet."
    return Feedback(
        kind=KIND_OF_FAULT[fault.kind] if fault else FeedbackKind.UNFINISHED,
        text=_text(steps, result.output, ending, world, seen=_seen(steps, world)),
        line=fault.line if fault else None,
        faults=result.faults,
        output=result.output,
    )


def of_end(kind: FeedbackKind, ending: str, output: str, steps: Sequence[Step], world: Environment) -> Feedback:
    """The feedback for code that was running when the episode ended."""
    faults = (Fault(FaultKind.LIMIT, "actions", ending),) if kind is FeedbackKind.LIMIT else ()
    return Feedback(kind=kind, text=_text(steps, output, ending, world), faults=faults, output=output)


def _text(steps: Sequence[Step], output: str, ending: str, world: Environment, seen: str = "") -> str:
    acted = "".join(
        f"{number}. {AGENT}.{step.action} -> {world.brief(step.observation)}\n" for number, step in enumerate(steps, 1)
    )
    printed = f"Printed:\n{output}\n" if output else ""
    return "\n".join(part.rstrip() for part in (f"{acted}{printed}{ending}", seen, _state(world)) if part)


def _seen(steps: Sequence[Step], world: Environment) -> str:
    """What stands after the last step, if the step's line does not tell it."""
    last = steps[-1].observation if steps else None
    return f"What is there now:\n{last.text}" if last and world.brief(last) != last.text else ""


def _state(world: Environment) -> str:
    state = world.state()
    return f"Current state: {state}" if state else ""
