"""The values and the state of a dry run, its knowledge about the environment, and operations on values.

Known values are None, numbers, strings, bytes, tuples of values, and instances of the classes below. Everything else is
UNKNOWN. An operation is computed only if it is cheap, has no effect, and gives the same result in the sandbox.

A value *escapes* when code that the dry run does not follow gets hold of it. Code *acts* if it calls one of the
session's functions. A *frame* holds the local variables of one call, or those of the module.
"""

import ast
import builtins
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Protocol, Self, TypeVar

Value = object
"""Any value of a dry run."""
Scalar = str | bytes | int | float | None
"""The type of plain values without parts."""


class UnknownType(Enum):
    """The type of UNKNOWN."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "..."


UNKNOWN = UnknownType.UNKNOWN
"""A value that a dry run cannot determine."""


@dataclass(frozen=True, slots=True)
class HostRef:
    """A reference to an object (``agent``) or function (``agent.go_to``) of the session. Code that gets it may act.

    A name whose value may be a function of an earlier cell that acts is also represented by this class.
    """

    path: str


@dataclass(frozen=True, slots=True)
class BuiltinFunction:
    """A built-in function, class or constant of Python, identified by its name."""

    name: str


KNOWN_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
"""Names of the built-in functions, classes and constants, which plans may read although no code binds them."""


@dataclass(frozen=True, slots=True)
class Container:
    """A list or dict of the plan. ``WalkState.heap`` maps its number to its current content."""

    number: int


Content = list[Value] | dict[Value, Value] | None
"""The content of a list or dict, or None if it is unknown. Content is replaced, never changed in place."""


def values_in(content: Content) -> list[Value]:
    """Return the items of a list, or the keys and values of a dict."""
    return [*content, *content.values()] if isinstance(content, dict) else list(content or ())


@dataclass(frozen=True, slots=True)
class LazyItems:
    """The value of a call such as ``range(3)``, ``zip(a, b)`` or ``d.items()`` whose items are read immediately.

    ``kind`` is the name of the called function or method. The items are computed again for each iteration, since the
    lists and dicts in ``args`` may change in between.
    """

    kind: str
    args: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class KnownObject:
    """An object with known attributes that never change, such as ``task``."""

    fields: Mapping[str, Value] = field(hash=False)


@dataclass(frozen=True, slots=True)
class DefinedFunction:
    """A function or lambda of the plan, with the values of its defaults and the number of the frame around it."""

    node: ast.FunctionDef | ast.Lambda
    frame: int
    defaults: tuple[tuple[str, Value], ...] = ()


def are_same(first: Value, second: Value) -> bool:
    """Return whether two values, or contents of containers, are certainly the same.

    The values must also have the same type: 1, True and 1.0 all differ.
    """
    if first is second or type(first) is not type(second):
        return first is second
    if isinstance(first, DefinedFunction) and isinstance(second, DefinedFunction):
        is_same_definition = first.node is second.node and first.frame == second.frame
        return is_same_definition and are_same(first.defaults, second.defaults)
    if isinstance(first, dict) and isinstance(second, dict):
        first, second = [*first.items()], [*second.items()]
    if isinstance(first, tuple | list) and isinstance(second, tuple | list):
        return len(first) == len(second) and all(map(are_same, first, second))
    return first == second


@dataclass(frozen=True, slots=True)
class Impossible:
    """The reason why an action cannot succeed."""

    action: str
    reason: str


class SessionKnowledge(Protocol):
    """The facts that are known about the environment at one point of a plan.

    Implementations must be immutable, and two objects with the same facts must be equal.
    """

    def act(self, path: str, args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[Self, Impossible | None]:
        """Return the knowledge after a call to the session's function ``path``.

        The second value is None if the call may succeed. Otherwise it says why the call cannot succeed. Any argument
        may be UNKNOWN. If the arguments do not match the function's parameters, the call changes nothing.
        """

    def merged_with(self, other: Self) -> Self:
        """Return the facts that are in both this knowledge and ``other``."""

    def after_unknown_actions(self) -> Self:
        """Return the facts that still hold after any number of unknown actions."""

    def attribute(self, path: str) -> object:
        """Return the value of one of the session's attributes, or UNKNOWN."""


