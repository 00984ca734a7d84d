"""What one request is: its key, and the name of the prompt it was made from."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from planner.models.types import Message, Sampling

_label: ContextVar[str] = ContextVar("label", default="")
_place: ContextVar[str] = ContextVar("place", default="")


@contextmanager
def labelled(name: str) -> Iterator[None]:
    """Name what is asked inside, such as the template of the prompt; recordings and exchanges write it down."""
    token = _label.set(name)
    try:
        yield
    finally:
        _label.reset(token)


def label() -> str:
    """The name of what this thread is asking."""
    return _label.get()


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Say where in the journal what is asked inside will stand; a model that answers from a run looks there first."""
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)


def place() -> str:
    """Where in the journal what this thread is asking will stand: its scope, and its number there."""
    return _place.get()


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def request_key(messages: Sequence[Message], sampling: Sampling) -> str:
    """The same for the same messages and sampling, whichever model is asked, and different for every other request."""
    request = {"messages": [message.model_dump() for message in messages], "sampling": sampling.model_dump()}
    return digest(json.dumps(request, sort_keys=True))
