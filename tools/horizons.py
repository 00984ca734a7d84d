"""Learn to predict horizons from a table of recorded goals, and write the predictor next to the table.

usage: python -m tools.horizons TABLE

The horizon of a goal is the number of time steps until it is reached (section 3.3 of the DEPS paper). The predictor is
a set of decision trees, which the selector ``horizon`` reads. The trees learn the logarithm of the time steps, so that
they tell near goals apart as well as distant ones. This needs scikit-learn.
"""

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from math import isfinite, log1p
from pathlib import Path
from statistics import median
from typing import Any

from sklearn.ensemble import GradientBoostingRegressor
from sklearn.feature_extraction import DictVectorizer

from planbook.envs import Features
from planbook.planner.strategies.deps.selectors import HorizonPredictor, TreeNode, fill_missing, is_finite_number

TREES, DEPTH, RATE, MIN_ROWS, SHARE = 150, 3, 0.1, 10, 0.3
"""The number of trees, their depth, the learning rate, the minimum number of rows in a leaf, and the share of columns
tried at each split.
"""
COMMENT = "#"
"""Prefix of the comment lines in a table of recorded goals, which describe how the table was made."""
DIGITS = 9
"""Number of decimal places in the written file."""


def fit(rows: Iterable[tuple[Features, float]], seed: int = 0) -> HorizonPredictor:
    """Learn from goals that were reached. Each row has a goal's features at its start, and the time steps it took.

    Raises ValueError if no row has features, or if a horizon is negative or not finite.
    """
    features, steps = _split_rows(rows)
    medians = _medians(features)
    columns = DictVectorizer(sparse=False)
    table = columns.fit_transform([fill_missing(row, medians) for row in features])
    trees = GradientBoostingRegressor(
        n_estimators=TREES,
        max_depth=DEPTH,
        learning_rate=RATE,
        min_samples_leaf=MIN_ROWS,
        max_features=SHARE,
        random_state=seed,
    ).fit(table, [*map(log1p, steps)])
    return HorizonPredictor(
        columns=tuple(columns.get_feature_names_out()),
        usual=medians,
        start=float(trees.init_.constant_[0][0]),
        trees=tuple(tuple(_nodes(tree.tree_)) for (tree,) in trees.estimators_),
    )


def recorded_rows(path: Path) -> Iterator[tuple[Mapping[str, float | str], float]]:
    """Yield the features and the horizon of each recorded goal. Raises OSError or ValueError for a bad file."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith(COMMENT)):
            *features, horizon = row.items()
            yield {name: _number_or_text(text) for name, text in features}, float(horizon[1])


def write_trees(table: Path) -> Path:
    """Learn from a table, write the predictor next to it, and return its path. Raises OSError or ValueError."""
    source = sha256(table.read_bytes()).hexdigest()
    path = table.with_suffix(".json")
    path.write_text(f"{fit(recorded_rows(table)).model_copy(update={'source': source}).model_dump_json()}\n", "utf-8")
    return path


def _nodes(tree: Any) -> Iterator[TreeNode]:
    """Yield the nodes of a tree of scikit-learn, starting with the root."""
    parts = tree.children_left, tree.children_right, tree.feature, tree.threshold, tree.value[:, 0, 0]
    for left, right, column, threshold, value in zip(*(part.tolist() for part in parts), strict=True):
        yield round(RATE * value, DIGITS) if left < 0 else (column, round(threshold, DIGITS), left, right)


def _split_rows(rows: Iterable[tuple[Features, float]]) -> tuple[list[Features], list[float]]:
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
    """Return a dict that maps each numeric feature to its median."""
    values_by_name: dict[str, list[float]] = {}
    for row in features:
        for name, value in row.items():
            if is_finite_number(value):
                values_by_name.setdefault(name, []).append(float(value))
    return {name: median(values) for name, values in values_by_name.items()}


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.horizons TABLE.csv")
    print(write_trees(Path(sys.argv[1])))
