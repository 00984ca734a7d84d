"""The state of a dry run, and the base class of the walk over a plan's syntax tree.

The walk *follows* code that it can evaluate. Values that other code gets hold of *escape*: they may change, so they
become unknown. If such code may also act, the walk is *blind* from then on. A *frame* holds the local variables of one
call, or those of the module.
"""

import ast
import builtins
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass, field

from planbook.sandbox.dry import effects
from planbook.sandbox.dry.values import (
    KNOWN_BUILTINS,
    MAX_ITEMS,
    UNKNOWN,
    BuiltinFunction,
    Container,
    Content,
    DefinedFunction,
    HostRef,
    Impossible,
    KnownObject,
    LazyItems,
    SessionKnowledge,
    UnknownType,
    Value,
    same,
    values_in,
)

# State.


@dataclass
class WalkState:
    """The state at one point of a path through the plan. Forked states share the contents of lists and dicts.

    ``frames`` maps the number of a frame to its variables, ``heap`` the number of a list or dict to its content. If the
    content is known, no unknown value refers to the list or dict: a value must escape before unknown code can reach it.
    """

    knowledge: SessionKnowledge
    frames: dict[int, dict[str, Value]] = field(default_factory=dict)
    heap: dict[int, Content] = field(default_factory=dict)
    escaped: list[Value] = field(default_factory=list)
    """Plan functions and session objects that have escaped and may now be called by unknown code."""

    def copy(self) -> "WalkState":
        """Return an independent copy of the state."""
        frames = {number: dict(names) for number, names in self.frames.items()}
        return WalkState(self.knowledge, frames, dict(self.heap), list(self.escaped))

    def adds_to(self, other: "WalkState") -> bool:
        """Return whether anything that existed in an earlier state is different in this one."""
        return (
            self.knowledge != other.knowledge
            or any(not same(sorted(other.frames[n].items()), sorted(self.frames[n].items())) for n in other.frames)
            or any(not same(content, self.heap.get(number)) for number, content in other.heap.items())
        )

    def escape(self, value: Value) -> None:
        """Stop following a value: from now on it may change or be called at any time."""
        if isinstance(value, (HostRef, DefinedFunction)):
            self.escaped.append(value)
        for item in self._forget_content(value):
            self.escape(item)

    def _forget_content(self, value: Value) -> Iterable[Value]:
        """Return the values that a value refers to. If it is a list or dict, its content becomes unknown."""
        if isinstance(value, Container):
            content, self.heap[value.number] = self.heap.get(value.number), None
            return values_in(content)
        if isinstance(value, LazyItems):
            return value.args
        return value.fields.values() if isinstance(value, KnownObject) else value if isinstance(value, tuple) else ()


def merge_states(first: WalkState, second: WalkState) -> WalkState:
    """Merge two states, either of which may be the actual one.

    A name that is bound in only one of them keeps its value, since reading it in the other raises an error. But if the
    name hides a built-in, its value becomes unknown.
    """
    state = WalkState(first.knowledge.merged_with(second.knowledge), {}, {}, [*first.escaped, *second.escaped])
    state.heap = second.heap | first.heap
    for number in sorted(first.heap.keys() & second.heap.keys()):
        _merge_content(state, number, first.heap[number], second.heap[number])
    for number in first.frames.keys() | second.frames.keys():
        ours, theirs = first.frames.get(number, {}), second.frames.get(number, {})
        state.frames[number] = {}
        for name in sorted(ours.keys() | theirs.keys()):
            default = UNKNOWN if hasattr(builtins, name) else ours.get(name, theirs.get(name))
            state.frames[number][name] = merge_values(state, ours.get(name, default), theirs.get(name, default))
    return state


def merge_values(state: WalkState, first: Value, second: Value) -> Value:
    """Return the value if both are the same, else UNKNOWN. Tuples of equal length are merged item by item."""
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
"""Number of the frame of the plan's module."""
MAX_STEPS = 20_000
"""Maximum number of steps of a walk. A statement, a call, and copying 100 items each count as one step."""


class NotFollowed(Exception):
    """The walk gives up: the plan has too many paths, or code that a dry run does not follow."""


class PathEnded(Exception):
    """The current path ends here, and does not reach the next statement."""


@dataclass
class LoopExits:
    """The states at each ``break`` and ``continue`` of a loop."""

    breaks: list[WalkState] = field(default_factory=list)
    continues: list[WalkState] = field(default_factory=list)


@dataclass
class CallVisits:
    """All visits to one call that were reached through the same ``callers``, which are functions of the plan."""

    impossible: Impossible | None
    """The reason why the call cannot succeed, or None if it may have succeeded on at least one visit."""
    node: ast.Call
    line: int
    callers: tuple[str, ...]


