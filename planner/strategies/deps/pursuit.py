"""Reach the goals of a plan one after the other.

In some environments, each goal is a single action. In all others, a controller reaches the goals: a model that chooses
one action at a time (DEPS paper, appendix A.1). The figures are statistics of a run: how often the method planned
again, and how many goals it tried and reached.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from math import isfinite
from typing import NamedTuple, Self

from pydantic import Field, JsonValue

from planbook.envs import Action
from planbook.planner.agent import format_call
from planbook.planner.episode import Episode
from planbook.planner.errors import EpisodeBroken, EpisodeOver, UnusableReply
from planbook.planner.journal import Payload, status_of
from planbook.planner.models.types import Message
from planbook.planner.prompts import PROMPTS
from planbook.planner.scope import Scope
from planbook.planner.strategies.base import Options, system_message
from planbook.planner.strategies.deps.goals import Goal, GoalPlan
from planbook.planner.strategies.deps.selectors import Choice, Selector, select
from planbook.planner.strategies.figures import Figures, PlayedEpisode, format_figure, mean_of

CONTROLLER = "controller"
_ANSWER = re.compile(
    r"""(?P<prefix>.*\banswer(?:\s+is\b|[^\w:=]*[:=]))?\W*
    (?:(?P<number>\d{1,4})\b(?!.*\b(?:\d+|done|impossible)\b)|(?P<word>done|impossible)\b)\W*
    (?(prefix)(?P<why>.*))""",
    re.IGNORECASE | re.VERBOSE,
)
"""Matches the last line of a controller's reply if it holds a decision: a number, "done" or "impossible".

No other decision may follow a number. A line without the word "answer" must consist of the decision alone, since a
number or a word such as "done" may have another meaning in a sentence.
"""


class Move(NamedTuple):
    """A controller's decision: to take an action, or to stop pursuing the goal."""

    number: int | None
    """Index of the action to take, or None if the controller stops."""
    done: bool = False
    """If the controller stops: True if it considers the goal reached."""
    why: str = ""
    """If the controller stops: the reason that it gives."""


def control(episode: Episode, goal: Action, max_actions: int) -> tuple[bool, str]:
    """Let the controller try to reach a goal with at most ``max_actions`` actions.

    Return True if the controller considers the goal reached, otherwise False, and the reason for this result. Raises
    EpisodeOver if the episode ends first.
    """
    environment = episode.environment
    history: Sequence[Message] = [system_message(episode, "deps/controller")]
    observation = episode.steps[-1].observation.text if episode.steps else environment.scene()
    with episode.frame("control") as frame:
        for actions_left in reversed(range(max_actions + 1)):
            possible = _possible_actions(episode)
            try:
                answer = frame.scope.ask(
                    CONTROLLER,
                    PROMPTS["deps/control"],
                    read=partial(read_move, count=len(possible)),
                    history=history,
                    goal=format_call(goal),
                    seen=observation,
                    state=environment.state(),
                    possible=[format_call(action) for action in possible],
                    left=actions_left,
                )
            except UnusableReply as unusable:
                return False, str(unusable)
            if answer.value.number is None:
                return answer.value.done, answer.value.why
            if actions_left:
                feedback = episode.run(format_call(possible[answer.value.number]), source=CONTROLLER)
                observation = episode.steps[-1].observation.text if episode.steps else feedback.text
                history = answer.history
    return False, f"The goal was not reached within {max_actions} actions."


