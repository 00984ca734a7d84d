"""Check how a plan uses the session's objects: unknown actions, calls with wrong arguments, and assignments.

Only faults that are certain are reported. For example, an argument that is not a literal is assumed to have the right
type.
"""

import ast
import inspect
import types
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, islice
from keyword import iskeyword
from typing import Literal, Union, get_args, get_origin

from planbook.sandbox.checks.api import NO_DEFAULT, Api, Default, Function, Kind, Report
from planbook.sandbox.policy.transformer import MAX_PROBLEMS
from planbook.sandbox.reading.scopes import Binding, NameScope, ScopeKind, Scopes
from planbook.sandbox.suggest import Guess, closest

# Arguments. In ``f(*items, x, n=1)``, ``x`` is not checked, since its parameter depends on the number of items.

_MAX_SOURCE_SHOWN = 60
_VARIADIC_KINDS = (Kind.VAR_POSITIONAL, Kind.VAR_KEYWORD)
_DISPLAY_TYPES: dict[type[ast.expr], type] = {
    ast.JoinedStr: str,
    ast.List: list,
    ast.ListComp: list,
    ast.Tuple: tuple,
    ast.Set: set,
    ast.SetComp: set,
    ast.Dict: dict,
    ast.DictComp: dict,
}
_ACCEPTED_TYPES: dict[object, tuple[type, ...]] = {
    str: (str,),
    bytes: (bytes,),
    bool: (bool,),
    int: (int, bool),
    float: (float, int, bool),
    list: (list, tuple),
    tuple: (tuple, list),
    set: (set,),
    dict: (dict,),
    None: (type(None),),
    type(None): (type(None),),
}
"""Maps an annotation to the types of literals that it accepts. Any other annotation accepts every literal."""


ArgumentProblem = tuple[ast.expr, str, str, str]
"""The arguments of ``Report.add``: the node at which a fault is reported, and the fault's type, message and hint."""


def argument_problems(call: ast.Call, function: Function, guess: Guess = closest) -> Iterator[ArgumentProblem]:
    """Yield every problem with the arguments of a call."""
    if function.signature is None:
        return
    bound, problems = _bind(call, list(function.signature.parameters.values()), guess)
    for message, hint in problems:
        yield (call, "arguments", f"{function.name}() {message}", hint or f"call it as {function.text}")
    for parameter, value in bound:
        if accepts(parameter.annotation, value):
            continue
        if choices := _choices(parameter.annotation):
            yield _choice_problem(f"{function.name}(): {parameter.name}", choices, value, guess)
        else:
            message = f"{function.name}() takes {parameter}, not {_short_source(value)}"
            yield (value, "literal-type", message, f"call it as {function.text}")


def _choices(annotation: object) -> tuple[object, ...]:
    """Return the values that ``Literal[...]``, or a union of it with None, accepts. Return () for other types."""
    if get_origin(annotation) in (Union, types.UnionType):
        parts = [_choices(part) or (None,) * (part is types.NoneType) for part in get_args(annotation)]
        return tuple(chain(*parts)) if all(parts) else ()
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _choice_problem(subject: str, choices: Sequence[object], value: ast.expr, guess: Guess) -> ArgumentProblem:
    """Return the problem with an argument that is not one of the choices.

    ``subject`` names the function and the parameter.
    """
    allowed = f"{subject} must be one of {', '.join(map(repr, choices))}"
    text = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""
    near = guess(text, [choice for choice in choices if isinstance(choice, str)])
    hint = f"did you mean {near!r}?" if near else "use one of these"
    return (value, "literal-type", f"{allowed}, not {_short_source(value)}", hint)


def _bind(
    call: ast.Call, parameters: list[inspect.Parameter], guess: Guess
) -> tuple[list[tuple[inspect.Parameter, ast.expr]], list[tuple[str, str]]]:
    """Match the arguments of a call to parameters.

    Return pairs of a parameter and its argument, and the message and hint of each problem. The hint may be "".
    """
    slots = [p for p in parameters if p.kind in (Kind.POSITIONAL_ONLY, Kind.POSITIONAL_OR_KEYWORD)]
    starred = next((n for n, arg in enumerate(call.args) if isinstance(arg, ast.Starred)), None)
    positional = call.args[:starred]
    bound = list(zip(slots, positional, strict=False))
    problems: list[tuple[str, str]] = []
    if len(positional) > len(slots) and not any(p.kind is Kind.VAR_POSITIONAL for p in parameters):
        passed_count = "1 was given" if len(positional) == 1 else f"{len(positional)} were given"
        accepted = {0: "no arguments", 1: "1 argument"}.get(len(slots), f"{len(slots)} arguments")
        problems.append((f"takes {accepted}, but {passed_count}", ""))
    by_keyword, keyword_problems = _bind_keywords(call, parameters, {p.name for p, _ in bound}, guess)
    bound += by_keyword
    problems += keyword_problems
    if not any(keyword.arg is None for keyword in call.keywords) and not any(hint for _, hint in problems):
        passed = {p.name for p, _ in bound}
        required = [p for p in parameters if p.default is NO_DEFAULT and p.kind not in _VARIADIC_KINDS]
        checkable = [p for p in required if starred is None or p.kind is Kind.KEYWORD_ONLY]
        if missing := [p.name for p in checkable if p.name not in passed]:
            problems.append((f"is missing {' and '.join(missing)}", ""))
    return bound, problems


