"""Scopes: numbered places in the journal. Events are recorded there, and read from there on a repeat."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, takewhile
from typing import Any, TypeVar

from pydantic import JsonValue

from planbook.planner.errors import ContextExceeded, JournalFailed, JournalMismatch, UnusableReply
from planbook.planner.journal import Body, EventKind, Journal, record, write
from planbook.planner.models.types import Message, PromptData, Reply, asking, data_digest
from planbook.planner.prompts import PROMPTS, Question
from planbook.planner.reply_stream import RecordPiece, ReplyReader, ReplyStream, WholeReply
from planbook.planner.roles import FIRST_SAMPLE, NO_MODELS, Answer, Roles, Sample
from planbook.planner.spans import AnyPayload, Payload, Span, moment

Read = TypeVar("Read")
NO_ANSWER = "(no answer)"
"""Stands for an empty reply in the conversation, since some servers refuse empty messages."""


class Scope:
    """A place in the journal. Events of the same kind, and children of the same name, are numbered from 0.

    This is how a repeated episode finds its events again. An episode, each of its rounds and each frame has a scope.
    Anything else that asks a model gets its own scope.
    """

    def __init__(self, journal: Journal, path: str, roles: Roles = NO_MODELS) -> None:
        self.path, self.journal, self.roles = path, journal, roles
        self._events: Counter[EventKind] = Counter()
        self._children: Counter[str] = Counter()
        self._templates: Counter[str] = Counter()

    @property
    def asked(self) -> int:
        """Number of replies received here, unusable ones included."""
        return self._events["ask"]

    @property
    def recorded_replies(self) -> int:
        """Number of replies that the journal holds for this place, whether or not they have been read again."""
        return next(number for number in count() if self.journal.get(self.path, "ask", number) is None)

    def child(self, name: str) -> "Scope":
        """Return the next child with that name: ``task/17/round/1``, then ``task/17/round/2``."""
        number = self._children[name]
        self._children[name] += 1
        return Scope(self.journal, f"{self.path}/{name}/{number}", self.roles)

    def record(self, kind: EventKind, **body: JsonValue) -> None:
        """Write the next event of a kind, or compare it with the recorded one.

        Raises JournalMismatch, JournalFailed.
        """
        record(self.journal, self.path, kind, self._next(kind), body)

    def span(self, payload: AnyPayload) -> Span[AnyPayload]:
        """Begin a span: ``with scope.span(...) as span``, or end it with ``span.end()``."""
        return Span(self._record_span, payload)

    def note(self, payload: Payload) -> None:
        """Record a span that begins and ends at once."""
        self._record_span(moment(payload))

    def _record_span(self, body: Body) -> int:
        number = self._next("span")
        record(self.journal, self.path, "span", number, body)
        return number

    def once(self, kind: EventKind, make: Callable[[], Body]) -> Body:
        """Return the only event of a kind. The first call writes it; later calls read it from the journal.

        Raises JournalFailed.
        """
        recorded = self.journal.get(self.path, kind, 0)
        if recorded is None:
            recorded = make()
            write(self.journal, self.path, kind, 0, recorded)
        return recorded

    def ask(
        self,
        role: str,
        prompt: Question,
        *,
        read: Callable[[str], Read],
        history: Sequence[Message] = (),
        sample: Sample = FIRST_SAMPLE,
        **variables: object,
    ) -> Answer[Read]:
        """Ask a model and read its reply. If the reply is recorded, the model is not asked again.

        ``read`` raises ValueError for an unusable reply. Its message is then sent to the model, which may repair its
        reply up to ``Roles.repairs`` times; the conversation leaves unusable replies out. Raises UnusableReply after
        the last repair or if the prompt does not fit the context, ModelError if no model answers, and BudgetEnded.
        """
        return self.stream(role, prompt, lambda note: WholeReply(read), history=history, sample=sample, **variables)

    def stream(
        self,
        role: str,
        prompt: Question,
        new_reader: Callable[[RecordPiece], ReplyReader[Read]],
        *,
        history: Sequence[Message] = (),
        sample: Sample = FIRST_SAMPLE,
        **variables: object,
    ) -> Answer[Read]:
        """Ask like ``ask``, but pass each reply to a reader while it arrives, unless the reader ``waits``.

        The reader records in the journal the pieces that it is about to act upon. It decides which part of the reply
        the conversation keeps.
        """
        question = (*history, Message(role="user", content=prompt.render(**variables)))
        messages, problem = question, ""
        for _ in range(1 + self.roles.repairs):
            reply, reader = self._reply(role, prompt.name, messages, sample, new_reader)
            try:
                value = reader.read(reply)
                return Answer(value, reply, (*question, _reply_message(reader.kept(reply))))
            except ValueError as error:
                problem = _problem(reply, str(error))
            conversation = (*question, _reply_message(reader.kept(reply)))
            messages = (*conversation, Message(role="user", content=PROMPTS["repair"].render(problem=problem)))
        raise UnusableReply(f"the {role} gave no usable reply to {prompt.name}: {problem}", conversation)

    def _reply(
        self,
        role: str,
        template: str,
        messages: Sequence[Message],
        sample: Sample,
        new_reader: Callable[[RecordPiece], ReplyReader[Read]],
    ) -> tuple[Reply, ReplyReader[Read]]:
        """Return the next reply, fully read, from the journal if it is there.

        The pieces of a reply are recorded before the reply itself. Once that is recorded, they are ignored.
        """
        try:
            fitted = self.roles.fit(role, messages)
        except ContextExceeded as exceeded:
            raise UnusableReply(f"the {role} was not asked {template}: {exceeded}") from exceeded
        request: dict[str, JsonValue] = {
            "role": role,
            "template": template,
            "messages": [message.model_dump(mode="json") for message in fitted.messages],
        }
        number = self._next("ask")
        prompt_data = PromptData(number=self._templates[template], data=data_digest(messages))
        self._templates[template] += 1
        recorded: Any = self.journal.get(self.path, "ask", number)
        if recorded is not None:
            return self._recorded_reply(number, request, prompt_data, recorded, new_reader)
        before = self._pieces_before(number)
        stream = ReplyStream(lambda: new_reader(lambda text: self._record_piece(number, text)), before)
        question = asking(f"{role}: {template}", f"{self.path}/{number}", prompt_data)
        with question, self.roles.reserved(role, fitted.messages):
            on_text = None if stream.reader.waits else stream
            reply, model, sampling = self.roles.complete(role, fitted.messages, sample, on_text)
            reply = stream.settle(reply)
            if isinstance(stream.reader.failed, JournalMismatch | JournalFailed):
                raise stream.reader.failed
            body: Body = {
                **request,
                "given": prompt_data.model_dump(),
                "model": model,
                "sampling": sampling.model_dump(mode="json"),
                "left_out": fitted.left_out,
                "cut_characters": fitted.cut_characters,
                "reply": reply.model_dump(),
            }
            write(self.journal, self.path, "ask", number, body)
        if stream.contradicted:
            raise JournalMismatch(self.path, "heard", number, reply.text, "another reply of the model")
        return reply, stream.reader

    def _recorded_reply(
        self,
        number: int,
        request: Mapping[str, JsonValue],
        prompt_data: PromptData,
        recorded: Any,
        new_reader: Callable[[RecordPiece], ReplyReader[Read]],
    ) -> tuple[Reply, ReplyReader[Read]]:
        """Return the recorded reply, read again. Raises JournalMismatch if it answers another request.

        The same data in other words are the same request. planbook 0.1 did not record the data.
        """
        may_be_reworded = recorded.get("given") in (None, prompt_data.model_dump())
        compared = request.keys() - {"messages"} if may_be_reworded else request.keys()
        if different := [key for key, value in request.items() if key in compared and recorded[key] != value]:
            raise JournalMismatch(self.path, "ask", number, _only(recorded, different), _only(request, different))
        stream = ReplyStream(lambda: new_reader(lambda text: self._record_piece(number, text, to_write=False)), "")
        stream.repeat(reply := Reply.model_validate(recorded["reply"]))
        return reply, stream.reader

    def _record_piece(self, ask: int, text: str, *, to_write: bool = True) -> None:
        number = self._next("heard")
        if to_write:
            record(self.journal, self.path, "heard", number, {"ask": ask, "text": text})

    def _pieces_before(self, ask: int) -> str:
        """Return the pieces of an unfinished reply that an earlier invocation recorded."""
        bodies = (self.journal.get(self.path, "heard", number) for number in count(self._events["heard"]))
        pieces: Iterator[Any] = takewhile(lambda body: body is not None and body["ask"] == ask, bodies)
        return "".join(piece["text"] for piece in pieces)

    def _next(self, kind: EventKind) -> int:
        number = self._events[kind]
        self._events[kind] += 1
        return number


def _reply_message(text: str) -> Message:
    return Message(role="assistant", content=text or NO_ANSWER)


def _problem(reply: Reply, why: str) -> str:
    endings = {
        "length": "the reply was cut off at its token limit; write a shorter one. ",
        "refused": "the reply was refused or empty. ",
    }
    return f"{endings.get(reply.finish, '')}{why}"


def _only(body: Any, keys: Sequence[str]) -> JsonValue:
    return {key: body.get(key) for key in keys}
