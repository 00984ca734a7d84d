"""The process of a run is killed. No event is lost or repeated, and no reply is paid for twice.

It is killed right after a chosen event, in the middle of a call to a model, or at a line of the code that creates the
run, so the moments do not depend on how busy the machine is.
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

from planbook.planner.types import digest
from tests.command import ROOT
from tests.flows import BUILD, asks, command_of, events, files, history, invoke, succeed, without_times
from tests.killing import KILLED, run_until_survived
from tests.openai_server import Completion, Messages, Server, serving

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