def _bind_keywords(
    call: ast.Call, parameters: list[inspect.Parameter], positional: set[str], guess: Guess
) -> tuple[list[tuple[inspect.Parameter, ast.expr]], list[tuple[str, str]]]:
    named = {p.name: p for p in parameters if p.kind in (Kind.POSITIONAL_OR_KEYWORD, Kind.KEYWORD_ONLY)}
    accepts_any_keyword = any(p.kind is Kind.VAR_KEYWORD for p in parameters)
    bound: list[tuple[inspect.Parameter, ast.expr]] = []
    problems: list[tuple[str, str]] = []
    for keyword in call.keywords:
        if keyword.arg is None:
            continue
        if keyword.arg in positional:
            problems.append((f"gets {keyword.arg} twice", ""))
        elif keyword.arg in named:
            bound.append((named[keyword.arg], keyword.value))
        elif not accepts_any_keyword:
            near = guess(keyword.arg, named)
            hint = f"did you mean {near}?" if near else f"its parameters: {', '.join(named) or 'none'}"
            problems.append((f"has no parameter {keyword.arg}", hint))
    return bound, problems


def accepts(annotation: object, value: ast.expr) -> bool:
    """Return whether an annotation may accept the value of an expression.

    The result is False only for a literal that does not fit an annotation of a known type.
    """
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return any(accepts(choice, value) for choice in get_args(annotation))
    constant = _literal_value(value)
    if origin is Literal:
        return constant is None or constant[0] in get_args(annotation)
    literal_type = type(constant[0]) if constant else _DISPLAY_TYPES.get(type(value))
    accepted = _ACCEPTED_TYPES.get(_type_or_empty(origin or annotation))
    if literal_type is None or accepted is None:
        return True
    if literal_type not in accepted:
        return False
    inner = get_args(annotation)
    if isinstance(value, ast.List) and origin is list and inner:
        return all(accepts(inner[0], element) for element in value.elts)
    return True


def _type_or_empty(annotation: object) -> object:
    """Return a type or None unchanged, and Parameter.empty for any other annotation, which may not be hashable."""
    return annotation if annotation is None or isinstance(annotation, type) else inspect.Parameter.empty


def _literal_value(value: ast.expr) -> tuple[object] | None:
    """Return the value of a constant in a tuple, such as ``(None,)``, or None for any other expression."""
    if isinstance(value, ast.Constant):
        return (value.value,)
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub) and isinstance(value.operand, ast.Constant):
        return (-value.operand.value,) if isinstance(value.operand.value, int | float) else None
    return None


def _short_source(value: ast.expr) -> str:
    text = ast.unparse(value)
    return text if len(text) <= _MAX_SOURCE_SHOWN else f"{text[:_MAX_SOURCE_SHOWN]}..."


_ALIAS_DEPTH = 5
MAX_PARAMETERS = 50
"""Calls to a function that a plan defines are checked only if it has at most this many parameters."""


