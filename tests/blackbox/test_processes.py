"""The installed command as a process: exit codes, interrupting and resuming, a model server, and an MCP client."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.blackbox.conftest import RunShelf
from tests.blackbox.harness import HERE, SCRIPT, environment, listed_shape, run_installed, shape
from tests.openai_server import serving

PLAN = (HERE / "files" / "plan.py").read_text(encoding="utf-8")
REPLY = f"### Understanding\nLook everywhere.\n### Code\n```python\n{PLAN}```"
ASKING = "run --planner automanual --env toy --task fetch/1"
CODES = {
    "finished": (0, "run --env toy --split all:1 --json"),
    "broken": (1, "run --planner {files}/methods.py:broken --env toy --task fetch/0 --json"),
    "bad input": (2, "run --env toyy --json"),
    "something missing": (3, f"{ASKING} --model openai:any --json"),
    "budget ended": (4, "run --planner automanual --env toy --split all:3 --model {plans} --budget calls=1 --json"),
}


@contextmanager
def start(line: list[str], tmp: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a command, and kill it afterwards if it has not ended."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([SCRIPT, *line], cwd=tmp, env=environment(), **streams)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_file(folder: Path, pattern: str) -> Path:
    """Wait until a file exists, and return its path."""
    for _ in range(600):
        if found := list(folder.glob(pattern)):
            return found[0]
        time.sleep(0.1)
    raise AssertionError(f"there is no {pattern} in {folder}")


@pytest.mark.parametrize("name", CODES)
def test_a_process_ends_with_the_exit_code(name: str, shelf: RunShelf, tmp_path: Path) -> None:
    code, line = CODES[name]
    finished = run_installed(*shelf.words(line, tmp_path), cwd=tmp_path)
    assert finished.code == code, finished.printed
    assert ("error" in finished.result) == (code in (2, 3))
    assert "Traceback" not in finished.printed


def test_the_same_command_continues_an_interrupted_run(tmp_path: Path) -> None:
    """The model is an `exchange` folder, in which the test writes an answer file for each prompt file."""
    line = [*ASKING.split(), "--model", f"exchange:{tmp_path}/asked", "--out", str(tmp_path / "run"), "--json"]
    with start(line, tmp_path) as process:
        prompt = wait_for_file(tmp_path / "asked", "*.prompt.md")
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in printed
    prompt.with_name(prompt.name.replace(".prompt.", ".answer.")).write_text(REPLY, encoding="utf-8")
    again = run_installed(*line, cwd=tmp_path)
    assert (again.code, again.result["solved"], again.result["model_calls"]) == (0, 1, 1), again.printed
    assert len(list((tmp_path / "asked").glob("*.prompt.md"))) == 1


def test_another_process_joins_a_run(tmp_path: Path) -> None:
    asked, run = tmp_path / "asked", str(tmp_path / "run")
    line = [*ASKING.split(), "--task", "fetch/2", "--model", f"exchange:{asked}", "--out", run, "--json"]
    prices = str(HERE / "files" / "prices.json")
    joining = ["join", run, "--jobs", "1", "--prices", prices, "--unsafe-no-sandbox", "--json"]
    with start(line, tmp_path) as first:
        wait_for_file(asked, "0001-*.prompt.md")
        with start(joining, tmp_path) as second:
            wait_for_file(asked, "0002-*.prompt.md")
            for prompt in asked.glob("*.prompt.md"):
                prompt.with_name(prompt.name.replace(".prompt.", ".answer.")).write_text(REPLY, encoding="utf-8")
            (ours, printed), (theirs, _) = first.communicate(timeout=60), second.communicate(timeout=60)
    assert (first.returncode, second.returncode) == (0, 0), printed
    assert json.loads(ours)["solved"] == 2
    assert shape(json.loads(theirs)).items() >= listed_shape("join").items()


def test_a_process_that_joins_a_run_ends_with_its_budget(tmp_path: Path) -> None:
    asked, run = tmp_path / "asked", str(tmp_path / "run")
    budget = ["--budget", "actions=1", "--out", run, "--json"]
    with start([*ASKING.split(), "--task", "fetch/2", "--model", f"exchange:{asked}", *budget], tmp_path) as first:
        prompts = [wait_for_file(asked, "0001-*.prompt.md")]
        with start(["join", run, "--json"], tmp_path) as second:
            prompts.append(wait_for_file(asked, "0002-*.prompt.md"))
            ends = []
            for process, prompt in ((second, prompts[1]), (first, prompts[0])):
                prompt.with_name(prompt.name.replace(".prompt.", ".answer.")).write_text(REPLY, encoding="utf-8")
                ends.append(process.communicate(timeout=60))
    assert (first.returncode, second.returncode) == (4, 4), ends
    (theirs, printed), (ours, _) = ends
    assert "Stopped: the budget of 1 action is used up." in printed
    assert "Traceback" not in printed
    assert (json.loads(theirs)["model_calls"], json.loads(ours)["model_calls"]) == (1, 2)


def test_a_model_server_answers(tmp_path: Path) -> None:
    with serving(lambda messages: REPLY) as server:
        line = [*ASKING.split(), "--model", "openai:served", "--timeout", "idle=60", "--json"]
        done = run_installed(*line, cwd=tmp_path, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="any")
    assert (done.code, done.result["solved"], done.result["model_calls"]) == (0, 1, 1), done.printed
    assert len(server.requests) == 1


def test_an_mcp_client_runs_plans_and_procedures(tmp_path: Path) -> None:
    mcp, stdio = pytest.importorskip("mcp"), pytest.importorskip("mcp.client.stdio")
    chosen = "--split generated:2 --types pick_and_place --paper-actions -o engine=direct --seed 3"
    limited = "--limit wall_seconds=5 --actions 60 --library shipped --unsafe-no-sandbox"
    line = f"mcp --env alfworld {chosen} {limited}".split()

    async def use_client() -> None:
        server = mcp.StdioServerParameters(command=str(SCRIPT), args=line, cwd=tmp_path, env=environment())
        async with mcp.Client(stdio.stdio_client(server, errlog=sys.__stderr__)) as client:
            await client.call_tool("begin_task", {})
            checked = await client.call_tool("check_plan", {"code": "agent.fly()"})
            assert checked.structured_content["result"][0]["type"] == "unknown-action"
            ran = await client.call_tool("run_plan", {"code": "print(task.type)"})
            assert ran.structured_content["printed"] == "pick_and_place\n"
            assert "pick_and_place" in {tool.name for tool in (await client.list_tools()).tools}

    asyncio.run(asyncio.wait_for(use_client(), 100))
    toys = "--env toy --task fetch/1 --json"
    assert run_installed("mcp", *toys.split(), cwd=tmp_path).code == 2, "there is no --json"
    assert run_installed("mcp", *toys.removesuffix("--json").split(), cwd=tmp_path).code == 0
