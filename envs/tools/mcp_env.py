"""``--env mcp:COMMAND``, ``mcp:URL`` or ``mcp:FILE.json``: the tools of MCP servers as actions.

Servers that are started here are restarted for each task, so that their memory is empty.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, Field, JsonValue

from planbook.envs.errors import EnvironmentBroken, UnknownEnvironment
from planbook.envs.resources import missing_extra, package_version, texts_digest
from planbook.envs.tools import schemas
from planbook.envs.tools.environment import ENDING, RESERVED, Effect, Tool, ToolEnvironment, ToolFailed, ToolOptions
from planbook.envs.tools.mcp_client import WAIT, McpConnection, McpServer, content, servers
from planbook.envs.tools.schemas import Schema
from planbook.envs.types import Task

try:
    from jsonschema import exceptions, validators
    from mcp import types
    from referencing import Registry
    from referencing.exceptions import Unresolvable
except ImportError as error:
    raise missing_extra("mcp", "--env mcp:") from error


class McpOptions(ToolOptions):
    """Options of MCP servers."""

    timeout: float = Field(default=WAIT, gt=0, le=3600, description="Seconds that a server may take for a call.")
    restart: bool = Field(default=True, description="Restart the servers, or reconnect to them, for each task.")


class ServerTool:
    """A tool of a server: its schemas, and the check of its arguments."""

    def __init__(self, server: str, tool: types.Tool) -> None:
        self.server, self.name = server, tool.name
        self.schema: Schema = tool.input_schema
        self.output: Schema | None = tool.output_schema
        self.validator = validator(tool.input_schema)

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Raise ToolFailed unless the input schema allows the arguments."""
        try:
            fault = exceptions.best_match(self.validator.iter_errors(arguments))
        except (Unresolvable, RecursionError) as error:
            raise ToolFailed(f"{self.name}: its input schema cannot be followed: {error}") from error
        if fault is not None:
            place = "".join(f"[{part!r}]" for part in fault.absolute_path)
            raise ToolFailed(f"{self.name}: wrong arguments{' at ' + place if place else ''}: {fault.message[:500]}")


def validator(schema: Schema) -> Any:
    """Return the validator of a schema. External references are never fetched."""
    kind = validators.validator_for(schema, default=validators.validator_for({}))
    return kind(schema, registry=Registry())


class McpEnvironment(ToolEnvironment):
    """The tools of MCP servers."""

    Options: ClassVar[type[BaseModel]] = McpOptions
    options: McpOptions
    restores = "Servers are started anew and the actions repeated; what a server changed elsewhere stays."
    mcp_servers: ClassVar[Sequence[McpServer]] = ()
    tools_digests: ClassVar[Mapping[str, str]] = {}
    """The digest of each server's tools, by the server's name."""

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._connections: dict[str, McpConnection] = {}

    def start(self, task: Task) -> str:
        """Connect to the servers, and return "", since there is no first text. Raises EnvironmentBroken."""
        timeout = self.options.timeout
        try:
            if self.options.restart:
                self.close()
            for server in self.mcp_servers:
                if server.name not in self._connections:
                    self._connections[server.name] = McpConnection(server, timeout, max(timeout, WAIT))
                self._check_tools_unchanged(server.name)
        except EnvironmentBroken:
            self.close()
            raise
        return ""

    def close(self) -> None:
        """Disconnect from the servers."""
        for connection in self._connections.values():
            connection.close()
        self._connections = {}

    def call(self, tool: Tool, arguments: dict[str, Any]) -> JsonValue:
        """Check the arguments, call the tool, and return plain data or text."""
        source: ServerTool = tool.source
        source.check(arguments)
        connection = self._connections[source.server]
        if connection.changed:
            self._check_tools_unchanged(source.server)
        try:
            result = connection.call(source.name, arguments)
        except ToolFailed:
            self._check_tools_unchanged(source.server)
            raise
        if result.is_error:
            self._check_tools_unchanged(source.server)
            raise ToolFailed(connection.without_secrets(content(result, source.name)) or f"{source.name} failed")
        if result.structured_content is None:
            return str(connection.without_secrets(content(result, source.name)))
        value: JsonValue = connection.without_secrets(result.structured_content)
        return value["result"] if isinstance(value, dict) and is_wrapped(source.output) else value

    def versions(self) -> Mapping[str, str]:
        """Return the SDK's version and the digest of each server's tools."""
        digests = {f"tools of {name}": digest for name, digest in self.tools_digests.items()}
        return {"mcp": package_version("mcp"), **digests}

    def _check_tools_unchanged(self, name: str) -> None:
        """Raise EnvironmentBroken if a server's tools have changed since the environment was loaded."""
        try:
            tools = self._connections[name].tools()
        except ToolFailed as error:
            raise EnvironmentBroken(str(error)) from error
        if _digest(tools) == self.tools_digests[name]:
            return
        before = {tool.source.name for tool in self.tools.values() if tool.source.server == name}
        after = {tool.name for tool in tools}
        differences = {"gone": before - after, "new": after - before}
        parts = [f"{change} {', '.join(sorted(names))}" for change, names in differences.items() if names]
        raise EnvironmentBroken(f"the MCP server {name} has changed its tools: {'; '.join(parts) or 'other schemas'}")


