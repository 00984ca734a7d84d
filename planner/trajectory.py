"""The trajectory: a whole episode read back from its events. Nothing else reads them.

Prompts, learning, the report, ``show``, export, import and ``rerun`` all take it. Its JSON is what `planbook export`
writes. ``order`` is a moment of the episode; sorted by it, everything is in the order of time. ``scope`` is the place:
``round/0``, or inside it the namespace of a nested plan, such as ``round/0/plan/1/execute/0``.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import ConfigDict, Field, JsonValue, TypeAdapter

from planbook.envs import Observation, Task
from planbook.planner.journal import Body, EventKind, RecordedEvent
from planbook.planner.memory import Recall
from planbook.planner.models.types import Message, PromptData, Reply, Sampling
from planbook.planner.prompts import PROMPTS
from planbook.planner.rendered import Text
from planbook.planner.spans import SPAN_BEGIN, SPAN_END, SPAN_MOMENT, RecordedSpan, Spans, is_update
from planbook.planner.types import Cell, Ending, Outcome, Record, Step

OBSERVATION = TypeAdapter(Observation)
TRAJECTORY_SCHEMA: Literal["planbook.trajectory/2"] = "planbook.trajectory/2"
"""Files with another number cannot be read by this version."""


class TrajectoryPart(Record):
    """Base of the parts of a trajectory."""

    model_config = ConfigDict(
        use_attribute_docstrings=True,
        allow_inf_nan=False,
        serialize_by_alias=True,
        validate_by_name=True,
        validate_by_alias=True,
    )


class RunFacts(TrajectoryPart):
    """Facts about the run that the episode comes from."""

    planner: str
    """The planning method."""
    config: dict[str, JsonValue] = {}
    """The run's configuration as in its run.json, the seed included; empty if unknown."""
    begun: str = ""
    """Start time, in ISO 8601."""
    versions: dict[str, str] = {}
    """Versions of the installed packages."""
    environment: dict[str, str] = Field(default={}, alias="world")
    """What the environment says it is made of."""


class Recalled(Recall):
    """The knowledge that the planner was given."""

    order: int = Field(ge=0)


class Rewind(TrajectoryPart):
    """A return of environment and namespace to an earlier moment of the round."""

    order: int = Field(ge=0)
    scope: str
    kept: int = Field(ge=0)
    """Number of the round's steps that stand, from its beginning; the steps after them are undone."""


class Round(TrajectoryPart):
    """The part of an episode between two resets of the environment."""

    worded: ClassVar = frozenset({"rewinds", "task"})
    """The steps say what was undone, and prompts name the task themselves."""

    order: int = Field(default=0, ge=0)
    """Moment of the reset."""
    number: int = Field(ge=0)
    """Number of the round, from 0."""
    observation: str = ""
    """The first observation."""
    task: Task | None = Field(default=None, exclude_if=lambda task: task is None)
    """Set only if the task differs from the first round's."""
    cells: tuple[Cell, ...] = ()
    steps: tuple[Step, ...] = ()
    """Steps of all cells, in order; ``scope`` and ``cell`` name a step's cell.

    A cell that never ended has only steps.
    """
    rewinds: tuple[Rewind, ...] = ()


class Call(TrajectoryPart):
    """One question to a language model, and its reply."""

    order: int = Field(ge=0)
    scope: str
    role: str
    template: str
    """Name of the prompt."""
    model: str
    given: PromptData | None = Field(default=None, exclude_if=lambda given: given is None)
    """The data of the prompt, by which ``planbook.planner.models.recordings`` finds replies."""
    sampling: Sampling
    messages: tuple[Message, ...]
    """All messages sent; empty if the episode was exported without prompts."""
    left_out: int = 0
    """Number of messages left out of the history to fit the context."""
    cut_characters: int = 0
    reply: Reply


