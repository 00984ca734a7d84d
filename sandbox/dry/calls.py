"""Follow calls in a dry run: calls to the session's functions, the plan's own functions, methods and built-ins.

A call that cannot be followed has the value UNKNOWN. Its arguments *escape*: they may change, so they become unknown. A
comprehension is followed as if it were a call to a function. Code *acts* if it calls one of the session's functions.
"""

import ast
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import Any, NamedTuple

from planbook.sandbox.checks.calls import argument_problems
from planbook.sandbox.dry import effects
from planbook.sandbox.dry.expressions import Expressions
from planbook.sandbox.dry.values import (
    COMPUTE_ERRORS,
    COMPUTED,
    UNKNOWN,
    BuiltinFunction,
    Container,
    DefinedFunction,
    ErrorRaised,
    HostRef,
    LazyItems,
    NotKnown,
    PathEnded,
    Scalar,
    UnknownType,
    Value,
    compute,
    string_method,
)

MAX_CALL_DEPTH = 8
"""Maximum nesting of calls to plan functions. Deeper calls are not followed."""
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_RESULT = ".result"
"""Variable in which a list comprehension builds its list. It is not an identifier, so no plan can use the name."""
_NO_PARAMETERS = ast.arguments([], [], None, [], [], None, [])


class CallArguments(NamedTuple):
    """The arguments of a call.

    ``is_complete`` is False if some are unknown, because of ``*items`` with unknown items or because of ``**options``.
    """

    args: list[Value]
    kwargs: dict[str, Value]
    is_complete: bool = True


