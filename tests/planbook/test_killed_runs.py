"""kill -9 of the process that begins, plays or builds a run: nothing is lost, nothing comes or is paid for twice.

The process dies right after a chosen event, or in the middle of a call to a model; at a run's beginning, at every line.
So every place is met, whatever the machine's load.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from planbook.planner.rendered import digest
from tests.command import ROOT
from tests.flows import BUILD, asks, command_of, events, files, here, history, table
from tests.killing import KILLED, lives
from tests.openai_server import Completion, Messages, Server, serving
from tests.toy_script import served_answer

SERVED = ("build", "--env", "toy", "--model", "openai:served", "--types", "fetch", "--tasks-per-type", "3")
SMALL = (*BUILD, "--types", "fetch", "--tasks-per-type", "3")
PLAYED = ("run", "--env", "toy", "--planner", "procedures", "--split", "all:4", "--jobs", "2")
RUNS = {"play": PLAYED, "build": SMALL}
NAMES = (
    "adapt-alfworld-stepwise",
    "adapt-shopping-stepwise",
    "agentkit-shopping",
    "devils-advocate-minecraft-chances",
    "reflexion-textcraft",
)


BEGIN = """
import os, signal, sys
from pathlib import Path
from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.errors import BadRun
from planbook.config import Config
from planbook.runs import Run

CONFIG = Config(planner="procedures", env="toy", actions=30, selection=Selection(limit=2))
TASKS = Toy.tasks(CONFIG.selection)
STORE = (f"planbook.store.{name}" for name in ("store", "sqlite", "tables"))
OURS = ("planbook.runs.run", "planbook.runs.folder", "planbook.runs.folder", "planbook.writing", *STORE)
FILES = tuple(str(Path(sys.modules[name].__file__)) for name in OURS)
base = Path(sys.argv[1])


