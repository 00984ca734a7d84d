"""The three stages (build, formulate, test) run in an empty folder, given only the address and the key of a server."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.command import FORK_SERVER, ROOT
from tests.flows import asks, invoke, scripted, without_times
from tests.openai_server import Server, serving
from tests.toy_script import served_answer

SMALL = ("--tasks-per-type", "2", "--no-procedures")


def planbook(folder: Path, server: Server, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run a command in a process with no other environment variables."""
    return FORK_SERVER.run(*arguments, cwd=folder, env={"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "the-key"})


def result(finished: "subprocess.CompletedProcess[str]") -> Any:
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout.splitlines()[-1])


@pytest.mark.deep
def test_build_formulate_and_test_with_a_served_model(tmp_path: Path) -> None:
    with serving(served_answer) as server:
        built = result(
            planbook(tmp_path, server, "build", "--env", "toy", "--model", "openai:served", *SMALL, "--json")
        )
        run = tmp_path / built["run"]
        assert built["run"].startswith("runs/")
        assert built["model_calls"] == len(server.requests) == len(asks(run))
        assert built["money"] is None, "the price of the model is unknown"
        manual = result(planbook(tmp_path, server, "formulate", built["run"], "--json"))
        assert (tmp_path / manual["manuals"][0]).read_text().startswith("# Manual of the toy world")
        command = ("test", "--env", "toy", "--library", built["run"], "--model", "openai:served", "--jobs", 2, "--json")
        tested = result(planbook(tmp_path, server, *command))
        calls = built["model_calls"] + 1 + tested["model_calls"]
        assert len(server.requests) == calls
        assert set(server.keys) == {"the-key"}
        assert {request["model"] for request in server.requests} == {"served"}
        usage = [each["reply"]["usage"] for each in asks(run)]
        assert not any(each["estimated"] for each in usage)
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}
    local = invoke("build", "--env", "toy", "--model", scripted(), *SMALL, "--json", "--out", tmp_path / "local").result
    assert solved(built) == solved(local)


def solved(summary: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in without_times(summary).items()
        if "token" not in name and name not in ("money", "paying")
    }


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
        assert invoke("run", "--resume", tmp_path / "run").returncode == 0
        assert len(server.requests) <= len(asks(tmp_path / "run")) + 1
