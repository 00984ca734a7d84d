"""The row of an episode in the table of results, which is read from the episode's events one by one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from planbook.envs import EnvsError, Task, known_environment
from planbook.planner import (
    NOT_JUDGED,
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
from planbook.runs import DIVERGED, Entry
from planbook.store import RESTART, Event
from planbook.wording import TYPE_SOLVED

NOTHING = Spent()
NOT_PLAYED = Ending(outcome=Outcome.NOT_RUN, cause=Outcome.NOT_RUN.value)
OWN = re.compile(rf"task/\d+({RESTART}\d+)?(/round/\d+)?")
"""Matches the scopes of an episode's own endings and resets."""
INSIDE = re.compile(rf"task/\d+(?:{RESTART}(\d+))?/round/.+")
"""Matches a scope inside an attempt at an episode, with the number of restarts before it."""
METHOD_EVENTS: frozenset[EventKind] = frozenset({"span", "act", "rewind", *OLD_SPAN_KINDS})
"""Kinds of events from which claims and the figures of methods are read."""
TIMED_EVENTS: frozenset[EventKind] = frozenset({"task", "ask", "act", "cell", "outcome"})
"""Kinds of events from which the duration of an episode is read."""
ClaimKind = Literal["solved", "not solved", "nothing"]
NO_CLAIM: ClaimKind = "nothing"
CLAIMS: dict[bool | None, ClaimKind] = {True: "solved", False: "not solved", None: NO_CLAIM}
ANSWERED = "an answer was delivered"


class TaskClaim(BaseModel):
    """The last recorded claim about a whole task, its author, and the environment's verdict. Claims are never guessed.

    Some methods make no claim about the whole task: stored procedures, given code, AutoManual (it replans as long as
    it may), AgentKit (its steps run out), ProgPrompt and Code as Policies (a program that ended may have found that it
    can do nothing), random actions. A last action that delivers an answer is a claim of success, whatever the method.
    ``played`` is False for an episode that was broken, not played or not judged: no verdict contradicts the claim.
    """

    task: str
    repeat: int
    claim: ClaimKind
    by: str = ""
    solved: bool
    played: bool = True

    @property
    def is_false(self) -> bool:
        """True if the verdict contradicts the claim."""
        return self.played and self.claim != NO_CLAIM and (self.claim == "solved") != self.solved