class Calls(Expressions):
    """Follows calls, including methods of lists and dicts.

    The content of a list or dict is never changed in place, since copies of the state share it. A changed copy replaces
    it.
    """

    @abstractmethod
    def follow_body(self, nodes: list[ast.stmt]) -> None:
        """Follow statements in order. Raises PathEnded if no path reaches the end of the statements."""

    def visit_Call(self, node: ast.Call) -> Value:
        self.step()
        if isinstance(node.func, ast.Attribute):
            base = self.evaluate(node.func.value)
            if not isinstance(base, HostRef):
                consumed = self._consumed_arguments(node, node.func.attr) if isinstance(base, str) else []
                return self._method(node, base, node.func.attr, self._arguments(node, consumed))
            function = self.attribute(base, node.func.attr)
        else:
            function = self.evaluate(node.func)
        consumed = self._consumed_arguments(node, function.name) if isinstance(function, BuiltinFunction) else []
        arguments = self._arguments(node, consumed)
        if isinstance(function, HostRef) and function.path in self.functions:
            return self._call_session_function(node, function.path, arguments)
        if isinstance(function, DefinedFunction):
            return self.call_plan_function(node, function, arguments)
        if isinstance(function, BuiltinFunction):
            return self._call_builtin(node, function.name, arguments)
        return self._call_unknown(arguments, function)

    def _consumed_arguments(self, node: ast.Call, function: str) -> Sequence[ast.expr]:
        """Return the arguments whose items the function reads immediately, as ``any`` and ``list`` do.

        A function such as ``zip`` reads the items of its arguments only if a loop reads the result immediately.
        """
        if function in _LAZY_BUILTINS and node in self.consumed_nodes:
            return [arg for arg in node.args if isinstance(arg, ast.Call)]
        others = [*node.args[1:], *(pair.value for pair in node.keywords)]
        return node.args[:1] if function in _CONSUMERS and all(isinstance(arg, ast.Constant) for arg in others) else []

    def _arguments(self, node: ast.Call, consumed: Sequence[ast.expr]) -> CallArguments:
        self.consumed_nodes.update(consumed)
        args = self.unpack(node.args)
        self.consumed_nodes.difference_update(consumed)
        kwargs = {pair.arg or f"**{number}": self.evaluate(pair.value) for number, pair in enumerate(node.keywords)}
        is_complete = args is not None and all(pair.arg for pair in node.keywords)
        if not is_complete:
            self.escape(*(args or ()), *kwargs.values())
        return CallArguments(args or [], kwargs, is_complete)

    def _call_unknown(self, arguments: CallArguments, *used: Value) -> Value:
        """Assume that a call may do anything with its arguments and with the values ``used``. Return UNKNOWN."""
        self.escape(*arguments.args, *arguments.kwargs.values(), *used)
        return UNKNOWN

    def _call_session_function(self, node: ast.Call, path: str, arguments: CallArguments) -> Value:
        impossible = None
        if self.blind or not arguments.is_complete:
            self.state.knowledge = self.state.knowledge.after_unknown_actions()
        if arguments.is_complete:
            args = [self._to_python_or_unknown(value) for value in arguments.args]
            kwargs = {name: self._to_python_or_unknown(value) for name, value in arguments.kwargs.items()}
            keywords = [ast.keyword(name, _literal(value)) for name, value in kwargs.items()]
            call = ast.Call(ast.Name(path), [*map(_literal, args)], keywords)
            if problem := next(argument_problems(call, self.functions[path]), None):
                raise ErrorRaised(TypeError(problem[2]))
            self.state.knowledge, impossible = self.state.knowledge.act(path, args, kwargs)
        place = (*self.call_chain, node)
        first_reason = self.visited_calls.get(place, impossible)
        self.visited_calls[place] = first_reason if impossible else None
        return UNKNOWN

    def _to_python_or_unknown(self, value: Value) -> object:
        try:
            return self.to_python(value)
        except NotKnown:
            return UNKNOWN

    def call_plan_function(self, node: ast.Call, function: DefinedFunction, arguments: CallArguments) -> Value:
        """Follow a call to a function that the plan defines, and return its result."""
        values = _bind_arguments(self, function, arguments)
        recursive = function.node in self.entered_functions
        if recursive or values is None or len(self.call_chain) >= MAX_CALL_DEPTH or self._only_reads(function, values):
            return self._call_unknown(arguments, function)
        self.call_chain.append(node)
        self.entered_functions.append(function.node)
        try:
            return self.enter(function, values)
        finally:
            self.call_chain.pop()
            self.entered_functions.pop()

    def _only_reads(self, function: DefinedFunction, values: dict[str, Value]) -> bool:
        """Return whether a call need not be followed, since it only computes an unknown result.

        That is, an argument is unknown, and the function can neither act nor change a list or dict.
        """
        names = self.facts(function.node).names - values.keys()
        if UNKNOWN not in values.values() or names & self.acting_names:
            return False
        read = (self.look_up(name, function.frame) for name in names)
        return all(map(_is_data, values.values())) and all(
            _is_data(value) or isinstance(value, BuiltinFunction | DefinedFunction) for value in read
        )

    def enter(self, function: DefinedFunction, values: dict[str, Value], *, is_comprehension: bool = False) -> Value:
        """Follow the body of a function, and return its result. ``values`` maps its parameters to values.

        If ``is_comprehension``, the function represents a comprehension.
        """
        frame = self.open_frame(function.frame)
        outer_frame, self.frame = self.frame, frame
        if is_comprehension:
            self.comprehension_frames.add(frame)
        self.state.frames[frame].update(values)
        self.returns.append([])
        try:
            if isinstance(function.node, ast.Lambda):
                self.returns[-1].append((self.state, self.evaluate(function.node.body)))
            else:
                self.follow_body(function.node.body)
                self.returns[-1].append((self.state, None))
        except PathEnded:
            pass
        finally:
            self.frame = outer_frame
            paths = self.returns.pop()
        value = self.merge_paths(paths)
        if not self.facts(function.node).has_inner_function:
            del self.state.frames[frame]
        return value

    def visit_ListComp(self, node: ast.ListComp) -> Value:
        append = ast.Call(ast.Attribute(ast.Name(_RESULT, ast.Load()), "append"), [node.elt], [])
        return self._comprehension(node, [ast.Expr(append)], self.new_container([]))

    def visit_SetComp(self, node: ast.SetComp | ast.DictComp) -> Value:
        parts = [node.elt] if isinstance(node, ast.SetComp) else [node.key, node.value]
        return self._comprehension(node, [ast.Expr(ast.Set(parts))])

    visit_DictComp = visit_SetComp

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Value:
        """Follow a generator expression if some of its items are read immediately.

        The items of any other generator may be read at any time, so its code is exposed.
        """
        if node in self.consumed_nodes:
            stop = ast.If(ast.Constant(...), [ast.Return(None)], [])
            return self._comprehension(node, [ast.Expr(ast.Set([node.elt])), stop])
        self.expose(node)
        return UNKNOWN

    def _comprehension(self, node: Comprehension, body: list[ast.stmt], result: Value = UNKNOWN) -> Value:
        """Follow a comprehension as the equivalent function with nested loops, and return ``result``."""
        self.step()
        for part in reversed(node.generators):
            for test in reversed(part.ifs):
                body = [ast.If(test, body, [])]
            body = [ast.For(part.target, part.iter, body, [])]
        function = ast.FunctionDef(name="", args=_NO_PARAMETERS, body=body, decorator_list=[])
        self.enter(DefinedFunction(function, self.frame), {_RESULT: result}, is_comprehension=True)
        return result

    def _method(self, node: ast.Call, base: Value, name: str, arguments: CallArguments) -> Value:
        """Return the result of calling the method ``name`` of ``base``.

        Methods of strings do not store their arguments, so these need not escape. But an argument that refers to the
        session may be a generator, whose code may act if the method reads its items, so it escapes.
        """
        content = self.content(base)
        if isinstance(content, dict) and name in _VIEWS and node in self.consumed_nodes and not node.args:
            return LazyItems(name, (base,))
        with suppress(NotKnown):
            if isinstance(base, Container) and arguments.is_complete:
                return self._container_method(base, name, arguments.args, arguments.kwargs)
            if isinstance(base, str) and arguments.is_complete:
                kwargs = {argument: self.to_python(value) for argument, value in arguments.kwargs.items()}
                args = [self.to_python(argument) for argument in arguments.args]
                return self.from_python(string_method(base, name, args, kwargs))
        if isinstance(base, str):
            arguments = CallArguments([value for value in arguments.args if isinstance(value, HostRef)], {})
        return self._call_unknown(arguments, base)

    def _call_builtin(self, node: ast.Call, name: str, arguments: CallArguments) -> Value:
        args, kwargs = arguments.args, arguments.kwargs
        if name in ("print", "isinstance", "repr") or (name == "type" and len(args) == 1):
            return UNKNOWN
        if name in _LAZY_BUILTINS and node in self.consumed_nodes and not node.keywords and arguments.is_complete:
            return LazyItems(name, tuple(args))
        items = self.items(args[0]) if len(args) == 1 else None
        if items is not None and not kwargs and name in ("list", "tuple", "len"):  # these ignore the items' values
            if name == "len":
                return len(items)
            return self.tuple_of(items) if name == "tuple" else self.new_container(list(items))
        with suppress(NotKnown):
            others = (*args[1:], *kwargs.values())  # max, min and sum may return one of these objects
            if name in COMPUTED and arguments.is_complete and not any(isinstance(arg, Container) for arg in others):
                options = {option: self.to_flat_python(value) for option, value in kwargs.items()}
                return self.from_python(compute(COMPUTED[name], *map(self.to_flat_python, args), **options))
        if items is not None and (name in COMPUTED or name == "set"):  # the result may contain items, but not the list
            return self._call_unknown(CallArguments(list(items), kwargs))
        return self._call_unknown(arguments)

    def _container_method(
        self, container: Container, name: str, args: Sequence[Value], kwargs: Mapping[str, Value]
    ) -> Value:
        """Carry out a method of a list or dict, and return its result.

        Raises ErrorRaised if the method fails, or NotKnown if its effect is unknown. In both cases, nothing changes.
        """
        content = self.content(container)
        method = _METHODS.get((type(content), name))
        if content is None or method is None or kwargs:
            raise NotKnown
        changed = copy(content)
        try:
            value = method(self, changed, *args)
        except (LookupError, ValueError) as error:
            raise ErrorRaised(error) from error
        except COMPUTE_ERRORS as error:
            raise NotKnown from error
        self.set_content(container.number, changed)
        return value

    def change_item(self, base: Value, method: str, key: Value, *value: Value) -> None:
        """Carry out ``base[key] = value`` or ``del base[key]``. ``method`` is ``__setitem__`` or ``__delitem__``."""
        content = copy(self.content(base))
        if isinstance(content, list | dict) and isinstance(base, Container):
            with suppress(NotKnown):
                compute(getattr(content, method), self.as_dict_key(key), *value)
                self.set_content(base.number, content)
                return
        self.escape(base, *value)

    def _extend(self, content: list[Value], added: Value) -> None:
        items = self.items(added)
        if items is None:
            raise NotKnown
        content.extend(items)

    def _remove(self, content: list[Value], value: Value) -> None:
        del content[[self.to_python(item) for item in content].index(self.to_python(value))]


