"""The check of arguments, compared with a simple one in plain Python."""

import inspect
import math
from collections.abc import Callable
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import JsonValue

from planbook.sandbox.functions import FunctionSpec
from planbook.sandbox.protocol import MAX_DEPTH, MAX_STRING
from tests.sandbox.fuzz.programs import Choices


class Colour(Enum):
    RED = "red"
    ONE = 1


ANNOTATIONS: list[Any] = [
    str, int, float, bool, None, object, Any, JsonValue, inspect.Parameter.empty, list, dict, Colour,
    list[int], list[str], list[list[bool]], dict[str, int], dict[str, list[float]], tuple[int, str], tuple[int, ...],
    str | None, int | str, bool | str, int | float, list[int] | None, list[int | None], Literal["a", "red"],
    Literal[1, 2], Literal[True], Literal["a", 1, None], Literal["a"] | int, dict[str, str | None],
]  # fmt: skip
UNCHECKED = (object, Any, JsonValue, inspect.Parameter.empty)
TEXTS = ["", "a", "red", "x", "1", "true", "None", "\ud800", "é" * 9, "\0", "b" * (MAX_STRING + 1), "c" * MAX_STRING]
NUMBERS: list[JsonValue] = [
    0, 1, 2, -1, 1.0, 0.5, -0.0, 1e300, math.inf, -math.inf, math.nan, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**400,
]  # fmt: skip
NAMES = ["a", "b", "c", "d", "e", "self", "spec", "args", "", "class", "\ud800", "x" * (MAX_STRING + 1)]
KINDS = [
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.KEYWORD_ONLY,
    inspect.Parameter.VAR_KEYWORD,
]


def test_one(data: bytes) -> None:
    """Check one call of one signature: either both checks refuse it, or the function gets what was sent."""
    choices = Choices(data)
    function = _function(_signature(choices))
    args = [_value(choices) for _ in range(choices.below(4))]
    kwargs = {NAMES[choices.below(len(NAMES))]: _value(choices) for _ in range(choices.below(3))}
    spec = FunctionSpec.of("f", function)
    expected = _expected(function, args, kwargs)
    call = f"f{spec.signature} given {args!r:.300} {kwargs!r:.300}"
    try:
        checked, named = spec.check(args, kwargs)
    except (TypeError, ValueError) as error:
        message = str(error)
    else:
        message = ""
    if expected is None or message:
        assert expected is None, f"refused: {call}: {message}"
        assert message.startswith("f(): "), f"let through: {call}"
        return
    got = function(*checked, **named)
    assert _is_same_json(_as_sent(got), _as_sent(expected)), f"{call} got {got!r:.300}"
    _check_types(function, got)


def _check_types(function: Callable[..., Any], got: dict[str, Any]) -> None:
    """Check that each argument has exactly the type of its annotation."""
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            values = got[name]
        elif parameter.kind is parameter.VAR_KEYWORD:
            values = got[name].values()
        else:
            values = [] if got[name] is parameter.default else [got[name]]
        assert all(exactly(value, parameter.annotation) for value in values), (parameter, got)


def exactly(value: object, annotation: Any) -> bool:
    """Return whether the value has exactly the annotated type at every level, and is bounded."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation is None or annotation is NoneType:
        return value is None
    if annotation in UNCHECKED:
        return any(exactly(value, each) for each in (str, int, float, bool, None, list[object], dict[str, object]))
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in inner)
    if origin in (Union, UnionType):
        return any(exactly(value, each) for each in inner)
    if origin is tuple:
        kinds = inner[:1] * len(value) if type(value) is tuple and inner[-1] is ... else inner
        return type(value) is tuple and len(value) == len(kinds) and all(map(exactly, value, kinds))
    if origin is list:
        return type(value) is list and all(exactly(item, inner[0]) for item in value)
    if origin is dict:
        return type(value) is dict and all(exactly(k, str) and exactly(v, inner[1]) for k, v in value.items())
    return type(value) is annotation and _bounded(value)


def _bounded(value: object) -> bool:
    """Return whether a text is short and valid Unicode, an integer has 64 bits, or a float is finite."""
    if isinstance(value, str):
        return len(value) <= MAX_STRING and value.encode("utf-8", "replace").decode() == value
    if isinstance(value, float):
        return math.isfinite(value)
    return type(value) is not int or -(2**63) <= value < 2**63


def _signature(choices: Choices) -> inspect.Signature:
    kinds = sorted(KINDS[choices.below(5)] for _ in range(choices.below(5)))
    parameters: list[inspect.Parameter] = []
    for name, kind in zip("abcde", kinds, strict=False):
        variadic = kind in (KINDS[2], KINDS[4])
        if variadic and any(parameter.kind == kind for parameter in parameters):
            continue
        must = kind is KINDS[3] or not any(parameter.default is None for parameter in parameters)
        default = inspect.Parameter.empty if variadic or (must and choices.below(2)) else None
        annotation = ANNOTATIONS[choices.below(len(ANNOTATIONS))]
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    return inspect.Signature(parameters)


def _function(signature: inspect.Signature) -> Callable[..., dict[str, Any]]:
    """A function with that signature that returns what it was given, by Python's own binding."""
    shown = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    space: dict[str, Any] = {}
    exec(f"def f{inspect.Signature(shown)}: return dict(locals())", space)
    made: Callable[..., dict[str, Any]] = space["f"]
    made.__signature__ = signature  # type: ignore[attr-defined]
    return made


