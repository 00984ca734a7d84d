"""Runs of ADaPT's and DEPS' methods are compared with their papers: the printed figures, our row, and differences."""

from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from planbook.config import Config
from planbook.console import ALL
from planbook.envs import Selection, known_environments, load_environment
from planbook.papers import Publication, papers_of, publications
from planbook.papers.comparison import COLUMNS
from planbook.planner import METHODS, Ending, Outcome
from planbook.runs import EpisodeEntry, Run
from tests.command import planbook, result
from tests.planbook.papers import (
    ADAPT,
    ADVOCATE,
    AGENTKIT,
    ALFWORLD_TASKS,
    AUTOMANUAL,
    DEPS,
    ENVIRONMENTS,
    Comparison,
    compare,
    solved_if,
    table,
    values,
)

DAVINCI, TURBO = "text-davinci-003", "gpt-3.5-turbo"
TESTING = Config(
    planner="adapt",
    planner_options={"actions_per_reply": 1, "restore_failed": True},
    env="alfworld",
    selection=Selection(split="valid_unseen"),
    actions=1000,
    models={"default": f"openai:{DAVINCI}"},
)
DEPS_TESTING = TESTING.model_copy(
    update={"selection": Selection(split="deps"), "planner": "deps", "planner_options": {}, "actions": 50}
)
MINECRAFT = TESTING.model_copy(update={"env": f"{ENVIRONMENTS}:Minecraft", "actions": 30})


def compare_run(
    folder: Path,
    counts: dict[str, int],
    unsolved: int = 0,
    *,
    config: Config = TESTING,
    model: str = DAVINCI,
    params: dict[str, str] | None = None,
    **changes: Any,
) -> Comparison:
    """Compare a run whose first ``unsolved`` episodes of each type failed. Each has a subtask of depth 2."""

    def subtask(run: Run, entry: EpisodeEntry) -> None:
        claim: dict[str, Any] = {"by": "executor", "text": "x", "depth": 2, "done": True}
        run.store.put(f"{entry.path}/round/0/plan/0", "subtask", 0, claim)

    def ending(entry: EpisodeEntry) -> Any:
        return solved_if(int(entry.task.id.rpartition("/")[2]) >= unsolved)

    changed = config.model_copy(update=changes)
    return compare(folder, changed, counts, ending, model=model, params=params, events=subtask)


# The published tables.


def test_adapts_overall_figures_follow_from_its_other_figures() -> None:
    for each in (*table(ADAPT, 2).rows, *table(ADAPT, 8).rows):
        solved = sum(round(each.values[kind] * count / 100) for kind, count in ALFWORLD_TASKS.items())
        assert each.values[ALL] == pytest.approx(100 * solved / sum(ALFWORLD_TASKS.values()), abs=0.8), each.method
    by_depth = values(ADAPT, 7, "ADaPT")
    solved = sum(round(by_depth[kind] * count / 100) for kind, count in {"depth_2": 77, "depth_3": 112}.items())
    assert solved / 200 == pytest.approx(values(ADAPT, 4, "ADaPT")[ALL] / 100, abs=0.01)


def test_deps_figures_of_table_2_follow_from_the_69_tasks() -> None:
    groups, tasks = values(DEPS, 2, "DEPS"), values(DEPS, 21, "DEPS")
    assert len(tasks) == 69
    assert mean(tasks.values()) == pytest.approx(groups[ALL], abs=0.01)
    assert tasks["diamond"] == pytest.approx(groups["MT8_challenge"], abs=0.1)
    (deps,) = [each for each in table(DEPS, 2).rows if each.method == "DEPS"]
    iron = ("iron_pickaxe", "iron_axe", "iron_hoe", "iron_shovel", "iron_sword")
    rates = [tasks[name] for name in ("bucket", "shears", *iron)]
    assert mean(rates) == pytest.approx(deps.values["MT6_tool_complex"], abs=0.05)


