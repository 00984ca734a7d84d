"""Shapes of answers, and functions that read and validate an answer.

A shape is the form that a node of a prompt graph expects its answer to have, such as text, a number, or JSON with
certain fields. In a graph file, the key ``expect`` of a node holds the shape.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import starmap
from typing import Any

from pydantic import JsonValue, ValidationError
from pydantic_core import SchemaValidator, core_schema as schema

from planbook.envs import validation_faults
from planbook.planner.graph.template_syntax import suggestion
from planbook.planner.replies import as_json, as_plan, as_text

TEXT, CODE, YES_NO, NUMBER, WHOLE, ANY, CHOICE, FIELDS, EACH, LIST = (
    "text", "code", "yes/no", "number", "whole", "any", "one of", "fields", "each", "list",
)  # fmt: skip
SIMPLE = (TEXT, CODE, YES_NO, NUMBER, WHOLE, ANY)
FORMS = "text, code, yes/no, number, whole, any, one of: A, B, a list [SHAPE], or fields {NAME: SHAPE}"
"""A list of all shapes, for messages."""
_MARKS = "*_`\"'#> \t\r\n"
"""Spaces, quotes and Markdown marks, which are ignored at the beginning of an answer."""
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?![.,]?\w)")
_YES_NO = re.compile(r"(yes|no)\b", re.IGNORECASE)
_MAX_TEXT = 60
_MAX_FAULTS = 100
"""Maximum number of faults that an error lists."""


@dataclass(frozen=True)
class Shape:
    """The form of an answer, or of a part of it."""

    kind: str = TEXT
    fields: Mapping[str, "Shape"] = field(default_factory=dict)
    """For the kind FIELDS: maps the name of each field to its shape."""
    inner: "Shape | None" = None
    """For the kind LIST, the shape of each item. For EACH (an object with any names), the shape of each value."""
    choices: tuple[str, ...] = ()
    """For the kind CHOICE: the possible answers."""
    optional: bool = False
    """True for a field that may be left out."""

    @property
    def is_json(self) -> bool:
        """True if the whole answer is a JSON value."""
        return self.kind in (FIELDS, EACH, LIST, ANY)

    def read(self, text: str) -> JsonValue:
        """Return the answer in a model's reply. Raises ValueError with a list of the faults if it does not fit."""
        _refuse_surrogates(text)
        if not self.is_json:
            return _READERS[self.kind](self, as_text(text))
        value = as_json(text, None if self.kind == ANY else list if self.kind == LIST else dict)
        _refuse_surrogates(json.dumps(value, ensure_ascii=False))
        return self.check(value)

    def check(self, value: JsonValue) -> JsonValue:
        """Return the value, with choices and yes/no spelled as in the graph. Raises ValueError if it does not fit."""
        try:
            return self._validator.validate_python(value)  # type: ignore[no-any-return]
        except ValidationError as error:
            raise ValueError("; ".join(validation_faults(error, "the answer")[:_MAX_FAULTS])) from None

    @cached_property
    def _validator(self) -> SchemaValidator:
        return SchemaValidator(_schema_of(self))

    def sketch(self) -> str:
        """Return a sketch of an answer, with the shape of each part in angle brackets."""
        if self.kind == FIELDS:
            return f"{{{', '.join(starmap(_field_sketch, self.fields.items()))}}}"
        if self.inner is not None:
            inner_sketch = f"{self.inner.sketch()}, ..."
            return f"[{inner_sketch}]" if self.kind == LIST else f'{{"<name>": {inner_sketch}}}'
        return _SKETCHES.get(self.kind) or f"<one of: {', '.join(self.choices)}>"

    def part(self, path: str) -> "Shape | None":
        """Return the shape of the part at a dotted path, or None if no such part is possible."""
        shape = self
        for name in filter(None, path.split(".")):
            if shape.kind == ANY:
                return shape
            if shape.kind == FIELDS and name in shape.fields:
                shape = replace(shape.fields[name], optional=shape.optional or shape.fields[name].optional)
            elif shape.inner is not None and (shape.kind == EACH or name.lstrip("-").isdecimal()):
                shape = replace(shape.inner, optional=True)  # an answer need not have an item with this number or name
            else:
                return None
        return shape


ANY_TEXT = Shape()
"""The default shape: any text that is not empty."""


def shape_of(spec: Any) -> Shape:
    """Return the shape that the value of ``expect`` in a graph file describes. Raises ValueError for anything else."""
    if isinstance(spec, Shape):
        return spec
    if isinstance(spec, list):
        if len(spec) != 1:
            raise ValueError("a list needs exactly one shape, which all its items have: [text]")
        return Shape(LIST, inner=shape_of(spec[0]))
    if isinstance(spec, Mapping):
        return _mapping_shape(spec)
    if isinstance(spec, str):
        return _word_shape(spec)
    raise ValueError(f"{spec!r} is not a shape; write {FORMS}")


