"""Replay a run: play its episodes again, and compare each episode with its recording. Nothing is written.

The comparison finds the first event that differs. It also finds out whether the whole episodes differ only in the ids
of objects, for example if `apple_2` is now called `apple_3`.
"""

import queue
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from planbook.envs import EnvsError, MissingRequirement
from planbook.planner import (
    INVOCATION,
    Body,
    Ending,
    EpisodeStopped,
    EventKind,
    JournalMismatch,
    MemoryJournal,
    ModelError,
    Roles,
    play,
)
from planbook.runs import Entry, Run, last_path, recorded_endings
from planbook.wording import describe, outcome_of, reason_of
from planbook.workers import EpisodeWorker, Execution, ReplyRepeater, Switches, in_threads, replies_by_place, workers_of

OnComparison = Callable[[Entry, "Comparison"], None]
Events = Mapping[Any, Body]
"""The events of an episode: maps the (scope, kind, number) of each event to its body."""
IGNORED_KINDS = ("heard", "versions", INVOCATION, "control")
"""Kinds of events that do not describe the course of an episode: a part of a streamed reply (``heard``), versions of
software, the beginning or end of an invocation of planbook, and a request to pause or stop the run."""
NUMBER = re.compile(r"\d+")
EXCERPT_CHARACTERS = 160
"""Maximum number of characters in an excerpt of a text that differs from another text."""
CHARACTERS_BEFORE = 40
"""How many of these characters come before the first difference."""


def is_renaming(recorded: Events, replayed: Events, ids: str) -> bool:
    """Return whether one consistent one-to-one renaming of ids turns the recorded episode into the replayed one.

    A renaming changes only the numbers in an id. ``ids`` is a regular expression for the ids that the environment
    declares. If it is empty, the result is False.
    """
    if not ids:
        return False
    then, now = (
        {key: compared_part(key[1], body) for key, body in events.items() if key[1] not in IGNORED_KINDS}
        for events in (recorded, replayed)
    )
    return then.keys() == now.keys() and _Renaming(ids).fits(then, {key: now[key] for key in then})


def compared_part(kind: str, body: Any) -> Any:
    """Return the part of an event that is compared.

    For a model call, neither the model nor the duration is compared. Digests of the data in prompts are not compared
    either, because runs of planbook 0.1.0 do not have them.
    """
    if kind != "ask":
        return {name: value for name, value in body.items() if (kind, name) != ("recall", "data")}
    question = {name: body[name] for name in ("role", "template")}
    prompt = "\n\n".join(message["content"] for message in body["messages"])
    return question | {"prompt": prompt, "reply": body["reply"]["text"], "finish": body["reply"]["finish"]}


class _Renaming:
    """The pairs of old and new ids found so far, in both directions."""

    def __init__(self, ids: str) -> None:
        self._ids = re.compile(rf"(?<!\w)({ids})(?!\w)")
        self._new_names: dict[str, str] = {}
        self._old_names: dict[str, str] = {}

    def fits(self, then: Any, now: Any) -> bool:
        """Return True if two values are equal except for ids, and each old id still has the new id found earlier."""
        if isinstance(then, Mapping) and isinstance(now, Mapping):
            return then.keys() == now.keys() and all(self.fits(value, now[key]) for key, value in then.items())
        if isinstance(then, list | tuple) and isinstance(now, list | tuple):
            return len(then) == len(now) and all(map(self.fits, then, now))
        if isinstance(then, str) and isinstance(now, str):
            old, new = self._ids.split(then), self._ids.split(now)  # text, id, text, id, ..., text
            return old[::2] == new[::2] and all(map(self._fits_name, old[1::2], new[1::2]))
        return bool(then == now)

    def _fits_name(self, old: str, new: str) -> bool:
        same_kind = NUMBER.sub("#", old) == NUMBER.sub("#", new)
        return same_kind and self._new_names.setdefault(old, new) == new and self._old_names.setdefault(new, old) == old


class Sameness(StrEnum):
    """The result of comparing a replayed or repeated episode with its recording."""

    SAME = "same"
    RENAMED = "renamed ids"
    """The episode differs only in ids that the environment declares, each renamed in the same way throughout."""
    DIFFERENT = "different"
    NOT_COMPARED = "not compared"
    """No comparison was possible: the recording has no ending, or ended BROKEN or NOT_RUN, or the environment can no
    longer play the episode."""


class Comparison(BaseModel):
    """One replayed or repeated episode. ``event`` names the first event that differs: its kind and its number.

    After the first difference, a replay goes on with recorded replies to the new model calls. If only one of the two
    endings is a success, ``then`` describes the recorded ending, and ``now`` the new one. If the recorded replies run
    out, ``then`` is empty, and ``now`` says why the new ending is unknown. For a repeated episode, ``then`` and ``now``
    are given if the outcomes or their causes differ.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sameness: Sameness
    event: str = ""
    expected: str = ""
    actual: str = ""
    then: str = ""
    now: str = ""

    def __str__(self) -> str:
        expected, actual = _excerpts(self.expected, self.actual)
        event = f", at {self.event}\n  expected: {expected}\n  actual:   {actual}" if self.event else ""
        changed = f"\n  the ending changed: {self.then}, now {self.now}" if self.then else ""
        endings = changed or (f"\n  the ending is now {self.now}" if self.now else "")
        return f"{self.sameness}{event}{endings}"


def _excerpts(old: str, new: str) -> tuple[str, str]:
    """Return excerpts of both texts around their first difference, each on one line."""
    differing = (n for n, letters in enumerate(zip(old, new, strict=False)) if letters[0] != letters[1])
    position = next(differing, min(len(old), len(new)))
    return _excerpt(old, position), _excerpt(new, position)


def _excerpt(text: str, position: int) -> str:
    begin = max(0, position - CHARACTERS_BEFORE) if len(text) > EXCERPT_CHARACTERS else 0
    shown = text[begin : begin + EXCERPT_CHARACTERS]
    cut = f"{'... ' if begin else ''}{shown}{' ...' if begin + EXCERPT_CHARACTERS < len(text) else ''}"
    return " ".join(cut.split()) or "(nothing)"


def endings_in_words(then: Ending, now: Ending) -> dict[str, str]:
    """Return the fields of a comparison that describe the recorded and the new ending."""
    return {name: f"{outcome_of(ending)}{reason_of(ending)}" for name, ending in (("then", then), ("now", now))}


class Recording:
    """A read-only journal of recorded events. Writing an event that it does not contain raises JournalMismatch.

    Spans, which group the events of a planning method, are not compared, since they follow from the other events.
    """

    def __init__(self, recorded: Events) -> None:
        self._recorded = recorded

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """Return the body of a recorded event, or None."""
        return None if kind == "span" else self._recorded.get((scope, kind, number))

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Raise JournalMismatch, since this event was not recorded. Spans are ignored."""
        if kind != "span":
            raise JournalMismatch(scope, kind, number, None, dict(body))