def test_deps_figures_agree_in_tables_2_3_4_and_19() -> None:
    groups = values(DEPS, 2, "DEPS")
    without_all = {name: rate for name, rate in groups.items() if name != ALL}
    assert values(DEPS, 3, "DEPS", "MineDojo 1.11.2, learned controller") == without_all
    (codex,) = [each for each in table(DEPS, 19).rows if (each.method, each.model) == ("DEPS", "code-davinci-002")]
    for rates in (values(DEPS, 4, "DEPS", "rounds: no limit"), codex.values):
        assert rates == pytest.approx({name: groups[name] for name in rates}, abs=0.06)


def test_the_averages_of_tables_6_and_8_follow_from_their_rows() -> None:
    games = dict.fromkeys(ALFWORLD_TASKS, 1)
    games |= {"pick_and_place": 3, "pick_clean_then_place": 2, "pick_cool_then_place": 2}
    for each in table(DEPS, 6).rows:
        if each.planner is not None:
            average = sum(each.values[kind] * count for kind, count in games.items()) / 10
            assert each.values[ALL] == pytest.approx(average, abs=0.06)
    for each in table(DEPS, 8).rows:
        assert each.values[ALL] == pytest.approx(mean(v for k, v in each.values.items() if k != ALL), abs=0.06)


def test_the_tables_use_the_names_of_our_methods_types_and_options() -> None:
    for paper in publications():
        assert paper.planners <= set(METHODS), paper.paper
        for each in paper.tables:
            assert each.rows
            assert each.unit.startswith(("%", "score")) or paper in (AGENTKIT, ADVOCATE)
            if each.grouped_by == "type" and each.env in known_environments():
                environment = load_environment(each.env)
                assert set(each.columns) <= {*environment.types, ALL, *COLUMNS}
                assert each.split in ("", *environment.splits)
            for row in (row for row in each.rows if row.planner):
                fields = {*METHODS[str(row.planner)].options.model_fields, "without", "start"}
                if each.env in known_environments():
                    fields |= set(load_environment(each.env).Options.model_fields)
                assert set(row.options) <= fields, row.method
            assert each.env in paper.environments


# A run compared with the tables.


@pytest.mark.parametrize(
    ("planner", "env", "papers"),
    [
        ("automanual", "alfworld", [AUTOMANUAL]),
        ("adapt", "alfworld", [ADAPT]),
        ("dep", "alfworld", [DEPS]),
        ("react", "minecraft", [DEPS]),
        ("react", "shopping", [ADAPT, AGENTKIT]),
        ("agentkit", "shopping", [AGENTKIT]),
        ("lats", "shopping", [ADAPT]),
        ("lats", "web", [ADVOCATE]),
        ("random", "crafter", [AGENTKIT]),
        ("procedures", "alfworld", [AUTOMANUAL]),
        ("procedures", "textcraft", [ADAPT]),
        ("adapt", "toy", []),
    ],
)
def test_a_method_has_its_own_paper_or_those_of_the_environment(
    planner: str, env: str, papers: list[Publication]
) -> None:
    assert papers_of(planner, env) == papers


def test_a_run_in_the_papers_setting_differs_only_in_its_prompts(tmp_path: Path) -> None:
    compared = compare_run(tmp_path, ALFWORLD_TASKS, unsolved=7)
    assert set(compared.differs()) == {"prompts", "environment"}
    assert compared.row("ADaPT, table 2:", "ADaPT") == ["87.5", "80.6", "60.8", "76.2", "61.1", "52.9", "71.6"]
    assert compared.row("ADaPT, table 2:", "ours: adapt")[-1] == "68.7"
    assert compared.row("ADaPT, table 8:", "ours: adapt")[0] == "70.8"
    assert "table 5" not in compared.text
    expected = "valid_unseen: 134 tasks, 1 repeat; 68.7 % solved, 95 % interval 60.4 to 75.9."
    assert f"Ours: adapt with {DAVINCI}, {expected}" in compared.text


