"""The ending of an episode. It follows from the environment's verdict and from the feedback of the cells.

A cell is a piece of plan code that is run as a unit. A round is the part of an episode between two resets of the
environment.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planbook.envs import Verdict
from planbook.planner.types import Ending, Feedback, FeedbackKind, Outcome

NO_PLAN = "no_plan"
"""Cause of a failure if the episode has no cells, or ended because no reply held a usable plan."""
NOT_JUDGED = "not_judged"
"""Cause of a failure if the environment ended its episode, but cannot judge whether the task was solved."""


class Judgement(NamedTuple):
    """The environment's judgement of one round. Of several judgements, the one with the highest ``rank`` counts."""

    verdict: Verdict = Verdict(False, 0.0)
    milestones: tuple[str, ...] = ()
    measures: Mapping[str, float] = {}
    unjudged: str = ""
    """The result in words if the environment does not judge the task, otherwise empty."""

    @property
    def rank(self) -> tuple[bool, float, int]:
        """The sort key. The best round has the highest."""
        return self.verdict.solved, self.verdict.score, len(self.milestones)


def ending_of(
    judgement: Judgement,
    feedbacks: Sequence[Feedback],
    actions: int,
    *,
    used_up: bool,
    incomplete: int = 0,
    no_plan: str = "",
) -> Ending:
    """Return the ending for the current state. ``used_up`` is True if an action was refused because none were left.

    ``incomplete`` is the number of plans that should have done the whole task, but ran to their end without doing it.
    ``no_plan`` says why there was no usable plan, if the episode ended for that reason.
    """
    errors = _count_errors(feedbacks) + incomplete
    outcome, cause = _outcome(judgement.verdict, feedbacks, errors, used_up=used_up)
    is_done = cause == FeedbackKind.DONE
    fault = judgement.verdict.fault if is_done or cause == FeedbackKind.UNFINISHED else ""
    if cause == FeedbackKind.PARSE:
        fault = feedbacks[-1].faults[0].message
    elif no_plan and outcome is Outcome.FAILURE:
        cause, fault, is_done = NO_PLAN, no_plan, False
    return Ending(
        outcome=outcome,
        cause=NOT_JUDGED if judgement.unjudged and is_done else cause,
        message=(judgement.unjudged if is_done else "") or fault,
        verdict=judgement.verdict,
        actions=actions,
        error_steps=errors,
        milestones=judgement.milestones,
        measures=judgement.measures,
    )


def broken_ending(message: str, feedbacks: Sequence[Feedback] = (), actions: int = 0) -> Ending:
    """Return the ending of an episode that failed because of the environment or the engine, not because of the plan."""
    cause = Outcome.BROKEN.value
    errors = _count_errors(feedbacks)
    return Ending(outcome=Outcome.BROKEN, cause=cause, message=message, actions=actions, error_steps=errors)


def _outcome(verdict: Verdict, feedbacks: Sequence[Feedback], errors: int, *, used_up: bool) -> tuple[Outcome, str]:
    if verdict.solved:
        return (Outcome.INDIRECT_SUCCESS if errors else Outcome.DIRECT_SUCCESS), ""
    if used_up:
        return Outcome.OUT_OF_BUDGET, Outcome.OUT_OF_BUDGET.value
    return Outcome.FAILURE, feedbacks[-1].kind.value if feedbacks else NO_PLAN


def _count_errors(feedbacks: Sequence[Feedback]) -> int:
    return sum(feedback.is_error for feedback in feedbacks)
