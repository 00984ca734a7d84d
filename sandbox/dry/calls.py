"""Calls to the session's functions, the plan's own functions, methods and built-in functions."""

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
    compute,
    text_method,
)
from planbook.sandbox.dry.walk import CallVisits, PathEnded

MAX_CALL_DEPTH = 8
"""Maximum nesting of calls to plan functions. Deeper ones are not followed."""


class CallArguments(NamedTuple):
    """The arguments of a call; ``whole`` is False if a starred argument hides their number."""

    args: list[Value]
    named: dict[str, Value]
    whole: bool = True


class Calls(Expressions):
    """Follows calls, including container methods. Content is replaced, not changed, since forked states share it."""

    @abstractmethod
    def body(self, nodes: list[ast.stmt]) -> None:
        """Follow statements. Raises PathEnded if no path reaches their end."""

    def visit_Call(self, node: ast.Call) -> Value:
        self.step()
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if not isinstance(base, HostRef):
                return self._method(base, node.func.attr, self._arguments(node))
        function = self.value(node.func)
        if isinstance(function, BuiltinFunction) and function.name in _CONSUMERS and node.args:
            self.consumed_now.add(id(node.args[0]))
        arguments = self._arguments(node)
        if isinstance(function, HostRef) and function.path in self.functions:
            return self._act(node, function.path, arguments)
        if isinstance(function, DefinedFunction):
            return self.call_plan_function(node, function, arguments)
        if isinstance(function, BuiltinFunction):
            return self._call_builtin(function.name, arguments)
        return self._call_unknown(arguments)

    def _arguments(self, node: ast.Call) -> CallArguments:
        args = self.unpack(node.args)
        named = {pair.arg or "": self.value(pair.value) for pair in node.keywords}
        whole = args is not None and "" not in named
        if not whole:
            self.escape(*(args or ()), *named.values())
        return CallArguments(args or [], named, whole)

    def _call_unknown(self, arguments: CallArguments, *more: Value) -> Value:
        self.escape(*arguments.args, *arguments.named.values(), *more)
        if self.blind:
            self.state.knowledge = self.state.knowledge.forgotten()
        return UNKNOWN

    def _act(self, node: ast.Call, path: str, arguments: CallArguments) -> Value:
        impossible = None
        if self.blind or not arguments.whole:
            self.state.knowledge = self.state.knowledge.forgotten()
        if arguments.whole:
            args = [self._plain_or_unknown(value) for value in arguments.args]
            named = {name: self._plain_or_unknown(value) for name, value in arguments.named.items()}
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
        through = tuple(ast.unparse(call.func) for call in self.chain)
        visits = self.visits.setdefault(key, CallVisits(impossible, node, self._line(node), through))
        if impossible is None:
            visits.impossible = None

    def _line(self, node: ast.Call) -> int:
        """Return the plan line of the call, or of the innermost call in the plan that led to it."""
        return next((call.lineno for call in (node, *reversed(self.chain)) if id(call) in self.plan_calls), 0)

    # The plan's own functions.

    def call_plan_function(self, node: ast.Call, function: DefinedFunction, arguments: CallArguments) -> Value:
        """Follow a call to a function of the plan, and return its value."""
        again = any(enclosing is function.node for enclosing in self.inside)
        if again or len(self.chain) >= MAX_CALL_DEPTH or effects.is_generator(function.node) or not arguments.whole:
            return self._call_unknown(arguments, function)
        if self._only_reads(function, [*arguments.args, *arguments.named.values()]):
            return UNKNOWN
        values = _bind_arguments(self, function, arguments)
        if values is None:
            return self._call_unknown(arguments)
        self.chain.append(node)
        self.inside.append(function.node)
        try:
            return self.enter(function, values)
        finally:
            self.chain.pop()
            self.inside.pop()

    def _only_reads(self, function: DefinedFunction, values: list[Value]) -> bool:
        """Return whether a call need not be followed, since it only computes something from unknown values."""
        return UNKNOWN in values and not any(map(self.holds_container, values)) and self.is_harmless(function)

    def enter(self, function: DefinedFunction, values: dict[str, Value]) -> Value:
        """Follow a function's body with these parameters, and return its value."""
        frame = self.open_frame(function.frame)
        outside, self.frame, self.finals = (self.frame, self.finals), frame, []
        self.declared[frame] = (
            effects.own_declared_names(function.node, ast.Global),
            effects.own_declared_names(function.node, ast.Nonlocal),
        )
        self.state.frames[frame].update(values)
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
            paths = self.returns.pop()
        value = self.meet(paths)
        if not any(isinstance(inner, ast.FunctionDef | ast.Lambda) for inner in effects.own_nodes(function.node)):
            self.state.frames.pop(frame, None)
        return value

    def visit_unseen(self) -> None:
        """Follow the functions that something unknown may call, with unknown arguments."""
        visited: set[int] = set()
        while self.blind and (left := self.unseen.keys() - visited):
            for key in sorted(left, key=lambda node: self.unseen[node].node.lineno):
                visited.add(key)
                function = self.unseen[key]
                self._forget_all_data()
                start = self.state.copy()
                with suppress(PathEnded):
                    self.enter(function, dict.fromkeys(effects.parameters(function.node), UNKNOWN))
                self.state = start

    def _forget_all_data(self) -> None:
        """Forget all but functions that are defined in one place, since something unknown may act at any time."""
        self.havoc([])
        for frame in self.state.frames.values():
            for name, value in frame.items():
                frame[name] = value if isinstance(value, DefinedFunction) and name in self.defined_once else UNKNOWN

    # Methods and Python's functions.

    def _method(self, base: Value, name: str, arguments: CallArguments) -> Value:
        """Return the result of a method. Methods of strings keep none of their arguments."""
        with suppress(NotKnown):
            if isinstance(base, Container) and arguments.whole:
                return self.container_method(base, name, arguments.args, arguments.named)
            if isinstance(base, str) and arguments.whole:
                named = {argument: self.plain(value) for argument, value in arguments.named.items()}
                args = [self.plain(argument) for argument in arguments.args]
                return self.from_python(text_method(base, name, args, named))
        return UNKNOWN if isinstance(base, str) else self._call_unknown(arguments, base)

    def _call_builtin(self, name: str, arguments: CallArguments) -> Value:
        if name in ("print", "isinstance", "repr", "type"):
            return UNKNOWN
        items = self.items(arguments.args[0]) if len(arguments.args) == 1 and not arguments.named else None
        if items is not None and name in ("list", "tuple", "len"):  # these do not examine the items
            return len(items) if name == "len" else items if name == "tuple" else self.new_container(list(items))
        with suppress(NotKnown):
            if name == "dict" and not arguments.args and arguments.whole:
                return self.new_container(dict(arguments.named.items()))
            if name in FUNCTIONS and arguments.whole:
                named = {argument: self.plain(value) for argument, value in arguments.named.items()}
                return self.from_python(compute(FUNCTIONS[name], *map(self.flat, arguments.args), **named))
        if name == "getattr":
            return self._call_unknown(arguments)
        for value in (*arguments.args, *arguments.named.values()):  # all others read the items, and may call them
            self.escape(*(self.items(value) or (value,)) if isinstance(value, Container) else (value,))
        return self._call_unknown(CallArguments([], {}))

    # Lists, dicts and sets.

    def container_method(
        self, container: Container, name: str, args: Sequence[Value], named: Mapping[str, Value]
    ) -> Value:
        """Return the result of a container's method. Raises NotKnown, without a change, if its effect is unknown."""
        content = self.content(container)
        method = _METHODS.get((type(content), name))
        if content is None or method is None or named or len(content) >= MAX_ITEMS:
            raise NotKnown
        changed = copy(content)
        value = compute(method, self, changed, *args)
        self.state.heap[container.number] = changed
        return value

    def replace_item(self, base: Value, method: str, key: Value, *value: Value) -> None:
        """Carry out ``base[key] = value`` or ``del base[key]``."""
        content = copy(self.content(base))
        if isinstance(content, list | dict) and isinstance(base, Container):
            with suppress(NotKnown):
                compute(getattr(content, method), self.key(key), *value)
                self.state.heap[base.number] = content
                return
        self.escape(base, *value)

    def _extend(self, content: list[Value], more: Value) -> None:
        items = self.items(more)
        if items is None:
            raise NotKnown
        content.extend(items)

    def _index(self, content: list[Value], value: Value) -> object:
        return compute([self.plain(item) for item in content].index, self.plain(value))

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
    (list, "remove"): lambda walk, content, value: content.__delitem__(walk._index(content, value)),
    (list, "index"): Calls._index,
    (list, "count"): lambda walk, content, value: [walk.plain(item) for item in content].count(walk.plain(value)),
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
"""Maps a type and a method name to a function that changes a copy of the content and returns the method's value."""
_CONSUMERS = frozenset("all any dict list max min next set sorted sum tuple".split())


def _bind_arguments(walk: Calls, function: DefinedFunction, arguments: CallArguments) -> dict[str, Value] | None:
    """Return the values of the parameters, or None if the arguments do not fit."""
    signature = function.node.args
    positional = [parameter.arg for parameter in (*signature.posonlyargs, *signature.args)]
    values = {**dict(function.defaults), **dict(zip(positional, arguments.args, strict=False))}
    extra = arguments.args[len(positional) :]
    others = {name: value for name, value in arguments.named.items() if name not in effects.parameters(function.node)}
    if (extra and signature.vararg is None) or (others and signature.kwarg is None):
        return None
    values.update({name: value for name, value in arguments.named.items() if name not in others})
    if signature.vararg:
        values[signature.vararg.arg] = walk.tuple_of(extra)
    if signature.kwarg:
        values[signature.kwarg.arg] = walk.new_container(dict(others.items()))
    return values if set(effects.parameters(function.node)) <= values.keys() else None