@dataclass
class Result:
    """One episode of a run."""

    entry: Entry
    answering: str = ""
    """The action that delivers an answer, as the run recorded it; if empty, the installed environment is asked."""
    copied: bool = False
    """True if another run played the episode, and paid for it."""
    bulky: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Fields of spans that are dropped, by name of span."""
    given_task: Task | None = None
    """The task from the environment, once the episode has begun."""
    ending: Ending = NOT_PLAYED
    spent: Spent = NOTHING
    """Calls, tokens, money and actions, even if another run paid for them; seconds are kept separately."""
    seconds: float = 0.0
    """Time from the first event to the last, without breaks between invocations."""
    events: int = 0
    """The number of events read so far."""
    _attempt: "_EpisodeAttempt" = field(init=False)
    _last: tuple[int, float] = (-1, 0.0)
    """The invocation and the time of the last timed event."""

    def __post_init__(self) -> None:
        self._attempt = _EpisodeAttempt(self.bulky)

    def take(self, event: Event, cost: Spent | None, invocation: int) -> bool:
        """Read the next event of the episode; return whether it is an ending."""
        self.events += 1
        self.spent = self.spent + cost if cost else self.spent
        if event.kind in TIMED_EVENTS:
            number, at = self._last
            self.seconds += event.at - at if number == invocation else 0.0
            self._last = invocation, event.at
        if event.kind in METHOD_EVENTS and (inside := INSIDE.fullmatch(event.scope)):
            self._take_method_event(event, int(inside[1] or 0))
        return self._take_ending(event)

    def _take_method_event(self, event: Event, restarts: int) -> None:
        """Read an event of the method; if the episode was started over, the last attempt counts."""
        if restarts > self._attempt.restarts:
            self._attempt = _EpisodeAttempt(self.bulky, restarts)
        if restarts == self._attempt.restarts:
            self._attempt.take(event)

    def _take_ending(self, event: Event) -> bool:
        """Read the task or the ending, unless it is a trial's; return whether it is an ending."""
        body: Any = event.body
        if event.kind not in ("task", "outcome") or not OWN.fullmatch(event.scope):
            return False
        if event.kind == "task":
            self.given_task = Task.model_validate(body["task"])
            return False
        ending = Ending.model_validate(body)
        if ending.cause == DIVERGED:
            return False
        self.ending = ending
        return True

    @property
    def index(self) -> int:
        """The number of the episode in its run, from 0."""
        return self.entry.index

    @property
    def task(self) -> Task:
        """The task from the environment; before the episode begins, the task that the run lists."""
        return self.given_task or self.entry.task

    @property
    def type(self) -> str:
        """The type of the task; if it has none, the found type with which its goal was matched."""
        return self.entry.task.type or (self.match.type if self.match else "")

    @property
    def match(self) -> Match | None:
        """The last match of the task's goal with a found type, if the method matches goals."""
        matches = [Match.model_validate(span.data) for span in self.spans if span.name == Match.span]
        return matches[-1] if matches else None

    @property
    def repeat(self) -> int:
        """The repeat of the task, from 0."""
        return self.entry.repeat

    @property
    def name(self) -> str:
        """The task's id, with the repeat if it is not the first."""
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
        """True if the episode has begun and not ended."""
        return self.events > 0 and self.outcome is Outcome.NOT_RUN and not self.is_skipped

    @property
    def is_skipped(self) -> bool:
        """True if the episode was left out on purpose, so it counts nowhere."""
        return self.ending.cause == TYPE_SOLVED

    @property
    def cost(self) -> Spent:
        """The cost to the run itself."""
        return NOTHING if self.copied else self.spent

    @property
    def spans(self) -> list[RecordedSpan]:
        """The spans that the method recorded, in the order in which they began, without bulky fields."""
        return list(self._attempt.spans.recorded())

    @property
    def claim(self) -> TaskClaim:
        """The last claim about the task. An answer that was delivered counts as a claim of success."""
        step, claim = self._attempt.last_step, self._attempt.claim
        by, claimed = (claim.by, claim.done) if claim else ("", None)
        answering = (self.answering or _answering_action(self.entry.task.env)) if step else None
        if step and step["action"]["name"] == answering and step["observation"]["accepted"]:
            by, claimed = ANSWERED, True
        return TaskClaim(
            task=self.entry.task.id,
            repeat=self.repeat,
            claim=CLAIMS[claimed],
            by=by if claimed is not None else "",
            solved=self.solved,
            played=self.outcome.played and self.ending.cause != NOT_JUDGED,
        )


class _EpisodeAttempt:
    """The spans, last action and claim of one attempt at an episode."""

    def __init__(self, bulky: Mapping[str, frozenset[str]], restarts: int = 0) -> None:
        self.restarts = restarts
        self.spans = Spans(bulky)
        self.last_step: Any = None
        """The last action with its observation, as recorded."""
        self.claim: Claim | None = None
        """The method's claim about the whole task, if no action followed it."""
        self._count = 0

    def take(self, event: Event) -> None:
        """Read the next event."""
        body: Any = event.body
        self.spans.take(event, self._count)
        self._count += 1
        if event.kind == "act":
            self.last_step, self.claim = body, None
        elif event.kind == "rewind":
            self.claim = None
        elif event.kind == "span" and body.get("name") == Claim.span:
            self.claim = Claim.model_validate(body["data"])


def _answering_action(env: str) -> str | None:
    """Return the action of an environment that delivers answers; None if it has none, or is not installed."""
    try:
        return known_environment(env).answering or None
    except EnvsError:
        return None
