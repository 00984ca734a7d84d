"""What the models of Devil's Advocate reply, read strictly: what is not in the form asked for raises ValueError."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from planbook.planner.thought import as_plan
from planbook.planner.types import Plan
from planbook.sandbox import Fault, parse

MOST_PARTS = 30
NONE = "NONE"
BEST = 10
"""The greatest value that an evaluator gives."""
_MARKS = "*_` \t"
_BULLETS = f"#>-{_MARKS}"
"""What a line may begin with."""
_END = f".!{_MARKS}"
_PART = re.compile(r"(\d{1,3})[.):][*_]*\s+(.+)")


class Outline(NamedTuple):
    """A plan of sub-tasks; ``review`` is what was said before them."""

    review: str
    parts: tuple[str, ...]


class Judgement(NamedTuple):
    """What an evaluator says of an action: what it did, and how good that was, from 0 to 1."""

    did: str
    why: str
    value: float


def meaning(code: str) -> str:
    """Code without what does not count, such as the kind of its quotes: equal where it is the same to Python."""
    tree = parse(code)
    return code.strip() if isinstance(tree, Fault) else ast.dump(tree)


def read_outline(text: str) -> Outline:
    """The last numbered list of a reply, and what stands before it."""
    lines, parts, begun = text.splitlines(), list[str](), 0
    for number, line in enumerate(lines):
        found = _PART.match(line.lstrip(_BULLETS))
        if found and int(found[1]) == 1:
            parts, begun = [], number
        if found and int(found[1]) == len(parts) + 1:
            parts.append(found[2].strip(_MARKS))
        elif found and parts:
            raise ValueError(f"the plan goes from {len(parts)} to {found[1]}; number its lines 1, 2, 3 ...")
        elif parts and line[:2].isspace() and line.strip():
            parts[-1] = f"{parts[-1]} {line.strip()}"
    if not parts:
        raise ValueError("the plan is missing; write each sub-task as a line of its own, '1. ...', '2. ...'")
    if len(parts) > MOST_PARTS:
        raise ValueError(f"the plan has {len(parts)} sub-tasks, more than {MOST_PARTS}; put together what is alike")
    return Outline("\n".join(lines[:begun]).strip(), tuple(parts))


def read_other(text: str) -> Plan | None:
    """Other code, or None where there is nothing else to do."""
    return None if text.strip(f"{_END}\n").upper() == NONE else as_plan(text)


def read_verdict(text: str) -> bool:
    """Whether the verdict is YES."""
    return _yes(_line(text, "Verdict"))


def read_alignment(text: str) -> Judgement:
    """What was done, and whether it goes the right way."""
    return Judgement(_line(text, "Did"), _line(text, "Why"), float(_yes(_line(text, "Verdict"))))


def read_value(text: str) -> Judgement:
    """What was done, and how far it brings the task."""
    said = _line(text, "Value").rstrip(_END).removesuffix(f"/{BEST}")
    if not said.isdecimal() or int(said) > BEST:
        raise ValueError(f"the value is {said!r}; write 'Value: ' and a whole number from 0 to {BEST}")
    return Judgement(_line(text, "Did"), _line(text, "Why"), int(said) / BEST)


def read_answer(text: str) -> str:
    """The answer to the task: all that follows ``Answer:``."""
    for number, line in enumerate(lines := text.splitlines()):
        name, colon, rest = line.lstrip(_BULLETS).partition(":")
        if colon and name.strip(_MARKS).lower() == "answer":
            if answer := "\n".join([rest, *lines[number + 1 :]]).strip(_MARKS + "\n"):
                return answer
            raise ValueError("the answer is empty; write it behind 'Answer: '")
    raise ValueError("the answer is missing; begin it with 'Answer: '")


def _line(text: str, name: str) -> str:
    """What stands behind ``name:``; there must be just one such line, and something in it."""
    told = [rest for found, rest in _named(text) if found == name.lower()]
    if len(told) != 1 or not told[0]:
        count = "is missing" if not told else "is empty" if len(told) == 1 else f"is there {len(told)} times"
        raise ValueError(f"the line '{name}: ...' {count}; write it once, as a line of its own")
    return told[0]


def _named(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, colon, rest = line.lstrip(_BULLETS).partition(":")
        if colon:
            yield name.strip(_MARKS).lower(), rest.strip(_MARKS)


def _yes(said: str) -> bool:
    word = said.rstrip(_END).upper()
    if word not in ("YES", "NO"):
        raise ValueError(f"the verdict is {said!r}; write 'Verdict: YES' or 'Verdict: NO', and nothing behind it")
    return word == "YES"