def read_move(text: str, count: int) -> Move:
    """Return the decision in the last line of a reply. ``count`` is the number of actions to choose from.

    Raises ValueError if there is no decision, or no action with that number.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    match = _ANSWER.fullmatch(lines[-1]) if lines else None
    if match is None:
        raise ValueError(
            "the last line contains no decision; end with 'Answer: ' followed by a number, 'done' or 'impossible: why'"
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
            f"the goals of {episode.environment.name} need a controller, which chooses from a list of the "
            "possible actions: the environment must implement possible_actions()"
        )
    return possible


GOAL = "goal"
CLAIM_AUTHOR = "the goals of the last plan"


class GoalTried(Payload):
    """A goal that was tried. Goals are recorded as calls in plan code, such as ``agent.mine('log')``."""

    span = "goal"

    goal: str
    """The goal in the plan."""
    chosen: str = ""
    """The goal as it was tried. This may be another action that has the same result as the goal in the plan."""
    done: bool | None = None
    """True if the goal was reached, False if it failed, None while it is being tried."""
    reason: str = ""
    """The reason for the result. For a failure, this is the message of the environment or the controller."""
    round: int | None = None
    """Number of replans so far; 0 for the first plan."""
    line: int | None = None
    """Number of the goal's line in the plan."""
    selector: str = ""
    """Name of the selector that chose the goal, or empty if goals are tried in the order of the plan."""
    candidates: tuple[str, ...] = ()
    """The goals from which the selector chose."""
    predicted: tuple[float | None, ...] = ()
    """Predicted number of time steps to each candidate, or None if it is not finite. Empty if nothing is predicted."""
    said: str = ""
    """The text in the plan, if the text was not a valid call and was mapped to this goal. Otherwise empty."""
    features: dict[str, JsonValue] = {}
    """Features of the goal, from which selectors learn to predict the number of time steps."""
    horizon: float | None = None
    """Number of time steps to the goal as the environment computes it, or None if the goal cannot be reached."""
    actions: int = 0
    """Number of actions that were taken while the goal was pursued."""

    @property
    def title(self) -> str:
        """The goal as it was tried."""
        return self.chosen or self.goal

    @property
    def status(self) -> str:
        """The result as a status."""
        return status_of(self.done)


class PursuitOptions(Options):
    """Options of methods that plan a list of goals."""

    controller_steps: int = Field(
        default=50, ge=1, description="Maximum number of actions per goal, in environments that need a controller."
    )


class GoalResult(NamedTuple):
    """A goal that was tried, and its result."""

    goal: Goal
    call: str
    """The goal as it was tried, which may differ from the goal in the plan."""
    done: bool
    reason: str = ""


class PursuitResult(NamedTuple):
    """The result of following a plan."""

    tried: Sequence[GoalResult]
    """The goals that were tried. Only the last of them may have failed."""
    left: Sequence[Goal]
    """The goals that were not tried."""
    controlled: bool = False
    """True if a controller pursued the goals. Then prompts show its reason for each goal, not only for a failed one."""

    @property
    def failed(self) -> GoalResult | None:
        """The goal that failed and so ended the plan, or None if no goal failed."""
        return self.tried[-1] if self.tried and not self.tried[-1].done else None

    @property
    def claim(self) -> bool | None:
        """True if every goal was reached, False if a goal failed, None if no goal was tried."""
        return self.tried[-1].done if self.tried else None

    @property
    def done(self) -> Sequence[GoalResult]:
        """The goals that were reached."""
        return [tried for tried in self.tried if tried.done]

    @property
    def mapped(self) -> Sequence[Goal]:
        """The goals that were found for lines that were not valid calls."""
        return [goal for goal in (*(tried.goal for tried in self.tried), *self.left) if goal.said]


