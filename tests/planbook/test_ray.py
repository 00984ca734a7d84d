"""Runs on a local Ray cluster with two processors have the same results, whichever process is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command import ROOT
from tests.executing import TASKS, alive, children, command, episodes_of, kill, processes, start, wait_until
from tests.flows import invoke, succeed
from tests.postgres import Server

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.deep
RAY = ("--executor", "ray")


WITHOUT_TOKENS = {"RAY_AUTH_MODE": "disabled"}
START_CLUSTER = """
import ray, sys
context = ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
print(context.address_info["gcs_address"], flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a cluster that the tests of this module share. It ends when its standard input is closed."""
    command, pipe = [sys.executable, "-c", START_CLUSTER], subprocess.PIPE
    env = os.environ | WITHOUT_TOKENS
    with subprocess.Popen(command, cwd=ROOT, env=env, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        address = next(line for line in process.stdout if line.count(":") == 1 and line.strip().split(":")[1].isdigit())
        yield address.strip()
        process.communicate()


@pytest.fixture
def _joined(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**WITHOUT_TOKENS, "RAY_ADDRESS": cluster}.items():
        monkeypatch.setenv(name, value)


def start_run(folder: Path, *more: object, pause: float = 0.4) -> "subprocess.Popen[str]":
    """Start a run, and wait until two of its workers play."""
    driver = start(command(folder, *RAY, *TASKS, *more, pause=pause))
    wait_until(lambda: len(processes(folder)) == 2)
    return driver


def resume(folder: Path, *more: object) -> list[tuple[Any, ...]]:
    """Resume a run, and return its episodes."""
    succeed("run", "--resume", folder / "run", *more)
    return episodes_of(folder)


@pytest.mark.usefixtures("_joined")
def test_a_cluster_plays_the_same_episodes_as_threads(tmp_path: Path, undisturbed: list[tuple[Any, ...]]) -> None:
    succeed(*command(tmp_path, *RAY, *TASKS, pause=0.4))
    assert episodes_of(tmp_path) == undisturbed
    assert len(processes(tmp_path)) == 2
    assert os.getpid() not in processes(tmp_path)


@pytest.mark.usefixtures("_joined")
@pytest.mark.parametrize("kind", ["a file", "PostgreSQL"])
def test_a_worker_that_dies_is_replaced(
    tmp_path: Path, kind: str, postgres: Server, undisturbed: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    store = ("--store", postgres.url) if kind == "PostgreSQL" else ()
    succeed(*command(tmp_path, *RAY, *store, *TASKS, deadly="fetch_two/3", deaths=1))
    assert episodes_of(tmp_path) == undisturbed


@pytest.mark.usefixtures("_joined")
def test_an_episode_that_kills_three_workers_is_broken(tmp_path: Path) -> None:
    finished = invoke(*command(tmp_path, *RAY, *TASKS, "--json", deadly="fetch_two/3", deaths=99))
    assert finished.returncode == 1, finished.printed
    assert (finished.result["solved"], finished.result["failures"]) == (11, {"broken": 1})


@pytest.mark.usefixtures("_joined")
def test_workers_end_when_their_driver_is_killed_and_the_run_can_be_resumed(
    tmp_path: Path, undisturbed: list[tuple[Any, ...]]
) -> None:
    driver = start_run(tmp_path)
    kill(driver.pid)
    driver.communicate(timeout=60)
    wait_until(lambda: not any(map(alive, processes(tmp_path))), 30)
    assert resume(tmp_path, *RAY, "--jobs", 2) == undisturbed


def test_a_private_cluster_prints_nothing_and_leaves_no_process(
    tmp_path: Path, undisturbed: list[tuple[Any, ...]]
) -> None:
    driver = start_run(tmp_path, "--json")
    descendants = children(driver.pid)
    kill(min(processes(tmp_path)))
    printed, _ = driver.communicate(timeout=100)
    assert driver.returncode == 0, printed
    assert not [line for line in printed.splitlines() if "ray" in line.casefold()]
    assert episodes_of(tmp_path) == undisturbed
    wait_until(lambda: not any(map(alive, {*descendants, *processes(tmp_path)})), 10)


@pytest.mark.usefixtures("_joined")
def test_a_run_can_be_resumed_after_ctrl_c(tmp_path: Path, undisturbed: list[tuple[Any, ...]]) -> None:
    driver = start_run(tmp_path)
    os.killpg(driver.pid, signal.SIGINT)
    printed, _ = driver.communicate(timeout=15)
    assert driver.returncode == 130, printed
    assert "Traceback" not in printed
    assert f"Resume with: planbook run --resume {tmp_path / 'run'}" in printed
    assert len(episodes_of(tmp_path)) < len(undisturbed)
    assert resume(tmp_path, *RAY, "--jobs", 2) == undisturbed


def test_a_run_can_be_resumed_after_its_private_cluster_lost_its_head(
    tmp_path: Path, undisturbed: list[tuple[Any, ...]]
) -> None:
    driver = start_run(tmp_path, pause=0.6)
    kill(next(each for each in children(driver.pid) if "gcs_server" in Path(f"/proc/{each}/comm").read_text()))
    driver.communicate(timeout=150)  # Ray ends the process after about a minute, unless the run is finished before
    assert resume(tmp_path, "--jobs", 12) == undisturbed


def test_an_address_that_cannot_be_used_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "nonsense")
    wrong = invoke(*command(tmp_path, *RAY, *TASKS))
    assert wrong.returncode == 3
    assert "Ray at nonsense cannot be used" in wrong.printed


def test_without_ray_the_error_names_the_command_that_installs_it(tmp_path: Path) -> None:
    without = "import sys; sys.modules['ray'] = None; from planbook.cli import main; main()"
    arguments = ["run", "--env", "toy", *RAY, "--out", str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, "-c", without, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 3, done.stderr
    assert "-m pip install 'psycopg[binary]" in done.stderr
    assert not (tmp_path / "run").exists()