def test_a_run_with_unplayed_episodes_has_no_interval(tmp_path: Path) -> None:
    ending = {0: Ending(outcome=Outcome.NOT_RUN, cause="x")}
    compared = compare(tmp_path, TESTING, {"pick_and_place": 2}, lambda entry: ending.get(entry.index, solved_if(True)))
    assert "50.0 % solved, 95 % interval -." in compared.text
    assert "n 2, -" in compared.text


def test_the_dev_set_is_compared_with_the_figures_of_the_dev_set(tmp_path: Path) -> None:
    selection = Selection(split="adapt_dev")
    compared = compare_run(tmp_path, dict.fromkeys(ALFWORLD_TASKS, 10), 5, selection=selection, planner="react")
    assert compared.tables() == [5, 5], "the table and the figure"
    assert set(compared.differs()) == {"prompts", "environment"}
    assert compared.row("ADaPT, table 5:", "ours: react")[0] == "50.0"
    assert compared.row("ADaPT, table 5:", "ReAct, executor LLaMA-2-70B")[0] == "28.3"
    assert compared.row("ADaPT, table 5:", "ReAct, executor GPT-3.5")[0] == "38.4"
    rows = [row for each in compared.paper().tables for row in each.table.rows]
    assert not any(row.quoted_only for row in rows), "LLaMA is the executor there, which --model executor=... can be"


def test_shopping_is_compared_by_score_and_success(tmp_path: Path) -> None:
    options = TESTING.planner_options | {"demonstrations": "atomic"}
    test: dict[str, Any] = {"env": "shopping", "selection": Selection(split="test"), "model": TURBO}
    test["planner_options"] = options
    counts = {"beauty": 50, "garden": 50}
    compared = compare_run(tmp_path, counts, unsolved=25, env_options={"results_per_page": 3}, **test)
    assert compared.tables() == [3, 9]
    assert compared.row("ADaPT, table 9:", "ADaPT") == ["60.0", "44.0"]
    assert compared.row("ADaPT, table 9:", "ours: adapt") == ["0.0", "50.0"]
    assert set(compared.differs()) == {"prompts", "environment"}
    assert compared.differs()["environment"][0] == "a generated catalogue of 1,200 products"
    assert compare_run(tmp_path, counts, **test).differs()["environment option results_per_page"] == ("10", "3")
    whole = compare_run(tmp_path, counts, **test | {"planner_options": {"d_max": 2}}).differs()
    assert (whole["actions_per_reply"], whole["d_max"]) == (("no limit", "1"), ("2", "3"))
    dev = compare_run(tmp_path, {"beauty": 40}, **test | {"selection": Selection(split="dev")})
    assert dev.tables() == [6]
    assert set(dev.differs()) == {"prompts", "environment"}, "the paper reports both 3 and 10 results per page"
    assert dev.row("ADaPT, table 6:", "ADaPT, 10 products") == ["42.5"]
    assert dev.row("ADaPT, table 6:", "ours: adapt")


def test_the_games_of_deps_are_a_split_of_their_own(tmp_path: Path) -> None:
    compared = compare_run(tmp_path, {"pick_and_place": 10}, config=DEPS_TESTING, repeats=5)
    assert compared.tables() == [6]
    assert set(compared.differs()) == {"planner", "environment option paper_goals", "temperature", "prompts"}
    assert compared.differs()["planner"] == ("deps", "the paper tested this method only elsewhere"), "there it has dep"
    other = compare_run(
        tmp_path, {"pick_and_place": 10}, config=DEPS_TESTING, selection=Selection(split="valid_unseen")
    )
    assert other.differs()["split"][1] == "deps"


