"""Identifies a request: its key, the name of its prompt, and the data that the prompt was made from."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from planbook.planner.models.types import Message, Sampling
from planbook.planner.rendered import digest, digest_of
from planbook.planner.types import Record


class Given(Record):
    """The data of a prompt: the digest, and the number of earlier prompts of the same template in the scope."""

    number: int
    data: str


_label: ContextVar[str] = ContextVar("label", default="")
_place: ContextVar[str] = ContextVar("place", default="")
_given: ContextVar[Given | None] = ContextVar("given", default=None)


@contextmanager
def labelled(name: str) -> Iterator[None]:
    """Name what is asked inside, such as the template of the prompt; recordings and exchanges write it down."""
    token = _label.set(name)
    try:
        yield
    finally:
        _label.reset(token)


def label() -> str:
    """Return the name of the question that this thread is asking."""
    return _label.get()


@contextmanager
def placed(place: str, given: Given) -> Iterator[None]:
    """Set the journal place and the prompt data of the questions asked inside."""
    tokens = _place.set(place), _given.set(given)
    try:
        yield
    finally:
        _place.reset(tokens[0])
        _given.reset(tokens[1])


def place() -> str:
    """Return where in the journal what this thread is asking will stand: its scope, and its number there."""
    return _place.get()


def given() -> Given | None:
    """Return the data of the prompt that this thread is asking; None outside of an episode."""
    return _given.get()


def data_of_prompt(messages: Sequence[Message]) -> str:
    """Return the digest of the data in a conversation, whatever its wording."""
    return digest_of([(message.role, message.data) for message in messages])


def request_key(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return a key that is equal for equal messages and sampling, whichever model is asked."""
    request = {"messages": [message.model_dump() for message in messages], "sampling": sampling.model_dump()}
    return digest(json.dumps(request, sort_keys=True))