class Trajectory(TrajectoryPart):
    """One episode: the task, everything that was done for it, and its ending."""

    schema_version: Literal["planbook.trajectory/2"] = Field(default=TRAJECTORY_SCHEMA, alias="schema")
    path: str = Field(default="", exclude=True)
    """Scope of the episode in the journal that it was read from."""
    task: Task
    """``id`` identifies it in its environment; ``params`` is the parsed goal."""
    repeat: int = Field(default=0, ge=0)
    """Repeat of the task in its run, from 0."""
    run: RunFacts = RunFacts(planner="")
    recall: Recalled | None = None
    rounds: tuple[Round, ...] = ()
    spans: tuple[RecordedSpan, ...] = ()
    """What the method recorded about its own structure."""
    calls: tuple[Call, ...] = ()
    ending: Ending = Ending(outcome=Outcome.NOT_RUN)
    """``outcome``; the ``cause`` if the task was not solved; ``verdict`` is the environment's judgement."""

    @property
    def knowledge(self) -> Text:
        """The knowledge that the planner was given."""
        return self.recall.text if self.recall else ""

    @property
    def helpers(self) -> str:
        """Plan code that was defined first."""
        return self.recall.helpers if self.recall else ""


class Shown(Record):
    """The parts of an episode from which prompts are made, and by which recordings find replies."""

    task: Task
    knowledge: Text = ""
    helpers: str = ""
    rounds: tuple[Round, ...] = ()
    ending: Ending = Ending(outcome=Outcome.NOT_RUN)


Happened = TypeVar("Happened", bound=RecordedEvent)


def in_reading_order(events: Iterable[Happened]) -> list[Happened]:
    """Return the events in reading order: a reply stands before what was done while it arrived."""
    events = list(events)
    begun: dict[tuple[str, int], int] = {}
    for order, event in enumerate(events):
        if event.kind == "heard":
            begun.setdefault((event.scope, event.body["ask"]), order)
    asks: Counter[str] = Counter()
    placed: list[tuple[int, Happened]] = []
    for order, event in enumerate(events):
        if event.kind == "ask":
            placed.append((begun.get((event.scope, asks[event.scope]), order), event))
            asks[event.scope] += 1
        elif event.kind != "heard":
            placed.append((order, event))
    return [event for _, event in sorted(placed, key=itemgetter(0))]


def read_trajectory(path: str, events: Iterable[RecordedEvent], task: Task | None = None) -> Trajectory:
    """Read the episode at ``path`` from the events of its scope and below, in order, as far as it got.

    ``task`` is used for an episode that may not have begun; without it, such an episode raises LookupError.
    """
    reader = _Reader(path)
    own = (event for event in events if event.scope == path or event.scope.startswith(f"{path}/round/"))
    order = 0
    for event in in_reading_order(own):
        reader.take(order, event)
        order += not is_update(event)  # it is no part of its own
    if reader.task is None and task is None:
        raise LookupError(f"{path}: no episode has begun there")
    return reader.trajectory(task)


class _Reader:
    """Reads the events of an episode one by one."""

    def __init__(self, path: str) -> None:
        self.task: Task | None = None
        self._path, self._rounds, self._spans = path, list[dict[str, Any]](), Spans()
        self._calls, self._found = list[Call](), dict[str, Any]()

    def take(self, order: int, event: RecordedEvent) -> None:
        """Take one event; events of other kinds are ignored."""
        body, here = event.body, {"order": order, "scope": self._inner(event.scope)}
        self._spans.take(event, order)
        match event.kind:
            case "task":
                self._begin_round(order, body)
            case "act":
                step = Step.model_validate({**body, "order": order, "scope": self._inner(body["scope"])})
                self._rounds[-1]["steps"].append(step)
            case "cell":
                cell = Cell.model_validate({**body, "order": order, "scope": self._inner(body["scope"])})
                self._rounds[-1]["cells"].append(cell)
            case "rewind":
                self._rewind(Rewind(order=order, scope=self._inner(body["path"]), kept=body["steps"]))
            case "ask":
                self._calls.append(Call.model_validate({**body, **here}))
            case "recall":
                self._found["recall"] = Recalled.model_validate({**body, "order": order})
            case "outcome":
                self._found["ending"] = Ending.model_validate(body)

    def trajectory(self, task: Task | None) -> Trajectory:
        """Return the trajectory."""
        rounds = tuple(Round.model_validate(each) for each in self._rounds)
        spans = (span.model_copy(update={"scope": self._inner(span.scope)}) for span in self._spans.recorded())
        found = self._found | {"task": self.task or task, "spans": tuple(spans), "calls": tuple(self._calls)}
        return Trajectory(path=self._path, rounds=rounds, **found)

    def _begin_round(self, order: int, body: Mapping[str, Any]) -> None:
        task = Task.model_validate(body["task"])
        self.task = self.task or task
        begun = {"order": order, "number": len(self._rounds), "observation": body["observation"]["text"]}
        self._rounds.append(
            {**begun, "task": task if task != self.task else None, "cells": [], "steps": [], "rewinds": []}
        )

    def _rewind(self, rewind: Rewind) -> None:
        steps = self._rounds[-1]["steps"]
        steps[rewind.kept :] = [step.model_copy(update={"undone": True}) for step in steps[rewind.kept :]]
        self._rounds[-1]["rewinds"].append(rewind)

    def _inner(self, scope: str) -> str:
        """Return the scope relative to the episode, without the episode's place in the run."""
        return scope.removeprefix(f"{self._path}/")


