"""Selectors: choose the next goal among those that are possible now (DEPS, section 3.3), the nearest by prediction.

``HorizonPredictor`` predicts the number of time steps to a goal. Boosted trees over features of the environment's text
(envs.Features) replace the paper's network over images. ``tools/horizons.py`` learns them from a table of recorded
goals and writes them beside it.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from math import expm1, isfinite
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from planbook.envs import Action, Features, Goals, MissingRequirement

Node = tuple[int, float, int, int] | float
"""A leaf's value; or the column, the threshold, and the nodes for values up to it and above it."""
ADVICE = (
    "In a clone of planbook, `python -m tools.horizons TABLE` learns it from recorded goals (needs scikit-learn); or "
    "choose another selector: fixed, random or nearest"
)
"""What to do if the trees of a table are missing or out of date."""


class HorizonPredictor(BaseModel):
    """Predicts time steps from features. Words unknown to it are ignored; missing numbers get their median.

    ``columns`` are numbers by name and words as ``name=word``; ``usual`` is the median of each number; ``start`` is the
    value to which the trees add; ``source`` is the digest of the table from which they were learned.
    """

    model_config = ConfigDict(frozen=True)

    columns: tuple[str, ...]
    usual: dict[str, float]
    start: float
    trees: tuple[tuple[Node, ...], ...]
    source: str = ""

    def predict(self, features: Sequence[Features]) -> Sequence[float]:
        """Return the predicted time steps of each goal."""
        return [expm1(self.start + sum(_value(tree, row) for tree in self.trees)) for row in map(self._row, features)]

    def _row(self, features: Features) -> Sequence[float]:
        values = {
            f"{name}={value}" if isinstance(value, str) else name: 1.0 if isinstance(value, str) else value
            for name, value in complete(features, self.usual).items()
        }
        return [values.get(column, 0.0) for column in self.columns]


def predictor_for(table: Path) -> HorizonPredictor:
    """Return the predictor in the file beside a table of recorded goals. Raises MissingRequirement."""
    path = table.with_suffix(".json")
    try:
        predictor = HorizonPredictor.model_validate_json(path.read_bytes())
        is_current = predictor.source == sha256(table.read_bytes()).hexdigest()
    except (OSError, ValidationError) as error:
        raise MissingRequirement(f"the predictor of horizons in {path} cannot be read: {error}. {ADVICE}") from error
    if not is_current:
        raise MissingRequirement(f"the predictor of horizons in {path} was learned from another table. {ADVICE}")
    return predictor


def _value(tree: Sequence[Node], row: Sequence[float]) -> float:
    node = tree[0]
    while not isinstance(node, float):
        column, threshold, low, high = node
        node = tree[low if row[column] <= threshold else high]
    return node


def complete(features: Features, usual: Mapping[str, float]) -> dict[str, float | str]:
    """Return the features with the median in place of a missing number."""
    known = {name: value for name, value in features.items() if isinstance(value, str) or is_number(value)}
    return {**usual, **known}


def is_number(value: float | str) -> bool:
    """Return True for a finite number."""
    return not isinstance(value, str) and isfinite(value)


SelectorName = Literal["fixed", "random", "nearest", "horizon"]
"""The name of a selector of goals (DEPS)."""


class Candidate(NamedTuple):
    """A goal that is possible now: its index (``place``) among the remaining goals, and the action that reaches it."""

    place: int
    action: Action


class Choice(NamedTuple):
    """A selector's choice, its candidates, and the predicted steps of each, if any."""

    chosen: Candidate
    candidates: Sequence[Candidate]
    horizons: Sequence[float] = ()


Predict = Callable[[Sequence[Features]], Sequence[float]]
"""Returns the predicted time steps to each goal."""


class Selector(NamedTuple):
    """Chooses the next goal among one or more candidates. Its name is recorded with its choices."""

    name: str
    choose: Callable[[Goals, Sequence[Candidate]], Choice]


def candidates_of(goals: Goals, remaining: Sequence[Action]) -> list[Candidate]:
    """Return the open routes to the remaining goals, in the order of the plan (section 3.3).

    A route is excluded if it takes a material that an earlier remaining goal also needs. It is also excluded if it
    takes more than its goal requires of a material that a later goal needs.
    """
    candidates: list[Candidate] = []
    materials = [goals.materials(goal) for goal in remaining]
    for index, goal in enumerate(remaining):
        earlier, later = set().union(*materials[:index]), set().union(*materials[index + 1 :])
        for route in goals.routes(goal):
            takes = goals.materials(route)
            extra = {kind for kind, count in takes.items() if count > materials[index].get(kind, 0)}
            if earlier.isdisjoint(takes) and later.isdisjoint(extra) and goals.is_open(route):
                candidates.append(Candidate(index, route))
    return candidates


def select(goals: Goals, remaining: Sequence[Action], selector: Selector) -> Choice:
    """Return the next goal. If none is possible, it is the first one, which fails with the environment's reason."""
    candidates = candidates_of(goals, remaining)
    return selector.choose(goals, candidates) if candidates else Choice(Candidate(0, remaining[0]), ())


FIXED = Selector("fixed", lambda goals, candidates: Choice(candidates[0], candidates))
"""Takes the first open goal, by the plan's own route if that is open."""


def at_random(seed: str) -> Selector:
    """Return a selector that takes the goals in random order, each by its first open route."""
    dice = random.Random(seed)

    def choose(goals: Goals, candidates: Sequence[Candidate]) -> Choice:
        place = dice.choice(sorted({candidate.place for candidate in candidates}))
        return Choice(next(candidate for candidate in candidates if candidate.place == place), candidates)

    return Selector("random", choose)


def by_horizon(predict: Predict) -> Selector:
    """Return a selector that takes the goal with the fewest predicted steps (the most likely one by equation 2)."""

    def choose(goals: Goals, candidates: Sequence[Candidate]) -> Choice:
        features = [goals.features(candidate.action) for candidate in candidates]
        return _choose_least(candidates, list(map(float, predict(features))))

    return Selector("horizon", choose)


def _nearest(goals: Goals, candidates: Sequence[Candidate]) -> Choice:
    return _choose_least(candidates, [goals.horizon(candidate.action) for candidate in candidates])


NEAREST = Selector("nearest (oracle)", _nearest)
"""Asks the environment for the distance of each goal, which an agent cannot know."""


def _choose_least(candidates: Sequence[Candidate], horizons: Sequence[float]) -> Choice:
    chosen = min(range(len(candidates)), key=lambda number: horizons[number])
    return Choice(candidates[chosen], candidates, horizons)


def selector_of(goals: Goals, name: SelectorName | None, seed: str) -> Selector:
    """Return the selector with that name. None means ``horizon`` if the environment has recorded goals, else ``fixed``.

    Raises MissingRequirement for ``horizon`` in an environment without recorded goals.
    """
    recorded = goals.recorded()
    if name == "horizon" and recorded is None:
        raise MissingRequirement(
            f"the environment {goals.environment.name} has no recorded goals from which horizons could be learned; "
            "choose another selector: fixed, random or nearest"
        )
    if recorded is not None and name in ("horizon", None):
        return by_horizon(_predictor(recorded).predict)
    return {"random": at_random(seed), "nearest": NEAREST}.get(name or "", FIXED)


_predictor = cache(predictor_for)
