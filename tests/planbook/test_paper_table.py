"""A run beside the paper: the figures as printed, our row among them, and everything that differs."""

import re
from collections.abc import Sequence
from contextlib import closing
from io import StringIO
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from rich.console import Console

from envs import Selection, Task, load_world
from envs.alfworld.task_types import TYPES
from planbook.config import Config, Learning
from planbook.episodes.runner import recorded_endings
from planbook.figures.summary import Summary, summarise
from planbook.learning.ablations import ABLATIONS
from planbook.learning.state import EVERYTHING, fresh_beginning
from planbook.papers import Comparison, compare, lines, tables
from planbook.papers.figures import automanual
from planbook.run import Run
from planner import Ending, Outcome
from planner.models import Reply, Sampling
from tests.command import planbook, result

PAPER = automanual()
GPT_4 = "gpt-4-1106-preview"
TASKS = {"pick_and_place": 24, "pick_clean_then_place": 31, "pick_heat_then_place": 23}
TASKS |= {"pick_cool_then_place": 21, "look_at_obj": 18, "pick_two_obj": 17}
BUILDING = Config(
    planner="automanual",
    env="alfworld",
    selection=Selection(split="train"),
    actions=50,
    models={"default": f"openai:{GPT_4}"},
    learning=Learning(start=("put",)),
)
TESTING = Config(
    planner="automanual",
    env="alfworld",
    selection=Selection(split="valid_unseen"),
    actions=50,
    repeats=3,
    models={"default": f"openai:{GPT_4}"},
)


def figure(table: int, model: str = "GPT-4-turbo", **wanted: Any) -> float:
    (row,) = [
        row
        for each in PAPER.tables
        if each.table == table and each.split == wanted.get("split", each.split)
        for row in each.rows
        if row.model == model and all(getattr(row, name) == value for name, value in wanted.items() if name != "split")
    ]
    return row.overall


def tasks(counts: dict[str, int], env: str = "alfworld") -> list[Task]:
    return [
        Task(id=f"{kind}/{number}", env=env, split="s", type=kind, goal="g")
        for kind, count in counts.items()
        for number in range(count)
    ]


def asked(run: Run, model: str, scope: str = "learn/0/builder") -> None:
    body: dict[str, Any] = {
        "role": "planner",
        "model": "openai:alias",
        "reply": Reply(text="x", model=model).model_dump(),
    }
    run.store.put(scope, "ask", 0, body)


def built(folder: Path, config: Config = BUILDING, *, formulated: bool = True, model: str = GPT_4) -> Path:
    """A building run that learnt nothing from one task; with rules of its start, as a manual if ``formulated``."""
    with closing(Run.create(folder, config, tasks({"pick_and_place": 1}))) as run:
        asked(run, model)
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
        asked(run, model, "task/0")
        a_repeat = sum(counts.values())
        for entry in run.entries():
            failed = entry.index % a_repeat < unsolved + entry.repeat
            outcome = Outcome.FAILURE if failed else Outcome.DIRECT_SUCCESS
            ending = Ending(outcome=outcome, cause="raised" if failed else "", error_steps=4 if failed else 0)
            run.store.put(entry.path, "outcome", 0, ending.model_dump(mode="json"))
        return config, summarise(run.entries(), recorded_endings(run), 1.0, str(folder))


def library(config: Config, folder: Path) -> Config:
    return config.model_copy(update={"library": str(folder)})


def differs(compared: Comparison | None) -> dict[str, tuple[str, str]]:
    assert compared is not None
    return {each.what: (each.ours, each.theirs) for each in compared.differs}


def printed(compared: Comparison | None) -> str:
    assert compared is not None
    screen = Console(file=StringIO(), width=110, highlight=False, emoji=False, markup=False)
    for part in (*tables(compared), *lines(compared)):
        screen.print(part, soft_wrap=isinstance(part, str))
    written = screen.file
    assert isinstance(written, StringIO)
    return written.getvalue()


def cells(text: str, title: str, name: str) -> list[str]:
    """The cells of a row of the first table whose title has these words."""
    (row,) = [line for line in text.partition(title)[2].split("└")[0].splitlines() if line.startswith(f"│ {name} ")]
    return [cell.strip() for cell in row.strip("│").split("│")]