def environment(target: str) -> type[ToolEnvironment]:
    """Return the environment class of the servers, after asking each for its tools. Raises UnknownEnvironment."""
    mcp_servers = servers(target)
    tools: list[Tool] = []
    digests: dict[str, str] = {}
    for server in mcp_servers:
        try:
            connection = McpConnection(server, WAIT)
            try:
                server_tools = connection.tools()
            finally:
                connection.close()
        except (EnvironmentBroken, ToolFailed) as error:
            raise UnknownEnvironment(str(error)) from error
        digests[server.name] = _digest(server_tools)
        within = f"{schemas.python_name(server.name, RESERVED)}." if mcp_servers[1:] else ""
        tools += tools_of(server.name, server_tools, [tool.name for tool in tools], within)
    title = schemas.python_name(Path(target).stem if mcp_servers[1:] else mcp_servers[0].name).lower()
    about = f"The tools of {' and '.join(server.name for server in mcp_servers)}.\n\n{ENDING}"
    members = {"mcp_servers": mcp_servers, "tools_digests": digests}
    return McpEnvironment.with_tools(f"mcp_{title}", about, tools, **members)


def tools_of(server: str, tools: Iterable[types.Tool], taken: Sequence[str], within: str) -> Iterator[Tool]:
    """Yield a server's tools, named with the prefix ``within``. Raises UnknownEnvironment for an invalid schema."""
    names = [*taken, *(() if within else RESERVED)]
    for tool in tools:
        name = within + schemas.python_name(tool.name, [name.removeprefix(within) for name in names])
        names.append(name)
        yield tool_of(server, name, tool)


def tool_of(server: str, name: str, tool: types.Tool) -> Tool:
    """Return one tool of a server. Raises UnknownEnvironment for an invalid schema."""
    output, returned = tool.output_schema, ""
    try:
        for schema in (tool.input_schema, output or {}):
            validator(schema).check_schema(schema)
        whole = schemas.merged(tool.input_schema, tool.input_schema)
        arguments = schemas.arguments_of_schema(whole, lambda schema, value: _allows(schema, value, whole))
        if output and not is_wrapped(output):
            returned = f"Returns {schemas.shape(output, output)}"
        docs, result = schemas.parameter_docs(arguments, whole), _returns(output)
    except (exceptions.SchemaError, RecursionError, TypeError, AttributeError) as error:  # a $ref may lead anywhere
        fault = f"a schema of {tool.name} is not a JSON Schema: {getattr(error, 'message', error)}"
        raise UnknownEnvironment(f"the MCP server {server}: {fault}") from error
    doc = "\n".join(filter(None, (tool.description or "", docs, returned)))
    return Tool(name, arguments, result, doc.strip(), ServerTool(server, tool), _effect(tool.annotations))


def _allows(schema: Any, value: object, root: Schema) -> bool:
    inner = {**schema, "$defs": root.get("$defs", {}), "definitions": root.get("definitions", {})}
    try:
        return bool(validator(inner).is_valid(value))
    except (Unresolvable, RecursionError):
        return False


def is_wrapped(output: Schema | None) -> bool:
    """Return whether an output schema only wraps a result that is not an object, as the SDK's servers do."""
    return (
        output is not None and list(schemas.properties(output)) == ["result"] and output.get("required") == ["result"]
    )


def _returns(output: Schema | None) -> Any:
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
