"""The values of a dry run, its knowledge of the environment, and operations on known values.

Known values are None, numbers, strings, tuples of values, and the classes below. Everything else is UNKNOWN. Operations
are computed only if they are cheap, have no effect, and give the same result in the sandbox.
"""

import ast
import builtins
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, Self

Value = object
"""Any value of a dry run."""


class UnknownType(Enum):
    """The type of UNKNOWN."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "..."


UNKNOWN = UnknownType.UNKNOWN
"""A value that a dry run cannot know."""


@dataclass(frozen=True, slots=True)
class HostRef:
    """Something that may act, by dotted name: an object (``agent``) or function (``agent.go_to``) of the session.

    So may the names that earlier cells defined.
    """

    path: str


@dataclass(frozen=True, slots=True)
class BuiltinFunction:
    """A built-in function of Python, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Container:
    """A list or dict of the plan. Its current content is in the state's heap, under this number."""

    number: int


@dataclass(frozen=True, slots=True)
class Rows:
    """What a range, enumerate, zip or view of a dict yields, where it is iterated over at once.

    The items are computed for each iteration, since the lists and dicts may change in between.
    """

    kind: str
    args: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class KnownObject:
    """An object whose attributes are known and never change, such as ``task``."""

    fields: Mapping[str, Value] = field(hash=False)


@dataclass(frozen=True, slots=True)
class DefinedFunction:
    """A function or lambda of the plan, and the frame in which it was defined."""

    node: ast.FunctionDef | ast.Lambda
    frame: int
    defaults: tuple[tuple[str, Value], ...] = ()


def same(first: Value, second: Value) -> bool:
    """Return whether two values or contents are certainly the same: 1 is neither True nor 1.0."""
    if first is second or type(first) is not type(second):
        return first is second
    if isinstance(first, DefinedFunction) and isinstance(second, DefinedFunction):
        is_one = first.node is second.node and first.frame == second.frame
        return is_one and same(first.defaults, second.defaults)
    if isinstance(first, dict) and isinstance(second, dict):
        first, second = [*first.items()], [*second.items()]
    if isinstance(first, tuple | list) and isinstance(second, tuple | list):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


# The environment.


@dataclass(frozen=True, slots=True)
class Impossible:
    """The reason why an action cannot succeed, and the plan lines that caused it; none if it was so from the start."""

    action: str
    why: str
    since: tuple[int, ...] = ()


class SessionKnowledge(Protocol):
    """Known facts about the environment at one point of a plan. Immutable; equal if the facts are the same."""

    def act(
        self, path: str, args: Sequence[object], kwargs: Mapping[str, object], line: int
    ) -> tuple[Self, Impossible | None]:
        """Return the knowledge after a call to the session's function ``path``, and why the call cannot succeed, if so.

        An argument may be UNKNOWN. A call whose arguments do not fit changes nothing.
        """

    def either(self, other: Self) -> Self:
        """Return what is known if either this or the other knowledge is true."""

    def forgotten(self) -> Self:
        """Return what is still known after unknown actions."""

    def attribute(self, path: str) -> object:
        """Return the value of an attribute of the session, or UNKNOWN."""


# Operations.

MAX_CHARS, MAX_ITEMS, MAX_NUMBER = 20_000, 2_000, 10**12
"""Larger values are UNKNOWN. In nested values all items and characters count."""
MAX_WORK = 100 * MAX_CHARS
"""Maximum product of the sizes of a string and the arguments of its method, which limits the result and the time."""

Plain = object


class NotKnown(Exception):
    """The result is not known, or too large."""


BINARY: Mapping[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
TEXT_METHODS = frozenset(
    "capitalize casefold count endswith find index isalpha isdecimal isdigit islower isnumeric isspace isupper join "
    "lower lstrip partition removeprefix removesuffix replace rfind rindex rpartition rsplit rstrip split splitlines "
    "startswith strip title upper".split()
)


FUNCTIONS: Mapping[str, Callable[..., object]] = {
    name: getattr(builtins, name)
    for name in "abs all any bool float int len list max min round sorted str sum tuple".split()
}
"""Built-in functions whose results are computed. They never return iterators."""
_FAILURES = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)


def compute(function: Callable[..., object], *args: Plain, **named: Plain) -> Plain:
    """Return the result of a function. Raises NotKnown if the function raises, and if a value is too large."""
    for argument in (*args, *named.values()):
        _size(argument)
    try:
        result = function(*args, **named)
    except _FAILURES as error:
        raise NotKnown from error
    _size(result)
    return result


def binary(kind: type[ast.operator], left: Plain, right: Plain) -> Plain:
    """Return the result of an operation on two values. Raises NotKnown."""
    if kind not in BINARY or (kind is ast.Mod and isinstance(left, str | bytes)):
        raise NotKnown
    if kind is ast.Mult and not (isinstance(left, int | float) and isinstance(right, int | float)):
        count, sequence = (left, right) if isinstance(left, int) else (right, left)
        if not isinstance(count, int) or count * _size(sequence) > MAX_ITEMS:
            raise NotKnown
    return compute(BINARY[kind], left, right)


def text_method(text: str, name: str, args: Sequence[Plain], named: Mapping[str, Plain]) -> Plain:
    """Return the result of a string method. Raises NotKnown."""
    if name not in TEXT_METHODS or (1 + len(text)) * (1 + _size([*args, *named.values()])) > MAX_WORK:
        raise NotKnown
    return compute(getattr(text, name), *args, **named)


def _size(value: Value) -> int:
    """Return the number of all items and characters in a value. Raises NotKnown if it is too large to compute with."""
    if isinstance(value, int | float) and abs(value) > MAX_NUMBER:
        raise NotKnown
    items = chars = 0
    inside = [value]
    while inside:
        current = inside.pop()
        if isinstance(current, str | bytes):
            chars += len(current)
        elif isinstance(current, list | tuple | dict):
            items += len(current)
            if items <= MAX_ITEMS:  # an item that occurs twice counts twice
                inside += [*current, *current.values()] if isinstance(current, dict) else current
        if items > MAX_ITEMS or chars > MAX_CHARS:
            raise NotKnown
    return items + chars
