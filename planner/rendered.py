"""Rendered texts with a digest of the data they were made from, by which recordings find replies.

A recorded reply belongs to the data of its prompt (``planbook.planner.models.recordings``). So the wording of
templates, and the texts that describe an environment and its actions, can change without invalidating recordings.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

from pydantic import BaseModel, JsonValue, PlainSerializer, WrapValidator

WORDING = frozenset({"about", "action_docs", "demonstrations", "examples", "fence", "hint", "message", "surface"})
"""Variables and fields that hold wording rather than data: descriptions, advice, worked examples, fences."""
PLACES = frozenset({"order", "path", "scope"})
"""Fields that say where in a run something happened; the same episode is elsewhere in another run."""


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Rendered(str):
    """A text with the digest of the data it was made from. JSON keeps only the text."""

    data: str

    @classmethod
    def of(cls, text: str, *data: object) -> "Rendered":
        """Return the text as made from these data."""
        return cls.known(text, digest_of(*data))

    @classmethod
    def known(cls, text: str, data: str) -> "Rendered":
        """Return the text with a digest that is already known."""
        made = cls(text)
        made.data = data
        return made


def _kept(value: Any, validate: Any) -> Any:
    return value if isinstance(value, Rendered) else validate(value)


Text = Annotated[str, WrapValidator(_kept), PlainSerializer(str, return_type=str)]
"""A field of a record that may hold a rendered text. The digest is kept until the record becomes JSON."""


def digest_of(*values: object) -> str:
    """Return the digest of the data in the values. Raises TypeError for a value that is not plain data."""
    return digest(json.dumps([data_of(value) for value in values], sort_keys=True))


def data_of(value: object) -> JsonValue:
    """Return the data in a value as JSON, without wording, places, empty fields and defaults."""
    if isinstance(value, Rendered):
        return value.data
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, BaseModel):
        return _record(value, {name: field.get_default() for name, field in type(value).model_fields.items()})
    if is_dataclass(value):
        return _record(value, {each.name: each.default for each in fields(value)})
    if isinstance(value, Mapping):
        return {str(name): data_of(each) for name, each in value.items() if name not in WORDING}
    if isinstance(value, Set):
        return [*sorted(map(digest_of, value))]
    if isinstance(value, Sequence):
        return [data_of(each) for each in value]
    raise TypeError(f"a prompt cannot be given {type(value).__name__}: recordings need plain data")


def data_of_named(values: Mapping[str, object]) -> JsonValue:
    """Return the data in named values, without their names, so that fields and variables can be renamed."""
    found = (data_of(value) for name, value in values.items() if name not in WORDING | PLACES)
    return sorted((each for each in found if each not in (None, False, "", [], {})), key=digest_of)


def _record(record: object, defaults: Mapping[str, object]) -> JsonValue:
    """Return the data in the fields that differ from their defaults."""
    worded: frozenset[str] = getattr(record, "worded", frozenset())
    values = {name: getattr(record, name) for name in defaults}
    return data_of_named(
        {
            name: value
            for name, value in values.items()
            if value != defaults[name] and (name not in worded or isinstance(value, Rendered))
        }
    )
