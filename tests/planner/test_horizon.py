"""Horizons: learnt from recorded goals, the same for the same seed, and never at a loss for a strange feature."""

import csv
import math
import random
import time
from io import StringIO
from pathlib import Path

import pytest
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.feature_extraction import DictVectorizer

from planbook.envs import Features, MissingRequirement, load_environment
from planbook.envs.minecraft.planning import RECORDED
from planbook.planner.strategies.deps.selectors import HorizonPredictor, predictor_for, selector_of
from tools.horizons import DEPTH, MIN_ROWS, RATE, SHARE, TREES, fit, recorded_rows, write_trees

Rows = list[tuple[Features, float]]


def rows(count: int = 400, seed: int = 0) -> Rows:
    """Steps follow the distance, and what is dug for takes longer."""
    dice = random.Random(seed)
    found: Rows = []
    for _ in range(count):
        kind, distance = dice.choice(["sheep", "oak", "iron"]), dice.uniform(0, 100)
        steps = 5 * distance + (300 if kind == "iron" else 20) + dice.uniform(0, 20)
        found.append(({"kind": kind, "distance": distance}, steps))
    return found


@pytest.fixture(scope="module")
def predictor() -> HorizonPredictor:
    return fit(rows())


def test_near_goals_are_told_from_far_ones(predictor: HorizonPredictor) -> None:
    near, far, deep = predictor.predict(
        [{"kind": "oak", "distance": 5.0}, {"kind": "oak", "distance": 90.0}, {"kind": "iron", "distance": 5.0}]
    )
    assert near == pytest.approx(55, rel=0.4)
    assert far == pytest.approx(480, rel=0.4)
    assert near < deep < far


def test_rows_not_learnt_from_are_predicted_better_than_by_their_mean(predictor: HorizonPredictor) -> None:
    others = rows(seed=1)
    steps = [horizon for _, horizon in others]
    mean = sum(steps) / len(steps)
    predicted = predictor.predict([features for features, _ in others])
    wrong = sum(abs(guess - step) for guess, step in zip(predicted, steps, strict=True))
    assert wrong < 0.2 * sum(abs(mean - step) for step in steps)


def test_the_same_seed_learns_the_same_and_another_one_something_else(predictor: HorizonPredictor) -> None:
    asked = [features for features, _ in rows(50, seed=2)]
    assert fit(rows()).predict(asked) == predictor.predict(asked)
    assert fit(rows(), seed=1).predict(asked) != predictor.predict(asked)


def test_equal_features_have_equal_horizons_in_any_company(predictor: HorizonPredictor) -> None:
    goal: Features = {"kind": "oak", "distance": 30.0}
    alone = predictor.predict([goal])[0]
    assert list(predictor.predict([goal, {"distance": 30.0, "kind": "oak"}, goal])) == [alone] * 3


@pytest.mark.parametrize(
    "strange",
    [
        {"kind": "dragon", "distance": 10.0},
        {"kind": "oak"},
        {"distance": 10.0},
        {"kind": "oak", "distance": math.nan},
        {"kind": "oak", "distance": math.inf},
        {"kind": 7.0, "distance": "far"},
        {"kind": "oak", "distance": 10.0, "colour": "green"},
        {},
    ],
)
def test_strange_and_missing_features_are_taken_as_unknown(predictor: HorizonPredictor, strange: Features) -> None:
    (steps,) = predictor.predict([strange])
    assert 0 <= steps < 1000


def test_a_missing_number_counts_as_the_usual_one_rather_than_as_nought(predictor: HorizonPredictor) -> None:
    missing, nought = predictor.predict([{"kind": "oak"}, {"kind": "oak", "distance": 0.0}])
    assert missing > 2 * nought


def test_nothing_is_predicted_for_nothing(predictor: HorizonPredictor) -> None:
    assert list(predictor.predict([])) == []