@pytest.mark.parametrize(("repeats", "differs"), [(1, False), (30, True)])
def test_repeats_with_one_seed_differ_from_those_in_other_worlds(tmp_path: Path, repeats: int, differs: bool) -> None:
    setting: dict[str, Any] = {"planner": "dep", "planner_options": {}, "selection": Selection(split="table21")}
    compared = compare_run(tmp_path, {"MT4_dig_down": 6}, config=MINECRAFT, repeats=repeats, **setting)
    assert ("seeds" in compared.differs()) is differs


def test_success_and_k_max_are_compared_by_recipe_depth(tmp_path: Path) -> None:
    counts = {"depth_2": 77, "depth_3": 112, "depth_4": 11}
    setting: dict[str, Any] = {"env": f"{ENVIRONMENTS}:Textcraft", "selection": Selection(split="test")}
    setting["planner_options"] = {"actions_per_reply": 1}
    compared = compare_run(tmp_path, counts, unsolved=11, model="gpt-3.5-turbo-instruct", **setting)
    assert set(compared.differs()) == {"prompts", "environment"}
    assert compared.row("ADaPT, table 7:", "ADaPT") == ["78.2", "38.7", "1.9", "2.8"]
    assert compared.row("ADaPT, table 7:", "ours: adapt") == ["85.7", "90.2", "2.0", "2.0"]
    assert compared.row("ADaPT, table 4:", "ours: adapt") == ["83.5"]
    dev = setting | {"selection": Selection(split="dev")}
    compared = compare_run(tmp_path, {"depth_2": 195}, model="gpt-3.5-turbo-instruct", **dev)
    assert compared.tables() == [], "the tables are about the test set"
    assert compared.differs()["tasks"] == ("195", "220")


def test_tasks_are_compared_by_their_object(tmp_path: Path) -> None:
    setting: dict[str, Any] = {"selection": Selection(split="table21"), "planner": "procedures", "models": {}}
    torch = {"object": "torch"}
    compared = compare_run(
        tmp_path, {"MT4_dig_down": 4}, 1, config=MINECRAFT, params=torch, planner_options={}, **setting
    )
    assert compared.tables() == [2, 3, 21]
    assert compared.row("DEPS, table 21:", "torch") == ["0.0", "6.7", "0.0", "6.7", "0.0", "23.3", "13.3", "75.0"]
    assert "coal" not in compared.text
    assert compared.row("DEPS, table 2:", "ours: procedures")[3] == "75.0"
    assert compared.row("DEPS, table 2:", "ours: procedures")[-1] == "75.0"
    assert compared.differs()["planner"] == ("no model: procedures", "a model plans")
    assert compared.differs()["environment"][0] == "in text; plans can also call agent.sees() and agent.inventory()"
    assert compared.differs()["repeats"] == ("1", "30")


def test_seeds_count_as_repeats_and_the_default_split_is_the_first(tmp_path: Path) -> None:
    setting: dict[str, Any] = {"config": MINECRAFT, "planner": "react"}
    found = compare_run(tmp_path, {"MT4_dig_down": 69 * 30}, selection=Selection(), **setting).differs()
    assert not {"split", "tasks", "repeats"} & set(found)
    found = compare_run(tmp_path, {"MT4_dig_down": 1}, selection=Selection(ids=("a/0",)), **setting).differs()
    assert (found["split"], found["tasks"]) == (("tasks chosen by id", "table21"), ("1", "69"))
    assert found["planner"] == ("react", "the paper does not have this method")


@pytest.mark.parametrize("command", ["run --planner procedures --types fetch", "test --library shipped"])
def test_there_is_no_table_for_an_environment_that_is_in_no_paper(command: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    finished = planbook(*command.split(), "--env", "toy", "--table", "--json", "--out", run)
    assert finished.returncode == 0, finished.stderr
    assert result(finished)["table"] is None
    assert "No paper has figures for toy." in finished.stderr
    again = planbook("run", "--resume", run, "--table", "--json")
    assert (again.returncode, result(again)["table"]) == (0, None), again.stderr
