"""Scopes: numbered places in the journal, which holds the events of an episode.

A scope, a kind and a number identify each event. An episode is resumed by running its method again. If the journal
already has an event with the scope, kind and number of the new one, the two are compared. If the event is the reply of
a model, the recorded reply is used, and the model is not asked.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, takewhile
from typing import Any, TypeVar

from pydantic import JsonValue

from planbook.planner.errors import ContextExceeded, JournalFailed, JournalMismatch, UnusableReply
from planbook.planner.journal import AnyPayload, Body, EventKind, Journal, Payload, Span, instant_event
from planbook.planner.models.types import Message, PromptData, Reply, asking, data_digest
from planbook.planner.prompts import PROMPTS, Question
from planbook.planner.roles import FIRST_SAMPLE, NO_MODELS, Answer, Roles, Sample
from planbook.planner.streaming import RecordPiece, ReplyReader, ReplyStream, WholeReplyReader

Read = TypeVar("Read")
NO_ANSWER = "(no answer)"
"""Replaces an empty reply in the conversation, because some servers refuse empty messages."""


class Scope:
    """A place in the journal, with a path such as ``task/17/round/1``.

    In a scope, events of the same kind are numbered from 0, and so are inner scopes of the same name. An episode has a
    scope. Inside it, each round (the part between two resets of the environment) and each frame (a namespace of plan
    code) has a scope. Other code that asks models, such as the learning after an episode, has separate scopes.
    """

    def __init__(self, journal: Journal, path: str, roles: Roles = NO_MODELS) -> None:
        self.path, self.journal, self.roles = path, journal, roles
        self._events: Counter[EventKind] = Counter()
        self._children: Counter[str] = Counter()
        self._templates: Counter[str] = Counter()

    @property
    def reply_count(self) -> int:
        """Number of replies in this scope so far, including unusable ones."""
        return self._events["ask"]

    @property
    def recorded_reply_count(self) -> int:
        """Number of replies that the journal holds for this scope, including replies not yet read."""
        return next(number for number in count() if self.journal.get(self.path, "ask", number) is None)

    def child(self, name: str) -> "Scope":
        """Return a new inner scope: first ``task/17/round/0``, then ``task/17/round/1``, and so on."""
        number = self._children[name]
        self._children[name] += 1
        return Scope(self.journal, f"{self.path}/{name}/{number}", self.roles)

    def record(self, kind: EventKind, **body: JsonValue) -> int:
        """Write the next event of a kind or, if one is already recorded, compare the two. Return the event's number.

        Raises JournalMismatch if the two differ, or JournalFailed if the event cannot be written.
        """
        number = self._next(kind)
        recorded = self.journal.get(self.path, kind, number)
        if recorded is None:
            self._write(kind, number, body)
        elif _compared_part(recorded) != _compared_part(body):
            raise JournalMismatch(self.path, kind, number, dict(recorded), body)
        return number

    def span(self, payload: AnyPayload) -> Span[AnyPayload]:
        """Begin a span: the record of a part of the method's work, such as a subtask. ``with`` or ``end()`` ends it."""
        return Span(self._record_span, payload)

    def record_instant(self, payload: Payload) -> None:
        """Record a span that has no duration."""
        self._record_span(instant_event(payload))

    def _record_span(self, body: Body) -> int:
        return self.record("span", **body)

    def get_or_record(self, kind: EventKind, make: Callable[[], Body]) -> Body:
        """Return the event of a kind that occurs once in a scope. If it is not recorded yet, ``make`` creates it.

        Raises JournalFailed if the event cannot be written.
        """
        recorded = self.journal.get(self.path, kind, 0)
        if recorded is None:
            recorded = make()
            self._write(kind, 0, recorded)
        return recorded

    def _write(self, kind: EventKind, number: int, body: Body) -> None:
        """Add an event to the journal. Raises JournalFailed, which plan code cannot catch, for any error."""
        try:
            self.journal.put(self.path, kind, number, body)
        except Exception as error:
            raise JournalFailed(str(error)) from error

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
        """Ask a model, or take the reply from the journal. Return the reply and the value that ``read`` returns for it.

        ``read`` raises ValueError for an unusable reply. The model is then shown the error, and may repair its reply up
        to ``Roles.repairs`` times. Unusable replies are not part of ``Answer.history``.

        Raises UnusableReply if the last repair is not usable either, or if the prompt does not fit into the context,
        ModelError if the model does not answer, or BudgetEnded if the budget does not suffice.
        """
        return self.stream(
            role, prompt, lambda record: WholeReplyReader(read), history=history, sample=sample, **variables
        )

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
        """Ask like ``ask``, but pass each reply to a new reader as the reply arrives.

        The reader records each piece in the journal before it acts on the piece. A reader that ``needs_whole_reply``
        gets the reply only when it is complete. The reader also writes the text that later prompts show as the reply.
        """
        question = (*history, Message(role="user", content=prompt.render(**variables)))
        messages, problem = question, ""
        for _ in range(1 + self.roles.repairs):
            reply, reader = self._reply(role, prompt.name, messages, sample, new_reader)
            try:
                value = reader.read(reply)
                return Answer(value, reply, (*question, _reply_message(reader.text_for_history(reply))))
            except ValueError as error:
                problem = _describe_problem(reply, str(error))
            conversation = (*question, _reply_message(reader.text_for_history(reply)))
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
        """Return the next reply and the reader that has read it. A recorded reply comes from the journal.

        Each piece of a reply is recorded before the reader acts on it. Once the whole reply is recorded, the recorded
        pieces are ignored.
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
        earlier = self._earlier_pieces(number)
        stream = ReplyStream(lambda: new_reader(lambda text: self.record("piece", ask=number, text=text)), earlier)
        question = asking(f"{role}: {template}", f"{self.path}/{number}", prompt_data)
        with question, self.roles.reserve_cost(role, fitted.messages):
            on_text = None if stream.reader.needs_whole_reply else stream
            reply, model, sampling = self.roles.complete(role, fitted.messages, sample, on_text)
            reply = stream.finish(reply)
            if isinstance(stream.reader.error, JournalMismatch | JournalFailed):
                raise stream.reader.error
            body: Body = {
                **request,
                "given": prompt_data.model_dump(),
                "model": model,
                "sampling": sampling.model_dump(mode="json"),
                "left_out": fitted.left_out,
                "cut_characters": fitted.cut_characters,
                "reply": reply.model_dump(),
            }
            self._write("ask", number, body)
        if stream.contradicts_record:
            raise JournalMismatch(self.path, "piece", number, reply.text, "another reply of the model")
        return reply, stream.reader

    def _recorded_reply(
        self,
        number: int,
        request: Mapping[str, JsonValue],
        prompt_data: PromptData,
        recorded: Any,
        new_reader: Callable[[RecordPiece], ReplyReader[Read]],
    ) -> tuple[Reply, ReplyReader[Read]]:
        """Return the recorded reply and its reader. Raises JournalMismatch if it is the reply to a different request.

        A request with the same data in different words counts as the same request. planbook 0.1 did not record the data
        of requests, so the messages of its requests are not compared.
        """
        may_be_reworded = recorded.get("given") in (None, prompt_data.model_dump())
        compared_keys = request.keys() - {"messages"} if may_be_reworded else request.keys()
        if different := [key for key, value in request.items() if key in compared_keys and recorded[key] != value]:
            raise JournalMismatch(self.path, "ask", number, _select(recorded, different), _select(request, different))
        reply = Reply.model_validate(recorded["reply"])
        reader = new_reader(lambda text: self._next("piece"))  # the pieces are already recorded
        reader.feed(reply.text)
        return reply, reader

    def _earlier_pieces(self, ask: int) -> str:
        """Return the part of a reply that an interrupted invocation of the run recorded."""
        bodies = (self.journal.get(self.path, "piece", number) for number in count(self._events["piece"]))
        pieces: Iterator[Any] = takewhile(lambda body: body is not None and body["ask"] == ask, bodies)
        return "".join(piece["text"] for piece in pieces)

    def _next(self, kind: EventKind) -> int:
        number = self._events[kind]
        self._events[kind] += 1
        return number


def _compared_part(body: Body) -> Body:
    """Return the event without texts that other versions may word differently: of a cell's feedback, and titles."""
    feedback = body.get("feedback")
    changes: Body = {"feedback": {**feedback, "text": ""}} if isinstance(feedback, dict) else {}
    return {**body, **changes, "title": ""}


def _reply_message(text: str) -> Message:
    return Message(role="assistant", content=text or NO_ANSWER)


def _describe_problem(reply: Reply, reason: str) -> str:
    explanations = {
        "length": "the reply was cut off at its token limit; write a shorter one. ",
        "refused": "the reply was refused or empty. ",
    }
    return f"{explanations.get(reply.finish, '')}{reason}"


def _select(body: Any, keys: Sequence[str]) -> JsonValue:
    return {key: body.get(key) for key in keys}
