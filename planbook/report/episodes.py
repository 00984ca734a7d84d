"""Makes the data about the episodes on a page: a row for each episode, and a document with everything that happened.

The documents are JSON, compressed in chunks. A long text is stored only once, even if many documents contain it.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from planbook.planner import (
    Call,
    Trajectory,
    as_plan,
    format_call,
    in_reading_order,
    read_trajectory,
    without_block_marks,
)
from planbook.results import RunResults
from planbook.results.rows import EpisodeResult
from planbook.store import Event
from planbook.wording import cause_text, counted, escape_control, outcome_text, score_text

CHUNK_CHARS = 200_000
"""Length of the JSON in a full chunk, in characters: enough to compress well, and still quick to decompress."""
TEXT_REFERENCE = "\x01"
"""Key of a reference to a long text. It is a control character, which ``escape_json`` escapes in all other keys."""
LONG_TEXT_CHARS = 400
"""A text with at least this many characters is stored separately, and replaced by a reference."""


@dataclass(frozen=True)
class Chunk:
    """Consecutive values of ``ChunkedValues``, compressed together. ``first`` is the number of the first value."""

    first: int
    data: str


def pack(text: str) -> str:
    """Compress a string with zlib, and return it in base64."""
    return base64.b64encode(zlib.compress(text.encode("utf-8", "backslashreplace"), 9)).decode("ascii")


def escape_json(value: Any) -> Any:
    """Return a JSON value in which the control characters of all strings, including keys, are escaped."""
    if isinstance(value, str):
        return escape_control(value)
    if isinstance(value, dict):
        return {escape_json(name): escape_json(content) for name, content in value.items()}
    return [escape_json(item) for item in value] if isinstance(value, (list, tuple)) else value


class ChunkedValues:
    """JSON values in compressed chunks. Each value has a number, by which a page finds it."""

    def __init__(self) -> None:
        self._chunks: list[Chunk] = []
        self._pending: list[str] = []
        self._first = self._size = 0
        """The number of the first value that is not in a chunk yet, and the total length of all such values."""

    def add(self, value: Any) -> int:
        """Add a value, and return its number."""
        number = self._first + len(self._pending)
        self._pending.append(json.dumps(value, separators=(",", ":")))
        self._size += len(self._pending[-1])
        if self._size >= CHUNK_CHARS:
            self._compress_pending()
        return number

    def chunks(self) -> Sequence[Chunk]:
        """Return all chunks. The last one need not be full."""
        if self._pending:
            self._compress_pending()
        return self._chunks

    def _compress_pending(self) -> None:
        self._chunks.append(Chunk(self._first, pack(f"[{','.join(self._pending)}]")))
        self._first += len(self._pending)
        self._pending, self._size = [], 0


class DocumentPacker:
    """Compresses the documents of a page, and stores their long texts separately, each only once."""

    def __init__(self) -> None:
        self._documents, self._texts = ChunkedValues(), ChunkedValues()
        self._numbers: dict[bytes, int] = {}

    def add(self, document: Any) -> int:
        """Add a document, and return its number."""
        return self._documents.add(self._without_long_texts(document))

    def chunks(self) -> Iterator[tuple[str, Chunk]]:
        """Yield all chunks, each as a pair with its kind: "documents" or "texts"."""
        yield from (("documents", chunk) for chunk in self._documents.chunks())
        yield from (("texts", chunk) for chunk in self._texts.chunks())

    def _without_long_texts(self, value: Any) -> Any:
        """Return a JSON value in which each long text is replaced by a reference: {TEXT_REFERENCE: number}."""
        if isinstance(value, str) and len(value) >= LONG_TEXT_CHARS:
            digest = blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            if digest not in self._numbers:
                self._numbers[digest] = self._texts.add(value)
            return {TEXT_REFERENCE: self._numbers[digest]}
        if isinstance(value, dict):
            return {name: self._without_long_texts(content) for name, content in value.items()}
        return [self._without_long_texts(item) for item in value] if isinstance(value, list) else value


CALLS_WITH_PROMPTS = 600
"""Number of calls, at the start and at the end of an episode, whose prompts the page contains. All others are only in
the run's store."""
Json = dict[str, Any]


def row(run: RunResults, episode: EpisodeResult, anchor: str, *, live: bool = False) -> Json:
    """Return the row of an episode. If the run is ``live``, an episode that has not begun is shown as waiting."""
    ending, cost = episode.ending, episode.cost
    is_waiting = live and episode.index not in run.order
    details = [cause] if (cause := cause_text(ending)) else []
    if not (is_waiting or episode.is_skipped):
        details.append(counted(cost.actions, "action") + score_text(ending))
    details += [counted(ending.error_steps, "error step")] if ending.error_steps else []
    details += [counted(cost.calls, "call"), counted(cost.tokens, "token")] if cost.calls else []
    return {
        "id": f"{anchor}-{episode.index}",
        "n": episode.index,
        "outcome": ending.outcome.value,
        "status": "begun" if episode.is_open else "waiting" if is_waiting else outcome_text(ending),
        "type": episode.entry.task.type,
        "cause": ending.cause,
        "task": episode.entry.task.id,
        "repeat": episode.entry.repeat,
        "goal": episode.task.goal,
        "detail": " · ".join(details),
    }


