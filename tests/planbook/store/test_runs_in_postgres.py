"""Runs that keep their events in PostgreSQL are played, killed, resumed, joined and reported."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from planbook import run
from planbook.errors import BadRun
from planbook.planner import Body
from planbook.runs import Run
from planbook.watch_server import FollowedRun
from tests.command import planbook
from tests.executing import TASKS, command, kill, processes, start, wait_until
from tests.flows import invoke, refusal, scripted, succeed
from tests.postgres import Server

PLAY = ("run", "--planner", "procedures", "--env", "toy")


@pytest.fixture(autouse=True)
def _password(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", postgres.password)


def events(folder: Path) -> list[tuple[str, str, int, Body]]:
    """Return the events in a fixed order, without those that mark invocations."""
    with closing(Run.open(folder)) as run:
        rows = [(row.scope, row.kind, row.n, row.body) for row in run.store.events() if row.kind != "invocation"]
    return sorted(rows, key=lambda row: row[:3])


def test_processes_with_one_database_share_one_budget(tmp_path: Path, postgres: Server) -> None:
    folder, tokens = tmp_path / "run", 30_000
    arguments = ("run", "--env", "toy", "--planner", "automanual", "--model", scripted(), "--seeds", "0-9", "--jobs", 4)
    options = ("--executor", "processes", "--store", postgres.url, "--budget", f"tokens={tokens}")
    stopped = invoke(*arguments, *options, "--json", "--out", folder)
    assert stopped.returncode == 4, stopped.printed
    assert tokens - 10_000 < stopped.result["tokens"] <= tokens
    assert invoke("run", "--resume", folder, "--budget", "tokens=1000000", "--json").result["tasks"] == 20


def test_the_folder_has_the_url_of_the_database_without_the_password(
    tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    succeed(*PLAY, "--out", folder, "--store", postgres.url)
    written = json.loads((folder / "run.json").read_text())["store"]
    assert written["url"] == postgres.url_of("postgres", password="")
    assert written["schema"].startswith("planbook_20")
    again = invoke(*PLAY, "--out", folder, "--store", postgres.url)
    assert again.returncode == 0, "the URL with the password is the same place"
    assert postgres.password not in "".join(path.read_text() for path in folder.iterdir())


def test_a_command_reads_its_own_run_with_the_password_in_the_url(
    tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    options = ("--split", "all:1", "--out", tmp_path / "run", "--store", postgres.url)
    assert planbook(*PLAY, *options, "--table").returncode == 0
    played = run(env="toy", split="all:1", out=tmp_path / "python", store=postgres.url)
    assert played.solved == 1


def test_a_run_with_another_store_is_another_run(tmp_path: Path, postgres: Server) -> None:
    folder, elsewhere = tmp_path / "run", postgres.database()
    succeed(*PLAY, "--out", folder, "--store", postgres.url)
    succeed(*PLAY, "--out", tmp_path / "file")
    for out, store in ((folder, elsewhere), (tmp_path / "file", postgres.url)):
        assert "holds a run with other settings (--store" in refusal(*PLAY, "--out", out, "--store", store)


def test_a_run_that_is_played_on_another_machine_cannot_be_played(tmp_path: Path, postgres: Server) -> None:
    """Another machine is imitated by a copy of the folder. Its lock is free, but that of the database is held."""
    folder, copy = tmp_path / "run", tmp_path / "copy"
    succeed(*PLAY, "--out", folder, "--store", postgres.url)
    shutil.copytree(folder, copy)
    with closing(Run.open(folder, to_play=True)):
        with pytest.raises(BadRun, match="is in use by another process"):
            Run.open(copy, to_play=True)
        with closing(FollowedRun(copy)) as following:
            following.catch_up()
            assert following.is_running, "planbook watch sees it too"
    with closing(Run.open(copy)) as run:
        assert not run.is_running
    Run.open(copy, to_play=True).close()


@pytest.mark.deep
def test_a_process_joins_a_run_and_loses_nothing_when_it_is_killed(tmp_path: Path, postgres: Server) -> None:
    """Three processes lease episodes; those of the killed process continue in another."""
    undisturbed, shared = tmp_path / "undisturbed", tmp_path / "shared"
    succeed(*command(undisturbed, *TASKS))
    driver = start(command(shared, *TASKS, "--jobs", 1, "--json", "--store", postgres.url, pause=0.3))
    wait_until(lambda: processes(shared))
    copy = tmp_path / "elsewhere"
    shutil.copytree(shared / "run", copy)
    lost = start(["join", str(copy), "--jobs", "2"])
    wait_until(lambda: lost.pid in processes(shared))
    kill(lost.pid)
    lost.communicate()
    joined = start(["join", str(copy), "--jobs", "4", "--json"])
    joined_output, _ = joined.communicate(timeout=100)
    assert joined.returncode == 0, joined_output
    driver_output, _ = driver.communicate(timeout=100)
    assert driver.returncode == 0, driver_output
    assert {driver.pid, lost.pid, joined.pid} == processes(shared)
    assert events(shared / "run") == events(undisturbed / "run")
    played = json.loads(joined_output.splitlines()[-1])["episodes"]
    begun = [int(line) for file in (shared / "begun").iterdir() for line in file.read_text().split()]
    assert 0 < played == begun.count(joined.pid)
    summary = json.loads(driver_output.splitlines()[-1])
    assert (summary["solved"], summary["tasks"]) == (12, 12)


def test_a_run_that_no_process_plays_cannot_be_joined(tmp_path: Path) -> None:
    succeed(*PLAY, "--out", tmp_path / "run")
    message = f"no process is playing {tmp_path / 'run'}; resume it with: planbook run --resume"
    assert message in refusal("join", tmp_path / "run")
