"""Functions of the host that plans may call: their signatures, and the checks of the arguments of each call.

The host is the process that opens sessions. A plan runs in another process, so every argument arrives as JSON.
"""

import inspect
import keyword
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import isfinite
from types import FunctionType
from typing import Any, Literal, get_args, get_origin
from weakref import WeakKeyDictionary

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import SchemaValidator, to_json

from planbook.sandbox.protocol import MAX_DEPTH, MAX_STRING
from planbook.sandbox.suggest import Guess, closest
from planbook.sandbox.types import BadFunction

HostCallable = Callable[..., object]
INT_BOUND = 1 << 63
UNCHECKED_TYPES = {object, Any, inspect.Parameter.empty, JsonValue}
JSON_LIKE_TYPES = {str, int, float, bool, None, type(None), *UNCHECKED_TYPES}
"""Annotations for which pydantic's strict mode treats a Python value and its JSON alike. So their arguments are checked
without converting them back to JSON.
"""
EXACT_TYPES = {str, int, bool}
"""Annotations that any value of exactly the same type satisfies."""
MUTABLE_TYPES = (list, dict, set, bytearray)
VARIADIC_PREFIXES: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A host function, with the name by which plans call it, such as ``agent.go_to`` or ``finish``."""

    name: str
    function: HostCallable
    signature: inspect.Signature
    arguments: "ArgumentChecker"

    @classmethod
    def of(cls, name: str, function: HostCallable) -> "FunctionSpec":
        """Return the spec of a function. An attribute ``__signature__`` takes precedence over the real signature.

        Raises BadFunction if plans cannot use the name, or if the signature cannot be read or checked.
        """
        check_name(name)
        if not callable(function):
            raise BadFunction(f"{name} is not a function; offer each of its methods as {name}.METHOD")
        if inspect.iscoroutinefunction(function):
            raise BadFunction(f"{name} is a coroutine function, which plans cannot await; use a plain function")
        signature = _signature(name, function)
        return cls(name, function, signature, _argument_checker(signature))

    def check(
        self, args: list[JsonValue], kwargs: dict[str, JsonValue], guess: Guess = closest
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Return the checked positional and keyword arguments.

        Raises TypeError or ValueError for a wrong argument. The plan receives the error. If a parameter allows only
        some strings (``Literal``), ``guess`` finds the one that a misspelt argument means.
        """
        return self.arguments.check(self.name, args, kwargs, guess)

    def parameters(self) -> list[str]:
        """Return the parameters' names in order, with ``*`` and ``**`` in front of variadic ones."""
        return [VARIADIC_PREFIXES.get(p.kind, "") + p.name for p in self.signature.parameters.values()]


def check_name(name: str, *, max_parts: int = 3) -> None:
    """Raise BadFunction if plans cannot use the name.

    A name has at most ``max_parts`` parts, joined by dots. Each part is an identifier that is not a keyword and does
    not begin with an underscore.
    """
    parts = name.split(".")
    if len(parts) > max_parts or not all(p.isidentifier() and not keyword.iskeyword(p) and p[0] != "_" for p in parts):
        shape = "a name or object.name" if max_parts > 1 else "a plain name"
        rule = f"it must be {shape}, not a keyword, and must not begin with an underscore"
        raise BadFunction(f"{name!r} cannot be offered to a plan: {rule}")


def _signature(name: str, function: HostCallable) -> inspect.Signature:
    declared = getattr(function, "__signature__", None)
    if isinstance(declared, inspect.Signature):
        return declared
    unbound = getattr(function, "__func__", function)
    try:
        return _inspect(unbound, bound=unbound is not function)
    except (TypeError, ValueError, NameError) as error:
        raise BadFunction(f"{name}: its signature cannot be read: {error}") from error


_SIGNATURES = WeakKeyDictionary[HostCallable, inspect.Signature](), WeakKeyDictionary[HostCallable, inspect.Signature]()
"""Two caches of signatures, for plain functions and for the functions of bound methods. Their references are weak, so
they keep no closure alive.
"""