def tell_trajectory(trajectory: Trajectory, *, thoughts: bool = True) -> str:
    """Return the episode as a prompt shows it: thought (optional), code and feedback of each cell."""
    steps = [step for each in trajectory.rounds for step in each.steps]
    refused = sum(not step.observation.accepted for step in steps)
    shown = Shown(**{name: getattr(trajectory, name) for name in Shown.model_fields})
    return PROMPTS["trajectory"].render(trajectory=shown, thoughts=thoughts, taken=len(steps), refused=refused)


# Writing.

TrajectoryRow = tuple[str, EventKind, int, Body]
"""A journal event: scope, kind, number and body."""
_Moment = tuple[int, str, EventKind, Body]
"""The same with the order in place of the number."""


def rows_of(trajectory: Trajectory, path: str) -> list[TrajectoryRow]:
    """Return the events of the episode at a place of a run, in order: scope, kind, number and body of each."""
    numbers: Counter[tuple[str, EventKind]] = Counter()
    rows: list[TrajectoryRow] = []
    for _, scope, kind, body in sorted(_moments(trajectory, path), key=itemgetter(0)):
        rows.append((scope, kind, numbers[scope, kind], body))
        numbers[scope, kind] += 1
    return [*rows, (path, "outcome", 0, trajectory.ending.model_dump(mode="json"))]


def _moments(trajectory: Trajectory, path: str) -> Iterable[_Moment]:
    if trajectory.recall is not None:
        yield trajectory.recall.order, path, "recall", trajectory.recall.model_dump(mode="json", exclude={"order"})
    for played in trajectory.rounds:
        yield from _of_round(played, trajectory.task, path)
    for call in trajectory.calls:
        yield call.order, f"{path}/{call.scope}", "ask", call.model_dump(mode="json", exclude={"order", "scope"})
    yield from _of_spans(trajectory.spans, path)


def _of_round(played: Round, task: Task, path: str) -> Iterable[_Moment]:
    scope = f"{path}/round/{played.number}"
    told = (played.task or task).model_dump(mode="json")
    observation = OBSERVATION.dump_python(Observation(played.observation), mode="json")
    yield played.order, scope, "task", {"task": told, "observation": observation}
    parts: list[Step | Cell] = [*played.steps, *played.cells]
    for part in parts:
        body = part.model_dump(mode="json", exclude={"order", "undone"})  # what undid a step says so
        kind: EventKind = "act" if isinstance(part, Step) else "cell"
        yield part.order or 0, scope, kind, {**body, "scope": f"{path}/{part.scope}"}
    for rewind in played.rewinds:
        yield rewind.order, scope, "rewind", {"path": f"{path}/{rewind.scope}", "steps": rewind.kept}


def _of_spans(spans: Sequence[RecordedSpan], path: str) -> Iterable[_Moment]:
    """Yield the begin and end events of spans. An end names its beginning by the number that this has in its scope."""
    ends = [(span.end, span, SPAN_END) for span in spans if span.end not in (None, span.order)]
    begins = [(span.order, span, SPAN_MOMENT if span.end == span.order else SPAN_BEGIN) for span in spans]
    numbers: Counter[str] = Counter()
    begun: dict[tuple[str, int], int] = {}
    for order, span, at in sorted([*begins, *ends], key=lambda each: each[0] or 0):
        body: dict[str, Any] = {"at": at, "title": span.title, "status": span.status, "data": {}}
        if at == SPAN_END:
            body["of"] = begun[span.scope, span.order]
        else:
            body |= {"name": span.name, "data": span.data}
            begun[span.scope, span.order] = numbers[span.scope]
        numbers[span.scope] += 1
        yield order or 0, f"{path}/{span.scope}", "span", body
