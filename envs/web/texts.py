"""Comparing what was answered, or what a page says, with what was expected."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from planbook.envs.fuzzy import token_set_ratio

OR = " |OR| "
"""Between alternatives of one value, as in WebArena's files."""
ALIKE = 85
"""From this likeness on (0 to 100) two wordings count as the same for ``fuzzy``."""
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?!\w)")
QUOTES = "\"'`“”‘’„«»"


def spaced(text: str) -> str:
    """The text with single spaces and plain ends."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def clean(text: str) -> str:
    """The text in small letters, with single spaces, without quotation marks around it."""
    text = spaced(text).casefold()
    while len(text) > 1 and text[0] in QUOTES and text[-1] in QUOTES:
        text = text[1:-1].strip()
    return text


def exact(answer: str, values: Sequence[str]) -> bool:
    """Whether the answer is one of the values, or one of their alternatives."""
    return clean(answer) in {clean(each) for value in values for each in value.split(OR)}


def must_include(answer: str, values: Sequence[str]) -> bool:
    """Whether all values, or one alternative of each, occur in the answer; a single character as a word of its own."""
    text = clean(answer)
    return all(any(_occurs(clean(each), text) for each in value.split(OR)) for value in values)


def same_lines(text: str, wanted: str) -> bool:
    """Whether two texts have the same lines, whatever the blanks in them and at the ends of the text."""
    return [*map(spaced, text.strip().splitlines())] == [*map(spaced, wanted.strip().splitlines())]


def holds(text: str, values: Sequence[str]) -> bool:
    """Whether all values occur in the text as they are written, whatever the spaces between words."""
    return all(spaced(value) in spaced(text) for value in values)


def numbers(answer: str, values: Sequence[str]) -> bool:
    """Whether the numbers in the answer are the values; ``#12`` is 12, ``1,200`` is 1200 and ``4.50`` is 4.5."""
    found = {_number(match) for match in NUMBER.findall(answer)}
    return found == {_number(value) for value in values}


def items(answer: str, values: Sequence[str]) -> bool:
    """Whether the answer lists the values and nothing else; a full stop at the end does not count."""
    parts = re.split(r"[,;\n]|\band\b", answer.strip().removesuffix("."))
    return {clean(part) for part in parts if part.strip()} == {clean(value) for value in values}


def fuzzy(answer: str, values: Sequence[str]) -> bool:
    """Whether the answer is worded much like each value and has every number of it.

    Where WebArena asks a model for this, it is an approximation: a synonym fails, and a small contradiction may pass.
    """
    text = clean(answer)
    return all(
        token_set_ratio(text, clean(value)) >= ALIKE and _numbers_of(value) <= _numbers_of(answer) for value in values
    )


def says_impossible(answer: str) -> bool:
    """Whether the answer begins with N/A; a reason may follow."""
    return re.match(r"n/?a\b", clean(answer)) is not None


def _occurs(value: str, text: str) -> bool:
    if len(value) > 1:
        return value in text
    return re.search(rf"(?<![\w.]){re.escape(value)}(?!\.?\w)", text) is not None


def _numbers_of(text: str) -> set[float]:
    return {_number(match) for match in NUMBER.findall(text)}


def _number(text: str) -> float:
    return float(text.replace(",", ""))


ANSWERS: Mapping[str, Callable[[str, Sequence[str]], bool]] = {
    "exact": exact,
    "must_include": must_include,
    "numbers": numbers,
    "items": items,
    "fuzzy": fuzzy,
}
