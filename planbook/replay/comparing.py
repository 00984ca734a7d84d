"""Comparing an episode with its recording: the first difference, and whether only the names of objects differ."""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from planbook.envs import EnvsError, MissingRequirement
from planbook.planner import (
    NOT_JUDGED,
    Body,
    Cell,
    Ending,
    EventKind,
    JournalMismatch,
    MemoryJournal,
    Message,
    ModelError,
    NotRecorded,
    OnText,
    Reply,
    Roles,
    Sampling,
    Step,
    call_of,
    journal_place,
    pass_on,
    play,
)
from planbook.runs import Entry, Run, last_path
from planbook.wording import UNPLAYED, counted, outcome_of, score_of, why
from planbook.workers import EpisodeWorker

Events = Mapping[Any, Body]
NOT_HELD = ("heard", "versions", "sitting", "control")
"""Kinds of events that do not describe how an episode went."""
NUMBER = re.compile(r"\d+")


def is_renaming(before: Events, after: Events, ids: str) -> bool:
    """Return whether one consistent one-to-one renaming of ids turns the first episode into the second.

    A name changes in its numbers only. ``ids`` is the pattern of the names that the environment declares; with none,
    nothing is a renaming.
    """
    if not ids:
        return False
    one, other = (
        {key: _held(key[1], body) for key, body in of.items() if key[1] not in NOT_HELD} for of in (before, after)
    )
    return one.keys() == other.keys() and _Renaming(ids).fits(one, {key: other[key] for key in one})


def _held(kind: str, body: Any) -> Any:
    """Return the part of an event that is compared; of a model call, the prompt and the text of the reply."""
    if kind != "ask":
        return body
    return body["role"], body["template"], body["messages"], body["reply"]["text"]


class _Renaming:
    """The renamings found so far, in both directions."""

    def __init__(self, ids: str) -> None:
        self._ids = re.compile(rf"(?<!\w)({ids})(?!\w)")
        self._now: dict[str, str] = {}
        self._then: dict[str, str] = {}

    def fits(self, then: Any, now: Any) -> bool:
        """Return whether the two are the same but for names, and the names agree with those seen before."""
        if isinstance(then, Mapping) and isinstance(now, Mapping):
            return then.keys() == now.keys() and all(self.fits(value, now[key]) for key, value in then.items())
        if isinstance(then, list | tuple) and isinstance(now, list | tuple):
            return len(then) == len(now) and all(map(self.fits, then, now))
        if isinstance(then, str) and isinstance(now, str):
            one, other = self._ids.split(then), self._ids.split(now)
            return one[::2] == other[::2] and all(map(self._named, one[1::2], other[1::2]))
        return bool(then == now)

    def _named(self, then: str, now: str) -> bool:
        alike = NUMBER.sub("#", then) == NUMBER.sub("#", now)
        return alike and self._now.setdefault(then, now) == now and self._then.setdefault(now, then) == then


Recorded = Mapping[tuple[str, str, int], Body]


class Sameness(StrEnum):
    """How a replayed episode compares with its recording."""

    SAME = "same"
    RENAMED = "renamed ids"
    """The whole episode differs only in ids that the environment declares, each renamed to one other throughout."""
    DIFFERENT = "different"
    NOT_COMPARED = "not compared"
    """The recording has no ending, or was BROKEN."""


class Comparison(BaseModel):
    """One replayed episode. ``event`` names the first difference: which record, and its number in the round.

    ``then`` and ``now`` say how the episode ended, where that differs in whether it was solved; the recorded replies
    answer its questions after the first difference. Where they do not suffice, ``now`` alone says that.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sameness: Sameness
    event: str = ""
    expected: str = ""
    actual: str = ""
    then: str = ""
    now: str = ""

    def __str__(self) -> str:
        changed = f"\n  the verdict changed: {self.then}, now {self.now}" if self.then else ""
        ends = changed or (f"\n  the verdict now is {self.now}" if self.now else "")
        return f"{self.sameness}, at {self.event}\n  expected: {self.expected}\n  actual:   {self.actual}{ends}"


class Recording:
    """A journal that only answers: an event that it does not hold is a difference.

    Spans are not compared: they follow from everything else.
    """

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """Return the body of a recorded event, or None."""
        return None if kind == "span" else self._recorded.get((scope, kind, number))

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Refuse an event that was not recorded. Raises JournalMismatch."""
        if kind != "span":
            raise JournalMismatch(scope, kind, number, None, dict(body))


