"""`planbook mcp`, used through the client of the MCP SDK."""

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import planbook
from tests.command import ROOT

mcp = pytest.importorskip("mcp")
stdio = pytest.importorskip("mcp.client.stdio")
TOY = ("--env", "toy", "--types", "fetch", "--seeds", "0-2")


def serve(*options: str, use: Callable[[Any], Awaitable[None]]) -> None:
    """Start the command, and use a client that is connected to it."""

    async def connected() -> None:
        parameters = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "planbook", "mcp", *options], cwd=ROOT
        )
        # the SDK's default is sys.stderr as it was when the SDK was imported, perhaps while a test captured it
        async with mcp.Client(stdio.stdio_client(parameters, errlog=sys.__stderr__)) as client:
            await use(client)

    asyncio.run(asyncio.wait_for(connected(), 120))


async def call_tool(client: Any, name: str, **arguments: object) -> Any:
    """Call a tool, and return its structured result or the text of its error."""
    result = await client.call_tool(name, arguments)
    if result.is_error:
        return result.content[0].text
    value = result.structured_content
    return value["result"] if set(value) == {"result"} else value


def test_plans_are_checked_and_run_in_one_session() -> None:
    async def use(client: Any) -> None:
        faults = await call_tool(client, "check_plan", code="agent.opne('box_1')\nx = y")
        assert [(fault["line"], fault["type"]) for fault in faults] == [(1, "unknown-action"), (2, "unknown-name")]
        started = await call_tool(client, "begin_task", task="fetch/1")
        assert started.startswith("fetch/1: put the ")
        assert "box_1" in started
        first = await call_tool(client, "run_plan", code="seen = agent.open('box_1')\nprint('opened')\nlen(seen) > 3")
        assert first == {"printed": "opened\n", "value": True, "faults": [], "actions": 1, "ended": "", "solved": None}
        assert (await call_tool(client, "run_plan", code="seen"))["value"].startswith("You open box_1")
        failed = await call_tool(client, "run_plan", code="agent.table()\nseen.nothing()")
        assert (failed["faults"][0]["line"], failed["faults"][0]["type"]) == (2, "AttributeError")
        defining = "def twice(number):\n    return 2 * number"
        assert await call_tool(client, "check_plan", code=defining) == []
        assert (await call_tool(client, "run_plan", code=defining))["faults"] == []
        assert (await call_tool(client, "run_plan", code="twice(4)"))["value"] == 8
        refused = await call_tool(client, "run_plan", code="agent.table()\nimport os")
        assert (refused["actions"], refused["faults"][0]["line"]) == (0, 2)
        await call_tool(client, "begin_task")
        assert (await call_tool(client, "check_plan", code="seen"))[0]["type"] == "unknown-name"
        assert "there is no task fetch/9" in (await call_tool(client, "begin_task", task="fetch/9")).replace("'", "")
        await check_procedures(client)

    serve(*TOY, use=use)


