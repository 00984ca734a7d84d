"""The base class of a dry run's walk over a plan's syntax tree: branches, escaped values, names, lists and dicts.

The walk *follows* code that it can evaluate. Values *escape* when other code gets hold of them: they may change, so
they become unknown. If such code may also *act*, that is, call the session's functions, the walk is *blind* from then
on: nothing is known about the environment. Code of the plan is *exposed* if such other code may run it at any time. A
*frame* holds the local variables of one call, or those of the module. A *path* is one way through the branches of the
plan.
"""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass, field

from planbook.sandbox.checks.api import Function
from planbook.sandbox.dry import effects
from planbook.sandbox.dry.values import (
    KNOWN_BUILTINS,
    MAX_ITEMS,
    UNKNOWN,
    BuiltinFunction,
    Container,
    Content,
    DefinedFunction,
    ErrorRaised,
    HostRef,
    Impossible,
    LazyItems,
    PathEnded,
    Scalar,
    UnknownType,
    Value,
    WalkState,
    merge_states,
    merge_values,
)
from planbook.sandbox.policy.rules import MAX_NODES

MODULE = 0
"""Number of the frame that holds the variables of the plan's module."""
MAX_STEPS = 20_000
"""Maximum number of steps of a walk. A step is a statement, a call, five expressions, or a copy of 100 items."""


class NotFollowed(Exception):
    """The walk gives up, because it has taken MAX_STEPS steps or reached a statement that it cannot follow."""


@dataclass
class LoopJumps:
    """The states at each ``break`` and ``continue`` of a loop, and at its end without a ``break``."""

    breaks: list[WalkState] = field(default_factory=list)
    continues: list[WalkState] = field(default_factory=list)
    ends: list[WalkState] = field(default_factory=list)


Place = tuple[ast.stmt | ast.Call, ...]
"""The calls to plan functions that lead to a node, outermost first, followed by the node."""