def _value(choices: Choices, depth: int = 0) -> JsonValue:
    match choices.below(8 if depth < 3 else 4):
        case 0:
            return (None, True, False)[choices.below(3)]
        case 1 | 2:
            return NUMBERS[choices.below(len(NUMBERS))]
        case 3 | 4:
            return TEXTS[choices.below(len(TEXTS))]
        case 5:
            return {TEXTS[choices.below(len(TEXTS))]: _value(choices, depth + 1) for _ in range(choices.below(3))}
        case 6:
            deep: JsonValue = 1
            for _ in range(MAX_DEPTH - 2 + choices.below(5)):
                deep = [deep]
            return deep
        case _:
            return [_value(choices, depth + 1) for _ in range(choices.below(4))]


def _expected(
    function: Callable[..., dict[str, Any]], args: list[JsonValue], kwargs: dict[str, JsonValue]
) -> dict[str, Any] | None:
    """Return the arguments that the function should get, or None if the call should be refused."""
    try:
        got = function(*args, **kwargs)
        sent = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:  # of bind also where Python would put the name of a positional-only parameter into **
        return None
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in sent:
            continue
        values = list(sent[name]) if parameter.kind is parameter.VAR_POSITIONAL else [sent[name]]
        if parameter.kind is parameter.VAR_KEYWORD:
            values = list(sent[name].values())
            if not all(map(_is_acceptable, sent[name])):
                return None
        if not all(_is_acceptable(value) and _can_be_sent_as(parameter.annotation, value) for value in values):
            return None
    return got


def _is_acceptable(value: JsonValue, depth: int = 0) -> bool:
    """Return whether a function may receive the value at all."""
    match value:
        case bool() | None:
            return True
        case str():
            return len(value) <= MAX_STRING and not any("\ud800" <= character <= "\udfff" for character in value)
        case int():
            return -(2**63) <= value < 2**63
        case float():
            return math.isfinite(value)
        case list():
            return depth < MAX_DEPTH and all(_is_acceptable(item, depth + 1) for item in value)
        case _:
            return depth < MAX_DEPTH and all(_is_acceptable(item, depth + 1) for item in [*value, *value.values()])


def _can_be_sent_as(annotation: Any, value: JsonValue) -> bool:
    """Return whether the value can be sent as the annotated type: an integer as a float, True as the choice 1."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation in UNCHECKED:
        return True
    if annotation is float:
        return type(value) in (int, float)
    if origin is Literal or annotation is Colour:
        choices = inner if origin is Literal else [colour.value for colour in Colour]
        return any(value == choice for choice in choices)
    if origin in (Union, UnionType):
        return any(_can_be_sent_as(choice, value) for choice in inner)
    if origin in (list, tuple):
        if not isinstance(value, list) or (origin is tuple and inner[-1] is not ... and len(value) != len(inner)):
            return False
        kinds = inner if origin is tuple and inner[-1] is not ... else inner[:1] * len(value)
        return all(_can_be_sent_as(kind, item) for kind, item in zip(kinds, value, strict=True))
    if origin is dict:
        return isinstance(value, dict) and all(_can_be_sent_as(inner[1], item) for item in value.values())
    return type(value) is (NoneType if annotation is None else annotation)


def _as_sent(value: object) -> Any:
    """Return an argument as it was sent: tuples as lists, enums as their values."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [_as_sent(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_sent(item) for key, item in value.items()}
    return value


def _is_same_json(one: Any, other: Any) -> bool:
    """Return whether both are the same JSON, comparing numbers as floats."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same_json, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same_json(one[key], other[key]) for key in one)
    numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
    return float(one) == float(other) if numbers else type(one) is type(other) and one == other
