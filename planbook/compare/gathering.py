"""Everything about a run that comparisons ask for, read once: its episodes, each with its ending and what it cost."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from planbook.config import Config
from planbook.outcomes import TYPE_SOLVED
from planbook.planner import Ending, EventKind, Outcome, Spent
from planbook.planner.budget import add
from planbook.results import NOT_PLAYED
from planbook.run import Entry, Run, index_of, recorded_endings
from planbook.spending import Price
from planbook.store import Event

COUNTED: tuple[EventKind, ...] = ("sitting", "task", "ask", "act", "cell", "outcome")
"""What costs or time are read from."""
OUTSIDE = -1
"""Stands for the number of an episode: what is done outside them all, such as learning."""


class Played(NamedTuple):
    """An episode. Of ``spent``, the seconds go from its first event to its last, without breaks between sittings."""

    entry: Entry
    ending: Ending
    spent: Spent

    @property
    def name(self) -> str:
        """The task, and which of its repeats where it is not the first."""
        return f"{self.entry.task.id}{f' (repeat {self.entry.repeat})' if self.entry.repeat else ''}"


Pair = tuple[Played, Played]
"""The same task, in two runs."""


@dataclass(frozen=True)
class Gathered:
    """A run; building tasks that were left out on purpose are only counted."""

    folder: str
    config: Config
    versions: dict[str, JsonValue]
    """Of packages, and of what the world is made of."""
    episodes: tuple[Played, ...]
    spent: Spent
    """All that the run spent itself: not on episodes that it copied. The seconds are those of its episodes."""
    outside: Spent
    """Of that, what was spent outside its episodes; seconds are not counted there."""
    left_out: int
    faults: tuple[str, ...]
    """Endings that contradict themselves or belong to no task; there should be none."""

    @property
    def worlds(self) -> frozenset[str]:
        """The worlds of its tasks; of a run without tasks none."""
        return frozenset(played.entry.task.env for played in self.episodes)

    @property
    def builds(self) -> bool:
        """Whether it is a building run, in which later tasks are played with more than earlier ones."""
        return self.config.learning is not None


def gather(folder: Path, price: Price) -> Gathered:
    """Read a run. Raises BadRun."""
    with closing(Run.open(folder)) as run:
        entries, endings = run.entries(), recorded_endings(run)
        spent = spent_by_episode(run.store.events(kind=COUNTED), price)
        world = next((event.body for event in run.store.events("run", "versions")), {})
        every = [
            Played(entry, endings.get(entry.index, NOT_PLAYED), spent.get(entry.index, Spent())) for entry in entries
        ]
        outside = spent.get(OUTSIDE, Spent())
        kept = tuple(played for played in every if played.ending.cause != TYPE_SOLVED)
        return Gathered(
            folder=str(folder),
            config=run.config,
            versions={**run.versions, **world},
            episodes=kept,
            spent=outside if run.config.copies else sum(spent.values(), Spent()),
            outside=outside,
            left_out=len(every) - len(kept),
            faults=(*contradictions(every), *_without_task(entries, endings)),
        )


def spent_by_episode(events: Iterable[Event], price: Price) -> dict[int, Spent]:
    """What each episode cost, by its index, whoever paid for it; and by OUTSIDE what was spent on none of them.

    What an episode asked for itself is in it, conclusions too; what was learnt from it afterwards is outside.
    """
    found, seconds, last = (
        defaultdict[int, Spent](Spent),
        defaultdict[int, float](float),
        dict[int, tuple[int, float]](),
    )
    sitting = 0
    for event in events:
        sitting += event.kind == "sitting"
        index = index_of(event.scope)
        found[index] = add(found[index], event.kind, event.body, price)
        if index == OUTSIDE:
            continue
        before = last.get(index)
        seconds[index] += event.at - before[1] if before and before[0] == sitting else 0.0
        last[index] = sitting, event.at
    return {index: spent.model_copy(update={"seconds": seconds[index]}) for index, spent in found.items()}


def contradictions(episodes: Iterable[Played]) -> Iterable[str]:
    """Endings whose outcome is not what their own verdict says; of what was not run there is none."""
    for played in episodes:
        outcome, verdict = played.ending.outcome, played.ending.verdict
        if outcome is not Outcome.NOT_RUN and outcome.solved != verdict.solved:
            said = "solved" if verdict.solved else "not solved"
            yield f"{played.name}: the outcome is {outcome.value}, the verdict beside it {said}"


def _without_task(entries: Iterable[Entry], endings: Iterable[int]) -> Iterable[str]:
    for index in sorted(set(endings) - {entry.index for entry in entries}):
        yield f"task/{index}: an outcome of a task that the run does not list"
