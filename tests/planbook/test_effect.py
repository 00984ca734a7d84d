"""`planbook effect` measures what single rules and skills are worth, by playing without them."""

from pathlib import Path

import pytest

from planbook.compare.effects import FALSE_DISCOVERY_RATE, effect_parts, part_effects
from planbook.envs import Task
from planbook.errors import OUT_OF_BUDGET
from planbook.planner import Ending, Outcome
from planbook.results import RunResults
from planbook.results.rows import EpisodeResult
from planbook.results.statistics import benjamini_hochberg, permutation_tails
from planbook.runs import EpisodeEntry
from tests.flows import asks, invoke, refusal, scripted, succeed
from tests.planbook.planted import FIRST_SEED, NEEDED_RULES, RULES, TASKS, write_library

PLANTED = f"scripted:{Path(__file__).with_name('planted.py')}:answer"
PARTS = [f"rule_{number}" for number in range(RULES)]
SEEDS = f"{FIRST_SEED}-{FIRST_SEED + TASKS - 1}"


@pytest.mark.deep
def test_rules_that_cost_thirty_points_are_found_and_others_are_not(tmp_path: Path) -> None:
    write_library(tmp_path / "library")
    tasks = ("--env", "toy", "--types", "fetch", "--seeds", SEEDS, "--without", "retrieval")
    planning = ("--planner-option", "replans=0", "--model", PLANTED, "--out", tmp_path / "runs")
    finished = succeed("effect", tmp_path / "library", *tasks, *planning, "--json")
    assert finished.result["finished"]
    assert set(finished.result["runs"]) == {"all", *PARTS}
    parts = finished.result["parts"]
    assert len(parts) == RULES
    assert {part["tasks"] for part in parts} == {TASKS}
    found = {part["part"] for part in parts if part["p_corrected"] < FALSE_DISCOVERY_RATE}
    needed = set(PARTS[:NEEDED_RULES])
    assert len(found & needed) >= 0.8 * NEEDED_RULES
    assert len(found - needed) <= 1
    costs = [part["difference"] for part in parts if part["part"] in needed]
    assert all(-0.5 < cost < -0.15 for cost in costs)
    assert sum(part["low"] < -0.3 < part["high"] for part in parts if part["part"] in needed) >= 0.8 * NEEDED_RULES
    assert "Significantly fewer tasks are solved without: rule_" in finished.printed


def test_a_run_that_learned_nothing_is_refused_without_naming_an_option_that_effect_lacks(tmp_path: Path) -> None:
    invoke("run", "--env", "toy", "--split", "all:1", "--out", tmp_path / "run")
    refused = refusal("effect", tmp_path / "run", "--planner", "procedures")
    assert "so it has learned nothing" in refused
    assert "--library" not in refused


def test_equal_repeats_of_a_task_count_as_one_observation() -> None:
    runs = {
        name: _table([_row(task, solved, repeat) for task in range(5) for repeat in range(3)])
        for name, solved in (("", True), ("rule_0", False))
    }
    (effect,) = part_effects(runs.pop(""), runs)
    assert effect.p == pytest.approx(2 * 0.5**5)
    assert (effect.affected, effect.solved, effect.difference) == (5, 0, -1.0)
    *_, method = effect_parts([effect])
    assert "Intervals show the size of an effect; they are not corrected, and may disagree with p." in str(method)


def test_other_parts_do_not_change_the_size_of_an_effect() -> None:
    needing = {"": None, "rule_0": None, **{f"skill:{task}": task for task in range(5)}}
    runs = {part: _table([_row(task, task != needed) for task in range(6)]) for part, needed in needing.items()}
    useless, *skills = part_effects(runs.pop(""), runs)
    assert (useless.expected, useless.solved, useless.difference, useless.p) == (6, 6, 0.0, 1.0)
    assert useless.low < 0 < useless.high
    assert all((skill.expected, skill.solved) == (6, 5) for skill in skills)


def _table(rows: list[EpisodeResult]) -> RunResults:
    return RunResults(None, "", lambda *_: None, dict(enumerate(rows)))  # type: ignore[arg-type]


def _row(number: int, solved: bool, repeat: int = 0) -> EpisodeResult:
    task = Task(id=f"fetch/{number}", env="toy", split="all", type="fetch", goal="", seed=number)
    outcome = Outcome.DIRECT_SUCCESS if solved else Outcome.FAILURE
    return EpisodeResult(EpisodeEntry(index=number, task=task, repeat=repeat), ending=Ending(outcome=outcome), events=1)


@pytest.mark.parametrize(
    ("groups", "tails"),
    [
        ([(1, 0), (0, 1)], (0.75, 0.75)),
        ([(0, 1, 1), (0, 1, 1)], (1 / 9, 1.0)),
        ([(3, 0), (3, 0)], (1.0, 0.25)),
        ([], (1.0, 1.0)),
    ],
)
def test_tails_count_every_choice_of_one_run_in_each_group(
    groups: list[tuple[int, ...]], tails: tuple[float, float]
) -> None:
    assert permutation_tails(groups) == pytest.approx(tails)


def test_corrected_p_values_are_those_of_benjamini_and_hochberg() -> None:
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert benjamini_hochberg([]) == []


def test_only_tasks_whose_prompts_have_a_part_are_played(built_run: Path, tmp_path: Path) -> None:
    options = ("--planner", "procedures", "--seeds", "0-3", "--json", "--out", tmp_path)
    found = succeed("effect", built_run, "--parts", "skill:fetch,rule_0", *options)
    assert "cost of learning" not in found.printed
    skill, rule = found.result["parts"]
    assert (skill["part"], skill["affected"], skill["solved"]) == ("skill:fetch", 4, 0)
    assert (rule["affected"], rule["p"]) == (0, 1.0)
    assert "Not measured, because no played task used them: rule_0." in found.printed


def test_skills_of_a_learned_library_can_be_left_out(built_run: Path, tmp_path: Path) -> None:
    options = ("--planner", "procedures", "--seeds", "0-3", "--json", "--out", tmp_path / "effect")
    found = succeed("effect", built_run / "learned", "--env", "toy", "--parts", "skill:fetch", *options)
    assert (found.result["parts"][0]["affected"], found.result["parts"][0]["solved"]) == (4, 0)
    fork = ("fork", tmp_path / "effect" / "all", 0, "--at", 0, "--json", "--without")
    forked = invoke(*fork, "skill:fetch").result
    assert forked["differences"]["fetch/0"]["now"].startswith("failure")
    assert "--without skill:none: there is no such rule or skill" in invoke(*fork, "skill:none").printed


def test_all_runs_share_one_budget(built_run: Path, tmp_path: Path) -> None:
    command = ("effect", built_run, "--model", scripted(), "--seeds", "0-1", "--json", "--out", tmp_path)
    found = invoke(*command, "--budget", "calls=9")
    assert found.returncode == OUT_OF_BUDGET, found.printed
    assert not found.result["finished"]
    assert sum(len(asks(Path(folder))) for folder in tmp_path.iterdir()) == 9
    assert "and a larger --budget." in found.printed


def test_effect_is_refused_without_a_model(built_run: Path) -> None:
    assert "use --model to name the model that plays; or measure the procedures alone" in refusal("effect", built_run)
