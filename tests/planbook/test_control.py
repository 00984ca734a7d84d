"""Runs that are steered from outside while they are played: by events that another connection writes into the store."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from planbook import errors
from planbook.commands.playing import STOPPED_BY_WATCH, play_run
from planbook.config import Config, Executor, Learning
from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.errors import BadRun
from planbook.planner import EpisodeStopped
from planbook.runs import Run, claim_folder, is_claimed
from planbook.spending import prices_from, spent_so_far
from planbook.store import Store
from planbook.workers import Hosting, Steering, arguments
from tests.executing import wait_until
from tests.openai_server import Refusal, serving
from tests.slow_script import TAKES
from tests.toy_script import served_answer
from tests.watched import count

SEEDS = Selection(types=("fetch",), seeds=tuple(range(12)))


SLOW = "scripted:tests/slow_script.py:answer"


def begun(folder: Path, learning: Learning | None = None, without: tuple[str, ...] = (), model: str = SLOW) -> Run:
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


def ask(folder: Path, number: int, do: str) -> None:
    with closing(Store(folder / "run.db")) as store:
        store.put("run", "control", number, {"do": do})


@contextmanager
def playing(run: Run, jobs: int = 2, executor: Executor = "threads") -> Iterator[list[int]]:
    """The run is played meanwhile; the exit code, once it is over."""
    codes: list[int] = []

    def play() -> None:
        with closing(run):
            codes.append(play_run(run, Hosting(jobs=jobs, executor=executor))[0])

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    try:
        yield codes
    finally:
        thread.join(60)
        assert not thread.is_alive()


def test_nothing_is_asked_or_done_in_a_pause_and_its_time_is_not_spent(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with playing(begun(folder)) as codes:
        wait_until(lambda: count(folder, "ask") > 2)
        ask(folder, 0, "pause")
        wait_until(lambda: count(folder, "sitting") == 2)
        time.sleep(2 * TAKES)  # what was under way is answered
        before = count(folder, ("ask", "act", "outcome"))
        time.sleep(4 * TAKES)
        assert count(folder, ("ask", "act", "outcome")) == before
        ask(folder, 1, "go on")
    assert codes == [errors.OK]
    with closing(Run.open(folder)) as run:
        spent = spent_so_far(run.store.events(), prices_from(None))
        events = list(run.store.events(kind=("sitting", "outcome")))
    assert sum(event.kind == "outcome" for event in events) == 12
    sittings = [event for event in events if event.kind == "sitting"]
    paused = sittings[2].at - sittings[1].at
    assert paused > 6 * TAKES
    assert spent.seconds == pytest.approx(sittings[-1].at - sittings[0].at - paused, abs=0.3)


@pytest.mark.deep
@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_nothing_reaches_a_model_server_in_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: Executor, busy: bool
) -> None:
    """Neither a new question nor, of a server that is busy, one that it wanted to be asked again."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    folder = tmp_path / "run"
    with serving(served_answer, pause=0.01) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        with playing(begun(folder, model="openai:served"), jobs=3, executor=executor) as codes:
            wait_until(lambda: len(server.requests) > 4, 60)
            if busy:
                server.troubles += [Refusal(429, headers={"Retry-After": "1"})] * 6
                wait_until(lambda: len(server.troubles) < 4)
            ask(folder, 0, "pause")
            wait_until(lambda: count(folder, "sitting") == 2)
            time.sleep(0.7)  # what was under way is answered
            before = len(server.requests)
            time.sleep(2.5)
            assert len(server.requests) == before
            ask(folder, 1, "go on")
            wait_until(lambda: len(server.requests) > before)
    assert codes == [errors.OK]
    assert count(folder, "outcome") == 12


def test_a_stop_ends_it_like_ctrl_c_and_it_can_be_resumed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    with playing(begun(folder)) as codes:
        wait_until(lambda: count(folder, "outcome") > 0)
        ask(folder, 0, "stop")
    assert codes == [errors.INTERRUPTED]
    assert f"{STOPPED_BY_WATCH} Resume with: planbook run --resume {folder}" in capfd.readouterr().out
    assert 0 < count(folder, "outcome") < 12
    with playing(Run.open(folder, to_play=True)) as codes:
        pass
    assert codes == [errors.OK], "requests of the invocation before are not obeyed"
    assert count(folder, "outcome") == 12


@pytest.mark.deep
def test_episodes_in_other_processes_are_steered_too(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with playing(begun(folder), executor="processes") as codes:
        wait_until(lambda: count(folder, "ask") > 2, 60)
        ask(folder, 0, "pause")
        wait_until(lambda: count(folder, "sitting") == 2)
        time.sleep(1)  # other processes look at the store now and then
        before = count(folder, ("ask", "act", "outcome"))
        time.sleep(4 * TAKES)
        assert count(folder, ("ask", "act", "outcome")) == before
        ask(folder, 1, "stop")
    assert codes == [errors.INTERRUPTED]


@pytest.mark.parametrize("without", [(), pytest.param(("online",), marks=pytest.mark.deep)])
def test_building_is_steered_too(tmp_path: Path, without: tuple[str, ...]) -> None:
    folder = tmp_path / "run"
    learning = Learning(solved_after=100, procedures=False)
    with playing(begun(folder, learning, without), jobs=1) as codes:
        wait_until(lambda: count(folder, "learnt") > 1, 60)
        ask(folder, 0, "stop")
    assert codes == [errors.INTERRUPTED]
    assert count(folder, "learnt") < 13


def test_looking_whether_somebody_plays_does_not_take_the_folder(tmp_path: Path) -> None:
    assert not is_claimed(tmp_path)
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            is_claimed(tmp_path)

    watcher = threading.Thread(target=look)
    watcher.start()
    with closing(begun(tmp_path / "run")):
        assert is_claimed(tmp_path / "run")
        with pytest.raises(BadRun, match="played by another process"):
            claim_folder(tmp_path / "run")
    assert not is_claimed(tmp_path / "run")
    over.set()
    watcher.join()


def test_an_invocation_records_how_to_host_the_next_one_alike(tmp_path: Path) -> None:
    assert arguments(Hosting().recorded()) == ["--jobs", "1"]
    whole = Hosting(jobs=3, unsafe_no_sandbox=True, prices=tmp_path / "prices.json", executor="processes")
    expected = ["--jobs", "3", "--executor", "processes", "--unsafe-no-sandbox", "--prices"]
    assert arguments(whole.recorded()) == [*expected, str(tmp_path / "prices.json")]


def test_a_run_that_nobody_steers_goes_on() -> None:
    steering = Steering()
    steering.guard()
    assert not steering.stopped
    assert not steering.paused


def test_a_pause_holds_back_until_it_is_ended() -> None:
    steering, passed = Steering(), threading.Event()
    steering.pause()

    def pass_by() -> None:
        steering.guard()
        passed.set()

    threading.Thread(target=pass_by, daemon=True).start()
    time.sleep(0.05)
    assert steering.paused
    assert not passed.is_set()
    steering.go_on()
    assert passed.wait(5)


def test_a_stop_ends_a_pause_and_stays() -> None:
    steering = Steering()
    steering.pause()
    steering.stop()
    steering.go_on()
    assert steering.stopped
    assert not steering.paused
    with pytest.raises(EpisodeStopped):
        steering.guard()
