"""Connections to MCP servers with the official SDK. Each connection has its own thread.

A server that was started with a command is killed when planbook ends, even if it is busy with a call.

Secrets come from environment variables: before a server is started, ``$NAME`` in a command, a URL or a server file is
replaced by the value of the variable NAME. These values, and values of ``env`` and ``headers`` that look like secrets,
are removed from everything that the server sends, except from the names of tools. A command or URL that seems to
contain a secret is refused, since commands and URLs are recorded with a run.
"""

import asyncio
import json
import logging
import os
import re
import shlex
import tempfile
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, TimeoutError as FutureTimeout
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar
from uuid import uuid4

from pydantic import BaseModel, Field, ValidationError, model_validator

from planbook.envs.errors import EnvironmentBroken, UnknownEnvironment, validation_faults
from planbook.envs.requirements import missing_extra
from planbook.envs.secrets import SECRET_LENGTH, holds_secret, secrets_in_command
from planbook.envs.tools.environment import MAX_TEXT, ToolFailed, ToolTimeout
from planbook.envs.watchdog import Watchdog

try:
    from mcp import Client, MCPError, StdioServerParameters, types
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client
except ImportError as error:
    raise missing_extra("mcp", "--env mcp:") from error

logging.getLogger("mcp.client").addHandler(logging.NullHandler())  # errors are raised, so they need not be logged
T = TypeVar("T")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
REDACTED = "***"
MAX_STDERR = 500
"""Maximum number of characters that a message quotes from the standard error of a server that died."""
CONNECTION_CLOSED = -32000
REQUEST_TIMEOUT = -32001
"""The SDK's error codes for a closed connection, and for a request that was not answered in time."""
_CLOSED = re.compile(r"Connection closed$|SSE stream ")
"""Matches the SDK's messages about a closed connection. The code alone is not enough, since servers may use it, too."""
MAX_PAGES = 100
"""Maximum number of pages of a server's tool list to read."""
TIMEOUT = 30.0
"""Default time limit, in seconds, for starting a server and for each call."""
MARKER_VARIABLE = "PLANBOOK_MCP_SERVER"
"""The environment variable by which the watchdog finds a server's processes."""
FILE_FORMAT = '{"mcpServers": {NAME: {"command": ..., "args": [...], "env": {...}} or {"url": ..., "headers": {...}}}}'


