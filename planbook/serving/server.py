"""The MCP server of a plan session, built with the official SDK.

The client's model reads the docstrings of the tools (``PlanTools``) and of their results as descriptions.
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
from planbook.planner import Procedure, without_block_marks
from planbook.rules import Knowledge, render_manual
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


class ExampleGoal(NamedTuple):
    """A goal that a procedure can reach, and the params with which it does."""

    goal: str
    params: Mapping[str, JsonValue]


@dataclass(frozen=True)
class PlanTools:
    """The tools that every client gets. They use the session in ``thread``, to which its environment belongs.

    A plan is checked in another thread once a task has begun, so that the check need not wait for plans that run.
    """

    session: PlanSession
    thread: ThreadPoolExecutor

    async def check_plan(self, code: str) -> list[PlanFault]:
        """Return every fault of a plan, with lines and hints, without running it."""
        frame = self.session.frame
        check = partial(self.session.check, code, frame)
        return await (asyncio.to_thread(check) if frame else self._run_in_thread(check))

    async def run_plan(self, code: str) -> PlanAnswer:
        """Run a plan: Python over the methods of `agent`. Later plans can use what it defines."""
        return await self._run_in_thread(partial(self.session.run, code))

    async def begin_task(self, task: str = "") -> str:
        """Begin a task of planbook://tasks anew, by default the first; return its goal and the first observation.

        Names that earlier plans defined are forgotten.
        """
        return await self._run_in_thread(partial(self.session.begin, task))

    def procedure_tool(
        self, procedure: Procedure, knowledge: Knowledge, examples: Sequence[ExampleGoal]
    ) -> Callable[..., object]:
        """Return a tool that runs a procedure. Its schema allows params like those of the examples."""
        params_model: Any = params_like([example.params for example in examples])

        async def run(params: params_model | None = None, task: str = "") -> PlanAnswer:
            values = params.model_dump(by_alias=True, exclude_unset=True) if params else {}
            return await self._run_in_thread(partial(self.session.run_procedure, procedure, values, task, knowledge))

        return run

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        def run() -> T:
            self.session.cancelled.clear()
            return _printing_to_stderr(work)

        future = self.thread.submit(run)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if future.running():
                self.session.cancelled.set()
            raise
        except SessionFailed as failed:
            raise ToolError(str(failed)) from failed


def serve(
    open_session: Callable[[], PlanSession], description: str, tasks: Sequence[Task], knowledge: Sequence[Knowledge]
) -> None:
    """Serve a session until the client closes the connection. ``open_session`` is called in the session's thread."""
    with ThreadPoolExecutor(1) as thread:
        session = thread.submit(_printing_to_stderr, open_session).result()
        server = build_server(PlanTools(session, thread), tasks, knowledge)
        for resource in resources(description, tasks, knowledge):
            server.add_resource(resource)
        try:
            asyncio.run(server.run_stdio_async())
        finally:
            thread.submit(_printing_to_stderr, session.close).result()


def _printing_to_stderr(work: Callable[[], T]) -> T:
    """Call a function with its prints redirected to standard error, since the protocol uses standard output."""
    with redirect_stdout(sys.stderr):
        return work()


def build_server(tools: PlanTools, tasks: Sequence[Task], knowledge: Sequence[Knowledge]) -> MCPServer:
    """Return the server, which has the common tools, and one tool for each verified procedure."""
    server = MCPServer("planbook", instructions=INSTRUCTIONS, log_level="WARNING")
    server.add_tool(tools.check_plan, annotations=ToolAnnotations(read_only_hint=True))
    server.add_tool(tools.run_plan)
    server.add_tool(tools.begin_task)
    names = ["check_plan", "run_plan", "begin_task"]
    for owner, procedure in ((part, procedure) for part in knowledge for procedure in part.procedures.values()):
        names.append(python_name(procedure.type, names))
        examples = example_goals(procedure, owner, tasks)
        tool = tools.procedure_tool(procedure, owner, examples)
        server.add_tool(tool, name=names[-1], description=_describe(procedure, examples))
    return server


def example_goals(procedure: Procedure, knowledge: Knowledge, tasks: Sequence[Task]) -> list[ExampleGoal]:
    """Return examples of what a procedure can do: the goals and params of the tasks of its type.

    If planbook found the type by itself, they are the goals and params from which the type was found.
    """
    found = [goal for kind in knowledge.found if kind.name == procedure.type for goal in kind.examples if goal.params]
    same_type = [task for task in tasks if task.type == procedure.type]
    return [ExampleGoal(source.goal, source.params) for source in found or same_type]


def params_like(examples: Sequence[Mapping[str, JsonValue]]) -> type[BaseModel]:
    """Return a pydantic model that accepts params like the examples, or any params if there are no examples."""
    if not examples:
        return create_model("Params", __config__=ConfigDict(extra="allow"))
    fields: dict[str, Any] = {}
    for key in dict.fromkeys(key for params in examples for key in params):
        values = [params[key] for params in examples if key in params]
        default = ... if len(values) == len(examples) else None
        fields[python_name(key, fields)] = (_annotation(values), Field(default, alias=key))
    return create_model("Params", __config__=ConfigDict(extra="forbid", strict=True), **fields)


def _annotation(values: Sequence[JsonValue]) -> Any:
    """Return an annotation that allows all these values. It does not restrict what JSON objects contain."""
    types: list[Any] = [kind for kind in dict.fromkeys(map(type, values)) if kind is not list]
    if lists := [value for value in values if isinstance(value, list)]:
        types.append(list[_annotation([item for value in lists for item in value])])  # type: ignore[misc]
    return Union[tuple(types)] if types else Any  # noqa: UP007 - built at run time


def _describe(procedure: Procedure, examples: Sequence[ExampleGoal]) -> str:
    first = examples[0] if examples else None
    example = f", such as {json.dumps(first.params)} to {first.goal!r}" if first and first.params else ""
    return (
        f"{procedure.summary} Verified plan code for tasks of the type {procedure.type}; no model is asked. With "
        f"`task` it begins that task anew; else it continues from the current state, with `params`{example}. "
        "`solved` is the verdict on the task."
    )


def resources(description: str, tasks: Sequence[Task], knowledge: Sequence[Knowledge]) -> Iterator[TextResource]:
    """Yield the texts that the client can read: the environment, its tasks, and the manual if there is one."""
    rows = [task.model_dump(mode="json", include={"id", "type", "goal", "params"}) for task in tasks]
    manual = "\n\n".join(filter(None, (without_block_marks(render_manual(part)) for part in knowledge)))
    yield _text_resource("environment", "What the environment is, and all that plans can call.", description, MARKDOWN)
    yield _text_resource("tasks", "The tasks that can be begun.", json.dumps(rows, ensure_ascii=False), JSON)
    if manual:
        yield _text_resource("manual", "What was learned about the environment, for writing plans.", manual, MARKDOWN)


def _text_resource(name: str, description: str, text: str, mime_type: str) -> TextResource:
    uri = f"planbook://{name}"
    return TextResource(uri=uri, name=name, description=description, text=text, mime_type=mime_type)