def test_the_figures_agree_where_the_paper_prints_them_twice() -> None:
    for model in PAPER.test_models:
        everything = figure(1, model, method="AutoManual")
        assert everything == figure(6, model, without=())
        for method in ("RCI", "AdaPlanner", "Planner+Lib.", "AutoManual"):
            assert figure(2, model, method=method, split="feedback") == figure(5, model, method=method)
        assert figure(5, model, method="AutoManual") == figure(7, model, start=("search-engine",))
    assert figure(3, without=()) == figure(1, method="AutoManual") == 97.4
    assert figure(3, without=("rules",)) == figure(1, method="Planner+Lib.") == 88.1


def test_the_averages_of_table_5_follow_from_its_types() -> None:
    (table,) = [each for each in PAPER.tables if each.table == 5]
    assert len(table.rows) == 8
    for row in table.rows:
        assert row.overall == pytest.approx(mean(row.by_type.values()), abs=0.11)


def test_the_data_speaks_in_our_words() -> None:
    for each in PAPER.tables:
        types = set(load_world(each.env).types)
        assert {kind for row in each.rows for kind in row.by_type} <= types
        assert {name for row in each.rows for name in row.without or ()} <= set(ABLATIONS)
        assert all(list(row.without or ()) == sorted(row.without or ()) for row in each.rows)
    assert set(PAPER.names) == set(TYPES)
    quoted = {row.method for each in PAPER.tables for row in each.rows if row.only_quoted}
    assert quoted == {"ReAct", "Reflexion", "ExpeL", "AdaPlanner", "RCI"}


def test_a_run_in_the_papers_setting_differs_in_its_prompts_alone(tmp_path: Path) -> None:
    compared = compare(*a_test(tmp_path / "test", library(TESTING, built(tmp_path / "built")), unsolved=5))
    assert set(differs(compared)) == {"prompts"}
    assert compared is not None
    assert compared.ours.overall == round(100 * (129 + 128 + 127) / 402, 1) == 95.5
    assert compared.ours.spread == round(100 / 134, 1)
    assert compared.ours.by_type["pick_and_place"] == round(100 * (19 + 18 + 17) / 72, 1)
    text = printed(compared)
    assert cells(text, "GPT-4-turbo", "pick_and_place (Put)")[-2:] == ["100.0", "75.0"]
    assert cells(text, "GPT-4-turbo", "all")[-2:] == ["97.4", "95.5"]
    assert cells(text, "ablations", "nothing") == ["nothing", "3, 6", "86.2", "97.4", "0.3", "95.5", "0.18"]
    assert f"automanual with {GPT_4}, valid_unseen: 134 tasks, 3 repeats, standard deviation 0.7" in text
    assert "Only quoted, as they cannot be played here: ReAct, Reflexion, ExpeL, AdaPlanner." in text


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
    assert differs(compare(*a_test(tmp_path / "test", test, 0, {"pick_and_place": 2}, model="small"))) == {
        "split": ("valid_seen", "valid_unseen"),
        "task types": ("1", "6"),
        "tasks": ("2", "134"),
        "repeats": ("1", "3"),
        "actions that an episode may take": ("30", "50"),
        "test model": ("small", "gpt-3.5-turbo-1106 or gpt-4-1106-preview"),
        "replans": ("2", "3"),
        "procedures": ("stored procedures are tried before a model is asked", "nothing like it"),
        "rules in a prompt": ("at most 500 tokens", "all of them"),
        "temperature": ("0.7", "0.0"),
        "prompts": ("in words of our own, through chat completions", "the paper's, through the Assistants API"),
        "what was learnt": ("what was known after 1 building tasks", "after all"),
        "building model": ("other-model", GPT_4),
        "building split": ("generated", "train"),
        "building tasks of each type": ("2", "6"),
        "actions that an episode of building may take": ("40", "50"),
        "replans in building": ("1", "3"),
        "successes in a row that end a type": ("1", "3"),
        "rules before they are consolidated": ("20", "12"),
        "starting examples": ("none", "put"),
        "rules": ("of each task type by themselves", "shared by all types"),
    }


@pytest.mark.parametrize(
    ("building", "testing", "formulated", "row"),
    [
        (("online",), (), True, "online"),
        (("rules",), ("rules",), False, "rules"),
        (("rules", "libraries"), ("rules", "libraries"), False, "libraries, rules"),
        ((), ("formulation",), True, "formulation"),
        ((), (), False, "formulation"),
        (("types",), (), True, "types"),
        (("cases", "logs"), (), True, ""),
    ],
)
def test_what_is_left_out_stands_beside_the_papers_row(
    tmp_path: Path, building: Sequence[str], testing: Sequence[str], formulated: bool, row: str
) -> None:
    learnt = built(tmp_path / "built", BUILDING.model_copy(update={"without": tuple(building)}), formulated=formulated)
    test = library(TESTING, learnt).model_copy(update={"without": tuple(testing)})
    text = printed(compare(*a_test(tmp_path / "test", test, 2, {"pick_and_place": 2})))
    found = [line for line in text.partition("ablations")[2].splitlines() if re.search(r"│ +0\.0 │ +4\.00 │$", line)]
    assert [line.strip("│").split("│")[0].strip() for line in found] == [row or "cases, logs"]


