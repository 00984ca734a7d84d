"""The state of a dry run, and the base of the walk: frames, ends of paths, merging of branches."""

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import InitVar, dataclass, field

from planbook.sandbox.dry import effects
from planbook.sandbox.dry.values import (
    UNKNOWN,
    BuiltinFunction,
    Container,
    DefinedFunction,
    HostRef,
    Impossible,
    SessionKnowledge,
    UnknownType,
    Value,
    is_small,
    same,
)

# State.

Content = list[Value] | dict[Value, Value] | set[Value] | None
"""Content of a container; None if it is not known. Contents are replaced, never changed."""


@dataclass
class WalkState:
    """The state at one point of a path. Forked states share the contents of containers."""

    knowledge: SessionKnowledge
    frames: dict[int, dict[str, Value]] = field(default_factory=dict)
    heap: dict[int, Content] = field(default_factory=dict)
    escaped: list[Value] = field(default_factory=list)
    """Plan functions and session objects that became part of something unknown, which may call them."""

    def copy(self) -> "WalkState":
        """Return an independent copy of the state."""
        frames = {number: dict(names) for number, names in self.frames.items()}
        return WalkState(self.knowledge, frames, dict(self.heap), list(self.escaped))

    def equals(self, other: "WalkState") -> bool:
        """Return whether two states are equal."""
        return (
            (self.frames.keys(), self.heap.keys()) == (other.frames.keys(), other.heap.keys())
            and all(same(sorted(self.frames[n].items()), sorted(other.frames[n].items())) for n in self.frames)
            and all(same(self.heap[number], other.heap[number]) for number in self.heap)
            and self.knowledge == other.knowledge
        )

    def drop_unused(self) -> None:
        """Forget containers that no variable leads to. Whatever else holds them already takes their content as unknown.

        A variable that holds a container of unknown content becomes UNKNOWN.
        """
        for frame in self.frames.values():
            for name, value in frame.items():
                if isinstance(value, Container) and self.heap.get(value.number) is None:
                    frame[name] = UNKNOWN
        reached: dict[int, Content] = {}
        waiting = [value for frame in self.frames.values() for value in frame.values()]
        while waiting:
            value = waiting.pop()
            if isinstance(value, tuple):
                waiting.extend(value)
            elif isinstance(value, DefinedFunction):
                waiting.extend(default for _, default in value.defaults)
            elif isinstance(value, Container) and value.number not in reached:
                content = reached[value.number] = self.heap.get(value.number)
                waiting.extend(_inside(content))
        self.heap = reached

    def escape(self, value: Value) -> None:
        """Stop following a value: it may change or be called at any time."""
        if isinstance(value, (HostRef, DefinedFunction)):
            self.escaped.append(value)
        elif isinstance(value, tuple):
            for item in value:
                self.escape(item)
        elif isinstance(value, Container) and (content := self.heap.get(value.number)) is not None:
            self.heap[value.number] = None
            for item in _inside(content):
                self.escape(item)


def _inside(content: Content) -> list[Value]:
    return [*content, *content.values()] if isinstance(content, dict) else list(content or ())


def merge_states(first: WalkState, second: WalkState) -> WalkState:
    """Return two states merged. A name bound in only one of them keeps its value: reading it in the other raises."""
    state = WalkState(first.knowledge.either(second.knowledge), {}, {}, [*first.escaped, *second.escaped])
    state.heap = second.heap | first.heap
    for number in sorted(first.heap.keys() & second.heap.keys()):
        _merge_content(state, number, first.heap[number], second.heap[number])
    for number in first.frames.keys() | second.frames.keys():
        ours, theirs = first.frames.get(number, {}), second.frames.get(number, {})
        state.frames[number] = {
            name: merge_values(state, ours.get(name, theirs.get(name)), theirs.get(name, ours.get(name)))
            for name in sorted(ours.keys() | theirs.keys())
        }
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
"""Maximum number of statements and calls that a walk follows before it gives up."""


