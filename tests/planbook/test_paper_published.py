"""Runs of ADaPT's and DEPS' methods beside the tables of their papers: figures as printed, our row, what differs."""

from contextlib import closing
from io import StringIO
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from rich.console import Console

from planbook.config import Config, chosen_options
from planbook.envs import Selection, Task, known_environments, load_environment
from planbook.papers.comparison import COLUMNS, ComparedPaper, PaperComparison, compare_with_papers
from planbook.papers.published import ALL, Publication, PublishedTable, papers_of, publications
from planbook.papers.tables import paper_tables
from planbook.planner import METHODS, Ending, Outcome
from planbook.planner.strategies.deps.replanning import REPLANS
from planbook.results.summary import Summary, summarise
from planbook.results.table import read_run
from planbook.runs import Run
from planbook.terminal.printing import print_parts
from tests.command import ROOT, planbook, result
from tests.rows import ask

AUTOMANUAL, ADAPT, DEPS, AGENTKIT, ADVOCATE = publications()
TASKS = {"pick_and_place": 24, "pick_clean_then_place": 31, "pick_heat_then_place": 23}
TASKS |= {"pick_cool_then_place": 21, "look_at_obj": 18, "pick_two_obj": 17}
DAVINCI, INSTRUCT = "text-davinci-003", "gpt-3.5-turbo-instruct"
ENVIRONMENTS = ROOT / "tests" / "paper_environments.py"
TESTING = Config(
    planner="adapt",
    planner_options={"actions_per_reply": 1},
    env="alfworld",
    selection=Selection(split="valid_unseen"),
    actions=1000,
    models={"default": f"openai:{DAVINCI}"},
)


def table(paper: Publication, number: int) -> PublishedTable:
    (found,) = [each for each in paper.tables if each.table == number]
    return found


def values(paper: Publication, number: int, method: str, variant: str = "") -> dict[str, float]:
    (row,) = [each for each in table(paper, number).rows if (each.method, each.variant) == (method, variant)]
    return row.values


def played(
    folder: Path, config: Config, counts: dict[str, int], unsolved: int = 0, model: str = DAVINCI, **params: Any
) -> tuple[Config, Summary]:
    """A run whose first episodes of each type were not solved, an executor having tried each at depth 2."""
    tasks = [
        Task(id=f"{kind}/{number}", env=config.env, split="s", type=kind, goal="g", params=params)
        for kind, count in counts.items()
        for number in range(count)
    ]
    with closing(Run.create(folder, config, tasks)) as run:
        run.store.put("task/0", "ask", 0, ask("planner", "openai:x", "t", served=model))
        for entry in run.entries():
            failed = int(entry.task.id.rpartition("/")[2]) < unsolved
            ending = Ending(outcome=Outcome.FAILURE if failed else Outcome.DIRECT_SUCCESS, cause="x" if failed else "")
            claim: dict[str, Any] = {"by": "executor", "text": "x", "depth": 2, "done": True}
            run.store.put(f"{entry.path}/round/0/plan/0", "subtask", 0, claim)
            run.store.put(entry.path, "outcome", 0, ending.model_dump(mode="json"))
        return config, summarise(list(read_run(run).episodes.values()), 1.0, str(folder))


def held(config: Config, summary: Summary) -> PaperComparison:
    compared = compare_with_papers(config, summary)
    assert compared is not None
    return compared


def paper_of(compared: PaperComparison, name: str = "") -> ComparedPaper:
    """The paper of that name, or the only one."""
    (found,) = [each for each in compared.papers if name in ("", each.paper)]
    return found


def tables_of(compared: PaperComparison, name: str = "") -> list[int]:
    return [each.table.table for each in paper_of(compared, name).tables]


def differs(compared: PaperComparison, name: str = "") -> dict[str, tuple[str, str]]:
    return {each.what: (each.ours, each.theirs) for each in paper_of(compared, name).differs}


def printed(compared: PaperComparison) -> str:
    screen = Console(file=StringIO(), width=140, highlight=False, emoji=False, markup=False)
    print_parts(screen, paper_tables(compared))
    written = screen.file
    assert isinstance(written, StringIO)
    return written.getvalue()


def row(text: str, title: str, name: str) -> list[str]:
    """The cells of a row of the first table whose title has these words."""
    (line,) = [each for each in text.partition(title)[2].split("└")[0].splitlines() if each.startswith(f"│ {name} ")]
    return [cell.strip() for cell in line.strip("│").split("│")]


# The data.


