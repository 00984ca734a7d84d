"""``--env mcp:COMMAND``, ``mcp:URL`` or ``mcp:FILE.json``: the tools of MCP servers as actions.

By default, a server that is started with a command is restarted for each task, so nothing is left of the last task.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from contextvars import ContextVar
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, Field, JsonValue

from planbook.envs.errors import EnvironmentBroken, UnknownEnvironment, closing_if_broken
from planbook.envs.requirements import missing_extra, package_version, texts_digest
from planbook.envs.tools import schemas
from planbook.envs.tools.environment import END_HINT, RESERVED, Effect, Tool, ToolEnvironment, ToolFailed, ToolOptions
from planbook.envs.tools.mcp_client import TIMEOUT, McpConnection, McpServer, read_servers, result_text
from planbook.envs.tools.schemas import Schema
from planbook.envs.types import Task

try:
    from attrs import evolve
    from jsonschema import exceptions, validators
    from mcp import types
    from referencing import Registry
    from referencing.exceptions import Unresolvable
except ImportError as error:
    raise missing_extra("mcp", "--env mcp:") from error

LOG = logging.getLogger(__name__)


class McpOptions(ToolOptions):
    """Options of MCP servers."""

    timeout: float = Field(default=TIMEOUT, gt=0, le=3600, description="Seconds that a server may take for a call.")
    restart: bool = Field(default=True, description="Restart the servers, or reconnect to them, for each task.")


UNCHECKED = frozenset({"pattern", "patternProperties", "uniqueItems", "unevaluatedItems", "unevaluatedProperties"})
"""Keywords that are left to the server, since a plan could pass values that take us minutes or years to check: regular
expressions may take exponential time, and jsonschema compares all items or properties with each other.
"""
UNCERTAIN = frozenset({"not", "oneOf", "if", "contains", "disallow"})
"""Keywords that may seem violated only because an unchecked keyword inside them counts as satisfied."""
MAX_STEPS = 10_000
"""Maximum number of keywords to apply to one value. The server checks the rest."""
_COUNTS: ContextVar[Counter[str]] = ContextVar("counts")
"""The numbers of steps and of unchecked keywords in the current check."""


class _TooManySteps(Exception):
    pass


class ServerTool(NamedTuple):
    """A tool of a server, with its schemas."""

    server: str
    name: str
    input: Schema
    output: Schema | None

    def check(self, value: object, *, result: bool = False) -> None:
        """Raise ToolFailed if ``value`` violates the input schema or, if it is a ``result``, the output schema."""
        try:
            fault = find_fault(value, (self.output or {}) if result else self.input)
        except (Unresolvable, RecursionError) as error:
            raise ToolFailed(f"{self.name}: its schema cannot be resolved: {error}") from error
        if fault is not None:
            place = "".join(f"[{part!r}]" for part in fault.absolute_path)
            reason = "its result violates its output schema" if result else "wrong arguments"
            raise ToolFailed(f"{self.name}: {reason}{' at ' + place if place else ''}: {fault.message[:500]}")


def find_fault(value: object, schema: Schema) -> Any:
    """Return the error that best explains why a schema rejects a value, or None if MAX_STEPS steps reveal no error."""
    _COUNTS.set(Counter())
    with suppress(_TooManySteps):
        return exceptions.best_match(_bounded(_validator_class(schema))(schema, registry=Registry()).iter_errors(value))
    return None


def _validator_class(schema: Schema) -> Any:
    return validators.validator_for(schema, default=validators.validator_for({}))


@cache
def _bounded(validator_class: Any) -> Any:
    """Return a validator class that finds at most one error for each keyword, and stops after MAX_STEPS steps."""
    checks = {keyword: _bounded_check(keyword, check) for keyword, check in validator_class.VALIDATORS.items()}
    bounded = validators.extend(validator_class, checks)
    bounded.evolve = evolve  # the original method uses an unbounded class for a subschema with "$schema"
    return bounded


def _bounded_check(keyword: str, check: Any) -> Any:
    def find(validator: Any, expected: Any, value: Any, schema: Schema) -> Sequence[Any]:
        counts = _COUNTS.get()
        counts["steps"] += 1 + (len(expected) // 100 if keyword == "enum" else 0)
        if counts["steps"] > MAX_STEPS:
            raise _TooManySteps
        if keyword in UNCHECKED or (keyword == "additionalProperties" and "patternProperties" in schema):
            counts["unchecked"] += 1
            return ()
        unchecked = counts["unchecked"]
        errors = tuple(islice(check(validator, expected, value, schema) or (), 1))
        return () if keyword in UNCERTAIN and counts["unchecked"] > unchecked else errors

    return find


class McpEnvironment(ToolEnvironment):
    """The tools of MCP servers."""

    Options: ClassVar[type[BaseModel]] = McpOptions
    options: McpOptions
    restore_caveat = (
        "By default, restarts the servers or reconnects to them, and repeats actions. "
        "Effects of actions on other systems remain."
    )
    mcp_servers: ClassVar[Sequence[McpServer]] = ()
    server_tools: ClassVar[Mapping[str, Sequence[types.Tool]]] = {}
    """Maps the name of each server to its tools, including those that plans cannot use."""

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._connections: dict[str, McpConnection] = {}

    def start(self, task: Task) -> str:
        """Connect to the servers, and return "", since the first observation contains nothing but the goal.

        Raises EnvironmentBroken if a server cannot be reached, or if its tools have changed.
        """
        if self.options.restart:
            self.close()
        with closing_if_broken(self.close):
            for server in self.mcp_servers:
                if server.name not in self._connections:
                    self._connections[server.name] = McpConnection(server, self.options.timeout)
                self._check_tools_unchanged(server.name)
        return ""

    def close(self) -> None:
        """Disconnect from the servers."""
        for connection in self._connections.values():
            connection.close()
        self._connections = {}

    def call(self, tool: Tool, arguments: dict[str, Any]) -> JsonValue:
        """Check the arguments, call the tool, and return its result: JSON if it is structured, otherwise text."""
        source: ServerTool = tool.source
        source.check(arguments)
        connection = self._connections[source.server]
        if connection.changed:
            self._check_tools_unchanged(source.server)
        try:
            return _call_server(connection, source, arguments)
        except ToolFailed:
            self._check_tools_unchanged(source.server)
            raise

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """Return the digests of the task file and of each server's tools."""
        tools = {f"the tools of {name}": _digest(tools) for name, tools in cls.server_tools.items()}
        return {**super().checksums(tasks, options), **tools}

    def versions(self) -> Mapping[str, str]:
        """Return the version of the MCP SDK, and the digest of each server's tools."""
        digests = {f"tools of {name}": _digest(tools) for name, tools in self.server_tools.items()}
        return {"mcp": package_version("mcp"), **digests}

    def _check_tools_unchanged(self, name: str) -> None:
        """Raise EnvironmentBroken if a server's tools have changed since the environment was loaded."""
        try:
            tools = self._connections[name].tools()
        except ToolFailed as error:
            raise EnvironmentBroken(str(error)) from error
        if _digest(tools) == _digest(self.server_tools[name]):
            return
        old, new = ({tool.name for tool in listed} for listed in (self.server_tools[name], tools))
        differences = {"gone": old - new, "new": new - old}
        parts = [f"{change} {', '.join(sorted(names))}" for change, names in differences.items() if names]
        raise EnvironmentBroken(f"the MCP server {name} has changed its tools: {'; '.join(parts) or 'new schemas'}")


