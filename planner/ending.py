"""How an episode stands: the world's verdict and what its cells gave, as one outcome."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planbook.envs import Verdict
from planbook.planner.types import Ending, Feedback, FeedbackKind, Outcome

NO_PLAN = "no_plan"
"""The cause of a failure in which no code was ever run."""
NOT_JUDGED = "not_judged"
"""The cause of a failure that may be none: the episode came to its end, and the world cannot say if it was solved."""


class Judgement(NamedTuple):
    """The world's judgement of a round; of several rounds, that of the greatest ``rank`` counts."""

    verdict: Verdict = Verdict(False, 0.0)
    milestones: tuple[str, ...] = ()
    measures: Mapping[str, float] = {}
    unjudged: str = ""
    """What it came to, where the world does not judge the task."""

    @property
    def rank(self) -> tuple[bool, float, int]:
        """By which the best is told."""
        return self.verdict.solved, self.verdict.score, len(self.milestones)


def ending_of(
    standing: Judgement, feedbacks: Sequence[Feedback], actions: int, *, used_up: bool, wrongly_done: int = 0
) -> Ending:
    """The ending by what is known now; ``used_up`` says whether an action was refused because none was left.

    ``wrongly_done`` is the number of plans that ran to their end and left the task undone, where each should do it.
    """
    errors = _errors(feedbacks) + wrongly_done
    outcome, cause = _outcome(standing.verdict, feedbacks, errors, used_up=used_up)
    unjudged = standing.unjudged if cause == FeedbackKind.DONE else ""
    return Ending(
        outcome=outcome,
        cause=NOT_JUDGED if unjudged else cause,
        message=unjudged,
        verdict=standing.verdict,
        actions=actions,
        error_steps=errors,
        milestones=standing.milestones,
        measures=standing.measures,
    )


def broken_ending(message: str, feedbacks: Sequence[Feedback] = (), actions: int = 0) -> Ending:
    """The ending of an episode that failed through no fault of the plan."""
    cause = Outcome.BROKEN.value
    errors = _errors(feedbacks)
    return Ending(outcome=Outcome.BROKEN, cause=cause, message=message, actions=actions, error_steps=errors)


def _outcome(verdict: Verdict, feedbacks: Sequence[Feedback], errors: int, *, used_up: bool) -> tuple[Outcome, str]:
    if verdict.solved:
        return (Outcome.INDIRECT_SUCCESS if errors else Outcome.DIRECT_SUCCESS), ""
    if used_up:
        return Outcome.OUT_OF_BUDGET, Outcome.OUT_OF_BUDGET.value
    return Outcome.FAILURE, feedbacks[-1].kind.value if feedbacks else NO_PLAN


def _errors(feedbacks: Sequence[Feedback]) -> int:
    return sum(feedback.is_error for feedback in feedbacks)
