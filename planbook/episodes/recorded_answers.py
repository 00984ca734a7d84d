"""Answers out of the record of a run: so that it can be repeated without the model that answered it."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from planbook.run import Run
from planbook.store import without_restart
from planner.errors import NotRecorded
from planner.models import Message, OnText, Reply, Sampling
from planner.models.missing import explain
from planner.models.recording import Asked, Entry
from planner.models.requests import place, request_key
from planner.models.telling import tell
from planner.models.tokens import usage_of_cut


class RunAnswers:
    """Gives each request the reply that it had in the run: at the same place of the same episode, else anywhere.

    A model that was asked the same twice may have answered differently; in an episode that was started over, the last
    time counts. May be asked from several threads.
    """

    def __init__(self, folder: str) -> None:
        """Read the replies of a run of episodes. Raises BadRun."""
        self.folder, self.name = Path(folder), f"recorded:{folder}"
        self._replies: dict[str, Reply] = {}
        self._at: dict[tuple[str, str], Reply] = {}
        self._asked: list[Entry] = []
        with closing(Run.open(self.folder)) as run:
            for event in run.store.events(kind="ask"):
                self._take(event.scope, event.n, event.body)

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """The recorded reply. Raises NotRecorded, which names the nearest request that was made."""
        key = request_key(messages, sampling)
        reply = self._at.get((without_restart(place()), key)) or self._replies.get(key)
        if reply is None:
            told = explain(self.folder, messages, sampling, self._asked).partition(". Record what is missing")[0]
            raise NotRecorded(f"{told}. The run goes another way than it did then; name a --model that can answer")
        text, finish = tell(reply.text, on_text)
        return reply.model_copy(
            update={
                "text": text,
                "usage": usage_of_cut(reply.usage, reply.text, text),
                "finish": finish if finish == "cut" else reply.finish,
                "seconds": 0.0,
                "replayed": True,
            }
        )

    def _take(self, scope: str, number: int, body: Any) -> None:
        messages = [Message.model_validate(each) for each in body["messages"]]
        sampling, reply = Sampling.model_validate(body["sampling"]), Reply.model_validate(body["reply"])
        key = request_key(messages, sampling)
        self._at[without_restart(f"{scope}/{number}"), key] = reply
        if key not in self._replies:
            asked = tuple(map(Asked.of, messages))
            label = f"{body['role']}: {body['template']}"
            entry = Entry(key=key, label=label, model=reply.model, sampling=sampling, messages=asked, text="")
            self._asked.append(entry)
        self._replies.setdefault(key, reply)
