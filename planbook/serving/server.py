"""The MCP server of a plan session, built with the official SDK.

The docstrings of tools and results are descriptions that the client's model reads.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar, Union

from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model

from planbook.envs import Task, missing_extra, python_name
from planbook.planner import Procedure, unmarked
from planbook.rules import Knowledge, tell_manual
from planbook.serving.session import PlanAnswer, PlanFault, PlanSession, SessionFailed

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.resources import TextResource
    from mcp.types import ToolAnnotations
except ImportError as error:
    raise missing_extra("mcp", "planbook mcp") from error

T = TypeVar("T")
MARKDOWN, JSON = "text/markdown", "application/json"
INSTRUCTIONS = (
    "Write Python plans over the methods of `agent`, which the resource planbook://environment lists. `check_plan` "
    "finds faults without running anything; `run_plan` runs a plan. Names and effects last from plan to plan, until "
    "`begin_task` starts over. The result is what a plan prints and the value of its last line. A tool "
    "named after a task type runs verified code for it."
)


class Solvable(NamedTuple):
    """A goal of a procedure's type, and its params."""

    goal: str
    params: Mapping[str, JsonValue]


@dataclass(frozen=True)
class PlanTools:
    """The tools that every client gets. All use the session in one thread, to which its environment belongs."""

    session: PlanSession
    thread: ThreadPoolExecutor

    async def check_plan(self, code: str) -> list[PlanFault]:
        """Return every fault of a plan, with lines and hints, without running it."""
        return await self._within(partial(self.session.check, code))

    async def run_plan(self, code: str) -> PlanAnswer:
        """Run a plan: Python over the methods of `agent`. Later plans can use what it defines."""
        return await self._within(partial(self.session.run, code))

    async def begin_task(self, task: str = "") -> str:
        """Begin a task of planbook://tasks anew, by default the first; return its goal and the first observation.

        Names that earlier plans defined are forgotten.
        """
        return await self._within(partial(self.session.begin, task))

    def procedure_tool(
        self, procedure: Procedure, known: Knowledge, tasks: Sequence[Solvable]
    ) -> Callable[..., object]:
        """Return the tool that runs a procedure. Its params have the types of the tasks' params."""
        params_model: Any = params_like([task.params for task in tasks])

        async def run(params: params_model | None = None, task: str = "") -> PlanAnswer:
            values = params.model_dump(by_alias=True, exclude_unset=True) if params else {}
            return await self._within(partial(self.session.run_procedure, procedure, values, task, known))

        return run

    async def _within(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self.thread, partial(_printing_to_stderr, work))
        except SessionFailed as failed:
            raise ToolError(str(failed)) from failed


def serve(make: Callable[[], PlanSession], description: str, tasks: Sequence[Task], known: Sequence[Knowledge]) -> None:
    """Serve a session until the client closes the connection."""
    with ThreadPoolExecutor(1) as thread:
        session = thread.submit(_printing_to_stderr, make).result()
        server = build_server(PlanTools(session, thread), tasks, known)
        for resource in resources(description, tasks, known):
            server.add_resource(resource)
        try:
            asyncio.run(server.run_stdio_async())
        finally:
            thread.submit(_printing_to_stderr, session.close).result()


def _printing_to_stderr(work: Callable[[], T]) -> T:
    """Call a function with its prints redirected to standard error, since the protocol uses standard output."""
    with redirect_stdout(sys.stderr):
        return work()


def build_server(tools: PlanTools, tasks: Sequence[Task], known: Sequence[Knowledge]) -> MCPServer:
    """Return the server, with a tool for each verified procedure."""
    server = MCPServer("planbook", instructions=INSTRUCTIONS, log_level="WARNING")
    server.add_tool(tools.check_plan, annotations=ToolAnnotations(read_only_hint=True))
    server.add_tool(tools.run_plan)
    server.add_tool(tools.begin_task)
    names = ["check_plan", "run_plan", "begin_task"]
    for part, procedure in ((each, procedure) for each in known for procedure in each.procedures.values()):
        names.append(python_name(procedure.type, names))
        solvable = solvable_by(procedure, part, tasks)
        tool = tools.procedure_tool(procedure, part, solvable)
        server.add_tool(tool, name=names[-1], description=_describe(procedure, solvable))
    return server


def solvable_by(procedure: Procedure, known: Knowledge, tasks: Sequence[Task]) -> list[Solvable]:
    """Return the goals and params of tasks of a procedure's type; for a found type, those that it was found from."""
    found = [each for kind in known.found if kind.name == procedure.type for each in kind.examples if each.params]
    same_type = [task for task in tasks if task.type == procedure.type]
    return [Solvable(each.goal, each.params) for each in found or same_type]


def params_like(examples: Sequence[Mapping[str, JsonValue]]) -> type[BaseModel]:
    """Return a model of params like the examples; without examples it accepts any params."""
    if not examples:
        return create_model("Params", __config__=ConfigDict(extra="allow"))
    fields: dict[str, Any] = {}
    for key in dict.fromkeys(key for params in examples for key in params):
        values = [params[key] for params in examples if key in params]
        default = ... if len(values) == len(examples) else None
        fields[python_name(key, fields)] = (_annotation(values), Field(default, alias=key))
    return create_model("Params", __config__=ConfigDict(extra="forbid", strict=True), **fields)


def _annotation(values: Sequence[JsonValue]) -> Any:
    """Return one annotation that allows all values; it does not restrict what JSON objects contain."""
    types: list[Any] = [kind for kind in dict.fromkeys(map(type, values)) if kind is not list]
    if lists := [value for value in values if isinstance(value, list)]:
        types.append(list[_annotation([item for value in lists for item in value])])  # type: ignore[misc]
    return Union[tuple(types)] if types else Any  # noqa: UP007 - built at run time


def _describe(procedure: Procedure, tasks: Sequence[Solvable]) -> str:
    example = f", such as {json.dumps(tasks[0].params)} to {tasks[0].goal!r}" if tasks and tasks[0].params else ""
    return (
        f"{procedure.summary} Verified plan code for tasks of the type {procedure.type}; no model is asked. With "
        f"`task` it begins that task anew; else it continues from the current state, with `params`{example}. "
        "`solved` is the verdict on the task."
    )


def resources(description: str, tasks: Sequence[Task], known: Sequence[Knowledge]) -> Iterator[TextResource]:
    """Yield the resources of the client: the environment, its tasks, and the manual if there is one."""
    rows = [task.model_dump(mode="json", include={"id", "type", "goal", "params"}) for task in tasks]
    manual = "\n\n".join(filter(None, (unmarked(tell_manual(part)) for part in known)))
    yield _text("environment", "What the environment is, and all that plans can call.", description, MARKDOWN)
    yield _text("tasks", "The tasks that can be begun.", json.dumps(rows, ensure_ascii=False), JSON)
    if manual:
        yield _text("manual", "What was learned about the environment, for writing plans.", manual, MARKDOWN)


def _text(name: str, description: str, text: str, mime_type: str) -> TextResource:
    uri = f"planbook://{name}"
    return TextResource(uri=uri, name=name, description=description, text=text, mime_type=mime_type)
