"""One-line rules over names, and the form a fault takes."""

import _string  # type: ignore[import-not-found]
import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sandbox.caching import cached_if_short
from sandbox.policy.hints import ATTRIBUTE_HINT, ATTRIBUTE_HINTS, INSIDE_HINTS, SYNTAX_HINTS
from sandbox.policy.tables import (
    HIDDEN_ATTRIBUTES,
    READABLE_ATTRIBUTES,
    RUNTIME_ATTRIBUTES,
    SUNDERS,
    TEXT_ATTRIBUTES,
)
from sandbox.suggest import closest

SYNTAX = "syntax"
"""What CPython's own parser and compiler refuse."""
TOO_LARGE = "too-large"
NAME = "forbidden-name"
ATTRIBUTE = "forbidden-attribute"
IMPORT = "forbidden-import"
STATEMENT = "forbidden-statement"
CALL = "forbidden-call"


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a source. ``line`` counts from 1, ``column`` from 0; ``name`` is one of the rules above."""

    line: int
    column: int
    name: str
    message: str
    hint: str = ""


def is_dunder(name: str) -> bool:
    """Whether Python itself gives the name a meaning, as in ``__init__``."""
    return name.startswith("__") and name.endswith("__") and len(name) > 4


def is_hidden(name: str) -> bool:
    """Whether no plan may use the attribute, whatever its object: frames, code, and the sandbox's own ``_x_``."""
    if not name.startswith("_"):
        return name in HIDDEN_ATTRIBUTES
    if not name.strip("_"):
        return False
    return name in HIDDEN_ATTRIBUTES or (name.endswith("_") and name not in SUNDERS)


@cached_if_short(4096)
def may_read(name: str) -> bool:
    """Whether a plan may read the attribute, directly or through the run-time guard."""
    return name in READABLE_ATTRIBUTES or not is_hidden(name)


@cached_if_short(4096)
def may_write(name: str) -> bool:
    """Whether a plan may set or delete the attribute, if its object may be written."""
    return not is_hidden(name)


@cached_if_short(4096)
def is_plain(name: str) -> bool:
    """Whether reading the attribute is harmless on every object."""
    return name in TEXT_ATTRIBUTES or (not is_hidden(name) and name not in RUNTIME_ATTRIBUTES)


def last_name(node: ast.expr | None) -> str | None:
    """The name, or the last part of a dotted one; None for any other expression."""
    return getattr(node, "attr", getattr(node, "id", None))


def attribute_hint(name: str) -> str:
    """What to write instead of the attribute."""
    inside = next((hint for start, hint in INSIDE_HINTS.items() if name.startswith(start)), ATTRIBUTE_HINT)
    return ATTRIBUTE_HINTS.get(name, inside)


def syntax_hint(message: str) -> str:
    """What to do about what Python's own parser and compiler say, or nothing."""
    return next((hint for part, hint in SYNTAX_HINTS if part in message), "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A suggestion in words, or nothing."""
    near = closest(name, known)
    return f"did you mean `{near}`?" if near else ""


def template_attributes(template: str) -> Iterator[str]:
    """The attributes that ``template.format(...)`` would look up, nested fields included.

    Raises ValueError where ``str.format`` itself would.
    """
    for _, field, spec, _ in _string.formatter_parser(template):
        if field is not None:
            yield from (
                str(part) for is_attribute, part in _string.formatter_field_name_split(field)[1] if is_attribute
            )
        if spec:
            yield from template_attributes(spec)


@cached_if_short(256)
def harmless_template(template: str) -> bool:
    """Whether formatting the template can't reach anything a plan may not read. Raises ValueError as above."""
    return "." not in template or all(map(is_plain, template_attributes(template)))
