"""One-line rules over names, and the form a fault takes."""

import _string  # type: ignore[import-not-found]
import ast
import importlib
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from planbook.sandbox.policy.hints import ATTRIBUTE_HINT, ATTRIBUTE_HINTS, INSIDE_HINTS, SYNTAX_HINTS
from planbook.sandbox.policy.tables import MISSING, MODULES, PARTS, REFUSED_ATTRIBUTES
from planbook.sandbox.suggest import closest

SYNTAX = "syntax"
"""What CPython's own parser and compiler refuse."""
TOO_LARGE = "too-large"
NAME = "forbidden-name"
ATTRIBUTE = "forbidden-attribute"
IMPORT = "forbidden-import"
STATEMENT = "forbidden-statement"


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a source. ``line`` counts from 1, ``column`` from 0; ``name`` is one of the rules above."""

    line: int
    column: int
    name: str
    message: str
    hint: str = ""


def last_name(node: ast.expr | None) -> str | None:
    """Return the name, or the last part of a dotted one; None for any other expression."""
    return getattr(node, "attr", getattr(node, "id", None))


def attribute_hint(name: str) -> str:
    """Return what to write instead of the attribute."""
    inside = next((hint for start, hint in INSIDE_HINTS.items() if name.startswith(start)), ATTRIBUTE_HINT)
    return ATTRIBUTE_HINTS.get(name, inside)


def syntax_hint(message: str) -> str:
    """Return what to do about a message of Python's own parser or compiler, or nothing."""
    return next((hint for part, hint in SYNTAX_HINTS if part in message), "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suggestion in words, or nothing."""
    near = closest(name, known)
    return f"did you mean `{near}`?" if near else ""


@lru_cache(256)
def members(module: str) -> frozenset[str]:
    """Return the names that plans may read of a module, but for modules: those are listed by themselves."""
    if module in PARTS:
        return PARTS[module] & set(dir(importlib.import_module(module)))
    real = importlib.import_module(module)
    if module not in MODULES:  # a package may import some of its parts only when they are read
        return frozenset((*dir(real), *getattr(real, "__all__", ())))
    named = frozenset(name for name, value in vars(real).items() if not isinstance(value, types.ModuleType))
    return named - MISSING.get(module, frozenset())


@lru_cache(256)
def public(module: str) -> tuple[str, ...]:
    """Return the names that ``from module import *`` binds."""
    shown = getattr(importlib.import_module(module), "__all__", None)
    known = members(module)
    return tuple(sorted(known & set(shown) if shown else (name for name in known if not name.startswith("_"))))


def refused_in_template(template: str) -> str | None:
    """Return a refused attribute that ``template.format(...)`` would read. Raises ValueError where ``format`` would."""
    if "." not in template:
        return None
    return next((name for name in _template_attributes(template) if name in REFUSED_ATTRIBUTES), None)


def _template_attributes(template: str) -> Iterator[str]:
    """Yield the attributes that the template reads, those of nested fields included."""
    for _, field, spec, _ in _string.formatter_parser(template):
        if field is not None:
            yield from (
                str(part) for is_attribute, part in _string.formatter_field_name_split(field)[1] if is_attribute
            )
        if spec:
            yield from _template_attributes(spec)