def _call_server(connection: McpConnection, tool: ServerTool, arguments: dict[str, Any]) -> JsonValue:
    """Return the result of a call, without secrets. Raises ToolFailed if the call fails or the result is invalid."""
    result = connection.call(tool.name, arguments)
    if result.is_error:
        raise ToolFailed(connection.without_secrets(result_text(result, tool.name)) or f"{tool.name} failed")
    value: JsonValue = connection.without_secrets(result.structured_content)
    tool.check(value, result=True)
    if value is None:
        return str(connection.without_secrets(result_text(result, tool.name)))
    return value["result"] if isinstance(value, dict) and is_wrapped(tool.output) else value


def environment(target: str) -> type[ToolEnvironment]:
    """Return the environment class for the servers that ``mcp:TARGET`` names.

    This connects to each server to list its tools. Raises UnknownEnvironment if a server cannot be reached.
    """
    mcp_servers = read_servers(target)
    tools: list[Tool] = []
    server_tools: dict[str, list[types.Tool]] = {}
    for server in mcp_servers:
        try:
            with closing(McpConnection(server, TIMEOUT)) as connection:
                server_tools[server.name] = connection.tools()
        except (EnvironmentBroken, ToolFailed) as error:
            raise UnknownEnvironment(str(error)) from error
        prefix = f"{schemas.python_name(server.name, RESERVED)}." if mcp_servers[1:] else ""
        tools += tools_of(server.name, server_tools[server.name], [tool.name for tool in tools], prefix)
    title = schemas.python_name(Path(target).stem if mcp_servers[1:] else mcp_servers[0].name).lower()
    about = f"The tools of {' and '.join(server.name for server in mcp_servers)}.\n\n{END_HINT}"
    members = {"mcp_servers": mcp_servers, "server_tools": server_tools}
    return McpEnvironment.with_tools(f"mcp_{title}", about, tools, **members)


