"""Conditions as data: ``{gate.replan: "yes"}`` asks whether node ``gate`` answered that.

A name that begins with ``db.`` is a path of the database, ``answer`` is the answer of the node that branches, any other
first word is a node. What is not there is equal to nothing, and makes every test false but ``not`` and
``exists: false``.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from planbook.planner.graph.lookups import PATH, nearest

ANSWER = "answer"
"""The name of a node's own answer, in its branches and in what it stores."""
_MISSING = object()
Lookup = Callable[[str], JsonValue]
"""Gives the value of a name. Raises KeyError where there is none."""


@dataclass(frozen=True)
class Test:
    """One comparison: ``value`` of ``name`` with what the author wrote."""

    name: str
    word: str
    value: JsonValue

    def holds(self, lookup: Lookup) -> bool:
        """Whether it is so now."""
        try:
            there: Any = lookup(self.name)
        except KeyError:
            there = _MISSING
        return _TESTS[self.word](there, self.value)

    def __str__(self) -> str:
        return f"{self.name} {'is' if self.word == 'is' else self.word.replace('_', ' ')} {_said(self.value)}"


@dataclass(frozen=True)
class Condition:
    """``all`` or ``any`` of its parts hold; or, of ``not``, its one part does not."""

    word: str
    parts: tuple["Condition | Test", ...]

    def holds(self, lookup: Lookup) -> bool:
        """Whether it is so now."""
        held = (part.holds(lookup) for part in self.parts)
        return any(held) if self.word == "any" else all(held) if self.word == "all" else not any(held)

    def tests(self) -> Iterator[Test]:
        """Every comparison in it."""
        for part in self.parts:
            if isinstance(part, Test):
                yield part
            else:
                yield from part.tests()

    def __str__(self) -> str:
        if self.word == "not":
            return f"not ({self.parts[0]})"
        joined = " or " if self.word == "any" else " and "
        return joined.join(
            f"({part})" if isinstance(part, Condition) and len(part.parts) > 1 else str(part) for part in self.parts
        )


def condition_of(written: Any) -> Condition:
    """The condition that is written in a graph. Raises ValueError that says what cannot be read."""
    if not isinstance(written, Mapping) or not written:
        raise ValueError(f'{written!r} is no condition; write a name and a value: {{gate.replan: "yes"}}')
    parts: list[Condition | Test] = []
    for name, value in written.items():
        parts += [_combined(name, value)] if name in ("any", "all", "not") else _tests(name, value)
    return Condition("all", tuple(parts))


def _combined(word: str, value: Any) -> Condition:
    if word == "not":
        return Condition("not", (condition_of(value),))
    if not isinstance(value, list) or not value:
        raise ValueError(f"under {word} stands a list of conditions, each in a line that begins with a dash")
    return Condition(word, tuple(map(condition_of, value)))


def _tests(name: Any, value: Any) -> list[Condition | Test]:
    if not isinstance(name, str) or not PATH.fullmatch(name):
        raise ValueError(f"{name!r} names no answer; write the name of a node, with .field if needed, or db.path")
    if not isinstance(value, Mapping):
        return [Test(name, "is", value)]
    if not value:
        raise ValueError(f"{name} is compared with nothing")
    return [_test(name, word, each) for word, each in value.items()]


def _test(name: str, word: Any, value: Any) -> Test:
    if word not in _TESTS:
        known = ", ".join(_TESTS)
        raise ValueError(f"{word!r} is no comparison{nearest(str(word), _TESTS)} There are {known}")
    if word in ("in", "not_in") and not isinstance(value, list):
        raise ValueError(f"{name}: after {word} stands a list: [a, b]")
    if word == "exists" and not isinstance(value, bool):
        raise ValueError(f"{name}: after exists stands true or false")
    if word in _ORDERS and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"{name}: after {word} stands a number")
    return Test(name, word, value)


def _same(there: Any, value: Any) -> bool:
    """Equality of JSON: true is not 1; texts are compared without regard to upper case and to space around them."""
    if isinstance(there, str) and isinstance(value, str):
        return there.strip().casefold() == value.strip().casefold()
    return isinstance(there, bool) == isinstance(value, bool) and bool(there == value)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "at_least": lambda there, value: _number(there) and there >= value,
    "at_most": lambda there, value: _number(there) and there <= value,
}
_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "is": _same,
    "not": lambda there, value: not _same(there, value),
    "in": lambda there, value: any(_same(there, each) for each in value),
    "not_in": lambda there, value: not any(_same(there, each) for each in value),
    "exists": lambda there, value: (there is not _MISSING) == value,
    **_ORDERS,
}


def _said(value: JsonValue) -> str:
    return (
        ", ".join(map(str, value)) if isinstance(value, list) else str(value).lower() if value is True else str(value)
    )
