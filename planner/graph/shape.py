"""What an answer must look like, as the author of a graph writes it (``expect:``), and how an answer is read."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Any

from pydantic import JsonValue

from planbook.planner.graph.json_reading import read_json
from planbook.planner.graph.lookups import nearest
from planbook.planner.roles import as_text
from planbook.planner.thought import as_plan

TEXT, CODE, YES_NO, NUMBER, WHOLE, ANY, CHOICE, FIELDS, EACH, LIST = (
    "text", "code", "yes/no", "number", "whole", "any", "one of", "fields", "each", "list",
)  # fmt: skip
SIMPLE = (TEXT, CODE, YES_NO, NUMBER, WHOLE, ANY)
FORMS = "text, code, yes/no, number, whole, any, one of: A, B, a list [SHAPE], or fields {NAME: SHAPE}"
"""What may be written, for messages."""
_MARKS = "*_`\"'#> \t\r\n"
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?![.,]?\w)")
_YES_NO = re.compile(r"(yes|no)\b", re.IGNORECASE)
_SHOWN = 60


@dataclass(frozen=True)
class Shape:
    """One form of answer. ``fields`` are those of an object, ``inner`` is the form of a list's items or all values."""

    kind: str = TEXT
    fields: Mapping[str, "Shape"] = field(default_factory=dict)
    inner: "Shape | None" = None
    choices: tuple[str, ...] = ()
    optional: bool = False
    """Of a field: whether it may be left out."""

    @property
    def is_json(self) -> bool:
        """Whether the whole answer is a JSON value."""
        return self.kind in (FIELDS, EACH, LIST, ANY)

    def read(self, text: str) -> JsonValue:
        """The answer in a model's reply. Raises ValueError with everything that the model has to mend."""
        _unless_broken(text)
        if not self.is_json:
            return _READERS[self.kind](self, as_text(text))
        kind = None if self.kind == ANY else list if self.kind == LIST else dict
        value = read_json(as_text(text), kind)
        _unless_broken(json.dumps(value, ensure_ascii=False))
        return self.check(value)

    def check(self, value: JsonValue) -> JsonValue:
        """A JSON value in this form, choices and yes/no as they are written in the graph. Raises ValueError."""
        faults: list[str] = []
        checked = _checked(self, value, "", faults)
        if faults:
            raise ValueError("; ".join(faults))
        return checked

    def sketch(self) -> str:
        """What a JSON answer looks like, with the form of each part in angle brackets."""
        if self.kind == FIELDS:
            return f"{{{', '.join(starmap(_field_sketch, self.fields.items()))}}}"
        if self.inner is not None:
            more = f"{self.inner.sketch()}, ..."
            return f"[{more}]" if self.kind == LIST else f'{{"<name>": {more}}}'
        return _SKETCHES.get(self.kind) or f"<one of: {', '.join(self.choices)}>"

    def part(self, path: str) -> "Shape":
        """The form of a part of the answer. Raises KeyError with the name that cannot be there."""
        shape = self
        for name in filter(None, path.split(".")):
            if shape.kind == ANY:
                return shape
            if shape.kind == FIELDS and name in shape.fields:
                shape = shape.fields[name]
            elif shape.inner is not None and (shape.kind == EACH or name.isdecimal()):
                shape = shape.inner
            else:
                raise KeyError(name)
        return shape


ANY_TEXT = Shape()
"""What is expected where nothing is said: a text that is not empty."""


def shape_of(written: Any) -> Shape:
    """The shape that is written in a graph. Raises ValueError that says what cannot be read, and what can."""
    if isinstance(written, list):
        if len(written) != 1:
            raise ValueError("a list has one shape, that of all its items: [text]")
        return Shape(LIST, inner=shape_of(written[0]))
    if isinstance(written, Mapping):
        return _mapping_shape(written)
    if isinstance(written, str):
        return _word_shape(written)
    raise ValueError(f"{written!r} is no shape; write {FORMS}")


def _mapping_shape(written: Mapping[Any, Any]) -> Shape:
    if not written:
        raise ValueError("there are no fields in {}; write `any` for whatever JSON there may be")
    if not all(isinstance(name, str) for name in written):
        raise ValueError("the names of fields are texts; put them in quotes")
    if "*" in written:
        if len(written) > 1:
            raise ValueError('"*" stands for any name, so that no other field can stand beside it')
        return Shape(EACH, inner=shape_of(written["*"]))
    fields = {}
    for name, each in written.items():
        shape = shape_of(each)
        if shape.kind == CODE:
            raise ValueError(f"{name}: code is a whole answer, not a field; give it a node of its own")
        fields[name.removesuffix("?")] = replace(shape, optional=name.endswith("?"))
    return Shape(FIELDS, fields=fields)


