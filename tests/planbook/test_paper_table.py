"""Runs of AutoManual's stages beside its paper: the figures as printed, our row, and everything that differs."""

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from planbook.config import Config, Learning
from planbook.envs import Selection, Task, load_environment
from planbook.envs.alfworld.goals import TYPES
from planbook.knowledge import ABLATIONS, EVERYTHING, fresh_beginning
from planbook.papers.comparison import COLUMNS, PaperComparison
from planbook.papers.published import ALL, publications
from planbook.planner import Ending, Outcome, Sampling
from planbook.results.summary import Summary, summarise
from planbook.results.table import read_run
from planbook.runs import Run
from tests.command import planbook, result
from tests.planbook.test_paper_published import TASKS, differs, held, paper_of, printed, row
from tests.rows import ask

PAPER = publications()[0]
TEST_MODELS = ("GPT-3.5-turbo", "GPT-4-turbo")
GPT_4 = "gpt-4-1106-preview"
BUILDING = Config(
    planner="automanual",
    env="alfworld",
    env_options={"paper_actions": True, "paper_docs": True},
    selection=Selection(split="train"),
    actions=50,
    models={"default": f"openai:{GPT_4}"},
    learning=Learning(start=("put",)),
)
TESTING = Config(
    planner="automanual",
    env="alfworld",
    env_options={"paper_actions": True, "paper_docs": True},
    selection=Selection(split="valid_unseen"),
    actions=50,
    repeats=3,
    models={"default": f"openai:{GPT_4}"},
    without=("retrieval",),
)


def figure(table: int, model: str = "GPT-4-turbo", split: str = "", method: str = "AutoManual", **wanted: Any) -> float:
    (found,) = [
        line
        for each in PAPER.tables
        if each.table == table and split in ("", each.split)
        for line in each.rows
        if (line.model, line.method) == (model, method)
        and all(line.options.get(name) == value for name, value in wanted.items())
    ]
    return found.values[ALL]


def tasks(counts: dict[str, int], env: str = "alfworld") -> list[Task]:
    return [
        Task(id=f"{kind}/{number}", env=env, split="s", type=kind, goal="g")
        for kind, count in counts.items()
        for number in range(count)
    ]


def built(folder: Path, config: Config = BUILDING, *, formulated: bool = True, model: str = GPT_4) -> Path:
    """A building run that learnt nothing from one task; with rules of its start, as a manual if ``formulated``."""
    with closing(Run.create(folder, config, tasks({"pick_and_place": 1}))) as run:
        run.store.put("learn/0/builder", "ask", 0, ask("planner", "openai:x", "t", served=model))
        run.store.put("learn/0", "learnt", 0, fresh_beginning(config, EVERYTHING).model_dump(mode="json"))
        if formulated:
            rules = [rule.id for rule in fresh_beginning(config, EVERYTHING).knowledge.rules]
            section = {"title": "All", "introduction": "All of it.", "rule_ids": rules}
            manual: dict[str, Any] = {"title": "Manual", "overview": "How.", "sections": [section]}
            run.store.put("formulate/all/0", "learnt", 0, {"manual": manual})
    return folder


def a_test(
    folder: Path, config: Config, unsolved: int, counts: dict[str, int] = TASKS, model: str = GPT_4
) -> tuple[Config, Summary]:
    """A test run in which the first episodes of each repeat were not solved."""
    with closing(Run.create(folder, config, tasks(counts, config.env))) as run:
        run.store.put("task/0", "ask", 0, ask("planner", "openai:x", "t", served=model))
        a_repeat = sum(counts.values())
        for entry in run.entries():
            failed = entry.index % a_repeat < unsolved + entry.repeat
            outcome = Outcome.FAILURE if failed else Outcome.DIRECT_SUCCESS
            ending = Ending(outcome=outcome, cause="raised" if failed else "", error_steps=4 if failed else 0)
            run.store.put(entry.path, "outcome", 0, ending.model_dump(mode="json"))
        return config, summarise(list(read_run(run).episodes.values()), 1.0, str(folder))


def library(config: Config, folder: Path) -> Config:
    return config.model_copy(update={"library": str(folder)})


def like_ours(compared: PaperComparison) -> set[tuple[str, ...]]:
    """What rows of ablations leave out that were made as ours was."""
    ablations = [each for each in paper_of(compared).tables if each.table.table in (3, 6, 7)]
    options = [each.table.rows[number].options for each in ablations for number in each.alike]
    return {tuple(map(str, left_out)) for each in options if isinstance(left_out := each["without"], list)}