_METHODS: Mapping[tuple[type, str], Callable[..., Value]] = {
    (list, "append"): lambda walk, content, value: content.append(value),
    (list, "extend"): Calls._extend,
    (list, "pop"): lambda walk, content, index=-1: content.pop(walk.to_python(index)),
    (list, "remove"): Calls._remove,
    (list, "copy"): lambda walk, content: walk.new_container(copy(content)),
    (dict, "copy"): lambda walk, content: walk.new_container(copy(content)),
    (dict, "get"): lambda walk, content, key, default=None: content.get(walk.as_dict_key(key), default),
    (dict, "pop"): lambda walk, content, key, *default: content.pop(walk.as_dict_key(key), *default),
}
"""Maps a type and the name of a method to a function that carries out the method on a copy of the content, and returns
the result of the method.
"""
_VIEWS = ("keys", "values", "items")
_LAZY_BUILTINS = ("enumerate", "range", "zip")
_CONSUMERS = frozenset("all any dict join list max min next set sorted sum tuple".split())


def _literal(value: Any) -> ast.expr:
    """Return a plain value as a literal, or UNKNOWN as the name ``...``, which fits every annotation."""
    if isinstance(value, list):
        return ast.List([*map(_literal, value)])
    if isinstance(value, tuple):
        return ast.Tuple([*map(_literal, value)])
    if isinstance(value, dict):
        return ast.Dict([*map(_literal, value)], [*map(_literal, value.values())])
    return ast.Name("...") if value is UNKNOWN else ast.Constant(value)


def _is_data(value: Value) -> bool:
    """Return whether a value is UNKNOWN or immutable data, such as a string or a tuple of strings."""
    if isinstance(value, tuple):
        return all(map(_is_data, value))
    return isinstance(value, UnknownType | Scalar)


def _bind_arguments(walk: Calls, function: DefinedFunction, arguments: CallArguments) -> dict[str, Value] | None:
    """Return a dict that maps the function's parameters to values.

    Return None if the arguments do not fit the parameters, if some are unknown, or if the walk cannot follow the
    function.
    """
    if not arguments.is_complete or function.node.args.posonlyargs or not walk.facts(function.node).is_simple:
        return None
    signature = function.node.args
    positional = [parameter.arg for parameter in signature.args]
    values = {**dict(function.defaults), **dict(zip(positional, arguments.args, strict=False)), **arguments.kwargs}
    if signature.vararg:
        values[signature.vararg.arg] = walk.tuple_of(arguments.args[len(positional) :])
    elif len(arguments.args) > len(positional):
        return None
    return values if values.keys() == {*effects.parameter_names(function.node)} else None
