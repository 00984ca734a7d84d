"""Rendered texts, each with a digest of its data, by which recordings find replies.

A recorded reply belongs to the data of its prompt (``planbook.planner.models.recordings``). So the wording of
templates, and the texts that describe an environment and its actions, can change without invalidating recordings.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

from pydantic import BaseModel, JsonValue, PlainSerializer, WrapValidator

WORDING = frozenset({"about", "action_docs", "demonstrations", "examples", "fence", "hint", "message"})
"""Variables and fields that hold wording rather than data: descriptions, advice, worked examples, fences."""
PLACES = frozenset({"order", "path", "scope"})
"""Fields that hold a place in a run; it differs between two runs of the same episode."""


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Rendered(str):
    """A text with the digest of its data. JSON keeps only the text."""

    data_digest: str

    @classmethod
    def of(cls, text: str, *data: object) -> "Rendered":
        """Return the text with the digest of these data."""
        return cls.known(text, digest_of(*data))

    @classmethod
    def known(cls, text: str, data_digest: str) -> "Rendered":
        """Return the text with a digest that is already known."""
        rendered = cls(text)
        rendered.data_digest = data_digest
        return rendered


def _keep_rendered(value: Any, validate: Any) -> Any:
    return value if isinstance(value, Rendered) else validate(value)


Text = Annotated[str, WrapValidator(_keep_rendered), PlainSerializer(str, return_type=str)]
"""A field of a record that may hold a rendered text. The digest is kept until the record becomes JSON."""


def digest_of(*values: object) -> str:
    """Return the digest of the data in the values. Raises TypeError for a value that is not plain data."""
    return digest(json.dumps([data_of(value) for value in values], sort_keys=True))


def data_of(value: object) -> JsonValue:
    """Return the data in a value as JSON, without wording, places, empty fields and defaults.

    A rendered text counts by its digest.
    """
    if isinstance(value, Rendered):
        return value.data_digest
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, BaseModel):
        return _record(value, {name: field.get_default() for name, field in type(value).model_fields.items()})
    if is_dataclass(value):
        return _record(value, {field.name: field.default for field in fields(value)})
    if isinstance(value, Mapping):
        return {str(name): data_of(item) for name, item in value.items() if name not in WORDING}
    if isinstance(value, Set):
        return [*sorted(map(digest_of, value))]
    if isinstance(value, Sequence):
        return [data_of(item) for item in value]
    raise TypeError(f"a prompt cannot be given {type(value).__name__}: recordings need plain data")


def data_of_named(values: Mapping[str, object]) -> JsonValue:
    """Return the data in named values without their names, so that fields and variables can be renamed."""
    data = (data_of(value) for name, value in values.items() if name not in WORDING | PLACES)
    return sorted((item for item in data if item not in (None, False, "", [], {})), key=digest_of)


def _record(record: object, defaults: Mapping[str, object]) -> JsonValue:
    """Return the data in the fields that differ from their defaults."""
    wording_fields: frozenset[str] = getattr(record, "wording_fields", frozenset())
    values = {name: getattr(record, name) for name in defaults}
    return data_of_named(
        {
            name: value
            for name, value in values.items()
            if value != defaults[name] and (name not in wording_fields or isinstance(value, Rendered))
        }
    )
