"""What single rules are worth, measured by playing without them."""

import random
from pathlib import Path
from typing import Any

import pytest

from planbook.compare import part_effects
from planbook.compare.effects import FALSE_SHARE
from planbook.envs import Task
from planbook.planner import Ending, Outcome
from planbook.results import Result, RunResults
from planbook.results.statistics import benjamini_hochberg, success_tails
from planbook.runs import Entry
from tests.flows import BUILD, here
from tests.planbook.planted import FIRST_SEED, NEEDED, RULES, TASKS, needs, write_library

PLANTED = f"scripted:{Path(__file__).with_name('planted.py')}:answer"
PARTS = [f"rule_{number}" for number in range(RULES)]
SEEDS = f"{FIRST_SEED}-{FIRST_SEED + TASKS - 1}"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("effect")
    write_library(folder / "library")
    tasks = ("--env", "toy", "--types", "fetch", "--seeds", SEEDS, "--without", "retrieval")
    planning = ("--planner-option", "replans=0", "--model", PLANTED, "--out", folder / "runs")
    finished = here("effect", folder / "library", *tasks, *planning, "--json")
    assert finished.returncode == 0, finished.told
    return finished


def test_rules_that_cost_thirty_points_are_found_and_others_are_not(measured: Any) -> None:
    parts = measured.result["parts"]
    assert len(parts) == RULES
    assert {part["tasks"] for part in parts} == {TASKS}
    found = {part["part"] for part in parts if part["p_corrected"] < FALSE_SHARE}
    needed = set(PARTS[:NEEDED])
    assert len(found & needed) >= 0.8 * NEEDED
    assert len(found - needed) <= 1
    costs = [part["difference"] for part in parts if part["part"] in needed]
    assert all(-0.5 < cost < -0.15 for cost in costs)
    assert sum(part["low"] < -0.3 < part["high"] for part in parts if part["part"] in needed) >= 0.8 * NEEDED
    assert "Needed: rule_" in measured.told


def test_the_same_command_goes_on_where_it_was_stopped(measured: Any) -> None:
    assert measured.result["finished"]
    assert set(measured.result["runs"]) == {"all", *PARTS}


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_in_many_such_measurements_four_in_five_are_found_with_at_most_one_false_alarm(noise: float) -> None:
    dice, found, alarms = random.Random(f"effect/{noise}"), 0, []
    for _ in range(10):
        runs = {name: _results(number, noise, dice) for number, name in enumerate([*PARTS, ""])}
        effects = part_effects(runs.pop(""), runs)
        apart = [each.part for each in effects if each.is_told_apart]
        found += sum(part in PARTS[:NEEDED] for part in apart)
        alarms.append(sum(part in PARTS[NEEDED:] for part in apart))
    assert found >= 0.8 * 10 * NEEDED
    assert sum(count > 1 for count in alarms) <= 1, alarms


def _results(left_out: int, noise: float, dice: random.Random) -> RunResults:
    """The table of a run without a rule, in which every episode fails with some chance."""
    rows = [_row(task, not needs(left_out, task) and dice.random() >= noise) for task in range(TASKS)]
    return RunResults(None, "", lambda *_: None, {row.index: row for row in rows})  # type: ignore[arg-type]


def _row(number: int, solved: bool) -> Result:
    task = Task(id=f"fetch/{number}", env="toy", split="all", type="fetch", goal="", seed=number)
    outcome = Outcome.DIRECT_SUCCESS if solved else Outcome.FAILURE
    return Result(Entry(index=number, task=task), ending=Ending(outcome=outcome), events=1)


@pytest.mark.parametrize(
    ("chances", "successes", "tails"),
    [([0.5, 0.5], 1, (0.75, 0.75)), ([0.5, 0.5], 0, (0.25, 1.0)), ([0.1, 0.9], 2, (1.0, 0.09)), ([], 0, (1.0, 1.0))],
)
def test_tails_of_successes_with_different_chances(
    chances: list[float], successes: int, tails: tuple[float, float]
) -> None:
    assert success_tails(chances, successes) == pytest.approx(tails)


def test_the_correction_is_that_of_benjamini_and_hochberg() -> None:
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert benjamini_hochberg([]) == []


def test_only_tasks_are_played_that_a_part_matters_to(tmp_path: Path) -> None:
    assert here(*BUILD, "--tasks-per-type", 2, "--out", tmp_path / "built").returncode == 0
    found = here(
        "effect",
        tmp_path / "built",
        "--parts",
        "skill:fetch,rule_1",
        "--seeds",
        "0-3",
        "--json",
        "--out",
        tmp_path / "e",
    )
    assert found.returncode == 0, found.told
    skill, rule = found.result["parts"]
    assert (skill["part"], skill["affected"], skill["solved"]) == ("skill:fetch", 4, 0)
    assert (rule["affected"], rule["difference"]) == (8, 0.0)
    assert rule["p"] > 0.3