class NewEvents(MemoryJournal):
    """A journal that keeps what happens now. Of the recording it gives only what the planner recalled."""

    def __init__(self, recorded: Recorded) -> None:
        super().__init__()
        self._recorded = recorded

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """Return the body of an event of this episode, or what was recalled in the recorded one."""
        found = super().get(scope, kind, number)
        if found is None and kind == "recall" and (found := self._recorded.get((scope, kind, number))) is not None:
            self.put(scope, kind, number, found)
        return found


class RerunModel:
    """A model that gives each question the reply at the same place of the recording, whatever the prompt says."""

    name = "recorded"

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the recorded reply. Raises NotRecorded where nothing was asked."""
        scope, _, number = journal_place().rpartition("/")
        body: Any = self._recorded.get((scope, "ask", int(number)))
        if body is None:
            raise NotRecorded("the planner asks more than was answered then")
        reply = Reply.model_validate(body["reply"])
        text, _ = pass_on(reply.text, on_text)
        return reply.model_copy(update={"text": text})


def replay_episode(run: Run, entry: Entry, worker: EpisodeWorker, ending: Ending | None) -> Comparison:
    """Play an episode again, and compare it with its recording; ``ending`` is the recorded one."""
    if ending is None or ending.outcome in UNPLAYED:
        return Comparison(sameness=Sameness.NOT_COMPARED)
    path = last_path(run, entry)
    recorded = {(row.scope, row.kind, row.n): row.body for row in run.store.events(path)}
    try:
        play(*worker.episode(entry, path, Recording(recorded)))
    except JournalMismatch as mismatch:
        return _judged(run, entry, path, worker, recorded, compared(mismatch))
    except MissingRequirement:
        raise
    except EnvsError as error:
        worker.drop_environment()
        return Comparison(
            sameness=Sameness.NOT_COMPARED, event="the environment", expected="an episode", actual=str(error)
        )
    return Comparison(sameness=Sameness.SAME)


def compared(mismatch: JournalMismatch) -> Comparison:
    """Return a difference in words."""
    bodies = (mismatch.recorded, mismatch.actual)
    expected, actual = (describe(mismatch.kind, body) for body in bodies)
    if expected == actual:  # they differ in what the words leave out
        expected, actual = map(str, bodies)
    return Comparison(
        sameness=Sameness.DIFFERENT,
        event=f"{mismatch.kind} {mismatch.number + 1}",
        expected=expected.strip(),
        actual=actual.strip(),
    )


def _judged(
    run: Run, entry: Entry, path: str, worker: EpisodeWorker, recorded: Recorded, found: Comparison
) -> Comparison:
    """Add what only the whole episode shows: play it to its end with the recorded replies."""
    before, journal = worker.roles, NewEvents(recorded)
    worker.drop_environment()
    worker.roles = Roles(lambda role: RerunModel(recorded), run.config.sampling)
    try:
        ending = play(*worker.episode(entry, path, journal))
    except MissingRequirement:
        raise
    except (EnvsError, ModelError) as error:
        return found.model_copy(update={"now": f"not known: {error}"})
    finally:
        worker.roles = before
        worker.drop_environment()
    changed: dict[str, Any] = {}
    then = Ending.model_validate(recorded[path, "outcome", 0])
    if then.outcome.solved != ending.outcome.solved:
        changed = {which: f"{outcome_of(end)}{why(end)}" for which, end in (("then", then), ("now", ending))}
    elif is_renaming(recorded, journal.events, run.config.environment.object_ids):
        changed = {"sameness": Sameness.RENAMED}
    return found.model_copy(update=changed)


NOTHING = "nothing (the recording ends here)"


def describe(kind: str, body: Any) -> str:
    """Return an event in words; its body as it is where there are none for its kind."""
    if body is None:
        return NOTHING
    return IN_WORDS[kind](body) if kind in IN_WORDS else str(body)


def _task(body: Any) -> str:
    return f"{body['task']['id']}: {body['task']['goal']}\n{body['observation']['text']}"


def _act(body: Any) -> str:
    step = Step.model_validate(body)
    return f"  line {step.line}: {call_of(step.action)} -> {step.observation.text}"


def _cell(body: Any) -> str:
    cell = Cell.model_validate(body)
    faults = "".join(f"\n  {fault}" for fault in cell.feedback.faults)
    return f"{cell.source}: {cell.feedback.kind}{faults}"


def _outcome(body: Any) -> str:
    ending = Ending.model_validate(body)
    after = f"after {counted(ending.actions, 'action')}{score_of(ending)}"
    if ending.cause == NOT_JUDGED:
        return f"{outcome_of(ending)}; {ending.message} ({after})"
    return f"{outcome_of(ending)}{why(ending)} {after}"


IN_WORDS: Mapping[str, Callable[[Any], str]] = {"task": _task, "act": _act, "cell": _cell, "outcome": _outcome}
