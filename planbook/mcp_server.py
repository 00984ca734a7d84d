"""The server of `planbook mcp`. It offers an environment, its tasks and what was learned to an MCP client over stdio.

The client sends plans, which its own model has written. A session runs them, one after another, in one environment;
planbook itself calls no model. The client's model reads the docstrings of the tools (the public methods of
``PlanTools``) and of the classes that the tools return.
"""

import asyncio
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from planbook import __version__
from planbook.console import relayed_input
from planbook.envs import Environment, EnvsError, Task, ToolEnvironment, missing_extra, python_name
from planbook.planner import (
    Episode,
    EpisodeBroken,
    EpisodeOver,
    EpisodeSettings,
    EpisodeStopped,
    Frame,
    GivenCode,
    MemoryJournal,
    Procedure,
    code_of,
    without_block_marks,
)
from planbook.rules import Knowledge, LearnedMemory, render_manual
from planbook.sandbox import FaultKind, Sandbox, SandboxError
from planbook.wording import listed

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.resources import TextResource
    from mcp.types import ToolAnnotations
except ImportError as error:
    raise missing_extra("mcp", "planbook mcp") from error

T = TypeVar("T")
MARKDOWN, JSON = "text/markdown", "application/json"
MAX_LISTED = 10
"""Maximum number of task ids that an error message lists."""
BEGIN_HINT = "Begin a task with begin_task."
INSTRUCTIONS = (
    "Write Python plans that call methods of `agent`; the resource planbook://environment lists them. `check_plan` "
    "finds faults without running anything; `run_plan` runs a plan. Names and effects last from plan to plan, until "
    "`begin_task` starts over. The result is what a plan prints and the value of its last line. A tool "
    "named after a task type runs verified code for it."
)


class PlanFault(BaseModel):
    """A fault in a plan."""

    model_config = ConfigDict(from_attributes=True)

    line: int | None
    type: str
    message: str
    hint: str = ""


class PlanAnswer(BaseModel):
    """The result of one plan."""

    printed: str = ""
    value: JsonValue = None
    """Value of the last line if it is an expression, or the answer that the plan gave."""
    faults: list[PlanFault] = []
    """Faults for which the plan was refused, or the error that ended it."""
    actions: int = 0
    """Number of actions taken."""
    ended: str = ""
    """Reason why the task is over. After an answer, more plans may run, but only the first answer counts."""
    solved: bool | None = None
    """Verdict, if the task has ended or a procedure ran with the task's own params; None if not judged."""


class SessionFailed(Exception):
    """The session cannot continue; the message says what to do."""


