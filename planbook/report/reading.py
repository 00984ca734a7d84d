"""A run read once from end to end: what was played, what it came to, and what it cost.

Every event is looked at once, in one query, so that a run that is being played meanwhile is seen as it stood at one
moment.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from planbook.envs import Task
from planbook.figures.milestones import known_milestones
from planbook.figures.plays import Plays
from planbook.figures.summary import NOT_PLAYED, Summary, summarise
from planbook.outcomes import TYPE_SOLVED
from planbook.planner import Ending, Outcome, Spent
from planbook.planner.budget import cost_of
from planbook.planner.strategies import figures_of
from planbook.run import DIVERGED, Entry, Run, index_of, set_aside
from planbook.spending import Price, prices_from
from planbook.store import RESTART, Event

NOTHING = Spent()
OWN = re.compile(rf"task/\d+({RESTART}\d+)?(/round/\d+)?")
"""The scopes of an episode's own endings and resets."""


@dataclass
class Played:
    """One episode: what is known of it without reading it cell by cell."""

    entry: Entry
    task: Task
    """As the world told it, where it did."""
    ending: Ending = NOT_PLAYED
    cost: Spent = NOTHING
    events: int = 0
    """How many had been written when the run was read."""

    @property
    def index(self) -> int:
        """Its number in the run, from 0."""
        return self.entry.index

    @property
    def is_open(self) -> bool:
        """Whether it had begun and not ended."""
        return self.events > 0 and self.ending.outcome is Outcome.NOT_RUN and not self.is_skipped

    @property
    def is_skipped(self) -> bool:
        """Whether it was left out on purpose, so that it counts nowhere."""
        return self.ending.cause == TYPE_SOLVED


@dataclass(frozen=True)
class Speaker:
    """Who was asked, and how; ``served`` is the name that the server gave."""

    role: str
    model: str
    served: str
    sampling: str


@dataclass
class RunRead:
    """A run as it stood at one moment. ``order`` lists the episodes that had ended, in the order of their ends.

    ``name`` is what the page calls it, unlike any other run there.
    """

    run: Run
    name: str
    episodes: dict[int, Played]
    order: list[int] = field(default_factory=list)
    outside: list[Event] = field(default_factory=list)
    """What happened outside every episode."""
    outside_cost: Spent = NOTHING
    speakers: dict[Speaker, Spent] = field(default_factory=dict)
    prompts: dict[str, Spent] = field(default_factory=dict)
    """By prompt: a template's name, or that of a graph's node."""
    versions: dict[str, str] = field(default_factory=dict)
    """What the world was made of, where it said so."""
    plays: Plays = field(default_factory=Plays)
    """What its method recorded of its own."""
    set_aside: frozenset[str] = frozenset()
    """Scopes of endings that do not count, as their episodes were to be played again."""
    first: float | None = None
    last: float | None = None
    """Seconds since 1970, of the first event that was played and of the last."""
    _summary: Summary | None = None

    @property
    def seconds(self) -> float:
        """From the first event to the last, pauses of the run included."""
        return (self.last or 0.0) - (self.first or 0.0)

    @property
    def cost(self) -> Spent:
        """All that the run spent."""
        return sum((played.cost for played in self.episodes.values()), self.outside_cost)

    def summary(self) -> Summary:
        """What `planbook run` would print of the run as it stood; counted once."""
        if self._summary is None:
            endings = {index: self.episodes[index].ending for index in self.order}
            entries = [played.entry for played in self.episodes.values()]
            known, own = known_milestones(self.run.config), figures_of(self.run.config.planner)
            folder = str(self.run.folder)
            self._summary = summarise(
                entries, endings, self.seconds, folder, self.cost, self.plays, known, self.run.unjudgeable, own
            )
        return self._summary

    def events(self, played: Played) -> Iterator[Event]:
        """An episode's events, as many as there were when the run was read."""
        return islice(self.run.store.events(played.entry.path), played.events)


def read_run(run: Run, name: str, price: Price | None = None) -> RunRead:
    """Read a run that may be unfinished, or going on in another process; ``price`` is by the table that ships."""
    price = price or prices_from(None)
    found = RunRead(
        run,
        name,
        {entry.index: Played(entry, entry.task) for entry in run.entries()},
        plays=Plays(run.config.env),
    )
    found.set_aside = set_aside(run)
    for event in run.store.events():
        if (event.scope, event.kind) != ("run", "task"):
            take(found, event, price)
    return found


def take(found: RunRead, event: Event, price: Price) -> None:
    """Read one more event of the run. An episode that it copied from another cost that one."""
    found._summary = None
    own = found.run.is_own(event)
    cost = (cost_of(event.kind, event.body, price) or NOTHING) if own else NOTHING
    found.first = event.at if found.first is None else found.first
    found.last = max(event.at, found.last or 0.0)
    found.plays.take(event)
    if (event.scope, event.kind) == ("run", "versions"):
        found.versions.update({name: str(version) for name, version in event.body.items()})
    elif played := found.episodes.get(index_of(event.scope)):
        played.events += 1
        played.cost += cost
        _note(found, played, event)
    else:
        found.outside.append(event)
        found.outside_cost += cost
    if own and event.kind == "ask":
        speaker, prompt = _speaker(event.body), str(event.body["template"])
        found.speakers[speaker] = found.speakers.get(speaker, NOTHING) + cost
        found.prompts[prompt] = found.prompts.get(prompt, NOTHING) + cost


def _note(found: RunRead, played: Played, event: Event) -> None:
    """Keep an ending (of an episode that was started over, the last), and the task as the world told it.

    An episode that something in this one played to try a thing out has its own of both; they are not this one's.
    """
    body: Any = event.body
    if not OWN.fullmatch(event.scope):
        return
    if event.kind == "task":
        played.task = Task.model_validate(body["task"])
    if event.kind == "outcome":
        ending = Ending.model_validate(body)
        if ending.cause != DIVERGED and event.scope not in found.set_aside:
            played.ending = ending
            found.order.append(played.index)


def _speaker(body: Any) -> Speaker:
    sampling = {name: value for name, value in body["sampling"].items() if name != "sample" and value not in (None, [])}
    told = ", ".join(f"{name} {value}" for name, value in sampling.items())
    return Speaker(body["role"], body["model"], body["reply"]["model"], told)