@pytest.mark.parametrize("horizon", [-1.0, math.nan, math.inf])
def test_a_goal_that_was_not_reached_is_nothing_to_learn_from(horizon: float) -> None:
    with pytest.raises(ValueError, match="only goals that were reached"):
        fit([({"kind": "oak"}, horizon)])


@pytest.mark.parametrize("none", [[], [({}, 3.0)]])
def test_without_features_there_is_nothing_to_learn(none: Rows) -> None:
    with pytest.raises(ValueError, match="nothing to learn"):
        fit(none)


def test_one_row_is_enough() -> None:
    assert fit([({"kind": "oak"}, 9.0)]).predict([{"kind": "sheep"}])[0] == pytest.approx(9.0)


def test_the_shipped_records_are_learnt_quickly_and_serve_the_selector() -> None:
    environment = load_environment("minecraft")()
    recorded = environment.goals.recorded()
    assert recorded is not None
    learnt = list(recorded_rows(recorded))
    assert len(learnt) > 2000
    begun = time.process_time()
    fit(learnt)
    assert time.process_time() - begun < 10, "two seconds are the goal; a busy machine is granted more"
    assert selector_of(environment.goals, None, "0").name == "horizon"


def test_the_trees_that_ship_are_those_of_the_shipped_records() -> None:
    learnt, shipped = fit(recorded_rows(RECORDED)), predictor_for(RECORDED)
    assert shipped.source
    asked = [features for features, _ in list(recorded_rows(RECORDED))[:200]]
    assert shipped.predict(asked) == pytest.approx(learnt.predict(asked))


def test_trees_predict_as_the_library_does() -> None:
    """On rows that no threshold lies next to: the library compares numbers of four bytes."""
    told = rows()
    columns = DictVectorizer(sparse=False)
    table = columns.fit_transform([features for features, _ in told])
    library = GradientBoostingRegressor(
        n_estimators=TREES, max_depth=DEPTH, learning_rate=RATE, min_samples_leaf=MIN_ROWS, max_features=SHARE,
        random_state=0,
    ).fit(table, [math.log1p(steps) for _, steps in told])  # fmt: skip
    asked = [features for features, _ in rows(100, seed=1)]
    expected = [math.expm1(each) for each in library.predict(columns.transform(asked))]
    assert fit(told).predict(asked) == pytest.approx(expected)


def test_a_table_needs_the_trees_that_were_learnt_from_it(tmp_path: Path) -> None:
    table = tmp_path / "goals.csv"
    table.write_text("kind,distance,steps\n" + "".join(f"oak,{n},{10 * n}\n" for n in range(40)))
    with pytest.raises(MissingRequirement, match=r"goals\.json cannot be read: .* tools\.horizons TABLE"):
        predictor_for(table)
    write_trees(table)
    assert predictor_for(table).predict([{"distance": 30.0}]) == fit(recorded_rows(table)).predict([{"distance": 30.0}])
    table.write_text(table.read_text().replace("oak,30,300", "oak,30,9000"))
    with pytest.raises(MissingRequirement, match="was learned from another table"):
        predictor_for(table)


def test_lines_that_say_where_records_are_from_are_no_rows(tmp_path: Path) -> None:
    told = StringIO("# Made by hand.\n")
    told.seek(0, 2)
    csv.writer(told).writerows([["kind", "distance", "ticks"], ["oak", 3, 20]])
    (tmp_path / "records.csv").write_text(told.getvalue(), encoding="utf-8")
    assert list(recorded_rows(tmp_path / "records.csv")) == [({"kind": "oak", "distance": 3.0}, 20.0)]


def test_records_are_read_with_their_kinds(tmp_path: Path) -> None:
    (tmp_path / "goals.csv").write_text("kind,far,horizon\nmine,3,12.5\ncraft,0,1\n")
    assert list(recorded_rows(tmp_path / "goals.csv")) == [
        ({"kind": "mine", "far": 3.0}, 12.5),
        ({"kind": "craft", "far": 0.0}, 1.0),
    ]