class PlanSession:
    """Runs plans in an environment. Must be used in a single thread, except for the members that allow any thread."""

    def __init__(
        self, environment: Environment, sandbox: Sandbox, tasks: Sequence[Task], settings: EpisodeSettings
    ) -> None:
        self.tasks: Mapping[str, Task] = {task.id: task for task in tasks}
        self._environment, self._sandbox, self._settings = environment, sandbox, settings
        self._episode: Episode | None = None
        self.frame: Frame | None = None
        """The frame (namespace) of the current task. Any thread may read it."""
        self.cancelled = Event()
        """Any thread may set this event to stop the running plan. The plan ends at its next action or wait, where
        EpisodeStopped is raised. The actions that the plan has taken until then are not undone."""
        self._resources = ExitStack()
        self._end_reason = ""
        self._broken = False
        self._first_answer: PlanAnswer | None = None
        """The result of the plan whose answer was judged first. Later answers do not change the verdict."""

    def close(self) -> None:
        """Close the environment."""
        self.end()
        self._environment.close()

    def end(self) -> None:
        """End the current task."""
        self._resources.close()
        self._episode = self.frame = None

    def begin(self, task_id: str = "") -> str:
        """Begin a task, by default the first, and return its id, its goal and the first observation.

        Raises SessionFailed if there is no such task, or if the task cannot begin.
        """
        task = self.tasks.get(task_id or next(iter(self.tasks)))
        if task is None:
            raise SessionFailed(f"there is no task {task_id!r}; try one of {listed(self.tasks, MAX_LISTED)}")
        self.end()
        self._end_reason, self._broken, self._first_answer = "", False, None
        self._episode = Episode(
            task, self._environment, self._sandbox, MemoryJournal(), settings=self._settings, guard=self._guard
        )
        self._resources.callback(self._episode.close)
        try:
            observation = self._episode.begin()
            self.frame = self._resources.enter_context(self._episode.frame("session"))
        except (EnvsError, EpisodeBroken, EpisodeOver, EpisodeStopped) as error:
            self.end()
            raise SessionFailed(f"{task.id} cannot begin: {error}") from error
        goal = self._episode.task.goal
        return "\n".join([f"{task.id}: {goal}", observation.text.removesuffix(f"Your task is to: {goal}")]).strip()

    def check(self, code: str, frame: Frame | None = None) -> list[PlanFault]:
        """Return all faults that can be found without running a plan. Any thread may call this if it passes a frame."""
        frame = frame or self._current_episode_and_frame()[1]
        return list(map(PlanFault.model_validate, frame.faults(code, allow_definitions_only=True)))

    def _guard(self) -> None:
        if self.cancelled.is_set():
            raise EpisodeStopped

    def run(self, code: str) -> PlanAnswer:
        """Run a plan, which sees what earlier plans defined and changed. If ``check`` finds a fault, nothing is run."""
        episode, frame = self._current_episode_and_frame()
        return self._run(episode, frame, GivenCode(code=code))

    def run_procedure(
        self, procedure: Procedure, params: Mapping[str, JsonValue] | None, task_id: str, knowledge: Knowledge
    ) -> PlanAnswer:
        """Run a learned procedure. If ``task_id`` is not empty, begin that task first.

        If ``params`` is empty, the procedure gets the params of the current task. If the procedure's type is a found
        type (one that planbook itself discovered), these params are read from the task's goal. Raises SessionFailed if
        ``params`` is empty, and the procedure does not fit the current task.
        """
        if task_id:
            self.begin(task_id)
        episode, _ = self._current_episode_and_frame()
        code, task_params = code_of(procedure), self._task_params(episode.task, procedure, knowledge)
        if not params and task_params is None:
            goal = f"its goal {episode.task.goal!r} is not a goal for {procedure.type}"
            raise SessionFailed(f"{episode.task.id} has begun, but {goal}. Give params as well, or use run_plan.")
        task: dict[str, JsonValue] = {"type": procedure.type, "params": dict(params or task_params or {})}
        with episode.frame("procedure", helpers=code.helpers, task=task) as frame:
            answer = self._run(episode, frame, code)
        judged = task["params"] == task_params and not self._broken
        return answer.model_copy(update={"solved": self._verdict()}) if judged else answer

    def _task_params(self, task: Task, procedure: Procedure, knowledge: Knowledge) -> Mapping[str, JsonValue] | None:
        """Return a task's params for a procedure, or None if the task has another type or its goal does not match."""
        if any(found_type.name == procedure.type for found_type in knowledge.found):
            memory = LearnedMemory(knowledge, type(self._environment), self._environment.options)
            recall = memory.recall(task.model_copy(update={"type": "", "params": {}}))
            match = recall.match if recall.procedure else None
            return match.params if match and match.type == procedure.type and not match.candidates else None
        if task.type != procedure.type:
            return None
        return self._environment.public_params(task) if procedure.is_learned else task.params

    def _current_episode_and_frame(self) -> tuple[Episode, Frame]:
        """Return the episode and the frame of the current task. If none has begun, begin the first task."""
        if self._episode is None:
            self.begin()
        assert self._episode is not None
        assert self.frame is not None
        return self._episode, self.frame

    def _run(self, episode: Episode, frame: Frame, code: GivenCode) -> PlanAnswer:
        if self._end_reason:
            raise SessionFailed(f"{self._end_reason.rstrip('.')}. {BEGIN_HINT}")
        frame.begin_cell(None, len(episode.steps))
        if refused := self.check(code.code, frame):
            return self._after_first_answer(PlanAnswer(faults=refused))
        actions_before = episode.actions
        try:
            result = frame.session.run(code.code, code.source)
            frame.add_names(code.code, result)
        except EpisodeOver as over:
            return self._final_answer(frame, over, episode.actions - actions_before)
        except (EpisodeBroken, SandboxError) as error:
            self._broken, self._end_reason = True, f"The task was aborted: {error}"
            ended = f"{self._end_reason.rstrip('.')}. {BEGIN_HINT}"
            return PlanAnswer(printed=frame.session.output, actions=episode.actions - actions_before, ended=ended)
        faults = list(map(PlanFault.model_validate, result.faults))
        if result.fault and result.fault.kind is FaultKind.LIMIT:
            faults[0].message += "; what it defined is gone, but its actions and the names of earlier plans remain"
        actions = episode.actions - actions_before
        answer = PlanAnswer(printed=result.output, value=result.value, faults=faults, actions=actions)
        return self._after_first_answer(answer)

    def _final_answer(self, frame: Frame, over: EpisodeOver, actions: int) -> PlanAnswer:
        """Return the result of a plan that gave an answer or ended the task in another way."""
        answered = isinstance(self._environment, ToolEnvironment) and self._environment.withdraw_answer()
        last = self._environment.history[-1] if answered else None
        value, ended = (last[0].args[0], last[1].text) if last else (None, str(over))
        self._end_reason = "" if last else ended
        answer = PlanAnswer(printed=frame.session.output, value=value, actions=actions, ended=ended)
        answer = self._after_first_answer(answer.model_copy(update={"solved": self._verdict()}))
        if last and not self._first_answer and answer.solved is not None:
            self._first_answer = answer
        return answer

    def _after_first_answer(self, answer: PlanAnswer) -> PlanAnswer:
        """Return the result of a plan. If an earlier plan's answer was judged, add a note about it, and its verdict."""
        if self._first_answer is None:
            return answer
        first_end = self._first_answer.ended.removesuffix(".")
        ended = f"{first_end} before this plan; only that answer was judged. {BEGIN_HINT}"
        return answer.model_copy(update={"ended": ended, "solved": self._first_answer.solved})

    def _verdict(self) -> bool | None:
        if self._first_answer:
            return self._first_answer.solved
        try:
            return None if self._environment.unjudged_result() else self._environment.valid_verdict().solved
        except EnvsError as error:
            raise SessionFailed(f"The task cannot be judged: {error}") from error


