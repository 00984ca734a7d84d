"""Calls of the session's functions, the plan's own functions, methods and built-in functions."""

import ast
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import NamedTuple

from planbook.sandbox.dry import effects
from planbook.sandbox.dry.expressions import Expressions
from planbook.sandbox.dry.values import (
    FUNCTIONS,
    MAX_ITEMS,
    UNKNOWN,
    BuiltinFunction,
    Container,
    DefinedFunction,
    HostRef,
    Impossible,
    NotKnown,
    Value,
    computed,
    text_method,
)
from planbook.sandbox.dry.walk import CallVisits, PathEnded

MAX_CALL_DEPTH = 8
"""Nested calls of plan functions. Deeper ones are not followed."""


class CallArguments(NamedTuple):
    """The arguments of a call; ``whole`` is False if a star hides how many there are."""

    args: list[Value]
    named: dict[str, Value]
    whole: bool = True


class Calls(Expressions):
    """Carries out calls, and methods of containers. Content is replaced, never changed: forked states share it."""

    @abstractmethod
    def body(self, nodes: list[ast.stmt]) -> None:
        """Carry out statements. Raises PathEnded if no path reaches their end."""

    def visit_Call(self, node: ast.Call) -> Value:
        self.step()
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if not isinstance(base, HostRef):
                return self._method(base, node.func.attr, self._arguments(node))
        function = self.value(node.func)
        if isinstance(function, BuiltinFunction) and function.name in _AT_ONCE and node.args:
            self.at_once.add(id(node.args[0]))
        given = self._arguments(node)
        if isinstance(function, HostRef) and function.path in self.functions:
            return self._act(node, function.path, given)
        if isinstance(function, DefinedFunction):
            return self.call_plan_function(node, function, given)
        if isinstance(function, BuiltinFunction):
            return self._python(function.name, given)
        return self._unfollowed(given)

    def _arguments(self, node: ast.Call) -> CallArguments:
        args = self.unpacked(node.args)
        named = {pair.arg or "": self.value(pair.value) for pair in node.keywords}
        whole = args is not None and "" not in named
        if not whole:
            self.escape(*(args or ()), *named.values())
        return CallArguments(args or [], named, whole)

    def _unfollowed(self, given: CallArguments, *more: Value) -> Value:
        self.escape(*given.args, *given.named.values(), *more)
        if self.blind:
            self.state.knowledge = self.state.knowledge.forgotten()
        return UNKNOWN

    def _act(self, node: ast.Call, path: str, given: CallArguments) -> Value:
        impossible = None
        if self.blind or not given.whole:
            self.state.knowledge = self.state.knowledge.forgotten()
        if given.whole:
            args = [self._plain_or_unknown(each) for each in given.args]
            named = {name: self._plain_or_unknown(each) for name, each in given.named.items()}
            self.state.knowledge, impossible = self.state.knowledge.act(path, args, named, self._line(node))
        self._visit(node, impossible)
        return UNKNOWN

    def _plain_or_unknown(self, value: Value) -> object:
        try:
            return self.plain(value)
        except NotKnown:
            return UNKNOWN

    def _visit(self, node: ast.Call, impossible: Impossible | None) -> None:
        key = (*map(id, self.chain), id(node))
        through = tuple(ast.unparse(each.func) for each in self.chain)
        visits = self.visits.setdefault(key, CallVisits(impossible, node, self._line(node), through))
        if impossible is None:
            visits.impossible = None

    def _line(self, node: ast.Call) -> int:
        """Return the plan line of the call, or of the innermost one in the plan that led to it."""
        return next((each.lineno for each in (node, *reversed(self.chain)) if id(each) in self.plan_calls), 0)

    # The plan's own functions.

    def call_plan_function(self, node: ast.Call, function: DefinedFunction, given: CallArguments) -> Value:
        """Carry out a function of the plan with arguments."""
        again = any(each is function.node for each in self.inside)
        if again or len(self.chain) >= MAX_CALL_DEPTH or effects.is_generator(function.node) or not given.whole:
            return self._unfollowed(given, function)
        if self._only_reads(function, [*given.args, *given.named.values()]):
            return UNKNOWN
        values = _bound(self, function, given)
        if values is None:
            return self._unfollowed(given)
        self.chain.append(node)
        self.inside.append(function.node)
        try:
            return self.enter(function, values)
        finally:
            self.chain.pop()
            self.inside.pop()

    def _only_reads(self, function: DefinedFunction, given: list[Value]) -> bool:
        """Return whether a call only computes something from unknown values, and need not be followed."""
        return UNKNOWN in given and not any(map(self.holds_container, given)) and self.is_harmless(function)

    def enter(self, function: DefinedFunction, values: dict[str, Value]) -> Value:
        """Carry out a function's body with these parameters, and return its value."""
        own = self.open_frame(function.frame)
        outside, self.frame, self.finals = (self.frame, self.finals), own, []
        self.own[own] = (
            effects.own_declared(function.node, ast.Global),
            effects.own_declared(function.node, ast.Nonlocal),
        )
        self.state.frames[own].update(values)
        self.returns.append([])
        try:
            if isinstance(function.node, ast.Lambda):
                self.returns[-1].append((self.state, self.value(function.node.body)))
            else:
                self.body(function.node.body)
                self.returns[-1].append((self.state, None))
        except PathEnded:
            pass
        finally:
            self.frame, self.finals = outside
            ways = self.returns.pop()
        value = self.meet(ways)
        if not any(isinstance(each, ast.FunctionDef | ast.Lambda) for each in effects.own_nodes(function.node)):
            self.state.frames.pop(own, None)
        return value

    def visit_unseen(self) -> None:
        """Carry out the functions that something unknown may call, with unknown arguments."""
        visited: set[int] = set()
        while self.blind and (left := self.unseen.keys() - visited):
            for key in sorted(left, key=lambda each: self.unseen[each].node.lineno):
                visited.add(key)
                function = self.unseen[key]
                self._forget_all_data()
                start = self.state.copy()
                with suppress(PathEnded):
                    self.enter(function, dict.fromkeys(effects.parameters(function.node), UNKNOWN))
                self.state = start

    def _forget_all_data(self) -> None:
        """Keep only functions that are defined in one place: an unseen call may come at any time."""
        self.havoc([])
        for frame in self.state.frames.values():
            for name, value in frame.items():
                frame[name] = value if isinstance(value, DefinedFunction) and name in self.defined_once else UNKNOWN

    # Methods and Python's functions.

    def _method(self, base: Value, name: str, given: CallArguments) -> Value:
        """Return the value of a method. A string's keeps none of its arguments."""
        with suppress(NotKnown):
            if isinstance(base, Container) and given.whole:
                return self.container_method(base, name, given.args, given.named)
            if isinstance(base, str) and given.whole:
                named = {each: self.plain(value) for each, value in given.named.items()}
                return self.taken_in(text_method(base, name, [self.plain(each) for each in given.args], named))
        return UNKNOWN if isinstance(base, str) else self._unfollowed(given, base)

    def _python(self, name: str, given: CallArguments) -> Value:
        if name in ("print", "isinstance", "repr", "type"):
            return UNKNOWN
        items = self.items(given.args[0]) if len(given.args) == 1 and not given.named else None
        if items is not None and name in ("list", "tuple", "len"):  # which do not examine the items
            return len(items) if name == "len" else items if name == "tuple" else self.new_container(list(items))
        with suppress(NotKnown):
            if name == "dict" and not given.args and given.whole:
                return self.new_container(dict(given.named.items()))
            if name in FUNCTIONS and given.whole:
                named = {each: self.plain(value) for each, value in given.named.items()}
                return self.taken_in(computed(FUNCTIONS[name], *map(self.flat, given.args), **named))
        if name == "getattr":
            return self._unfollowed(given)
        for value in (*given.args, *given.named.values()):  # all others read items and call functions among them
            self.escape(*(self.items(value) or (value,)) if isinstance(value, Container) else (value,))
        return self._unfollowed(CallArguments([], {}))

    # Lists, dicts and sets.

    def container_method(
        self, container: Container, name: str, args: Sequence[Value], named: Mapping[str, Value]
    ) -> Value:
        """Carry out a method of a container. Raises NotKnown, with nothing changed, if its effect is unknown."""
        content = self.content(container)
        way = _METHODS.get((type(content), name))
        if content is None or way is None or named or len(content) >= MAX_ITEMS:
            raise NotKnown
        changed = copy(content)
        value = computed(way, self, changed, *args)
        self.state.heap[container.number] = changed
        return value

    def replaced(self, base: Value, how: str, key: Value, *value: Value) -> None:
        """Carry out ``base[key] = value`` or ``del base[key]``."""
        content = copy(self.content(base))
        if isinstance(content, list | dict) and isinstance(base, Container):
            with suppress(NotKnown):
                computed(getattr(content, how), self.key(key), *value)
                self.state.heap[base.number] = content
                return
        self.escape(base, *value)

    def _extend(self, content: list[Value], more: Value) -> None:
        items = self.items(more)
        if items is None:
            raise NotKnown
        content.extend(items)

    def _place(self, content: list[Value], value: Value) -> object:
        return computed([self.plain(each) for each in content].index, self.plain(value))

    def _copy(self, content: list[Value] | dict[Value, Value] | set[Value]) -> Value:
        return self.new_container(copy(content))

    def _update(self, content: dict[Value, Value], more: Value) -> None:
        other = self.content(more)
        if not isinstance(other, dict):
            raise NotKnown
        content.update(other)


