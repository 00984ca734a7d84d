"""The functions and names that plans may use (``Api``), and the faults that a check finds (``Report``)."""

import ast
import inspect
import types
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache

from planbook.sandbox.policy.compiler import code_lines, shown_line
from planbook.sandbox.policy.transformer import MAX_PROBLEMS
from planbook.sandbox.protocol import MAX_FAULT_TEXT
from planbook.sandbox.suggest import Guesser
from planbook.sandbox.types import Fault, FaultKind

Kind = inspect._ParameterKind
NO_DEFAULT = inspect.Parameter.empty


class Default(Enum):
    """Replaces the default of each parameter, so that hints show ``...`` for it."""

    ANY = "..."

    def __repr__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Function:
    """A function that plans may call. If ``signature`` is None, calls are not checked.

    ``text`` is the call as hints show it, with ``...`` for each default. Comparisons ignore the signature, since its
    annotations may not be hashable.
    """

    name: str
    text: str = ""
    signature: inspect.Signature | None = field(default=None, compare=False)

    @classmethod
    def of(cls, name: str, function: Callable[..., object]) -> "Function":
        """Describe a callable that plans call as ``name``. Annotations that are strings are evaluated if possible."""
        unbound = getattr(function, "__func__", function)  # for the cache: each access creates a new method object
        signature_of = _signature if isinstance(unbound, Hashable) else _signature.__wrapped__
        signature, text = signature_of(unbound, is_bound=unbound is not function)
        return cls(name, f"{name}{text}", signature)


@dataclass(frozen=True)
class Api:
    """Everything that a plan may use.

    ``attributes`` are dotted names. ``names`` are the names that helpers, earlier cells and earlier parts of the plan
    have defined.
    """

    functions: tuple[Function, ...]
    attributes: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    is_whole_plan: bool = True
    """False if only a part of a plan is checked. Other parts may bind more names."""
    modules: frozenset[str] = frozenset()
    """Modules beyond the standard library that plans may import."""

    @classmethod
    def of(
        cls,
        functions: Mapping[str, Callable[..., object]],
        attributes: Iterable[str] = (),
        names: Iterable[str] = (),
        modules: Iterable[str] = (),
        *,
        is_whole_plan: bool = True,
    ) -> "Api":
        """Describe the functions, attributes and names of a session."""
        descriptions = tuple(Function.of(name, function) for name, function in functions.items())
        return cls(descriptions, frozenset(attributes), frozenset(names), is_whole_plan, frozenset(modules))

    @cached_property
    def functions_by_name(self) -> dict[str, Function]:
        """Maps dotted names to functions."""
        return {function.name: function for function in self.functions}

    @cached_property
    def members(self) -> dict[str, list[str]]:
        """Maps the name of each object, such as ``agent``, to the sorted names of its members, such as ``go_to``."""
        members: dict[str, list[str]] = {}
        for name in sorted({*self.functions_by_name, *self.attributes}):
            while "." in name:
                name, _, member = name.rpartition(".")
                if member not in members.setdefault(name, []):
                    members[name].append(member)
        return members

    @cached_property
    def roots(self) -> frozenset[str]:
        """The names through which plans reach the session: the first part of each function's or attribute's name."""
        return frozenset(name.partition(".")[0] for name in (*self.functions_by_name, *self.attributes))


@lru_cache(1024)
def _signature(function: Callable[..., object], *, is_bound: bool) -> tuple[inspect.Signature | None, str]:
    """Return the signature of a function and its text, or None and "" if the signature cannot be read.

    If ``is_bound``, the first parameter is left out.
    """
    called = types.MethodType(function, function) if is_bound else function
    for eval_str in (True, False):  # not every string annotation can be evaluated
        with suppress(Exception):
            parameters = inspect.signature(called, eval_str=eval_str).parameters.values()
            signature = inspect.Signature(
                [p if p.default is NO_DEFAULT else p.replace(default=Default.ANY) for p in parameters]
            )
            return signature, str(signature)
    return None, ""


class Report:
    """Collects the faults of one plan, until it ``is_full``."""

    def __init__(self, code: str) -> None:
        self.lines = code_lines(code)
        self.faults: list[Fault] = []
        self.guess = Guesser().closest

    @property
    def is_full(self) -> bool:
        """True if MAX_PROBLEMS faults have been found. The checks then stop soon."""
        return len(self.faults) >= MAX_PROBLEMS

    def add(self, node: ast.AST | None, fault_type: str, message: str, hint: str = "") -> None:
        """Add a fault at the position of a node. If ``node`` is None, the fault concerns the plan as a whole."""
        line: int | None = getattr(node, "lineno", None)
        bytes_before = self.lines[line - 1].encode()[: getattr(node, "col_offset", 0)] if line else b""
        column = len(bytes_before.decode("utf-8", "ignore")) if line else None
        text = shown_line(self.lines, line)
        self.faults.append(Fault(FaultKind.CHECK, fault_type, _cut(message), line, column, text, _cut(hint)))


def sort_faults(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return the faults sorted by position and without duplicates."""
    return tuple(sorted(dict.fromkeys(faults), key=lambda fault: (fault.line or 0, fault.column or 0)))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_FAULT_TEXT else f"{text[: MAX_FAULT_TEXT - 3]}..."
