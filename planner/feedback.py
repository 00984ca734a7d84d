"""Feedback: the result of a cell in words, in one format for every method and environment."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from planbook.envs import Environment, Observation
from planbook.planner.agent import call_of
from planbook.planner.rendered import Rendered
from planbook.planner.types import Feedback, FeedbackKind, Step
from planbook.sandbox import CellResult, Fault, FaultKind

KIND_OF_FAULT = {
    FaultKind.CHECK: FeedbackKind.CHECK,
    FaultKind.RAISED: FeedbackKind.RAISED,
    FaultKind.LIMIT: FeedbackKind.LIMIT,
}


@dataclass(frozen=True)
class Ran:
    """The steps that a cell took; ``before`` is the observation before the first of them."""

    environment: Environment
    steps: Sequence[Step]
    before: Observation

    def feedback(self, output: str, faults: Sequence[Fault], *parts: str) -> Rendered:
        """Return the parts as one text, made from the steps, the output and the faults."""
        steps = [(step.action, step.observation) for step in self.steps]
        return Rendered.of("\n".join(part.rstrip() for part in parts if part), steps, self.before, output, faults)

    @cached_property
    def briefs(self) -> Sequence[str]:
        """Return a short form of each action's observation."""
        befores = [self.before, *(step.observation for step in self.steps)]
        return [
            self.environment.brief(step.observation, before) for step, before in zip(self.steps, befores, strict=False)
        ]

    def told(self, output: str) -> Rendered:
        """Return every action with a short observation, and the output."""
        acted = [
            f"{number}. {call_of(step.action)} -> {brief}"
            for number, (step, brief) in enumerate(zip(self.steps, self.briefs, strict=True), 1)
        ]
        printed = [f"Printed:\n{self.without_repeats(output)}"] if output else []
        return self.feedback(output, (), "\n".join([*acted, *printed]))

    def without_repeats(self, text: str) -> str:
        """Return a text in which each observation that stands in full beside its action is replaced by a mark."""
        marks = {
            brief: f"[what action {number} returned]"
            for number, (step, brief) in enumerate(zip(self.steps, self.briefs, strict=True), 1)
            if brief == step.observation.text
        }
        for told, mark in sorted(marks.items(), key=lambda each: -len(each[0])):
            text = text.replace(told, mark) if len(told) > len(mark) else text
        return text

    def seen(self) -> str:
        """Return the last observation in full, unless its line already holds it."""
        last = self.steps[-1].observation if self.steps else None
        told = last is None or self.environment.brief(last, self.before) == last.text
        return "" if last is None or told else f"What is there now:\n{last.text}"


def of_check(faults: Sequence[Fault], environment: Environment) -> Feedback:
    """Return the feedback for code that was refused before it ran."""
    listed = "\n".join(str(fault) for fault in faults)
    text = Rendered.of(
        f"The code was not run. Mend this first:\n{listed}\n{_state(environment)}", faults, environment.state()
    )
    return Feedback(kind=FeedbackKind.CHECK, text=text, line=faults[0].line, faults=tuple(faults))


def of_reply(problem: str, environment: Environment) -> Feedback:
    """Return the feedback for a reply without usable code."""
    fault = Fault(FaultKind.CHECK, "reply", problem)
    text = Rendered.of(f"Nothing was run: {problem}\n{_state(environment)}", environment.state())
    return Feedback(kind=FeedbackKind.PARSE, text=text, faults=(fault,))


def of_rest(result: CellResult, faults: Sequence[Fault], ran_to: int, ran: Ran) -> Feedback:
    """Return the feedback for code that ran up to a line, before the rest was refused."""
    listed = "\n".join(str(fault) for fault in faults)
    ending = f"The code ran up to line {ran_to}; what follows was not run. Mend this first:\n{listed}"
    return _of_run(FeedbackKind.CHECK, ending, result.output, ran, faults)


def of_cut(result: CellResult, ran_to: int, ran: Ran) -> Feedback:
    """Return the feedback for code that broke off with its reply."""
    ending = f"The reply broke off. Its code ran up to line {ran_to}; the task is not done yet."
    return _of_run(FeedbackKind.UNFINISHED, ending, result.output, ran)


def of_result(result: CellResult, ran: Ran) -> Feedback:
    """Return the feedback for code that ran until it ended or failed."""
    if (fault := result.fault) is None:
        ended = "The code ran to its end; the task is not done yet."
        return _of_run(FeedbackKind.UNFINISHED, ended, result.output, ran, result.faults)
    ending = f"The code ended in an error.\n{ran.without_repeats(str(fault))}"
    return _of_run(KIND_OF_FAULT[fault.kind], ending, result.output, ran, result.faults)


def of_end(kind: FeedbackKind, ending: str, output: str, ran: Ran) -> Feedback:
    """Return the feedback for code that was running when the episode ended."""
    faults = (Fault(FaultKind.LIMIT, "actions", ending),) if kind is FeedbackKind.LIMIT else ()
    text = ran.feedback(output, faults, ran.told(output), ending, _state(ran.environment))
    return Feedback(kind=kind, text=text, faults=faults, output=output)


def _of_run(kind: FeedbackKind, ending: str, output: str, ran: Ran, faults: Sequence[Fault] = ()) -> Feedback:
    text = ran.feedback(output, faults, ran.told(output), ending, ran.seen(), _state(ran.environment))
    line = faults[0].line if faults else None
    return Feedback(kind=kind, text=text, line=line, faults=tuple(faults), output=output)


def _state(environment: Environment) -> str:
    state = environment.state()
    return f"Current state: {state}" if state else ""
