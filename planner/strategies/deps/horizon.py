"""How many time steps a goal takes, learnt from goals that were reached (DEPS, section 3.3).

In the place of the paper's network over images: boosted trees over what the world's text tells (envs.Features). They
learn the logarithm of the steps, so that near goals, which are chosen, are told apart as well as far ones. Of the
library's regressors these predict quickest for a handful of goals; random forests and histogram trees were no better.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import exp, isfinite
from statistics import median
from typing import Any

from planbook.envs import Features

TREES, DEPTH, RATE, LEAST_ROWS, SHARE = 150, 3, 0.1, 10, 0.3
"""How many trees, how deep, what each counts, the fewest rows in a leaf, and the share of columns a split looks at."""


def probabilities(horizons: Sequence[float]) -> list[float]:
    """How likely each goal is to be the one to do next (equation 2): the softmax of the negative time steps."""
    least = min(horizons, default=0.0)
    weights = [exp(least - horizon) for horizon in horizons]
    return [weight / sum(weights) for weight in weights]


class HorizonPredictor:
    """Predicts time steps from features. Words never met in the rows, and features left out, are as good as unknown."""

    def __init__(self, columns: Any, trees: Any, usual: Mapping[str, float]) -> None:
        self._columns, self._trees, self._usual = columns, trees, usual

    @classmethod
    def fit(cls, rows: Iterable[tuple[Features, float]], seed: int = 0) -> "HorizonPredictor":
        """Learn from goals that were reached: their features before, and the time steps. Raises ValueError for none."""
        import numpy
        from sklearn.ensemble import GradientBoostingRegressor
        from sklearn.feature_extraction import DictVectorizer

        features, steps = _parted(rows)
        usual = _usual(features)
        columns = DictVectorizer(sparse=False)
        table = columns.fit_transform([_complete(each, usual) for each in features])
        trees = GradientBoostingRegressor(
            n_estimators=TREES,
            max_depth=DEPTH,
            learning_rate=RATE,
            min_samples_leaf=LEAST_ROWS,
            max_features=SHARE,
            random_state=seed,
        )
        return cls(columns, trees.fit(table, numpy.log1p(steps)), usual)

    def predict(self, features: Sequence[Features]) -> Sequence[float]:
        """The time steps that each goal is likely to take."""
        import numpy

        if not features:
            return []
        table = self._columns.transform([_complete(each, self._usual) for each in features])
        predicted: list[float] = numpy.expm1(self._trees.predict(table)).tolist()
        return predicted


def _parted(rows: Iterable[tuple[Features, float]]) -> tuple[list[Features], list[float]]:
    features, steps = [], []
    for each, horizon in rows:
        if not (isfinite(horizon) and horizon >= 0):
            raise ValueError(
                f"a goal cannot take {horizon} time steps; only goals that were reached can be learnt from"
            )
        features.append(each)
        steps.append(horizon)
    if not any(features):
        raise ValueError("there is nothing to learn horizons from: no recorded goal has features")
    return features, steps


def _usual(features: Sequence[Features]) -> dict[str, float]:
    """The middle value of each feature that is a number."""
    found: dict[str, list[float]] = {}
    for each in features:
        for name, value in each.items():
            if _is_number(value):
                found.setdefault(name, []).append(float(value))
    return {name: median(values) for name, values in found.items()}


def _complete(features: Features, usual: Mapping[str, float]) -> dict[str, float | str]:
    """The features with the usual value where a number is missing."""
    told = {name: value for name, value in features.items() if isinstance(value, str) or _is_number(value)}
    return {**usual, **told}


def _is_number(value: float | str) -> bool:
    return not isinstance(value, str) and isfinite(value)
