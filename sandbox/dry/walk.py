"""The state of a dry run, and the base of the walk: frames, ends of paths, merging of branches."""

import ast
import builtins
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass, field

from planbook.sandbox.dry import effects
from planbook.sandbox.dry.values import (
    MAX_ITEMS,
    UNKNOWN,
    BuiltinFunction,
    Container,
    DefinedFunction,
    HostRef,
    Impossible,
    KnownObject,
    Rows,
    SessionKnowledge,
    UnknownType,
    Value,
    same,
)

# State.

Content = list[Value] | dict[Value, Value] | None
"""Content of a container; None if it is not known. Contents are replaced, never changed."""


@dataclass
class WalkState:
    """The state at one point of a path. Forked states share the contents of containers.

    No unknown value leads to a container whose content is known: whatever may be reached in a way that is not followed
    must escape first.
    """

    knowledge: SessionKnowledge
    frames: dict[int, dict[str, Value]] = field(default_factory=dict)
    heap: dict[int, Content] = field(default_factory=dict)
    escaped: list[Value] = field(default_factory=list)
    """Plan functions and session objects that became part of something unknown, which may call them."""

    def copy(self) -> "WalkState":
        """Return an independent copy of the state."""
        frames = {number: dict(names) for number, names in self.frames.items()}
        return WalkState(self.knowledge, frames, dict(self.heap), list(self.escaped))

    def adds_to(self, other: "WalkState") -> bool:
        """Return whether the state differs from an earlier one in anything that existed then."""
        return (
            self.knowledge != other.knowledge
            or any(not same(sorted(other.frames[n].items()), sorted(self.frames[n].items())) for n in other.frames)
            or any(not same(content, self.heap.get(number)) for number, content in other.heap.items())
        )

    def escape(self, value: Value) -> None:
        """Stop following a value: it may change or be called at any time."""
        if isinstance(value, (HostRef, DefinedFunction)):
            self.escaped.append(value)
        for item in self._forget_content(value):
            self.escape(item)

    def _forget_content(self, value: Value) -> Iterable[Value]:
        """Return what a value leads to. The content of a container is unknown from now on."""
        if isinstance(value, Container):
            content, self.heap[value.number] = self.heap.get(value.number), None
            return inside(content)
        if isinstance(value, Rows):
            return value.args
        return value.fields.values() if isinstance(value, KnownObject) else value if isinstance(value, tuple) else ()


def inside(content: Content) -> list[Value]:
    """Return the values in a container."""
    return [*content, *content.values()] if isinstance(content, dict) else list(content or ())


def merge_states(first: WalkState, second: WalkState) -> WalkState:
    """Return two states merged.

    A name bound in only one of them keeps its value, since reading it in the other raises. If it hides a built-in, it
    is unknown.
    """
    state = WalkState(first.knowledge.either(second.knowledge), {}, {}, [*first.escaped, *second.escaped])
    state.heap = second.heap | first.heap
    for number in sorted(first.heap.keys() & second.heap.keys()):
        _merge_content(state, number, first.heap[number], second.heap[number])
    for number in first.frames.keys() | second.frames.keys():
        ours, theirs = first.frames.get(number, {}), second.frames.get(number, {})
        state.frames[number] = {}
        for name in sorted(ours.keys() | theirs.keys()):
            only = UNKNOWN if hasattr(builtins, name) else ours.get(name, theirs.get(name))
            state.frames[number][name] = merge_values(state, ours.get(name, only), theirs.get(name, only))
    return state


def merge_values(state: WalkState, first: Value, second: Value) -> Value:
    """Return the value if both are equal, else UNKNOWN. Tuples of the same length are merged item by item."""
    if same(first, second):
        return first
    if isinstance(first, tuple) and isinstance(second, tuple) and len(first) == len(second):
        return tuple(merge_values(state, *pair) for pair in zip(first, second, strict=True))
    state.escape(first)
    state.escape(second)
    return UNKNOWN


def _merge_content(state: WalkState, number: int, first: Content, second: Content) -> None:
    if same(first, second):
        return
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        merged = [merge_values(state, *pair) for pair in zip(first, second, strict=True)]
        state.heap[number] = merged if state.heap[number] is not None else None
        return
    for content in (first, second):
        state.heap[number] = content
        state.escape(Container(number))


# The walk.

MODULE = 0
"""Number of the plan's own frame."""
MAX_STEPS = 20_000
"""Maximum number of steps of a walk: statements, calls, and items that are copied or compared, in bulk."""


class NotFollowed(Exception):
    """The plan has more paths than a dry run follows, or code that it does not follow."""


class PathEnded(Exception):
    """The current path does not reach the next statement."""


@dataclass
class LoopExits:
    """States at each ``break`` and ``continue`` of a loop."""

    breaks: list[WalkState] = field(default_factory=list)
    continues: list[WalkState] = field(default_factory=list)


@dataclass
class CallVisits:
    """All visits to one call. ``impossible`` says why it cannot succeed; None if it could on any visit."""

    impossible: Impossible | None
    node: ast.Call
    line: int
    through: tuple[str, ...]