def test_the_overall_figures_of_alfworld_follow_from_the_types() -> None:
    for number in (2, 8):
        for each in table(ADAPT, number).rows:
            solved = sum(round(each.values[kind] * count / 100) for kind, count in TASKS.items())
            assert each.values[ALL] == pytest.approx(100 * solved / sum(TASKS.values()), abs=0.8), each.method


def test_adapt_s_rates_by_depth_make_its_overall_figure() -> None:
    by_depth = values(ADAPT, 7, "ADaPT")
    solved = sum(round(by_depth[kind] * count / 100) for kind, count in {"depth_2": 77, "depth_3": 112}.items())
    assert solved / 200 == pytest.approx(values(ADAPT, 4, "ADaPT")[ALL] / 100, abs=0.01)


def test_the_figures_of_deps_in_table_2_follow_from_the_69_tasks() -> None:
    groups, tasks = values(DEPS, 2, "DEPS"), values(DEPS, 21, "DEPS")
    assert len(tasks) == 69
    assert mean(tasks.values()) == pytest.approx(groups[ALL], abs=0.01)
    assert tasks["diamond"] == pytest.approx(groups["MT8_challenge"], abs=0.1)


def test_the_spread_of_a_group_is_that_of_its_tasks() -> None:
    (deps,) = [each for each in table(DEPS, 2).rows if each.method == "DEPS"]
    tools = ["bucket", "shears", "iron_pickaxe", "iron_axe", "iron_hoe", "iron_shovel", "iron_sword"]
    rates = [values(DEPS, 21, "DEPS")[name] for name in tools]
    assert mean(rates) == pytest.approx(deps.values["MT6_tool_complex"], abs=0.05)
    assert stdev(rates) == pytest.approx(deps.spread["MT6_tool_complex"], abs=0.6)


def test_deps_is_printed_alike_in_tables_2_3_4_and_19() -> None:
    groups = values(DEPS, 2, "DEPS")
    assert values(DEPS, 3, "DEPS", "MineDojo 1.11.2, learned controller") == {
        name: rate for name, rate in groups.items() if name != ALL
    }
    for name, rate in values(DEPS, 4, "DEPS", "rounds: no limit").items():
        assert rate == pytest.approx(groups[name], abs=0.06)
    (codex,) = [each for each in table(DEPS, 19).rows if (each.method, each.model) == ("DEPS", "code-davinci-002")]
    for name, rate in codex.values.items():
        assert rate == pytest.approx(groups[name], abs=0.06)


def test_the_averages_of_tables_6_and_8_follow_from_their_rows() -> None:
    games = {"pick_and_place": 3, "pick_clean_then_place": 2, "pick_cool_then_place": 2}
    games |= {"pick_heat_then_place": 1, "pick_two_obj": 1, "look_at_obj": 1}
    for each in table(DEPS, 6).rows:
        if each.planner is not None:
            over = sum(each.values[kind] * count for kind, count in games.items()) / 10
            assert each.values[ALL] == pytest.approx(over, abs=0.06)
    for each in table(DEPS, 8).rows:
        assert each.values[ALL] == pytest.approx(mean(v for k, v in each.values.items() if k != ALL), abs=0.06)


def test_the_data_speaks_in_our_words() -> None:
    for paper in publications():
        assert paper.planners <= set(METHODS), paper.paper
        for each in paper.tables:
            assert each.rows
            assert each.unit.startswith(("%", "score")) or paper in (AGENTKIT, ADVOCATE)
            if each.by == "type" and each.env in known_environments():
                environment = load_environment(each.env)
                assert set(each.columns) <= {*environment.types, ALL, *COLUMNS}
                assert each.split in ("", *environment.splits)
            for row in (row for row in each.rows if row.planner):
                fields = {*METHODS[str(row.planner)].options.model_fields, "without", "start"}
                assert set(row.options) <= fields, row.method


# A run beside them.


def test_a_method_finds_its_own_paper_and_any_other_one_that_has_the_environment() -> None:
    assert papers_of("automanual", "alfworld") == [AUTOMANUAL]
    assert papers_of("adapt", "alfworld") == [ADAPT]
    assert papers_of("dep", "alfworld") == [DEPS]
    assert papers_of("react", "minecraft") == [DEPS]
    assert papers_of("react", "shopping") == [ADAPT, AGENTKIT]
    assert papers_of("procedures", "alfworld") == [AUTOMANUAL]
    assert papers_of("procedures", "textcraft") == [ADAPT]
    assert papers_of("adapt", "toy") == []


