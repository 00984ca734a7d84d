"""Models that answer from the record of a run."""

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
    pass_on,
    request_key,
    usage_of_cut,
)
from planbook.runs import Fork, Run, last_path
from planbook.store import Event, without_restart


class RunAnswers:
    """A model that answers each request with the reply recorded for it in a run. Threads may share it.

    Equal requests may have different replies, so the reply at the same place of the same episode comes first, then the
    first reply anywhere. If an episode was started over, its last attempt counts.
    """

    def __init__(self, folder: str, *, strict: bool = False) -> None:
        """Read the replies of a run of episodes. Raises BadRun."""
        self.folder, self.name, self.strict = Path(folder), f"recorded:{folder}", strict
        self._by_place: dict[tuple[str, str], Reply] = {}
        self._replies: dict[str, Reply] = {}
        self._entries = RecordedReplies()
        with closing(Run.open(self.folder)) as run:
            for event in run.store.events(kind="ask"):
                self._add(event.scope, event.n, event.body)

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the recorded reply. Raises NotRecorded, which names the nearest recorded request."""
        match = self._entries.find(messages, sampling, strict=self.strict)
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
    """Return a recorded reply as a new one that took no time and cost nothing."""
    text, finish = pass_on(reply.text, on_text)
    return reply.model_copy(
        update={
            "text": text,
            "usage": usage_of_cut(reply.usage, reply.text, text),
            "finish": finish if finish == "cut" else reply.finish,
            "seconds": 0.0,
            "replayed": True,
            "reworded": reworded,
        }
    )


class RepeatedModel:
    """A model that repeats the replies of an episode by their places (``replies_by_place``), whatever the prompts are.

    At any other place it asks the ``following`` model, if there is one.
    """

    def __init__(self, replies: Mapping[str, Reply], following: Model | None = None) -> None:
        self.name = following.name if following else "recorded"
        self._replies, self._following = replies, following

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the recorded reply, or ask the following model. Raises NotRecorded if there is none."""
        _task, _index, place = without_restart(journal_place()).split("/", 2)
        if reply := self._replies.get(place):
            return _replayed(reply, on_text)
        if self._following is None:
            raise NotRecorded("the planner makes more model calls than were recorded")
        return self._following.complete(messages, sampling, on_text)


def replies_by_place(path: str, events: Iterable[Event]) -> dict[str, Reply]:
    """Return the replies among the events of an episode, by their places below its scope."""
    asks: Iterable[Any] = (event for event in events if event.kind == "ask")
    return {f"{ask.scope}/{ask.n}".removeprefix(f"{path}/"): Reply.model_validate(ask.body["reply"]) for ask in asks}


def replies_before(fork: Fork) -> dict[str, Reply]:
    """Return the replies given in an episode before its action ``fork.at``. Raises BadRun."""
    events, actions = list[Event](), 0
    with closing(Run.open(Path(fork.run))) as run:
        path = last_path(run, run.entries()[fork.episode])
        for event in run.store.events(path):
            actions += event.kind == "act"
            if actions >= fork.at:
                break
            events.append(event)
    return replies_by_place(path, events)
