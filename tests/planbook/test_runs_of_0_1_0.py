"""Runs that planbook 0.1.0 made can still be read, by every command that reads runs."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.graphs.running import GraphRun
from tests.command import ROOT
from tests.flows import here

MADE = ROOT / "tests" / "runs_of_0_1_0"
EPISODES = {"run": (3, 2), "build": (4, 3), "test": (12, 11)}
"""Tasks and solved tasks of each."""


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A copy, for reading a database may write beside it."""
    return Path(shutil.copytree(MADE, tmp_path / "runs"))


@pytest.mark.parametrize("name", EPISODES)
def test_episodes_are_shown_counted_reported_and_exported(name: str, runs: Path, tmp_path: Path) -> None:
    tasks, solved = EPISODES[name]
    shown = here("show", runs / name, tasks - 1)
    assert shown.returncode == 0, shown.told
    counted = here("stats", runs / name, "--json")
    assert counted.returncode == 0, counted.told
    reported = here("report", runs / name, "--out", tmp_path / "report.html")
    assert reported.returncode == 0, reported.told
    exported = here("export", runs / name, "--out", tmp_path / "episodes.jsonl")
    assert exported.returncode == 0, exported.told
    episodes = [json.loads(line) for line in (tmp_path / "episodes.jsonl").read_text().splitlines()]
    assert len(episodes) == tasks
    assert sum(episode["ending"]["verdict"]["solved"] for episode in episodes) == solved
    imported = here("import", tmp_path / "episodes.jsonl", "--out", tmp_path / "imported")
    assert imported.returncode == 0, imported.told


def test_a_run_replays_though_its_prompts_are_worded_otherwise_now(runs: Path) -> None:
    replayed = here("replay", runs / "run", "--json")
    assert replayed.returncode == 0, replayed.told
    assert replayed.result["by_sameness"]["same"] == 3


def test_its_replies_are_found_by_their_wording_alone(runs: Path, tmp_path: Path) -> None:
    """It did not record which data its prompts were made from."""
    again = here("rerun", runs / "run", "--recorded", "--out", tmp_path / "again")
    assert again.returncode == 3
    assert "has no answer to this prompt" in again.told


def test_what_was_built_is_listed_and_used(runs: Path, tmp_path: Path) -> None:
    listed = here("rules", runs / "build", "log")
    assert listed.returncode == 0, listed.told
    tested = here(
        "test", "--env", "toy", "--library", runs / "build", "--model", "none", "--out", tmp_path / "t", "--json"
    )
    assert tested.returncode == 0, tested.told
    assert (tested.result["solved"], tested.result["tasks"]) == (11, 12)


def test_two_runs_are_compared(runs: Path) -> None:
    compared = here("compare", runs / "test", shutil.copytree(runs / "test", runs / "again"), "--json")
    assert compared.returncode == 0, compared.told


def test_passes_of_a_graph_are_there(runs: Path) -> None:
    with closing(GraphRun.open(runs / "graph")) as run:
        replies: list[Any] = [event.body["reply"] for event in run.store.events(kind="ask")]
    assert [reply["text"] for reply in replies] == ["yes", "light", "An umbrella."]


def test_a_run_that_is_not_over_is_not_gone_on_with(runs: Path) -> None:
    with closing(sqlite3.connect(runs / "run" / "run.db")) as database, database:
        database.execute("DELETE FROM event WHERE kind = 'outcome' AND scope = 'task/2'")
    resumed = here("run", "--resume", runs / "run", "--allow-changed")
    assert resumed.returncode == 2
    assert "begun by planbook 0.1.0" in resumed.told
    assert f"planbook rerun {runs / 'run'}" in resumed.told


def test_a_run_that_is_over_is_told_of_again(runs: Path) -> None:
    resumed = here("run", "--resume", runs / "run", "--json")
    assert resumed.returncode == 0, resumed.told
