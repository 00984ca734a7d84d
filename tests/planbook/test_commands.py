"""Options of commands are listed with their values and take effect, and only the selected tasks are played."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from planbook.api import PlayedRun
from planbook.envs import known_environments, load_environment
from planbook.options import option_facts
from planbook.planner import METHODS
from planbook.runs import Run
from tests.command import ROOT, planbook, result
from tests.flows import events, invoke, refusal, succeed, write_scripted_model
from tests.shelf import write_shelf


def bodies(folder: Path, kind: Any) -> list[Any]:
    return [event.body for event in events(folder, kind, "task")]


@pytest.mark.deep
def test_demo_prints_its_commands_and_ends_with_the_path_of_the_report(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    finished = planbook("demo", "--out", out)
    assert finished.returncode == 0, finished.stderr
    called = [line.split()[2:] for line in finished.stdout.splitlines() if line.startswith("$ planbook ")]
    names = [words[0] for words in called]
    assert names == ["run"] * names.count("run") + ["build", "formulate", "test", "report"]
    runs = [Path(words[words.index("--out") + 1]) for words in called if "--out" in words]
    assert len({*runs}) == len(runs) >= 7, "each run has its own folder"
    solved = {run.name: PlayedRun.read(run) for run in runs}
    assert (solved["alfworld"].solved, solved["alfworld"].tasks) == (60, 60)
    assert (solved["test"].solved, solved["test"].tasks) == (58, 60), "as README.md says"
    assert f"the run is in {out / 'alfworld'}" in finished.stdout
    assert f"{out / 'build' / 'report.html'} (" in finished.stdout
    assert (out / "build" / "report.html").stat().st_size > 100_000
    commands = finished.stdout.partition("Next:")[2].splitlines()[1:]
    assert [line.split()[:2] for line in commands] == [["planbook", name] for name in ("show", "exec", "run", "run")]
    tried = planbook(*commands[1].split()[1:], "--strict", "--out", tmp_path / "tried")
    assert tried.returncode == 0, tried.stderr


def test_the_seed_decides_the_random_numbers_of_plans(tmp_path: Path) -> None:
    (tmp_path / "dice.py").write_text("import random\nprint(random.random())\n")

    def printed(seed: int, run: Path) -> str:
        invoke("exec", tmp_path / "dice.py", "--env", "toy", "--task", "fetch/0", "--seed", seed, "--out", run)
        return str(bodies(run, "cell")[0]["feedback"]["output"])

    assert printed(1, tmp_path / "a") == printed(1, tmp_path / "b") != printed(2, tmp_path / "c")


def test_an_episode_that_cannot_be_repeated_is_restarted(tmp_path: Path) -> None:
    write_shelf(tmp_path, "mug_1")
    (tmp_path / "plan.py").write_text("agent.look()\n")
    planbook("exec", "plan.py", "--env", "shelf.py", "--out", "run", cwd=tmp_path)
    with sqlite3.connect(tmp_path / "run" / "run.db") as raw:
        raw.execute("delete from event where kind in ('outcome', 'cell') and scope like 'task/0%'")
    write_shelf(tmp_path, "cup_1")
    finished = planbook("run", "--resume", "run", "--allow-changed", "--json", cwd=tmp_path)
    assert result(finished)["solved"] == 2
    seen = [step["observation"]["text"] for step in bodies(tmp_path / "run", "act")]
    assert sorted(seen) == [f"On shelf_1 you see {thing}_1." for thing in ("cup", "mug", "mug")]
    assert [ending["cause"] for ending in bodies(tmp_path / "run", "outcome")].count("diverged") == 1


@pytest.mark.parametrize("line", ["--help", "envs --env toy", "graph --help"])
def test_commands_that_read_no_run_do_not_load_the_store(line: str) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "planbook", *line.split()]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "planbook.cli" in finished.stderr
    assert "sqlalchemy" not in finished.stderr


CELLAR = ("--env", ROOT / "tests" / "own_environments" / "cellar.py")
GET = "```python\nagent.get()\n```"


def tasks_of(folder: Path) -> list[str]:
    with closing(Run.open(folder)) as run:
        return sorted(entry.task.id for entry in run.entries())


@pytest.mark.parametrize(
    ("chosen", "played"),
    [
        (("--split", "test"), [f"test/{kind}/{seed}" for kind in ("get_wine", "look") for seed in (1, 2, 3)]),
        (("--split", "test:2"), ["test/get_wine/1", "test/look/1"]),
        (("--split", "test", "--seeds", "2-3", "--types", "look"), ["test/look/2", "test/look/3"]),
        (("--task", "test/look/2"), ["test/look/2"]),
        (("--types", "look"), ["train/look/1", "train/look/2", "train/look/3"]),
    ],
)
def test_no_task_of_another_split_seed_or_type_is_played(
    chosen: tuple[str, ...], played: list[str], tmp_path: Path
) -> None:
    (tmp_path / "get.py").write_text("agent.get()\n")
    succeed("exec", tmp_path / "get.py", *CELLAR, *chosen, "--out", tmp_path / "run", "--json")
    assert tasks_of(tmp_path / "run") == played


def test_building_and_testing_play_different_tasks(tmp_path: Path) -> None:
    model = ("--model", write_scripted_model(tmp_path, GET))
    succeed("build", *CELLAR, "--split", "train", *model, "--out", tmp_path / "built")
    assert {task.partition("/")[0] for task in tasks_of(tmp_path / "built")} == {"train"}
    succeed("test", *CELLAR, "--split", "test", *model, "--library", tmp_path / "built", "--out", tmp_path / "t")
    assert {task.partition("/")[0] for task in tasks_of(tmp_path / "t")} == {"test"}


def test_an_environment_with_fixed_tasks_is_built_on_all_of_them(tmp_path: Path) -> None:
    """The README's own environment, under the README's main command."""
    example = (ROOT / "README.md").read_text().split("# lights.py\n")[1].split("```")[0]
    (tmp_path / "lights.py").write_text(example)
    model = ("--model", write_scripted_model(tmp_path, GET))
    succeed("build", "--env", tmp_path / "lights.py", *model, "--out", tmp_path / "run", "--json")
    assert tasks_of(tmp_path / "run") == ["lamp/1", "lamp/2", "lamp/3"]


def test_a_selection_without_tasks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "get.py").write_text("agent.get()\n")
    assert "no task has one of the selected seeds; the lowest seed is 1" in refusal(
        "exec", tmp_path / "get.py", *CELLAR, "--seeds", "9", "--out", tmp_path / "run"
    )


def test_all_methods_are_listed() -> None:
    finished = planbook("planners", "--json")
    assert finished.returncode == 0, finished.stderr
    listed = {name: (found["summary"], found["roles"]) for name, found in result(finished)["planners"].items()}
    assert listed == {name: (strategy.summary, list(strategy.roles)) for name, strategy in METHODS.items()}
    assert all(any(f"│ {name} " in line for line in finished.stderr.splitlines()) for name in METHODS)
    assert "`planbook planners NAME`" in finished.stderr


def test_an_empty_name_lists_all_methods() -> None:
    assert invoke("planners", "").printed == invoke("planners").printed


def test_a_method_is_listed_with_its_options() -> None:
    finished = planbook("planners", "react", "--json")
    assert list(result(finished)["planners"]) == ["react"]
    found = result(finished)["planners"]["react"]
    assert (found["summary"], found["roles"]) == (METHODS["react"].summary, ["executor"])
    assert list(found["options"]) == ["iterations", "actions_per_reply", "demonstrations", "d_max"]
    d_max, demonstrations = (found["options"][name] for name in ("d_max", "demonstrations"))
    assert (d_max["values"], d_max["default"]) == ("integer from 1 to 20 or null", None)
    assert (demonstrations["values"], demonstrations["default"]) == ("task, hybrid, atomic", "hybrid")


def test_roles_that_are_asked_only_sometimes_are_marked() -> None:
    found = result(planbook("planners", "--json"))["planners"]
    assert found["deps"]["asked_sometimes"] == ["controller", "explainer"]
    assert found["adapt"]["asked_sometimes"] == ["planner"]
    assert "executor, planner (sometimes)" in planbook("planners", "adapt").stdout


@pytest.mark.parametrize(
    "options",
    [
        *(method.options for method in METHODS.values()),
        *(load_environment(name).Options for name in known_environments()),
    ],
)
def test_every_option_has_values_and_a_description(options: type[BaseModel]) -> None:
    for name, facts in option_facts(options).items():
        assert facts["description"], name
        assert facts["values"], name


def test_an_environment_is_listed_with_the_values_of_its_options() -> None:
    finished = planbook("envs", "--env", "web", "--json")
    assert "PydanticUndefined" not in finished.stderr
    sites = next(line for line in finished.stderr.splitlines() if "│ sites " in line)
    assert [cell.strip() for cell in sites.strip("│").split("│")][:3] == ["sites", '{"NAME": value, ...}', "{}"]
    found = result(finished)["worlds"]["web"]["options"]
    assert found["allowed"]["values"] == "[string, ...]"
    assert "│ [string, ...] " in finished.stderr
    assert "press Enter unless enter is False" in finished.stderr
    assert found["patience"]["values"] == "number above 0 to 120"
    assert found["tasks"] == {"values": "path or null", "default": None, "description": found["tasks"]["description"]}


@pytest.mark.parametrize("arguments", [("envs", "--env", "web"), ("planners", "adapt")])
def test_nothing_is_cut_off_in_a_narrow_terminal(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planbook.console.PLAIN_WIDTH", 60)
    assert "\N{HORIZONTAL ELLIPSIS}" not in invoke(*arguments).printed