@dataclass(eq=False)
class BaseWalk(ast.NodeVisitor):
    """A dry run of ``trees``: the helpers' and then the plan's. ``functions`` and ``attributes`` are dotted names."""

    state: WalkState
    functions: frozenset[str]
    attributes: frozenset[str]
    trees: InitVar[Sequence[ast.Module]]
    is_whole: bool = True
    """False if the walk gave up."""
    visits: dict[tuple[int, ...], CallVisits] = field(default_factory=dict)
    blind: bool = False
    """True once something may act or change lists at any time, so that nothing stays known."""
    handed_on: set[str] = field(default_factory=set)
    """Functions and objects of the session that something unknown holds."""
    exposed: set[str] = field(default_factory=set)
    """Names that something unknown may read at any time."""
    frame: int = MODULE
    consumed_now: set[int] = field(default_factory=set)
    """Ids of expressions whose items are all read at once or by a loop, as in ``any(...)``, and not kept."""
    parents: dict[int, int] = field(default_factory=dict)
    transparent: set[int] = field(default_factory=set)
    """Frames of comprehensions: a name assigned by := belongs to the frame around them."""
    loops: list[LoopExits] = field(default_factory=list)
    endless: dict[int, ast.While] = field(default_factory=dict)
    """Endless loops that a path reached, by the id of their node."""
    returns: list[list[tuple[WalkState, Value]]] = field(default_factory=list)
    chain: list[ast.Call] = field(default_factory=list)
    """Calls to plan functions that led to the current statement, outermost first."""
    inside: list[ast.AST] = field(default_factory=list)
    """The functions that these calls entered."""
    _numbers: int = 0
    _steps: int = 0
    _names: dict[int, set[str]] = field(default_factory=dict)

    def __post_init__(self, trees: Sequence[ast.Module]) -> None:
        self.state.frames[MODULE] = {}
        self.roots = frozenset(name.partition(".")[0] for name in (*self.functions, *self.attributes))
        self.acting = effects.acting_names(trees, self.roots)
        self.catches = any(isinstance(node, ast.Try) for tree in trees for node in ast.walk(tree))
        """True if the code may catch errors, so that an error can end a loop without ending the plan."""
        self.rebound = frozenset(effects.rebound_names(trees))
        """Names that a function or a generator may bind outside itself, or a ``finally`` block anywhere in its try."""
        self.plan = trees[-1]
        self.plan_calls = frozenset(id(node) for node in ast.walk(self.plan) if isinstance(node, ast.Call))
        """Ids of the plan's own call nodes; all others belong to helpers."""

    def step(self, copied: int = 0) -> None:
        """Count one step, and more if many items are copied. Raises NotFollowed."""
        self._steps += 1 + copied // 100
        if self._steps > MAX_STEPS:
            raise NotFollowed

    def fork(self) -> WalkState:
        """Return a copy of the current state."""
        self.step(len(self.state.heap))
        return self.state.copy()

    def branches(self, *branches: Callable[[], Value]) -> Value:
        """Follow each branch from the current state, and merge values and states. Raises PathEnded if none returns."""
        start, returned = self.state, list[tuple[WalkState, Value]]()
        for branch in branches:
            self.state = start
            self.state = self.fork()
            try:
                value = branch()
            except PathEnded:
                continue
            returned.append((self.state, value))
        return self.meet(returned)

    def meet(self, paths: Sequence[tuple[WalkState, Value]]) -> Value:
        """Continue in the merged state of all paths, and return the merged value. Raises PathEnded if there is none."""
        if not paths:
            raise PathEnded
        self.state, value = paths[0]
        for state, other in paths[1:]:
            self.step(len(state.heap))
            self.state = merge_states(self.state, state)
            value = merge_values(self.state, value, other)
            self.settle()
        return value

    # Escaped values.

    def escape(self, *values: Value) -> None:
        """Pass values to something unknown, which may change or call them."""
        for value in values:
            self.state.escape(value)
        self.settle()

    def settle(self) -> None:
        """Expose the plan functions that became part of something unknown. A session object makes the walk blind."""
        exposed = set[int]()
        while self.state.escaped:
            value = self.state.escaped.pop()
            if isinstance(value, HostRef):
                self.handed_on.add(value.path)
                self.blind = True
            elif isinstance(value, DefinedFunction) and id(value.node) not in exposed:
                exposed.add(id(value.node))
                for _, default in value.defaults:
                    self.state.escape(default)
                self._expose(value.node, effects.parameters(value.node))

    def expose(self, node: ast.AST) -> None:
        """Assume that something unknown may run this code at any time."""
        self._expose(node)
        self.settle()

    def _expose(self, node: ast.AST, parameters: Iterable[str] = ()) -> None:
        names = self.names_in(node) - {*parameters}
        self.step(len(names))
        self.exposed |= names
        self.blind = self.blind or bool(effects.rebound_names([node]))
        for name in names & self.roots:
            self.state.escape(HostRef(name))
        for frame in self.state.frames.values():
            for name in names & frame.keys():
                self.state.escape(frame[name])

    def havoc(self, nodes: Sequence[ast.AST]) -> None:
        """Assume that any part of this code ran any number of times."""
        names = effects.bound_names(nodes)
        for frame in self.state.frames.values():
            for name in (names | self.rebound) & frame.keys():
                self.state.escape(frame[name])
                frame[name] = UNKNOWN
        for name in names:
            self.assign(name, UNKNOWN, self.frame)
            self.assign(name, UNKNOWN, self.scope())
        for number in list(self.state.heap):
            self.state.escape(Container(number))
        self.state.knowledge = self.state.knowledge.forgotten()
        self.settle()

    # Names and containers.

    def names_in(self, node: ast.AST) -> set[str]:
        """Return every name in a function or generator expression of the code."""
        if id(node) not in self._names:
            self._names[id(node)] = effects.names_in(node)
        return self._names[id(node)]

    def open_frame(self, parent: int) -> int:
        """Open a frame inside another, and return its number."""
        self._numbers += 1
        self.parents[self._numbers] = parent
        self.state.frames[self._numbers] = {}
        return self._numbers

    def look_up(self, name: str, frame: int) -> Value:
        """Return the value of a name seen from a frame."""
        if self.blind and name in self.rebound:
            return UNKNOWN
        current: int | None = frame
        while current is not None:
            if current in self.state.frames and name in self.state.frames[current]:
                return self.state.frames[current][name]
            current = self.parents.get(current)
        if name in self.roots:
            return HostRef(name)
        return BuiltinFunction(name) if name in KNOWN_BUILTINS else UNKNOWN

    def scope(self) -> int:
        """Return the frame of a name that ``:=`` assigns here: the first that is not a comprehension's."""
        frame = self.frame
        while frame in self.transparent:
            frame = self.parents[frame]
        return frame

    def assign(self, name: str, value: Value, frame: int) -> None:
        """Bind a name in a frame."""
        self.state.frames[frame][name] = value
        if name in self.exposed:
            self.escape(value)

    def new_container(self, content: Content) -> Container:
        """Create and return a list or dict."""
        self._numbers += 1
        self.set_content(self._numbers, content)
        return Container(self._numbers)

    def set_content(self, number: int, content: Content) -> None:
        """Replace the content of a container. If it is too large, it is unknown."""
        self.step(len(content or ()))
        self.state.heap[number] = content
        if content is not None and len(content) > MAX_ITEMS:
            self.escape(Container(number))

    def tuple_of(self, parts: Iterable[Value]) -> Value:
        """Return a tuple of these parts; UNKNOWN if it is too large or too deep to be traversed."""
        value = tuple(parts)
        nested = [part for part in value if isinstance(part, tuple)]
        is_deep = any(isinstance(part, tuple) for inner in nested for part in inner)
        if not is_deep and len(value) + sum(map(len, nested)) <= MAX_ITEMS:
            return value
        self.escape(*value)
        return UNKNOWN

    def content(self, value: Value) -> Content:
        """Return the content of a container, if it is known."""
        return self.state.heap.get(value.number) if isinstance(value, Container) and not self.blind else None

    def items(self, value: Value) -> tuple[Value, ...] | None:
        """Return the items of a value, if they are known."""
        if isinstance(value, str | tuple):
            return tuple(value)
        if isinstance(value, Rows):
            return self._rows(value)
        content = self.content(value)
        return None if content is None else tuple(content)

    def _rows(self, rows: Rows) -> tuple[Value, ...] | None:
        if rows.kind == "range":
            with suppress(TypeError, ValueError):
                numbers = range(*rows.args)  # type: ignore[call-overload]
                return None if numbers[MAX_ITEMS:] else tuple(numbers)
            return None
        if rows.kind in ("enumerate", "zip"):
            columns = [items for items in map(self.items, rows.args) if items is not None]
            if len(columns) < len(rows.args) or (rows.kind == "enumerate" and len(columns) != 1):
                return None
            pairs = zip(*columns, strict=False) if rows.kind == "zip" else enumerate(columns[0])
            return tuple(map(self.tuple_of, pairs))
        content = self.content(rows.args[0])
        if rows.kind == "items" and isinstance(content, dict):
            return tuple(map(self.tuple_of, content.items()))
        return tuple(getattr(content, rows.kind)()) if isinstance(content, dict) else None

    def truth(self, value: Value) -> bool | UnknownType:
        """Return the truth of a value, if it is known."""
        if isinstance(value, Container):
            content = self.content(value)
            return UNKNOWN if content is None else bool(content)
        return bool(value) if value is None or isinstance(value, str | bytes | int | float | tuple) else UNKNOWN


KNOWN_BUILTINS = frozenset(
    "abs all any bool dict enumerate float getattr int isinstance len list max min print range repr reversed round "
    "set sorted str sum tuple type zip map filter iter next".split()
)
