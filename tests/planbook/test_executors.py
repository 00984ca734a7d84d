"""Runs in worker processes: they come to the same, whatever is killed in between."""

import os
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.errors import BadArgument
from planbook.planner import Body
from planbook.runs import Run
from planbook.workers import check_reachable, on_this_machine
from tests.executing import TASKS, alive, children, command, episodes_of, kill, processes, start, wait_until
from tests.flows import Finished, asks, events, here, history, scripted, table

PROCESSES = ("--executor", "processes")
SLOW = {"pause": 0.3}
"""So that every worker has begun before all is over."""


def play(folder: Path, *more: object, **options: object) -> Finished:
    return here(*command(folder, *PROCESSES, *TASKS, *more, **options))


@pytest.mark.deep
def test_worker_processes_come_to_the_same_as_threads(tmp_path: Path, undisturbed: list[tuple[Any, ...]]) -> None:
    finished = play(tmp_path, **SLOW)
    assert finished.returncode == 0, finished.printed
    assert episodes_of(tmp_path) == undisturbed
    assert os.getpid() not in processes(tmp_path)
    assert len(processes(tmp_path)) == min(4, len(os.sched_getaffinity(0)))
    assert not [process for process in processes(tmp_path) if alive(process)]


@pytest.mark.deep
def test_a_method_that_asks_models_has_the_same_results(tmp_path: Path) -> None:
    asked = ("run", "--env", "toy", "--planner", "automanual", "--model", scripted(), "--jobs", 4, "--json")
    here(*asked, "--out", tmp_path / "threads")
    finished = here(*asked, *PROCESSES, "--out", tmp_path / "processes")
    assert finished.returncode == 0, finished.printed
    assert history(tmp_path / "processes") == history(tmp_path / "threads")
    assert table(finished.result) == table(here("run", "--resume", tmp_path / "threads", "--json").result)
    assert finished.result["model_calls"] == len(asks(tmp_path / "processes"))


def test_an_episode_whose_process_dies_goes_on_in_another(tmp_path: Path, undisturbed: list[tuple[Any, ...]]) -> None:
    played = play(tmp_path, deadly="fetch_two/3", deaths=1)
    assert played.returncode == 0, played.printed
    assert episodes_of(tmp_path) == undisturbed
    assert len((tmp_path / "begun" / "fetch_two-3").read_text().split()) == 2
    refused = here("replay", tmp_path / "run", *PROCESSES)
    assert refused.returncode == 2
    assert "a RUN is replayed in threads" in refused.printed


def test_what_a_lost_worker_had_spent_is_counted_once(tmp_path: Path) -> None:
    asked = ("--model", scripted(), "--planner", "automanual", *PROCESSES, "--types", "fetch", "--json")
    arguments = command(tmp_path, *asked, deadly="fetch/3", deaths=1)
    finished = here("run", *arguments[1:])
    assert finished.returncode == 0, finished.printed
    assert finished.result["model_calls"] == len(asks(tmp_path / "run"))
    tokens = [each["reply"]["usage"] for each in asks(tmp_path / "run")]
    assert finished.result["tokens"] == sum(usage["prompt"] + usage["completion"] for usage in tokens)


def test_an_episode_that_kills_three_processes_is_broken_and_the_others_are_not(tmp_path: Path) -> None:
    finished = play(tmp_path, "--json", deadly="fetch_two/3", deaths=99)
    assert finished.returncode == 1, finished.printed
    assert (finished.result["tasks"], finished.result["solved"]) == (12, 11)
    assert finished.result["failures"] == {"broken": 1}
    broken: list[Body] = [row.body for row in events(tmp_path / "run", "outcome") if row.body["outcome"] == "broken"]
    assert broken[0]["message"] == "3 worker processes in a row ended while they played this episode"
    assert len((tmp_path / "begun" / "fetch_two-3").read_text().split()) == 3
    again = here("run", "--resume", tmp_path / "run", *PROCESSES, "--json")
    assert again.result["failures"] == {"broken": 1}


@pytest.mark.deep
def test_an_episode_that_gets_further_with_each_process_is_not_given_up(
    tmp_path: Path, undisturbed: list[tuple[Any, ...]]
) -> None:
    finished = play(tmp_path, "--json", deadly="fetch_two/3", deaths=4, later=True)
    assert finished.returncode == 0, finished.printed
    assert episodes_of(tmp_path) == undisturbed
    assert len((tmp_path / "begun" / "fetch_two-3").read_text().split()) == 5


@pytest.mark.deep
def test_a_worker_that_is_killed_is_replaced(tmp_path: Path, undisturbed: list[tuple[Any, ...]]) -> None:
    driver = start(command(tmp_path, *PROCESSES, *TASKS, **SLOW))
    wait_until(lambda: len(processes(tmp_path)) == 2)
    kill(min(processes(tmp_path)))
    printed, _ = driver.communicate(timeout=100)
    assert driver.returncode == 0, printed
    assert printed.count("A worker process was lost; its episodes continue in another.") == 1
    assert episodes_of(tmp_path) == undisturbed
    assert len(processes(tmp_path)) == 3


