"""Runs whose model server is down, busy, silent, or not a model server at all, and interrupted runs."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.command import ROOT
from tests.flows import asks, invoke, refusal, succeed
from tests.openai_server import DelayedAnswer, Refusal, Server, serving
from tests.toy_script import served_answer

SERVED = ("run", "--env", "toy", "--planner", "automanual", "--model", "openai:served", "--task", "fetch/0")


def test_retries_are_shown_as_they_happen(tmp_path: Path, server: Server) -> None:
    server.troubles += [Refusal(503, "out of order"), Refusal(429, headers={"Retry-After": "0.1"})]
    finished = succeed(*SERVED, "--out", tmp_path / "run")
    assert f"openai:served at {server.url}" in finished.printed
    assert "trying again in 0.0 s (try 2 of 7)" in finished.printed
    assert "trying again in 0.1 s (try 2 of 19)" in finished.printed


PAGE = Refusal(200, body="<html>Welcome</html>", headers={"Content-Type": "text/html"})
BUSY = Refusal(429, "slow down")


@pytest.mark.parametrize(
    ("trouble", "requests", "message", "advice"),
    [
        (Refusal(500, "out of order"), 7, "failed after 7 requests: ", "Look at the server's log"),
        (BUSY, 19, "still limits the rate of requests after 19 requests: ", "a smaller --jobs"),
        (PAGE, 1, "does not speak OpenAI's API: it answers with text/html", "usually ends in /v1"),
        (DelayedAnswer(1.5), 2, "sent nothing for too long after 2 requests: ", "--timeout idle=SECONDS"),
        (Refusal(404, "no such model"), 1, "refuses the request: ", "check the model's name"),
    ],
)
def test_each_failure_has_its_own_advice(
    tmp_path: Path, server: Server, trouble: Refusal | DelayedAnswer, requests: int, message: str, advice: str
) -> None:
    server.troubles += [trouble] * 30
    failed = invoke(*SERVED, "--timeout", "idle=0.3", "--out", tmp_path / "run")
    assert failed.returncode == 3
    assert message in failed.printed
    assert advice in failed.printed
    assert len(server.requests) == requests


def test_an_unreachable_server_is_named(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(served_answer) as stopped:
        monkeypatch.setenv("OPENAI_BASE_URL", stopped.url)
    failed = invoke(*SERVED, "--out", tmp_path / "run")
    assert failed.returncode == 3
    assert f"at {stopped.url} cannot be reached after one request: " in failed.printed


def test_a_resumed_run_keeps_its_timeouts_unless_others_are_given(tmp_path: Path, server: Server) -> None:
    folder = tmp_path / "run"
    server.troubles += [DelayedAnswer(1.5)] * 4
    assert invoke(*SERVED, "--timeout", "idle=0.2", "--out", folder).returncode == 3
    assert invoke("run", "--resume", folder).returncode == 3
    assert len(server.requests) == 4
    server.troubles += [DelayedAnswer(0.5)]
    succeed("run", "--resume", folder, "--timeout", "idle=30")


@pytest.mark.parametrize("given", ["idle", "idle=0", "wait=3"])
def test_an_invalid_timeout_is_refused(tmp_path: Path, given: str) -> None:
    assert "--timeout" in refusal(*SERVED, "--timeout", given, "--out", tmp_path / "run")


def test_a_budget_of_seconds_ends_a_call_in_progress(tmp_path: Path, server: Server) -> None:
    """A busy machine may need seconds to begin, so the budget grows until it is enough for a request."""
    server.troubles += [DelayedAnswer(60)]
    for seconds in (1, 4, 16):
        started = time.monotonic()
        stopped = invoke(*SERVED, "--budget", f"seconds={seconds}", "--out", tmp_path / f"run of {seconds}")
        assert stopped.returncode == 4
        assert f"the budget of {seconds} second" in stopped.printed
        suggested = re.search(r"--budget seconds=(\d+)", stopped.printed)
        assert suggested
        assert int(suggested[1]) >= 2 * seconds
        if server.requests:
            break
    assert len(server.requests) == 1
    assert time.monotonic() - started < 50, "the server would have answered after 60 s"


SMALL = ("--tasks-per-type", "2", "--no-procedures")


@pytest.mark.parametrize("kind", ["builder/", pytest.param("automanual/task", marks=pytest.mark.deep)])
def test_a_run_can_be_resumed_after_ctrl_c_during_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def slowly(messages: Any) -> str:
        text = served_answer(messages)
        if marks[kind] in messages[-1]["content"] and len(server.requests) > 3 and not hung:
            hung.append(len(server.requests))
            processes[0].send_signal(signal.SIGINT)
            time.sleep(1.0)
        return text

    marks = {"builder/": "# What to write", "automanual/task": "# The task"}
    hung: list[int] = []
    processes: list[subprocess.Popen[str]] = []
    with serving(slowly) as server:
        for name, value in (("OPENAI_BASE_URL", server.url), ("OPENAI_API_KEY", "the-key"), ("PYTHONPATH", str(ROOT))):
            monkeypatch.setenv(name, value)
        command = [sys.executable, *"-m planbook build --env toy --model openai:served --json".split(), *SMALL]
        with subprocess.Popen(
            [*command, "--out", tmp_path / "run"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            processes.append(process)
            printed, errors = process.communicate(timeout=60)
        assert hung
        assert process.returncode == 130, errors
        summary = json.loads(printed.splitlines()[-1])
        assert summary["tasks"] == 4
        assert summary["failures"]["not_run"] > 0
        assert "Resume with: planbook run --resume" in errors
        succeed("run", "--resume", tmp_path / "run")
        assert len(server.requests) <= len(asks(tmp_path / "run")) + 1
