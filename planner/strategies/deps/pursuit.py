"""Reach goals one after the other: by one action each, or by a controller if a goal takes several (appendix A.1).

The controller is a model that chooses each action. The figures count rounds of planning and goals tried.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from math import isfinite
from typing import NamedTuple, Self

from pydantic import Field, JsonValue

from planbook.envs import Action
from planbook.planner.agent import call_of
from planbook.planner.episode import Episode
from planbook.planner.errors import EpisodeBroken, EpisodeOver, UnusableReply
from planbook.planner.models.types import Message
from planbook.planner.prompts import PROMPTS
from planbook.planner.scope import Scope
from planbook.planner.spans import Payload, status_of
from planbook.planner.strategies.base import Figures, Options, Played, format_figure, mean_of
from planbook.planner.strategies.deps.goals import Goal, GoalPlan
from planbook.planner.strategies.deps.selectors import Candidate, Choice, Selector, select

CONTROLLER = "controller"
_ANSWER = re.compile(
    r"""(?P<prefix>.*\banswer(?:\s+is\b|[^\w:=]*[:=]))?\W*
    (?:(?P<number>\d{1,4})\b(?!.*\b(?:\d+|done|impossible)\b)|(?P<word>done|impossible)\b)\W*
    (?(prefix)(?P<why>.*))""",
    re.IGNORECASE | re.VERBOSE,
)
"""A decision, in a line that holds no second one after a number.

Without the word "answer", the decision must be the whole line, since it could be part of a sentence.
"""


class Move(NamedTuple):
    """A controller's decision: the index of an action; or None to end, and whether the goal is done."""

    number: int | None
    done: bool = False
    why: str = ""


def control(episode: Episode, goal: Action, max_actions: int) -> tuple[bool, str]:
    """Try to reach a goal with at most ``max_actions`` actions. Return whether it was reached, and the reason.

    Raises EpisodeOver if the episode ends on the way.
    """
    environment = episode.environment
    history: Sequence[Message] = [PROMPTS["deps/controller"].system(about=environment.about)]
    seen = episode.steps[-1].observation.text if episode.steps else environment.scene()
    with episode.frame("control") as frame:
        for left in reversed(range(max_actions + 1)):
            possible = _possible_actions(episode)
            try:
                answer = frame.scope.ask(
                    CONTROLLER,
                    PROMPTS["deps/control"],
                    read=partial(read_move, count=len(possible)),
                    history=history,
                    goal=call_of(goal),
                    seen=seen,
                    state=environment.state(),
                    possible=[call_of(action) for action in possible],
                    left=left,
                )
            except UnusableReply as unusable:
                return False, str(unusable)
            if answer.value.number is None:
                return answer.value.done, answer.value.why
            if left:
                feedback = episode.run(call_of(possible[answer.value.number]), source=CONTROLLER)
                seen, history = episode.steps[-1].observation.text if episode.steps else feedback.text, answer.history
    return False, f"The goal was not reached within {max_actions} actions."


def read_move(text: str, count: int) -> Move:
    """Return the decision in a reply's last line. Raises ValueError if there is none, or no action with that number."""
    lines = [line for line in text.splitlines() if line.strip()]
    match = _ANSWER.fullmatch(lines[-1]) if lines else None
    if match is None:
        raise ValueError(
            "the last line holds no decision; end with 'Answer: ' and a number, 'done' or 'impossible: why'"
        )
    if match["number"]:
        if not 1 <= int(match["number"]) <= count:
            raise ValueError(f"there is no action {match['number']}; the list goes from 1 to {count}")
        return Move(int(match["number"]) - 1)
    done = match["word"].lower() == "done"
    return Move(None, done, (match["why"] or "").strip() or ("" if done else "The controller found it impossible."))


def _possible_actions(episode: Episode) -> Sequence[Action]:
    possible = episode.environment.possible_actions()
    if possible is None:
        raise EpisodeBroken(
            f"the goals of {episode.environment.name} need a controller, and its actions cannot be listed: "
            "the environment must implement possible_actions()"
        )
    return possible


GOAL = "goal"
CLAIM_AUTHOR = "the goals of the last plan"