class NewEvents(MemoryJournal):
    """A journal that collects the new events.

    Only the knowledge that the planner recalled is taken from the recording, so that the episode is played with it.
    """

    def __init__(self, recorded: Events) -> None:
        super().__init__()
        self._recorded = recorded

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """Return the body of a new event, or of a recorded recall."""
        body = super().get(scope, kind, number)
        if body is None and kind == "recall" and (body := self._recorded.get((scope, kind, number))) is not None:
            self.put(scope, kind, number, body)
        return body


def replay_run(run: Run, on_comparison: OnComparison, execution: Execution) -> bool:
    """Play every episode again, in threads, and compare it with its recording. Return False if Ctrl-C stopped this."""
    entries, endings, switches = run.entries(), recorded_endings(run), Switches()
    waiting: queue.SimpleQueue[Entry] = queue.SimpleQueue()
    compared: queue.SimpleQueue[tuple[Entry, Comparison]] = queue.SimpleQueue()
    for entry in entries:
        waiting.put(entry)

    def replay_waiting(notify: Callable[[], None]) -> None:
        with open_worker() as worker, suppress(queue.Empty):
            while True:
                if switches.stopped:
                    raise EpisodeStopped
                entry = waiting.get_nowait()
                compared.put((entry, replay_episode(run, entry, worker, endings.get(entry.index))))
                notify()

    def report() -> None:
        while not compared.empty():
            on_comparison(*compared.get())

    count = min(execution.jobs if run.config.environment.parallel else 1, len(entries))
    with workers_of(run, execution.unsafe_no_sandbox, switches, silent=True) as open_worker:
        return in_threads(count, replay_waiting, switches.stop, report)


def replay_episode(run: Run, entry: Entry, worker: EpisodeWorker, ending: Ending | None) -> Comparison:
    """Play an episode again, and compare it with its recording. ``ending`` is the recorded ending."""
    if ending is None or not ending.outcome.played:
        return Comparison(sameness=Sameness.NOT_COMPARED)
    path = last_path(run, entry)
    recorded = {(row.scope, row.kind, row.n): row.body for row in run.store.events(path)}
    try:
        play(*worker.play_arguments(entry, path, Recording(recorded)))
    except JournalMismatch as mismatch:
        return _play_to_the_end(run, entry, path, worker, recorded, describe_mismatch(mismatch))
    except MissingRequirement:
        raise
    except EnvsError as error:
        worker.drop_environment()
        return Comparison(
            sameness=Sameness.NOT_COMPARED, event="the environment", expected="it can play the task", actual=str(error)
        )
    return Comparison(sameness=Sameness.SAME)


def describe_mismatch(mismatch: JournalMismatch) -> Comparison:
    """Return a comparison that describes the first difference in words."""
    bodies = (mismatch.recorded, mismatch.actual)
    expected, actual = (describe(mismatch.kind, body) for body in bodies)
    if expected == actual:  # the descriptions leave out the part that differs
        expected, actual = map(str, bodies)
    return Comparison(
        sameness=Sameness.DIFFERENT,
        event=f"{mismatch.kind} {mismatch.number + 1}",
        expected=expected.strip(),
        actual=actual.strip(),
    )


def _play_to_the_end(
    run: Run, entry: Entry, path: str, worker: EpisodeWorker, recorded: Events, comparison: Comparison
) -> Comparison:
    """Play the episode once more, to its end, with the recorded replies, and complete the comparison.

    If the new verdict differs, both endings are added. If the episodes differ only in ids, the result is RENAMED.
    """
    roles, journal = worker.roles, NewEvents(recorded)
    model = ReplyRepeater(replies_by_place(path, run.store.events(path)))
    worker.drop_environment()
    worker.roles = Roles(lambda role: model, run.config.sampling)
    try:
        ending = play(*worker.play_arguments(entry, path, journal))
    except MissingRequirement:
        raise
    except (EnvsError, ModelError) as error:
        return comparison.model_copy(update={"now": f"unknown: {error}"})
    finally:
        worker.roles = roles
        worker.drop_environment()
    changed: dict[str, Any] = {}
    then = Ending.model_validate(recorded[path, "outcome", 0])
    if then.outcome.solved != ending.outcome.solved:
        changed = endings_in_words(then, ending)
    elif is_renaming(recorded, journal.events, run.config.environment.object_ids):
        changed = {"sameness": Sameness.RENAMED}
    return comparison.model_copy(update=changed)