@dataclass(frozen=True)
class PlanTools:
    """The tools that every client gets. They use the session in ``thread``, where its environment was created.

    If a task has begun, ``check_plan`` uses another thread, so that it need not wait for the running plan.
    """

    session: PlanSession
    thread: ThreadPoolExecutor

    async def check_plan(self, code: str) -> list[PlanFault]:
        """Return every fault of a plan, with lines and hints, without running it."""
        frame = self.session.frame
        check = partial(self.session.check, code, frame)
        return await (asyncio.to_thread(check) if frame else self._run_in_thread(check))

    async def run_plan(self, code: str) -> PlanAnswer:
        """Run a plan: Python code that calls methods of `agent`. Later plans can use what it defines."""
        return await self._run_in_thread(partial(self.session.run, code))

    async def begin_task(self, task: str = "") -> str:
        """Begin a task from planbook://tasks afresh, by default the first; return its goal and first observation.

        Names that earlier plans defined are forgotten.
        """
        return await self._run_in_thread(partial(self.session.begin, task))

    def procedure_tool(self, procedure: Procedure, knowledge: Knowledge) -> Callable[..., object]:
        """Return a tool that runs a procedure."""

        async def run(params: dict[str, JsonValue] | None = None, task: str = "") -> PlanAnswer:
            return await self._run_in_thread(partial(self.session.run_procedure, procedure, params, task, knowledge))

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
    open_session: Callable[[], PlanSession], description: str, tasks: Sequence[Task], knowledge: Knowledge
) -> None:
    """Serve a session until the client closes the connection. ``open_session`` is called in the session's thread."""
    thread = ThreadPoolExecutor(1)  # not in a `with` block, where a second Ctrl-C would wait for the running plan
    session = thread.submit(_printing_to_stderr, open_session).result()
    server = build_server(PlanTools(session, thread), tasks, knowledge)
    for resource in resources(description, tasks, knowledge):
        server.add_resource(resource)
    try:
        asyncio.run(_serve_stdio(server))
    finally:
        thread.submit(_printing_to_stderr, session.close).result()