def tools_of(server: str, tools: Iterable[types.Tool], used_names: Sequence[str], prefix: str) -> Iterator[Tool]:
    """Yield the tools of a server. Their names start with ``prefix`` and are not in ``used_names``.

    A tool whose name is a Python identifier keeps it, if possible. A tool with an invalid schema is left out with a
    warning.
    """
    tools = list(tools)
    names, own_names = [*used_names, *(() if prefix else RESERVED)], {tool.name for tool in tools}
    for tool in tools:
        other_names = own_names - {tool.name}
        used = [*(used_name.removeprefix(prefix) for used_name in names), *other_names]
        name = prefix + schemas.python_name(tool.name, used)
        names.append(name)
        try:
            yield tool_of(server, name, tool)
        except UnknownEnvironment as error:
            LOG.warning("%s; plans cannot use this tool", error)


def tool_of(server: str, name: str, tool: types.Tool) -> Tool:
    """Return one tool of a server. Raises UnknownEnvironment if one of its schemas is invalid."""
    output, returns_note = tool.output_schema, ""
    try:
        for schema in (tool.input_schema, output or {}):
            _validator_class(schema).check_schema(schema)
        merged = schemas.with_merged_properties(tool.input_schema, tool.input_schema)
        arguments = schemas.arguments_of_schema(merged, lambda schema, value: _allows(schema, value, merged))
        if output and not is_wrapped(output):
            returns_note = f"Returns {schemas.describe_schema(output, output)}"
        result = _return_annotation(output)
    except (exceptions.SchemaError, RecursionError, TypeError, AttributeError) as error:  # a $ref may point anywhere
        fault = f"a schema of {tool.name} is not a valid JSON Schema: {getattr(error, 'message', error)}"
        raise UnknownEnvironment(f"the MCP server {server}: {fault}") from error
    name_note = "" if name.rpartition(".")[2] == schemas.python_name(tool.name) else f"The server calls it {tool.name}."
    doc = schemas.tool_doc(tool.description or "", arguments, returns_note, name_note).strip()
    source = ServerTool(server, tool.name, tool.input_schema, output)
    return Tool(name, arguments, result, doc, source, _effect(tool.annotations))


def _allows(schema: Any, value: object, root: Schema) -> bool:
    inner = {**schema, "$defs": root.get("$defs", {}), "definitions": root.get("definitions", {})}
    try:
        return find_fault(value, inner) is None
    except (Unresolvable, RecursionError):
        return False


def is_wrapped(output: Schema | None) -> bool:
    """Return whether an output schema describes an object whose only property is ``result``.

    Servers that use the SDK wrap any result that is not an object in an object of this form.
    """
    return (
        output is not None and list(schemas.properties(output)) == ["result"] and output.get("required") == ["result"]
    )


def _return_annotation(output: Schema | None) -> Any:
    if output is None:
        return str
    return schemas.annotation_of(schemas.properties(output)["result"] if is_wrapped(output) else output, output)


def _effect(hints: types.ToolAnnotations | None) -> Effect:
    if hints is None:
        return ""
    if hints.read_only_hint:
        return "read"
    return "destroy" if hints.destructive_hint is not False else "write"


def _digest(tools: Iterable[types.Tool]) -> str:
    fields = {"name", "description", "input_schema", "output_schema"}
    return texts_digest(sorted(tool.model_dump_json(include=fields) for tool in tools))
