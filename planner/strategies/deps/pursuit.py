"""Reaching the goals of a plan, one after the other, until one fails (DEPS, algorithm of section 3.1).

DEPS and the baselines that name goals share it.
"""

from collections.abc import Sequence
from math import inf, isfinite
from typing import NamedTuple

from pydantic import Field, JsonValue

from planbook.envs import Action
from planbook.planner.action_docs import call_of
from planbook.planner.episode import Episode
from planbook.planner.errors import EpisodeOver
from planbook.planner.scope import Scope
from planbook.planner.spans import Payload, Span, status_of
from planbook.planner.strategies.base import Options
from planbook.planner.strategies.deps.controller import control
from planbook.planner.strategies.deps.goals import Goal, Plan
from planbook.planner.strategies.deps.horizon import probabilities
from planbook.planner.strategies.deps.selectors import Candidate, Choice, Selector, select

GOAL = "goal"
CLAIMS = "the goals of the last plan"


class Prospect(NamedTuple):
    """A goal that could be tried: its time steps as predicted, None for no end, and how likely it was (equation 2)."""

    goal: str
    steps: float | None
    probability: float


class GoalTried(Payload):
    """A goal of a plan that was tried, as plan code calls it."""

    span = "goal"

    goal: str
    """As the plan has it."""
    chosen: str = ""
    """As it was tried, which may be another way to the same thing."""
    done: bool | None = None
    """None while it is tried."""
    reason: str = ""
    """What was said of it, why it failed above all."""
    round: int | None = None
    """How often the planner had planned anew by then."""
    line: int | None = None
    """Of the plan."""
    selector: str = ""
    """What chose it among the goals that could be tried then."""
    candidates: tuple[str, ...] = ()
    """What could be tried then."""
    predicted: tuple[float | None, ...] = ()
    """The time steps that the selector predicted for each of them; None for no end. Empty where it predicts none."""
    said: str = ""
    """What the plan says that was no valid call and was taken for this goal; empty for a valid one."""
    features: dict[str, JsonValue] = {}
    """What a prediction was made from."""
    horizon: float | None = None
    """The time steps that it took; None for no end."""
    actions: int = 0

    @property
    def title(self) -> str:
        """Name it as it was tried."""
        return self.chosen or self.goal

    @property
    def status(self) -> str:
        """Say what came of it."""
        return status_of(self.done)

    @property
    def prospects(self) -> Sequence[Prospect]:
        """The candidates of a selector that predicted, in its order."""
        if not any(steps is not None for steps in self.predicted):
            return ()
        likely = probabilities([inf if steps is None else steps for steps in self.predicted])
        return [Prospect(*each) for each in zip(self.candidates, self.predicted, likely, strict=True)]


class PursuitOptions(Options):
    """For methods that pursue goals."""

    controller_steps: int = Field(
        default=50, ge=1, description="Actions for each goal, on worlds where a controller has to reach it."
    )


class Tried(NamedTuple):
    """A goal and what came of it. ``call`` is how it was tried, which may be another way than the plan's."""

    goal: Goal
    call: str
    done: bool
    reason: str = ""


class Pursued(NamedTuple):
    """What came of a plan: the goals tried, of which only the last may have failed, and those that were left."""

    tried: Sequence[Tried]
    left: Sequence[Goal]
    controlled: bool = False
    """Whether a controller reached the goals: then what it said of them is all that is known of what it saw."""

    @property
    def failed(self) -> Tried | None:
        """The goal that stopped the plan, if one did."""
        return self.tried[-1] if self.tried and not self.tried[-1].done else None

    @property
    def claim(self) -> bool | None:
        """Whether every goal was reached; None where there was none."""
        return self.tried[-1].done if self.tried else None

    @property
    def done(self) -> Sequence[Tried]:
        """The goals that were reached."""
        return [tried for tried in self.tried if tried.done]

    @property
    def taken_for(self) -> Sequence[Goal]:
        """The goals that stand for what was no valid call."""
        return [goal for goal in (*(tried.goal for tried in self.tried), *self.left) if goal.said]


class Pursuit:
    """Reaches goals in the innermost frame. Without a selector they are taken as the plan has them."""

    def __init__(self, episode: Episode, scope: Scope, options: PursuitOptions, selector: Selector | None) -> None:
        self._episode, self._scope, self._options, self._selector = episode, scope, options, selector
        self._plans = 0

    def follow(self, plan: Plan) -> Pursued:
        """Try the goals until one fails. Raises EpisodeOver if the episode ends with one."""
        tried: list[Tried] = []
        left = list(plan.goals)
        self._plans += 1
        while left and (not tried or tried[-1].done):
            choice = self._choice([goal.action for goal in left])
            tried.append(self._try(left.pop(choice.chosen.place), choice))
        return Pursued(tried, left, controlled=not self._episode.world.goals.direct)

    def _choice(self, left: Sequence[Action]) -> Choice:
        if self._selector is None:
            return Choice(Candidate(0, left[0]), ())
        return select(self._episode.world.goals, left, self._selector)

    def _try(self, goal: Goal, choice: Choice) -> Tried:
        """Reach one goal, and write down what a selector can learn from it."""
        action, goals = choice.chosen.action, self._episode.world.goals
        span = self._scope.span(
            GoalTried(
                round=self._plans - 1,
                goal=goal.call,
                line=goal.line,
                said=goal.said,
                selector=self._selector.name if self._selector else "",
                candidates=tuple(call_of(candidate.action) for candidate in choice.candidates),
                predicted=tuple(_plain(horizon) for horizon in choice.horizons),
                chosen=call_of(action),
                features=dict(goals.features(action)),
                horizon=_plain(goals.horizon(action)),
            )
        )
        begun = len(self._episode.steps)
        try:
            done, reason = self._reach(action)
        except EpisodeOver as over:
            last = self._episode.steps[begun:][-1:]
            done = self._episode.world.ended and all(step.observation.accepted for step in last)
            self._end(span, begun, done, last[0].observation.text if done and last else str(over))
            raise
        self._end(span, begun, done, reason)
        return Tried(goal, call_of(action), done, reason)

    def _reach(self, action: Action) -> tuple[bool, str]:
        """Whether the goal was reached, and what is said of it."""
        episode = self._episode
        if not episode.world.goals.direct:
            return control(episode, action, self._options.controller_steps)
        begun = len(episode.steps)
        feedback = episode.run(call_of(action), source=GOAL)
        if len(episode.steps) == begun:
            return False, feedback.text
        return episode.steps[-1].observation.accepted, episode.steps[-1].observation.text

    def _end(self, span: Span[GoalTried], begun: int, done: bool, reason: str) -> None:
        span.end(actions=len(self._episode.steps) - begun, done=done, reason=reason)


def _plain(number: float) -> float | None:
    """The number as a journal can keep it: short, so that it is the same again; None for one that is not finite."""
    return round(number, 3) if isfinite(number) else None
