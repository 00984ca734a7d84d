"""Which goal comes next (DEPS, section 3.3): of those that can be done now, the one that is predicted to be nearest."""

import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, Protocol

from planbook.envs import Action, Features, Goals, MissingRequirement
from planbook.planner.strategies.deps.horizon import predictor_for

SelectorName = Literal["fixed", "random", "nearest", "horizon"]


class Candidate(NamedTuple):
    """A goal that can be done now: its ``place`` among the remaining ones, and the ``action`` that reaches it."""

    place: int
    action: Action


class Choice(NamedTuple):
    """What a selector chose, from which candidates, and how many steps it predicted for each of them, if any."""

    chosen: Candidate
    candidates: Sequence[Candidate]
    horizons: Sequence[float] = ()


class Predictor(Protocol):
    """Predicts how many time steps goals take."""

    def predict(self, features: Sequence[Features], /) -> Sequence[float]:
        """One number for each goal."""


class Selector(Protocol):
    """Chooses among candidates, of which there is at least one."""

    name: str
    """As recorded beside what it chose."""

    def choose(self, goals: Goals, candidates: Sequence[Candidate]) -> Choice:
        """The goal to do next."""


def candidates_of(goals: Goals, remaining: Sequence[Action]) -> list[Candidate]:
    """The ways to reach one of the remaining goals that are open now, by what the plan itself states (section 3.3).

    A way that needs a material which an earlier remaining goal needs, too, is none: it might take it away. Nor is a
    way that takes what its own goal would not have taken, if a later goal needs that: the plan relies on having it.
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
    """The goal to do next; the first of the remaining if none can be done: it will fail, and the world says why."""
    candidates = candidates_of(goals, remaining)
    return selector.choose(goals, candidates) if candidates else Choice(Candidate(0, remaining[0]), ())


class Fixed:
    """Takes the first goal that is open, in the plan's own way where that is open."""

    name = "fixed"

    def choose(self, goals: Goals, candidates: Sequence[Candidate]) -> Choice:
        """The first."""
        return Choice(candidates[0], candidates)


class Random:
    """Takes the goals in any order; each by the first way that is open."""

    name = "random"

    def __init__(self, seed: str) -> None:
        self._dice = random.Random(seed)

    def choose(self, goals: Goals, candidates: Sequence[Candidate]) -> Choice:
        """A random goal."""
        place = self._dice.choice(sorted({candidate.place for candidate in candidates}))
        return Choice(next(each for each in candidates if each.place == place), candidates)


class Nearest:
    """The oracle: it asks the world itself how far the goals are, which no agent can."""

    name = "nearest (oracle)"

    def choose(self, goals: Goals, candidates: Sequence[Candidate]) -> Choice:
        """The goal that is nearest."""
        return _least(candidates, [goals.horizon(candidate.action) for candidate in candidates])


class Horizon:
    """Takes the goal for which the fewest steps are predicted: the most likely one by equation 2."""

    name = "horizon"

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor

    def choose(self, goals: Goals, candidates: Sequence[Candidate]) -> Choice:
        """The goal that is predicted to be nearest."""
        features = [goals.features(candidate.action) for candidate in candidates]
        return _least(candidates, list(map(float, self._predictor.predict(features))))


def _least(candidates: Sequence[Candidate], horizons: Sequence[float]) -> Choice:
    chosen = min(range(len(candidates)), key=lambda number: horizons[number])
    return Choice(candidates[chosen], candidates, horizons)


def selector_of(goals: Goals, name: SelectorName | None, seed: str) -> Selector:
    """The selector of that name; None is ``horizon`` where the world has records to learn from, else ``fixed``.

    Raises MissingRequirement for ``horizon`` in a world without.
    """
    chosen = name or ("horizon" if goals.recorded() else "fixed")
    if chosen == "horizon":
        return Horizon(predictor_of(goals))
    others: Mapping[str, Selector] = {"fixed": Fixed(), "random": Random(seed), "nearest": Nearest()}
    return others[chosen]


def predictor_of(goals: Goals) -> Predictor:
    """What was learnt from the world's recorded goals. Raises MissingRequirement if nothing was, or can be."""
    recorded = goals.recorded()
    if recorded is None:
        raise MissingRequirement(
            f"the world {goals.environment.name} has no recorded goals from which horizons could be learnt; "
            "choose another selector: fixed, random or nearest"
        )
    return _known(recorded)


_known = cache(predictor_for)
