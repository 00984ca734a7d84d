"""Runs that keep their events in PostgreSQL are played, killed, resumed, joined and reported."""

import json
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from planbook import run
from planbook.errors import BadRun
from planbook.planner import Body
from planbook.runs import Run
from planbook.watch_server import FollowedRun
from tests.command import ROOT, planbook
from tests.executing import TASKS, command, kill, processes, start, wait_until
from tests.flows import invoke, refusal, scripted
from tests.killing import KILLED, run_until_survived
from tests.postgres import Server

PLAY = ("run", "--planner", "procedures", "--env", "toy")


@pytest.fixture(autouse=True)
def _password(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", postgres.password)


def kill_after(events: int, *arguments: object) -> None:
    """Run a command, and kill its process after this number of new events."""
    assert run_until_survived([["", events]], *arguments) == [KILLED]


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


@pytest.mark.deep
def test_a_run_that_is_killed_three_times_ends_like_one_in_a_file(tmp_path: Path, postgres: Server) -> None:
    undisturbed, folder = tmp_path / "undisturbed", tmp_path / "run"
    assert invoke(*PLAY, "--out", undisturbed).returncode == 0
    kill_after(25, *PLAY, "--jobs", 2, "--out", folder, "--store", postgres.url)
    assert not (folder / "run.db").exists()
    assert len(events(folder)) >= 25
    kill_after(40, "run", "--resume", folder)
    kill_after(15, *PLAY, "--out", folder, "--store", postgres.url)
    finished = invoke("run", "--resume", folder, "--json")
    assert (finished.returncode, finished.result["solved"]) == (0, 10), finished.stderr
    assert events(folder) == events(undisturbed)
    assert invoke("replay", folder, "--json").result["by_sameness"]["same"] == 10
    report = tmp_path / "report.html"
    assert invoke("report", folder, "--out", report).returncode == 0
    assert "fetch_two" in report.read_text()


def test_the_folder_has_the_url_of_the_database_without_the_password(
    tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    monkeypatch.delenv("PGPASSWORD")
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    assert invoke(*PLAY, "--out", folder, "--store", postgres.url).returncode == 0
    written = json.loads((folder / "run.json").read_text())["store"]
    assert written["url"] == postgres.url_of("postgres", password="")
    assert written["schema"].startswith("planbook_20")
    again = invoke(*PLAY, "--out", folder, "--store", postgres.url)
    assert again.returncode == 0, "the URL with the password is the same place"
    for arguments in (("run", "--resume", folder), ("report", folder, "--out", tmp_path / "report.html")):
        refused = planbook(*arguments)
        assert refused.returncode == 2
        assert refused.stderr.count("\n") == 1
        assert "check server, database and PGPASSWORD" in refused.stderr
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
    assert invoke(*PLAY, "--out", folder, "--store", postgres.url).returncode == 0
    assert invoke(*PLAY, "--out", tmp_path / "file").returncode == 0
    for out, store in ((folder, elsewhere), (tmp_path / "file", postgres.url)):
        assert "holds a run with other settings (--store" in refusal(*PLAY, "--out", out, "--store", store)


def test_a_run_that_is_played_on_another_machine_cannot_be_played(tmp_path: Path, postgres: Server) -> None:
    """Another machine is imitated by a copy of the folder. Its lock is free, but that of the database is held."""
    folder, copy = tmp_path / "run", tmp_path / "copy"
    assert invoke(*PLAY, "--out", folder, "--store", postgres.url).returncode == 0
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
def test_a_lost_server_ends_the_run_with_one_line(tmp_path: Path, postgres: Server) -> None:
    """The remaining episodes are played when the server can be reached again."""
    folder = tmp_path / "run"
    url = postgres.database()
    command = [sys.executable, "-m", "planbook", *PLAY, "--repeats", "8", "--out", str(folder), "--store", url]
    playing = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not (folder / "run.json").exists():
        assert playing.poll() is None
    while len(events(folder)) < 120:
        assert playing.poll() is None
    postgres.execute(b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'tests_%'")
    _, printed = playing.communicate(timeout=60)
    assert playing.returncode == 2
    lines = [line for line in printed.splitlines() if line.startswith("planbook: ")]
    assert len(lines) == 1
    assert "check server, database and PGPASSWORD" in lines[0]
    assert "Traceback" not in printed
    assert invoke("run", "--resume", folder, "--json").result["solved"] == 80


@pytest.mark.deep
def test_a_process_joins_a_run_and_loses_nothing_when_it_is_killed(tmp_path: Path, postgres: Server) -> None:
    """Three processes lease episodes; those of the killed process continue in another."""
    undisturbed, shared = tmp_path / "undisturbed", tmp_path / "shared"
    assert invoke(*command(undisturbed, *TASKS)).returncode == 0
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
    assert invoke(*PLAY, "--out", tmp_path / "run").returncode == 0
    message = f"no process is playing {tmp_path / 'run'}; resume it with: planbook run --resume"
    assert message in refusal("join", tmp_path / "run")
