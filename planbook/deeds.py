"""What planning methods record of their own: the sub-tasks that they gave, the goals that they tried."""

import re
from collections import defaultdict
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from planbook.store import Event, Store
from planner.horizon import probabilities

OF_EPISODE = re.compile(r"(task/\d+)(?:/restart/(\d+))?/round/.+")
"""A scope inside the play of an episode, and how often it had been started over by then."""


class Prospect(NamedTuple):
    """A goal that could be tried: its time steps as predicted, None for no end, and how likely it was (equation 2)."""

    goal: str
    steps: float | None
    probability: float


class Goal(BaseModel):
    """The body of an event of that kind: a goal of a plan that was tried, as plan code calls it."""

    model_config = ConfigDict(frozen=True)

    goal: str
    """As the plan has it."""
    chosen: str = ""
    """As it was tried, which may be another way to the same thing."""
    done: bool
    reason: str = ""
    """What was said of it, why it failed above all."""
    round: int | None = None
    """How often the planner had planned anew by then, where that was recorded."""
    selector: str = ""
    """What chose it among the goals that could be tried then."""
    candidates: tuple[str, ...] = ()
    """What could be tried then."""
    predicted: tuple[float | None, ...] = ()
    """The time steps that the selector predicted for each of them; None for no end. Empty where it predicts none."""
    said: str = ""
    """What the plan says that was no valid call and was taken for this goal; empty for a valid one."""

    @property
    def prospects(self) -> Sequence["Prospect"]:
        """The candidates of a selector that predicted, in its order."""
        if not any(steps is not None for steps in self.predicted):
            return ()
        likely = probabilities([inf if steps is None else steps for steps in self.predicted])
        return [Prospect(*each) for each in zip(self.candidates, self.predicted, likely, strict=True)]


class Subtask(BaseModel):
    """The body of an event of that kind: what somebody was given to do, and what was said of it in the end."""

    model_config = ConfigDict(frozen=True)

    by: str
    text: str
    depth: int
    done: bool | None
    """None where the episode ended first."""
    note: str = ""
    handed: str = ""
    replies: int = 0


class Play:
    """One play of an episode, in the order in which things ended."""

    def __init__(self) -> None:
        self.subtasks: list[Subtask] = []
        self.goals: list[Goal] = []


class Deeds:
    """What was recorded of that, by the path of the episode. Of one that was started over, the last play counts."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._plays: defaultdict[tuple[str, int], Play] = defaultdict(Play)

    def take(self, event: Event) -> None:
        """Keep an event, if it is one."""
        if event.kind not in ("subtask", "goal"):
            return
        if inside := OF_EPISODE.fullmatch(event.scope):
            path, again = inside[1], int(inside[2] or 0)
            self._last[path] = max(again, self._last.get(path, 0))
            if event.kind == "subtask":
                self._plays[path, again].subtasks.append(Subtask.model_validate(event.body))
            else:
                self._plays[path, again].goals.append(Goal.model_validate(event.body))

    def subtasks(self, path: str) -> list[Subtask]:
        """The sub-tasks of an episode."""
        return self._play(path).subtasks

    def goals(self, path: str) -> list[Goal]:
        """The goals that an episode tried."""
        return self._play(path).goals

    def _play(self, path: str) -> Play:
        return self._plays.get((path, self._last.get(path, 0)), Play())


def deeds_in(store: Store) -> Deeds:
    """All that a run's methods have recorded so far."""
    found = Deeds()
    for event in (*store.events(kind="subtask"), *store.events(kind="goal")):
        found.take(event)
    return found