class Pursuit:
    """Pursues the goals of each plan of an episode. Without a selector, it tries them in the order of the plan."""

    def __init__(self, episode: Episode, scope: Scope, options: PursuitOptions, selector: Selector | None) -> None:
        self._episode, self._scope, self._options, self._selector = episode, scope, options, selector
        self._plans = 0

    def follow(self, plan: GoalPlan) -> PursuitResult:
        """Try the goals of a plan until one fails. Raises EpisodeOver if the episode ends."""
        tried: list[GoalResult] = []
        remaining = list(plan.goals)
        self._plans += 1
        while remaining and (not tried or tried[-1].done):
            choice = select(self._episode.environment.goals, [goal.action for goal in remaining], self._selector)
            tried.append(self._try(remaining.pop(choice.chosen.position), choice))
        return PursuitResult(tried, remaining, controlled=not self._episode.environment.goals.direct)

    def _try(self, goal: Goal, choice: Choice) -> GoalResult:
        """Try one goal, and record it. The record includes the data from which the ``horizon`` selector learns."""
        action, goals = choice.chosen.action, self._episode.environment.goals
        span = self._scope.span(
            GoalTried(
                round=self._plans - 1,
                goal=goal.call,
                line=goal.line,
                said=goal.said,
                selector=self._selector.name if self._selector else "",
                candidates=tuple(format_call(candidate.action) for candidate in choice.candidates),
                predicted=tuple(map(_rounded, choice.horizons)),
                chosen=format_call(action),
                features=dict(goals.features(action)),
                horizon=_rounded(goals.horizon(action)),
            )
        )
        first_step = len(self._episode.steps)
        try:
            done, reason = self._reach(action)
        except EpisodeOver as over:
            if last := self._episode.steps[first_step:][-1:]:  # if no action was taken, the goal was not tried
                done = self._episode.environment.ended and last[0].observation.accepted
                reason = last[0].observation.text if done else str(over)
                span.end(actions=len(self._episode.steps) - first_step, done=done, reason=reason)
            raise
        span.end(actions=len(self._episode.steps) - first_step, done=done, reason=reason)
        return GoalResult(goal, format_call(action), done, reason)

    def _reach(self, action: Action) -> tuple[bool, str]:
        """Try to reach a goal. Return True if it was reached, otherwise False, and the reason for this result."""
        episode = self._episode
        if not episode.environment.goals.direct:
            return control(episode, action, self._options.controller_steps)
        first_step = len(episode.steps)
        feedback = episode.run(format_call(action), source=GOAL)
        if len(episode.steps) == first_step:
            return False, feedback.text
        return episode.steps[-1].observation.accepted, episode.steps[-1].observation.text


def _rounded(number: float) -> float | None:
    """Return the number, or None if it is not finite. It is rounded so that a replay computes the recorded value."""
    return round(number, 3) if isfinite(number) else None


MAX_REASONS, SHOWN_REASONS, MAX_REASON_LENGTH = 20, 3, 200
"""Limits for the reasons for failures in the figures: how many are counted and shown, and the length of each."""


class GoalFigures(Figures):
    """The figures under ``goals`` in ``--json``.

    "Rounds" means the number of times that the method planned again in an episode (replans). It is counted only for
    episodes that were played and in which a goal was tried.
    """

    key = "goals"

    mean_rounds: float | None
    most_rounds: int
    rounds: dict[int, int]
    """Maps each number of replans to the number of episodes with that many replans."""
    solved_by_rounds: dict[int, int]
    """Maps each number of replans to the number of solved episodes with that many replans."""
    tried: int
    done: int
    failed: int
    mapped: int
    """Number of plan lines that were not valid calls and were mapped to a known goal."""
    selectors: tuple[str, ...]
    reasons: dict[str, int]
    """Maps the first sentence of each of the most frequent reasons for failures to the number of failed goals."""

    @classmethod
    def count(cls, episodes: Sequence[PlayedEpisode]) -> Self | None:
        """Compute the figures of a run. Return None if no goal was tried."""
        pairs = [(episode.ending, episode.payloads(GoalTried)) for episode in episodes]
        goals = [goal for _, episode_goals in pairs for goal in episode_goals]
        if not goals:
            return None
        played = [pair for pair in pairs if pair[0].outcome.played and pair[1]]
        replans = [(replan_count(episode_goals), ending.outcome.solved) for ending, episode_goals in played]
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

    def describe(self) -> Iterable[str]:
        """Yield sentences on the replans, the goals and the reasons for failures."""
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
    """Return the first sentence of a reason. The other sentences describe details, such as the inventory."""
    return reason.partition(". ")[0].partition("\n")[0][:MAX_REASON_LENGTH]


def replan_count(goals: Sequence[GoalTried]) -> int:
    """Return the number of replans in an episode.

    Old runs do not record this number. For an old run, count the failed goals before the last goal, since each failure
    ends a plan.
    """
    recorded = [goal.round for goal in goals if goal.round is not None]
    return max(recorded, default=sum(not goal.done for goal in goals[:-1]))
