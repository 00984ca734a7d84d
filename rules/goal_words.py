"""Compare goals and other texts by their words, and find values in goals."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import JsonValue

from planbook.envs import BM25

_WORD = re.compile(r"[a-z]{2,}")
_FUNCTION_WORDS = frozenset(
    "an and any are as at be by do for from if in into is it its no not of on or out so some such that the their them "
    "then there these they this those to up was when which will with you your".split()
)
"""Words that say nothing about the subject of a text, so they are not compared."""
_SCORE_DECIMALS = 6
"""Number of decimal places to which scores are rounded. This removes differences due to floating-point error."""


def words(text: str) -> list[str]:
    """Return the words of a text that count in comparisons. A name such as ``put_mug_1`` is split into words.

    Numbers, single letters, and function words such as ``the`` are left out.
    """
    return [word for word in _WORD.findall(text.lower()) if word not in _FUNCTION_WORDS]


def scores(query: str, texts: Sequence[str]) -> list[float]:
    """Return the BM25 score of each text for a query. A word that the query repeats counts only once."""
    corpus, query_words = [words(text) for text in texts], sorted(set(words(query)))
    if not query_words or not any(corpus):
        return [0.0] * len(texts)
    return [round(score, _SCORE_DECIMALS) for score in BM25(corpus).scores(query_words)]


# Tokens of goals, and the values in them.

MAX_VALUE_TOKENS = 24
"""Maximum number of words and punctuation marks in a value."""
_TOKEN = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+(?:['-](?!s\b)[^\W\d_]+)*|'s\b|\w+?(?=_|\b)|[^\w\s]|_")
NUMBERS = {str(n): name for n, name in enumerate("zero one two three four five six seven eight nine ten".split())}
"""Maps digits, such as ``3``, to number words."""
_DIGITS = {name: digits for digits, name in NUMBERS.items()}
ARTICLES = frozenset({"a", "an", "the", "some"})


def _number(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return number


FORMS: Mapping[str, Callable[[str], Any]] = {
    "as it is": str,
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
    "with _": lambda text: "_".join(text.lower().split()),
    "without spaces": lambda text: "".join(text.lower().split()),
    "integer": lambda text: int(_DIGITS.get(text.lower(), text)),
    "number": _number,
}
"""The forms in which a plan may write words of a goal. Maps the name of a form to a function that converts the words.

For example, the form ``with _`` converts ``Red Shoes`` to ``red_shoes``.
"""
NUMERIC = ("integer", "number")
"""The forms of numbers. In a goal, only a single word can be a number: ``7`` or ``seven``."""


class Token(NamedTuple):
    """A word or punctuation mark of a goal, and where it begins and ends in the goal."""

    text: str
    begin: int
    end: int

    @property
    def pattern_part(self) -> str:
        """The token as it appears in patterns: in lower case, and with ``()`` for ``{}``, since ``{}`` marks slots."""
        return self.text.lower().replace("{", "(").replace("}", ")")


def tokens(goal: str) -> list[Token]:
    """Return the words and punctuation marks of a goal, except articles and a final ``.``, ``!`` or ``?``."""
    all_tokens = [Token(match[0], *match.span()) for match in _TOKEN.finditer(goal)]
    all_tokens = all_tokens[:-1] if all_tokens and all_tokens[-1].text in ".!?" else all_tokens
    return [token for token in all_tokens if token.text.lower() not in ARTICLES]


def spans(value: JsonValue, form: str, goal: str) -> list[tuple[int, int]]:
    """Return the occurrences of a value in a goal. Each is a pair: index of its first token, index after its last.

    A text has no occurrences if it has neither digits nor words that count in comparisons (see ``words``).
    """
    goal_tokens, max_tokens = tokens(goal), 1 if form in NUMERIC else MAX_VALUE_TOKENS
    if isinstance(value, str) and not words(value) and not any(map(str.isdigit, value)):
        return []
    matches = list[tuple[int, int]]()
    for begin in range(len(goal_tokens)):
        for end in range(begin + 1, min(begin + max_tokens, len(goal_tokens)) + 1):
            text = goal[goal_tokens[begin].begin : goal_tokens[end - 1].end]
            if parse_value(text, form) == value and type(value) is not bool:
                matches.append((begin, end))
    return matches


def parse_value(raw: JsonValue, form: str) -> JsonValue:
    """Convert words of a goal, or a value from a model, to a form (a key of ``FORMS``). Return None if impossible."""
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return None
    if form == "number" and isinstance(raw, int):
        return raw
    try:
        value: JsonValue = FORMS[form](str(raw))
    except (ValueError, OverflowError):
        return None
    return value
