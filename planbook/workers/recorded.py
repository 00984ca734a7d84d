"""Models that repeat the replies recorded in a run.

The place of a model call is its scope (a path within the run) and its number there.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from planbook.planner import (
    Message,
    Model,
    NotRecorded,
    OnText,
    RecordedMessage,
    RecordedReplies,
    RecordedReply,
    Reply,
    Sampling,
    explain_missing,
    journal_place,
    partial_usage,
    pass_on,
    request_key,
)
from planbook.runs import Fork, Run, last_path, recorded_endings
from planbook.store import Event, without_restart


class RecordedRunModel:
    """A model that answers each request with the reply that an equal request got in a run. Threads may share it.

    If the run has several replies to equal requests, the reply at the same place is preferred. If there is none at this
    place, the first one in the run is used. If an episode has several attempts, the replies at a place are those of the
    last attempt.
    """

    def __init__(self, folder: str, *, strict: bool = False) -> None:
        """Read the replies recorded in the folder of a run. Raises BadRun."""
        self.folder, self.name, self.strict = Path(folder), f"recorded:{folder}", strict
        self._by_place: dict[tuple[str, str], Reply] = {}
        self._replies: dict[str, Reply] = {}
        self._entries = RecordedReplies()
        with closing(Run.open(self.folder)) as run:
            ended = recorded_endings(run)
            self._open = {entry.path for entry in run.entries() if entry.index not in ended}
            for event in run.store.events(kind="ask"):
                self._add(event.scope, event.n, event.body)

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the recorded reply. Raises NotRecorded, which describes the most similar request, if there is none."""
        match = self._entries.find(messages, sampling, strict=self.strict)
        if match is None and "/".join(journal_place().split("/")[:2]) in self._open:
            raise NotRecorded(
                f"{self.folder} is unfinished: this episode has not ended there, so it has no further replies. "
                f"Finish it first (planbook run --resume {self.folder}), or name a --model that can answer"
            )
        if match is None:
            message = explain_missing(self.folder, messages, sampling, self._entries, strict=self.strict)
            raise NotRecorded(f"{message}. The run differs from the recorded one here; name a --model that can answer")
        key = match.entry.key
        reply = self._by_place.get((without_restart(journal_place()), key)) or self._replies[key]
        return _replayed(reply, on_text, reworded=match.reworded)

    def _add(self, scope: str, number: int, body: Any) -> None:
        messages = [Message.model_validate(message) for message in body["messages"]]
        sampling, reply = Sampling.model_validate(body["sampling"]), Reply.model_validate(body["reply"])
        key = request_key(messages, sampling)
        self._by_place[without_restart(f"{scope}/{number}"), key] = reply
        self._replies.setdefault(key, reply)
        self._entries.add(
            RecordedReply(
                key=key,
                label=f"{body['role']}: {body['template']}",
                given=body.get("given"),
                model=reply.model,
                sampling=sampling,
                messages=tuple(map(RecordedMessage.of, messages)),
                text="",
            )
        )


def _replayed(reply: Reply, on_text: OnText | None, *, reworded: bool = False) -> Reply:
    """Return a recorded reply as the reply to a new call, which takes no time and costs nothing."""
    text, finish = pass_on(reply.text, on_text)
    return reply.model_copy(
        update={
            "text": text,
            "usage": partial_usage(reply.usage, reply.text, text),
            "finish": finish if finish == "cut" else reply.finish,
            "seconds": 0.0,
            "replayed": True,
            "reworded": reworded,
        }
    )


class ReplyRepeater:
    """A model that repeats the reply that was recorded at the place of each call, whatever the prompt is.

    ``replies`` is the result of ``replies_by_place``. A call at a place without a recorded reply is passed on to the
    model ``fallback``, if it is given.
    """

    def __init__(self, replies: Mapping[str, Reply], fallback: Model | None = None) -> None:
        self.name = fallback.name if fallback else "recorded"
        self._replies, self._fallback = replies, fallback

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the recorded reply, or else the fallback's reply. Raises NotRecorded if there is neither."""
        _task, _index, place = without_restart(journal_place()).split("/", 2)
        if reply := self._replies.get(place):
            return _replayed(reply, on_text)
        if self._fallback is None:
            raise NotRecorded("the planner makes more model calls than were recorded")
        return self._fallback.complete(messages, sampling, on_text)


def replies_by_place(path: str, events: Iterable[Event]) -> dict[str, Reply]:
    """Return a dict that maps the places of an episode's model calls to the replies.

    The places are relative to the scope of the episode, ``path``.
    """
    asks: Iterable[Any] = (event for event in events if event.kind == "ask")
    return {f"{ask.scope}/{ask.n}".removeprefix(f"{path}/"): Reply.model_validate(ask.body["reply"]) for ask in asks}


def replies_before(fork: Fork) -> dict[str, Reply]:
    """Return a dict that maps places to the replies that a fork repeats: those before action number ``fork.at``.

    Raises BadRun if the original run cannot be read.
    """
    events, actions = list[Event](), 0
    with closing(Run.open(Path(fork.run))) as run:
        path = last_path(run, run.entries()[fork.episode])
        for event in run.store.events(path):
            actions += event.kind == "act"
            if actions >= fork.at:
                break
            events.append(event)
    return replies_by_place(path, events)
