"""The trajectory: a whole episode, read back from its events.

`planbook export` writes a trajectory as JSON. Each part of it has an ``order``, which is its position among the
episode's events. A ``scope`` is a place in the episode: a round such as ``round/0``, or the namespace of a nested
plan in a round, such as ``round/0/plan/1/execute/0``.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import ConfigDict, Field, JsonValue

from planbook.envs import Observation, Task
from planbook.planner.journal import (
    SPAN_BEGIN,
    SPAN_END,
    SPAN_MOMENT,
    Body,
    EventKind,
    RecordedEvent,
    RecordedSpan,
    SpanReader,
    is_update,
)
from planbook.planner.memory import Recall
from planbook.planner.models.types import Message, PromptData, Reply, Sampling
from planbook.planner.prompts import PROMPTS
from planbook.planner.types import OBSERVATION, Cell, Ending, Outcome, Record, Step, Text

TRAJECTORY_SCHEMA: Literal["planbook.trajectory/2"] = "planbook.trajectory/2"
"""The format of trajectory files. Files in any other format are refused."""


class TrajectoryPart(Record):
    """Base class of the parts of a trajectory."""

    model_config = ConfigDict(
        use_attribute_docstrings=True,
        allow_inf_nan=False,
        serialize_by_alias=True,
        validate_by_name=True,
        validate_by_alias=True,
    )


class RunFacts(TrajectoryPart):
    """Facts about the run to which the episode belongs."""

    planner: str
    """The name of the planning method."""
    config: dict[str, JsonValue] = {}
    """The run's configuration, including the seed, as in its run.json. Empty if unknown."""
    begun: str = ""
    """Time at which the run began, in ISO 8601."""
    versions: dict[str, str] = {}
    """Versions of the installed packages."""
    environment: dict[str, str] = Field(default={}, alias="world")
    """Facts about the environment's components, such as the versions of its data. In JSON, the key is ``world``."""
    answer_action: str = Field(default="", exclude_if=lambda action: not action)
    """The action that delivers an answer. Like ``milestones``, it is given only if the environment is not installed."""
    milestones: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """All milestones of the environment, if they are the same for every task."""


class RecordedRecall(Recall):
    """The knowledge that the planner received."""

    order: int = Field(ge=0)


class Rewind(TrajectoryPart):
    """A return of the environment to an earlier state of the round."""

    order: int = Field(ge=0)
    scope: str
    kept: int = Field(ge=0)
    """Number of the round's steps that remain valid. The steps after them are undone."""


class Round(TrajectoryPart):
    """The part of an episode between two resets of the environment."""

    wording_fields: ClassVar = frozenset({"rewinds", "task"})
    """Fields left out of the digest that identifies a recorded reply. Other parts of the prompt hold the same data."""

    order: int = Field(default=0, ge=0)
    """Position of the reset that began the round."""
    number: int = Field(ge=0)
    """Number of the round, from 0."""
    observation: str = ""
    """The first observation of the round."""
    task: Task | None = Field(default=None, exclude_if=lambda task: task is None)
    """The task of the round, if it differs from the task of the first round. Otherwise null."""
    cells: tuple[Cell, ...] = ()
    steps: tuple[Step, ...] = ()
    """The steps of all cells, in order. The ``scope`` and ``cell`` of a step identify its cell.

    A cell that did not end, because the run was interrupted, is not in ``cells``, but its steps are here.
    """
    rewinds: tuple[Rewind, ...] = ()


class Call(TrajectoryPart):
    """One question to a language model, and its reply."""

    order: int = Field(ge=0)
    scope: str
    role: str
    template: str
    """The name of the template from which the prompt was made."""
    model: str
    given: PromptData | None = Field(default=None, exclude_if=lambda given: given is None)
    """The digest of the prompt's data, and the prompt's number. Together, they identify the reply in a recording."""
    sampling: Sampling
    messages: tuple[Message, ...]
    """All messages that were sent to the model. Empty if the episode was exported without prompts."""
    left_out: int = 0
    """Number of messages of the conversation that were left out to fit the context."""
    cut_characters: int = 0
    """Number of characters that were cut from the other messages to fit the context."""
    reply: Reply


