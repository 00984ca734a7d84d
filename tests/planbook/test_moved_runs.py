"""Runs still work after the folder that holds them and the user's own files was moved."""

import json
import sys
from pathlib import Path

import pytest

from planbook.config import Config
from planbook.runs.folder import with_current_paths, without_folders
from tests.command import ROOT, planbook
from tests.flows import invoke

LIGHTS = (ROOT / "README.md").read_text().split("# lights.py\n")[1].split("```")[0]
METHOD = '''
from planbook.planner import Episode, Method, Options


def press_lamps(episode: Episode, options: Options) -> None:
    """Press every lamp."""
    episode.run("for lamp in (1, 2, 3):\\n    agent.press(lamp)")


press = Method(press_lamps, Options, "press every lamp", ())
'''


@pytest.fixture
def moved_folder(tmp_path: Path) -> Path:
    """A folder with a run that was played when the folder had another name."""
    first, renamed = tmp_path / "first", tmp_path / "now"
    (first / "mine").mkdir(parents=True)
    (first / "mine" / "lights.py").write_text(LIGHTS)
    (first / "press.py").write_text(METHOD)
    played = invoke(*command(first), "--task", "lamp/1", "--out", first / "runs" / "r")
    assert played.returncode == 0, played.printed
    first.rename(renamed)
    return renamed


def command(folder: Path) -> tuple[object, ...]:
    return "run", "--env", folder / "mine" / "lights.py", "--planner", f"{folder}/press.py:press"


def test_a_moved_run_can_be_replayed_continued_and_rerun(moved_folder: Path) -> None:
    replayed = invoke("replay", moved_folder / "runs" / "r", "--json")
    assert (replayed.returncode, replayed.result["by_sameness"]["same"]) == (0, 1), replayed.printed
    again = invoke(*command(moved_folder), "--task", "lamp/1", "--out", moved_folder / "runs" / "r", "--json")
    assert (again.returncode, again.result["solved"]) == (0, 1), again.printed
    repeated = invoke("rerun", moved_folder / "runs" / "r", "--out", moved_folder / "runs" / "again")
    assert repeated.returncode == 0, repeated.printed


@pytest.mark.parametrize("changed", ["mine/lights.py", "press.py"])
def test_a_changed_file_is_neither_executed_nor_mistaken_for_the_moved_one(moved_folder: Path, changed: str) -> None:
    with (moved_folder / changed).open("a") as file:
        file.write(f"\nopen({str(moved_folder / 'executed')!r}, 'w')\n")
    for command in (("run", "--resume"), ("replay",), ("rerun",)):
        refused = invoke(*command, moved_folder / "runs" / "r")
        assert refused.returncode == 2
        assert (
            f"first/{changed}, which is missing, and there is no unchanged copy next to the run; restore it"
            in refused.printed
        )
    assert not (moved_folder / "executed").exists()


def test_a_moved_file_of_mcp_servers_is_found(tmp_path: Path) -> None:
    first, renamed = tmp_path / "first", tmp_path / "now"
    first.mkdir()
    server = {"command": sys.executable, "args": [str(ROOT / "examples" / "tools" / "files_server.py")]}
    (first / "servers.json").write_text(json.dumps({"mcpServers": {"files": server}}))
    (first / "plan.py").write_text("print(agent.list_files())\n")
    tasks = [{"id": "one", "goal": "List the files.", "judge": {"answer": 1}}]
    (tmp_path / "tasks.json").write_text(json.dumps({"tasks": tasks}))
    env = ("--env", f"mcp:{first / 'servers.json'}", "-o", f"tasks={tmp_path / 'tasks.json'}")
    played = invoke("exec", first / "plan.py", *env, "--out", first / "run")
    assert played.returncode == 0, played.printed
    first.rename(renamed)
    replayed = planbook("replay", renamed / "run")
    assert replayed.returncode == 0, replayed.stderr


def test_a_missing_file_is_named(moved_folder: Path) -> None:
    (moved_folder / "mine" / "lights.py").unlink()
    refused = planbook("replay", moved_folder / "runs" / "r")
    assert refused.returncode == 2
    assert "lights.py" in refused.stderr


def test_exports_and_tables_contain_no_folder_names(moved_folder: Path) -> None:
    file = moved_folder / "r.jsonl"
    assert invoke("export", moved_folder / "runs" / "r", "--out", file).returncode == 0
    assert json.loads(file.read_text().splitlines()[0])["run"]["config"]["env"] == "lights.py"
    assert str(moved_folder.parent) not in file.read_text()
    assert "env=lights.py " in invoke("stats", moved_folder / "runs" / "r", "--by", "env").stdout


def test_a_moved_recording_and_its_fallback_model_are_found(tmp_path: Path) -> None:
    (tmp_path / "now" / "asked").mkdir(parents=True)
    (tmp_path / "now" / "tape.jsonl").write_text("")
    models = {"default": f"recorded:{tmp_path}/first/tape.jsonl+exchange:{tmp_path}/now/asked"}
    config = Config(planner="react", env="toy", actions=1, models=models)
    expected = f"recorded:{tmp_path}/now/tape.jsonl+exchange:{tmp_path}/now/asked"
    assert with_current_paths(config, tmp_path / "now" / "run").models == {"default": expected}
    assert without_folders(config).models == {"default": "recorded:tape.jsonl+exchange:asked"}
