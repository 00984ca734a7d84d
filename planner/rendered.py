"""Texts that know what data they were made from: what a recording is found by, however prompts are worded.

A recorded reply belongs to the data of its prompt (``planbook.planner.models.recording``). The wording of templates,
and the texts that describe an environment and its actions, may change without making the reply another's.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

from pydantic import BaseModel, JsonValue, PlainSerializer, WrapValidator

WORDING = frozenset({"about", "action_docs", "demonstrations", "examples", "fence", "hint", "message", "surface"})
"""Variables and fields that are words about data: what an environment is, advice, worked examples, a text's fence."""
PLACES = frozenset({"order", "path", "scope"})
"""Fields that say where in a run something happened; the same episode has another place in another run."""


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Rendered(str):
    """A text, with the digest of the data that it was made from. JSON keeps the text alone."""

    data: str

    @classmethod
    def of(cls, text: str, *data: object) -> "Rendered":
        """Return the text as made from this data."""
        return cls.known(text, digest_of(*data))

    @classmethod
    def known(cls, text: str, data: str) -> "Rendered":
        """Return the text with a digest that is known already."""
        made = cls(text)
        made.data = data
        return made


def _kept(value: Any, validate: Any) -> Any:
    return value if isinstance(value, Rendered) else validate(value)


Text = Annotated[str, WrapValidator(_kept), PlainSerializer(str, return_type=str)]
"""A field of a record that may hold a rendered text, and keeps its digest until it is written as JSON."""


def digest_of(*values: object) -> str:
    """Return the digest of the data in the values. Raises TypeError for a value that is not plain data."""
    return digest(json.dumps([data_of(value) for value in values], sort_keys=True))


def data_of(value: object) -> JsonValue:
    """Return the data in a value as JSON: no wording, no places, no fields that are empty or have their default."""
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
    """Return the data in named values, without their names: a field or a variable may be renamed, or added empty."""
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