def begin(folder, met):
    def trace(frame, event, argument):
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            met((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        return Run.create(folder, CONFIG, TASKS)
    finally:
        sys.settrace(None)


def kill_at(last):
    left = last

    def met(place):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return met


def moments():
    '''The first and the last time that each line is met: in between it does the same again.'''
    places = []
    begin(base / "rehearsal", places.append).close()
    numbered = [(place, at) for at, place in enumerate(places, 1)]
    return sorted({*dict(numbered).values(), *dict(reversed(numbered)).values()})


tried = moments()
for at in tried:
    folder = base / str(at)
    child = os.fork()
    if child == 0:
        begin(folder, kill_at(at))
        os._exit(0)
    killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    left = sorted(path.name for path in folder.iterdir()) if folder.exists() else None
    assert killed, (at, left)
    try:
        run = Run.create(folder, CONFIG, TASKS)
        listed = [(entry.index, entry.task.id) for entry in run.entries()]
        assert listed == list(enumerate(task.id for task in TASKS)), (at, left, listed)
        events = [(row.scope, row.kind, row.n) for row in run.store.events()]
        assert len(events) == len(TASKS), (at, left, events)
        assert not (folder / "run.new").exists(), (at, left)
        run.close()
    except BadRun as error:
        raise SystemExit(f"killed at line {at}, with {left} left: {error}")
print(len(tried))
"""


@pytest.mark.deep
def test_a_run_killed_at_any_line_of_its_beginning_can_be_begun_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN, tmp_path], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 60, "too few places were tried"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of each run when nobody is killed."""
    folders = {name: tmp_path_factory.mktemp(name) / "run" for name in RUNS}
    for name, folder in folders.items():
        assert here(*RUNS[name], "--out", folder).returncode == 0
    return folders


def assert_same(folder: Path, undisturbed: Path) -> None:
    assert history(folder) == history(undisturbed)
    assert files(folder / "learnt") == files(undisturbed / "learnt")
    tables = [table(here("run", "--resume", each, "--json").result) for each in (folder, undisturbed)]
    assert tables[0] == tables[1]


DEEP = [("play", "", 1), ("play", "", 2), ("play", "", 5), ("build", "", 1), ("build", "", 17), ("build", "learnt", 1)]


@pytest.mark.parametrize(
    ("name", "kind", "every"), [("play", "", 13), *(pytest.param(*each, marks=pytest.mark.deep) for each in DEEP)]
)
def test_a_run_killed_again_and_again_ends_as_an_undisturbed_one(
    tmp_path: Path, undisturbed: dict[str, Path], name: str, kind: str, every: int
) -> None:
    """Each life lasts for so many new events of a kind (any, if none is named), until there are no more."""
    found = [event for event in events(undisturbed[name]) if event.scope != "run" and kind in ("", event.kind)]
    codes = lives([[kind, every]] * (len(found) + 1), *RUNS[name], "--out", tmp_path / "run")
    assert codes == [KILLED] * (len(found) // every) + [0]
    assert_same(tmp_path / "run", undisturbed[name])


@pytest.fixture
def asked_for(undisturbed: dict[str, Path]) -> list[str]:
    """The last message of every request that the undisturbed run sends."""
    return [str(event.body["messages"][-1]["content"]) for event in events(undisturbed["build"], "ask")]  # type: ignore[index, call-overload]


@pytest.mark.deep
def test_a_kill_in_the_middle_of_a_call_repeats_that_call_only(
    tmp_path: Path, undisturbed: dict[str, Path], asked_for: list[str]
) -> None:
    pid, killed_at = tmp_path / "pid", (1, 3, 8, 9, 15)

    def said_and_killed(messages: Messages) -> str:
        if len(server.requests) in killed_at:
            os.kill(int(pid.read_text()), signal.SIGKILL)
        return served_answer(messages)

    with serving(said_and_killed) as server:
        command = (*SERVED, "--out", tmp_path / "run")
        assert lives([["pid", str(pid)]] * 6, *command, url=server.url) == [KILLED] * 5 + [0]
        sent = last_messages(server)
    assert len(sent) == len(asked_for) + len(killed_at)
    for number in reversed(killed_at):
        assert sent[number - 1] == sent[number], "the call under way is made again, and first of all"
        del sent[number]
    assert sent == asked_for
    assert rules(tmp_path / "run") == rules(undisturbed["build"])
    summary = here("run", "--resume", tmp_path / "run", "--json").result
    assert summary["model_calls"] == len(asked_for), "what was never answered does not count"


def last_messages(server: Server) -> list[str]:
    return [request["messages"][-1]["content"] for request in server.requests]


def rules(folder: Path) -> dict[str, str]:
    """What was learnt, but for who is named as its author."""
    return {name: text for name, text in files(folder / "learnt").items() if not name.endswith(".py")}


@pytest.mark.deep
def test_the_same_command_goes_on_too_and_another_is_refused(tmp_path: Path, undisturbed: dict[str, Path]) -> None:
    command = (*SMALL, "--out", tmp_path / "run")
    assert lives([["ask", 6]], *command) == [KILLED]
    refused = here(*command, "--max-rules", 5)
    assert refused.returncode == 2
    assert "holds another run (other learning.max_rules); name another folder with --out" in refused.printed
    assert here(*command).returncode == 0
    assert_same(tmp_path / "run", undisturbed["build"])
    assert here(*command).returncode == 0, "and once more, when all is done"
    assert_same(tmp_path / "run", undisturbed["build"])


@pytest.mark.deep
def test_formulating_killed_in_between_does_not_ask_again(tmp_path: Path, undisturbed: dict[str, Path]) -> None:
    folder = tmp_path / "run"
    shutil.copytree(undisturbed["build"], folder)
    assert lives([["ask", 1], ["", 0]], "formulate", folder) == [KILLED, 0]
    assert len([event for event in events(folder, "ask") if event.body["role"] == "formulator"]) == 1
    assert (folder / "learnt" / "toy" / "manual.md").exists()


def replies(name: str, folder: Path) -> dict[str, str]:
    """What the recording answers to which conversation, in the words of today."""
    assert here(*command_of(name), "--model", f"recorded:{name}", "--out", folder).returncode == 0
    return {conversation(each["messages"]): each["reply"]["text"] for each in asks(folder)}


def conversation(messages: Messages) -> str:
    """What names it in ``replies``."""
    return "".join(digest(message["content"]) for message in messages)


@contextmanager
def speaking(recorded: Mapping[str, str], deadly: int = 0, pid: Path = Path()) -> Iterator[Server]:
    """A server that says what was recorded, and kills who asks the how-manieth time; ``pid`` holds the process."""

    def answer(messages: Messages) -> Completion:
        if len(server.requests) == deadly:
            os.kill(int(pid.read_text()), signal.SIGKILL)
        return Completion(recorded[conversation(messages)])

    with serving(answer) as server:
        yield server


def command(name: str, folder: Path) -> list[str]:
    return [*command_of(name), "--model", "openai:served", "--out", str(folder)]


def asked(server: Server) -> Counter[str]:
    """How often each conversation was sent."""
    return Counter(conversation(request["messages"]) for request in server.requests)


@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_run_that_is_killed_pays_for_no_reply_twice(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after its second reply, in the middle of its third, and after an action."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    recorded = replies(name, tmp_path / "recorded")
    with speaking(recorded) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert here(*command(name, tmp_path / "undisturbed")).returncode == 0
        once = asked(server)
    pid = tmp_path / "pid"
    with speaking(recorded, 3, pid) as server:
        kills: list[list[object]] = [["ask", 2], ["pid", str(pid)], ["act", 1], ["", 0]]
        assert lives(kills, *command(name, tmp_path / "killed"), url=server.url) == [KILLED] * 3 + [0]
        assert asked(server) == once + Counter([conversation(server.requests[2]["messages"])])
    assert history(tmp_path / "killed") == history(tmp_path / "undisturbed")