def test_the_figures_agree_where_the_paper_prints_them_twice() -> None:
    for model in TEST_MODELS:
        everything = figure(1, model)
        assert everything == figure(6, model, without=[])
        for method in ("RCI", "AdaPlanner", "Planner+Lib.", "AutoManual"):
            assert figure(2, model, method=method, split="feedback") == figure(5, model, method=method)
        assert figure(5, model) == figure(7, model, start=["search-engine"])
    assert figure(3, without=[]) == figure(1) == 97.4
    assert figure(3, without=["rules"]) == figure(1, method="Planner+Lib.") == 88.1


def test_the_averages_of_table_5_follow_from_its_types() -> None:
    (table,) = [each for each in PAPER.tables if each.table == 5]
    assert len(table.rows) == 8
    for line in table.rows:
        by_type = [figure for name, figure in line.values.items() if name != ALL and name not in COLUMNS]
        assert len(by_type) == 9
        assert line.values[ALL] == pytest.approx(mean(by_type), abs=0.11)


def test_the_data_speaks_in_our_words() -> None:
    for each in PAPER.tables:
        assert set(each.columns) <= {*load_environment(each.env).types, ALL, *COLUMNS}
        for line in each.rows:
            assert (line.planner is None) == (not line.options), line.method
            without = line.options.get("without", [])
            assert isinstance(without, list)
            assert set(without) <= set(ABLATIONS)
            assert without == sorted(map(str, without))
    assert set(PAPER.names) == set(TYPES)
    assert {each.types for each in PAPER.settings} == {
        load_environment("alfworld").types,
        load_environment("miniwob").types,
        load_environment("miniwob").types[:9],
    }
    quoted = {line.method for each in PAPER.tables for line in each.rows if line.planner is None}
    assert quoted == {"ReAct", "Reflexion", "ExpeL", "AdaPlanner", "RCI"}


def test_a_run_in_the_papers_setting_differs_in_its_prompts_alone(tmp_path: Path) -> None:
    compared = held(*a_test(tmp_path / "test", library(TESTING, built(tmp_path / "built")), unsolved=5))
    assert set(differs(compared)) == {"prompts"}
    assert compared.ours.overall == round(100 * (129 + 128 + 127) / 402, 1) == 95.5
    assert compared.ours.spread == round(100 / 134, 1)
    assert compared.ours.by_type["pick_and_place"] == round(100 * (19 + 18 + 17) / 72, 1)
    text, ours = printed(compared), "ours: automanual, without nothing"
    theirs = ["100.0", "98.9", "100.0", "95.4", "100.0", "90.2", "97.4", "1"]
    assert row(text, "AutoManual, table 1:", "AutoManual, GPT-4-turbo (as ours)")[1:] == theirs
    assert row(text, "AutoManual, table 1:", ours)[1:] == ["75.0"] + ["100.0"] * 5 + ["95.5", "1"]
    assert row(text, "AutoManual, table 3:", "AutoManual, without nothing (as ours)")[1:] == ["97.4", "0.30", "1"]
    assert row(text, "AutoManual, table 3:", ours)[1:] == ["95.5", "0.18", "1"]
    assert row(text, "AutoManual, table 6:", "AutoManual, GPT-3.5-turbo, without nothing (as ours)")[1] == "86.2"
    assert row(text, "AutoManual, table 6:", ours)[1] == "95.5"
    assert "Put pick_and_place, Clean pick_clean_then_place" in text
    assert f"automanual with {GPT_4}, valid_unseen: 134 tasks, 3 repeats; 95.5 % solved" in text
    assert "Only quoted, as they cannot be played here: ReAct, Reflexion, ExpeL, AdaPlanner." in text
    assert "ExpeL, GPT-4-turbo (quoted only)" in text
    assert not re.search(r"Planner\+Lib.*quoted", text)
    assert re.search(r"│ n \d+, \d+\.\d to \d+\.\d +│", text)


