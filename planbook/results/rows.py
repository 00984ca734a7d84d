"""The row of an episode in the table of results, and how it is read from the episode's events, one after the other."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from planbook.envs import EnvsError, Task, load_environment
from planbook.planner import (
    OLD_SPAN_KINDS,
    Claim,
    Ending,
    EventKind,
    Match,
    Outcome,
    RecordedSpan,
    Spans,
    Spent,
)
from planbook.results.claims import ANSWERED, IN_WORDS, TaskClaim
from planbook.runs import DIVERGED, Entry
from planbook.store import RESTART, Event
from planbook.wording import TYPE_SOLVED

NOTHING = Spent()
NOT_PLAYED = Ending(outcome=Outcome.NOT_RUN, cause=Outcome.NOT_RUN.value)
OWN = re.compile(rf"task/\d+({RESTART}\d+)?(/round/\d+)?")
"""The scopes of an episode's own endings and resets."""
INSIDE = re.compile(rf"task/\d+(?:{RESTART}(\d+))?/round/.+")
"""A scope inside the play of an episode, with the number of restarts before that play."""
OF_METHODS: frozenset[EventKind] = frozenset({"span", "act", "rewind", *OLD_SPAN_KINDS})
"""Kinds of events that claims and the figures of methods are read from."""
TIMED: frozenset[EventKind] = frozenset({"task", "ask", "act", "cell", "outcome"})
"""Kinds of events that tell how long an episode took."""


@dataclass
class Result:
    """One episode of a run."""

    entry: Entry
    run: str = ""
    """The name of the run."""
    env: str = ""
    """The environment, where it is a file of the user's own; else the task names it."""
    copied: bool = False
    """True if another run played the episode, and paid for it."""
    bulky: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Fields of spans that are not kept, by name of span."""
    given_task: Task | None = None
    """The task as the environment gave it, once the episode has begun."""
    ending: Ending = NOT_PLAYED
    spent: Spent = NOTHING
    """Calls, tokens, money and actions, whoever paid for them; seconds are apart."""
    seconds: float = 0.0
    """From the first event to the last, without breaks between invocations."""
    events: int = 0
    """The number of events read so far, which tells what a run held when it was read."""
    _played: "_Play" = field(init=False)
    _last: tuple[int, float] = (-1, 0.0)
    """The invocation and the time of the last timed event."""

    def __post_init__(self) -> None:
        self._played = _Play(self.bulky)

    def take(self, event: Event, cost: Spent | None, invocation: int, set_aside: frozenset[str]) -> bool:
        """Read the next event of the episode; return whether it is an ending that counts."""
        self.events += 1
        self.spent = self.spent + cost if cost else self.spent
        if event.kind in TIMED:
            number, at = self._last
            self.seconds += event.at - at if number == invocation else 0.0
            self._last = invocation, event.at
        if event.kind in OF_METHODS and (inside := INSIDE.fullmatch(event.scope)):
            self._take_inside(event, int(inside[1] or 0))
        return self._note(event, set_aside)

    def _take_inside(self, event: Event, restarts: int) -> None:
        """Keep what methods recorded; of an episode that was started over, the last play counts."""
        if restarts > self._played.restarts:
            self._played = _Play(self.bulky, restarts)
        if restarts == self._played.restarts:
            self._played.take(event)

    def _note(self, event: Event, set_aside: frozenset[str]) -> bool:
        """Keep the ending and the task, unless they belong to something that this episode played to try it out."""
        body: Any = event.body
        if event.kind not in ("task", "outcome") or not OWN.fullmatch(event.scope):
            return False
        if event.kind == "task":
            self.given_task = Task.model_validate(body["task"])
            return False
        ending = Ending.model_validate(body)
        if ending.cause == DIVERGED or event.scope in set_aside:
            return False
        self.ending = ending
        return True

    @property
    def index(self) -> int:
        """The number of the episode in its run, from 0."""
        return self.entry.index

    @property
    def task(self) -> Task:
        """The task as the environment gave it; before that, as the run lists it."""
        return self.given_task or self.entry.task

    @property
    def type(self) -> str:
        """The type of the task; of one that has none, the found type that its goal was matched with."""
        return self.entry.task.type or (self.match.type if self.match else "")

    @property
    def match(self) -> Match | None:
        """The last match of the task's goal with a found type, if it was to be matched."""
        found = [Match.model_validate(span.data) for span in self.spans if span.name == Match.span]
        return found[-1] if found else None

    @property
    def repeat(self) -> int:
        """The repeat of the task, from 0."""
        return self.entry.repeat

    @property
    def name(self) -> str:
        """The task's id, with the repeat where it is not the first."""
        return f"{self.entry.task.id}{f' (repeat {self.repeat})' if self.repeat else ''}"

    @property
    def outcome(self) -> Outcome:
        """The outcome of the episode."""
        return self.ending.outcome

    @property
    def solved(self) -> bool:
        """True if the environment judged the task solved."""
        return self.ending.outcome.solved

    @property
    def is_open(self) -> bool:
        """True if it has begun and not ended."""
        return self.events > 0 and self.outcome is Outcome.NOT_RUN and not self.is_skipped

    @property
    def is_skipped(self) -> bool:
        """True if it was left out on purpose, so that it counts nowhere."""
        return self.ending.cause == TYPE_SOLVED

    @property
    def cost(self) -> Spent:
        """The cost to the run itself."""
        return NOTHING if self.copied else self.spent

    @property
    def measures(self) -> Mapping[str, float]:
        """The environment's measures beside success."""
        return self.ending.measures

    @property
    def spans(self) -> list[RecordedSpan]:
        """The spans that the method recorded, in the order in which they began, without bulky fields."""
        return list(self._played.spans.recorded())

    @property
    def claim(self) -> TaskClaim:
        """The last claim about the task. An answer that was delivered counts as a claim of success."""
        act, held = self._played.last_act, self._played.claim
        by, said = (held.by, held.done) if held else ("", None)
        answering = _answering(self.env or self.entry.task.env) if act else None
        if act and act["action"]["name"] == answering and act["observation"]["accepted"]:
            by, said = ANSWERED, True
        return TaskClaim(
            task=self.entry.task.id,
            repeat=self.repeat,
            claim=IN_WORDS[said],
            by=by if said is not None else "",
            solved=self.solved,
            played=self.outcome.played,
        )


class _Play:
    """The events of one play of an episode that claims and figures need."""

    def __init__(self, bulky: Mapping[str, frozenset[str]], restarts: int = 0) -> None:
        self.restarts = restarts
        self.spans = Spans(bulky)
        self.last_act: Any = None
        """The last action with its observation, as recorded."""
        self.claim: Claim | None = None
        """The method's claim about the whole task, if nothing was done after it."""
        self._taken = 0

    def take(self, event: Event) -> None:
        """Read the next event."""
        body: Any = event.body
        self.spans.take(event, self._taken)
        self._taken += 1
        if event.kind == "act":
            self.last_act, self.claim = body, None
        elif event.kind == "rewind":
            self.claim = None
        elif event.kind == "span" and body.get("name") == Claim.span:
            self.claim = Claim.model_validate(body["data"])


@cache
def _answering(env: str) -> str | None:
    """Return the action of an environment that delivers answers; None where it has none, or is not installed."""
    try:
        return load_environment(env).answering or None
    except EnvsError:
        return None