class McpServer(BaseModel):
    """A server as the user describes it. ``$NAME`` in a string is replaced by the environment variable NAME.

    An entry of a server file has this form. Fields that only other MCP clients use are ignored.
    """

    name: str = ""
    """The name of the server. In a server file, the entry's key is the name, and a field ``name`` is ignored."""
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    disabled: bool = False
    start_timeout: float | None = Field(default=None, gt=0)
    """Time limit for starting the server, in seconds. By default, the time limit of a call, but at least TIMEOUT."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.command and not self.url:
            raise ValueError("it has neither command nor url")
        return self

    def fill_variables(self) -> tuple["McpServer", tuple[str, ...]]:
        """Return a copy of the server with variables replaced by their values, and a tuple of the server's secrets.

        Raises EnvironmentBroken if a variable is not set.
        """
        secrets: set[str] = set()

        def value_of(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name not in os.environ:
                raise EnvironmentBroken(f"MCP server {self.name}: the variable {name} is not set")
            secrets.add(os.environ[name])
            return os.environ[name]

        fill = partial(_VARIABLE.sub, value_of)
        env = {key: fill(value) for key, value in self.env.items()}
        headers = {key: fill(value) for key, value in self.headers.items()}
        texts = {"command": fill(self.command), "url": fill(self.url), "cwd": fill(self.cwd)}
        server = self.model_copy(update={**texts, "args": tuple(map(fill, self.args)), "env": env, "headers": headers})
        for name, value in (*self.env.items(), *self.headers.items()):
            secrets |= {value, value.rpartition(" ")[2]} if holds_secret(name, value) else secrets_in_command([value])
        secrets |= secrets_in_command((self.command, *self.args, self.url))
        long_enough = {secret for secret in secrets if len(secret) >= SECRET_LENGTH}
        in_json = {json.dumps(text, ensure_ascii=escaped)[1:-1] for text in long_enough for escaped in (True, False)}
        return server, tuple(sorted(long_enough | in_json, key=len, reverse=True))


class _ServerFile(BaseModel):
    """A server file, in the format that many MCP clients use."""

    servers: dict[str, McpServer] = Field(alias="mcpServers")


def _refuse_secrets(words: Sequence[str]) -> None:
    """Raise UnknownEnvironment if ``words``, the words of a command or a single URL, seem to contain a secret."""
    if secrets_in_command(words):
        raise UnknownEnvironment(
            "mcp: this seems to contain a secret, which would be recorded with the run. Put it into a variable, "
            "and write '$NAME' in its place; or describe the server in a file: mcp:FILE.json"
        )


def read_servers(target: str) -> list[McpServer]:
    """Return the servers that ``mcp:TARGET`` names. The target is a URL, the path of a server file, or a command.

    Raises UnknownEnvironment if the target names no server, or seems to contain a secret.
    """
    if re.match(r"https?://", target):
        _refuse_secrets([target])
        return [McpServer(name=re.sub(r"^https?://|[:/?].*", "", target) or "server", url=target)]
    if target.endswith(".json") and " " not in target:
        return _servers_from_file(Path(target))
    try:
        words = shlex.split(target)
    except ValueError as error:
        raise UnknownEnvironment(f"mcp: the command cannot be read: {error}; close its quotes") from error
    if not words or not words[0]:
        raise UnknownEnvironment("mcp: no server is named; write mcp:COMMAND, mcp:https://HOST/PATH or mcp:FILE.json")
    _refuse_secrets(words)
    names = [word for word in words if re.fullmatch(r"[\w./@-]*[A-Za-z][\w./@-]*", word) and word[0] != "-"]
    return [McpServer(name=Path((names or ["server"])[-1]).stem, command=words[0], args=tuple(words[1:]))]


def _servers_from_file(path: Path) -> list[McpServer]:
    """Return the enabled servers of a server file. FILE_FORMAT shows the format of the file."""
    try:
        entries = _ServerFile.model_validate_json(path.read_bytes()).servers
    except OSError as error:
        raise UnknownEnvironment(f"{path}: {type(error).__name__}: {error}; write it as {FILE_FORMAT}") from error
    except ValidationError as error:
        faults = "; ".join(validation_faults(error))
        raise UnknownEnvironment(f"{path}: {faults}; write it as {FILE_FORMAT}") from error
    enabled = {name: entry for name, entry in entries.items() if not entry.disabled}
    if not enabled:
        raise UnknownEnvironment(f"{path}: mcpServers: no server is enabled; write it as {FILE_FORMAT}")
    return [entry.model_copy(update={"name": name}) for name, entry in enabled.items()]


class McpConnection:
    """A connection to one server. Only one thread at a time may use the connection."""

    def __init__(self, server: McpServer, timeout: float) -> None:
        self._server, self._secrets = server.fill_variables()
        self._timeout, self._start_timeout = timeout, server.start_timeout or max(TIMEOUT, timeout)
        self.changed = False
        """True if the server has reported a change of its tools since the last call of ``tools``."""
        self._stderr = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed by close()
        self._stderr_start = 0
        """Size of ``_stderr`` in bytes when the last request was answered. Messages quote only later output."""
        self._loop = asyncio.new_event_loop()
        self._done = asyncio.Event()
        self._client: Client | None = None
        self._marker = f"planbook-mcp-{uuid4()}"
        self._watchdog = None if server.url else Watchdog(self._marker)
        connected: Future[None] = Future()
        self._connection_task = self._loop.create_task(self._stay_connected(connected))
        self._thread = threading.Thread(target=self._run, args=(connected,), daemon=True)
        self._thread.start()
        try:
            connected.result(self._start_timeout)
        except Exception as error:
            broken = self._broken(self._connection_fault(error))
            self.close()
            raise broken from error

    def tools(self) -> list[types.Tool]:
        """Return the server's tools. Secrets are removed, but not from the names of tools, which calls need."""
        self.changed = False
        tools = self._wait(self._list_tools(), "a request for its tools")
        cleaned = ({**self.without_secrets(tool.model_dump(by_alias=True)), "name": tool.name} for tool in tools)
        return [types.Tool.model_validate(tool) for tool in cleaned]

    def call(self, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Call a tool and return its result. Raises ToolFailed, or EnvironmentBroken if the connection is lost."""
        return self._wait(self._call_tool(name, arguments), f"a call of {name}")

    def close(self) -> None:
        """Disconnect from the server, and end it if this connection has started it."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._done.set if self._client else self._connection_task.cancel)
        self._thread.join(self._timeout)
        if self._watchdog is not None:
            self._watchdog.end_processes()
        self._stderr.close()

    def without_secrets(self, value: Any) -> Any:
        """Return JSON in which the server's secrets are replaced by REDACTED."""
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, REDACTED)
            return value
        if isinstance(value, Mapping):
            return {self.without_secrets(key): self.without_secrets(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.without_secrets(item) for item in value]
        return value

    # The methods from here to ``_call_tool`` run in the connection's thread.

    def _run(self, connected: "Future[None]") -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._connection_task)
        except BaseException as error:
            if not connected.done():
                connected.set_exception(error)
        finally:
            self._client = None
            self._loop.close()

    async def _stay_connected(self, connected: "Future[None]") -> None:
        async with AsyncExitStack() as stack:
            transport: Any
            if self._server.url:
                http = await stack.enter_async_context(create_mcp_http_client(headers=dict(self._server.headers)))
                transport = streamable_http_client(self._server.url, http_client=http)
            else:
                # The SDK passes only PATH, HOME and similar variables of this process to the server.
                command, args = self._server.command, list(self._server.args)
                env, cwd = {**self._server.env, MARKER_VARIABLE: self._marker}, self._server.cwd or None
                parameters = StdioServerParameters(command=command, args=args, env=env, cwd=cwd)
                transport = stdio_client(parameters, errlog=self._stderr)
            client = await stack.enter_async_context(Client(transport, message_handler=self._on_message))
            capability = client.server_capabilities.tools
            if capability and capability.list_changed:
                with suppress(RuntimeError, MCPError):  # older servers report changes without being asked
                    await stack.enter_async_context(client.listen(tools_list_changed=True))
            client.session.validate_tool_result = _accept  # type: ignore[method-assign]
            self._client = client
            connected.set_result(None)
            await self._done.wait()

    async def _on_message(self, message: object) -> None:
        self.changed = self.changed or type(message).__name__ == "ToolListChangedNotification"

    async def _list_tools(self) -> list[types.Tool]:
        assert self._client is not None
        tools: list[types.Tool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self._client.list_tools(cursor=cursor, cache_mode="bypass")
            tools += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
        return tools

    async def _call_tool(self, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        assert self._client is not None
        return await self._client.call_tool(name, dict(arguments), read_timeout_seconds=self._timeout)

    def _wait(self, request: Coroutine[Any, Any, T], name: str) -> T:
        """Run a request in the connection's thread, and return its result. Error messages call the request ``name``."""
        if not self._thread.is_alive():
            request.close()
            raise self._broken(f"was gone before {name}")
        future = asyncio.run_coroutine_threadsafe(request, self._loop)
        try:
            result = future.result(self._timeout + 1)
        except FutureTimeout as error:
            future.cancel()
            raise self._timeout_error(name) from error
        except MCPError as error:
            if error.code == CONNECTION_CLOSED and _CLOSED.match(error.error.message):  # from the SDK, not the server
                raise self._broken(f"died during {name}") from error
            if error.code == REQUEST_TIMEOUT and "timed out" in str(error):
                raise self._timeout_error(name) from error
            raise self._failure(f"reported an error during {name}: {error}") from error
        except RuntimeError as error:
            raise self._failure(f"gave an unusable result for {name}: {error}") from error
        except Exception as error:
            raise self._broken(f"failed during {name}: {_innermost(error)}") from error
        self._stderr_start = os.fstat(self._stderr.fileno()).st_size
        return result

    def _connection_fault(self, error: Exception) -> str:
        if isinstance(error, FutureTimeout):
            advice = 'if it needs longer, describe it in a file: mcp:FILE.json, with "start_timeout": SECONDS'
            return f"was not ready within {self._start_timeout:g} s; {advice}"
        if not self._server.url:
            return f"cannot be started: {_innermost(error)}"
        advice = "; if it requires a key, put the key into the headers in mcp:FILE.json"
        return f"cannot be reached: {_innermost(error)}{advice if isinstance(error, MCPError) else ''}"

    def _timeout_error(self, request_name: str) -> ToolTimeout:
        server, limit = self._server.name, f"{self._timeout:g} s"
        return ToolTimeout(f"the MCP server {server} did not answer {request_name} within {limit}")

    def _failure(self, event: str) -> ToolFailed:
        return ToolFailed(self.without_secrets(f"the MCP server {self._server.name} {event}")[:MAX_TEXT])

    def _broken(self, event: str) -> EnvironmentBroken:
        stderr = ""
        with suppress(OSError, ValueError):
            self._stderr.seek(self._stderr_start)
            stderr = self.without_secrets(self._stderr.read()).strip()
            stderr = stderr if len(stderr) <= MAX_STDERR else f"...{stderr[-MAX_STDERR:]}"
        message = self.without_secrets(f"the MCP server {self._server.name} {event}")
        return EnvironmentBroken(message + (f"; its error output: {stderr}" if stderr else ""))


async def _accept(name: str, result: types.CallToolResult) -> None:
    """Accept any result. Replaces the SDK's check, which may run forever; ``ServerTool.check`` is used instead."""


def _innermost(error: BaseException) -> str:
    """Return an error as text. If it is a group of errors, return the first error in the group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def result_text(result: types.CallToolResult, name: str) -> str:
    """Return the text in the result of a tool. Raises ToolFailed if the result contains binary data."""
    return "\n".join(_texts(result.content, name))


def _texts(blocks: Sequence[Any], name: str) -> Iterator[str]:
    for block in blocks:
        inner = getattr(block, "resource", block)
        if isinstance(text := getattr(inner, "text", None), str):
            yield text
        elif block.type == "resource_link":
            yield str(block.uri)
        else:
            data = str(getattr(inner, "data", "") or getattr(inner, "blob", ""))
            kind = getattr(inner, "mime_type", None) or block.type
            raise ToolFailed(f"{name}: it returned binary data ({kind}, {len(data) * 3 // 4:,} bytes); plans take text")