def _inspect(function: HostCallable, *, bound: bool) -> inspect.Signature:
    signature = _SIGNATURES[bound].get(function) if isinstance(function, FunctionType) else None
    if signature is None:
        signature = inspect.signature(function, eval_str=True)
        signature = signature.replace(parameters=list(signature.parameters.values())[bound:])
        if isinstance(function, FunctionType):
            _SIGNATURES[bound][function] = signature
    return signature


class ArgumentChecker:
    """Checks the arguments of one signature."""

    def __init__(self, signature: inspect.Signature) -> None:
        self._signature = signature
        parameters = list(signature.parameters.values())
        self._checks = {p.name: ParameterChecker(p.name, p.annotation) for p in parameters}
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self._by_position = tuple(self._checks[p.name] for p in positional)
        self._required_count = sum(p.default is p.empty for p in positional)
        self._mutable = [p.name for p in parameters if isinstance(p.default, MUTABLE_TYPES)]
        self._has_fast_path = len(positional) == len(parameters) and not self._mutable

    def check(
        self, function: str, args: list[JsonValue], kwargs: dict[str, JsonValue], guess: Guess
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Check arguments as ``FunctionSpec.check`` does.

        Most calls have only positional arguments, so there is a fast path for them.
        """
        if self._has_fast_path and not kwargs and self._required_count <= len(args) <= len(self._by_position):
            return [check(function, value, guess) for check, value in zip(self._by_position, args, strict=False)], {}
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{function}(): {error}; call it as {function}{self._signature}") from None
        passed = set(bound.arguments)
        for name, value in bound.arguments.items():
            bound.arguments[name] = self._check_value(function, name, value, guess)
        if self._mutable:  # defaults are copied: if the function changes one, that must not affect other calls
            bound.apply_defaults()
            bound.arguments |= {name: deepcopy(bound.arguments[name]) for name in self._mutable if name not in passed}
        return bound.args, bound.kwargs

    def _check_value(self, function: str, name: str, value: Any, guess: Guess) -> object:
        check, kind = self._checks[name], self._signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            return tuple(check(function, item, guess) for item in value)
        if kind is inspect.Parameter.VAR_KEYWORD:
            return {check.check_key(function, key): check(function, item, guess) for key, item in value.items()}
        return check(function, value, guess)


_CHECKERS: dict[int, ArgumentChecker] = {}
"""Maps the id of a signature to its checker. Hashing the signature would be slower. The checker keeps the signature
alive, so no other object can get the same id.
"""
MAX_CHECKERS = 1024


def _argument_checker(signature: inspect.Signature) -> ArgumentChecker:
    checker = _CHECKERS.get(id(signature))
    if checker is None:
        if len(_CHECKERS) >= MAX_CHECKERS:
            _CHECKERS.clear()
        checker = _CHECKERS[id(signature)] = ArgumentChecker(signature)
    return checker


class ParameterChecker:
    """Checks the arguments for one parameter in pydantic's strict mode, which does not convert strings to numbers."""

    def __init__(self, name: str, annotation: Any) -> None:
        self._name = name
        if isinstance(annotation, str):
            raise BadFunction(f"parameter {name!r}: the annotation {annotation!r} is a string; use the type itself")
        try:
            self._validator = None if annotation in UNCHECKED_TYPES else fail_fast_validator(annotation)
        except Exception as error:
            raise BadFunction(f"parameter {name!r}: {annotation!r} cannot be checked: {error}") from error
        self._is_json_like = _is_json_like(annotation)
        self._exact_type = annotation if annotation in EXACT_TYPES else None
        choices = get_args(annotation) if get_origin(annotation) is Literal else ()
        self._choices = [choice for choice in choices if isinstance(choice, str)]

    def __call__(self, function: str, value: JsonValue, guess: Guess) -> object:
        """Return the checked value. ``function`` is the name of the called function, for messages.

        Raises TypeError or ValueError if the value is too large or does not fit the annotation.
        """
        try:
            check_bounds(value)
            if self._validator is None or type(value) is self._exact_type:
                return value
            if self._is_json_like:
                return self._validator.validate_python(value, strict=True)
            return self._validator.validate_json(to_json(value), strict=True)
        except ValidationError as error:
            error_type, reason = _error_type_and_reasons(error)
            message = f"{function}(): argument {self._name!r} {reason}, not {_short_repr(value)}"
            meant = guess(value, self._choices) if isinstance(value, str) and self._choices else None
            raise error_type(f"{message}; did you mean {meant!r}?" if meant else message) from None
        except ValueError as error:
            raise ValueError(f"{function}(): argument {self._name!r} {error}") from None

    def check_key(self, function: str, key: str) -> str:
        """Return ``key``, the name of an argument that a parameter such as ``**options`` collects.

        Raises ValueError if the name is too long or not valid Unicode.
        """
        try:
            check_bounds(key)
        except ValueError as error:
            raise ValueError(f"{function}(): the name of an argument to **{self._name} {error}") from None
        return key


COLLECTIONS = ("list", "tuple", "set", "frozenset", "dict")
NON_SCHEMA_KEYS = ("default", "expected", "metadata")
"""Keys of pydantic's schemas whose values are not schemas."""


def fail_fast_validator(annotation: Any) -> SchemaValidator:
    """Return a validator that stops at the first wrong item of a collection.

    By default, pydantic describes each wrong item, which may take a gigabyte of memory for a megabyte of JSON.
    """
    return SchemaValidator(_with_fail_fast(TypeAdapter(annotation).core_schema))


def _with_fail_fast(schema: Any) -> Any:
    if isinstance(schema, list | tuple):
        return type(schema)(map(_with_fail_fast, schema))
    if not isinstance(schema, dict):
        return schema
    copy = {key: part if key in NON_SCHEMA_KEYS else _with_fail_fast(part) for key, part in schema.items()}
    return copy | {"fail_fast": True} if copy.get("type") in COLLECTIONS else copy


def _is_json_like(annotation: object) -> bool:
    if get_origin(annotation) is Literal:
        return True
    if not isinstance(annotation, Hashable):  # such as the parameters of a Callable
        return False
    if annotation in JSON_LIKE_TYPES:
        return True
    inner = get_args(annotation)
    return get_origin(annotation) is not tuple and bool(inner) and all(map(_is_json_like, inner))


def check_bounds(value: Any, depth: int = 0) -> None:
    """Raise ValueError if a value is too large, too deeply nested, not finite or not valid Unicode."""
    kind = type(value)
    if kind is str:
        if len(value) > MAX_STRING:
            raise ValueError(f"contains a string of {len(value)} characters; at most {MAX_STRING} are allowed")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("contains a lone surrogate") from None
    elif kind is int:
        if not -INT_BOUND <= value < INT_BOUND:
            raise ValueError("contains an integer that does not fit into 64 bits")
    elif kind is float:
        if not isfinite(value):
            raise ValueError("contains a number that is not finite")
    elif kind is list or kind is dict:
        if depth >= MAX_DEPTH:
            raise ValueError(f"is nested more than {MAX_DEPTH} levels deep")
        for item in value if kind is list else [*value, *value.values()]:
            check_bounds(item, depth + 1)


def _error_type_and_reasons(error: ValidationError) -> tuple[type[Exception], str]:
    """Return the type of the exception to raise, TypeError or ValueError, and up to three reasons as text."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    wrong_type = any(e["type"].endswith("_type") or e["type"] == "int_from_float" for e in problems)
    reasons = [e["msg"].removeprefix("Input ") + "".join(f" at {part!r}" for part in e["loc"]) for e in problems[:3]]
    return (TypeError if wrong_type else ValueError), " or ".join(dict.fromkeys(reasons))


def _short_repr(value: JsonValue) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
