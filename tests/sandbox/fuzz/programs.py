"""Programs generated from bytes. Each byte is one choice, so Hypothesis and coverage-guided fuzzers can work on them.

After the last byte, every choice is the first one. The rows of the grammar begin with something that ends.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from tests.sandbox.attack_tables import attacks
from tests.sandbox.fuzz.grammar import ATTRIBUTES, BUILTINS, GRAMMAR, HOSTILE_ATTRIBUTES, HOSTILE_NAMES, MEMBERS, NAMES
from tests.sandbox.plans import snippets

T = TypeVar("T")
DEEPEST = 5
"""Maximum levels of a generated program. Deeper, every choice is the first one."""
PART = re.compile(r"<([a-z_]+)>")
WORD = re.compile(r"(?<![\w'\"])[^\W\d]\w*")
SWAPS = [*NAMES, *BUILTINS, *ATTRIBUTES, *HOSTILE_NAMES, *HOSTILE_ATTRIBUTES, *MEMBERS]


class Choices:
    """Takes one or two bytes for each choice, and zeros after the last byte."""

    def __init__(self, data: bytes) -> None:
        self._data, self._next = data, 0

    @property
    def remaining(self) -> int:
        return len(self._data) - self._next

    def below(self, most: int) -> int:
        width = 1 if most <= 256 else 2
        taken = self._data[self._next : self._next + width]
        self._next += width
        return int.from_bytes(taken, "little") % most

    def pick(self, row: Sequence[T]) -> T:
        return row[self.below(len(row))]


def grown(data: bytes) -> str:
    """Return a program of the grammar."""
    return _grown("program", Choices(data), 0, "")


def part(kind: str, choices: Choices) -> str:
    """Return a part of a program."""
    return _grown(kind, choices, 0, "")


def _grown(kind: str, choices: Choices, depth: int, indent: str) -> str:
    row = GRAMMAR[kind]
    deep = depth > DEEPEST and kind in ("expr", "statement", "pattern", "target", "block", "line")
    template = row[0] if deep or not choices.remaining else choices.pick(row)
    text, end = [], 0
    for part in PART.finditer(template):
        before = template[end : part.start()]
        text.append(before.replace("\n", "\n" + indent))
        line = "".join(text).rpartition("\n")[2]
        inner = line[: len(line) - len(line.lstrip(" "))] if "\n" in "".join(text) else indent
        text.append(_grown(part[1], choices, depth + (kind != "program"), inner))
        end = part.end()
    text.append(template[end:].replace("\n", "\n" + indent))
    return "".join(text)


@lru_cache(1)
def corpus() -> list[str]:
    """Return the attacks and the compatibility programs of the tables."""
    programs = [str(case.values[0]) for case in snippets("compatibility")]
    return programs + ["\n".join(attack.cells) for attack in attacks(".")]


def mutated(data: bytes) -> str:
    """Return an attack or program of the tables with words replaced or with the lines of another one added."""
    choices = Choices(data)
    texts = corpus()
    source = texts[choices.below(len(texts))]
    for _ in range(choices.below(4)):
        words = list(WORD.finditer(source))
        if words and choices.below(4):
            word = words[choices.below(len(words))]
            source = source[: word.start()] + choices.pick(SWAPS) + source[word.end() :]
        else:
            source = source.rstrip("\n") + "\n" + texts[choices.below(len(texts))]
    return source


def spelt(data: bytes) -> str:
    """Return the bytes as text. Invalid UTF-8 becomes lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


MAKERS = (grown, mutated, spelt)


def program(data: bytes) -> str:
    """Return a program of one of the three kinds, which the first byte chooses."""
    return MAKERS[data[0] % len(MAKERS)](data[1:]) if data else ""