def test_a_run_in_the_papers_setting_differs_in_its_prompts_alone(tmp_path: Path) -> None:
    compared = held(*played(tmp_path / "run", TESTING, TASKS, unsolved=7))
    assert set(differs(compared)) == {"prompts"}
    assert compared.ours.overall == round(100 * (134 - 42) / 134, 1)
    text = printed(compared)
    assert row(text, "ADaPT, table 2:", "ADaPT")[1:] == ["87.5", "80.6", "60.8", "76.2", "61.1", "52.9", "71.6"]
    assert row(text, "ADaPT, table 2:", "ours: adapt")[-1] == "68.7"
    assert row(text, "ADaPT, table 8:", "ours: adapt, demonstrations hybrid")[1] == "70.8"
    assert "table 5" not in text
    assert (
        f"Ours: adapt with {DAVINCI}, valid_unseen: 134 tasks, 1 repeat; 68.7 % solved, 95 % interval 60.4 to 75.9."
        in text
    )


def test_everything_that_differs_is_told(tmp_path: Path) -> None:
    options: dict[str, Any] = {"d_max": 2, "iterations": 5, "demonstrations": "atomic"}
    update: dict[str, Any] = {"planner_options": options, "repeats": 2}
    config = TESTING.model_copy(update=update)
    found = differs(held(*played(tmp_path / "run", config, {"pick_and_place": 3}, model="small")))
    assert found == {
        "tasks": ("3", "134"),
        "repeats": ("2", "1"),
        "model": ("small", DAVINCI),
        "d_max": ("2", "3"),
        "iterations": ("5", "20"),
        "actions_per_reply": ("no limit", "1"),
        "demonstrations": ("atomic", "hybrid"),
        "prompts": found["prompts"],
    }


def test_the_dev_set_is_compared_with_the_figures_of_the_dev_set(tmp_path: Path) -> None:
    config = TESTING.model_copy(update={"selection": Selection(split="adapt_dev"), "planner": "react"})
    compared = held(*played(tmp_path / "run", config, dict.fromkeys(TASKS, 10), unsolved=5))
    assert tables_of(compared) == [5, 5], "the table and the figure"
    assert set(differs(compared)) == {"prompts"}
    text = printed(compared)
    assert row(text, "ADaPT, table 5:", "ours: react")[1] == "50.0"
    assert row(text, "ADaPT, table 5:", "ReAct, executor LLaMA-2-70B (quoted only)")[1] == "28.3"
    assert row(text, "ADaPT, table 5:", "ReAct, executor GPT-3.5")[1] == "38.4"
    lines = [line for paper in compared.papers for each in paper.tables for line in each.table.rows]
    assert {line.quoted_only for line in lines if "LLaMA" in line.model} == {True}
    assert {line.quoted_only for line in lines if "LLaMA" not in line.model} == {False}


def test_shopping_stands_beside_score_and_success(tmp_path: Path) -> None:
    setting: dict[str, Any] = {"env": "shopping", "selection": Selection(split="test")}
    config = TESTING.model_copy(update={**setting, "env_options": {"results_per_page": 3}})
    counts = {"beauty": 50, "garden": 50}
    compared = held(*played(tmp_path / "run", config, counts, unsolved=25, model="gpt-3.5-turbo"))
    assert tables_of(compared) == [3, 9]
    assert row(printed(compared), "ADaPT, table 9:", "ADaPT")[1:] == ["60.0", "44.0"]
    assert row(printed(compared), "ADaPT, table 9:", "ours: adapt")[1:] == ["0.0", "50.0"]
    assert set(differs(compared)) == {"prompts", "world"}
    assert differs(compared)["world"][0] == "a made catalogue of 1,200 products"
    ten = config.model_copy(update={"env_options": {}})
    found = differs(held(*played(tmp_path / "ten", ten, counts, model="gpt-3.5-turbo")))
    assert found["world option results_per_page"] == ("10", "3")
    dev = ten.model_copy(update={"selection": Selection(split="dev")})
    compared = held(*played(tmp_path / "dev", dev, {"beauty": 40}, model="gpt-3.5-turbo"))
    assert tables_of(compared) == [6]
    assert set(differs(compared)) == {"prompts", "world"}, "the paper has it with 3 and with 10"