class Trajectory(TrajectoryPart):
    """One episode: its task, all its events, and its ending."""

    schema_version: Literal["planbook.trajectory/2"] = Field(default=TRAJECTORY_SCHEMA, alias="schema")
    path: str = Field(default="", exclude=True)
    """The scope of the episode in the journal from which it was read."""
    task: Task
    """The task. ``id`` identifies it in its environment, and ``params`` are the values parsed from its goal."""
    repeat: int = Field(default=0, ge=0)
    """Number of the repeat of the task in its run, from 0."""
    run: RunFacts = RunFacts(planner="")
    recall: RecordedRecall | None = None
    rounds: tuple[Round, ...] = ()
    spans: tuple[RecordedSpan, ...] = ()
    """The named parts of the method's work, such as subtasks, goals or branches."""
    calls: tuple[Call, ...] = ()
    ending: Ending = Ending(outcome=Outcome.NOT_RUN)
    """The outcome, the environment's verdict and, if the task was not solved, the cause."""

    @property
    def knowledge(self) -> Text:
        """The text of the knowledge that the planner received."""
        return self.recall.text if self.recall else ""

    @property
    def helpers(self) -> str:
        """The plan code that was run before all other code, to define helper functions."""
        return self.recall.helpers if self.recall else ""


class ShownEpisode(Record):
    """The parts of an episode that prompts show. Only these parts influence which recorded reply is found."""

    task: Task
    knowledge: Text = ""
    helpers: str = ""
    rounds: tuple[Round, ...] = ()
    ending: Ending = Ending(outcome=Outcome.NOT_RUN)


AnyEvent = TypeVar("AnyEvent", bound=RecordedEvent)


def in_reading_order(events: Iterable[AnyEvent]) -> list[AnyEvent]:
    """Return the events in the order in which people read them.

    A reply is recorded only when it is complete. It is moved back to the point at which it began to arrive, before the
    actions that were taken while it arrived.
    """
    events = list(events)
    first_pieces: dict[tuple[str, int], int] = {}
    for order, event in enumerate(events):
        if event.kind == "piece":
            first_pieces.setdefault((event.scope, event.body["ask"]), order)
    asks: Counter[str] = Counter()
    ordered: list[tuple[int, AnyEvent]] = []
    for order, event in enumerate(events):
        if event.kind == "ask":
            ordered.append((first_pieces.get((event.scope, asks[event.scope]), order), event))
            asks[event.scope] += 1
        elif event.kind != "piece":
            ordered.append((order, event))
    return [event for _, event in sorted(ordered, key=itemgetter(0))]


def read_trajectory(path: str, events: Iterable[RecordedEvent], task: Task | None = None) -> Trajectory:
    """Return the episode with the scope ``path``. ``events`` must be in the order in which they were recorded.

    The episode may be unfinished. If it has not begun, return a trajectory that has only this ``task``, or raise
    LookupError if ``task`` is None.
    """
    reader = _Reader(path)
    in_episode = (event for event in events if event.scope == path or event.scope.startswith(f"{path}/round/"))
    order = 0
    for event in in_reading_order(in_episode):
        reader.read(order, event)
        order += not is_update(event)  # an update of a span has no position
    if reader.task is None and task is None:
        raise LookupError(f"{path}: no episode has begun there")
    return reader.trajectory(task)


class _Reader:
    """Builds a trajectory from the events of an episode, one by one."""

    def __init__(self, path: str) -> None:
        self.task: Task | None = None
        self._path, self._rounds, self._span_reader = path, list[dict[str, Any]](), SpanReader()
        self._calls, self._fields = list[Call](), dict[str, Any]()

    def read(self, order: int, event: RecordedEvent) -> None:
        """Read one event. Events that are not part of a trajectory are ignored."""
        body = event.body
        self._span_reader.read(event, order)
        match event.kind:
            case "task":
                self._begin_round(order, body)
            case "act":
                step = Step.model_validate({**body, "order": order, "scope": self._relative_scope(body["scope"])})
                self._rounds[-1]["steps"].append(step)
            case "cell":
                cell = Cell.model_validate({**body, "order": order, "scope": self._relative_scope(body["scope"])})
                self._rounds[-1]["cells"].append(cell)
            case "rewind":
                self._rewind(Rewind(order=order, scope=self._relative_scope(body["path"]), kept=body["steps"]))
            case "ask":
                place = {"order": order, "scope": self._relative_scope(event.scope)}
                self._calls.append(Call.model_validate({**body, **place}))
            case "recall":
                self._fields["recall"] = RecordedRecall.model_validate({**body, "order": order})
            case "outcome":
                self._fields["ending"] = Ending.model_validate(body)

    def trajectory(self, task: Task | None) -> Trajectory:
        """Return the trajectory of the events read so far. If the episode has not begun, its task is ``task``."""
        rounds = tuple(map(Round.model_validate, self._rounds))
        spans = (
            span.model_copy(update={"scope": self._relative_scope(span.scope)}) for span in self._span_reader.spans()
        )
        fields = self._fields | {"task": self.task or task, "spans": tuple(spans), "calls": tuple(self._calls)}
        return Trajectory(path=self._path, rounds=rounds, **fields)

    def _begin_round(self, order: int, body: Mapping[str, Any]) -> None:
        task = Task.model_validate(body["task"])
        self.task = self.task or task
        head = {"order": order, "number": len(self._rounds), "observation": body["observation"]["text"]}
        own_task = task if task != self.task else None
        self._rounds.append({**head, "task": own_task, "cells": [], "steps": [], "rewinds": []})

    def _rewind(self, rewind: Rewind) -> None:
        steps = self._rounds[-1]["steps"]
        steps[rewind.kept :] = [step.model_copy(update={"undone": True}) for step in steps[rewind.kept :]]
        self._rounds[-1]["rewinds"].append(rewind)

    def _relative_scope(self, scope: str) -> str:
        """Return the scope relative to the scope of the episode."""
        return scope.removeprefix(f"{self._path}/")