class GoalTried(Payload):
    """A goal that was tried. Goals are recorded as calls in plan code."""

    span = "goal"

    goal: str
    """The goal in the plan."""
    chosen: str = ""
    """The goal as it was tried, which may be another way to the same result."""
    done: bool | None = None
    """None while it is being tried."""
    reason: str = ""
    """The reason of the result, above all of a failure."""
    round: int | None = None
    """Number of replans so far; 0 for the first plan."""
    line: int | None = None
    """Line in the plan."""
    selector: str = ""
    """Name of the selector that chose it."""
    candidates: tuple[str, ...] = ()
    """Goals that could be tried at that moment."""
    predicted: tuple[float | None, ...] = ()
    """Number of time steps predicted for each candidate; None if not finite. Empty if the selector predicts none."""
    said: str = ""
    """Text of the plan that was not a valid call and was mapped to this goal; empty for a valid call."""
    features: dict[str, JsonValue] = {}
    """Features for the prediction."""
    horizon: float | None = None
    """Number of time steps to the goal, as the environment computes it; None if it cannot be reached."""
    actions: int = 0

    @property
    def title(self) -> str:
        """The goal as it was tried."""
        return self.chosen or self.goal

    @property
    def status(self) -> str:
        """The result as a status."""
        return status_of(self.done)


class PursuitOptions(Options):
    """Options of methods that pursue goals."""

    controller_steps: int = Field(
        default=50, ge=1, description="Maximum number of actions per goal, in environments that need a controller."
    )


class GoalResult(NamedTuple):
    """A goal and its result. ``call`` is the goal as it was tried, which may differ from the plan's."""

    goal: Goal
    call: str
    done: bool
    reason: str = ""


class PursuitResult(NamedTuple):
    """The result of a plan: the goals tried and the goals left. Only the last goal tried may have failed."""

    tried: Sequence[GoalResult]
    left: Sequence[Goal]
    controlled: bool = False
    """True if a controller pursued the goals, so that its reasons are the only report."""

    @property
    def failed(self) -> GoalResult | None:
        """The goal that failed and ended the plan; None if none did."""
        return self.tried[-1] if self.tried and not self.tried[-1].done else None

    @property
    def claim(self) -> bool | None:
        """True if every goal was reached, False if one failed; None if no goal was tried."""
        return self.tried[-1].done if self.tried else None

    @property
    def done(self) -> Sequence[GoalResult]:
        """The goals that were reached."""
        return [tried for tried in self.tried if tried.done]

    @property
    def mapped(self) -> Sequence[Goal]:
        """The goals to which lines of the plan that were not valid calls have been mapped."""
        return [goal for goal in (*(tried.goal for tried in self.tried), *self.left) if goal.said]


class Pursuit:
    """Reaches goals in the innermost frame. Without a selector, it takes them in the plan's order."""

    def __init__(self, episode: Episode, scope: Scope, options: PursuitOptions, selector: Selector | None) -> None:
        self._episode, self._scope, self._options, self._selector = episode, scope, options, selector
        self._plans = 0

    def follow(self, plan: GoalPlan) -> PursuitResult:
        """Try the goals until one fails. Raises EpisodeOver if the episode ends."""
        tried: list[GoalResult] = []
        left = list(plan.goals)
        self._plans += 1
        while left and (not tried or tried[-1].done):
            choice = self._choose([goal.action for goal in left])
            tried.append(self._try(left.pop(choice.chosen.place), choice))
        return PursuitResult(tried, left, controlled=not self._episode.environment.goals.direct)

    def _choose(self, left: Sequence[Action]) -> Choice:
        if self._selector is None:
            return Choice(Candidate(0, left[0]), ())
        return select(self._episode.environment.goals, left, self._selector)

    def _try(self, goal: Goal, choice: Choice) -> GoalResult:
        """Try one goal, and record the data from which selectors learn."""
        action, goals = choice.chosen.action, self._episode.environment.goals
        span = self._scope.span(
            GoalTried(
                round=self._plans - 1,
                goal=goal.call,
                line=goal.line,
                said=goal.said,
                selector=self._selector.name if self._selector else "",
                candidates=tuple(call_of(candidate.action) for candidate in choice.candidates),
                predicted=tuple(map(_rounded, choice.horizons)),
                chosen=call_of(action),
                features=dict(goals.features(action)),
                horizon=_rounded(goals.horizon(action)),
            )
        )
        first_step = len(self._episode.steps)
        try:
            done, reason = self._reach(action)
        except EpisodeOver as over:
            if last := self._episode.steps[first_step:][-1:]:  # without an action, it was not tried
                done = self._episode.environment.ended and last[0].observation.accepted
                reason = last[0].observation.text if done else str(over)
                span.end(actions=len(self._episode.steps) - first_step, done=done, reason=reason)
            raise
        span.end(actions=len(self._episode.steps) - first_step, done=done, reason=reason)
        return GoalResult(goal, call_of(action), done, reason)

    def _reach(self, action: Action) -> tuple[bool, str]:
        """Try to reach the goal. Return whether it was reached, and the reason."""
        episode = self._episode
        if not episode.environment.goals.direct:
            return control(episode, action, self._options.controller_steps)
        first_step = len(episode.steps)
        feedback = episode.run(call_of(action), source=GOAL)
        if len(episode.steps) == first_step:
            return False, feedback.text
        return episode.steps[-1].observation.accepted, episode.steps[-1].observation.text


