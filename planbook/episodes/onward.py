"""Playing a recorded episode to its end although it has come out differently: the recorded replies answer it."""

from collections.abc import Mapping, Sequence
from typing import Any

from planbook.planner import Body, EventKind, MemoryJournal
from planbook.planner.errors import NotRecorded
from planbook.planner.models import Message, OnText, Reply, Sampling
from planbook.planner.models.requests import place
from planbook.planner.models.telling import tell


class Onward(MemoryJournal):
    """A journal that keeps what happens now. Of the recording it gives only what the planner knew beforehand."""

    def __init__(self, recorded: Mapping[tuple[str, str, int], Body]) -> None:
        super().__init__()
        self._recorded = recorded

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """The body of an event of this episode, or what was recalled in the recorded one."""
        found = super().get(scope, kind, number)
        if found is None and kind == "recall" and (found := self._recorded.get((scope, kind, number))) is not None:
            self.put(scope, kind, number, found)
        return found


class RecordedReplies:
    """A model that gives each question the reply at the same place of the recording, whatever the prompt says."""

    name = "recorded"

    def __init__(self, recorded: Mapping[tuple[str, str, int], Body]) -> None:
        self._recorded = recorded

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """The recorded reply. Raises NotRecorded where nothing was asked."""
        scope, _, number = place().rpartition("/")
        body: Any = self._recorded.get((scope, "ask", int(number)))
        if body is None:
            raise NotRecorded("the planner asks more than was answered then")
        reply = Reply.model_validate(body["reply"])
        text, _ = tell(reply.text, on_text)
        return reply.model_copy(update={"text": text})
