"""kill -9 while a run builds: it ends with the same rules and the same table, and no call is paid for twice."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.command import ROOT
from tests.flows import BUILD, events, files, here, history, table
from tests.openai_server import Messages, Server, serving
from tests.toy_script import said

KILLED = -signal.SIGKILL
SERVED = ("build", "--env", "toy", "--model", "openai:served", "--types", "fetch", "--tasks-per-type", "3")
SMALL = (*BUILD, "--types", "fetch", "--tasks-per-type", "3")


def lives(kills: list[Any], *arguments: object, url: str = "") -> list[int]:
    """The exit codes of one process after the other that runs this command; each is killed as tests/built.py says."""
    env = os.environ | ({"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "key"} if url else {})
    command = [sys.executable, "-m", "tests.built", json.dumps(kills), *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    codes: list[int] = json.loads(done.stdout.splitlines()[-1])
    assert 99 not in codes, done.stderr
    return codes


@contextmanager
def served() -> Iterator[Server]:
    with serving(said) as server:
        yield server


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    assert here(*SMALL, "--out", folder).returncode == 0
    return folder


def assert_same(folder: Path, undisturbed: Path) -> None:
    assert history(folder) == history(undisturbed)
    assert files(folder / "learnt") == files(undisturbed / "learnt")
    tables = [table(here("run", "--resume", each, "--json").result) for each in (folder, undisturbed)]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    ("kind", "every"),
    [("", 17)] + [pytest.param(*each, marks=pytest.mark.deep) for each in (("", 1), ("learnt", 1))],
)
def test_a_building_run_killed_again_and_again_ends_as_an_undisturbed_one(
    tmp_path: Path, undisturbed: Path, kind: str, every: int
) -> None:
    """Each life lasts for so many new events of a kind (any, if none is named), until there are no more."""
    found = [event for event in events(undisturbed) if event.scope != "run" and kind in ("", event.kind)]
    codes = lives([[kind, every]] * (len(found) + 1), *SMALL, "--out", tmp_path / "run")
    assert codes == [KILLED] * (len(found) // every) + [0]
    assert_same(tmp_path / "run", undisturbed)


@pytest.fixture
def asked_for(undisturbed: Path) -> list[str]:
    """The last message of every request that the undisturbed run sends."""
    return [str(event.body["messages"][-1]["content"]) for event in events(undisturbed, "ask")]  # type: ignore[index, call-overload]


@pytest.mark.deep
def test_what_was_answered_before_a_kill_is_not_asked_again(tmp_path: Path, asked_for: list[str]) -> None:
    with served() as server:
        kills = [["ask", 1], ["act", 4], ["learnt", 1], ["cell", 1], ["ask", 3], ["outcome", 1], ["", 0]]
        codes = lives(kills, *SERVED, "--out", tmp_path / "run", url=server.url)
        assert codes == [KILLED] * 6 + [0]
        assert last_messages(server) == asked_for


def test_a_kill_in_the_middle_of_a_call_repeats_that_call_only(
    tmp_path: Path, undisturbed: Path, asked_for: list[str]
) -> None:
    pid, killed_at = tmp_path / "pid", (1, 3, 8, 9, 15)

    def said_and_killed(messages: Messages) -> str:
        if len(server.requests) in killed_at:
            os.kill(int(pid.read_text()), signal.SIGKILL)
        return said(messages)

    with serving(said_and_killed) as server:
        command = (*SERVED, "--out", tmp_path / "run")
        assert lives([["pid", str(pid)]] * 6, *command, url=server.url) == [KILLED] * 5 + [0]
        sent = last_messages(server)
    assert len(sent) == len(asked_for) + len(killed_at)
    for number in reversed(killed_at):
        assert sent[number - 1] == sent[number], "the call under way is made again, and first of all"
        del sent[number]
    assert sent == asked_for
    assert rules(tmp_path / "run") == rules(undisturbed)
    summary = here("run", "--resume", tmp_path / "run", "--json").result
    assert summary["model_calls"] == len(asked_for), "what was never answered does not count"


def last_messages(server: Server) -> list[str]:
    return [request["messages"][-1]["content"] for request in server.requests]


def rules(folder: Path) -> dict[str, str]:
    """What was learnt, but for who is named as its author."""
    return {name: text for name, text in files(folder / "learnt").items() if not name.endswith(".py")}


def test_the_same_command_goes_on_too_and_another_is_refused(tmp_path: Path, undisturbed: Path) -> None:
    command = (*SMALL, "--out", tmp_path / "run")
    assert lives([["ask", 6]], *command) == [KILLED]
    refused = here(*command, "--max-rules", 5)
    assert refused.returncode == 2
    assert "holds another run (other learning.max_rules); name another folder with --out" in refused.told
    assert here(*command).returncode == 0
    assert_same(tmp_path / "run", undisturbed)
    assert here(*command).returncode == 0, "and once more, when all is done"
    assert_same(tmp_path / "run", undisturbed)


def test_formulating_killed_in_between_does_not_ask_again(tmp_path: Path, undisturbed: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(undisturbed, folder)
    assert lives([["ask", 1], ["", 0]], "formulate", folder) == [KILLED, 0]
    assert len([event for event in events(folder, "ask") if event.body["role"] == "formulator"]) == 1
    assert (folder / "learnt" / "toy" / "manual.md").exists()
