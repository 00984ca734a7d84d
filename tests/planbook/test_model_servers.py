"""Runs whose model server is down, busy, silent, or not a model server at all."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planbook.planner.models import openai_api
from tests.command import ROOT
from tests.flows import asks, events, invoke, scripted
from tests.openai_server import DelayedAnswer, Refusal, Server, serving
from tests.toy_script import served_answer

SERVED = ("run", "--env", "toy", "--planner", "automanual", "--model", "openai:served", "--task", "fetch/0")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving(served_answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "the-key")
        monkeypatch.setattr(openai_api, "MAX_BACK_OFF", 0.01)
        yield server


def test_retries_are_shown_as_they_happen(tmp_path: Path, server: Server) -> None:
    server.troubles += [Refusal(503, "out of order"), Refusal(429, headers={"Retry-After": "0.1"})]
    finished = invoke(*SERVED, "--out", tmp_path / "run")
    assert finished.returncode == 0, finished.printed
    assert f"openai:served at {server.url}" in finished.printed
    assert "out of order" in finished.printed
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
    assert "OPENAI_BASE_URL names its host and port" in failed.printed


def test_a_resumed_run_keeps_its_timeouts_unless_others_are_given(tmp_path: Path, server: Server) -> None:
    folder = tmp_path / "run"
    server.troubles += [DelayedAnswer(1.5)] * 4
    assert invoke(*SERVED, "--timeout", "idle=0.2", "--out", folder).returncode == 3
    assert invoke("run", "--resume", folder).returncode == 3
    assert len(server.requests) == 4
    server.troubles += [DelayedAnswer(0.5)]
    assert invoke("run", "--resume", folder, "--timeout", "idle=30").returncode == 0


@pytest.mark.parametrize("given", ["idle", "idle=0", "wait=3"])
def test_an_invalid_timeout_is_refused(tmp_path: Path, given: str) -> None:
    refused = invoke(*SERVED, "--timeout", given, "--out", tmp_path / "run")
    assert refused.returncode == 2
    assert "--timeout" in refused.printed


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


@pytest.mark.deep
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_one_ctrl_c_stops_a_run_that_waits_for_a_server(tmp_path: Path, server: Server, executor: str) -> None:
    server.troubles += [DelayedAnswer(100)] * 4
    command = [sys.executable, "-m", "planbook", *SERVED, "--executor", executor, "--out", str(tmp_path / "run")]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not server.requests:
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert "Press Ctrl-C again to stop immediately" in errors
    assert "Resume with: planbook run --resume" in output


def test_concurrent_calls_stay_within_the_budget(tmp_path: Path) -> None:
    """A call takes about 6,000 tokens, so four calls at the same time could exceed the rest of the budget."""
    folder, tokens = tmp_path / "run", 30_000
    played = ("run", "--env", "toy", "--planner", "automanual", "--model", scripted(), "--seeds", "0-9")
    stopped = invoke(*played, "--jobs", 4, "--budget", f"tokens={tokens}", "--json", "--out", folder)
    assert stopped.returncode == 4, stopped.printed
    assert "--budget tokens=60000" in stopped.printed
    used = sum(each["reply"]["usage"]["prompt"] + each["reply"]["usage"]["completion"] for each in asks(folder))
    assert tokens - 10_000 < used <= tokens
    assert stopped.result["tokens"] == used
    assert invoke("run", "--resume", folder, "--budget", "tokens=1000000").returncode == 0
    assert len(events(folder, "outcome")) == 20
