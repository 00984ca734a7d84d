"""The episodes of a page: a row for each, and a document of all that happened in it, packed until it is opened."""

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from typing import Any

from planbook.errors import BadArgument
from planbook.planner import Call, Trajectory, as_plan, call_of, in_reading_order, read_trajectory
from planbook.report.learned import step_text
from planbook.results import Result, RunResults
from planbook.store import Event
from planbook.wording import counted, harmless, in_words, outcome_of, score_of

CHUNK = 200_000
"""Characters of JSON that are packed together: enough to be packed well, few enough to be inflated at once."""
TEXT = "\x01"
"""The name under which the number of a text stands; no other name can be the same once all is ``visible``."""
LONG_TEXT = 400
"""Texts from this length on are kept apart, each once however many episodes show it."""


@dataclass(frozen=True)
class Chunk:
    """Packed items; ``first`` is the number of the first of them."""

    first: int
    data: str


def packed(text: str) -> str:
    """Return a text compressed (zlib), as base64."""
    return base64.b64encode(zlib.compress(text.encode("utf-8", "backslashreplace"), 9)).decode("ascii")


def visible(value: Any) -> Any:
    """Return JSON in which every character of every text can be seen."""
    if isinstance(value, str):
        return value if value.replace("\n", "").replace("\t", "").isprintable() else harmless(value)
    if isinstance(value, dict):
        return {visible(name): visible(each) for name, each in value.items()}
    return [visible(each) for each in value] if isinstance(value, (list, tuple)) else value


class Items:
    """JSON values by number, in chunks."""

    def __init__(self) -> None:
        self.size = 0
        """Characters of the chunks that are full."""
        self._chunks: list[Chunk] = []
        self._open: list[str] = []
        self._open_size = self._count = 0

    def add(self, value: Any) -> int:
        """Add a value, and return its number."""
        self._open.append(json.dumps(value, separators=(",", ":")))
        self._open_size += len(self._open[-1])
        self._count += 1
        if self._open_size >= CHUNK:
            self._close()
        return self._count - 1

    def chunks(self) -> Iterator[Chunk]:
        """Give all of them."""
        if self._open:
            self._close()
        yield from self._chunks

    def _close(self) -> None:
        self._chunks.append(Chunk(self._count - len(self._open), packed(f"[{','.join(self._open)}]")))
        self.size += len(self._chunks[-1].data)
        self._open, self._open_size = [], 0


class LongTexts(Items):
    """The long texts of a page, each kept once."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[bytes, int] = {}

    def keep(self, text: str) -> int:
        """Return the text's number, from 0 in the order in which they come."""
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest not in self._numbers:
            self._numbers[digest] = self.add(text)
        return self._numbers[digest]

    def without(self, value: Any) -> Any:
        """Return JSON with every long text replaced by its number, under ``TEXT``."""
        if isinstance(value, str):
            return value if len(value) < LONG_TEXT else {TEXT: self.keep(value)}
        if isinstance(value, dict):
            return {name: self.without(each) for name, each in value.items()}
        return [self.without(each) for each in value] if isinstance(value, list) else value


PAGE_BYTES = 25_000_000
"""Size of the packed part unless --episodes says otherwise: more takes seconds to open, and mail programs refuse it."""
WAYS = "--episodes takes all, failed, or a number"
IN_FULL = 600
"""Calls at either end of an episode whose prompts are on the page; of a long game, the store has those between."""
Json = dict[str, Any]


def row(run: RunResults, episode: Result, anchor: str, *, live: bool = False) -> Json:
    """Return the line of an episode; a run that is ``live`` waits to play what has no ending."""
    ending, cost = episode.ending, episode.cost
    cause = ending.cause
    waits = live and episode.index not in run.order
    said = [in_words(cause)] if in_words(cause) not in ("", outcome_of(ending)) else []
    said.append(counted(cost.actions, "action") + score_of(ending))
    said += [counted(ending.error_steps, "error step")] if ending.error_steps else []
    said += [counted(cost.calls, "call"), counted(cost.tokens, "token")] if cost.calls else []
    return {
        "id": f"{anchor}-{episode.index}",
        "n": episode.index,
        "outcome": ending.outcome.value,
        "shown": "begun" if episode.is_open else "waiting" if waits else outcome_of(ending),
        "type": episode.entry.task.type,
        "cause": cause,
        "task": episode.entry.task.id,
        "repeat": episode.entry.repeat,
        "goal": episode.task.goal,
        "said": " · ".join(said),
    }


def document(events: Iterable[Event], task: Json) -> Json:
    """Return what happened in a scope and below it: whole plays as trajectories, and calls and records around them."""
    parts: list[Json] = []
    for play, own in groupby_play(events):
        if play is None:
            parts += map(_outside, in_reading_order(own))
        else:
            parts.append({"play": play, **_trajectory(read_trajectory(play, own))})
    return {"task": task, "parts": parts}


