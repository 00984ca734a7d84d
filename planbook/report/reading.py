"""A run read once from end to end: what was played, what it came to, and what it cost.

Every event is looked at once, in one query, so that a run that is being played meanwhile is seen as it stood at one
moment.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from envs import Task
from planbook.episodes.runner import DIVERGED
from planbook.figures.deeds import Deeds
from planbook.figures.milestones import known_milestones
from planbook.figures.summary import NOT_PLAYED, Summary, summarise
from planbook.run import Entry, Run
from planbook.spending import prices_from, spent_so_far
from planbook.store import Event
from planner import Ending, Outcome

SUMMED = ("calls", "replayed", "prompt", "cached", "completion", "seconds", "actions")
"""What of a cost adds up."""
OWN = re.compile(r"task/\d+(/restart/\d+)?(/round/\d+)?")
"""The scopes of an episode's own endings and resets."""


@dataclass
class Cost:
    """What was spent; ``prompt``, ``cached`` (among the prompt's) and ``completion`` are tokens.

    ``replayed`` of the calls were answered out of a recording. ``seconds`` is how long the models took to answer.
    ``estimated`` says that some of the tokens are not the server's own count.
    """

    calls: int = 0
    replayed: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    seconds: float = 0.0
    actions: int = 0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion

    def count(self, event: Event) -> None:
        """Add what one event cost."""
        body: Any = event.body
        if event.kind == "act":
            self.actions += bool(body["counted"])
        if event.kind == "ask":
            reply, usage = body["reply"], body["reply"]["usage"]
            self.calls += 1
            self.replayed += bool(reply["replayed"])
            self.prompt += usage["prompt"]
            self.cached += usage["cached"]
            self.completion += usage["completion"]
            self.seconds += reply["seconds"]
            self.estimated |= bool(usage["estimated"])


def total(costs: Iterable[Cost]) -> Cost:
    """The sum."""
    every = list(costs)
    summed = {name: sum(getattr(cost, name) for cost in every) for name in SUMMED}
    return Cost(**summed, estimated=any(cost.estimated for cost in every))


@dataclass
class Played:
    """One episode: what is known of it without reading it cell by cell."""

    entry: Entry
    task: Task
    """As the world told it, where it did."""
    ending: Ending = NOT_PLAYED
    cost: Cost = field(default_factory=Cost)
    events: int = 0
    """How many had been written when the run was read."""

    @property
    def index(self) -> int:
        """Its number in the run, from 0."""
        return self.entry.index

    @property
    def is_open(self) -> bool:
        """Whether it had begun and not ended."""
        return self.events > 0 and self.ending.outcome is Outcome.NOT_RUN


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
    outside_cost: Cost = field(default_factory=Cost)
    speakers: dict[Speaker, Cost] = field(default_factory=dict)
    prompts: dict[str, Cost] = field(default_factory=dict)
    """By prompt: a template's name, or that of a graph's node."""
    versions: dict[str, str] = field(default_factory=dict)
    """What the world was made of, where it said so."""
    deeds: Deeds = field(default_factory=Deeds)
    """What its method recorded of its own."""
    first: float | None = None
    last: float | None = None
    """Seconds since 1970, of the first event that was played and of the last."""

    @property
    def seconds(self) -> float:
        """From the first event to the last, pauses of the run included."""
        return (self.last or 0.0) - (self.first or 0.0)

    @property
    def cost(self) -> Cost:
        """All that the run spent."""
        return total([*(played.cost for played in self.episodes.values()), self.outside_cost])

    def summary(self) -> Summary:
        """What `planbook run` would print of the run as it stood, by the price table that ships."""
        endings = {index: self.episodes[index].ending for index in self.order}
        entries = [played.entry for played in self.episodes.values()]
        spent = spent_so_far(self.run.own_events(), prices_from(None))
        known = known_milestones(self.run.config)
        return summarise(entries, endings, self.seconds, str(self.run.folder), spent, self.deeds, known)

    def events(self, played: Played) -> Iterator[Event]:
        """An episode's events, as many as there were when the run was read."""
        return islice(self.run.store.events(played.entry.path), played.events)


def read_run(run: Run, name: str) -> RunRead:
    """Read a run that may be unfinished, or going on in another process."""
    found = RunRead(run, name, {entry.index: Played(entry, entry.task) for entry in run.entries()})
    for event in run.store.events():
        if (event.scope, event.kind) != ("run", "task"):
            _take(found, event)
    return found


def _take(found: RunRead, event: Event) -> None:
    found.first = event.at if found.first is None else found.first
    found.last = max(event.at, found.last or 0.0)
    found.deeds.take(event)
    if (event.scope, event.kind) == ("run", "versions"):
        found.versions.update({name: str(version) for name, version in event.body.items()})
    elif played := found.episodes.get(_index(event.scope)):
        played.events += 1
        played.cost.count(event)
        _note(found, played, event)
    else:
        found.outside.append(event)
        found.outside_cost.count(event)
    if event.kind == "ask":
        found.speakers.setdefault(_speaker(event.body), Cost()).count(event)
        found.prompts.setdefault(str(event.body["template"]), Cost()).count(event)


def _index(scope: str) -> int:
    """The number of the episode that a scope lies in; -1 for one outside."""
    name, _, below = scope.partition("/")
    number = below.partition("/")[0]
    return int(number) if name == "task" and number.isdecimal() else -1


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
        if ending.cause != DIVERGED:
            played.ending = ending
            found.order.append(played.index)


def _speaker(body: Any) -> Speaker:
    sampling = {name: value for name, value in body["sampling"].items() if name != "sample" and value not in (None, [])}
    told = ", ".join(f"{name} {value}" for name, value in sampling.items())
    return Speaker(body["role"], body["model"], body["reply"]["model"], told)
