"""An episode of a task, in which a planning method asks for plans, runs them, and returns to checkpoints."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice

from pydantic import JsonValue

from planbook.envs import ActionSpec, Environment, MissingRequirement, Observation, Snapshot, Task, Verdict
from planbook.planner.agent import AGENT, plan_functions, plan_task, plan_value
from planbook.planner.errors import (
    CellOver,
    EpisodeOver,
    NoPlan,
    PlansRefused,
    RoundOver,
    UnusableReply,
    environment_errors,
)
from planbook.planner.feedback import CellSteps, check_feedback, end_feedback, reply_feedback, result_feedback
from planbook.planner.frames import Frame, Frames, Functions, Mark, unwrap_method_errors
from planbook.planner.journal import AnyPayload, Claim, Journal, Span
from planbook.planner.memory import Match, Memory, NoMemory, Recall
from planbook.planner.models.types import Message
from planbook.planner.prompts import Question
from planbook.planner.replies import as_plan
from planbook.planner.roles import FIRST_SAMPLE, NO_MODELS, Answer, Roles, Sample
from planbook.planner.scope import Scope
from planbook.planner.streaming import PlanReader, PlanResult, RecordPiece, stream_feedback
from planbook.planner.types import (
    OBSERVATION,
    Cell,
    Ending,
    EpisodeSettings,
    Feedback,
    FeedbackKind,
    Judgement,
    Outcome,
    Plan,
    Step,
    Thought,
)
from planbook.sandbox import Sandbox

MAX_REFUSED = 10
"""After this many refused plans in a row, PlansRefused is raised, since a model may repeat a fault forever."""


class Episode:
    """One attempt at a task, until it is solved, the method gives up or no actions are left. Only plan code can act.

    Plan code is run in pieces, called cells. Everything that happens is written to the journal. If the journal already
    holds events, the episode must repeat them exactly: this is how a run is resumed and a recorded episode replayed.
    """

    def __init__(
        self,
        task: Task,
        environment: Environment,
        sandbox: Sandbox,
        journal: Journal,
        *,
        settings: EpisodeSettings,
        path: str = "task/0",
        memory: Memory | None = None,
        roles: Roles = NO_MODELS,
        guard: Callable[[], None] = lambda: None,
        task_changes: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """``guard`` is called before each action, and may raise EpisodeStopped or BudgetEnded.

        ``task_changes`` maps fields of the task, such as the goal, to values that the environment does not see.
        """
        self.environment, self.settings, self.path = environment, settings, path
        self._original_task, self._task_changes = task, dict(task_changes or {})
        self.task = task.model_copy(update=self._task_changes)
        environment.sandbox = sandbox
        self.observation = Observation("")
        self.steps: list[Step] = []
        self._incomplete_plans = 0
        """Number of plans from a model that ran to their end without doing the task."""
        self.whole_plans = False
        """True if each plan is meant to do the whole task, so that a plan that does not counts as an error."""
        self.cells: list[Cell] = []
        self.actions, self._answer_count, self._actions_used_up, self.refused_plans = 0, 0, False, 0
        self._earlier_judgement: Judgement | None = None
        self._best_counts = True
        self._memory, self._guard = memory or NoMemory(), guard
        self._scope = Scope(journal, path, roles)
        self._round = self._scope.child("round")
        actions = plan_functions(environment.offer, self._act, self._query)
        self._frames = Frames(sandbox, environment, settings.limits, actions, guard)

    # For planning methods.

    def begin(self) -> Observation:
        """Reset the environment and return the first observation. In some environments, the reset defines the goal.

        Raises MissingRequirement if this machine lacks a requirement, or RoundOver if the environment's own episode is
        over before the first action.
        """
        with environment_errors(except_for=MissingRequirement):
            self.observation = self.environment.reset(self._original_task)
        self._original_task = self.environment.task or self._original_task
        self.task = self._original_task.model_copy(update=self._task_changes)
        if self.task.goal != self._original_task.goal:
            text = self.observation.text.replace(self._original_task.goal, self.task.goal)
            self.observation = replace(self.observation, text=text)
        observation = OBSERVATION.dump_python(self.observation, mode="json")
        self._round.record("task", task=self.task.model_dump(mode="json"), observation=observation)
        if self.environment.ended:
            raise RoundOver("The environment's episode was over before it began.")
        return self.observation

    def new_round(self, *, best_counts: bool = True) -> Observation:
        """Reset the environment and begin a new round in a fresh namespace.

        Actions of earlier rounds still count towards the limit. The verdict on the episode comes from the best round
        or, if ``best_counts`` is False, from the last round with an action.
        """
        self._earlier_judgement, self._best_counts = self._judgement(), best_counts
        self.close()
        self._round = self._scope.child("round")
        self.steps = []
        return self.begin()

    def recall(self, match: Match | None = None) -> Recall:
        """Return the memory's knowledge about the task or, if ``match`` is given, about tasks of the matched type.

        Without ``match``, the memory is asked only once: later calls return the same answer.
        """
        scope = self._round.child("matched") if match else self._scope
        task = self.task.model_copy(update={"type": match.type, "params": match.params}) if match else self.task
        recalled = scope.get_or_record("recall", lambda: self._memory.recall(task).model_dump(mode="json"))
        return Recall.model_validate(recalled)

    def ask(
        self,
        role: str,
        prompt: Question,
        *,
        history: Sequence[Message] = (),
        sample: Sample = FIRST_SAMPLE,
        **variables: object,
    ) -> Answer[Plan]:
        """Ask a model for a plan. Return the plan and the conversation so far. Nothing is run.

        ``role`` is one of ``Method.roles``. ``variables`` must be exactly the variables of the template ``prompt``.
        ``history`` is the conversation to continue, from an earlier ``Answer``. A different ``sample`` asks for a
        different reply to the same prompt. If a reply has no usable code, the model is asked to repair it, up to
        ``Roles.repairs`` times. After that, a cell with feedback of the kind PARSE is recorded, and NoPlan is raised.
        """
        try:
            return self._innermost().scope.ask(role, prompt, read=as_plan, history=history, sample=sample, **variables)
        except UnusableReply as unusable:
            raise self.no_plan(role, str(unusable)) from unusable

    def no_plan(self, source: str, problem: str) -> NoPlan:
        """Record a cell with feedback of the kind PARSE, since no code can be run. Return the error to raise."""
        self._close_cell(self._innermost(), "", source, Thought(), reply_feedback(problem, self.environment))
        return NoPlan(problem)

    def run(
        self, code: str, *, source: str = "plan", thought: Thought | None = None, actions: int | None = None
    ) -> Feedback:
        """Check code and run it as a cell in the innermost frame. Raises EpisodeOver if the episode ends meanwhile.

        ``source`` names the origin of the code, and ``thought`` is the text that came with it. A cell that tries to
        take more than ``actions`` actions is ended, and its definitions are forgotten.
        """
        frame, thought = self._innermost(), thought or Thought()
        frame.begin_cell(actions, len(self.steps))
        if faults := frame.faults(code):
            return self._close_cell(frame, code, source, thought, check_feedback(faults, self.environment))
        try:
            with unwrap_method_errors():
                result = frame.session.run(code, source)
            frame.add_names(code, result)
        except (CellOver, EpisodeOver) as over:
            return self._end_cell(frame, code, source, thought, over)
        return self._close_cell(frame, code, source, thought, result_feedback(result, self._steps_of_cell(frame)))

    def stream(
        self,
        role: str,
        prompt: Question,
        *,
        history: Sequence[Message] = (),
        sample: Sample = FIRST_SAMPLE,
        actions: int | None = None,
        **variables: object,
    ) -> PlanResult:
        """Ask a model for a plan and run it, like ``ask`` and ``run``. Return the feedback and the conversation.

        With ``settings.stream``, each statement runs as soon as it has arrived, and the reply is stopped after a
        statement that fails, is refused or ends the cell. If the reply has code after that statement, a note in the
        returned conversation says that this code was not run.
        """
        frame = self._innermost()
        frame.begin_cell(actions, len(self.steps))

        def new_reader(record: RecordPiece) -> PlanReader:
            return PlanReader(frame, role, record, needs_whole_reply=not self.settings.stream)

        try:
            answer = frame.scope.stream(role, prompt, new_reader, history=history, sample=sample, **variables)
        except UnusableReply as unusable:
            raise self.no_plan(role, str(unusable)) from unusable
        streamed = answer.value
        cell_parts = frame, streamed.code, role, streamed.thought
        if isinstance(streamed.error, CellOver | EpisodeOver):
            return PlanResult(self._end_cell(*cell_parts, streamed.error), answer.history)
        if streamed.error is not None:
            raise streamed.error
        feedback = stream_feedback(streamed, self._steps_of_cell(frame))
        self._incomplete_plans += feedback.kind is FeedbackKind.UNFINISHED and not streamed.broke_off
        return PlanResult(self._close_cell(*cell_parts, feedback), answer.history)

    @contextmanager
    def frame(
        self,
        name: str,
        functions: Functions | None = None,
        helpers: str = "",
        task: Mapping[str, JsonValue] | None = None,
        *,
        dry_run: bool = False,
    ) -> Iterator[Frame]:
        """Open a frame: a namespace for the cells that are run inside the ``with`` block.

        The cells can use the actions, the functions, and the definitions in ``helpers``. A function that is named like
        an action, such as ``agent.open``, replaces the action, and the frame then has no dry run. ``task``
        overrides fields of the plan's ``task``. With ``dry_run``, or if the settings demand it, cells with an action
        that cannot succeed are refused.
        """
        scope = self.current_scope.child(name)
        frame = self._open_frame(scope, functions or {}, helpers, task or {}, dry_run or self.settings.dry_run)
        try:
            yield frame
        finally:
            self._frames.close(frame)

    def mark(self) -> Mark:
        """Return a mark: a checkpoint of the environment and the innermost frame, to which ``rewind`` can return."""
        frame = self._innermost()
        with environment_errors():
            snapshot = self.environment.snapshot()
        frame.marks.append(Mark(frame.path, snapshot, frame.session.mark(), frame.names, len(self.steps)))
        return frame.marks[-1]

    def rewind(self, mark: Mark) -> Observation:
        """Return to a mark of the innermost frame. Later steps are marked as undone, but still count towards the limit.

        Raises WrongMark if the mark belongs to another frame, or if an earlier rewind has removed the mark.
        """
        self._innermost().return_to(mark)
        return self.restore(mark.snapshot, mark.step_count)

    def restore(self, snapshot: Snapshot, steps: int) -> Observation:
        """Restore only the environment, from a snapshot made after ``steps`` steps. Mark later steps as undone."""
        with environment_errors():
            observation = self.environment.restore(snapshot)
        self.steps[steps:] = [step.model_copy(update={"undone": True}) for step in self.steps[steps:]]
        self._round.record("rewind", path=self.current_scope.path, steps=steps)
        return observation

    # The verdict and the ending.

    @property
    def feedbacks(self) -> Sequence[Feedback]:
        """The feedback of all cells, in all rounds."""
        return [cell.feedback for cell in self.cells]

    def verdict(self) -> Verdict:
        """Return the environment's verdict on the round that counts so far (see ``new_round``). Plans never see it."""
        return self._judgement().verdict

    def _judgement(self) -> Judgement:
        with environment_errors():
            current = Judgement.of(self.environment)
        if self._earlier_judgement is None:
            return current
        if self._best_counts:
            return max(self._earlier_judgement, current, key=lambda judgement: judgement.rank)
        return current if self.steps else self._earlier_judgement

    def ending(self, no_plan: str = "") -> Ending:
        """Return the ending for the current state. ``no_plan`` says why no plan was usable, or is empty if one was."""
        used_up, incomplete = self._actions_used_up, self._incomplete_plans if self.whole_plans else 0
        judgement = self._judgement()
        ending = judgement.ending(self.feedbacks, self.actions, used_up=used_up, incomplete=incomplete, no_plan=no_plan)
        if not no_plan and ending.outcome is Outcome.FAILURE and self.refused_plans == MAX_REFUSED:
            return ending.model_copy(update={"message": f"{MAX_REFUSED} plans in a row did not pass the check"})
        return ending

    @property
    def actions_left(self) -> int:
        """The number of actions that are left. Answers do not count."""
        return max(0, self.settings.actions - self.actions + self._answer_count)

    def claim(self, done: bool | None, by: str) -> None:
        """Record the method's opinion on whether the whole task is done. None withdraws an earlier claim.

        ``by`` names the author. The statistics compare claims with the environment's verdict.
        """
        self.current_scope.record_instant(Claim(done=done, by=by))

    def span(self, payload: AnyPayload) -> Span[AnyPayload]:
        """Begin a span: the record of a part of the method's work, such as a subtask. ``with`` or ``end()`` ends it."""
        return self.current_scope.span(payload)

    @property
    def current_scope(self) -> Scope:
        """The scope of the innermost frame, or of the round if no frame is open."""
        innermost = self._frames.innermost
        return innermost.scope if innermost else self._round

    def write_ending(self, ending: Ending) -> None:
        """Write the ending to the journal. From then on, the episode counts as played."""
        self._scope.record("outcome", **ending.model_dump(mode="json"))

    def close(self) -> None:
        """Close all open frames."""
        self._frames.close_all()

    # For plan code.

    def _act(self, spec: ActionSpec, /, *args: JsonValue, **kwargs: JsonValue) -> JsonValue:
        action = spec.bind(*args, **kwargs)
        frame = self._innermost()
        frame.count_down(action)
        self._guard()
        is_answer = action.name == self.environment.answer_action
        if not self.actions_left and not is_answer:  # an answer ends the episode, and does not count as an action
            self._actions_used_up = True
            raise EpisodeOver(f"The episode's {self.settings.actions} actions are used up: {action} was not taken.")
        with environment_errors():
            observation = self.environment.act(action)
        step = Step(
            scope=frame.path,
            cell=frame.cell_count,
            line=frame.session.line,
            action=action,
            observation=observation,
            printed=frame.newly_printed(),
        )
        self._round.record("act", **step.model_dump(mode="json", exclude={"undone"}))
        self.steps.append(step)
        self.actions, self._answer_count = self.actions + 1, self._answer_count + is_answer
        if self.environment.ended:
            raise RoundOver("The environment's episode is over.")
        return plan_value(observation)

    def _query(self, spec: ActionSpec, /, *args: JsonValue, **kwargs: JsonValue) -> JsonValue:
        query = spec.bind(*args, **kwargs)
        with environment_errors():
            answer: JsonValue = getattr(self.environment, spec.name)(*query.args)
        return answer

    # Frames and cells.

    def _innermost(self) -> Frame:
        return self._frames.innermost or self._open_frame(self._round, {}, "", {}, self.settings.dry_run)

    def _open_frame(
        self, scope: Scope, functions: Functions, helpers: str, overrides: Mapping[str, JsonValue], dry_run: bool
    ) -> Frame:
        task = {**plan_task(self.task, self.observation), **overrides}
        seed = f"{self.settings.seed}/{self.task.id}{scope.path.removeprefix(self.path)}"
        frame = self._frames.open(scope, task, seed, functions, helpers)
        if dry_run and not any(name.startswith(f"{AGENT}.") for name in functions):
            from planbook.planner.dry_runs import make_dry_run  # loaded only if needed, since few runs use it

            create = partial(
                make_dry_run, self.environment, self._original_task, frame.functions, task, helpers=helpers
            )
            frame.dry_run = create(lambda: self.steps[: frame.first_step], executed_code=frame.executed_code)
        return frame

    def _steps_of_cell(self, frame: Frame) -> CellSteps:
        """Return the steps of the running cell, including those in frames that the cell has opened."""
        earlier = islice(reversed(self.steps), len(self.steps) - frame.first_step, None)
        previous = next((step.observation for step in earlier if not step.undone), self.observation)
        return CellSteps(self.environment, self.steps[frame.first_step :], previous)

    def _end_cell(
        self, frame: Frame, code: str, source: str, thought: Thought, cause: CellOver | EpisodeOver
    ) -> Feedback:
        """Close a cell that ``cause`` has ended early. If ``cause`` is an EpisodeOver, it is raised again."""
        feedback = end_feedback(cause, frame.session.output, self._steps_of_cell(frame))
        self._close_cell(frame, code, source, thought, feedback)
        if isinstance(cause, EpisodeOver):
            raise cause
        return feedback

    def _close_cell(self, frame: Frame, code: str, source: str, thought: Thought, feedback: Feedback) -> Feedback:
        cell = Cell(
            scope=frame.path, number=frame.cell_count, source=source, code=code, thought=thought, feedback=feedback
        )
        self._round.record("cell", **cell.model_dump(mode="json"))
        frame.cell_count += 1
        self.cells.append(cell)
        if self.refused_plans < MAX_REFUSED:  # otherwise a nested plan has already raised the error
            self.refused_plans = self.refused_plans + 1 if feedback.kind is FeedbackKind.CHECK else 0
            if self.refused_plans == MAX_REFUSED:
                raise PlansRefused(f"{MAX_REFUSED} plans in a row did not pass the check.")
        return feedback
