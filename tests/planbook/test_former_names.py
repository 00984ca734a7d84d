"""Runs of earlier versions, in which kinds of events and other things have former names, are read and resumed."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from planbook.runs import RunInputs, recorded_inputs
from planbook.store.rows import FORMER_KINDS
from tests import stepwise_script
from tests.flows import BUILD, history, invoke, without_times

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
    assert invoke(*COMMANDS[kind], "--out", whole).returncode == 0
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
    assert invoke(*COMMANDS["learned"], "--out", run).returncode == 0
    (run / "learned").rename(run / "learnt")
    assert invoke("formulate", run).returncode == 0
    assert (run / "learnt" / "toy" / "manual.md").exists()
    assert not (run / "learned").exists()


def test_the_learned_library_has_its_former_name_in_commands_and_runs(tmp_path: Path) -> None:
    file = tmp_path / "run" / "run.json"
    command = ("test", "--env", "alfworld", "--split", "generated:1", "--model", "none", "--out", file.parent)
    assert invoke(*command, "--library", "learnt").returncode == 0
    text = file.read_text()
    assert '"library": "learned"' in text
    file.write_text(text.replace('"library": "learned"', '"library": "learnt"'))
    assert invoke(*command, "--library", "learned").returncode == 0


def test_inputs_of_an_invocation_are_read_under_their_former_name() -> None:
    former, present = (recorded_inputs({key: {"data": {"games": "abc"}}}) for key in ("made_of", "inputs"))
    assert former == present == RunInputs(data={"games": "abc"})
    assert recorded_inputs({"jobs": 1}) is None


def test_what_a_library_run_learned_has_its_present_name_among_the_inputs() -> None:
    assert RunInputs(knowledge={"learnt (all)": "abc"}) == RunInputs(knowledge={"learned (all)": "abc"})


def test_former_kinds_of_events_are_shown_and_exported(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert invoke(*STREAM, "--out", run).returncode == 0
    pages = {now: tmp_path / f"{now}.html" for now in (True, False)}
    printed, lines = dict[bool, list[str]](), dict[bool, str]()
    for now in pages:
        if not now:
            use_former_names(run)
        assert invoke("report", run, "--out", pages[now]).returncode == 0
        assert invoke("export", run, "--out", tmp_path / "episodes.jsonl").returncode == 0
        printed[now] = [invoke(*command).stdout for command in (("show", run, "0"), ("stats", run, "--json"))]
        lines[now] = (tmp_path / "episodes.jsonl").read_text()
    assert printed[True] == printed[False]
    assert lines[True] == lines[False]
    assert pages[True].read_bytes() == pages[False].read_bytes()