def _rounded(number: float) -> float | None:
    """Return the number rounded, so that a journal repeats it exactly; None if it is not finite."""
    return round(number, 3) if isfinite(number) else None


MAX_REASONS, SHOWN_REASONS, MAX_REASON_LENGTH = 20, 3, 200
"""Number of reasons counted, number of those shown in the terminal, and maximum characters of each."""


class GoalFigures(Figures):
    """The figures under ``goals`` in ``--json``.

    Rounds are those of played episodes in which a goal was tried; they count from 0.
    """

    key = "goals"

    mean_rounds: float | None
    most_rounds: int
    rounds: dict[int, int]
    """Numbers of episodes, by number of replans."""
    solved_by_rounds: dict[int, int]
    """Numbers of solved episodes, by number of replans."""
    tried: int
    done: int
    failed: int
    mapped: int
    """Number of plan lines that were not valid calls and were mapped to a known goal."""
    selectors: tuple[str, ...]
    reasons: dict[str, int]
    """Numbers of failed goals by reason (its first sentence), for the most frequent reasons."""

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        """Count over a run. Return None if no goal was tried."""
        pairs = [(played.ending, played.held(GoalTried)) for played in episodes]
        goals = [goal for _, of_episode in pairs for goal in of_episode]
        if not goals:
            return None
        played = [pair for pair in pairs if pair[0].outcome.played and pair[1]]
        replans = [(rounds(of_episode), ending.outcome.solved) for ending, of_episode in played]
        failed = [goal for goal in goals if not goal.done]
        return cls(
            mean_rounds=mean_of(number for number, _ in replans),
            most_rounds=max((number for number, _ in replans), default=0),
            rounds=dict(sorted(Counter(number for number, _ in replans).items())),
            solved_by_rounds=dict(sorted(Counter(number for number, solved in replans if solved).items())),
            tried=len(goals),
            done=len(goals) - len(failed),
            failed=len(failed),
            mapped=sum(bool(goal.said) for goal in goals),
            selectors=tuple(sorted({goal.selector for goal in goals if goal.selector})),
            reasons=dict(Counter(_first_sentence(goal.reason) for goal in failed).most_common(MAX_REASONS)),
        )

    def tell(self) -> Iterable[str]:
        """Return the rounds and the goals."""
        chosen = f"; selector: {', '.join(self.selectors)}" if self.selectors else ""
        mapped = f"; lines mapped to a known goal: {self.mapped}" if self.mapped else ""
        yield (
            f"Replanned {format_figure(self.mean_rounds)} times per task, {self.most_rounds} at most; "
            f"goals tried {self.tried}, done {self.done}, failed {self.failed}{chosen}{mapped}."
        )
        reasons = [f"{reason} ({count})" for reason, count in list(self.reasons.items())[:SHOWN_REASONS]]
        if reasons:
            yield f"Why goals failed: {'; '.join(reasons)}."


def _first_sentence(reason: str) -> str:
    """Return the first sentence. The rest describes the moment, such as the inventory."""
    return reason.partition(". ")[0].partition("\n")[0][:MAX_REASON_LENGTH]


def rounds(goals: Sequence[GoalTried]) -> int:
    """Return the number of replans in an episode. In old runs it follows from the goals: each failure ends a plan."""
    recorded = [goal.round for goal in goals if goal.round is not None]
    return max(recorded, default=sum(not goal.done for goal in goals[:-1]))
