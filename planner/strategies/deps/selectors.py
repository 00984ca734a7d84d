"""Selectors: choose the next goal among those that are possible now (DEPS, section 3.3), the nearest by prediction.

``HorizonPredictor`` predicts the number of time steps to a goal. It is learned from goals that were reached. Boosted
trees over features of the environment's text (envs.Features) replace the paper's network over images. They learn the
logarithm of the steps, so that near goals are distinguished as well as distant ones. ``write_trees`` learns from a
table of recorded goals with scikit-learn and writes the trees beside it; prediction needs only this module.
"""

import csv
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from math import expm1, isfinite, log1p
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from planbook.envs import Action, Features, Goals, MissingRequirement

TREES, DEPTH, RATE, MIN_ROWS, SHARE = 150, 3, 0.1, 10, 0.3
"""Number of trees, their depth, the learning rate, the minimum number of rows in a leaf, and the share of columns tried
at a split.
"""
COMMENT = "#"
"""Prefix of comments in a table of recorded goals, which name its origin."""
DIGITS = 9
"""Number of decimal digits in the file of trees."""
Node = tuple[int, float, int, int] | float
"""A leaf's value; or the column, the threshold, and the nodes for values up to it and above it."""


class HorizonPredictor(BaseModel):
    """Predicts time steps from features. Words that were not learned are ignored; missing numbers get their median.

    ``columns`` are numbers by name and words as ``name=word``; ``usual`` is the median of each number; ``start`` is the
    value to which the trees add; ``source`` is the digest of the table from which they were learned.
    """

    model_config = ConfigDict(frozen=True)

    columns: tuple[str, ...]
    usual: dict[str, float]
    start: float
    trees: tuple[tuple[Node, ...], ...]
    source: str = ""

    @classmethod
    def fit(cls, rows: Iterable[tuple[Features, float]], seed: int = 0) -> "HorizonPredictor":
        """Learn from reached goals: their initial features, and the time steps taken. Raises ValueError for no rows."""
        from sklearn.ensemble import GradientBoostingRegressor
        from sklearn.feature_extraction import DictVectorizer

        features, steps = _split(rows)
        usual = _medians(features)
        columns = DictVectorizer(sparse=False)
        table = columns.fit_transform([_complete(row, usual) for row in features])
        trees = GradientBoostingRegressor(
            n_estimators=TREES,
            max_depth=DEPTH,
            learning_rate=RATE,
            min_samples_leaf=MIN_ROWS,
            max_features=SHARE,
            random_state=seed,
        ).fit(table, [*map(log1p, steps)])
        return cls(
            columns=tuple(columns.get_feature_names_out()),
            usual=usual,
            start=float(trees.init_.constant_[0][0]),
            trees=tuple(tuple(_nodes(tree.tree_)) for (tree,) in trees.estimators_),
        )

    def predict(self, features: Sequence[Features]) -> Sequence[float]:
        """Return the predicted time steps of each goal."""
        return [expm1(self.start + sum(_value(tree, row) for tree in self.trees)) for row in map(self._row, features)]

    def _row(self, features: Features) -> Sequence[float]:
        values = {
            f"{name}={value}" if isinstance(value, str) else name: 1.0 if isinstance(value, str) else value
            for name, value in _complete(features, self.usual).items()
        }
        return [values.get(column, 0.0) for column in self.columns]


def recorded_rows(path: Path) -> Iterator[tuple[Mapping[str, float | str], float]]:
    """Yield the features and the horizon of each recorded goal. Raises MissingRequirement for an unreadable table."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(line for line in file if not line.startswith(COMMENT)):
                *features, horizon = row.items()
                yield {name: _number_or_text(text) for name, text in features}, float(horizon[1])
    except (OSError, UnicodeDecodeError, ValueError, TypeError) as error:
        raise MissingRequirement(f"the recorded goals in {path} cannot be read: {error}") from error


def predictor_for(table: Path) -> HorizonPredictor:
    """Return the predictor in the file beside a table of recorded goals, or learn it. Raises MissingRequirement."""
    source = _digest(table)
    with suppress(OSError, ValidationError):
        predictor = HorizonPredictor.model_validate_json(table.with_suffix(".json").read_bytes())
        if predictor.source == source:
            return predictor
    try:
        return HorizonPredictor.fit(recorded_rows(table))
    except ImportError as error:
        raise MissingRequirement(
            f"learning from the recorded goals in {table} needs scikit-learn (pip install scikit-learn); "
            f"{write_trees.__module__}.write_trees then writes the result beside the table"
        ) from error


def write_trees(table: Path) -> Path:
    """Learn from a table and write the predictor beside it. Raises MissingRequirement, OSError."""
    predictor = HorizonPredictor.fit(recorded_rows(table)).model_copy(update={"source": _digest(table)})
    path = table.with_suffix(".json")
    path.write_text(f"{predictor.model_dump_json()}\n", encoding="utf-8")
    return path


def _digest(table: Path) -> str:
    try:
        return sha256(table.read_bytes()).hexdigest()
    except OSError as error:
        raise MissingRequirement(f"the recorded goals in {table} cannot be read: {error}") from error


def _nodes(tree: Any) -> Iterator[Node]:
    """Yield the nodes of one of scikit-learn's trees, the root first."""
    parts = tree.children_left, tree.children_right, tree.feature, tree.threshold, tree.value[:, 0, 0]
    for left, right, column, threshold, value in zip(*(part.tolist() for part in parts), strict=True):
        yield round(RATE * value, DIGITS) if left < 0 else (column, round(threshold, DIGITS), left, right)


def _value(tree: Sequence[Node], row: Sequence[float]) -> float:
    node = tree[0]
    while not isinstance(node, float):
        column, threshold, low, high = node
        node = tree[low if row[column] <= threshold else high]
    return node


def _split(rows: Iterable[tuple[Features, float]]) -> tuple[list[Features], list[float]]:
    features, steps = [], []
    for row, horizon in rows:
        if not (isfinite(horizon) and horizon >= 0):
            raise ValueError(
                f"a goal cannot take {horizon} time steps; only goals that were reached can be learned from"
            )
        features.append(row)
        steps.append(horizon)
    if not any(features):
        raise ValueError("there is nothing to learn horizons from: no recorded goal has features")
    return features, steps


def _medians(features: Sequence[Features]) -> dict[str, float]:
    """Return the median of each numeric feature."""
    values_by_name: dict[str, list[float]] = {}
    for row in features:
        for name, value in row.items():
            if _is_number(value):
                values_by_name.setdefault(name, []).append(float(value))
    return {name: median(values) for name, values in values_by_name.items()}


def _complete(features: Features, usual: Mapping[str, float]) -> dict[str, float | str]:
    """Return the features with the median in place of a missing number."""
    known = {name: value for name, value in features.items() if isinstance(value, str) or _is_number(value)}
    return {**usual, **known}


def _is_number(value: float | str) -> bool:
    return not isinstance(value, str) and isfinite(value)


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


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
    """Return the routes to a remaining goal that are open now, by the statements of the plan (section 3.3).

    A route is excluded if it takes a material that an earlier remaining goal needs, too. It is also excluded if it
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
