"""Texts with a digest of the data from which they were made.

A recording holds replies of models. The reply to a prompt is found in it by a digest of the prompt's data, such as the
task and the observations, and not only by the prompt's text (``planbook.planner.models.recordings``). So templates and
the descriptions of environments and actions can be reworded, and recordings remain usable.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

from pydantic import BaseModel, JsonValue, PlainSerializer, WrapValidator


class RenderedText(str):
    """A text, with a digest of the data from which it was made. When it is written as JSON, the digest is lost."""

    data_digest: str

    @classmethod
    def of(cls, text: str, *data: object) -> "RenderedText":
        """Return the text with a digest of these data."""
        return cls.known(text, digest_of(*data))

    @classmethod
    def known(cls, text: str, data_digest: str) -> "RenderedText":
        """Return the text with a digest that is already known."""
        rendered = cls(text)
        rendered.data_digest = data_digest
        return rendered


def _keep_rendered(value: Any, validate: Any) -> Any:
    return value if isinstance(value, RenderedText) else validate(value)


Text = Annotated[str, WrapValidator(_keep_rendered), PlainSerializer(str, return_type=str)]
"""The type of a record's field that may hold a RenderedText. The digest is kept until the record becomes JSON."""
# Digests of data.

WORDING = frozenset({"about", "action_docs", "demonstrations", "examples", "fence", "hint", "message"})
"""Names of variables and fields that hold wording rather than data: descriptions, advice, worked examples, fences."""
PLACES = frozenset({"order", "path", "scope"})
"""Names of fields that hold a place in a run, which may differ between two runs of the same episode."""


def digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def digest_of(*values: object) -> str:
    """Return the digest of the data in the values (see ``data_of``). Raises TypeError if a value is not plain data."""
    return digest(json.dumps([data_of(value) for value in values], sort_keys=True))


def data_of(value: object) -> JsonValue:
    """Return the data in a value as JSON. A RenderedText is represented by its digest.

    Wording is left out, and so are fields of a record that hold a place in a run, are empty or have a default value.
    """
    if isinstance(value, RenderedText):
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


def unnamed_data(values: Mapping[str, object]) -> JsonValue:
    """Return the data in the values without the names, so that renaming a field or variable changes no digest."""
    data = (data_of(value) for name, value in values.items() if name not in WORDING | PLACES)
    return sorted((item for item in data if item not in (None, False, "", [], {})), key=digest_of)


def _record(record: object, defaults: Mapping[str, object]) -> JsonValue:
    """Return the data in those fields of a record that differ from their defaults."""
    wording_fields: frozenset[str] = getattr(record, "wording_fields", frozenset())
    values = {name: getattr(record, name) for name in defaults}
    return unnamed_data(
        {
            name: value
            for name, value in values.items()
            if value != defaults[name] and (name not in wording_fields or isinstance(value, RenderedText))
        }
    )
