"""The feedback on a cell: a report for the planner on the effects of its plan code.

A cell is a piece of plan code that is run as a unit. Feedback has the same format for all methods and environments.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from planbook.envs import Environment, Observation
from planbook.planner.agent import format_call
from planbook.planner.errors import CellOver, EpisodeOver, environment_errors
from planbook.planner.types import Feedback, FeedbackKind, RenderedText, Step
from planbook.sandbox import CellResult, Fault, FaultKind

LAST_OBSERVATION = "Current observation:\n"
"""Heading of the last observation's full text, which is added if the report shows only its short form."""


@dataclass(frozen=True)
class CellSteps:
    """The steps that a cell took. ``previous`` is the observation before the first of these steps."""

    environment: Environment
    steps: Sequence[Step]
    previous: Observation

    def join(self, output: str, faults: Sequence[Fault], *parts: str) -> RenderedText:
        """Join the parts into one text. Its digest is made from the steps, ``previous``, the output and the faults.

        So if the parts are reworded, recorded replies to prompts with this text are still found.
        """
        steps = [(step.action, step.observation) for step in self.steps]
        return RenderedText.of("\n".join(part.rstrip() for part in parts if part), steps, self.previous, output, faults)

    @cached_property
    @environment_errors()
    def briefs(self) -> Sequence[str]:
        """The short form of the observation after each step, as the environment describes it."""
        previous = [self.previous, *(step.observation for step in self.steps)]
        pairs = zip(self.steps, previous, strict=False)
        return [self.environment.brief(step.observation, before) for step, before in pairs]

    def report(self, output: str) -> RenderedText:
        """Return a line for each action, with the short form of its observation, and then the printed output."""
        actions = [
            f"{number}. {format_call(step.action)} -> {brief}"
            for number, (step, brief) in enumerate(zip(self.steps, self.briefs, strict=True), 1)
        ]
        printed = [f"Printed:\n{self.without_repeats(output)}"] if output else []
        return self.join(output, (), "\n".join([*actions, *printed]))

    def without_repeats(self, text: str) -> str:
        """Return the text with a short note in place of each observation that the report already shows in full."""
        notes = {
            brief: f"[what action {number} returned]"
            for number, (step, brief) in enumerate(zip(self.steps, self.briefs, strict=True), 1)
            if brief == step.observation.text
        }
        for brief, note in sorted(notes.items(), key=lambda pair: -len(pair[0])):
            text = text.replace(brief, note) if len(brief) > len(note) else text
        return text

    def last_observation(self) -> str:
        """Return the last observation in full, or "" if the report already shows it."""
        if not self.steps or self.briefs[-1] == (text := self.steps[-1].observation.text):
            return ""
        return f"{LAST_OBSERVATION}{text}"


def check_feedback(faults: Sequence[Fault], environment: Environment) -> Feedback:
    """Return the feedback for code that was refused before it ran."""
    fault_lines = "\n".join(str(fault) for fault in faults)
    text = RenderedText.of(
        f"The code was not run. Correct this first:\n{fault_lines}\n{_state(environment)}", faults, environment.state()
    )
    return Feedback(kind=FeedbackKind.CHECK, text=text, line=faults[0].line, faults=tuple(faults))


def reply_feedback(problem: str, environment: Environment) -> Feedback:
    """Return the feedback for a reply without usable code."""
    fault = Fault(FaultKind.CHECK, "reply", problem)
    text = RenderedText.of(f"No code was run: {problem}\n{_state(environment)}", environment.state())
    return Feedback(kind=FeedbackKind.PARSE, text=text, faults=(fault,))


def part_feedback(result: CellResult, faults: Sequence[Fault], last_run_line: int, steps: CellSteps) -> Feedback:
    """Return the feedback for code that ran up to ``last_run_line``. The code after that line was refused."""
    fault_lines = "\n".join(str(fault) for fault in faults)
    status = f"The code ran up to line {last_run_line}; the rest was not run. Correct this first:\n{fault_lines}"
    return _feedback(FeedbackKind.CHECK, status, result.output, steps, faults)


def cut_feedback(result: CellResult, last_run_line: int, steps: CellSteps) -> Feedback:
    """Return the feedback for code that is incomplete because the reply broke off within it."""
    status = _unfinished_status(f"The reply broke off. Its code ran up to line {last_run_line}", steps.environment)
    return _feedback(FeedbackKind.UNFINISHED, status, result.output, steps)


def result_feedback(result: CellResult, steps: CellSteps) -> Feedback:
    """Return the feedback for code that ran to its end or ended in an error."""
    if (fault := result.fault) is None:
        status = _unfinished_status("The code ran to its end", steps.environment)
        return _feedback(FeedbackKind.UNFINISHED, status, result.output, steps, result.faults)
    status = f"The code ended in an error.\n{steps.without_repeats(str(fault))}"
    return _feedback(FeedbackKind(fault.kind), status, result.output, steps, result.faults)


def end_feedback(cause: CellOver | EpisodeOver, output: str, steps: CellSteps) -> Feedback:
    """Return the feedback for code during which ``cause`` ended the cell or the whole episode."""
    kind = FeedbackKind.DONE if steps.environment.ended else FeedbackKind.LIMIT
    kind = kind if isinstance(cause, EpisodeOver) else FeedbackKind.UNFINISHED
    faults = (Fault(FaultKind.LIMIT, "actions", str(cause)),) if kind is FeedbackKind.LIMIT else ()
    text = steps.join(output, faults, steps.report(output), str(cause), _state(steps.environment))
    return Feedback(kind=kind, text=text, faults=faults, output=output)


def _unfinished_status(progress: str, environment: Environment) -> str:
    """Return the status of code that did not end the episode. ``progress`` says how far the code ran."""
    if environment.submits and (answer := environment.answer_action):
        return f"{progress}. Call agent.{answer}(value) when the task is done."
    return f"{progress}; the task is not done yet."


def _feedback(kind: FeedbackKind, status: str, output: str, steps: CellSteps, faults: Sequence[Fault] = ()) -> Feedback:
    parts = steps.report(output), status, steps.last_observation(), _state(steps.environment)
    text = steps.join(output, faults, *parts)
    line = faults[0].line if faults else None
    return Feedback(kind=kind, text=text, line=line, faults=tuple(faults), output=output)


@environment_errors()
def _state(environment: Environment) -> str:
    state = environment.state()
    return f"Current state: {state}" if state else ""