@dataclass(eq=False)
class BaseWalk(ast.NodeVisitor):
    """The walk of a dry run over ``trees``: the trees of helpers and earlier cells, followed by the tree of the plan.

    ``functions`` maps the dotted names of the session's functions to their descriptions, and ``attributes`` are the
    dotted names of its attributes.
    """

    state: WalkState
    functions: Mapping[str, Function]
    attributes: frozenset[str]
    trees: InitVar[Sequence[ast.Module]]
    error: tuple[Place, ErrorRaised] | None = None
    """The place of the statement that has just ended a path with an exception, and the exception.

    If it is not None at the end of the walk, no path gets past this statement.
    """
    completed_places: set[Place] = field(default_factory=set)
    """The statements that some path has completed."""
    is_complete: bool = True
    """False if the walk has given up."""
    visited_calls: dict[tuple[ast.Call, ...], Impossible | None] = field(default_factory=dict)
    """Maps the place of each call to a session function to the reason why it cannot succeed, or None if it may."""
    blind: bool = False
    """True if code that is not followed may act, or change lists and dicts, at any time."""
    escaped_paths: set[str] = field(default_factory=set)
    """Dotted names of the session's functions and objects that have escaped."""
    exposed_names: set[str] = field(default_factory=set)
    """Names that escaped code may read at any time. A value that is assigned to one of them escapes."""
    frame: int = MODULE
    consumed_nodes: set[ast.expr] = field(default_factory=set)
    """The expressions whose items a loop or function reads immediately: ``range(3)`` in ``for n in range(3)``."""
    parents: dict[int, int] = field(default_factory=dict)
    """Maps the number of each frame to the number of the frame around it."""
    comprehension_frames: set[int] = field(default_factory=set)
    """Numbers of the frames of comprehensions. A name that ``:=`` assigns in them belongs to the frame around them."""
    loops: list[LoopJumps] = field(default_factory=lambda: [LoopJumps()])
    """The loops around the current statement. The first item collects every ``break`` and ``continue`` outside loops,
    which the static check reports.
    """
    endless_loops: set[ast.While] = field(default_factory=set)
    """The endless loops that some path has reached."""
    returns: list[list[tuple[WalkState, Value]]] = field(default_factory=lambda: [[]])
    """The states and values with which the module, and each function or comprehension being followed, has returned."""
    call_chain: list[ast.Call] = field(default_factory=list)
    """The calls to plan functions that led to the current statement, outermost first."""
    entered_functions: list[ast.AST] = field(default_factory=list)
    """The functions that the calls in ``call_chain`` entered."""
    _last_number: int = 0
    _steps: float = 0
    _facts: dict[ast.AST, effects.CodeFacts] = field(default_factory=dict)

    def __post_init__(self, trees: Sequence[ast.Module]) -> None:
        self.state.frames[MODULE] = {}
        self.roots = frozenset(name.partition(".")[0] for name in (*self.functions, *self.attributes))
        """Names through which plans reach the session, such as ``agent``."""
        self.plan, nodes = trees[-1], [node for tree in trees for node in ast.walk(tree)]
        self.plan_nodes = nodes[-sum(1 for _ in ast.walk(self.plan)) :]
        self.acting_names = effects.acting_names(nodes, self.roots)
        """``roots``, and the names of functions that may act."""
        self.may_catch_errors = any(isinstance(node, ast.Try) for node in nodes)
        """True if there is a ``try`` statement, so that an error may end a loop without ending the plan."""
        self.is_complete = len(nodes) <= MAX_NODES and not effects.binds_unmentioned_names(nodes)
        self.rebound_names = frozenset(effects.rebound_names(nodes))
        """Names that a function or generator may bind outside itself, or that a ``finally`` block binds."""

    def step(self, copied: int = 0) -> None:
        """Count one step, and one more for each 100 copied items. Raises NotFollowed after MAX_STEPS steps."""
        self._steps += 1 + copied // 100
        if self._steps > MAX_STEPS:
            raise NotFollowed

    def fork(self) -> WalkState:
        """Return a copy of the current state, for a path that branches off."""
        self.step(self.state.size)
        return self.state.copy()

    def follow_branches(self, *branches: Callable[[], Value]) -> Value:
        """Follow each branch from the current state, and merge the results.

        Raises PathEnded if no branch reaches its end.
        """
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
        """Make the merged state of all paths the current state, and return the merged value of all paths.

        Raises PathEnded if there are no paths.
        """
        if not paths:
            raise PathEnded
        self.state, value = paths[0]
        for state, other in paths[1:]:
            self.step(state.size)
            self.state = merge_states(self.state, state)
            value = merge_values(self.state, value, other)
            self.process_escaped()
        return value

    def escape(self, *values: Value) -> None:
        """Assume that unknown code gets hold of these values, and may change or call them."""
        for value in values:
            self.state.escape(value)
        self.process_escaped()

    def process_escaped(self) -> None:
        """Take into account how unknown code may use the escaped values.

        It may call the plan functions among them (see ``expose``). If an object or function of the session is among
        them, it may act, so the walk becomes blind.
        """
        exposed = set[ast.AST]()
        while self.state.escaped:
            value = self.state.escaped.pop()
            if isinstance(value, HostRef):
                self.escaped_paths.add(value.path)
                self.blind = True
            elif isinstance(value, DefinedFunction) and value.node not in exposed:
                exposed.add(value.node)
                for _, default in value.defaults:
                    self.state.escape(default)
                self._expose(value.node, effects.parameter_names(value.node))

    def expose(self, node: ast.AST) -> None:
        """Assume that unknown code may run this part of the plan at any time. All values that it reads escape."""
        self._expose(node)
        self.process_escaped()

    def _expose(self, node: ast.AST, parameters: Iterable[str] = ()) -> None:
        facts = self.facts(node)
        names = facts.names - {*parameters}
        self.step(len(names) + len(self.state.frames))
        self.exposed_names |= names
        self.blind = self.blind or facts.rebinds_outer_names
        for name in names & self.roots:
            self.state.escape(HostRef(name))
        for frame in self.state.frames.values():
            for name in names & frame.keys():
                self.state.escape(frame[name])

    def assume_any_effects(self, nodes: Sequence[ast.AST]) -> None:
        """Assume that any part of this code may have run any number of times.

        The names that it may bind, the contents of all lists and dicts, and most knowledge about the environment become
        unknown.
        """
        names = effects.bound_names(nodes)
        self.step(len(self.rebound_names) + self.state.size)
        for frame in self.state.frames.values():
            for name in (names | self.rebound_names) & frame.keys():
                self.state.escape(frame[name])
                frame[name] = UNKNOWN
        for name in names:
            self.assign(name, UNKNOWN, self.frame)
            self.assign(name, UNKNOWN, self.walrus_frame())
        for number in [number for number, content in self.state.heap.items() if content is not None]:
            self.state.escape(Container(number))
        self.state.knowledge = self.state.knowledge.after_unknown_actions()
        self.process_escaped()

    def facts(self, node: ast.AST) -> effects.CodeFacts:
        """Return the facts about a function, class or generator expression. They are computed only once."""
        if node not in self._facts:
            self._facts[node] = effects.CodeFacts.of(node)
        return self._facts[node]

    def open_frame(self, parent: int) -> int:
        """Open a frame inside the frame ``parent``, and return its number."""
        self._last_number += 1
        self.parents[self._last_number] = parent
        self.state.frames[self._last_number] = {}
        return self._last_number

    def look_up(self, name: str, frame: int) -> Value:
        """Return the value of a name for code that runs in the frame with this number."""
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
        """Return the frame in which ``:=`` binds names: the innermost frame that is not a comprehension's."""
        frame = self.frame
        while frame in self.comprehension_frames:
            frame = self.parents[frame]
        return frame

    def assign(self, name: str, value: Value, frame: int) -> None:
        """Bind a name in the frame with this number."""
        self.state.frames[frame][name] = value
        if name in self.exposed_names:
            self.escape(value)

    def new_container(self, content: Content) -> Container:
        """Create a list or dict with this content, and return it."""
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
        """Return a tuple of these parts, or UNKNOWN if it is too large or nested too deeply."""
        value = tuple(parts)
        nested = [part for part in value if isinstance(part, tuple)]
        is_deep = any(isinstance(part, tuple) for inner in nested for part in inner)
        if not is_deep and len(value) + sum(map(len, nested)) <= MAX_ITEMS:
            return value
        self.escape(*value)
        return UNKNOWN

    def content(self, value: Value) -> Content:
        """Return the content of a list or dict, or None if the content is unknown or the value is neither."""
        return self.state.heap.get(value.number) if isinstance(value, Container) and not self.blind else None

    def items(self, value: Value) -> tuple[Value, ...] | None:
        """Return the items that iterating over a value yields, or None if they are unknown or too many."""
        if isinstance(value, str | tuple):
            if len(value) > MAX_ITEMS:
                return None
            self._steps += len(value) / 100
            return tuple(value)
        if isinstance(value, LazyItems):
            items = self._lazy_items(value)
            self._steps += len(items or ()) / 100
            return items
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
        """Return the truth value of a value, or UNKNOWN."""
        if isinstance(value, Container):
            content = self.content(value)
            return UNKNOWN if content is None else bool(content)
        return bool(value) if isinstance(value, Scalar | tuple) else UNKNOWN