def _mapping_shape(spec: Mapping[Any, Any]) -> Shape:
    if not spec:
        raise ValueError("there are no fields in {}; write `any` for any JSON")
    if not all(isinstance(name, str) for name in spec):
        raise ValueError("field names must be strings; quote them")
    if "*" in spec:
        if len(spec) > 1:
            raise ValueError('"*" means any name; it cannot be combined with other fields')
        return Shape(EACH, inner=shape_of(spec["*"]))
    fields = {}
    for name, inner in spec.items():
        shape = shape_of(inner)
        if shape.kind == CODE:
            raise ValueError(f"{name}: code is a whole answer, not a field; add a separate node for it")
        fields[name.removesuffix("?")] = replace(shape, optional=name.endswith("?"))
    return Shape(FIELDS, fields=fields)


def _word_shape(spec: str) -> Shape:
    word = " ".join(spec.split())
    if word.lower().startswith("one of:"):
        choices = tuple(filter(None, map(str.strip, word[7:].split(","))))
        if len({choice.casefold() for choice in choices}) < max(2, len(choices)):
            raise ValueError(f"{spec!r} needs two or more different choices: `one of: wait, go on`")
        return Shape(CHOICE, choices=choices)
    if word.lower() not in SIMPLE:
        raise ValueError(f"{spec!r} is not a shape{suggestion(word.lower(), SIMPLE)} Write {FORMS}")
    return Shape(word.lower())


# Shapes as schemas for pydantic.


def _schema_of(shape: Shape) -> schema.CoreSchema:
    """Return a schema with which pydantic validates a value of this shape."""
    if shape.inner is not None:
        inner_schema = _schema_of(shape.inner)
        if shape.kind == LIST:
            return schema.list_schema(inner_schema)
        return schema.dict_schema(schema.str_schema(), inner_schema)
    if shape.kind == FIELDS:
        fields = {
            name: schema.typed_dict_field(_schema_of(inner), required=not inner.optional)
            for name, inner in shape.fields.items()
        }
        mapping = schema.typed_dict_schema(fields, extra_behavior="forbid")
        return schema.no_info_before_validator_function(_without_nulls, mapping)
    if shape.kind == ANY:
        return schema.any_schema()
    return schema.no_info_plain_validator_function(partial(_check_scalar, shape))


def _without_nulls(value: Any) -> Any:
    return {name: item for name, item in value.items() if item is not None} if isinstance(value, dict) else value


def _check_scalar(shape: Shape, value: Any) -> JsonValue:
    if shape.kind in (NUMBER, WHOLE):
        if isinstance(value, int if shape.kind == WHOLE else int | float) and not isinstance(value, bool):
            return value
    elif isinstance(value, bool) and shape.kind == YES_NO:
        return "yes" if value else "no"
    elif isinstance(value, str) and value.strip():
        return _READERS[shape.kind](shape, value)
    raise ValueError(f"this must be {shape.sketch()[1:-1]}")


# Answers that are not JSON.


def _refuse_surrogates(text: str) -> None:
    """Raise ValueError if a text contains a lone surrogate, because servers would refuse it in a prompt."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("the reply contains half of a surrogate pair, which is not valid text; leave it out") from None


def _read_yes_no(shape: Shape, text: str) -> JsonValue:
    match = _YES_NO.match(text.lstrip(_MARKS))
    if not match:
        raise ValueError(f"the answer must begin with the word yes or no, not with {text[:_MAX_TEXT]!r}")
    return match[1].lower()


def _read_number(shape: Shape, text: str) -> JsonValue:
    match = _NUMBER.match(text.lstrip(_MARKS))
    if not match or (shape.kind == WHOLE and "." in match[0]):
        raise ValueError(f"the answer must begin with {shape.sketch()[1:-1]}, not with {text[:_MAX_TEXT]!r}")
    return float(match[0]) if "." in match[0] else int(match[0])


def _read_choice(shape: Shape, text: str) -> JsonValue:
    for answer in (text.casefold(), text.lstrip(_MARKS).casefold()):  # a choice may begin with a mark
        for choice in sorted(shape.choices, key=len, reverse=True):
            rest = answer.removeprefix(choice.casefold())
            if rest != answer and not (rest[:1].isalnum() or rest[:1] == "_"):
                return choice
    raise ValueError(f"the answer must begin with {shape.sketch()[1:-1]}, not with {text[:_MAX_TEXT]!r}")


_READERS: Mapping[str, Callable[[Shape, str], JsonValue]] = {
    TEXT: lambda shape, text: text,
    CODE: lambda shape, text: as_plan(text).code,
    YES_NO: _read_yes_no,
    NUMBER: _read_number,
    WHOLE: _read_number,
    CHOICE: _read_choice,
}
_SKETCHES = {
    TEXT: "<text>",
    CODE: "<plan code>",
    YES_NO: "<yes or no>",
    NUMBER: "<a number>",
    WHOLE: "<a whole number>",
    ANY: "<any value>",
}


def _field_sketch(name: str, shape: Shape) -> str:
    return f'"{name}": {shape.sketch()}{" (may be left out)" if shape.optional else ""}'
