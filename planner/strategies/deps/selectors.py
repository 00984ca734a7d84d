"""Selectors: choose the next goal among those that are possible now (DEPS, section 3.3), by predicted nearness."""

import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, Protocol

from planbook.envs import Action, Features, Goals, MissingRequirement
from planbook.planner.strategies.deps.horizon import predictor_for

SelectorName = Literal["fixed", "random", "nearest", "horizon"]
"""The name of a selector of goals (DEPS)."""


class Candidate(NamedTuple):
    """A goal that is possible now: its ``place`` among the remaining ones, and the ``action`` that reaches it."""

    place: int
    action: Action


class Choice(NamedTuple):
    """A selector's choice, its candidates, and the predicted steps of each, if any."""

    chosen: Candidate
    candidates: Sequence[Candidate]
    horizons: Sequence[float] = ()


class Predictor(Protocol):
    """Predicts the time steps to goals."""

    def predict(self, features: Sequence[Features], /) -> Sequence[float]:
        """Return one number for each goal."""


class Selector(Protocol):
    """Chooses among one or more candidates."""

    name: str
    """Name under which its choices are recorded."""

    def choose(self, goals: Goals, candidates: Sequence[Candidate]) -> Choice:
        """Return the goal to do next."""


def candidates_of(goals: Goals, remaining: Sequence[Action]) -> list[Candidate]:
    """Return the ways to reach a remaining goal that are open now, by the plan's own statements (section 3.3).

    A way that needs a material which an earlier remaining goal also needs is excluded, since it might take it away. So
    is a way that takes what its own goal would not have taken, if a later goal needs that.
    """
    found: list[Candidate] = []
    materials = [goals.materials(goal) for goal in remaining]
    for index, goal in enumerate(remaining):
        earlier, later = set().union(*materials[:index]), set().union(*materials[index + 1 :])
        for route in goals.routes(goal):
            takes = goals.materials(route)
            extra = {kind for kind, count in takes.items() if count > materials[index].get(kind, 0)}
            if earlier.isdisjoint(takes) and later.isdisjoint(extra) and goals.is_open(route):
                found.append(Candidate(index, route))
    return found


def select(goals: Goals, remaining: Sequence[Action], selector: Selector) -> Choice:
    """Return the goal to do next.

    If none is possible, return the first one: it will fail, and the environment says why.
    """
    candidates = candidates_of(goals, remaining)
    return selector.choose(goals, candidates) if candidates else Choice(Candidate(0, remaining[0]), ())


class Fixed:
    """Takes the first open goal, in the plan's own way if that is open."""

    name = "fixed"

    def choose(self, goals: Goals, candidates: Sequence[Candidate]) -> Choice:
        """Return the first candidate."""
        return Choice(candidates[0], candidates)


class Random:
    """Takes the goals in random order, each by its first open way."""

    name = "random"

    def __init__(self, seed: str) -> None:
        self._dice = random.Random(seed)

    def choose(self, goals: Goals, candidates: Sequence[Candidate]) -> Choice:
        """Return a random goal."""
        place = self._dice.choice(sorted({candidate.place for candidate in candidates}))
        return Choice(next(each for each in candidates if each.place == place), candidates)


class Nearest:
    """An oracle that asks the environment for the distance of each goal, which no agent can."""

    name = "nearest (oracle)"

    def choose(self, goals: Goals, candidates: Sequence[Candidate]) -> Choice:
        """Return the nearest goal."""
        return _least(candidates, [goals.horizon(candidate.action) for candidate in candidates])


class Horizon:
    """Takes the goal with the fewest predicted steps, the most likely one by equation 2."""

    name = "horizon"

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    def choose(self, goals: Goals, candidates: Sequence[Candidate]) -> Choice:
        """Return the goal with the fewest predicted steps."""
        features = [goals.features(candidate.action) for candidate in candidates]
        return _least(candidates, list(map(float, self._predictor.predict(features))))


def _least(candidates: Sequence[Candidate], horizons: Sequence[float]) -> Choice:
    chosen = min(range(len(candidates)), key=lambda number: horizons[number])
    return Choice(candidates[chosen], candidates, horizons)


def selector_of(goals: Goals, name: SelectorName | None, seed: str) -> Selector:
    """Return the selector of that name. None means ``horizon`` if the environment has recorded goals, else ``fixed``.

    Raises MissingRequirement for ``horizon`` in an environment without recorded goals.
    """
    chosen = name or ("horizon" if goals.recorded() else "fixed")
    if chosen == "horizon":
        return Horizon(predictor_of(goals))
    others: Mapping[str, Selector] = {"fixed": Fixed(), "random": Random(seed), "nearest": Nearest()}
    return others[chosen]


def predictor_of(goals: Goals) -> Predictor:
    """Return the predictor learned from the environment's recorded goals.

    Raises MissingRequirement if there is none.
    """
    recorded = goals.recorded()
    if recorded is None:
        raise MissingRequirement(
            f"the world {goals.environment.name} has no recorded goals from which horizons could be learnt; "
            "choose another selector: fixed, random or nearest"
        )
    return _known(recorded)


_known = cache(predictor_for)
