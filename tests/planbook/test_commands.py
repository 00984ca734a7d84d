"""Options of commands take effect, as the events of their runs show."""

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planbook.api import PlayedRun
from tests.command import ROOT, planbook, result
from tests.flows import events, invoke
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


def test_limits_and_the_seed_take_effect_and_are_recorded(tmp_path: Path) -> None:
    command = "run --env toy --actions 2 --limit wall_seconds=3 --seed 7 --jobs 2 --json --out".split()
    summary = invoke(*command, tmp_path / "run").result
    assert (set(summary["failures"]), summary["mean_actions"]) == ({"out_of_budget"}, 2.0)
    config = json.loads((tmp_path / "run" / "run.json").read_text())["config"]
    assert (config["actions"], config["limits"]["wall_seconds"], config["seed"]) == (2, 3.0, 7)


def test_the_seed_decides_the_random_numbers_of_plans(tmp_path: Path) -> None:
    (tmp_path / "dice.py").write_text("import random\nprint(random.random())\n")

    def printed(seed: int, run: Path) -> str:
        invoke("exec", tmp_path / "dice.py", "--env", "toy", "--task", "fetch/0", "--seed", seed, "--out", run)
        return str(bodies(run, "cell")[0]["feedback"]["output"])

    assert printed(1, tmp_path / "a") == printed(1, tmp_path / "b") != printed(2, tmp_path / "c")


def test_procedures_are_read_from_the_chosen_library(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "manuals" / "toy", tmp_path / "mine" / "toy")
    procedure = tmp_path / "mine" / "toy" / "procedures" / "fetch.py"
    procedure.write_text(procedure.read_text().replace("    for thing", "    print('my own')\n    for thing"))
    command = ("run", "--env", "toy", "--types", "fetch", "--library", tmp_path / "mine", "--out", tmp_path / "run")
    assert invoke(*command).returncode == 0
    assert {cell["feedback"]["output"] for cell in bodies(tmp_path / "run", "cell")} == {"my own\n"}


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
