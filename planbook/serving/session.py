"""A session of plans on one environment, without a model: names and effects last from plan to plan."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from pydantic import BaseModel, JsonValue

from planbook.envs import Environment, EnvsError, Task, ToolEnvironment
from planbook.planner import (
    Episode,
    EpisodeBroken,
    EpisodeOver,
    EpisodeSettings,
    Frame,
    GivenCode,
    MemoryJournal,
    Procedure,
    code_of,
)
from planbook.sandbox import Fault, Sandbox, SandboxError


class PlanFault(BaseModel):
    """One thing wrong with a plan."""

    line: int | None
    type: str
    message: str
    hint: str = ""

    @classmethod
    def of(cls, fault: Fault) -> "PlanFault":
        """Return a fault of the sandbox."""
        return cls(line=fault.line, type=fault.type, message=fault.message, hint=fault.hint)


class PlanAnswer(BaseModel):
    """The result of one plan."""

    printed: str = ""
    value: JsonValue = None
    """The value of the last line, if that is an expression; the answer, if one ended the task."""
    faults: list[PlanFault] = []
    """Why the plan was refused before it ran, or the error that it ended in."""
    actions: int = 0
    """Number of actions that it took."""
    ended: str = ""
    """Why the task is over. Plans go on after an answer, of which the first counts; else another task must be begun."""
    solved: bool | None = None
    """The verdict on the task, after a procedure with its params and where it ended. Else, and unless judged, None."""


class SessionFailed(Exception):
    """Nothing can be done in this session; the message says what to do."""


class PlanSession:
    """Runs plans on an environment. Belongs to one thread."""

    def __init__(
        self, environment: Environment, sandbox: Sandbox, tasks: Sequence[Task], settings: EpisodeSettings
    ) -> None:
        self.tasks: Mapping[str, Task] = {task.id: task for task in tasks}
        self._environment, self._sandbox, self._settings = environment, sandbox, settings
        self._episode: Episode | None = None
        self._frame: Frame | None = None
        self._open = ExitStack()
        self._ended = ""
        self._first: tuple[bool | None, ...] = ()
        """The verdict on the first answer, which stands."""

    def close(self) -> None:
        """Close the environment."""
        self.end()
        self._environment.close()

    def end(self) -> None:
        """End the current task."""
        self._open.close()
        self._episode = self._frame = None

    def begin(self, task_id: str = "") -> str:
        """Begin a task anew, by default the first, and return its id, its goal and what can be observed.

        Raises SessionFailed.
        """
        task = self.tasks.get(task_id or next(iter(self.tasks)))
        if task is None:
            raise SessionFailed(f"there is no task {task_id!r}; there are {', '.join([*self.tasks][:10])}")
        self.end()
        self._ended, self._first = "", ()
        self._episode = Episode(task, self._environment, self._sandbox, MemoryJournal(), settings=self._settings)
        self._open.callback(self._episode.close)
        try:
            observation = self._episode.begin()
            self._frame = self._open.enter_context(self._episode.frame("session"))
        except (EnvsError, EpisodeBroken, EpisodeOver) as error:
            self.end()
            raise SessionFailed(f"{task.id} cannot begin: {error}") from error
        goal = self._episode.task.goal
        return "\n".join([f"{task.id}: {goal}", observation.text.removesuffix(f"Your task is to: {goal}")]).strip()

    def check(self, code: str) -> list[PlanFault]:
        """Return all faults that can be found without running a plan."""
        return [PlanFault.of(fault) for fault in self._begun()[1].faults(code)]

    def run(self, code: str) -> PlanAnswer:
        """Run a plan after what ran before it. It is refused as a whole if the check finds faults."""
        episode, frame = self._begun()
        return self._ran(episode, frame, GivenCode(code=code))

    def run_procedure(self, procedure: Procedure, params: Mapping[str, JsonValue], task_id: str) -> PlanAnswer:
        """Run a procedure on a task that is begun anew, or on the environment as it is; with these params if any."""
        if task_id:
            self.begin(task_id)
        episode, _ = self._begun()
        given = code_of(procedure)
        told = self._environment.told_params(episode.task) if given.told_params else episode.task.params
        own: dict[str, JsonValue] = {"type": procedure.type, "params": dict(params or told)}
        of_task = not params or params == told
        with episode.frame("procedure", helpers=given.helpers, task=own) as frame:
            answer = self._ran(episode, frame, given)
        return answer.model_copy(update={"solved": self._solved() if of_task else None})

    def _begun(self) -> tuple[Episode, Frame]:
        if self._episode is None:
            self.begin()
        if self._episode is None or self._frame is None:
            raise SessionFailed("no task has begun; begin one with begin_task")
        return self._episode, self._frame

    def _ran(self, episode: Episode, frame: Frame, given: GivenCode) -> PlanAnswer:
        if self._ended:
            raise SessionFailed(f"{self._ended.rstrip('.')}. Begin a task with begin_task.")
        if faults := frame.faults(given.code):
            return PlanAnswer(faults=list(map(PlanFault.of, faults)))
        before = episode.actions
        try:
            frame.begin_cell(None)
            ran = frame.session.run(given.code, given.source)
            frame.add_names(given.code, ran)
        except EpisodeOver as over:
            return self._at_the_end(frame, over, episode.actions - before)
        except (EpisodeBroken, SandboxError) as error:
            self._ended = f"The task is broken off: {error}"
            raise SessionFailed(self._ended) from error
        found = list(map(PlanFault.of, ran.faults))
        return PlanAnswer(printed=ran.output, value=ran.value, faults=found, actions=episode.actions - before)

    def _at_the_end(self, frame: Frame, over: EpisodeOver, actions: int) -> PlanAnswer:
        """Return the result of a plan that ended the task."""
        answered = isinstance(self._environment, ToolEnvironment) and self._environment.take_back_answer()
        last = self._environment.history[-1] if answered else None
        self._ended = "" if last else str(over)
        if last and not self._first:
            self._first = (self._solved(),)
        return PlanAnswer(
            printed=frame.session.output,
            value=last[0].args[0] if last else None,
            actions=actions,
            ended=last[1].text if last else self._ended,
            solved=self._solved(),
        )

    def _solved(self) -> bool | None:
        if self._first:
            return self._first[0]
        try:
            return None if self._environment.unjudged() else self._environment.verdict().solved
        except EnvsError as error:
            raise SessionFailed(f"The task cannot be judged: {error}") from error
