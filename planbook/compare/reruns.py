"""A run compared with one that repeats it: which episodes came out the same, and where the others part."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from planbook.knowledge import learned_in
from planbook.planner import Ending, JournalMismatch, Outcome, Step, call_of
from planbook.replay import compared
from planbook.results.statistics import sign_flips
from planbook.runs import Entry, Run, last_path, recorded_endings
from planbook.store import RESTART
from planbook.wording import in_words, outcome_of

SHOWN = 160
"""Characters that are shown around the place where two texts part."""
BEFORE = 40
"""Characters that are shown before the place."""
EventPlace = tuple[str, str, int]
"""Scope below the episode's, kind and number of an event."""


class Way(StrEnum):
    """The ways in which a repeated episode compares with the first."""

    SAME = "the same"
    OTHER_WAY = "the same outcome another way"
    OTHER_OUTCOME = "another outcome"
    NOT_COMPARED = "not compared"
    """One of the two has not ended, or the first was BROKEN."""


class RepeatedEpisode(BaseModel):
    """One episode: where the two part (``event``, in words), and what each came to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    repeat: int
    way: Way
    before: str = ""
    after: str = ""
    solved_before: bool = False
    solved_after: bool = False
    event: str = ""
    expected: str = ""
    actual: str = ""

    def __str__(self) -> str:
        ends = f": {self.before}, now {self.after}" if self.way is not Way.OTHER_WAY else f" ({self.after})"
        name = f"{self.task}, repeat {self.repeat}" if self.repeat else self.task
        parts = f"; they part at {self.event}\n  then: {self.expected}\n  now:  {self.actual}" if self.event else ""
        return f"{name}: {self.way}{ends}{parts}"


class RerunTotals(BaseModel):
    """Over the episodes that were compared; ``gained`` were solved only the second time.

    ``p`` is that of swapping the sides of each task, exact; without repeats, of McNemar's test.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    episodes: int
    by_way: dict[str, int]
    solved_before: int
    solved_after: int
    gained: int
    lost: int
    p: float


def repeated_episodes(first: Run, second: Run) -> Iterator[RepeatedEpisode]:
    """Give every episode of a run and of one that repeats it, in order; of a fork, the episode that it repeats."""
    before, after = recorded_endings(first), recorded_endings(second)
    is_fork = second.forked is not None and second.forked != first.forked
    repeated = [first.entries()[second.forked.episode]] if second.forked and is_fork else first.entries()
    for one, other in zip(repeated, second.entries(), strict=True):
        yield _repeated((first, one, before.get(one.index)), (second, other, after.get(other.index)))


def totals(episodes: Iterable[RepeatedEpisode]) -> RerunTotals:
    """Count the episodes."""
    listed = list(episodes)
    counts = Counter({way.value: 0 for way in Way}) + Counter(each.way.value for each in listed)
    pairs = [(each.solved_before, each.solved_after) for each in listed if each.way is not Way.NOT_COMPARED]
    gains = defaultdict[str, int](int)
    for each in listed:
        if each.way is not Way.NOT_COMPARED:
            gains[each.task] += each.solved_after - each.solved_before
    return RerunTotals(
        episodes=len(listed),
        by_way={way.value: counts[way.value] for way in Way},
        solved_before=sum(before for before, _ in pairs),
        solved_after=sum(after for _, after in pairs),
        gained=pairs.count((False, True)),
        lost=pairs.count((True, False)),
        p=sign_flips([*gains.values()]),
    )


def learned_the_same(first: Run, second: Run) -> bool:
    """Return whether two building runs know the same in the end."""
    one, other = learned_in(first), learned_in(second)
    return {group: state.knowledge for group, state in one.items()} == {
        group: state.knowledge for group, state in other.items()
    }


Played = tuple[Run, Entry, Ending | None]
"""An episode with its run and its ending."""