@pytest.mark.deep
def test_a_zygote_that_is_killed_is_replaced(tmp_path: Path, undisturbed: list[tuple[Any, ...]]) -> None:
    driver = start(command(tmp_path, *PROCESSES, *TASKS, **SLOW))
    wait_until(lambda: len(processes(tmp_path)) == 2)
    (zygote,) = children(min(processes(tmp_path)))
    kill(zygote)
    printed, _ = driver.communicate(timeout=100)
    assert driver.returncode == 0, printed
    assert episodes_of(tmp_path) == undisturbed
    assert len(processes(tmp_path)) == 2, "its worker goes on"


@pytest.mark.deep
def test_a_driver_that_is_killed_takes_its_workers_with_it_and_the_run_can_be_resumed(
    tmp_path: Path, undisturbed: list[tuple[Any, ...]]
) -> None:
    driver = start(command(tmp_path, *PROCESSES, *TASKS, **SLOW))
    wait_until(lambda: len(processes(tmp_path)) == 2)
    below = {each for worker in processes(tmp_path) for each in (worker, *children(worker))}
    assert len(below) >= 4, "the workers and their zygotes"
    kill(driver.pid)
    driver.communicate(timeout=60)
    wait_until(lambda: not any(map(alive, below)), 10)
    assert here("run", "--resume", tmp_path / "run", *PROCESSES, "--jobs", 12).returncode == 0
    assert episodes_of(tmp_path) == undisturbed


def test_ctrl_c_ends_everything_and_the_run_can_be_resumed(tmp_path: Path, undisturbed: list[tuple[Any, ...]]) -> None:
    driver = start(command(tmp_path, *PROCESSES, *TASKS, **SLOW))
    wait_until(lambda: len(processes(tmp_path)) == 2)
    os.killpg(driver.pid, signal.SIGINT)
    printed, _ = driver.communicate(timeout=60)
    assert driver.returncode == 130, printed
    assert "Traceback" not in printed
    assert "Stopped. Resume with: planbook run --resume" in printed
    assert not any(map(alive, processes(tmp_path)))
    assert here("run", "--resume", tmp_path / "run", "--jobs", 12).returncode == 0
    assert episodes_of(tmp_path) == undisturbed


@pytest.mark.deep
def test_a_budget_holds_over_all_processes(tmp_path: Path, undisturbed: list[tuple[Any, ...]]) -> None:
    arguments = command(tmp_path, *PROCESSES, *TASKS, "--budget", "actions=20", **SLOW)
    stopped = here("run", "--planner", "procedures", *arguments[1:])
    assert stopped.returncode == 4, stopped.printed
    assert "the budget of 20 actions is used up" in stopped.printed
    assert 20 <= spent_actions(tmp_path) <= 20 + 4 * 6, "four episodes side by side, each what a tick is long"
    at_once = here("run", "--resume", tmp_path / "run", *PROCESSES)
    assert at_once.returncode == 4
    assert here("run", "--resume", tmp_path / "run", *PROCESSES, "--budget", "actions=10000").returncode == 0
    assert episodes_of(tmp_path) == undisturbed, "every action was counted once"


def spent_actions(folder: Path) -> int:
    acts: list[Any] = [event.body for event in events(folder / "run", "act")]
    return sum(act["counted"] for act in acts)


def test_what_stops_a_run_comes_back_from_the_workers_as_itself(tmp_path: Path) -> None:
    asked = ("run", "--env", "toy", "--planner", "automanual", *PROCESSES, "--jobs", 2)
    server = here(*asked, "--model", "exchange:/dev/null/x", "--out", tmp_path / "run")
    assert server.returncode != 0
    assert server.stderr.count("planbook: ") == 1


@pytest.mark.parametrize("executor", ["processes", "ray"])
def test_what_one_process_has_to_do_alone_is_refused(tmp_path: Path, executor: str) -> None:
    building = here("build", "--env", "toy", "--model", scripted(), "--executor", executor, "--out", tmp_path / "run")
    assert building.returncode == 2
    assert f"--executor {executor}: building learns from one episode after another" in building.printed
    model = f"recorded:{tmp_path / 'tape'}+{scripted()}"
    asked = ("run", "--env", "toy", "--planner", "automanual", "--model", model, "--out", tmp_path / "run")
    recording = here(*asked, "--executor", executor)
    assert recording.returncode == 2
    assert "writes its recording from one process" in recording.printed
    assert not (tmp_path / "run").exists()


def test_a_file_cannot_be_reached_from_other_machines(tmp_path: Path) -> None:
    assert here("replay", "--env", "toy", "--task", "fetch/1", "--out", tmp_path / "run").returncode == 0
    with closing(Run.open(tmp_path / "run")) as run, on_this_machine(1) as places:
        check_reachable(run, places)
        with pytest.raises(BadArgument, match="the Ray cluster has 3 machines; keep the run in PostgreSQL"):
            check_reachable(run, places._replace(machines=3))