_METHODS: Mapping[tuple[type, str], Callable[..., Value]] = {
    (list, "append"): lambda walk, content, value: content.append(value),
    (list, "extend"): Calls._extend,
    (list, "insert"): lambda walk, content, place, value: content.insert(walk.plain(place), value),
    (list, "pop"): lambda walk, content, place=-1: content.pop(walk.plain(place)),
    (list, "remove"): lambda walk, content, value: content.__delitem__(walk._place(content, value)),
    (list, "index"): Calls._place,
    (list, "count"): lambda walk, content, value: [walk.plain(each) for each in content].count(walk.plain(value)),
    (list, "sort"): lambda walk, content: content.sort(key=walk.plain),
    (list, "reverse"): lambda walk, content: content.reverse(),
    (list, "clear"): lambda walk, content: content.clear(),
    (list, "copy"): Calls._copy,
    (dict, "get"): lambda walk, content, key, other=None: content.get(walk.key(key), other),
    (dict, "setdefault"): lambda walk, content, key, other=None: content.setdefault(walk.key(key), other),
    (dict, "pop"): lambda walk, content, key, *other: content.pop(walk.key(key), *other),
    (dict, "update"): Calls._update,
    (dict, "keys"): lambda walk, content: tuple(content),
    (dict, "values"): lambda walk, content: walk.tuple_of(content.values()),
    (dict, "items"): lambda walk, content: walk.tuple_of(content.items()),
    (dict, "copy"): Calls._copy,
    (dict, "clear"): lambda walk, content: content.clear(),
    (set, "add"): lambda walk, content, value: content.add(walk.key(value)),
    (set, "discard"): lambda walk, content, value: content.discard(walk.key(value)),
    (set, "copy"): Calls._copy,
    (set, "clear"): lambda walk, content: content.clear(),
}
"""Type and method to a function that changes a copy of the content and returns the method's value."""
_AT_ONCE = frozenset("all any dict list max min next set sorted sum tuple".split())


def _bound(walk: Calls, function: DefinedFunction, given: CallArguments) -> dict[str, Value] | None:
    """Return the parameters' values, or None if the call does not fit."""
    a = function.node.args
    positional = [each.arg for each in (*a.posonlyargs, *a.args)]
    values = {**dict(function.defaults), **dict(zip(positional, given.args, strict=False))}
    extra = given.args[len(positional) :]
    others = {name: value for name, value in given.named.items() if name not in effects.parameters(function.node)}
    if (extra and a.vararg is None) or (others and a.kwarg is None):
        return None
    values.update({name: value for name, value in given.named.items() if name not in others})
    if a.vararg:
        values[a.vararg.arg] = walk.tuple_of(extra)
    if a.kwarg:
        values[a.kwarg.arg] = walk.new_container(dict(others.items()))
    return values if set(effects.parameters(function.node)) <= values.keys() else None