class TooManyPaths(Exception):
    """The plan has more paths than a dry run follows."""


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
    visits: dict[tuple[int, ...], CallVisits] = field(default_factory=dict)
    blind: bool = False
    """True once something may act or change lists at any time, so that nothing stays known."""
    handed_on: set[str] = field(default_factory=set)
    """Functions and objects of the session that something unknown holds."""
    unseen: dict[int, DefinedFunction] = field(default_factory=dict)
    """Functions that something unknown may call, by the id of their node."""
    frame: int = MODULE
    consumed_now: set[int] = field(default_factory=set)
    """Ids of generator expressions that are consumed immediately, as in ``any(...)``."""
    parents: dict[int, int] = field(default_factory=dict)
    declared: dict[int, tuple[set[str], set[str]]] = field(default_factory=lambda: {MODULE: (set(), set())})
    """Maps a frame to its names declared global, and those declared nonlocal."""
    transparent: set[int] = field(default_factory=set)
    """Frames of comprehensions: a name assigned by := belongs to the frame around them."""
    loops: list[LoopExits] = field(default_factory=list)
    endless: dict[int, ast.While] = field(default_factory=dict)
    """Endless loops that a path reached, by the id of their node."""
    returns: list[list[tuple[WalkState, Value]]] = field(default_factory=list)
    finals: list[list[ast.stmt]] = field(default_factory=list)
    """``finally`` blocks around the current statement."""
    chain: list[ast.Call] = field(default_factory=list)
    """Calls to plan functions that led to the current statement, outermost first."""
    inside: list[ast.AST] = field(default_factory=list)
    """The functions that these calls entered."""
    _numbers: int = 0
    _steps: int = 0

    def __post_init__(self, trees: Sequence[ast.Module]) -> None:
        self.state.frames[MODULE] = {}
        self.roots = frozenset(name.partition(".")[0] for name in (*self.functions, *self.attributes))
        self.acting = effects.acting_names(trees, self.roots)
        self.catches = any(isinstance(node, ast.Try | ast.With) for tree in trees for node in ast.walk(tree))
        """True if the code may catch errors, so that an error can end a loop without ending the plan."""
        self.shared = frozenset(effects.declared_names(trees, (ast.Global, ast.Nonlocal)))
        """Names that a function declares global or nonlocal."""
        self.defined_once = frozenset(effects.names_defined_once(trees))
        """Names that are bound in one place of the code, by a def."""
        self.plan_calls = frozenset(id(node) for node in ast.walk(trees[-1]) if isinstance(node, ast.Call))
        """Ids of the plan's own call nodes; all others belong to helpers."""

    def step(self) -> None:
        """Count one step. Raises TooManyPaths."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooManyPaths

    def branches(self, *branches: Callable[[], Value]) -> Value:
        """Follow each branch from the current state, and merge values and states. Raises PathEnded if none returns."""
        start, returned = self.state, list[tuple[WalkState, Value]]()
        for branch in branches:
            self.state = start.copy()
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
            self.state = merge_states(self.state, state)
            value = merge_values(self.state, value, other)
            self.settle()
        return value

    def settle(self) -> None:
        """Record plan functions and session objects that became part of something unknown."""
        while self.state.escaped:
            value = self.state.escaped.pop()
            if isinstance(value, DefinedFunction):
                self.unseen.setdefault(id(value.node), value)
            elif isinstance(value, HostRef):
                self.handed_on.add(value.path)
            if not self.is_harmless(value):
                self.blind = True

    def escape(self, *values: Value) -> None:
        """Pass values to something unknown, which may change or call them."""
        for value in values:
            self.state.escape(value)
        self.settle()

    def is_harmless(self, value: Value) -> bool:
        """Return whether a holder of the value can neither act with it nor change anything shared."""
        if isinstance(value, HostRef):
            return value.path not in self.functions and value.path not in self.roots
        if not isinstance(value, DefinedFunction):
            return True
        inner = effects.parameters(value.node)
        names = {node.id for node in ast.walk(value.node) if isinstance(node, ast.Name)} - {*inner}
        reached = [self.look_up(name, value.frame) for name in names]
        return effects.is_harmless(value.node, self.acting) and not any(map(self._acts, reached))

    def _acts(self, value: Value) -> bool:
        """Return whether a value may act. A plan function counts only in a container; otherwise its name decides."""
        if isinstance(value, HostRef):
            return not self.is_harmless(value)
        content = value if isinstance(value, tuple) else _inside(self.content(value))
        return any(isinstance(item, DefinedFunction) or self._acts(item) for item in content)

    def havoc(self, nodes: Sequence[ast.AST]) -> None:
        """Assume that any part of this code ran any number of times."""
        names = effects.bound_names(nodes) | self.shared
        for frame in self.state.frames.values():
            for name in names & frame.keys():
                self.state.escape(frame[name])
                frame[name] = UNKNOWN
        for number in list(self.state.heap):
            self.state.escape(Container(number))
        self.state.knowledge = self.state.knowledge.forgotten()
        self.settle()

    def open_frame(self, parent: int) -> int:
        """Open a frame inside another, and return its number."""
        self._numbers += 1
        self.parents[self._numbers] = parent
        self.declared[self._numbers] = (set(), set())
        self.state.frames[self._numbers] = {}
        return self._numbers

    def look_up(self, name: str, frame: int) -> Value:
        """Return the value of a name seen from a frame."""
        if self.blind and name in self.shared:
            return UNKNOWN
        current: int | None = frame
        while current is not None:
            if current in self.state.frames and name in self.state.frames[current]:
                return self.state.frames[current][name]
            current = self.parents.get(current)
        if name in self.roots:
            return HostRef(name)
        return BuiltinFunction(name) if name in KNOWN_BUILTINS else UNKNOWN

    def assign(self, name: str, value: Value) -> None:
        """Bind a name in the frame that it belongs to."""
        frame = self.frame
        while frame in self.transparent:
            frame = self.parents[frame]
        outer, enclosing = self.declared[frame]
        if name in outer:
            frame = MODULE
        elif name in enclosing:
            frame = self.parents[frame]
            while name not in self.state.frames.get(frame, {}) and frame in self.parents:
                frame = self.parents[frame]
        self.state.frames.setdefault(frame, {})[name] = value

    def new_container(self, content: Content) -> Container:
        """Create and return a list, dict or set."""
        self._numbers += 1
        self.state.heap[self._numbers] = content
        return Container(self._numbers)

    def tuple_of(self, parts: Iterable[Value]) -> Value:
        """Return a tuple of these parts; UNKNOWN if it is too large to be traversed."""
        value = tuple(parts)
        if is_small(value):
            return value
        self.escape(*value)
        return UNKNOWN

    def content(self, value: Value) -> Content:
        """Return the content of a container, if it is known."""
        return self.state.heap.get(value.number) if isinstance(value, Container) and not self.blind else None

    def holds_container(self, value: Value) -> bool:
        """Return whether a value is or contains a list, dict or set."""
        return isinstance(value, Container) or (isinstance(value, tuple) and any(map(self.holds_container, value)))

    def items(self, value: Value) -> tuple[Value, ...] | None:
        """Return the items of a value, if they are known."""
        if isinstance(value, str | tuple):
            return tuple(value)
        content = self.content(value)
        return None if content is None or isinstance(content, set) else tuple(content)

    def truth(self, value: Value) -> bool | UnknownType:
        """Return the truth of a value, if it is known."""
        if isinstance(value, Container):
            content = self.content(value)
            return UNKNOWN if content is None else bool(content)
        return UNKNOWN if isinstance(value, UnknownType) else bool(value)


KNOWN_BUILTINS = frozenset(
    "abs all any bool dict enumerate float getattr int isinstance len list max min print range repr reversed round "
    "set sorted str sum tuple type zip map filter iter next".split()
)
