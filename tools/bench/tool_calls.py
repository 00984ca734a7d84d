"""The time of calling an MCP tool from a plan, compared with a call by the official SDK's client to the same server."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from planbook.envs import Environment, MissingRequirement, Selection, load_environment
from planbook.planner import Episode, EpisodeSettings, MemoryJournal
from planbook.sandbox import Sandbox
from tools.bench import Row
from tools.bench.timing import interleave

CALLS, REPEATS = 50, 5
SERVER = Path(__file__).with_name("tool_server.py")
TRANSPORTS = ("stdio", "HTTP")
Work = Callable[[], float]
"""Makes some calls, and returns the seconds per call."""


def rows(calls: int = CALLS, repeats: int = REPEATS) -> list[Row]:
    """Return the milliseconds per call over each transport."""
    try:
        with Sandbox() as sandbox:
            return [row for transport in TRANSPORTS for row in _rows(transport, sandbox, calls, repeats)]
    except MissingRequirement as error:
        return [Row(f"tools: not measured: {error}", None, "")]


def _rows(transport: str, sandbox: Sandbox, calls: int, repeats: int) -> list[Row]:
    with open_server(transport) as command, open_client(command, calls) as client, open_task(command) as environment:
        works: list[Work] = [
            client,
            partial(time_actions, environment, calls),
            partial(time_plan, environment, sandbox, calls),
        ]
        milliseconds = [1000 * median(times) for times in interleave(works, repeats)]
    client_time, action_time, plan_time = milliseconds
    against = "the SDK's client alone"
    return [
        Row(f"tools: a call over {transport}, {against}", client_time, "ms"),
        Row(f"tools: a call over {transport}, checked", action_time, "ms", action_time / client_time, against),
        Row(f"tools: a call over {transport}, from a plan", plan_time, "ms", plan_time / client_time, against),
    ]


@contextmanager
def open_server(transport: str) -> Iterator[str]:
    """Yield the command or address of the server, as it follows ``mcp:``. For HTTP, also start the server."""
    if transport == "stdio":
        yield f"{sys.executable} {SERVER}"
        return
    with subprocess.Popen([sys.executable, SERVER, "http"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@contextmanager
def open_client(command: str, calls: int) -> Iterator[Work]:
    """Yield a function that makes the calls with the SDK's client alone."""
    from anyio.from_thread import start_blocking_portal
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    program, *args = command.split()
    stdio = stdio_client(StdioServerParameters(command=program, args=args)) if args else None
    client = Client(stdio or command)

    async def time_calls() -> float:
        start = time.perf_counter()
        for number in range(calls):
            await client.call_tool("add", {"a": number, "b": 1})
        return (time.perf_counter() - start) / calls

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        yield lambda: portal.call(time_calls)


@contextmanager
def open_task(command: str) -> Iterator[Environment]:
    """Yield an environment that has begun a task, and whose actions are the server's tools."""
    server = load_environment(f"mcp:{command}")
    with TemporaryDirectory() as folder:
        tasks = Path(folder) / "tasks.json"
        tasks.write_text(json.dumps({"tasks": [{"id": "add", "goal": "Add."}]}))
        options = server.Options.model_validate({"tasks": str(tasks)})
        with closing(server(options)) as environment:
            environment.reset(server.select(Selection(), options)[0])
            yield environment


def time_actions(environment: Environment, calls: int) -> float:
    """Return the seconds per call as an action, including the check of its arguments and the record in the history."""
    start = time.perf_counter()
    for number in range(calls):
        environment.act(environment.actions["add"].bind(number, 1))
    return (time.perf_counter() - start) / calls


def time_plan(environment: Environment, sandbox: Sandbox, calls: int) -> float:
    """Return the seconds per call from a plan in the sandbox, including the episode's records."""
    assert environment.task is not None
    settings = EpisodeSettings(actions=calls)
    with closing(Episode(environment.task, environment, sandbox, MemoryJournal(), settings=settings)) as episode:
        episode.run("1 + 1")  # starts the session
        start = time.perf_counter()
        feedback = episode.run(f"for number in range({calls}):\n    assert agent.add(number, 1) == number + 1")
        seconds = (time.perf_counter() - start) / calls
    assert not feedback.is_error, feedback.text
    return seconds
