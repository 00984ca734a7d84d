"""The row of an episode in the table of results. It is filled in as the episode's events are read, one by one."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
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
    SpanReader,
    Spending,
)
from planbook.runs import DIVERGED, EpisodeEntry
from planbook.store import RESTART, Event
from planbook.wording import TYPE_SOLVED

NOTHING = Spending()
NOT_PLAYED = Ending(outcome=Outcome.NOT_RUN, cause=Outcome.NOT_RUN.value)
OWN_SCOPE = re.compile(rf"task/\d+({RESTART}\d+)?(/round/\d+)?")
"""Matches the scopes in which the task and the ending of an episode are recorded, but not scopes of trials inside it.

A scope is a path under which a part of a run stores its events."""
INNER_SCOPE = re.compile(rf"task/\d+(?:{RESTART}(\d+))?/round/.+")
"""Matches a scope inside an attempt at an episode. Its group is the number of restarts before the attempt."""
METHOD_EVENTS: frozenset[EventKind] = frozenset({"span", "act", "rewind", *OLD_SPAN_KINDS})
"""Kinds of events from which claims and the statistics of planning methods are read."""
TIMED_EVENTS: frozenset[EventKind] = frozenset({"task", "ask", "act", "cell", "outcome"})
"""Kinds of events from which the duration of an episode is read."""
ClaimKind = Literal["solved", "not solved", "nothing"]
NO_CLAIM: ClaimKind = "nothing"
CLAIMS: dict[bool | None, ClaimKind] = {True: "solved", False: "not solved", None: NO_CLAIM}
ANSWERED = "an answer was delivered"


class TaskClaim(BaseModel):
    """The last claim in an episode about whether the whole task is solved, and the environment's verdict.

    ``by`` is the author of the claim, and ``solved`` the verdict. Only recorded claims count. Some methods record no
    claim about the whole task: stored procedures, given code, random actions, AutoManual (it replans until its limit),
    AgentKit (its steps run out), and ProgPrompt and Code as Policies (a program may end because it can do nothing).
    With any method, delivering an answer as the last action is a claim of success. ``played`` is False for an episode
    that was broken, not played or not judged. The claim in such an episode is never counted as false.
    """

    task: str
    repeat: int
    claim: ClaimKind
    by: str = ""
    solved: bool
    played: bool = True

    def __str__(self) -> str:
        """Name the episode and the claim."""
        return f"{episode_name(self.task, self.repeat)} (claimed {self.claim})"

    @property
    def is_false(self) -> bool:
        """True if the verdict contradicts the claim."""
        return self.played and self.claim != NO_CLAIM and (self.claim == "solved") != self.solved


@dataclass
class EpisodeResult:
    """The row of an episode in the table of results."""

    entry: EpisodeEntry
    answer_action: str = ""
    """The name of the action that delivers an answer. If it is "", because the run has not recorded it, the installed
    environment gives the name."""
    is_copied: bool = False
    """True if another run played the episode and paid for it."""
    bulky_fields: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Maps names of spans to fields that are dropped because they are large. A span is a part of an episode, with data
    that the planning method has recorded."""
    environment_task: Task | None = None
    """The task as the environment gave it when the episode began."""
    ending: Ending = NOT_PLAYED
    spent: Spending = NOTHING
    """The calls, tokens, money and actions of the episode, even if another run paid for them."""
    seconds: float = 0.0
    """The time from the first event to the last, without the time between invocations."""
    events: int = 0
    """The number of events read so far."""
    _restarts: int = -1
    """The number of restarts before the last attempt. The next three fields are about this attempt only."""
    _span_reader: SpanReader = field(default_factory=SpanReader)
    _last_step: Any = None
    """The last action with its observation, as recorded."""
    _claim: Claim | None = None
    """The method's claim about the whole task, if no action followed it."""
    _last_timed: tuple[int, float] = (-1, 0.0)
    """The invocation and the time of the last timed event."""

    def take(self, event: Event, cost: Spending | None, invocation: int) -> bool:
        """Read the next event of the episode. Return True if it is the episode's ending."""
        self.events += 1
        if cost:
            self.spent += cost
        if event.kind in TIMED_EVENTS:
            number, at = self._last_timed
            self.seconds += max(0.0, event.at - at) if number == invocation else 0.0
            self._last_timed = invocation, event.at
        if event.kind in METHOD_EVENTS and (inside := INNER_SCOPE.fullmatch(event.scope)):
            self._take_method_event(event, int(inside[1] or 0))
        return self._take_ending(event)

    def _take_method_event(self, event: Event, restarts: int) -> None:
        """Read an event of the planning method. Only the last attempt at the episode counts."""
        if restarts < self._restarts:
            return
        if restarts > self._restarts:
            self._restarts, self._last_step, self._claim = restarts, None, None
            self._span_reader = SpanReader(self.bulky_fields)
        body: Any = event.body
        self._span_reader.read(event, self.events)
        if event.kind == "act":
            self._last_step, self._claim = body, None
        elif event.kind == "rewind":
            self._claim = None
        elif event.kind == "span" and body.get("name") == Claim.span:
            self._claim = Claim.model_validate(body["data"])
        elif event.kind == "subtask" and body["depth"] == 1:  # runs of 0.1.0 record no other claims
            self._claim = Claim.model_validate({"done": body["done"], "by": body["by"]})

    def _take_ending(self, event: Event) -> bool:
        """Read an event that records the task or the ending of the episode itself. Return True for an ending."""
        body: Any = event.body
        if event.kind not in ("task", "outcome") or not OWN_SCOPE.fullmatch(event.scope):
            return False
        if event.kind == "task":
            self.environment_task = Task.model_validate(body["task"])
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
        """The task as the environment gave it, or as the run lists it if the episode has not begun."""
        return self.environment_task or self.entry.task

    @property
    def type(self) -> str:
        """The type of the task, or else the found type that matches its goal, or else ""."""
        return self.entry.task.type or (self.match.type if self.match else "")

    @property
    def match(self) -> Match | None:
        """The last match of the task's goal with the found types, or None if the goal was not matched."""
        matches = [Match.model_validate(span.data) for span in self.spans if span.name == Match.span]
        return matches[-1] if matches else None

    @property
    def repeat(self) -> int:
        """The number of the repeat of the task, from 0."""
        return self.entry.repeat

    @property
    def name(self) -> str:
        """The id of the task, followed by the number of the repeat unless it is 0."""
        return episode_name(self.entry.task.id, self.repeat)

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
        """True if the episode has begun, but not ended."""
        return self.events > 0 and self.outcome is Outcome.NOT_RUN and not self.is_skipped

    @property
    def is_skipped(self) -> bool:
        """True if a run of `planbook build` skipped the episode: its type had been solved often enough in a row.

        A skipped episode is not counted anywhere.
        """
        return self.ending.cause == TYPE_SOLVED

    @property
    def cost(self) -> Spending:
        """The costs of the episode for this run: nothing if the episode was copied from another run."""
        return NOTHING if self.is_copied else self.spent

    @property
    def spans(self) -> list[RecordedSpan]:
        """The spans that the method recorded, in the order in which they began, without the ``bulky_fields``."""
        return list(self._span_reader.spans())

    @property
    def claim(self) -> TaskClaim:
        """The last claim about the task. If the last action delivered an answer, this is a claim of success."""
        step, claim = self._last_step, self._claim
        author, claimed = (claim.by, claim.done) if claim else ("", None)
        answer_action = (self.answer_action or _answer_action(self.entry.task.env)) if step else None
        if step and step["action"]["name"] == answer_action and step["observation"]["accepted"]:
            author, claimed = ANSWERED, True
        return TaskClaim(
            task=self.entry.task.id,
            repeat=self.repeat,
            claim=CLAIMS[claimed],
            by=author if claimed is not None else "",
            solved=self.solved,
            played=self.outcome.played and self.ending.cause != NOT_JUDGED,
        )


def episode_name(task: str, repeat: int) -> str:
    """Return the id of a task, followed by the number of the repeat unless it is 0."""
    return f"{task}{f' (repeat {repeat})' if repeat else ''}"


def by_task(rows: Iterable[EpisodeResult]) -> list[list[EpisodeResult]]:
    """Group the episodes by task."""
    episodes = defaultdict[tuple[str, str, int], list[EpisodeResult]](list)
    for row in rows:
        task = row.entry.task
        episodes[task.env, task.id, task.seed].append(row)
    return list(episodes.values())


def _answer_action(env: str) -> str | None:
    """Return the name of the environment's action that delivers an answer.

    Return None if the environment has no such action, or is not installed.
    """
    try:
        return known_environment(env).answer_action or None
    except EnvsError:
        return None
