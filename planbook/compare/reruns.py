"""Comparison of a run with one that repeats it: which episodes are the same, and where the others diverge."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from planbook.knowledge import learned_in
from planbook.planner import Ending, JournalMismatch, Outcome, Step, Trajectory, call_of, read_trajectory
from planbook.replay import describe_mismatch
from planbook.results.statistics import sign_flips
from planbook.runs import Entry, Fork, Run, last_path, recorded_endings
from planbook.store import RESTART
from planbook.wording import cause_of, outcome_of

SHOWN = 160
"""Displayed characters around the place where two texts diverge."""
BEFORE = 40
"""Displayed characters before that place."""
EventPlace = tuple[str, str, int]
"""Scope (below the episode's), kind and number of an event."""


class Way(StrEnum):
    """The result of comparing a repeated episode with the first one."""

    SAME = "the same"
    OTHER_WAY = "the same outcome another way"
    OTHER_OUTCOME = "another outcome"
    NOT_COMPARED = "not compared"
    """One of the two has not ended, or the first was BROKEN."""


class RepeatedEpisode(BaseModel):
    """An episode and its repetition: where they diverge (``event``, in words), and their outcomes."""

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
        outcome = f": {self.before}, now {self.after}" if self.way is not Way.OTHER_WAY else f" ({self.after})"
        name = f"{self.task}, repeat {self.repeat}" if self.repeat else self.task
        texts = f"\n  then: {self.expected}\n  now:  {self.actual}"
        divergence = f"; they diverge at {self.event}{texts}" if self.event else ""
        return f"{name}: {self.way}{outcome}{divergence}"


class RerunTotals(BaseModel):
    """Counts of episodes; those that were not compared are only in ``episodes`` and ``by_way``.

    ``gained`` counts those solved only the second time, ``lost`` those solved only the first time. ``p`` is that of an
    exact test that swaps the sides of each task; without repeats, it is McNemar's test.
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
    """Yield a comparison of each episode of a run with its repetition, in order; a fork repeats only one episode."""
    before, after = recorded_endings(first), recorded_endings(second)
    is_fork = second.forked is not None and second.forked != first.forked
    repeated = [first.entries()[second.forked.episode]] if second.forked and is_fork else first.entries()
    for one, other in zip(repeated, second.entries(), strict=True):
        yield _compare((first, one, before.get(one.index)), (second, other, after.get(other.index)))


def totals(episodes: Iterable[RepeatedEpisode]) -> RerunTotals:
    """Count the episodes by their comparison."""
    listed = list(episodes)
    counts = Counter(episode.way.value for episode in listed)
    compared = [episode for episode in listed if episode.way is not Way.NOT_COMPARED]
    pairs = [(episode.solved_before, episode.solved_after) for episode in compared]
    gains = defaultdict[str, int](int)
    for episode in compared:
        gains[episode.task] += episode.solved_after - episode.solved_before
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
    """Return whether two building runs ended with the same knowledge."""
    one, other = ({group: state.knowledge for group, state in learned_in(run).items()} for run in (first, second))
    return one == other


Played = tuple[Run, Entry, Ending | None]
"""An episode with its run and its ending."""


def _compare(one: Played, other: Played) -> RepeatedEpisode:
    (first, entry, before), (second, _, after) = one, other
    fields: dict[str, Any] = {
        "task": entry.task.id,
        "repeat": entry.repeat,
        "before": _in_words(before),
        "after": _in_words(after),
        "solved_before": before is not None and before.outcome.solved,
        "solved_after": after is not None and after.outcome.solved,
    }
    if before is None or after is None or before.outcome is Outcome.BROKEN:
        return RepeatedEpisode(**fields, way=Way.NOT_COMPARED)
    if second.forked:
        planned = second.forked if second.config.planner != first.config.planner else None
        actions = actions_taken(first, entry, planned), actions_taken(*other[:2])
        difference = first_difference(*map(_numbered, actions))
    else:
        difference = first_difference(_events(*one[:2]), _events(*other[:2]))
    differs = (before.outcome, before.cause) != (after.outcome, after.cause)
    if difference is None and not differs:
        return RepeatedEpisode(**fields, way=Way.SAME)
    event, expected, actual = difference or ("", "", "")
    way = Way.OTHER_OUTCOME if differs else Way.OTHER_WAY
    return RepeatedEpisode(**fields, way=way, event=event, expected=expected, actual=actual)


def _in_words(ending: Ending | None) -> str:
    if ending is None:
        return "not played"
    return outcome_of(ending) + (f" ({cause})" if (cause := cause_of(ending)) else "")


def _events(run: Run, entry: Entry) -> dict[EventPlace, Any]:
    """Return the events of the last attempt at an episode, in the order of writing."""
    path = last_path(run, entry)
    rows = (row for row in run.store.events(path) if not row.scope.startswith(path + RESTART))
    return {(row.scope.removeprefix(path), row.kind, row.n): _essential(row.kind, row.body) for row in rows}


def kept_steps(episode: Trajectory, at: int) -> list[Step]:
    """Return the steps that a plan forked at action ``at`` repeats: those of the round by then, without undone ones."""
    for played in episode.rounds:
        if at <= len(played.steps):
            break
        at -= len(played.steps)
    else:
        return []
    steps = list(played.steps[:at])
    undone: set[int] = set()
    for rewind in played.rewinds:
        taken = sum((step.order or 0) < rewind.order for step in steps)
        if at and rewind.order < (steps[-1].order or 0):
            undone |= set(range(rewind.kept, taken))
    return [step for number, step in enumerate(steps) if number not in undone]


def actions_taken(run: Run, entry: Entry, planned: Fork | None = None) -> list[str]:
    """Return the actions of an episode with their observations, regardless of the cells that called them.

    Of those before a ``planned`` fork, which goes on with a plan, only those that it repeats.
    """
    path = last_path(run, entry)
    steps = [Step.model_validate(row.body) for row in run.store.events(path, "act")]
    if planned:
        steps[: planned.at] = kept_steps(read_trajectory(path, run.store.events(path), entry.task), planned.at)
    return [f"{call_of(step.action)} -> {step.observation.text}" for step in steps]


def _numbered(actions: Iterable[str]) -> dict[EventPlace, Any]:
    return {("", "action", number): line for number, line in enumerate(actions)}


def _essential(kind: str, body: Any) -> Any:
    """Return the part of an event that is compared: of a model call, neither model nor duration.

    Digests of the data in prompts are left out, too, since runs of planbook 0.1.0 have none.
    """
    if kind != "ask":
        return {name: value for name, value in body.items() if (kind, name) != ("recall", "data")}
    question = {name: body[name] for name in ("role", "template")}
    prompt = "\n\n".join(message["content"] for message in body["messages"])
    return question | {"prompt": prompt, "reply": body["reply"]["text"], "finish": body["reply"]["finish"]}


def first_difference(first: dict[EventPlace, Any], second: dict[EventPlace, Any]) -> tuple[str, str, str] | None:
    """Return the place of the first difference, in words, and both texts there; None if the events are equal."""
    for place in dict.fromkeys([*first, *second]):
        then, now = first.get(place), second.get(place)
        if then != now:
            return _describe(*place, then, now)
    return None


def _describe(scope: str, kind: str, number: int, then: Any, now: Any) -> tuple[str, str, str]:
    if kind == "ask" and then and now:
        part, what = ("reply", "the reply to") if then["prompt"] == now["prompt"] else ("prompt", "the prompt of")
        place = f"{what} question {number + 1} to the {now['role']} ({now['template']})"
        return place, *_excerpts(then[part], now[part])
    comparison = describe_mismatch(JournalMismatch(scope, kind, number, then, now))
    place = f"{comparison.event} of {scope.lstrip('/')}" if scope else comparison.event
    return place, *_excerpts(comparison.expected, comparison.actual)


def _excerpts(then: str, now: str) -> tuple[str, str]:
    """Return both texts around their first difference, each on one line."""
    differing = (place for place, (one, other) in enumerate(zip(then, now, strict=False)) if one != other)
    start = next(differing, min(len(then), len(now)))
    return _excerpt(then, start), _excerpt(now, start)


def _excerpt(text: str, place: int) -> str:
    begin = max(0, place - BEFORE) if len(text) > SHOWN else 0
    shown = text[begin : begin + SHOWN]
    cut = f"{'... ' if begin else ''}{shown}{' ...' if begin + SHOWN < len(text) else ''}"
    return " ".join(cut.split()) or "(nothing)"
