"""Recorded episodes whose sandbox workers or hosts are killed have the same events, and no reply is paid for twice.

The sandbox worker is killed at every call of every plan, at moments that change from call to call. The host is killed a
few times. It never asks again for a reply that is in the journal, and asks again for a reply that was lost with it.

By default the first episode of most recordings is played. With PLANBOOK_KILLED_WORKERS=all every episode of all
recordings is played once for each moment; with PLANBOOK_KILLED_HOSTS=all their hosts are killed at every event, except
in the longest.

Besides, the process of a run is killed right after a chosen event, in the middle of a call to a model, or at a line of
the code that creates the run, so that the moments do not depend on how busy the machine is.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from planbook.planner.types import digest
from planbook.runs import EpisodeEntry
from planbook.sandbox import Sandbox
from tests.command import ROOT
from tests.flows import BUILD, asks, command_of, events, files, history, invoke, succeed, without_times
from tests.killing import KILL_MOMENTS, KILLED, DeadlySandbox, KillMoment, Reaper, run_until_survived
from tests.openai_server import Completion, Messages, Server, serving
from tests.planbook.recorded_episodes import EPISODES
from tests.planbook.replayed_episodes import DEFAULT, LONG, Life, MortalJournal, RecordedEpisodes, load_recording

PLAYS_ALL = {
    "sandbox worker": os.environ.get("PLANBOOK_KILLED_WORKERS") == "all",
    "host": os.environ.get("PLANBOOK_KILLED_HOSTS") == "all",
}
LIVES = 4
"""Approximate number of hosts that play an episode one after the other."""
QUICK = ("adapt-shopping-stepwise", "lats-textcraft", "react-shopping")
"""Recordings of different families that take little time."""
QUICK_HOSTS = (*QUICK, "devils-advocate-alfworld", "deps-tabletop")


def rows() -> Iterator[object]:
    for victim in PLAYS_ALL:
        for name in EPISODES if PLAYS_ALL[victim] else DEFAULT:
            quick = QUICK_HOSTS if victim == "host" else QUICK
            yield pytest.param(victim, name, marks=[pytest.mark.deep] * (name not in quick))


@pytest.fixture(scope="module")
def deadly() -> Iterator[DeadlySandbox]:
    with DeadlySandbox(Reaper()) as opened:
        yield opened


@pytest.mark.parametrize(("victim", "name"), list(rows()))
def test_an_episode_is_the_same_if_its_sandbox_worker_or_host_is_killed(
    deadly: DeadlySandbox, sandbox: Sandbox, victim: str, name: str
) -> None:
    episodes = load_recording(name)
    for entry in episodes.entries[: None if PLAYS_ALL[victim] else 1]:
        if victim == "host":
            check_hosts(episodes, sandbox, entry, every_event=PLAYS_ALL[victim] and name not in LONG)
        else:
            check_sandbox_workers(episodes, deadly, entry)


def check_sandbox_workers(episodes: RecordedEpisodes, deadly: DeadlySandbox, entry: EpisodeEntry) -> None:
    """Kill the sandbox worker at every call."""
    undisturbed = Reaper()
    expected = played(episodes, deadly, entry, undisturbed)
    dead = 0
    for moment in moments():
        reaper = Reaper(moment)
        life = played(episodes, deadly, entry, reaper)
        assert life.events == expected.events
        assert life == expected
        assert reaper.completed_calls == undisturbed.completed_calls
        assert reaper.final_states == undisturbed.final_states
        dead += reaper.kill_count
    assert dead or not undisturbed.completed_calls, "some plans are too short for some moments, but not for all"


def played(episodes: RecordedEpisodes, deadly: DeadlySandbox, entry: EpisodeEntry, reaper: Reaper) -> Life:
    deadly.reaper = reaper
    return episodes.play_episode(deadly, entry, MortalJournal())


def moments() -> list[Callable[[int], KillMoment]]:
    """Return functions that map the number of a call to the moment at which its worker is killed."""
    if PLAYS_ALL["sandbox worker"]:
        return [lambda number, kill_moment=kill_moment: kill_moment for kill_moment in KILL_MOMENTS]  # type: ignore[misc]
    return [lambda number: KILL_MOMENTS[number % len(KILL_MOMENTS)]]


def check_hosts(episodes: RecordedEpisodes, sandbox: Sandbox, entry: EpisodeEntry, *, every_event: bool) -> None:
    """Kill the host at every event, or a few times."""
    undisturbed = episodes.play_episode(sandbox, entry, MortalJournal())
    assert undisturbed.ending is not None
    interval = 1 if every_event else max(len(undisturbed.events) // LIVES, 1)
    paid, lost = Counter[str](), Counter[str]()
    for life, loses_last in lives(episodes, sandbox, entry, interval):
        assert life.events == undisturbed.events[: len(life.events)]
        paid.update(life.paid)
        in_flight = undisturbed.events[len(life.events)][1] == "ask" if loses_last else False
        lost.update(life.paid[-1:] if in_flight else [])
    assert life.ending == undisturbed.ending
    assert len(life.events) == len(undisturbed.events)
    assert paid == Counter(undisturbed.paid) + lost


def lives(
    episodes: RecordedEpisodes, sandbox: Sandbox, entry: EpisodeEntry, interval: int
) -> Iterator[tuple[Life, bool]]:
    """Yield what each host did, and whether its last event was lost. A host dies after ``interval`` new events."""
    life, loses_last = Life([], [], None), False
    while life.ending is None:
        journal = MortalJournal(life.events, event_limit=interval + loses_last, loses_last=loses_last)
        life = episodes.play_episode(sandbox, entry, journal)
        yield life, loses_last and life.ending is None
        loses_last = not loses_last


RUNS = {
    "play": ("run", "--env", "toy", "--planner", "procedures", "--split", "all:4", "--jobs", "2"),
    "build": (*BUILD, "--types", "fetch", "--tasks-per-type", "3"),
}
RECORDINGS = (
    "adapt-alfworld-stepwise",
    "adapt-shopping-stepwise",
    "agentkit-shopping",
    "devils-advocate-minecraft-chances",
    "reflexion-textcraft",
)
"""Recordings of several methods."""
BEGIN = """
import os, signal, sys
from pathlib import Path
from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.config import Config
from planbook.runs import Run

