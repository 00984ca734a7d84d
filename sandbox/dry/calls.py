"""Calls of the session's functions, the plan's own functions, methods and built-in functions."""

import ast
from abc import abstractmethod
from collections.abc import Mapping, Sequence
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
_AT_ONCE = frozenset("all any dict list max min next set sorted sum tuple".split())
_METHODS: Mapping[type, frozenset[str]] = {
    list: frozenset("append extend insert pop remove index count sort reverse clear copy".split()),
    dict: frozenset("get setdefault pop update keys values items copy clear".split()),
    set: frozenset("add discard copy clear".split()),
}
"""Methods that are carried out."""
_COMPARING = frozenset("remove index count sort".split())
"""Methods of lists that examine all items."""


class CallArguments(NamedTuple):
    """The arguments of a call; ``whole`` is False if a star hides how many there are."""

    args: list[Value]
    named: dict[str, Value]
    whole: bool = True


class Calls(Expressions):
    """Carries out calls, and methods of containers. Content is replaced, never changed: forked states share it."""

    @abstractmethod
    def body(self, nodes: Sequence[ast.stmt]) -> None:
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
            return self._call_plan_function(node, function, given)
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

    def _call_plan_function(self, node: ast.Call, function: DefinedFunction, given: CallArguments) -> Value:
        """Carry out a function of the plan with arguments."""
        values = _bound(function, given)
        again = any(each is function.node for each in self.inside)
        makes = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in effects.own_nodes(function.node))
        if values is None or again or makes or len(self.chain) >= MAX_CALL_DEPTH:
            return self._unfollowed(given, function)
        self.chain.append(node)
        self.inside.append(function.node)
        try:
            return self._enter(function, values)
        finally:
            self.chain.pop()
            self.inside.pop()

    def _enter(self, function: DefinedFunction, values: dict[str, Value]) -> Value:
        """Carry out a function's body with these parameters, and return its value."""
        own, outside = self.open_frame(function.frame), self.frame
        self.state.frames[own].update(values)
        self.frame = own
        self.returns.append([])
        try:
            if isinstance(function.node, ast.Lambda):
                value = self.value(function.node.body)
            else:
                value = self.body(function.node.body)
            self.returns[-1].append((self.state, value))
        except PathEnded:
            pass
        finally:
            self.frame = outside
            ways = self.returns.pop()
        value = self.meet(ways)
        if not any(isinstance(each, ast.FunctionDef | ast.Lambda) for each in effects.own_nodes(function.node)):
            self.state.frames.pop(own, None)
        return value

    # Methods and Python's functions.

    def _method(self, base: Value, name: str, given: CallArguments) -> Value:
        with suppress(NotKnown):
            if isinstance(base, Container) and given.whole and not given.named:
                return self.container_method(base, name, given.args)
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
            if name in FUNCTIONS and given.whole:
                named = {each: self.plain(value) for each, value in given.named.items()}
                return self.taken_in(computed(FUNCTIONS[name], *map(self.plain, given.args), **named))
        if name != "getattr":  # all others read their arguments, call functions among them, and return items
            values = [self.items(each) or () if isinstance(each, Container) else (each,) for each in given.args]
            given = CallArguments([value for each in values for value in each], given.named)
        return self._unfollowed(given)

    # Lists, dicts and sets.

    def container_method(self, container: Container, name: str, args: Sequence[Value]) -> Value:
        """Carry out a method of a container. Raises NotKnown, with nothing changed, if its effect is unknown."""
        content = self.content(container)
        if content is None or name not in _METHODS[type(content)] or len(content) >= MAX_ITEMS:
            raise NotKnown
        if not isinstance(content, list) or name in ("insert", "pop"):
            args = [*map(self.scalar, args[:1]), *args[1:]] if name != "update" else args
        if name in _COMPARING:
            args = [self.plain(each) for each in (*content, *args)][len(content) :]
        elif name == "extend":
            args = [self.items(each) for each in args]
        elif name == "update":
            args = [self.content(each) for each in args]
        changed = copy(content)
        value = computed(getattr(changed, name), *args)
        self.state.heap[container.number] = changed
        if name == "copy":
            return self.new_container(changed)
        return self.tuple_of(value) if name in ("keys", "values", "items") else value  # type: ignore[arg-type]

    def store(self, base: Value, key: Value, value: Value) -> None:
        """Carry out ``base[key] = value``."""
        content = copy(self.content(base))
        with suppress(NotKnown):
            if isinstance(content, list | dict) and isinstance(base, Container):
                computed(content.__setitem__, self.scalar(key), value)
                self.state.heap[base.number] = content
                return
        self.escape(base, value)


def _bound(function: DefinedFunction, given: CallArguments) -> dict[str, Value] | None:
    """Return the parameters' values; None if the call does not fit, or if a star takes some of the arguments."""
    a = function.node.args
    positional = [each.arg for each in (*a.posonlyargs, *a.args)]
    values = {**dict(function.defaults), **dict(zip(positional, given.args, strict=False)), **given.named}
    fits = given.whole and len(given.args) <= len(positional)
    return values if fits and values.keys() == set(effects.parameters(function.node)) else None