async def check_procedures(client: Any) -> None:
    """Check that the verified procedure of a task type is a tool."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert tools["check_plan"].annotations.read_only_hint
    assert "  " not in tools["begin_task"].description
    assert "Verified plan code for tasks of the type fetch" in tools["fetch"].description
    done = await call_tool(client, "fetch", task="fetch/2")
    assert (done["faults"], done["solved"]) == ([], True)
    assert done["actions"] > 1
    assert done["ended"]
    assert "Begin a task with begin_task" in await call_tool(client, "run_plan", code="1")
    await call_tool(client, "begin_task", task="fetch/1")
    tasks = json.loads((await client.read_resource("planbook://tasks")).contents[0].text)
    params = next(task["params"] for task in tasks if task["id"] == "fetch/1")
    assert (await call_tool(client, "fetch", params={"nothing": 1}))["faults"]
    assert (await call_tool(client, "fetch", params=params))["solved"] is True


def test_a_plan_that_reaches_a_limit_loses_only_its_own_names() -> None:
    async def use(client: Any) -> None:
        await call_tool(client, "run_plan", code="n = 1")
        (fault,) = (await call_tool(client, "run_plan", code="m = 2\nwhile True:\n    pass"))["faults"]
        assert "what it defined is gone, but its actions and the names of earlier plans remain" in fault["message"]
        assert (await call_tool(client, "run_plan", code="n"))["value"] == 1
        assert (await call_tool(client, "check_plan", code="m"))[0]["type"] == "unknown-name"

    serve(*TOY, "--limit", "wall_seconds=2", use=use)


def test_a_cancelled_plan_ends_and_checks_do_not_wait_for_plans() -> None:
    async def use(client: Any) -> None:
        await call_tool(client, "run_plan", code="n = 1")
        endless = "agent.table()\nprint('on')\nwhile True:\n    agent.table()"
        running = asyncio.ensure_future(call_tool(client, "run_plan", code=endless))
        await asyncio.sleep(1)
        assert (await asyncio.wait_for(call_tool(client, "check_plan", code="m"), 10))[0]["type"] == "unknown-name"
        assert not running.done()
        running.cancel()
        again = await asyncio.wait_for(call_tool(client, "run_plan", code="n + 1"), 10)
        assert again["value"] == 2

    serve(*TOY, "--limit", "wall_seconds=60", "--limit", "cpu_seconds=60", "--limit", "host_calls=10000000", use=use)


@pytest.mark.deep
def test_the_manual_is_a_resource() -> None:
    async def use(client: Any) -> None:
        assert all(each.description for each in (await client.list_resources()).resources)
        manual = (await client.read_resource("planbook://manual")).contents[0].text
        shipped = (ROOT / "manuals" / "learned" / "alfworld" / "manual.md").read_text()
        assert manual == shipped.strip()
        assert "agent.take" in (await client.read_resource("planbook://environment")).contents[0].text

    serve("--env", "alfworld", "--split", "generated:1", use=use)


@pytest.mark.deep
def test_tools_without_tasks_can_be_used_without_a_verdict(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(
        'from planbook.envs import query\nprint("on standard output")\n\n\n@query()\ndef add(a: int, b: int) -> int:\n'
        '    """Add."""\n    print("again")\n    return a + b\n'
    )

    async def use(client: Any) -> None:
        assert (await call_tool(client, "run_plan", code="agent.add(1, 2)"))["value"] == 3
        for answer in (5, 6):
            ended = await call_tool(client, "run_plan", code=f"agent.answer(agent.add(1, {answer} - 1))")
            assert (ended["value"], ended["solved"]) == (answer, None)
            assert ended["ended"] == f"The task ended with the answer {answer}."

    serve("--env", f"module:{tmp_path}/sums.py", use=use)


def started(plan: str, *options: str) -> subprocess.Popen[str]:
    """Start the command, and send it a plan over its standard input, which stays open."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "run_plan", "arguments": {"code": plan}}},
    ]
    command, pipe = (sys.executable, "-m", "planbook", "mcp", *options), subprocess.PIPE
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
    assert server.stdin is not None
    server.stdin.writelines(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    server.stdin.flush()
    return server


@pytest.mark.parametrize("plan", ["1", "while True:\n    agent.table()"])
def test_ctrl_c_ends_the_command_though_the_client_is_still_connected(plan: str) -> None:
    with started(plan, *TOY, "--limit", "wall_seconds=60", "--limit", "host_calls=10000000") as server:
        assert server.stdout is not None
        assert json.loads(server.stdout.readline())["id"] == 1
        time.sleep(1)
        server.send_signal(signal.SIGINT)
        try:
            assert server.wait(20) == 130
        finally:
            server.kill()
        assert server.stderr is not None
        assert server.stderr.read().strip() == "Stopped."


def test_a_second_ctrl_c_does_not_wait_for_a_slow_tool(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\n\n\ndef wait(s: int) -> None:\n    print('waits')\n    time.sleep(s)\n"
    )
    with started("agent.wait(100)", "--env", f"module:{tmp_path}/slow.py") as server:
        assert server.stderr is not None
        assert server.stderr.readline() == "waits\n"
        for _ in range(2):
            server.send_signal(signal.SIGINT)
            time.sleep(1)
        try:
            assert server.wait(20) == 130
        finally:
            server.kill()


def test_the_command_ends_if_its_input_can_no_longer_be_read() -> None:
    terminal, stdin = pty.openpty()
    command, pipe = (sys.executable, "-m", "planbook", "mcp", *TOY), subprocess.PIPE
    with subprocess.Popen(command, stdin=stdin, stdout=pipe, cwd=ROOT, start_new_session=True) as server:
        try:
            os.close(stdin)
            os.write(terminal, b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
            assert server.stdout is not None
            assert json.loads(server.stdout.readline())["id"] == 1
            os.close(terminal)  # now reading fails
            assert server.wait(20) == 0
        finally:
            server.kill()


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_standard_input_or_output_the_command_says_so_in_one_line(closed: str) -> None:
    command = ["sh", "-c", f'exec "$0" -m planbook mcp --env toy {closed}', sys.executable]
    ended = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "standard input or output is closed" in ended.stderr


def test_printed_output_of_a_module_does_not_reach_the_protocol(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(
        "print('loaded')\n\n\ndef add(a: int, b: int) -> int:\n    print('called')\n    return a + b\n"
    )
    with started("agent.add(1, 2)", "--env", f"module:{tmp_path}/sums.py") as server:
        assert server.stdout is not None
        replies = [server.stdout.readline(), server.stdout.readline()]
        rest, printed = server.communicate()
    assert [json.loads(reply)["id"] for reply in replies] == [1, 2]
    assert (rest, printed.split()) == ("", ["loaded", "loaded", "called"])


def test_only_the_first_answer_of_a_task_counts(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text("def add(a: int, b: int) -> int:\n    return a + b\n")
    (tmp_path / "tasks.yaml").write_text("tasks: [{id: a, goal: Add 1 and 2., judge: {answer: 3}}]")

    async def use(client: Any) -> None:
        for first, second, solved in ((2, 3, False), (3, 2, True)):
            await call_tool(client, "begin_task")
            answered = await call_tool(client, "run_plan", code=f"agent.answer({first})")
            assert (answered["ended"], answered["solved"]) == (f"The task ended with the answer {first}.", solved)
            for code in (f"agent.answer({second})", "agent.add(1, 1)"):
                later = await call_tool(client, "run_plan", code=code)
                assert f"with the answer {first} before this plan; only that answer was judged" in later["ended"]
                assert (later["value"], later["solved"]) == (2 if "add" in code else second, solved)
            faulty = await call_tool(client, "run_plan", code="unknown")
            assert faulty["faults"][0]["type"] == "unknown-name"
            assert (faulty["ended"], faulty["solved"]) == (later["ended"], solved)

    serve("--env", f"module:{tmp_path}/sums.py", "-o", f"tasks={tmp_path}/tasks.yaml", use=use)


PROCEDURE = '''"""Add two numbers.

world: module_sums
type: {type}
source: learnt from a
"""


def solve(agent, task):
    agent.answer(agent.add(task.params["value"], 1))
'''
FOUND = """[{"name": "add_one", "shape": "s", "code": "agent.answer(agent.add(2, 1))",
  "parameters": [{"name": "value", "form": "integer"}],
  "examples": [{"task_id": "a", "goal": "Add one to 2.", "params": {"value": 2}}],
  "wordings": [{"pattern": "add one to {value}", "goals": ["Add one to 2."]}]}]"""


def test_a_procedure_solves_tasks_of_its_type_with_params_from_the_goal(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text("def add(a: int, b: int) -> int:\n    return a + b\n")
    (tmp_path / "tasks.yaml").write_text(
        "tasks:\n- {id: b, goal: Add one to 6., judge: {answer: 7}}\n"
        "- {id: c, type: given, goal: Add., params: {value: 4}, judge: {answer: 5}}\n"
        + "".join(f"- {{id: d{number}, type: other, goal: Say nothing.}}\n" for number in range(10))
    )
    learned = tmp_path / "learned" / "module_sums"
    (learned / "procedures").mkdir(parents=True)
    (learned / "types.json").write_text(FOUND)
    for name in ("add_one", "given", "plain"):
        (learned / "procedures" / f"{name}.py").write_text(PROCEDURE.format(type=name))

    async def use(client: Any) -> None:
        assert client.server_info.version == planbook.__version__
        tools = {tool.name: tool.description for tool in (await client.list_tools()).tools}
        assert "with `params`, such as {\"value\": 2} for the goal 'Add one to 2.'" in tools["add_one"]
        for type_name, task, answer in (("add_one", "b", 7), ("given", "c", 5)):
            done = await call_tool(client, type_name, task=task)
            assert (done["faults"], done["value"], done["solved"]) == ([], answer, True)
        assert (await call_tool(client, "add_one", params={"value": 1}))["value"] == 2
        for type_name, task in (("given", "b"), ("given", "d1"), ("add_one", "d1"), ("plain", "b")):
            without_task: dict[str, object] = {"params": {}} if type_name == "plain" else {}
            for arguments in ({"task": task}, {}, without_task):
                refused = await call_tool(client, type_name, **arguments)
                assert f"{task} has begun, but its goal " in refused
                assert f" is not a goal for {type_name}. Give params" in refused
        unknown = await call_tool(client, "begin_task", task="x")
        assert "try one of b, c, d0, d1, d2, d3, d4, d5, d6, d7 and 2 more" in unknown

    source = ("--env", f"module:{tmp_path}/sums.py", "-o", f"tasks={tmp_path}/tasks.yaml")
    serve(*source, "--library", str(tmp_path / "learned"), use=use)


@pytest.mark.deep
def test_a_tool_server_that_dies_is_reported_and_restarted() -> None:
    async def use(client: Any) -> None:
        broken = await call_tool(client, "run_plan", code="print('before')\nagent.die()")
        assert "the MCP server unruly died during a call of die; its error output: out of luck" in broken["ended"]
        assert "Begin a task with begin_task" in broken["ended"]
        assert broken["printed"] == "before\n"
        assert "Begin a task with begin_task" in await call_tool(client, "run_plan", code="agent.fail()")
        assert await call_tool(client, "begin_task")
        failed = await call_tool(client, "run_plan", code="agent.fail()")
        assert failed["faults"][0]["message"] == "ok"

    serve("--env", f"mcp:{sys.executable} {ROOT}/tests/tool_servers/unruly.py", use=use)
