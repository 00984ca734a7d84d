"""Runs still work after their folder and the user's own files were moved, and runs of earlier versions are read."""

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from planbook.config import Config
from planbook.runs import RunInputs, recorded_inputs
from planbook.runs.folder import with_current_paths, without_folders
from planbook.store.rows import FORMER_KINDS
from tests import stepwise_script
from tests.command import ROOT, planbook
from tests.flows import BUILD, history, invoke, refusal, succeed, without_times

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
    succeed(*command(first), "--task", "lamp/1", "--out", first / "runs" / "r")
    first.rename(renamed)
    return renamed


def command(folder: Path) -> tuple[object, ...]:
    return "run", "--env", folder / "mine" / "lights.py", "--planner", f"{folder}/press.py:press"


def test_a_moved_run_can_be_replayed_continued_and_rerun(moved_folder: Path) -> None:
    replayed = invoke("replay", moved_folder / "runs" / "r", "--json")
    assert (replayed.returncode, replayed.result["by_sameness"]["same"]) == (0, 1), replayed.printed
    again = invoke(*command(moved_folder), "--task", "lamp/1", "--out", moved_folder / "runs" / "r", "--json")
    assert (again.returncode, again.result["solved"]) == (0, 1), again.printed
    succeed("rerun", moved_folder / "runs" / "r", "--out", moved_folder / "runs" / "again")


@pytest.mark.parametrize("changed", ["mine/lights.py", "press.py"])
def test_a_changed_file_is_neither_executed_nor_mistaken_for_the_moved_one(moved_folder: Path, changed: str) -> None:
    with (moved_folder / changed).open("a") as file:
        file.write(f"\nopen({str(moved_folder / 'executed')!r}, 'w')\n")
    for command in (("run", "--resume"), ("replay",), ("rerun",)):
        refused = refusal(*command, moved_folder / "runs" / "r")
        assert (
            f"first/{changed}, which is missing, and there is no unchanged copy next to the run; restore it" in refused
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
    succeed("exec", first / "plan.py", *env, "--out", first / "run")
    first.rename(renamed)
    replayed = planbook("replay", renamed / "run")
    assert replayed.returncode == 0, replayed.stderr


def test_exports_and_tables_contain_no_folder_names(moved_folder: Path) -> None:
    file = moved_folder / "r.jsonl"
    succeed("export", moved_folder / "runs" / "r", "--out", file)
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


STREAM = (
    *("run", "--planner", "automanual", "--env", "toy", "--seeds", "0-1", "--stream"),
    *("--model", f"scripted:{Path(stepwise_script.__file__)}:answer"),
)
COMMANDS = {"piece": STREAM, "learned": (*BUILD, "--types", "fetch", "--tasks-per-type", "3")}


def kill_after_second(kind: str, folder: Path) -> None:
    """Delete all events of a run after its second event of a kind, as if it had been killed then."""
    second = "SELECT id FROM event WHERE kind = ? ORDER BY id LIMIT 1 OFFSET 1"
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        database.execute(f"DELETE FROM event WHERE id > ({second})", (kind,))


def use_former_names(folder: Path) -> None:
    """Make a run look as if an earlier version of planbook had recorded it."""
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        database.executemany("UPDATE event SET kind = ? WHERE kind = ?", FORMER_KINDS.items())
    file = folder / "run.json"
    text = file.read_text()
    assert '"inputs": {' in text
    file.write_text(text.replace('"inputs": {', '"made_of": {'))


def stored_kinds(folder: Path) -> set[str]:
    with closing(sqlite3.connect(folder / "run.db")) as database:
        return {kind for (kind,) in database.execute("SELECT DISTINCT kind FROM event")}


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_killed_run_with_former_kinds_of_events_is_resumed(kind: str, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    succeed(*COMMANDS[kind], "--out", whole)
    shutil.copytree(whole, killed)
    kill_after_second(kind, killed)
    use_former_names(killed)
    assert not stored_kinds(killed) & {*FORMER_KINDS.values()}
    tables = [without_times(invoke("run", "--resume", folder, "--json").result) for folder in (killed, whole)]
    assert tables[0] == tables[1]
    assert {kind, "sitting", "invocation"} <= stored_kinds(killed), "the run has events with former and present kinds"
    events = [[event for event in history(folder) if event[1] != "piece"] for folder in (killed, whole)]
    assert events[0] == events[1]


def test_a_run_keeps_the_former_name_of_the_folder_of_what_it_learned(tmp_path: Path) -> None:
    run = tmp_path / "run"
    succeed(*COMMANDS["learned"], "--out", run)
    (run / "learned").rename(run / "learnt")
    succeed("formulate", run)
    assert (run / "learnt" / "toy" / "manual.md").exists()
    assert not (run / "learned").exists()


def test_the_learned_library_has_its_former_name_in_commands_and_runs(tmp_path: Path) -> None:
    file = tmp_path / "run" / "run.json"
    command = ("test", "--env", "alfworld", "--split", "generated:1", "--model", "none", "--out", file.parent)
    succeed(*command, "--library", "learnt")
    text = file.read_text()
    assert '"library": "learned"' in text
    file.write_text(text.replace('"library": "learned"', '"library": "learnt"'))
    succeed(*command, "--library", "learned")


def test_inputs_of_an_invocation_are_read_under_their_former_name() -> None:
    former, present = (recorded_inputs({key: {"data": {"games": "abc"}}}) for key in ("made_of", "inputs"))
    assert former == present == RunInputs(data={"games": "abc"})
    assert recorded_inputs({"jobs": 1}) is None


def test_what_a_library_run_learned_has_its_present_name_among_the_inputs() -> None:
    assert RunInputs(knowledge={"learnt (all)": "abc"}) == RunInputs(knowledge={"learned (all)": "abc"})


def test_former_kinds_of_events_are_shown_and_exported(tmp_path: Path) -> None:
    run = tmp_path / "run"
    succeed(*STREAM, "--out", run)
    pages = {now: tmp_path / f"{now}.html" for now in (True, False)}
    printed, lines = dict[bool, list[str]](), dict[bool, str]()
    for now in pages:
        if not now:
            use_former_names(run)
        succeed("report", run, "--out", pages[now])
        succeed("export", run, "--out", tmp_path / "episodes.jsonl")
        printed[now] = [invoke(*command).stdout for command in (("show", run, "0"), ("stats", run, "--json"))]
        lines[now] = (tmp_path / "episodes.jsonl").read_text()
    assert printed[True] == printed[False]
    assert lines[True] == lines[False]
    assert pages[True].read_bytes() == pages[False].read_bytes()