async def _serve_stdio(server: MCPServer) -> None:
    """Serve until the connection is closed, or until Ctrl-C, which the SDK would notice only at the next message."""
    with relayed_input():
        await asyncio.shield(server.run_stdio_async())


def _printing_to_stderr(work: Callable[[], T]) -> T:
    """Call a function with its prints redirected to standard error, since the protocol uses standard output."""
    with redirect_stdout(sys.stderr):
        return work()


def build_server(tools: PlanTools, tasks: Sequence[Task], knowledge: Knowledge) -> MCPServer:
    """Return a server that has the three common tools, and one tool for each verified procedure."""
    server = MCPServer("planbook", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    server.add_tool(tools.check_plan, annotations=ToolAnnotations(read_only_hint=True))
    server.add_tool(tools.run_plan)
    server.add_tool(tools.begin_task, description=inspect.getdoc(tools.begin_task))
    names = ["check_plan", "run_plan", "begin_task"]
    for procedure in knowledge.procedures.values():
        names.append(python_name(procedure.type, names))
        description = _describe(procedure, *_example_goal(procedure, knowledge, tasks))
        server.add_tool(tools.procedure_tool(procedure, knowledge), name=names[-1], description=description)
    return server


def _example_goal(
    procedure: Procedure, knowledge: Knowledge, tasks: Sequence[Task]
) -> tuple[str, Mapping[str, JsonValue]]:
    """Return a goal that a procedure can reach, and the params to pass to the procedure for it.

    They come from a task or, if planbook itself discovered the task type, from an example of this type.
    """
    found = [goal for kind in knowledge.found if kind.name == procedure.type for goal in kind.examples if goal.params]
    sources = found or (task for task in tasks if task.type == procedure.type)
    return next(((source.goal, source.params) for source in sources), ("", {}))


def _describe(procedure: Procedure, goal: str, params: Mapping[str, JsonValue]) -> str:
    example = f", such as {json.dumps(params)} for the goal {goal!r}" if params else ""
    return (
        f"{procedure.summary} Verified plan code for tasks of the type {procedure.type}; no model is asked. With "
        f"`task`, it begins that task afresh; otherwise it continues from the current state, with `params`{example}. "
        "`solved` is the verdict on the task, or null if `params` are not its params."
    )


def resources(description: str, tasks: Sequence[Task], knowledge: Knowledge) -> Iterator[TextResource]:
    """Yield the texts that the client can read: the environment's description, its tasks, and the manual, if any."""
    rows = [task.model_dump(mode="json", include={"id", "type", "goal", "params"}) for task in tasks]
    manual = without_block_marks(render_manual(knowledge))
    yield _text_resource("environment", "The environment, and everything that plans can call.", description, MARKDOWN)
    yield _text_resource("tasks", "The tasks that can be begun.", json.dumps(rows, ensure_ascii=False), JSON)
    if manual:
        yield _text_resource("manual", "The manual of the environment, learned from episodes.", manual, MARKDOWN)


def _text_resource(name: str, description: str, text: str, mime_type: str) -> TextResource:
    return TextResource(uri=f"planbook://{name}", name=name, description=description, text=text, mime_type=mime_type)
