"""A run read once from end to end: what was played, what it came to, and what it cost.

Every event is looked at once, in one query, so that a run that is being played meanwhile is seen as it stood at one
moment.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from envs import Task
from planbook.run import Entry, Run
from planbook.runner import DIVERGED
from planbook.store import Event
from planbook.summary import NOT_PLAYED, Summary, summarise
from planner import Ending, Outcome

EPISODES = "task/"
"""Begins the scopes of episodes."""


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
    summed = Cost()
    for cost in costs:
        summed = replace(
            summed,
            **{name: getattr(summed, name) + getattr(cost, name) for name in COUNTED},
            estimated=summed.estimated or cost.estimated,
        )
    return summed


COUNTED = ("calls", "replayed", "prompt", "cached", "completion", "seconds", "actions")


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
    templates: Counter[str] = field(default_factory=Counter)
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
        """What `planbook run` would print of the run as it stood."""
        endings = {index: self.episodes[index].ending for index in self.order}
        entries = [played.entry for played in self.episodes.values()]
        return summarise(entries, endings, self.seconds, str(self.run.folder))

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
    if event.scope.startswith(EPISODES):
        played = found.episodes[int(event.scope.split("/")[1])]
        played.events += 1
        played.cost.count(event)
        _note(found, played, event)
    else:
        found.outside.append(event)
        found.outside_cost.count(event)
    if event.kind == "ask":
        found.speakers.setdefault(_speaker(event.body), Cost()).count(event)
        found.templates[_template(event.body)] += 1


def _note(found: RunRead, played: Played, event: Event) -> None:
    """Keep an ending (of an episode that was started over, the last), and the task as the world told it."""
    body: Any = event.body
    if event.kind == "task":
        played.task = Task.model_validate(body["task"])
    if event.kind == "outcome":
        ending = Ending.model_validate(body)
        if ending.cause != DIVERGED:
            played.ending = ending
            found.order.append(played.index)


def _speaker(body: Any) -> Speaker:
    chosen = ", ".join(f"{name} {value}" for name, value in body["sampling"].items() if value not in (None, [], ""))
    return Speaker(body["role"], body["model"], body["reply"]["model"], chosen)


def _template(body: Any) -> str:
    return str(body["template"])
