"""A session in which an MCP client runs plans, one after another, in one environment. No model is asked."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from threading import Event

from pydantic import BaseModel, ConfigDict, JsonValue

from planbook.envs import Environment, EnvsError, Task, ToolEnvironment
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
)
from planbook.rules import Knowledge, LearnedMemory
from planbook.sandbox import Sandbox, SandboxError
from planbook.wording import listed

MAX_LISTED = 10
"""Maximum number of tasks that a message names."""
BEGIN = "Begin a task with begin_task."


class PlanFault(BaseModel):
    """One thing wrong with a plan."""

    model_config = ConfigDict(from_attributes=True)

    line: int | None
    type: str
    message: str
    hint: str = ""


class PlanAnswer(BaseModel):
    """The result of one plan."""

    printed: str = ""
    value: JsonValue = None
    """Value of the last line if it is an expression; the answer if the plan ended with one."""
    faults: list[PlanFault] = []
    """Faults for which the plan was refused, or the error that ended it."""
    actions: int = 0
    """Number of actions taken."""
    ended: str = ""
    """Reason why the task is over. After an answer plans may continue, but only the first answer counts."""
    solved: bool | None = None
    """Verdict, if the task has ended or a procedure ran with the task's own params; None if not judged."""


class SessionFailed(Exception):
    """The session cannot continue; the message says what to do."""


class PlanSession:
    """Runs plans in an environment. Must be used in one thread only, except where a member says otherwise."""

    def __init__(
        self, environment: Environment, sandbox: Sandbox, tasks: Sequence[Task], settings: EpisodeSettings
    ) -> None:
        self.tasks: Mapping[str, Task] = {task.id: task for task in tasks}
        self._environment, self._sandbox, self._settings = environment, sandbox, settings
        self._episode: Episode | None = None
        self.frame: Frame | None = None
        """The frame (namespace) of the current task. Any thread may read it."""
        self.cancelled = Event()
        """Any thread may set this. Then the running plan ends at its next action or wait, and EpisodeStopped is raised.
        What the plan did before has taken effect."""
        self._resources = ExitStack()
        self._ended = ""
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

        Raises SessionFailed if there is no such task, or if it cannot begin.
        """
        task = self.tasks.get(task_id or next(iter(self.tasks)))
        if task is None:
            raise SessionFailed(f"there is no task {task_id!r}; try one of {listed(self.tasks, MAX_LISTED)}")
        self.end()
        self._ended, self._broken, self._first_answer = "", False, None
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
        """Return all faults that can be found without running a plan. Any thread may call this with a ``frame``."""
        frame = frame or self._current()[1]
        return list(map(PlanFault.model_validate, frame.faults(code)))

    def _guard(self) -> None:
        if self.cancelled.is_set():
            raise EpisodeStopped

    def run(self, code: str) -> PlanAnswer:
        """Run a plan. It sees what earlier plans defined and changed. A plan with faults does not run at all."""
        episode, frame = self._current()
        return self._run(episode, frame, GivenCode(code=code))

    def run_procedure(
        self, procedure: Procedure, params: Mapping[str, JsonValue], task_id: str, knowledge: Knowledge
    ) -> PlanAnswer:
        """Run a learned procedure. If ``task_id`` is not empty, begin that task first.

        ``params`` are by default those of the current task. If planbook found the type by itself, they are read from
        the task's goal. Raises SessionFailed if ``params`` is empty and the task is not of the procedure's type.
        """
        if task_id:
            self.begin(task_id)
        episode, _ = self._current()
        code, task_params = code_of(procedure), self._task_params(episode.task, procedure, knowledge)
        if task_params is None and task_id and not params:
            raise SessionFailed(
                f"{task_id} has begun, but its goal {episode.task.goal!r} is not one of {procedure.type}. "
                "Give params as well, or use run_plan."
            )
        task: dict[str, JsonValue] = {"type": procedure.type, "params": dict(params or task_params or {})}
        judged = task_params is not None and (not params or params == task_params)
        with episode.frame("procedure", helpers=code.helpers, task=task) as frame:
            answer = self._run(episode, frame, code)
        return answer.model_copy(update={"solved": self._verdict()}) if judged and not self._broken else answer

    def _task_params(self, task: Task, procedure: Procedure, knowledge: Knowledge) -> Mapping[str, JsonValue] | None:
        """Return a task's params for a procedure, or None if the task has another type or its goal does not match."""
        if any(found.name == procedure.type for found in knowledge.found):
            memory = LearnedMemory(knowledge, type(self._environment), self._environment.options)
            recall = memory.recall(task.model_copy(update={"type": "", "params": {}}))
            match = recall.match if recall.procedure else None
            return match.params if match and match.type == procedure.type and not match.candidates else None
        if task.type != procedure.type:
            return None
        return self._environment.public_params(task) if procedure.is_learned else task.params

    def _current(self) -> tuple[Episode, Frame]:
        """Return the episode and the frame of the current task. If none has begun, begin the first task."""
        if self._episode is None:
            self.begin()
        assert self._episode is not None
        assert self.frame is not None
        return self._episode, self.frame

    def _run(self, episode: Episode, frame: Frame, code: GivenCode) -> PlanAnswer:
        if self._ended:
            raise SessionFailed(f"{self._ended.rstrip('.')}. {BEGIN}")
        frame.begin_cell(None, len(episode.steps))
        if refused := frame.faults(code.code):
            return PlanAnswer(faults=list(map(PlanFault.model_validate, refused)))
        earlier = episode.actions
        try:
            result = frame.session.run(code.code, code.source)
            frame.add_names(code.code, result)
        except EpisodeOver as over:
            return self._final_answer(frame, over, episode.actions - earlier)
        except (EpisodeBroken, SandboxError) as error:
            self._broken, self._ended = True, f"The task was broken off: {error}"
            ended = f"{self._ended.rstrip('.')}. {BEGIN}"
            return PlanAnswer(printed=frame.session.output, actions=episode.actions - earlier, ended=ended)
        faults = list(map(PlanFault.model_validate, result.faults))
        answer = PlanAnswer(printed=result.output, value=result.value, faults=faults, actions=episode.actions - earlier)
        return self._after_first_answer(answer)

    def _final_answer(self, frame: Frame, over: EpisodeOver, actions: int) -> PlanAnswer:
        """Return the result of a plan that gave an answer or ended the task in another way."""
        answered = isinstance(self._environment, ToolEnvironment) and self._environment.withdraw_answer()
        last = self._environment.history[-1] if answered else None
        self._ended = "" if last else str(over)
        answer = self._after_first_answer(
            PlanAnswer(
                printed=frame.session.output,
                value=last[0].args[0] if last else None,
                actions=actions,
                ended=last[1].text if last else self._ended,
                solved=self._verdict(),
            )
        )
        if last and not self._first_answer and answer.solved is not None:
            self._first_answer = answer
        return answer

    def _after_first_answer(self, answer: PlanAnswer) -> PlanAnswer:
        """Return the result of a plan. If the answer of an earlier plan was judged, say so and add its verdict."""
        if self._first_answer is None:
            return answer
        ended = f"{self._first_answer.ended.removesuffix('.')} before this plan; only that answer was judged. " + BEGIN
        return answer.model_copy(update={"ended": ended, "solved": self._first_answer.solved})

    def _verdict(self) -> bool | None:
        if self._first_answer:
            return self._first_answer.solved
        try:
            return None if self._environment.unjudged() else self._environment.valid_verdict().solved
        except EnvsError as error:
            raise SessionFailed(f"The task cannot be judged: {error}") from error