@dataclass(eq=False)
class BaseWalk(ast.NodeVisitor):
    """The walk of a dry run over ``trees``: the trees of helpers and earlier cells, followed by the tree of the plan.

    ``functions`` and ``attributes`` are the dotted names of the session's functions and attributes.
    """

    state: WalkState
    functions: frozenset[str]
    attributes: frozenset[str]
    trees: InitVar[Sequence[ast.Module]]
    is_complete: bool = True
    """False if the walk has given up."""
    visits: dict[tuple[int, ...], CallVisits] = field(default_factory=dict)
    blind: bool = False
    """True if code that is not followed may act or change lists at any time, so that nothing stays known."""
    escaped_paths: set[str] = field(default_factory=set)
    """Dotted names of the session's functions and objects that have escaped."""
    exposed_names: set[str] = field(default_factory=set)
    """Names that escaped code may read at any time."""
    frame: int = MODULE
    consumed_ids: set[int] = field(default_factory=set)
    """Ids of expressions whose items a loop or function reads immediately without keeping them, as in ``any(...)``."""
    parents: dict[int, int] = field(default_factory=dict)
    """Maps each frame to the frame around it."""
    comprehension_frames: set[int] = field(default_factory=set)
    """Frames of comprehensions. A name that ``:=`` assigns in one of them belongs to the frame around it."""
    loops: list[LoopExits] = field(default_factory=list)
    endless: dict[int, ast.While] = field(default_factory=dict)
    """Maps node ids to the endless loops that some path reached."""
    returns: list[list[tuple[WalkState, Value]]] = field(default_factory=list)
    """For each function that was entered, the states at its ends, each with the returned value."""
    call_chain: list[ast.Call] = field(default_factory=list)
    """Calls of plan functions that led to the current statement, outermost first."""
    entered_functions: list[ast.AST] = field(default_factory=list)
    """The functions that the calls in ``call_chain`` entered."""
    _last_number: int = 0
    _steps: int = 0
    _names: dict[int, set[str]] = field(default_factory=dict)

    def __post_init__(self, trees: Sequence[ast.Module]) -> None:
        self.state.frames[MODULE] = {}
        self.roots = frozenset(name.partition(".")[0] for name in (*self.functions, *self.attributes))
        """Names through which plans reach the session, such as ``agent``."""
        self.acting_names = effects.acting_names(trees, self.roots)
        """``roots``, and names of functions that may act."""
        self.may_catch_errors = any(isinstance(node, ast.Try) for tree in trees for node in ast.walk(tree))
        """True if an error may end a loop without ending the plan."""
        self.rebound_names = frozenset(effects.rebound_names(trees))
        """Names that a function or generator may bind outside itself, or that a ``finally`` block binds."""
        self.plan = trees[-1]
        self.plan_calls = frozenset(id(node) for node in ast.walk(self.plan) if isinstance(node, ast.Call))
        """Ids of the call nodes in the plan itself. All other calls are in helpers or earlier cells."""

    def step(self, copied: int = 0) -> None:
        """Count one step, and one more for each 100 items that are copied. Raises NotFollowed after MAX_STEPS."""
        self._steps += 1 + copied // 100
        if self._steps > MAX_STEPS:
            raise NotFollowed

    def fork(self) -> WalkState:
        """Return a copy of the current state."""
        self.step(len(self.state.heap))
        return self.state.copy()

    def follow_branches(self, *branches: Callable[[], Value]) -> Value:
        """Follow each branch from the current state, and merge the results. Raises PathEnded if none is left."""
        start, returned = self.state, list[tuple[WalkState, Value]]()
        for branch in branches:
            self.state = start
            self.state = self.fork()
            try:
                value = branch()
            except PathEnded:
                continue
            returned.append((self.state, value))
        return self.merge_paths(returned)

    def merge_paths(self, paths: Sequence[tuple[WalkState, Value]]) -> Value:
        """Continue in the merged state of all paths, and return the merged value. Raises PathEnded if there is none."""
        if not paths:
            raise PathEnded
        self.state, value = paths[0]
        for state, other in paths[1:]:
            self.step(len(state.heap))
            self.state = merge_states(self.state, state)
            value = merge_values(self.state, value, other)
            self.process_escaped()
        return value

    # Escaped values.

    def escape(self, *values: Value) -> None:
        """Assume that unknown code gets hold of these values, and may change or call them."""
        for value in values:
            self.state.escape(value)
        self.process_escaped()

    def process_escaped(self) -> None:
        """Expose the plan functions that have escaped. Become blind if an object of the session has escaped."""
        exposed = set[int]()
        while self.state.escaped:
            value = self.state.escaped.pop()
            if isinstance(value, HostRef):
                self.escaped_paths.add(value.path)
                self.blind = True
            elif isinstance(value, DefinedFunction) and id(value.node) not in exposed:
                exposed.add(id(value.node))
                for _, default in value.defaults:
                    self.state.escape(default)
                self._expose(value.node, effects.parameters(value.node))

    def expose(self, node: ast.AST) -> None:
        """Assume that unknown code may run this code at any time."""
        self._expose(node)
        self.process_escaped()

    def _expose(self, node: ast.AST, parameters: Iterable[str] = ()) -> None:
        names = self.names_in(node) - {*parameters}
        self.step(len(names))
        self.exposed_names |= names
        self.blind = self.blind or bool(effects.rebound_names([node]))
        for name in names & self.roots:
            self.state.escape(HostRef(name))
        for frame in self.state.frames.values():
            for name in names & frame.keys():
                self.state.escape(frame[name])

    def assume_any_effects(self, nodes: Sequence[ast.AST]) -> None:
        """Assume that any part of this code may have run any number of times."""
        names = effects.bound_names(nodes)
        for frame in self.state.frames.values():
            for name in (names | self.rebound_names) & frame.keys():
                self.state.escape(frame[name])
                frame[name] = UNKNOWN
        for name in names:
            self.assign(name, UNKNOWN, self.frame)
            self.assign(name, UNKNOWN, self.walrus_frame())
        for number in list(self.state.heap):
            self.state.escape(Container(number))
        self.state.knowledge = self.state.knowledge.after_unknown_actions()
        self.process_escaped()

    # Names and containers.

    def names_in(self, node: ast.AST) -> set[str]:
        """Return every name that a function or generator expression reads, binds or deletes."""
        if id(node) not in self._names:
            self._names[id(node)] = effects.names_in(node)
        return self._names[id(node)]

    def open_frame(self, parent: int) -> int:
        """Open a frame inside the frame ``parent``, and return its number."""
        self._last_number += 1
        self.parents[self._last_number] = parent
        self.state.frames[self._last_number] = {}
        return self._last_number

    def look_up(self, name: str, frame: int) -> Value:
        """Return the value that a name has for code in a frame."""
        if self.blind and name in self.rebound_names:
            return UNKNOWN
        current: int | None = frame
        while current is not None:
            if current in self.state.frames and name in self.state.frames[current]:
                return self.state.frames[current][name]
            current = self.parents.get(current)
        if name in self.roots:
            return HostRef(name)
        return BuiltinFunction(name) if name in KNOWN_BUILTINS else UNKNOWN

    def walrus_frame(self) -> int:
        """Return the frame of names that ``:=`` assigns here: the innermost one that is not a comprehension's."""
        frame = self.frame
        while frame in self.comprehension_frames:
            frame = self.parents[frame]
        return frame

    def assign(self, name: str, value: Value, frame: int) -> None:
        """Bind a name in a frame."""
        self.state.frames[frame][name] = value
        if name in self.exposed_names:
            self.escape(value)

    def new_container(self, content: Content) -> Container:
        """Create and return a list or dict."""
        self._last_number += 1
        self.set_content(self._last_number, content)
        return Container(self._last_number)

    def set_content(self, number: int, content: Content) -> None:
        """Replace the content of a list or dict. If it is too large, it becomes unknown."""
        self.step(len(content or ()))
        self.state.heap[number] = content
        if content is not None and len(content) > MAX_ITEMS:
            self.escape(Container(number))

    def tuple_of(self, parts: Iterable[Value]) -> Value:
        """Return a tuple of these parts; UNKNOWN if it is too large or nested too deeply."""
        value = tuple(parts)
        nested = [part for part in value if isinstance(part, tuple)]
        is_deep = any(isinstance(part, tuple) for inner in nested for part in inner)
        if not is_deep and len(value) + sum(map(len, nested)) <= MAX_ITEMS:
            return value
        self.escape(*value)
        return UNKNOWN

    def content(self, value: Value) -> Content:
        """Return the content of a list or dict; None if it is not known, or for any other value."""
        return self.state.heap.get(value.number) if isinstance(value, Container) and not self.blind else None

    def items(self, value: Value) -> tuple[Value, ...] | None:
        """Return the items that iterating over a value yields; None if they are not known."""
        if isinstance(value, str | tuple):
            return tuple(value)
        if isinstance(value, LazyItems):
            return self._lazy_items(value)
        content = self.content(value)
        return None if content is None else tuple(content)

    def _lazy_items(self, lazy: LazyItems) -> tuple[Value, ...] | None:
        if lazy.kind == "range":
            with suppress(TypeError, ValueError):
                numbers = range(*lazy.args)  # type: ignore[call-overload]
                return None if numbers[MAX_ITEMS:] else tuple(numbers)
            return None
        if lazy.kind in ("enumerate", "zip"):
            columns = [items for items in map(self.items, lazy.args) if items is not None]
            if len(columns) < len(lazy.args) or (lazy.kind == "enumerate" and len(columns) != 1):
                return None
            pairs = zip(*columns, strict=False) if lazy.kind == "zip" else enumerate(columns[0])
            return tuple(map(self.tuple_of, pairs))
        content = self.content(lazy.args[0])
        if lazy.kind == "items" and isinstance(content, dict):
            return tuple(map(self.tuple_of, content.items()))
        return tuple(getattr(content, lazy.kind)()) if isinstance(content, dict) else None

    def truth(self, value: Value) -> bool | UnknownType:
        """Return whether a value is true, or UNKNOWN."""
        if isinstance(value, Container):
            content = self.content(value)
            return UNKNOWN if content is None else bool(content)
        return bool(value) if value is None or isinstance(value, str | bytes | int | float | tuple) else UNKNOWN