def test_everything_that_differs_is_told(tmp_path: Path) -> None:
    learning = Learning(start=(), tasks_per_type=2, solved_after=1, max_rules=20, per_type=True)
    update: dict[str, Any] = {"learning": learning, "models": {}, "selection": Selection(split="generated")}
    building = BUILDING.model_copy(update=update | {"actions": 40, "planner_options": {"replans": 1}})
    folder = built(tmp_path / "built", building, formulated=False, model="other-model")
    options: dict[str, Any] = {"replans": 2, "procedures_first": True}
    test = library(TESTING, folder).model_copy(
        update={
            "selection": Selection(split="valid_seen"),
            "actions": 30,
            "repeats": 1,
            "after": 1,
            "rule_tokens": 500,
            "planner_options": options,
            "sampling": {"default": Sampling(temperature=0.7)},
        }
    )
    assert differs(held(*a_test(tmp_path / "test", test, 0, {"pick_and_place": 2}, model="small"))) == {
        "split": ("valid_seen", "valid_unseen"),
        "task types": ("1", "6"),
        "tasks": ("2", "134"),
        "repeats": ("1", "3"),
        "actions that an episode may take": ("30", "50"),
        "model": ("small", "gpt-3.5-turbo-1106 or gpt-4-1106-preview"),
        "replans": ("2", "3"),
        "procedures_first": ("True", "False"),
        "rules in a prompt": ("at most 500 tokens", "all of them"),
        "temperature": ("0.7", "0.0"),
        "prompts": (
            "in words of our own, through chat completions; models answer with Python",
            "the paper's, through the Assistants API",
        ),
        "what was learned": ("what was known after 1 building task", "after all of them"),
        "building model": ("other-model", GPT_4),
        "building split": ("generated", "train"),
        "tasks_per_type in building": ("2", "6"),
        "actions that an episode of building may take": ("40", "50"),
        "replans in building": ("1", "3"),
        "solved_after in building": ("1", "3"),
        "max_rules in building": ("20", "12"),
        "start in building": ("none", "put"),
        "per_type in building": ("True", "False"),
    }


@pytest.mark.parametrize(
    ("building", "testing", "formulated", "left_out"),
    [
        (("online",), (), True, "online"),
        (("rules",), ("rules",), False, "rules"),
        (("rules", "libraries"), ("rules", "libraries"), False, "libraries + rules"),
        ((), ("formulation",), True, "formulation"),
        ((), (), False, "formulation"),
        (("types",), (), True, "types"),
        (("cases", "logs"), (), True, None),
    ],
)
def test_what_is_left_out_stands_beside_the_papers_row(
    tmp_path: Path, building: Sequence[str], testing: Sequence[str], formulated: bool, left_out: str | None
) -> None:
    learnt = built(tmp_path / "built", BUILDING.model_copy(update={"without": tuple(building)}), formulated=formulated)
    test = library(TESTING, learnt).model_copy(update={"without": tuple(testing)})
    compared = held(*a_test(tmp_path / "test", test, 2, {"pick_and_place": 2}))
    assert like_ours(compared) == ({tuple(left_out.split(" + "))} if left_out else set())
    text, ours = printed(compared), f"ours: automanual, without {left_out or 'cases + logs'}"
    assert row(text, "AutoManual, table 3:", ours)[1:] == ["0.0 (1/6)", "4.00", "1"]
    assert text.count("(as ours)") == sum(len(each.alike) for each in paper_of(compared).tables)


def test_leaving_out_in_testing_alone_is_no_ablation_of_the_papers(tmp_path: Path) -> None:
    test = library(TESTING, built(tmp_path / "built")).model_copy(update={"without": ("examples",)})
    found = differs(held(*a_test(tmp_path / "test", test, 0, {"pick_and_place": 2})))
    assert found["without examples"] == ("in testing only", "in building, too")