@pytest.mark.deep
def test_the_naive_buyer_is_compared_with_its_row(tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = ["run", "--planner", "naive", "--env", "shopping", "--out", run, "--json", "--table"]
    shown = result(planbook(*command))
    (paper,) = shown["table"]["papers"]
    tables = {each["table"]["table"]: each["ours"] for each in paper["tables"]}
    assert tables[9] == {"score": 62.7, "all": 10.0}
    assert tables[3] == {"all": 10.0}
    assert {each["what"] for each in paper["differs"]} == {"world", "world option results_per_page"}


def test_deps_own_games_are_a_split(tmp_path: Path) -> None:
    setting: dict[str, Any] = {"selection": Selection(split="deps"), "planner": "deps", "planner_options": {}}
    config = TESTING.model_copy(update={**setting, "actions": 50, "repeats": 5})
    compared = held(*played(tmp_path / "run", config, {"pick_and_place": 10}))
    assert tables_of(compared) == [6]
    assert set(differs(compared)) == {"rounds", "temperature", "prompts"}
    other = config.model_copy(update={"selection": Selection(split="valid_unseen")})
    assert differs(held(*played(tmp_path / "other", other, {"pick_and_place": 10})))["split"][1] == "deps"


def test_no_number_of_rounds_is_the_number_that_it_means(tmp_path: Path) -> None:
    options: dict[str, Any] = {"selection": Selection(split="deps"), "planner": "deps", "planner_options": {}}
    config = TESTING.model_copy(update=options)
    assert chosen_options(config, "alfworld")["rounds"] == REPLANS
    assert differs(held(*played(tmp_path / "run", config, {"pick_and_place": 1})))["rounds"] == ("20", "8")


def test_success_and_k_max_stand_by_recipe_depth(tmp_path: Path) -> None:
    setting: dict[str, Any] = {"env": f"{ENVIRONMENTS}:Textcraft", "selection": Selection(split="test")}
    counts = {"depth_2": 77, "depth_3": 112, "depth_4": 11}
    config = TESTING.model_copy(update=setting)
    compared = held(*played(tmp_path / "run", config, counts, unsolved=11, model=INSTRUCT))
    assert set(differs(compared)) == {"prompts"}
    text = printed(compared)
    assert row(text, "ADaPT, table 7:", "ADaPT") == ["ADaPT", "78.2", "38.7", "1.9", "2.8"]
    assert row(text, "ADaPT, table 7:", "ours: adapt") == ["ours: adapt", "85.7", "90.2", "2.0", "2.0"]
    assert row(text, "ADaPT, table 4:", "ours: adapt") == ["ours: adapt", "83.5"]


def test_tasks_stand_beside_the_task_of_the_same_object(tmp_path: Path) -> None:
    setting: dict[str, Any] = {
        "env": f"{ENVIRONMENTS}:Minecraft",
        "selection": Selection(split="table21"),
        "actions": 30,
    }
    config = TESTING.model_copy(update={**setting, "planner": "procedures", "planner_options": {}, "models": {}})
    compared = held(*played(tmp_path / "run", config, {"MT4_dig_down": 4}, unsolved=1, object="torch"))
    text = printed(compared)
    assert tables_of(compared) == [2, 3, 21]
    assert row(text, "DEPS, table 21:", "torch") == ["torch", "0.0", "6.7", "0.0", "6.7", "0.0", "23.3", "13.3", "75.0"]
    assert "coal" not in text
    assert row(text, "DEPS, table 2:", "ours: procedures")[4] == "75.0"
    assert row(text, "DEPS, table 2:", "ours: procedures")[-1] == "75.0 (1/8)"
    found = differs(compared)
    assert found["planner"] == ("no model: procedures", "a model plans")
    assert found["world"][0] == "in text"
    assert found["repeats"] == ("1", "30")


def test_a_run_prints_the_table_and_says_where_there_is_none(tmp_path: Path) -> None:
    command = ["run", "--planner", "procedures", "--env", "toy", "--types", "fetch", "--table", "--json", "--out"]
    finished = planbook(*command, tmp_path / "toy")
    assert finished.returncode == 0, finished.stderr
    assert result(finished)["table"] is None
    assert "ADaPT has them for alfworld, shopping and textcraft. DEPS has them for" in finished.stderr
    again = planbook("run", "--resume", tmp_path / "toy", "--table", "--json")
    assert again.returncode == 0, again.stderr
    assert result(again)["table"] is None


def test_seeds_are_as_good_as_repeats_and_the_first_split_is_the_environments_own(tmp_path: Path) -> None:
    setting: dict[str, Any] = {
        "env": f"{ENVIRONMENTS}:Minecraft",
        "selection": Selection(),
        "planner": "react",
        "actions": 30,
    }
    config = TESTING.model_copy(update=setting)
    found = differs(held(*played(tmp_path / "run", config, {"MT4_dig_down": 69 * 30})))
    assert not {"split", "tasks", "repeats"} & set(found)
    by_id = config.model_copy(update={"selection": Selection(ids=("a/0",))})
    found = differs(held(*played(tmp_path / "one", by_id, {"MT4_dig_down": 1})))
    assert (found["split"], found["tasks"]) == (("tasks chosen by id", "table21"), ("1", "69"))
    assert found["planner"] == ("react", "the paper does not have this method")
