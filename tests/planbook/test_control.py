"""Runs are paused and stopped by events that another connection writes into the store while they are played."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from planbook import errors
from planbook.commands.playing import STOPPED_BY_WATCH, play_run
from planbook.config import Config, Executor, LearningSettings
from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.errors import BadRun
from planbook.planner import EpisodeStopped
from planbook.runs import Run, is_claimed
from planbook.runs.folder import claim_folder
from planbook.spending import load_pricing, spent_so_far
from planbook.store import Store
from planbook.workers import Execution, Switches, control
from planbook.workers.driver import create_job
from planbook.workers.processes import work
from tests.executing import wait_until
from tests.openai_server import Refusal, serving
from tests.slow_script import ANSWER_SECONDS
from tests.toy_script import served_answer
from tests.watched import count

SEEDS = Selection(types=("fetch",), seeds=tuple(range(12)))
SLOW = "scripted:tests/slow_script.py:answer"
PROCESSES = pytest.param("processes", marks=pytest.mark.deep)


def create_run(
    folder: Path, learning: LearningSettings | None = None, without: tuple[str, ...] = (), model: str = SLOW
) -> Run:
    config = Config(
        planner="automanual",
        env="toy",
        selection=SEEDS,
        actions=30,
        models={"default": model},
        learning=learning,
        without=without,
    )
    return Run.create(folder, config, Toy.tasks(SEEDS))


def request(folder: Path, number: int, do: str) -> None:
    with closing(Store(folder / "run.db")) as store:
        store.put("run", "control", number, {"do": do})


@contextmanager
def playing(run: Run, jobs: int = 2, executor: Executor = "threads") -> Iterator[list[int]]:
    """Play the run in the background; yield a list that receives the exit code when the run ends."""
    codes: list[int] = []

    def play() -> None:
        with closing(run):
            codes.append(play_run(run, Execution(jobs=jobs, executor=executor))[0])

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    try:
        yield codes
    finally:
        thread.join(60)
        assert not thread.is_alive()


def test_in_a_pause_nothing_is_asked_or_done_and_no_time_is_counted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    with playing(create_run(folder)) as codes:
        wait_until(lambda: count(folder, "ask") > 2)
        request(folder, 0, "pause")
        wait_until(lambda: count(folder, "invocation") == 2)
        time.sleep(4 * ANSWER_SECONDS)  # until the current calls are answered
        before = count(folder, ("ask", "act", "outcome"))
        time.sleep(4 * ANSWER_SECONDS)
        assert count(folder, ("ask", "act", "outcome")) == before
        request(folder, 1, "go on")
    assert codes == [errors.OK]
    with closing(Run.open(folder)) as run:
        spent = spent_so_far(run.store.events(), load_pricing(None))
        invocations = list(run.store.events(kind="invocation"))
    assert count(folder, "outcome") == 12
    paused = invocations[2].at - invocations[1].at
    assert paused > 8 * ANSWER_SECONDS
    assert spent.seconds == pytest.approx(invocations[-1].at - invocations[0].at - paused, abs=0.3)
    printed = re.search(r"([\d.]+) s in this invocation", capfd.readouterr().out)
    assert printed
    assert float(printed[1]) == pytest.approx(spent.seconds, abs=0.3)


@pytest.mark.deep
@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_in_a_pause_no_request_and_no_retry_reaches_a_model_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: Executor, busy: bool
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    folder = tmp_path / "run"
    with serving(served_answer, pause=0.01) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with playing(create_run(folder, model="openai:served"), jobs=3, executor=executor) as codes:
            wait_until(lambda: len(server.requests) > 4, 60)
            if busy:
                server.troubles += [Refusal(429, headers={"Retry-After": "1"})] * 6
                wait_until(lambda: len(server.troubles) < 4)
            request(folder, 0, "pause")
            wait_until(lambda: count(folder, "invocation") == 2)
            time.sleep(0.7)  # until the current calls are answered
            before = len(server.requests)
            time.sleep(2.5)
            assert len(server.requests) == before
            request(folder, 1, "go on")
            wait_until(lambda: len(server.requests) > before)
    assert codes == [errors.OK]
    assert count(folder, "outcome") == 12


@pytest.mark.parametrize("executor", ["threads", PROCESSES])
def test_a_stopped_run_can_be_resumed(tmp_path: Path, capfd: pytest.CaptureFixture[str], executor: Executor) -> None:
    folder = tmp_path / "run"
    with playing(create_run(folder), executor=executor) as codes:
        wait_until(lambda: count(folder, "outcome") > 0)
        request(folder, 0, "stop")
    assert codes == [errors.INTERRUPTED]
    assert f"{STOPPED_BY_WATCH} Resume with: planbook run --resume {folder}" in capfd.readouterr().out
    assert 0 < count(folder, "outcome") < 12
    with playing(Run.open(folder, to_play=True), executor=executor) as codes:
        pass
    assert codes == [errors.OK], "requests to an earlier invocation are not obeyed"
    assert count(folder, "outcome") == 12


@pytest.mark.deep
def test_a_request_is_named_although_workers_obeyed_it_first(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "POLL_SECONDS", 60)  # in this process only
    folder = tmp_path / "run"
    with playing(create_run(folder), executor="processes") as codes:
        wait_until(lambda: count(folder, "outcome") > 0)
        request(folder, 0, "stop")
    assert codes == [errors.INTERRUPTED]
    assert STOPPED_BY_WATCH in capfd.readouterr().out


@pytest.mark.parametrize("without", [(), pytest.param(("online",), marks=pytest.mark.deep)])
def test_a_building_run_can_be_stopped(tmp_path: Path, without: tuple[str, ...]) -> None:
    folder = tmp_path / "run"
    learning = LearningSettings(solved_after=100, procedures=False)
    with playing(create_run(folder, learning, without), jobs=1) as codes:
        wait_until(lambda: count(folder, "learned") > 1, 60)
        request(folder, 0, "stop")
    assert codes == [errors.INTERRUPTED]
    assert count(folder, "learned") < 13


def test_asking_whether_a_folder_is_claimed_does_not_claim_it(tmp_path: Path) -> None:
    assert not is_claimed(tmp_path)
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            is_claimed(tmp_path)

    watcher = threading.Thread(target=look)
    watcher.start()
    with closing(create_run(tmp_path / "run")):
        assert is_claimed(tmp_path / "run")
        with pytest.raises(BadRun, match="in use by another process"):
            claim_folder(tmp_path / "run")
    assert not is_claimed(tmp_path / "run")
    over.set()
    watcher.join()


def test_a_joined_process_reports_that_the_process_that_began_the_run_has_ended(tmp_path: Path) -> None:
    with closing(create_run(tmp_path / "run")) as run:
        report = work(create_job(run, Execution(), 1), lambda: count(run.folder, "ask") < 3)
    assert isinstance(report.error, BadRun)
    assert f"ended before the run was finished; resume it with: planbook run --resume {tmp_path / 'run'}" in str(
        report.error
    )


def test_a_stop_ends_a_pause_and_is_final() -> None:
    switches = Switches()
    switches.guard()
    switches.pause()
    assert switches.paused
    switches.stop()
    switches.unpause()
    assert switches.stopped
    assert not switches.paused
    with pytest.raises(EpisodeStopped):
        switches.guard()
