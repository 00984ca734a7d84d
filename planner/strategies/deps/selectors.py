"""Selectors, which choose the goal to try next among the goals that are possible now (DEPS paper, section 3.3).

The paper's selector prefers the goal with the shortest horizon. The horizon of a goal is the number of time steps that
it takes to reach the goal. The paper predicts it with a neural network on images. ``HorizonPredictor`` uses boosted
trees on features of the environment's state (``envs.Features``). ``tools/horizons.py`` learns the trees from a table of
recorded goals, and writes them to a file in the folder of the table.
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

TreeNode = tuple[int, float, int, int] | float
"""A node of a regression tree. A leaf is just its value. Any other node is a tuple: the index of a column, a threshold,
the index of the next node for values up to the threshold, and the index of the next node for greater values.
"""
ADVICE = (
    "In a clone of planbook, `python -m tools.horizons TABLE` learns it from recorded goals (needs scikit-learn); or "
    "choose another selector: fixed, random or nearest"
)
"""Advice for a user whose predictor is missing or out of date."""


class HorizonPredictor(BaseModel):
    """Predicts the number of time steps to a goal from the goal's features.

    A feature is a number or a word. A word without a column is ignored. The median replaces a missing number.
    """

    model_config = ConfigDict(frozen=True)

    columns: tuple[str, ...]
    """The columns of the trees' input: ``NAME`` for a number, and ``NAME=WORD`` for a word.

    The value of a column ``NAME=WORD`` is 1 if the feature NAME is this word, otherwise 0.
    """
    usual: dict[str, float]
    """Maps the name of each feature that is a number to the median of its values."""
    start: float
    """The constant to which the outputs of all trees are added. The sum is log(1 + number of time steps)."""
    trees: tuple[tuple[TreeNode, ...], ...]
    source: str = ""
    """SHA-256 of the table from which the trees were learned."""

    def predict(self, features: Sequence[Features]) -> Sequence[float]:
        """Return the predicted number of time steps to each goal, given its features."""
        return [expm1(self.start + sum(_value(tree, row) for tree in self.trees)) for row in map(self._row, features)]

    def _row(self, features: Features) -> Sequence[float]:
        complete = fill_missing(features, self.usual)
        numbers = {name: value for name, value in complete.items() if not isinstance(value, str)}
        words = {f"{name}={value}": 1.0 for name, value in complete.items() if isinstance(value, str)}
        values = numbers | words
        return [values.get(column, 0.0) for column in self.columns]


def predictor_for(table: Path) -> HorizonPredictor:
    """Return the predictor for a table of recorded goals, from the JSON file next to it with the same name.

    Raises MissingRequirement if there is no predictor, or if it was learned from another version of the table.
    """
    path = table.with_suffix(".json")
    try:
        predictor = HorizonPredictor.model_validate_json(path.read_bytes())
        is_current = predictor.source == sha256(table.read_bytes()).hexdigest()
    except (OSError, ValidationError) as error:
        raise MissingRequirement(f"the horizon predictor in {path} cannot be read: {error}. {ADVICE}") from error
    if not is_current:
        raise MissingRequirement(f"the horizon predictor in {path} was learned from another table. {ADVICE}")
    return predictor


def _value(tree: Sequence[TreeNode], row: Sequence[float]) -> float:
    node = tree[0]
    while not isinstance(node, float):
        column, threshold, low, high = node
        node = tree[low if row[column] <= threshold else high]
    return node


def fill_missing(features: Features, medians: Mapping[str, float]) -> dict[str, float | str]:
    """Return the features, with medians in place of missing numbers. A number that is not finite counts as missing."""
    known = {name: value for name, value in features.items() if isinstance(value, str) or is_finite_number(value)}
    return {**medians, **known}


def is_finite_number(value: float | str) -> bool:
    """Return True if a feature is a number that is neither infinite nor NaN."""
    return not isinstance(value, str) and isfinite(value)


SelectorName = Literal["fixed", "random", "nearest", "horizon", "expected"]
"""The name of a selector of goals (DEPS)."""
PREDICTING_SELECTORS = ("horizon", "expected")
"""The names of selectors that need a predictor, learned from recorded goals."""


class Candidate(NamedTuple):
    """A goal that is possible now, with an action that may reach it."""

    position: int
    """Index of the goal among the remaining goals."""
    action: Action


class Choice(NamedTuple):
    """A selector's choice, and the candidates from which it chose."""

    chosen: Candidate
    candidates: Sequence[Candidate]
    horizons: Sequence[float] = ()
    """The predicted or expected number of time steps to each candidate. Empty if the selector predicts none."""