def document(events: Iterable[Event], task: Json) -> Json:
    """Return a document that describes the events of an episode, or the events of a run outside its episodes.

    A *play* is one attempt at a task. The document has a trajectory for each play. Between the trajectories, it lists
    the model calls and other events that belong to no play.
    """
    parts: list[Json] = []
    for play, play_events in group_by_play(events):
        if play is None:
            parts += map(_outside_event, in_reading_order(play_events))
        else:
            parts.append({"play": play, **_page_trajectory(read_trajectory(play, play_events))})
    return {"task": task, "parts": parts}


def group_by_play(events: Iterable[Event]) -> Iterator[tuple[str | None, list[Event]]]:
    """Yield pairs of a play's scope and its events, in the order in which the plays begin.

    A sequence of events that belong to no play is yielded as a pair of None and these events.
    """
    paths = [(event, event.scope.partition("/round/")[0]) for event in events]
    plays = {path for event, path in paths if path != event.scope and event.kind == "task"}
    groups: list[tuple[str | None, list[Event]]] = []
    current: dict[str | None, list[Event]] = {}
    for event, path in paths:
        belongs_to_play = path in plays and (path != event.scope or event.kind in ("recall", "outcome"))
        play = path if belongs_to_play else None
        if play not in current:
            current.pop(None, None)  # later events that belong to no play come after this play
            current[play] = []
            groups.append((play, current[play]))
        current[play].append(event)
    yield from groups


def _outside_event(event: Event) -> Json:
    """Return an event that belongs to no play as JSON: a model call as in a trajectory, or else the event's body."""
    body: Any = event.body
    if event.kind == "ask":
        call = Call.model_validate({**body, "order": 0, "scope": event.scope})
        return {"scope": event.scope, "call": call.model_dump(mode="json", exclude_defaults=True)}
    return {"scope": event.scope, "kind": event.kind, "n": event.n, "body": body}


def _page_trajectory(trajectory: Trajectory) -> Json:
    """Return a trajectory as JSON, with changes for the page.

    Each step also gets its action as plan code. A cell (a piece of plan code that runs as a unit) is added if its
    steps, but not its end, were recorded. Prompts in the middle of a long episode are left out.
    """
    result: Json = trajectory.model_dump(mode="json", exclude_defaults=True, exclude={"task", "run"})
    recall = result.get("recall", {})
    recall.update({name: without_block_marks(value) for name, value in recall.items() if isinstance(value, str)})
    for played, dumped in zip(trajectory.rounds, result.get("rounds", ()), strict=True):
        for step, dumped_step in zip(played.steps, dumped.get("steps", ()), strict=True):
            dumped_step["call"] = format_call(step.action)
        for cell, dumped_cell in zip(played.cells, dumped.get("cells", ()), strict=True):
            dumped_cell["faults"] = [str(fault) for fault in cell.feedback.faults]
        ended = {(cell.scope, cell.number) for cell in played.cells}
        begun = {(step.scope, step.cell): step.order or 0 for step in reversed(played.steps)}
        dumped.setdefault("cells", []).extend(
            {"scope": scope, "number": number, "order": order, "code": _last_code(trajectory.calls, order)}
            for (scope, number), order in begun.items()
            if (scope, number) not in ended
        )
    for call in result.get("calls", [])[CALLS_WITH_PROMPTS:-CALLS_WITH_PROMPTS]:
        call["messages"] = []
    return result


def _last_code(calls: Sequence[Call], order: int) -> str:
    """Return the plan code in the last reply before the event at position ``order``, or "" if there is no such code."""
    replies = [call.reply.text for call in calls if call.order < order]
    try:
        return as_plan(replies[-1]).code if replies else ""
    except ValueError:
        return ""


def episode_document(run: RunResults, episode: EpisodeResult) -> Json:
    """Return the document of one episode."""
    task = episode.entry.task
    facts = {"task": task.id, "type": task.type, "split": task.split, "seed": task.seed, "goal": episode.task.goal}
    return escape_json(document(run.events(episode), {**facts, "path": episode.entry.path}))  # type: ignore[no-any-return]


def outside_document(run: RunResults) -> Json | None:
    """Return the document of the events outside the episodes, or None if there are none.

    Learning events are left out, because the page shows what was learned elsewhere.
    """
    events = [event for event in run.outside_events if event.kind != "learned"]
    return escape_json(document(events, {})) if events else None
