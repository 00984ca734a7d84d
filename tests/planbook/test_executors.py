"""Runs in worker processes have the same results as runs in threads, whichever process is killed.

Each worker has a zygote, a process that its sandbox workers are forked from.
"""

import os
import re
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.errors import BadArgument
from planbook.planner import Body
from planbook.runs import Run
from planbook.workers import check_reachable, local_pool
from tests.executing import TASKS, alive, children, command, episodes_of, kill, processes, start, wait_until
from tests.flows import Finished, asks, events, invoke, refusal, scripted, succeed

PROCESSES = ("--executor", "processes")
SLOW = {"pause": 0.3}
"""Makes actions slow, so that every worker begins an episode before the run is over."""
Episodes = list[tuple[Any, ...]]


def play(folder: Path, *more: object, **options: object) -> Finished:
    return invoke(*command(folder, *PROCESSES, *TASKS, *more, **options))


def process_count(folder: Path, task: str = "fetch_two-3") -> int:
    """Return the number of processes that have played an episode."""
    return len((folder / "begun" / task).read_text().split())


@pytest.mark.deep
def test_worker_processes_have_the_same_results_as_threads(tmp_path: Path, undisturbed: Episodes) -> None:
    finished = play(tmp_path, **SLOW)
    assert finished.returncode == 0, finished.printed
    assert episodes_of(tmp_path) == undisturbed
    assert os.getpid() not in processes(tmp_path)
    assert len(processes(tmp_path)) == min(4, len(os.sched_getaffinity(0)))
    assert not [process for process in processes(tmp_path) if alive(process)]


def test_an_episode_whose_process_dies_continues_in_another(tmp_path: Path, undisturbed: Episodes) -> None:
    played = play(tmp_path, deadly="fetch_two/3", deaths=1)
    assert played.returncode == 0, played.printed
    assert episodes_of(tmp_path) == undisturbed
    assert process_count(tmp_path) == 2


def test_calls_and_tokens_of_a_lost_worker_are_counted_once(tmp_path: Path) -> None:
    models = ("--model", scripted(), "--planner", "automanual", *PROCESSES, "--types", "fetch", "--json")
    arguments = command(tmp_path, *models, deadly="fetch/3", deaths=1)
    finished = succeed("run", *arguments[1:])
    usage = [each["reply"]["usage"] for each in asks(tmp_path / "run")]
    assert finished.result["model_calls"] == len(usage)
    assert finished.result["tokens"] == sum(each["prompt"] + each["completion"] for each in usage)


def test_an_episode_that_kills_three_processes_is_broken(tmp_path: Path) -> None:
    finished = play(tmp_path, "--json", deadly="fetch_two/3", deaths=99)
    assert finished.returncode == 1, finished.printed
    assert (finished.result["tasks"], finished.result["solved"]) == (12, 11)
    assert finished.result["failures"] == {"broken": 1}
    broken: list[Body] = [row.body for row in events(tmp_path / "run", "outcome") if row.body["outcome"] == "broken"]
    assert broken[0]["message"] == "3 worker processes in a row ended while they played this episode"
    assert process_count(tmp_path) == 3
    again = invoke("run", "--resume", tmp_path / "run", *PROCESSES, "--json")
    assert again.result["failures"] == {"broken": 1}


@pytest.mark.deep
@pytest.mark.parametrize(("victim", "workers"), [("worker", 3), ("zygote", 2)])
def test_a_killed_worker_or_zygote_is_replaced(
    tmp_path: Path, undisturbed: Episodes, victim: str, workers: int
) -> None:
    driver = start(command(tmp_path, *PROCESSES, *TASKS, **SLOW))
    wait_until(lambda: len(processes(tmp_path)) == 2)
    worker = min(processes(tmp_path))
    kill(worker if victim == "worker" else children(worker)[0])
    printed, _ = driver.communicate(timeout=100)
    assert driver.returncode == 0, printed
    lost = printed.count("A worker process was lost; its episodes continue in another one.")
    assert lost == (victim == "worker")
    assert episodes_of(tmp_path) == undisturbed
    assert len(processes(tmp_path)) == workers, "a worker survives its zygote"


@pytest.mark.deep
def test_a_killed_driver_ends_its_workers_and_the_run_can_be_resumed(tmp_path: Path, undisturbed: Episodes) -> None:
    driver = start(command(tmp_path, *PROCESSES, *TASKS, **SLOW))
    wait_until(lambda: len(processes(tmp_path)) == 2)
    descendants = {each for worker in processes(tmp_path) for each in (worker, *children(worker))}
    assert len(descendants) >= 4, "the workers and their zygotes"
    kill(driver.pid)
    driver.communicate(timeout=60)
    wait_until(lambda: not any(map(alive, descendants)), 10)
    succeed("run", "--resume", tmp_path / "run", *PROCESSES, "--jobs", 12)
    assert episodes_of(tmp_path) == undisturbed


def test_ctrl_c_ends_every_process_and_the_run_can_be_resumed(tmp_path: Path, undisturbed: Episodes) -> None:
    driver = start(command(tmp_path, *PROCESSES, *TASKS, **SLOW))
    wait_until(lambda: len(processes(tmp_path)) == 2)
    os.killpg(driver.pid, signal.SIGINT)
    printed, _ = driver.communicate(timeout=60)
    assert driver.returncode == 130, printed
    assert "Traceback" not in printed
    assert "Stopped. Resume with: planbook run --resume" in printed
    assert not any(map(alive, processes(tmp_path)))
    succeed("run", "--resume", tmp_path / "run", "--jobs", 12)
    assert episodes_of(tmp_path) == undisturbed


def test_a_budget_of_seconds_includes_the_start_of_the_workers(tmp_path: Path) -> None:
    stopped = play(tmp_path, "--budget", "seconds=0.5", "--json", **SLOW)
    assert stopped.returncode == 4, stopped.printed
    spent = re.search(r"the budget of 0.5 seconds is used up: ([\d.]+) spent", stopped.printed)
    assert spent is not None
    assert float(spent[1]) == pytest.approx(stopped.result["seconds"], abs=0.3)


def test_an_error_in_a_worker_process_is_one_line(tmp_path: Path) -> None:
    run = ("run", "--env", "toy", "--planner", "automanual", *PROCESSES, "--jobs", 2)
    failed = invoke(*run, "--model", "exchange:/dev/null/x", "--out", tmp_path / "run")
    assert failed.returncode != 0
    assert failed.stderr.count("planbook: ") == 1


@pytest.mark.parametrize("executor", ["processes", "ray"])
def test_building_and_recording_need_a_single_process(tmp_path: Path, executor: str) -> None:
    options = ("--executor", executor, "--out", tmp_path / "run")
    assert f"--executor {executor}: building learns from one episode after another" in refusal(
        "build", "--env", "toy", "--model", scripted(), *options
    )
    model = f"recorded:{tmp_path / 'tape'}+{scripted()}"
    assert "is recorded by a single process" in refusal(
        "run", "--env", "toy", "--planner", "automanual", "--model", model, *options
    )
    assert not (tmp_path / "run").exists()


def test_a_run_in_a_file_cannot_be_played_on_several_machines(tmp_path: Path) -> None:
    succeed("run", "--env", "toy", "--task", "fetch/1", "--out", tmp_path / "run")
    with closing(Run.open(tmp_path / "run")) as run, local_pool(1) as places:
        check_reachable(run, places)
        with pytest.raises(BadArgument, match="the Ray cluster has 3 machines; keep the run in PostgreSQL"):
            check_reachable(run, places._replace(machines=3))