def groupby_play(events: Iterable[Event]) -> Iterator[tuple[str | None, list[Event]]]:
    """Give the events of each play with its path, where the play began; between plays, with None, those of no play."""
    listed = list(events)
    begun = {
        event.scope.partition("/round/")[0] for event in listed if "/round/" in event.scope and event.kind == "task"
    }
    own: dict[str, list[Event]] = {path: [] for path in begun}
    around: list[tuple[str | None, Event]] = []
    for event in listed:
        path = event.scope.partition("/round/")[0]
        if path in own and (path != event.scope or event.kind in ("recall", "outcome")):
            if not own[path]:
                around.append((path, event))
            own[path].append(event)
        else:
            around.append((None, event))
    for key, group in groupby(around, key=lambda each: each[0]):
        yield (key, own[key]) if key is not None else (None, [event for _, event in group])


def _outside(event: Event) -> Json:
    """Return a call, or anything else that was recorded, as it stands."""
    body: Any = event.body
    if event.kind == "ask":
        call = Call.model_validate({**body, "order": 0, "scope": event.scope})
        return {"scope": event.scope, "call": call.model_dump(mode="json", exclude_defaults=True)}
    text = step_text(event.scope, body) if event.kind == "learnt" else None
    return {"scope": event.scope, "kind": event.kind, "n": event.n, "body": body if text is None else text}


def _trajectory(trajectory: Trajectory) -> Json:
    """Return it as JSON, with its actions as a plan writes them and the code of cells that came to no end."""
    told: Json = trajectory.model_dump(mode="json", exclude_defaults=True, exclude={"task", "run"})
    for played, dumped in zip(trajectory.rounds, told.get("rounds", ()), strict=True):
        for step, each in zip(played.steps, dumped.get("steps", ()), strict=True):
            each["call"] = call_of(step.action)
        for cell, each in zip(played.cells, dumped.get("cells", ()), strict=True):
            each["faults"] = [str(fault) for fault in cell.feedback.faults]
        ended = {(cell.scope, cell.number) for cell in played.cells}
        begun = {(step.scope, step.cell): step.order or 0 for step in reversed(played.steps)}
        dumped.setdefault("cells", []).extend(
            {"scope": scope, "number": number, "order": order, "code": _replied(trajectory.calls, order)}
            for (scope, number), order in begun.items()
            if (scope, number) not in ended
        )
    for call in told.get("calls", [])[IN_FULL:-IN_FULL]:
        call["messages"] = []
    return told


def _replied(calls: Sequence[Call], order: int) -> str:
    """Return the code of the last reply before a moment; nothing where it has none."""
    before = [call.reply.text for call in calls if call.order < order]
    try:
        return as_plan(before[-1]).code if before else ""
    except ValueError:
        return ""


def episode_document(run: RunResults, episode: Result) -> Json:
    """Return the document of one episode."""
    task = episode.entry.task
    facts = {"task": task.id, "type": task.type, "split": task.split, "seed": task.seed, "goal": episode.task.goal}
    return visible(document(run.events(episode), {**facts, "path": episode.entry.path}))  # type: ignore[no-any-return]


class Packing:
    """Packs the documents of all runs of a page."""

    def __init__(self) -> None:
        self._texts, self._documents = LongTexts(), Items()

    def pack(self, run: RunResults, which: str | None) -> tuple[Mapping[int, int], str]:
        """Pack the episodes asked for; unless any are, as many as the page may hold. Raises BadArgument.

        Return the numbers of their documents by episode, and a sentence where these are not all.
        """
        numbers = dict[int, int]()
        for episode in chosen(run, which):
            if which is None and self._documents.size + self._texts.size > PAGE_BYTES:
                break
            numbers[episode.index] = self._add(episode_document(run, episode))
        return numbers, _choice(run, which, len(numbers))

    def pack_outside(self, run: RunResults) -> int | None:
        """Pack what happened outside the episodes, if anything did; return the number of its document."""
        return self._add(visible(document(run.outside, {}))) if run.outside else None

    def _add(self, told: Json) -> int:
        return self._documents.add(self._texts.without(told))

    def chunks(self) -> Iterator[tuple[str, Chunk]]:
        """Give all that is packed, each chunk with its kind."""
        yield from (("documents", chunk) for chunk in self._documents.chunks())
        yield from (("texts", chunk) for chunk in self._texts.chunks())


def chosen(run: RunResults, which: str | None) -> Sequence[Result]:
    """Return the episodes that can be opened, those first that stay where not all fit. Raises BadArgument."""
    begun = [episode for episode in run.episodes.values() if episode.events]
    if which == "all":
        return begun
    if which is None:
        return sorted(begun, key=lambda episode: episode.ending.outcome.solved)
    if which == "failed":
        return [episode for episode in begun if not episode.ending.outcome.solved]
    if not which.isdecimal():
        raise BadArgument(f"--episodes {which}: {WAYS}")
    return begun[: int(which)]


def _choice(run: RunResults, which: str | None, shown: int) -> str:
    begun = sum(bool(episode.events) for episode in run.episodes.values())
    size = f"with all of them the page would be above {PAGE_BYTES / 1e6:.0f} MB"
    why = f"--episodes {which}" if which else f"{size}; `planbook report RUN --episodes all` takes them all the same"
    return f"Of {counted(begun, 'episode')}, {shown:,} can be opened here: {why}." if shown < begun else ""
