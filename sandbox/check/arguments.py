"""Does a call fit the function's parameters? Says only what is certain: a starred argument hides the rest."""

import ast
import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Union, get_args, get_origin

from planbook.sandbox.check.api import Function, Kind, Parameter
from planbook.sandbox.suggest import Guess, closest

_SHOWN = 60
_DISPLAYS: dict[type[ast.expr], type] = {
    ast.JoinedStr: str,
    ast.List: list,
    ast.ListComp: list,
    ast.Tuple: tuple,
    ast.Set: set,
    ast.SetComp: set,
    ast.Dict: dict,
    ast.DictComp: dict,
}
_ALSO_FITS: dict[object, tuple[type, ...]] = {
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
"""Which literals an annotation takes. An annotation that is not listed takes all."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """What is wrong with one call, and at which of its nodes."""

    node: ast.expr
    type: str
    message: str
    hint: str


def misfits(call: ast.Call, function: Function, guess: Guess = closest) -> Iterator[Misfit]:
    """Everything wrong with the arguments of a call."""
    if function.parameters is None:
        return
    bound, problems = _bind(call, function.parameters, guess)
    for message, hint in problems:
        yield Misfit(call, "arguments", f"{function.name}() {message}", hint or f"call it as {function}")
    for parameter, value in bound:
        if accepts(parameter.annotation, value):
            continue
        if get_origin(parameter.annotation) is Literal:
            yield _no_choice(function, parameter, value, guess)
        else:
            message = f"{function.name}() takes {parameter.text}, and {_shown(value)} is {_kind_name(value)}"
            yield Misfit(value, "literal-type", message, f"call it as {function}")


def _no_choice(function: Function, parameter: Parameter, value: ast.expr, guess: Guess) -> Misfit:
    """A literal that is none of those a parameter takes."""
    choices = get_args(parameter.annotation)
    told = f"{function.name}() takes as {parameter.name} one of {', '.join(map(repr, choices))}"
    text = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""
    near = guess(text, [choice for choice in choices if isinstance(choice, str)])
    hint = f"did you mean {near!r}?" if near else "write one of those"
    return Misfit(value, "literal-type", f"{told}, and {_shown(value)} is none of them", hint)


def _bind(
    call: ast.Call, parameters: tuple[Parameter, ...], guess: Guess
) -> tuple[list[tuple[Parameter, ast.expr]], list[tuple[str, str]]]:
    """Which argument goes to which parameter, and what does not fit, as message and hint."""
    slots = [p for p in parameters if p.kind in (Kind.POSITIONAL_ONLY, Kind.POSITIONAL_OR_KEYWORD)]
    starred = next((n for n, arg in enumerate(call.args) if isinstance(arg, ast.Starred)), None)
    certain = call.args[:starred]
    bound = list(zip(slots, certain, strict=False))
    problems: list[tuple[str, str]] = []
    if len(certain) > len(slots) and not any(p.kind is Kind.VAR_POSITIONAL for p in parameters):
        problems.append((f"takes {_count(len(slots))}, and {len(certain)} are given", ""))
    by_keyword, keyword_problems = _bind_keywords(call, parameters, {p.name for p, _ in bound}, guess)
    bound += by_keyword
    problems += keyword_problems
    if not any(keyword.arg is None for keyword in call.keywords) and not any(hint for _, hint in problems):
        have = {p.name for p, _ in bound}
        reachable = [p for p in parameters if starred is None or p.kind is Kind.KEYWORD_ONLY]
        if missing := [p.name for p in reachable if p.required and p.name not in have]:
            problems.append((f"lacks {' and '.join(missing)}", ""))
    return bound, problems


def _bind_keywords(
    call: ast.Call, parameters: tuple[Parameter, ...], taken: set[str], guess: Guess
) -> tuple[list[tuple[Parameter, ast.expr]], list[tuple[str, str]]]:
    named = {p.name: p for p in parameters if p.kind in (Kind.POSITIONAL_OR_KEYWORD, Kind.KEYWORD_ONLY)}
    open_ended = any(p.kind is Kind.VAR_KEYWORD for p in parameters)
    bound: list[tuple[Parameter, ast.expr]] = []
    problems: list[tuple[str, str]] = []
    for keyword in call.keywords:
        if keyword.arg is None:
            continue
        if keyword.arg in taken:
            problems.append((f"gets {keyword.arg} twice", ""))
        elif keyword.arg in named:
            bound.append((named[keyword.arg], keyword.value))
        elif not open_ended:
            near = guess(keyword.arg, named)
            hint = f"did you mean {near}?" if near else f"its parameters: {', '.join(named) or 'none'}"
            problems.append((f"has no parameter {keyword.arg}", hint))
    return bound, problems


def accepts(annotation: object, value: ast.expr) -> bool:
    """Whether the literal may be given where the annotation stands; True for all that is no literal or not known."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return any(accepts(choice, value) for choice in get_args(annotation))
    if origin is Literal:
        constant = _constant(value)
        return constant is None or constant[0] in get_args(annotation)
    kind, fits = _kind(value), _ALSO_FITS.get(_plain(origin or annotation))
    if kind is None or fits is None:
        return True
    if kind not in fits:
        return False
    inner = get_args(annotation)
    if isinstance(value, ast.List) and origin is list and inner:
        return all(accepts(inner[0], element) for element in value.elts)
    return True


def _plain(annotation: object) -> object:
    return annotation if annotation is None or isinstance(annotation, type) else inspect.Parameter.empty


def _constant(value: ast.expr) -> tuple[object] | None:
    if isinstance(value, ast.Constant):
        return (value.value,)
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub) and isinstance(value.operand, ast.Constant):
        return (-value.operand.value,) if isinstance(value.operand.value, int | float) else None
    return None


def _kind(value: ast.expr) -> type | None:
    """The type that the literal has, None where that shows only when it runs."""
    constant = _constant(value)
    return type(constant[0]) if constant else _DISPLAYS.get(type(value))


def _shown(value: ast.expr) -> str:
    text = ast.unparse(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _kind_name(value: ast.expr) -> str:
    kind = _kind(value)
    return kind.__name__ if kind and kind is not type(None) else "None"


def _count(number: int) -> str:
    return {0: "no argument", 1: "1 argument"}.get(number, f"{number} arguments")