def test_web_tasks_fill_the_figures_they_are_about(tmp_path: Path) -> None:
    setting: dict[str, Any] = {"env": "miniwob", "env_options": {}, "actions": 20, "repeats": 1}
    setting["selection"] = Selection(split="all")
    test = TESTING.model_copy(update=setting)
    some = held(*a_test(tmp_path / "some", test, 3, {"terminal": 6, "email-inbox": 6}))
    text, theirs, ours = printed(some), "AutoManual, GPT-4-turbo", "ours: automanual, without all that is learned"
    by_type = "by type (% of tasks solved), with GPT-4-turbo"
    assert row(text, by_type, "terminal")[-2:] == ["100.0", "50.0"]
    assert row(text, by_type, "tic-tac-toe")[-2:] == ["66.7", "-"]
    assert row(text, by_type, "all")[-2:] == ["94.5", "75.0 (2/9)"]
    assert row(text, "success on 9 types with feedback", theirs)[1] == "94.5"
    assert row(text, "success on 9 types with feedback", ours)[1] == "75.0 (2/9)"
    assert row(text, "success on 53 types", theirs)[1] == "98.3"
    assert row(text, "success on 53 types", ours)[1] == "-"
    assert differs(some)["task types"] == ("2", "9")
    assert differs(some)["world option paper_actions"] == ("False", "True")
    every = dict.fromkeys(load_environment("miniwob").types, 6)
    text = printed(held(*a_test(tmp_path / "every", test, 0, every)))
    assert row(text, "success on 9 types with feedback", ours)[1] == "100.0"
    assert row(text, "success on 53 types", ours)[1] == "100.0"


def test_the_53_types_are_built_from_rules_of_nine_and_libraries_of_all(tmp_path: Path) -> None:
    every, feedback = dict.fromkeys(load_environment("miniwob").types, 6), load_environment("miniwob").types[:9]
    starts = ("search-engine", "click-menu", "enter-date", "social-media-some")
    learning = Learning(start=starts, libraries_only=True)
    setting: dict[str, Any] = {"env": "miniwob", "env_options": {"paper_actions": True}, "actions": 20}
    split = {"selection": Selection(split="all")}
    others = {"selection": Selection(split="no-feedback"), "learning": learning}
    folder = built(tmp_path / "built", BUILDING.model_copy(update=setting | others))
    test = library(TESTING, folder).model_copy(update=setting | split)
    assert set(differs(held(*a_test(tmp_path / "all", test, 0, every)))) == {"prompts"}
    nine = differs(held(*a_test(tmp_path / "nine", test, 0, dict.fromkeys(feedback, 6))))
    assert nine["start in building"] == (", ".join(starts), "search-engine")
    assert nine["building split"] == ("no-feedback", "feedback")
    assert nine["libraries_only in building"] == ("True", "False")


def test_a_planner_that_learnt_nothing_is_no_row_of_the_papers(tmp_path: Path) -> None:
    compared = held(*a_test(tmp_path / "test", TESTING, 2, {"pick_and_place": 2}))
    assert differs(compared)["what was learned"] == ("nothing", "from a building run")
    assert not any(each.alike for each in paper_of(compared).tables)
    ours = row(printed(compared), "AutoManual, table 3:", "ours: automanual, without all that is learned")
    assert ours[1:] == ["0.0 (1/6)", "4.00", "1"]


def test_an_environment_that_is_in_no_paper_is_reported_in_a_line(tmp_path: Path) -> None:
    finished = planbook("test", "--env", "toy", "--library", "shipped", "--table", "--out", tmp_path / "run", "--json")
    assert finished.returncode == 0, finished.stderr
    assert result(finished)["table"] is None
    assert "No paper has figures for toy. AutoManual has them for alfworld and miniwob. ADaPT has" in finished.stderr


@pytest.mark.deep
def test_the_command_again_adds_the_table_and_plays_nothing(tmp_path: Path) -> None:
    command = "test --env alfworld --split generated:6 --seeds 1000 --library shipped --model none --json --out".split()
    first = result(planbook(*command, tmp_path / "run"))
    assert "table" not in first
    with closing(Run.open(tmp_path / "run")) as run:
        played = sum(1 for _ in run.store.events("task"))
    finished = planbook(*command, tmp_path / "run", "--table")
    second = result(finished)
    with closing(Run.open(tmp_path / "run")) as run:
        assert sum(1 for _ in run.store.events("task")) == played
    assert second["solved"] == first["solved"] == 6
    (paper,) = second["table"]["papers"]
    assert second["table"]["ours"]["overall"] == 100.0
    assert [each["table"]["table"] for each in paper["tables"]] == [1, 3, 6]
    assert paper["only_quoted"] == ["ReAct", "Reflexion", "ExpeL", "AdaPlanner"]
    marked = {row["method"] for each in paper["tables"] for row in each["table"]["rows"] if row["quoted_only"]}
    assert marked == set(paper["only_quoted"])
    assert {"what": "split", "ours": "generated", "theirs": "valid_unseen"} in paper["differs"]
    assert "ablations" not in finished.stderr
    assert "Ours: procedures with no model" in finished.stderr