def _repeated(one: Played, other: Played) -> RepeatedEpisode:
    (_, entry, before), (second, _, after) = one, other
    told: dict[str, Any] = {
        "task": entry.task.id,
        "repeat": entry.repeat,
        "before": _came_to(before),
        "after": _came_to(after),
        "solved_before": before is not None and before.outcome.solved,
        "solved_after": after is not None and after.outcome.solved,
    }
    if before is None or after is None or before.outcome is Outcome.BROKEN:
        return RepeatedEpisode(**told, way=Way.NOT_COMPARED)
    events = _actions if second.forked else _events
    parting = first_difference(events(*one[:2]), events(*other[:2]))
    if parting is None:
        return RepeatedEpisode(**told, way=Way.SAME)
    differs = (before.outcome, before.cause) != (after.outcome, after.cause)
    event, expected, actual = parting
    way = Way.OTHER_OUTCOME if differs else Way.OTHER_WAY
    return RepeatedEpisode(**told, way=way, event=event, expected=expected, actual=actual)


def _came_to(ending: Ending | None) -> str:
    if ending is None:
        return "not played"
    return outcome_of(ending) + (f" ({in_words(ending.cause)})" if ending.cause else "")


def _events(run: Run, entry: Entry) -> dict[EventPlace, Any]:
    """Return the events of an episode as it was last played, in the order in which they were written."""
    path = last_path(run, entry)
    rows = (row for row in run.store.events(path) if not row.scope.startswith(path + RESTART))
    return {(row.scope.removeprefix(path), row.kind, row.n): _essential(row.kind, row.body) for row in rows}


def _actions(run: Run, entry: Entry) -> dict[EventPlace, Any]:
    """Return the actions of an episode that had an effect, with what came of each, whatever called them."""
    steps = (Step.model_validate(row.body) for row in run.store.events(last_path(run, entry), "act"))
    told = (f"{call_of(step.action)} -> {step.observation.text}" for step in steps if step.observation.accepted)
    return {("", "action", number): text for number, text in enumerate(told)}


def _essential(kind: str, body: Any) -> Any:
    """Return the part of an event that is compared: of a reply, neither who gave it nor how long that took.

    The digests by which replies are found are left out, as runs of planbook 0.1.0 have none.
    """
    if kind != "ask":
        return {name: value for name, value in body.items() if (kind, name) != ("recall", "data")}
    asked = {"role": body["role"], "template": body["template"]}
    prompt = "\n\n".join(message["content"] for message in body["messages"])
    return asked | {"prompt": prompt, "reply": body["reply"]["text"], "finish": body["reply"]["finish"]}


def first_difference(first: dict[EventPlace, Any], second: dict[EventPlace, Any]) -> tuple[str, str, str] | None:
    """Return where the two part, in words, and what each has there; None where they do not."""
    for where in dict.fromkeys([*first, *second]):
        then, now = first.get(where), second.get(where)
        if then != now:
            return _in_words(*where, then, now)
    return None


def _in_words(scope: str, kind: str, number: int, then: Any, now: Any) -> tuple[str, str, str]:
    if kind == "ask" and then and now:
        part, what = ("reply", "the reply to") if then["prompt"] == now["prompt"] else ("prompt", "the prompt of")
        where = f"{what} question {number + 1} to the {now['role']} ({now['template']})"
        return where, *_parting(then[part], now[part])
    comparison = compared(JournalMismatch(scope, kind, number, then, now))
    place = f"{comparison.event} of {scope.lstrip('/')}" if scope else comparison.event
    return place, *_parting(comparison.expected, comparison.actual)


def _parting(then: str, now: str) -> tuple[str, str]:
    """Return both texts around the first place where they differ, each on one line."""
    shorter = min(len(then), len(now))
    alike = next((place for place in range(shorter) if then[place] != now[place]), shorter)
    return _around(then, alike), _around(now, alike)


def _around(text: str, place: int) -> str:
    begin = max(0, place - BEFORE) if len(text) > SHOWN else 0
    shown = text[begin : begin + SHOWN]
    cut = f"{'... ' if begin else ''}{shown}{' ...' if begin + SHOWN < len(text) else ''}"
    return " ".join(cut.split()) or "(nothing)"
