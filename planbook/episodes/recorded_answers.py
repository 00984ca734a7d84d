"""Answers out of the record of a run: so that it can be repeated without the model that answered it."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from planbook.planner.errors import NotRecorded
from planbook.planner.models import Message, OnText, Reply, Sampling
from planbook.planner.models.missing import explain
from planbook.planner.models.recording import Asked, Entries, Entry
from planbook.planner.models.requests import place, request_key
from planbook.planner.models.telling import tell
from planbook.planner.models.tokens import usage_of_cut
from planbook.run import Run
from planbook.store import without_restart


class RunAnswers:
    """Gives each request the reply that it had in the run: at the same place of the same episode, else anywhere.

    A model that was asked the same twice may have answered differently; in an episode that was started over, the last
    time counts. May be asked from several threads.
    """

    def __init__(self, folder: str, *, strict: bool = False) -> None:
        """Read the replies of a run of episodes. Raises BadRun."""
        self.folder, self.name, self.strict = Path(folder), f"recorded:{folder}", strict
        self._at: dict[tuple[str, str], Reply] = {}
        self._replies: dict[str, Reply] = {}
        self._entries = Entries()
        with closing(Run.open(self.folder)) as run:
            for event in run.store.events(kind="ask"):
                self._take(event.scope, event.n, event.body)

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """The recorded reply. Raises NotRecorded, which names the nearest request that was made."""
        found = self._entries.find(messages, sampling, strict=self.strict)
        if found is None:
            told = explain(self.folder, messages, sampling, self._entries, strict=self.strict)
            raise NotRecorded(f"{told}. The run goes another way than it did then; name a --model that can answer")
        key = found.entry.key
        reply = self._at.get((without_restart(place()), key)) or self._replies[key]
        text, finish = tell(reply.text, on_text)
        return reply.model_copy(
            update={
                "text": text,
                "usage": usage_of_cut(reply.usage, reply.text, text),
                "finish": finish if finish == "cut" else reply.finish,
                "seconds": 0.0,
                "replayed": True,
                "reworded": found.reworded,
            }
        )

    def _take(self, scope: str, number: int, body: Any) -> None:
        messages = [Message.model_validate(each) for each in body["messages"]]
        sampling, reply = Sampling.model_validate(body["sampling"]), Reply.model_validate(body["reply"])
        key = request_key(messages, sampling)
        self._at[without_restart(f"{scope}/{number}"), key] = reply
        self._replies.setdefault(key, reply)
        self._entries.add(
            Entry(
                key=key,
                label=f"{body['role']}: {body['template']}",
                given=body.get("given"),
                model=reply.model,
                sampling=sampling,
                messages=tuple(map(Asked.of, messages)),
                text="",
            )
        )