def render_trajectory(trajectory: Trajectory, *, thoughts: bool = True) -> str:
    """Return the episode as text for a prompt: code, feedback and, optionally, the thought of each cell."""
    steps = [step for round_ in trajectory.rounds for step in round_.steps]
    refused = sum(not step.observation.accepted for step in steps)
    shown_episode = ShownEpisode(**{name: getattr(trajectory, name) for name in ShownEpisode.model_fields})
    return PROMPTS["trajectory"].render(trajectory=shown_episode, thoughts=thoughts, taken=len(steps), refused=refused)


# Write a trajectory as events.

TrajectoryRow = tuple[str, EventKind, int, Body]
"""A journal event: scope, kind, number and body."""
_OrderedEvent = tuple[int, str, EventKind, Body]
"""A journal event with its position in the episode: order, scope, kind and body."""


def rows_of(trajectory: Trajectory, path: str) -> list[TrajectoryRow]:
    """Return the events, in order, as a run that played the episode in the scope ``path`` would have recorded them."""
    numbers: Counter[tuple[str, EventKind]] = Counter()
    rows: list[TrajectoryRow] = []
    for _, scope, kind, body in sorted(_ordered_events(trajectory, path), key=itemgetter(0)):
        rows.append((scope, kind, numbers[scope, kind], body))
        numbers[scope, kind] += 1
    return [*rows, (path, "outcome", 0, trajectory.ending.model_dump(mode="json"))]


def _ordered_events(trajectory: Trajectory, path: str) -> Iterable[_OrderedEvent]:
    if trajectory.recall is not None:
        yield trajectory.recall.order, path, "recall", trajectory.recall.model_dump(mode="json", exclude={"order"})
    for round_ in trajectory.rounds:
        yield from _round_events(round_, trajectory.task, path)
    for call in trajectory.calls:
        yield call.order, f"{path}/{call.scope}", "ask", call.model_dump(mode="json", exclude={"order", "scope"})
    yield from _span_events(trajectory.spans, path)


def _round_events(round_: Round, task: Task, path: str) -> Iterable[_OrderedEvent]:
    scope = f"{path}/round/{round_.number}"
    own_task = (round_.task or task).model_dump(mode="json")
    observation = OBSERVATION.dump_python(Observation(round_.observation), mode="json")
    yield round_.order, scope, "task", {"task": own_task, "observation": observation}
    steps_and_cells: list[Step | Cell] = [*round_.steps, *round_.cells]
    for part in steps_and_cells:
        body = part.model_dump(mode="json", exclude={"order", "undone"})  # the rewind says which steps are undone
        kind: EventKind = "act" if isinstance(part, Step) else "cell"
        yield part.order or 0, scope, kind, {**body, "scope": f"{path}/{part.scope}"}
    for rewind in round_.rewinds:
        yield rewind.order, scope, "rewind", {"path": f"{path}/{rewind.scope}", "steps": rewind.kept}


def _span_events(spans: Sequence[RecordedSpan], path: str) -> Iterable[_OrderedEvent]:
    """Yield the events of spans. The end event of a span refers to its begin event by its number in the scope."""
    ends = [(span.end, span, SPAN_END) for span in spans if span.end not in (None, span.order)]
    begins = [(span.order, span, SPAN_MOMENT if span.end == span.order else SPAN_BEGIN) for span in spans]
    numbers: Counter[str] = Counter()
    begin_numbers: dict[tuple[str, int], int] = {}
    for order, span, at in sorted([*begins, *ends], key=lambda event: event[0] or 0):
        body: dict[str, Any] = {"at": at, "title": span.title, "status": span.status, "data": {}}
        if at == SPAN_END:
            body["of"] = begin_numbers[span.scope, span.order]
        else:
            body |= {"name": span.name, "data": span.data}
            begin_numbers[span.scope, span.order] = numbers[span.scope]
        numbers[span.scope] += 1
        yield order or 0, f"{path}/{span.scope}", "span", body
