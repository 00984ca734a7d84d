"""Horizons, which are the times that goals take, are learned from recorded goals. Unknown features are ignored."""

import math
import random
import time
from pathlib import Path

import pytest
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.feature_extraction import DictVectorizer

from planbook.envs import Features, MissingRequirement, load_environment
from planbook.planner.strategies.deps.selectors import HorizonPredictor, predictor_for, selector_of
from tools.horizons import DEPTH, MIN_ROWS, RATE, SHARE, TREES, fit, recorded_rows, write_trees

Rows = list[tuple[Features, float]]


def rows(count: int = 400, seed: int = 0) -> Rows:
    """Return rows whose steps grow with the distance. Iron takes longer."""
    rng = random.Random(seed)
    made: Rows = []
    for _ in range(count):
        kind, distance = rng.choice(["sheep", "oak", "iron"]), rng.uniform(0, 100)
        steps = 5 * distance + (300 if kind == "iron" else 20) + rng.uniform(0, 20)
        made.append(({"kind": kind, "distance": distance}, steps))
    return made


@pytest.fixture(scope="module")
def predictor() -> HorizonPredictor:
    return fit(rows())


def test_new_rows_are_predicted_better_than_by_their_mean(predictor: HorizonPredictor) -> None:
    new = rows(seed=1)
    steps = [horizon for _, horizon in new]
    mean = sum(steps) / len(steps)
    predicted = predictor.predict([features for features, _ in new])
    errors = sum(abs(guess - step) for guess, step in zip(predicted, steps, strict=True))
    assert errors < 0.2 * sum(abs(mean - step) for step in steps)


def test_trees_predict_as_the_library_does(predictor: HorizonPredictor) -> None:
    """No row is close to a threshold, where the results could differ because the library compares four-byte numbers."""
    columns = DictVectorizer(sparse=False)
    table = columns.fit_transform([features for features, _ in rows()])
    library = GradientBoostingRegressor(
        n_estimators=TREES, max_depth=DEPTH, learning_rate=RATE, min_samples_leaf=MIN_ROWS, max_features=SHARE,
        random_state=0,
    ).fit(table, [math.log1p(steps) for _, steps in rows()])  # fmt: skip
    new = [features for features, _ in rows(100, seed=1)]
    expected = [math.expm1(each) for each in library.predict(columns.transform(new))]
    assert predictor.predict(new) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("strange", "known"),
    [
        ({"kind": "dragon", "distance": 10.0}, {"distance": 10.0}),
        ({"kind": "oak", "distance": math.nan}, {"kind": "oak"}),
        ({"kind": "oak", "distance": math.inf}, {"kind": "oak"}),
        ({"kind": "oak", "distance": 10.0, "colour": "green"}, {"kind": "oak", "distance": 10.0}),
        ({"kind": 7.0}, {}),
    ],
)
def test_unknown_features_are_ignored(predictor: HorizonPredictor, strange: Features, known: Features) -> None:
    predicted, expected = predictor.predict([strange, known])
    assert predicted == expected
    assert 0 <= predicted < 1000


def test_a_missing_number_counts_as_the_median_and_not_as_zero(predictor: HorizonPredictor) -> None:
    missing, zero = predictor.predict([{"kind": "oak"}, {"kind": "oak", "distance": 0.0}])
    assert missing > 2 * zero


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        ([({"kind": "oak"}, -1.0)], "only goals that were reached"),
        ([({"kind": "oak"}, math.inf)], "only goals that were reached"),
        ([], "nothing to learn"),
        ([({}, 3.0)], "nothing to learn"),
    ],
)
def test_rows_without_features_or_steps_are_refused(refused: Rows, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(refused)


def test_the_shipped_trees_are_those_of_the_shipped_records_and_are_learned_quickly() -> None:
    goals = load_environment("minecraft")().goals
    table = goals.horizon_table()
    assert table is not None
    recorded, start = list(recorded_rows(table)), time.process_time()
    assert len(recorded) > 2000
    learned, shipped = fit(recorded), predictor_for(table)
    assert time.process_time() - start < 10, "two seconds are the goal; a busy machine needs more"
    some = [features for features, _ in recorded[:200]]
    assert shipped.predict(some) == pytest.approx(learned.predict(some))
    names = ("horizon", "fixed", "nearest (oracle)")
    assert tuple(selector_of(goals, name, "0").name for name in (None, "fixed", "nearest")) == names


def test_a_table_needs_the_trees_that_were_learned_from_it(tmp_path: Path) -> None:
    table = tmp_path / "goals.csv"
    table.write_text("kind,distance,steps\n" + "".join(f"oak,{n},{10 * n}\n" for n in range(40)))
    with pytest.raises(MissingRequirement, match=r"goals\.json cannot be read: .* tools\.horizons TABLE"):
        predictor_for(table)
    write_trees(table)
    assert predictor_for(table).predict([{"distance": 30.0}]) == fit(recorded_rows(table)).predict([{"distance": 30.0}])
    table.write_text(table.read_text().replace("oak,30,300", "oak,30,9000"))
    with pytest.raises(MissingRequirement, match="was learned from another table"):
        predictor_for(table)


def test_records_are_read_with_numbers_as_numbers_and_without_comments(tmp_path: Path) -> None:
    (tmp_path / "goals.csv").write_text("# Made by hand.\nkind,far,horizon\nmine,3,12.5\ncraft,0,1\n")
    assert list(recorded_rows(tmp_path / "goals.csv")) == [
        ({"kind": "mine", "far": 3.0}, 12.5),
        ({"kind": "craft", "far": 0.0}, 1.0),
    ]