class ApiUsage:
    """Finds and checks the uses of the session's objects.

    A plan may refer to an object through its name, a parameter of the same name, or another variable to which the plan
    has assigned the object.
    """

    def __init__(self, scopes: Scopes, api: Api) -> None:
        self.scopes, self.api, self._describe = scopes, api, cache(_describe_definition)

    def path_of(self, node: ast.expr, scope: NameScope, depth: int = 0) -> str | None:
        """Return the dotted name of the session's object, function or attribute to which an expression refers.

        For example, after ``go = agent.go_to``, the name for ``go`` is ``agent.go_to``. Return None if it is uncertain.
        """
        if isinstance(node, ast.Attribute):
            base = self.path_of(node.value, scope, depth)
            return f"{base}.{node.attr}" if base in self.api.members else None
        if not isinstance(node, ast.Name) or depth > _ALIAS_DEPTH:
            return None
        binding_scope, _ = self.scopes.find(node.id, scope)
        if (binding_scope is None or binding_scope.kind is ScopeKind.MODULE) and node.id in self.api.roots:
            return node.id  # if the plan binds this name itself, _check_rebinding reports that
        if binding_scope is None:
            return None
        binding = self._only_binding(node.id, binding_scope)
        if binding is None or (binding_scope.kind is ScopeKind.MODULE and node.id in self.api.names):
            return None
        if isinstance(binding.node, ast.arg):
            return node.id if node.id in self.api.members else None
        return self.path_of(binding.value, binding_scope, depth + 1) if binding.value is not None else None

    def called_function(self, call: ast.Call, scope: NameScope) -> Function | None:
        """Return the called function, or None if it is uncertain.

        Certain are functions of the session, and those that the plan defines exactly once and without decorators.
        """
        path = self.path_of(call.func, scope)
        if path is not None or not isinstance(call.func, ast.Name):
            return self.api.functions_by_name.get(path) if path else None
        binding_scope, _ = self.scopes.find(call.func.id, scope)
        binding = self._only_binding(call.func.id, binding_scope) if binding_scope is not None else None
        if binding is None or call.func.id in self.api.names or not isinstance(binding.node, ast.FunctionDef):
            return None
        return None if binding.node.decorator_list else self._describe(binding.node)

    def check(self, report: Report) -> None:
        """Report every wrong use of the session's objects."""
        self._check_rebinding(report)
        for node, scope in self.scopes.accesses:
            if not report.is_full:
                self._check_access(node, scope, report)
        for call, scope in self.scopes.calls:
            if not report.is_full:
                self._check_call(call, scope, report)

    def _check_rebinding(self, report: Report) -> None:
        for name in self.api.roots & self.scopes.module.bindings.keys():
            for binding in self.scopes.module.bindings[name]:
                message = f"{name} belongs to the environment and can't be redefined"
                report.add(binding.node, "assignment", message, "choose another name")

    def _check_access(self, node: ast.Attribute, scope: NameScope, report: Report) -> None:
        base = self.path_of(node.value, scope)
        if base is None or base not in self.api.members:
            return
        path, members = f"{base}.{node.attr}", self.api.members[base]
        if not isinstance(node.ctx, ast.Load):
            hint = "only actions change it; keep your own values in variables"
            report.add(node, "assignment", f"{path} can't be assigned or deleted", hint)
        elif node.attr not in members:
            near = report.guess(node.attr, members)
            hint = f"did you mean {base}.{near}?" if near else f"{base} has {', '.join(members)}"
            report.add(node, "unknown-action", f"{base} has no action or attribute {node.attr}", hint)

    def _check_call(self, call: ast.Call, scope: NameScope, report: Report) -> None:
        path = self.path_of(call.func, scope)
        if path in self.api.attributes:
            report.add(call, "not-callable", f"{path} is an attribute, not an action", f"write {path} without ()")
        elif path in self.api.members:
            hint = f"call one of {', '.join(f'{path}.{name}' for name in self.api.members[path])}"
            report.add(call, "not-callable", f"{path} is an object, not an action", hint)
        elif (function := self.called_function(call, scope)) is not None:
            for problem in islice(argument_problems(call, function, report.guess), MAX_PROBLEMS):
                report.add(*problem)

    def _only_binding(self, name: str, scope: NameScope) -> Binding | None:
        """Return the only binding of a name in a scope, or None if the scope does not bind the name exactly once.

        In a part of a plan, the result is None for every name at module level, since other parts may bind it again.
        """
        if scope.kind is ScopeKind.MODULE and not self.api.is_whole_plan:
            return None
        bindings = scope.bindings.get(name, ())
        return bindings[0] if len(bindings) == 1 and name not in scope.deletions else None


def _describe_definition(node: ast.FunctionDef) -> Function:
    """Describe a function that the plan defines. Arguments are not checked against its annotations."""
    args, parameters = node.args, list[inspect.Parameter]()
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
    if len(named) > MAX_PARAMETERS or any(iskeyword(argument.arg) for argument in named):
        # Python normalizes non-ASCII letters. The result may be a keyword, which inspect rejects.
        return Function(node.name)

    def add(kind: Kind, arguments: Sequence[ast.arg], defaults: Sequence[ast.expr | None] = ()) -> None:
        required = len(arguments) - len(defaults)
        for argument, default in zip(arguments, [*[None] * required, *defaults], strict=True):
            parameters.append(inspect.Parameter(argument.arg, kind, default=Default.ANY if default else NO_DEFAULT))

    split = max(len(args.defaults) - len(args.args), 0)
    add(Kind.POSITIONAL_ONLY, args.posonlyargs, args.defaults[:split])
    add(Kind.POSITIONAL_OR_KEYWORD, args.args, args.defaults[split:])
    add(Kind.VAR_POSITIONAL, [args.vararg] if args.vararg else [])
    add(Kind.KEYWORD_ONLY, args.kwonlyargs, args.kw_defaults)
    add(Kind.VAR_KEYWORD, [args.kwarg] if args.kwarg else [])
    signature = inspect.Signature(parameters, __validate_parameters__=False)  # the compiler refuses a repeated name
    return Function(node.name, f"{node.name}{signature}", signature)
