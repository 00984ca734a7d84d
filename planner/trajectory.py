"""A whole episode, read back from its events."""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol, TypeVar

from planbook.envs import Task
from planbook.planner.memory import Recall
from planbook.planner.templates import PROMPTS
from planbook.planner.types import Cell, Ending, Round, Step, Trajectory


class Event(Protocol):
    """One row of a journal, whoever keeps it."""

    @property
    def scope(self) -> str:
        """Where it happened."""

    @property
    def kind(self) -> str:
        """What kind it is."""

    @property
    def body(self) -> Any:
        """What happened."""


Happened = TypeVar("Happened", bound=Event)


def as_asked(events: Iterable[Happened]) -> list[Happened]:
    """The events as a reader wants them: a reply that was acted upon while it came stands before what it led to."""
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


def read_trajectory(path: str, events: Iterable[Event]) -> Trajectory:
    """The episode at ``path``, out of the events of its scope and those below it, in order. Raises LookupError."""
    events = list(events)
    endings = [event.body for event in events if event.scope == path and event.kind == "outcome"]
    rounds = [event for event in events if _is_round(event.scope, path)]
    numbered = [
        _round(number, list(of_round))
        for number, (_, of_round) in enumerate(groupby(rounds, key=lambda event: event.scope))
    ]
    tasks = [event.body["task"] for event in rounds if event.kind == "task"]
    if not tasks:
        raise LookupError(f"{path}: no episode has begun there")
    recalled = [Recall.model_validate(each.body) for each in events if each.scope == path and each.kind == "recall"]
    ending = Ending.model_validate(endings[0]) if endings else None
    return Trajectory(
        path=path,
        task=Task.model_validate(tasks[0]),
        knowledge=recalled[0].text if recalled else "",
        helpers=recalled[0].helpers if recalled else "",
        rounds=tuple(numbered),
        **({"ending": ending} if ending else {}),
    )


def tell_trajectory(trajectory: Trajectory, *, thoughts: bool = True) -> str:
    """The episode as a prompt shows it: each cell's thought (unless left out), code and feedback."""
    steps = [step for each in trajectory.rounds for step in each.steps]
    refused = sum(not step.observation.accepted for step in steps)
    return PROMPTS["trajectory"].render(trajectory=trajectory, thoughts=thoughts, taken=len(steps), refused=refused)


def _is_round(scope: str, path: str) -> bool:
    inner = scope.removeprefix(f"{path}/round/")
    return inner != scope and "/" not in inner


def _round(number: int, events: list[Event]) -> Round:
    steps: list[Step] = []
    cells: list[Cell] = []
    observation = ""
    for event in events:
        if event.kind == "task":
            observation = event.body["observation"]["text"]
        elif event.kind == "act":
            steps.append(Step.model_validate(event.body))
        elif event.kind == "cell":
            cells.append(Cell.model_validate(event.body))
        elif event.kind == "rewind":
            kept = event.body["steps"]
            steps[kept:] = [step.model_copy(update={"undone": True}) for step in steps[kept:]]
    return Round(number=number, observation=observation, cells=tuple(cells), steps=tuple(steps))