CONFIG = Config(planner="procedures", env="toy", actions=30, selection=Selection(limit=2))
TASKS = Toy.tasks(CONFIG.selection)
STORE = (f"planbook.store.{name}" for name in ("store", "tables"))
MODULES = ("planbook.runs.run", "planbook.runs.folder", "planbook.atomic_files", *STORE)
FILES = tuple(str(Path(sys.modules[name].__file__)) for name in MODULES)
base = Path(sys.argv[1])


def begin(folder, on_line):
    def trace(frame, event, argument):
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            on_line((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        return Run.create(folder, CONFIG, TASKS)
    finally:
        sys.settrace(None)


def kill_at(number):
    left = number

    def on_line(line):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return on_line


lines = []
begin(base / "rehearsal", lines.append).close()
numbered = [(line, number) for number, line in enumerate(lines, 1)]
moments = sorted({*dict(numbered).values(), *dict(reversed(numbered)).values()})  # the first and last time of each line
for number in moments:
    folder = base / str(number)
    child = os.fork()
    if child == 0:
        begin(folder, kill_at(number))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, number
    left = sorted(path.name for path in folder.iterdir()) if folder.exists() else None
    run = Run.create(folder, CONFIG, TASKS)
    listed = [(entry.index, entry.task.id) for entry in run.entries()]
    assert listed == list(enumerate(task.id for task in TASKS)), (number, left, listed)
    assert len(list(run.store.events())) == len(TASKS), (number, left)
    assert not (folder / "run.new").exists(), (number, left)
    run.close()
print(len(moments))
"""


@pytest.mark.deep
def test_a_run_that_is_killed_at_any_line_of_its_creation_can_be_begun_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN, tmp_path], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 60, "too few moments were tried"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Maps each command to the folder of a run whose process was not killed."""
    folders = {name: tmp_path_factory.mktemp(name) / "run" for name in RUNS}
    for name, folder in folders.items():
        succeed(*RUNS[name], "--out", folder)
    return folders


DEEP = [("play", "", 1), ("play", "", 5), ("build", "", 1), ("build", "", 17), ("build", "learned", 1)]


@pytest.mark.parametrize(
    ("name", "kind", "every"), [("play", "", 13), *(pytest.param(*each, marks=pytest.mark.deep) for each in DEEP)]
)
def test_a_run_that_is_killed_repeatedly_ends_like_an_undisturbed_one(
    tmp_path: Path, undisturbed: dict[str, Path], name: str, kind: str, every: int
) -> None:
    """Each process is killed after ``every`` new events of a kind ("" means any kind) until the run is finished."""
    folder = tmp_path / "run"
    found = [event for event in events(undisturbed[name]) if event.scope != "run" and kind in ("", event.kind)]
    codes = run_until_survived([[kind, every]] * (len(found) + 1), *RUNS[name], "--out", folder)
    assert codes == [KILLED] * (len(found) // every) + [0]
    assert history(folder) == history(undisturbed[name])
    assert files(folder / "learned") == files(undisturbed[name] / "learned")
    tables = [without_times(invoke("run", "--resume", each, "--json").result) for each in (folder, undisturbed[name])]
    assert tables[0] == tables[1]


@pytest.mark.deep
def test_formulate_does_not_ask_again_after_a_kill(tmp_path: Path, undisturbed: dict[str, Path]) -> None:
    folder = tmp_path / "run"
    shutil.copytree(undisturbed["build"], folder)
    assert run_until_survived([["ask", 1], ["", 0]], "formulate", folder) == [KILLED, 0]
    assert len(asks(folder, "formulator")) == 1
    assert (folder / "learned" / "toy" / "manual.md").exists()


def recorded_replies(name: str, folder: Path) -> dict[str, str]:
    """Map each conversation of a recording to its reply."""
    succeed(*command_of(name), "--model", f"recorded:{name}", "--out", folder)
    return {conversation(each["messages"]): each["reply"]["text"] for each in asks(folder)}


def conversation(messages: Messages) -> str:
    return "".join(digest(message["content"]) for message in messages)


@contextmanager
def serving_replies(replies: Mapping[str, str], deadly: int = 0, pid: Path = Path()) -> Iterator[Server]:
    """Serve recorded replies; request number ``deadly`` kills the process whose id is in the file ``pid``."""

    def answer(messages: Messages) -> Completion:
        if len(server.requests) == deadly:
            os.kill(int(pid.read_text()), signal.SIGKILL)
        return Completion(replies[conversation(messages)])

    with serving(answer) as server:
        yield server


def sent_conversations(server: Server) -> Counter[str]:
    """Return how often each conversation was sent."""
    return Counter(conversation(request["messages"]) for request in server.requests)


@pytest.mark.deep
@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_run_that_is_killed_pays_for_no_reply_twice(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed after its second reply, in the middle of its third request, and after an action."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    replies, command = recorded_replies(name, tmp_path / "recorded"), (*command_of(name), "--model", "openai:served")
    with serving_replies(replies) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        succeed(*command, "--out", tmp_path / "undisturbed")
        expected = sent_conversations(server)
    pid = tmp_path / "pid"
    with serving_replies(replies, 3, pid) as server:
        kills: list[list[object]] = [["ask", 2], ["pid", str(pid)], ["act", 1], ["", 0]]
        assert run_until_survived(kills, *command, "--out", tmp_path / "killed", url=server.url) == [KILLED] * 3 + [0]
        assert sent_conversations(server) == expected + Counter([conversation(server.requests[2]["messages"])])
    assert history(tmp_path / "killed") == history(tmp_path / "undisturbed")