MAX_CHARS, MAX_ITEMS, MAX_NUMBER = 20_000, 2_000, 10**12
"""A value with more characters or items, or a larger number, is UNKNOWN. In a nested value, the items and characters of
all parts count.
"""
MAX_WORK = 100 * MAX_CHARS
"""Maximum product of the size of a string and the size of its method's arguments. It limits the method's time, and the
size of its result.
"""

PlainValue = object


class NotKnown(Exception):
    """A value, or the result of an operation, is unknown or too large."""


class PathEnded(Exception):
    """The current path ends here and does not reach the next statement, for example because of a ``return``."""


class ErrorRaised(PathEnded):
    """The current path ends here, since the plan's code certainly raises the exception ``error``."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")


BINARY_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], object]] = {
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
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}
STRING_METHODS = frozenset(
    "capitalize casefold count endswith find index isalpha isdecimal isdigit islower isnumeric isspace isupper join "
    "lower lstrip partition removeprefix removesuffix replace rfind rindex rpartition rsplit rstrip split splitlines "
    "startswith strip title upper".split()
)
MAX_PLACES = 400
"""Maximum number of decimal places to which a dry run rounds, and of characters that it converts to a number. Both take
quadratic time.
"""


def _round(number: Any, ndigits: Any = None) -> object:
    if isinstance(ndigits, int) and abs(ndigits) > MAX_PLACES:
        raise NotKnown
    return round(number, ndigits)


def _number(kind: type, *args: Any, **options: Any) -> object:
    if any(isinstance(argument, str | bytes) and len(argument) > MAX_PLACES for argument in args):
        raise NotKnown
    return kind(*args, **options)


COMPUTED: Mapping[str, Callable[..., object]] = {
    name: getattr(builtins, name) for name in "abs all any bool len list max min sorted str sum tuple".split()
} | {"float": partial(_number, float), "int": partial(_number, int), "round": _round}
"""Built-in functions whose results a dry run computes. None of them returns an iterator."""
COMPUTE_ERRORS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


def compute(function: Callable[..., object], *args: PlainValue, **kwargs: PlainValue) -> PlainValue:
    """Call a function and return its result.

    Raises ErrorRaised if the call fails, as it would in the plan, or NotKnown if a value is too large.
    """
    for argument in (*args, *kwargs.values()):
        _size(argument)
    try:
        result = function(*args, **kwargs)
    except RecursionError as error:
        raise NotKnown from error
    except COMPUTE_ERRORS as error:
        raise ErrorRaised(error) from error
    _size(result)
    return result


def apply_operator(kind: type[ast.operator], left: PlainValue, right: PlainValue) -> PlainValue:
    """Return the result of a binary operation.

    Raises ErrorRaised if it fails, or NotKnown if a dry run does not compute it, or if a value is too large.
    """
    if kind not in BINARY_OPERATORS or (kind is ast.Mod and isinstance(left, str | bytes)):
        raise NotKnown
    if kind is ast.Mult and not (isinstance(left, int | float) and isinstance(right, int | float)):
        count, sequence = (left, right) if isinstance(left, int) else (right, left)
        if not isinstance(count, int) or count * _size(sequence) > MAX_ITEMS:
            raise NotKnown
    return compute(BINARY_OPERATORS[kind], left, right)


def string_method(text: str, name: str, args: Sequence[PlainValue], kwargs: Mapping[str, PlainValue]) -> PlainValue:
    """Return the result of a string method.

    Raises ErrorRaised if the method fails, or NotKnown if it is not in STRING_METHODS, or if a value is too large.
    """
    if name not in STRING_METHODS or (1 + len(text)) * (1 + _size([*args, *kwargs.values()])) > MAX_WORK:
        raise NotKnown
    return compute(getattr(text, name), *args, **kwargs)


def _size(value: Value) -> int:
    """Return the number of items and characters in a value, including its parts. Raises NotKnown if it is too large."""
    if isinstance(value, int | float) and abs(value) > MAX_NUMBER:
        raise NotKnown
    items = chars = 0
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, str | bytes):
            chars += len(current)
        elif isinstance(current, list | tuple | dict):
            items += len(current)
            if items <= MAX_ITEMS:  # an item that occurs twice is counted twice
                pending += [*current, *current.values()] if isinstance(current, dict) else current
        if items > MAX_ITEMS or chars > MAX_CHARS:
            raise NotKnown
    return items + chars


K = TypeVar("K", int, str)


@dataclass
class WalkState:
    """The state at one point of a path through the plan. Copies of a state share the contents of lists and dicts.

    ``frames`` maps the number of a frame to its variables, and ``heap`` the number of a list or dict to its content.
    While the content is known, no UNKNOWN value can refer to the list or dict: unknown code can reach only lists and
    dicts that have escaped, and their content is unknown.
    """

    knowledge: SessionKnowledge
    frames: dict[int, dict[str, Value]] = field(default_factory=dict)
    heap: dict[int, Content] = field(default_factory=dict)
    escaped: list[Value] = field(default_factory=list)
    """Plan functions and session objects that have escaped and may now be called by unknown code."""

    @property
    def size(self) -> int:
        """The number of variables, lists and dicts."""
        return len(self.heap) + sum(map(len, self.frames.values()))

    def copy(self) -> "WalkState":
        """Return an independent copy of the state."""
        frames = {number: dict(names) for number, names in self.frames.items()}
        return WalkState(self.knowledge, frames, dict(self.heap), list(self.escaped))

    def differs_from(self, earlier: "WalkState") -> bool:
        """Return whether anything in an earlier state is different now. New frames, lists and dicts do not count."""
        pairs = [(frame, self.frames[number]) for number, frame in earlier.frames.items()]
        return (
            self.knowledge != earlier.knowledge
            or any(frame.keys() != new_frame.keys() for frame, new_frame in pairs)
            or any(not are_same(value, new_frame[name]) for frame, new_frame in pairs for name, value in frame.items())
            or any(not are_same(content, self.heap.get(number)) for number, content in earlier.heap.items())
        )

    def escape(self, value: Value) -> None:
        """Record that a value has escaped: from now on, unknown code may change or call it at any time."""
        if isinstance(value, (HostRef, DefinedFunction)):
            self.escaped.append(value)
        for item in self._forget_content(value):
            self.escape(item)

    def _forget_content(self, value: Value) -> Iterable[Value]:
        """Return the values that a value contains. If it is a list or dict, its content becomes unknown."""
        if isinstance(value, Container):
            content, self.heap[value.number] = self.heap.get(value.number), None
            return values_in(content)
        if isinstance(value, LazyItems):
            return value.args
        return value.fields.values() if isinstance(value, KnownObject) else value if isinstance(value, tuple) else ()


def merge_states(first: WalkState, second: WalkState) -> WalkState:
    """Return a state that is true if either of two states is.

    A name that only one state binds keeps its value, since reading the name in the other state raises an error. But if
    the name hides a built-in, reading it raises no error, so its value becomes unknown.
    """
    state = WalkState(first.knowledge.merged_with(second.knowledge), {}, {}, [*first.escaped, *second.escaped])
    state.heap = second.heap | first.heap
    for number in _differing(first.heap, second.heap):
        if number in first.heap and number in second.heap:
            _merge_content(state, number, first.heap[number], second.heap[number])
    for number in first.frames.keys() | second.frames.keys():
        left, right = first.frames.get(number, {}), second.frames.get(number, {})
        state.frames[number] = right | left
        for name in _differing(left, right):
            default = UNKNOWN if hasattr(builtins, name) else left.get(name, right.get(name))
            state.frames[number][name] = merge_values(state, left.get(name, default), right.get(name, default))
    return state


def _differing(first: dict[K, Value] | dict[K, Content], second: dict[K, Value] | dict[K, Content]) -> list[K]:
    """Return the sorted keys that only one dict has, or whose values are different objects.

    Comparing by identity is enough to skip most values, since copies of a state share them.
    """
    return sorted(
        key for key, value in (first | second).items() if first.get(key, second) is not second.get(key, first)
    )


def merge_values(state: WalkState, first: Value, second: Value) -> Value:
    """Return the value if both are the same. Otherwise both escape, and the result is UNKNOWN.

    Tuples of equal length are merged item by item.
    """
    if are_same(first, second):
        return first
    if isinstance(first, tuple) and isinstance(second, tuple) and len(first) == len(second):
        return tuple(merge_values(state, *pair) for pair in zip(first, second, strict=True))
    state.escape(first)
    state.escape(second)
    return UNKNOWN


def _merge_content(state: WalkState, number: int, first: Content, second: Content) -> None:
    if are_same(first, second):
        return
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        merged = [merge_values(state, *pair) for pair in zip(first, second, strict=True)]
        state.heap[number] = merged if state.heap[number] is not None else None
        return
    for content in (first, second):
        state.heap[number] = content
        state.escape(Container(number))
