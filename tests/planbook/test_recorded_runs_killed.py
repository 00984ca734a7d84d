"""kill -9 of a run of recorded replies that a server gives: the same events in the end, and each call is made once.

But for the call under way when the process is killed: nobody has its answer, so it is made again.
"""

import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from planbook.config import RECORDINGS
from planbook.planner.models.recording import read
from planbook.planner.rendered import digest
from tests.flows import asks, here, history
from tests.openai_server import Completion, Messages, Server, serving
from tests.planbook.test_build_killed_anywhere import KILLED, lives

SLOW = ("adapt-alfworld-stepwise", "agentkit-shopping", "devils-advocate-minecraft-chances", "reflexion-textcraft")
NAMES = ["adapt-shopping-stepwise", *(pytest.param(name, marks=pytest.mark.deep) for name in SLOW)]


def replies(name: str, folder: Path) -> dict[str, str]:
    """What the recording answers to which conversation, in the words of today."""
    header, _ = read(RECORDINGS / f"{name}.jsonl")
    run = [*header.command.split(), "--model", f"recorded:{name}", "--out", folder]
    assert here(*run).returncode == 0
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
    header, _ = read(RECORDINGS / f"{name}.jsonl")
    return [*header.command.split(), "--model", "openai:served", "--out", str(folder)]


def asked(server: Server) -> Counter[str]:
    """How often each conversation was sent."""
    return Counter(conversation(request["messages"]) for request in server.requests)


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
        kills = [["ask", 2], ["pid", str(pid)], ["act", 1], ["", 0]]
        assert lives(kills, *command(name, tmp_path / "killed"), url=server.url) == [KILLED] * 3 + [0]
        assert asked(server) == once + Counter([conversation(server.requests[2]["messages"])])
    assert history(tmp_path / "killed") == history(tmp_path / "undisturbed")
