"""The ending of an episode: its outcome, computed from the environment's verdict and the feedback on all cells.

A cell is a piece of plan code that is run as a unit. A round is the part of an episode between two resets of the
environment.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planbook.envs import Verdict
from planbook.planner.types import Ending, Feedback, FeedbackKind, Outcome

NO_PLAN = "no_plan"
"""The cause of a failure if the episode has no cells, or if it ended because no reply held a usable plan."""
NOT_JUDGED = "not_judged"
"""The cause of a failure if the environment ended its episode, but cannot judge whether the task was solved."""


class Judgement(NamedTuple):
    """The environment's judgement of one round. For an episode, the judgement with the highest ``rank`` counts."""

    verdict: Verdict = Verdict(False, 0.0)
    milestones: tuple[str, ...] = ()
    measures: Mapping[str, float] = {}
    unjudged: str = ""
    """If the environment cannot judge whether the task was solved: the result in words. Otherwise empty."""

    @property
    def rank(self) -> tuple[bool, float, int]:
        """The sort key of judgements. The best round has the highest rank."""
        return self.verdict.solved, self.verdict.score, len(self.milestones)

    def ending(
        self, feedbacks: Sequence[Feedback], actions: int, *, used_up: bool, incomplete: int = 0, no_plan: str = ""
    ) -> Ending:
        """Return the ending of an episode that ends now.

        ``used_up`` is True if an action was refused because no actions were left. ``incomplete`` is the number of plans
        that should have done the whole task, but ran to their end without doing it. ``no_plan`` says why there was no
        usable plan, if the episode ended for that reason. If the last cell has recorded another problem of this kind,
        for example with the replies of another role, the message names both.
        """
        errors = _count_errors(feedbacks) + incomplete
        outcome, cause = _outcome(self.verdict, feedbacks, errors, used_up=used_up)
        is_done = cause == FeedbackKind.DONE
        fault = self.verdict.fault if is_done or cause == FeedbackKind.UNFINISHED else ""
        if cause == FeedbackKind.PARSE:
            fault = feedbacks[-1].faults[0].message
        if no_plan and outcome is Outcome.FAILURE and no_plan != fault:
            problems = [fault, no_plan] if cause == FeedbackKind.PARSE else [no_plan]
            cause, fault, is_done = NO_PLAN, "; ".join(problems), False
        return Ending(
            outcome=outcome,
            cause=NOT_JUDGED if self.unjudged and is_done else cause,
            message=(self.unjudged if is_done else "") or fault,
            verdict=self.verdict,
            actions=actions,
            error_steps=errors,
            milestones=self.milestones,
            measures=self.measures,
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
