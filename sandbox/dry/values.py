"""The values of a dry run: plain Python where they are known, and handles for what has identity.

Known are None, numbers, texts, tuples of values, and the classes below; everything else is UNKNOWN.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

Value = object
"""Whatever a name may stand for in a dry run."""


class Unknown(Enum):
    """The one value that may be any."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "..."


UNKNOWN = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True)
class Given:
    """What the session gives, by dotted name: an object (``agent``) or a function (``agent.go_to``)."""

    path: str


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function of Python's own, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Box:
    """A list, dict or set of the plan: what it holds now is in the heap of the state, under this number."""

    number: int


@dataclass(frozen=True, slots=True)
class Record:
    """An object whose attributes are known and never change, such as ``task``."""

    fields: Mapping[str, Value] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Defined:
    """A function or lambda of the plan, and the frame that it was defined in."""

    node: ast.FunctionDef | ast.Lambda
    frame: int
    defaults: tuple[tuple[str, Value], ...] = ()


MOST_PARTS = 20_000
"""Parts of a tuple that is looked through: those of tuples in it count, as often as they are in it."""


def is_small(value: tuple[Value, ...]) -> bool:
    """Whether a tuple can be looked through in a moment."""
    parts, inside = 0, [value]
    while inside and parts <= MOST_PARTS:
        each = inside.pop()
        parts += len(each)
        inside += [part for part in each if isinstance(part, tuple)]
    return parts <= MOST_PARTS


def same(first: Value, second: Value) -> bool:
    """Whether two values are certainly one: 1 is neither True nor 1.0."""
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return type(first) is type(second) and first == second