def test_leaving_out_in_testing_alone_is_no_ablation_of_the_papers(tmp_path: Path) -> None:
    test = library(TESTING, built(tmp_path / "built")).model_copy(update={"without": ("examples",)})
    told = differs(compare(*a_test(tmp_path / "test", test, 0, {"pick_and_place": 2})))
    assert told["without examples"] == ("in testing only", "in building, too")


def test_web_tasks_fill_the_figures_they_are_about(tmp_path: Path) -> None:
    setting: dict[str, Any] = {"env": "miniwob", "selection": Selection(split="all"), "actions": 20, "repeats": 1}
    test = TESTING.model_copy(update=setting)
    some = compare(*a_test(tmp_path / "some", test, 3, {"terminal": 6, "email-inbox": 6}))
    text = printed(some)
    assert cells(text, "GPT-4-turbo", "terminal")[-2:] == ["100.0", "50.0"]
    assert cells(text, "GPT-4-turbo", "tic-tac-toe")[-2:] == ["66.7", "-"]
    assert cells(text, "GPT-4-turbo", "9 types with feedback")[-2:] == ["94.5", "75.0 (2/9)"]
    assert cells(text, "GPT-4-turbo", "53 types")[-2:] == ["98.3", "-"]
    assert differs(some)["task types"] == ("2", "9")
    assert differs(some)["actions"] == ("those of the paper, and more", "its own")
    every = dict.fromkeys(load_world("miniwob").types, 6)
    text = printed(compare(*a_test(tmp_path / "every", test, 0, every)))
    assert cells(text, "GPT-4-turbo", "9 types with feedback")[-1] == "100.0"
    assert cells(text, "GPT-4-turbo", "53 types")[-1] == "100.0"


def test_the_53_types_are_built_from_rules_of_nine_and_libraries_of_all(tmp_path: Path) -> None:
    every, feedback = dict.fromkeys(load_world("miniwob").types, 6), load_world("miniwob").types[:9]
    starts = ("search-engine", "click-menu", "enter-date", "social-media-some")
    learning = Learning(start=starts, libraries_only=True)
    setting: dict[str, Any] = {"env": "miniwob", "env_options": {"paper_actions": True}, "actions": 20}
    split = {"selection": Selection(split="all")}
    folder = built(tmp_path / "built", BUILDING.model_copy(update=setting | split | {"learning": learning}))
    test = library(TESTING, folder).model_copy(update=setting | split)
    assert set(differs(compare(*a_test(tmp_path / "all", test, 0, every)))) == {"prompts"}
    nine = differs(compare(*a_test(tmp_path / "nine", test, 0, dict.fromkeys(feedback, 6))))
    assert nine["starting examples"] == (", ".join(sorted(starts)), "search-engine")
    assert nine["building split"] == ("all", "feedback")
    assert nine["rules are built from"] == ("an earlier run, on the types with feedback", "all types")


def test_a_planner_that_learnt_nothing_is_no_row_of_the_papers(tmp_path: Path) -> None:
    compared = compare(*a_test(tmp_path / "test", TESTING, 2, {"pick_and_place": 2}))
    assert differs(compared)["what was learnt"] == ("nothing", "from a building run")
    row = cells(printed(compared), "ablations", "nothing was learnt")
    assert row == ["nothing was learnt", "-", "-", "-", "-", "0.0", "4.00"]


def test_a_world_that_is_in_no_paper_is_told_in_a_line(tmp_path: Path) -> None:
    finished = planbook("test", "--env", "toy", "--library", "shipped", "--table", "--out", tmp_path / "run", "--json")
    assert finished.returncode == 0, finished.stderr
    assert result(finished)["table"] is None
    assert "No paper has figures for toy. AutoManual has them for alfworld and miniwob. ADaPT has" in finished.stderr


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
    table = second["table"]
    assert table["ours"]["overall"] == 100.0
    assert table["only_quoted"] == ["ReAct", "Reflexion", "ExpeL", "AdaPlanner"]
    assert {"what": "split", "ours": "generated", "theirs": "valid_unseen"} in table["differs"]
    assert "ablations" not in finished.stderr
    assert "Ours: procedures with no model" in finished.stderr