def _word_shape(written: str) -> Shape:
    word = " ".join(written.split())
    if word.lower().startswith("one of:"):
        choices = tuple(filter(None, (each.strip() for each in word[7:].split(","))))
        if len({choice.casefold() for choice in choices}) < max(2, len(choices)):
            raise ValueError(f"{written!r} needs two or more different choices: `one of: wait, go on`")
        return Shape(CHOICE, choices=choices)
    if word.lower() not in SIMPLE:
        raise ValueError(f"{written!r} is no shape{nearest(word.lower(), SIMPLE)} Write {FORMS}")
    return Shape(word.lower())


def _unless_broken(text: str) -> None:
    """Raises ValueError where half of a surrogate pair is in it: no server takes that back in a prompt."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("the reply holds half of a surrogate pair, which is no text; leave it out") from None


def _read_yes_no(shape: Shape, text: str) -> JsonValue:
    found = _YES_NO.match(text.lstrip(_MARKS))
    if not found:
        raise ValueError(f"the answer must begin with the word yes or no, and not with {text[:_SHOWN]!r}")
    return found[1].lower()


def _read_number(shape: Shape, text: str) -> JsonValue:
    found = _NUMBER.match(text.lstrip(_MARKS))
    if not found or (shape.kind == WHOLE and "." in found[0]):
        raise ValueError(f"the answer must begin with {_SKETCHES[shape.kind][1:-1]}, and not with {text[:_SHOWN]!r}")
    return float(found[0]) if "." in found[0] else int(found[0])


def _read_choice(shape: Shape, text: str) -> JsonValue:
    said = text.lstrip(_MARKS).casefold()
    for choice in sorted(shape.choices, key=len, reverse=True):
        rest = said.removeprefix(choice.casefold())
        if rest != said and not (rest[:1].isalnum() or rest[:1] == "_"):
            return choice
    raise ValueError(f"the answer must begin with one of: {', '.join(shape.choices)}; not with {text[:_SHOWN]!r}")


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
    YES_NO: "<yes or no>",
    NUMBER: "<a number>",
    WHOLE: "<a whole number>",
    ANY: "<any value>",
}


def _checked(shape: Shape, value: JsonValue, where: str, faults: list[str]) -> JsonValue:
    """The value as it is kept; what is wrong with it is added to the faults."""
    if shape.kind == FIELDS and isinstance(value, dict):
        return dict(_fields(shape, value, where, faults))
    if shape.kind == EACH and shape.inner and isinstance(value, dict):
        return {name: _checked(shape.inner, each, f"{where}.{name}".strip("."), faults) for name, each in value.items()}
    if shape.kind == LIST and shape.inner and isinstance(value, list):
        return [_checked(shape.inner, each, f"{where}[{number}]", faults) for number, each in enumerate(value)]
    if shape.kind in _VALUES:
        with_form = _VALUES[shape.kind](shape, value)
        if with_form is not None:
            return with_form
    elif shape.kind == ANY:
        return value
    faults.append(f"{where or 'the answer'} must be {_wanted(shape)}, and is {_shown(value)}")
    return value


def _fields(
    shape: Shape, value: Mapping[str, JsonValue], where: str, faults: list[str]
) -> Iterator[tuple[str, JsonValue]]:
    if extra := sorted(set(value) - set(shape.fields)):
        faults.append(
            f"{where or 'the answer'} has no field {', '.join(extra)}; its fields are {', '.join(shape.fields)}"
        )
    for name, inner in shape.fields.items():
        if value.get(name) is not None:
            yield name, _checked(inner, value[name], f"{where}.{name}".strip("."), faults)
        elif not inner.optional:
            faults.append(f"the field {f'{where}.{name}'.strip('.')} is missing; it must be {_wanted(inner)}")


def _number(shape: Shape, value: JsonValue) -> JsonValue:
    wanted = int if shape.kind == WHOLE else int | float
    return value if isinstance(value, wanted) and not isinstance(value, bool) else None


def _said(shape: Shape, value: JsonValue) -> JsonValue:
    if isinstance(value, bool) and shape.kind == YES_NO:
        return "yes" if value else "no"
    try:
        return _READERS[shape.kind](shape, value) if isinstance(value, str) and value.strip() else None
    except ValueError:
        return None


_VALUES: Mapping[str, Callable[[Shape, JsonValue], JsonValue]] = {
    TEXT: _said,
    CODE: _said,
    YES_NO: _said,
    CHOICE: _said,
    NUMBER: _number,
    WHOLE: _number,
}


def _field_sketch(name: str, shape: Shape) -> str:
    return f'"{name}": {shape.sketch()}{" (may be left out)" if shape.optional else ""}'


def _wanted(shape: Shape) -> str:
    if shape.kind == CODE:
        return "plan code"
    return f"a list, {shape.sketch()}" if shape.kind == LIST else shape.sketch().strip("<>")


def _shown(value: JsonValue) -> str:
    if value is None or value == "":
        return "empty"
    told = str(value) if not isinstance(value, str) else repr(value)
    return told if len(told) <= _SHOWN else f"{told[:_SHOWN]}..."