class Selector(NamedTuple):
    """A way to choose the next goal from one or more candidates. Its name is recorded with its choices."""

    name: str
    horizons: Callable[[Goals, Sequence[Action]], Sequence[float]] | None = None
    """Returns the expected number of time steps to each of the given goals. The goal with the fewest is taken.

    Equation 2 of the paper draws a goal at random; this one is the most probable. If None, the first candidate is
    taken, or a goal that ``rng`` draws.
    """
    rng: random.Random | None = None
    """Draws a goal. Of its routes, the first open one is taken."""
    routes: bool = True
    """True if the selector may choose an action that is not in the plan, but reaches a goal of the plan."""

    def choose(self, goals: Goals, candidates: Sequence[Candidate]) -> Choice:
        """Choose one of the candidates. There must be at least one."""
        if self.horizons is not None:
            horizons = self.horizons(goals, [candidate.action for candidate in candidates])
            return Choice(candidates[horizons.index(min(horizons))], candidates, horizons)
        positions = sorted({candidate.position for candidate in candidates})
        position = self.rng.choice(positions) if self.rng else positions[0]
        return Choice(next(candidate for candidate in candidates if candidate.position == position), candidates)


def candidates_of(goals: Goals, remaining: Sequence[Action], *, routes: bool = True) -> list[Candidate]:
    """Return the goals that are possible now, in the order of the plan (section 3.3).

    A goal may have several routes, which are actions that reach it; without ``routes``, it has only the action in the
    plan. Each open route gives a candidate, unless it uses a material that an earlier goal also needs, or more of a
    material than the goal itself requires if a later goal needs this material.
    """
    candidates: list[Candidate] = []
    materials = [goals.materials(goal) for goal in remaining]
    for index, goal in enumerate(remaining):
        earlier, later = set().union(*materials[:index]), set().union(*materials[index + 1 :])
        for route in goals.routes(goal) if routes else (goal,):
            used = goals.materials(route)
            extra = {kind for kind, count in used.items() if count > materials[index].get(kind, 0)}
            if earlier.isdisjoint(used) and later.isdisjoint(extra) and goals.is_open(route):
                candidates.append(Candidate(index, route))
    return candidates


def select(goals: Goals, remaining: Sequence[Action], selector: Selector | None) -> Choice:
    """Choose the next goal. If no goal is possible, take the first, which then fails with the environment's reason.

    Without a selector, take the first goal of the plan.
    """
    candidates = candidates_of(goals, remaining, routes=selector.routes) if selector else []
    return selector.choose(goals, candidates) if selector and candidates else Choice(Candidate(0, remaining[0]), ())


FIXED = Selector("fixed")
"""Takes the first possible goal, with the action in the plan if that action is possible."""
NEAREST = Selector("nearest (oracle)", lambda goals, actions: list(map(goals.horizon, actions)))
"""Takes the goal with the fewest time steps as the environment computes them. An agent cannot know this number."""


def horizon_selector(predict: Callable[[Sequence[Features]], Sequence[float]]) -> Selector:
    """Return a selector that takes the goal with the fewest predicted time steps."""
    return Selector("horizon", lambda goals, actions: list(map(float, predict(list(map(goals.features, actions))))))


def expected_selector(predict: Callable[[Sequence[Features]], Sequence[float]]) -> Selector:
    """Return a selector that takes the goal with the fewest expected time steps.

    These are the predicted time steps, plus those that failures are expected to cost (``Goals.expected_steps``).
    """

    def horizons(goals: Goals, actions: Sequence[Action]) -> Sequence[float]:
        return list(map(goals.expected_steps, actions, map(float, predict(list(map(goals.features, actions))))))

    return Selector("expected", horizons)


def selector_of(goals: Goals, name: SelectorName | None, seed: str) -> Selector:
    """Return the selector with that name.

    If the name is None, return ``horizon`` in an environment with recorded goals, otherwise ``fixed``.

    Raises MissingRequirement for one of the ``PREDICTING_SELECTORS`` if the environment has no recorded goals, or if
    the predictor is missing or out of date.
    """
    table = goals.horizon_table()
    if name in PREDICTING_SELECTORS and table is None:
        raise MissingRequirement(
            f"the environment {goals.environment.name} has no recorded goals from which horizons could be learned; "
            "choose another selector: fixed, random or nearest"
        )
    if table is not None and name in (*PREDICTING_SELECTORS, None):
        predict = _predictor(table).predict
        return expected_selector(predict) if name == "expected" else horizon_selector(predict)
    return {"random": Selector("random", rng=random.Random(seed)), "nearest": NEAREST}.get(name or "", FIXED)


_predictor = cache(predictor_for)
