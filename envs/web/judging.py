"""Judge an episode: compare the answer, pages and stored data with the checks of the task.

The score is the mean of the checks' scores. A task is solved if every check has the score 1. On our own site, the agent
may change only the values that a server check names, and nothing if the task has no server check.
"""

import html
import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from planbook.envs.types import Verdict
from planbook.envs.web import sites, tasks
from planbook.envs.web.context import TabGone
from planbook.envs.web.tabs import Browsing, WebTab
from planbook.envs.web.tasks import WebTask


@dataclass(frozen=True)
class EpisodeEnd:
    """The state at the end of an episode, as the checks need it."""

    answer: str | None
    """The argument of the agent's action ``stop``, or None if the episode ended without it."""
    url: str
    """The address of the current tab."""
    page_text: Callable[[str, str], str]
    """Returns the text of a page, given the page's address and a script (see ``page_text``)."""
    changes: Callable[[], Mapping[str, str | None]] | None = None
    """A function that returns the changes on our own site. None if the task does not use that site."""


def judge(task: WebTask, end: EpisodeEnd) -> Verdict:
    """Return the verdict on an episode. A task without checks is never solved.

    ``tasks.with_site_addresses`` must have replaced the names of sites in the task's checks.
    """
    if not task.checks or task.unjudgeable or _has_unwanted_changes(task, end):
        return Verdict(solved=False, score=0.0)
    scores = [_score(check, end) for check in task.checks]
    return Verdict(solved=all(score == 1 for score in scores), score=sum(scores) / len(scores))


def _has_unwanted_changes(task: WebTask, end: EpisodeEnd) -> bool:
    """Return whether our own site was changed although the task requires no change there."""
    if end.changes is None or any(isinstance(check, tasks.ServerCheck) for check in task.checks):
        return False
    return bool(end.changes())


def _score(check: tasks.Check, end: EpisodeEnd) -> float:
    """Return the score of one check, from 0 to 1."""
    match check:
        case tasks.AnswerCheck():
            return float(end.answer is not None and ANSWER_COMPARISONS[check.how](end.answer, check.values))
        case tasks.UnachievableCheck():
            return float(end.answer is not None and says_impossible(end.answer))
        case tasks.UrlCheck():
            return float(ADDRESS_COMPARISONS[check.how](end.url, check.any_of))
        case tasks.PageCheck():
            return _score_page(check, end)
        case tasks.ServerCheck():
            return _score_server(check, end)


def _score_page(check: tasks.PageCheck, end: EpisodeEnd) -> float:
    address = end.url if check.url == "last" else check.url
    text = end.page_text(address, check.script)
    return float(
        (not check.exact or exact(text, check.exact))
        and must_include(text, check.must_include)
        and not any(must_include(text, (value,)) for value in check.must_exclude)
        and bool(text)
    )


def _score_server(check: tasks.ServerCheck, end: EpisodeEnd) -> float:
    """Return the number of correct changes, divided by the number of all expected or actual changes."""
    if end.changes is None:
        return 0.0
    actual = end.changes()
    correct = sum(key in actual and _matches(actual[key], expected) for key, expected in check.changes.items())
    return correct / len(actual.keys() | check.changes.keys())


def _matches(value: str | None, expected: str | None) -> bool:
    return value is expected if value is None or expected is None else same_lines(value, expected)


OR = " |OR| "
"""Separates alternatives within one value, as in WebArena's files."""
QUOTES = "\"'`“”‘’„«»"


_PARTS = re.compile(r"[\x00-\x7f]*[^\x00-\x7f]{0,1000}")
"""Matches parts of a text to normalize separately, since normalizing a run of accents takes quadratic time."""


def normalize_spaces(text: str) -> str:
    """Return the text in the Unicode form NFKC, with each run of white space replaced by a space, and stripped."""
    return " ".join("".join(unicodedata.normalize("NFKC", part) for part in _PARTS.findall(text)).split())


def normalize(text: str) -> str:
    """Return the text in lower case, with spaces as in ``normalize_spaces`` and without quotation marks around it."""
    text = normalize_spaces(text).casefold()
    while len(text) > 1 and text[0] in QUOTES and text[-1] in QUOTES:
        text = text[1:-1].strip()
    return text


def exact(answer: str, values: Sequence[str]) -> bool:
    """Return True if the answer is equal to one of the values. A value may consist of alternatives, ``a |OR| b``."""
    return normalize(answer) in {normalize(alternative) for value in values for alternative in value.split(OR)}


def must_include(answer: str, values: Sequence[str]) -> bool:
    """Return True if every value occurs in the answer. If a value has alternatives, one of them must occur.

    A value that is a single character must occur as a whole word.
    """
    text = normalize(answer)
    return all(any(_occurs(normalize(alternative), text) for alternative in value.split(OR)) for value in values)


def same_lines(text: str, expected: str) -> bool:
    """Return True if two texts have the same lines. Differences in white space within a line do not matter."""
    lines, expected_lines = (list(map(normalize_spaces, part.strip().splitlines())) for part in (text, expected))
    return lines == expected_lines


def numbers(answer: str, values: Sequence[str]) -> bool:
    """Return True if the numbers in the answer are exactly the values, in any order.

    ``#12`` counts as 12, ``1,200`` as 1200 and ``4.50`` as 4.5.
    """
    return set(map(_number, tasks.NUMBER.findall(answer))) == set(map(_number, values))


def items(answer: str, values: Sequence[str]) -> bool:
    """Return True if the parts of the answer are exactly the values, in any order.

    The answer is split at commas, semicolons, line ends and "and". A full stop at its end is ignored.
    """
    parts = re.split(r"[,;\n]|\band\b", answer.strip().removesuffix("."))
    return {normalize(part) for part in parts if part.strip()} == {normalize(value) for value in values}


def says_impossible(answer: str) -> bool:
    """Return True if the answer begins with N/A. A reason may follow."""
    return re.match(r"n/?a\b", normalize(answer)) is not None


def _occurs(value: str, text: str) -> bool:
    if len(value) > 1:
        return value in text
    return re.search(rf"(?<![\w.]){re.escape(value)}(?!\.?\w)", text) is not None


def _number(text: str) -> float:
    return float(text.replace(",", ""))


ANSWER_COMPARISONS: Mapping[str, Callable[[str, Sequence[str]], bool]] = {
    compare.__name__: compare for compare in (exact, must_include, numbers, items)
}
"""Maps each value of ``AnswerCheck.how`` to the function that compares an answer with the check's values."""


class ComparableAddress(NamedTuple):
    """A normalized address, which is the same for all addresses of a page.

    It has no scheme, fragment, final slash or default port, and its query is decoded and sorted.
    """

    host: str
    path: str
    query: tuple[tuple[str, str], ...]


def comparable_address(url: str) -> ComparableAddress:
    """Return the normalized form of an address."""
    try:
        parts = urlsplit(url.strip())
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:  # a malformed address is equal only to itself
        return ComparableAddress("", url.strip(), ())
    if port is not None and port != sites.DEFAULT_PORTS.get(parts.scheme):
        host += f":{port}"
    path = unquote(parts.path).rstrip("/")
    return ComparableAddress(host, path, tuple(sorted(parse_qsl(parts.query, keep_blank_values=True))))


def equal(url: str, any_of: Sequence[str]) -> bool:
    """Return True if the address and one of ``any_of`` are forms of the same address."""
    return comparable_address(url) in set(map(comparable_address, any_of))


def including(url: str, any_of: Sequence[str]) -> bool:
    """Return True if the address includes one of the addresses in ``any_of``.

    That is, both have the same page, and the address has all query parameters of the other, with the same values.
    """
    return any(_includes(comparable_address(url), expected) for expected in map(comparable_address, any_of))


def within(url: str, any_of: Sequence[str]) -> bool:
    """Return True if the address passes WebArena's check "GOLD in PRED" (expected address in reached address).

    The host and path of one of ``any_of`` must occur in the address. For each parameter in the queries of ``any_of``,
    the address must have one of the values that the parameter has in these queries.
    """
    reached, expected = comparable_address(url), list(map(comparable_address, any_of))
    parameters = {pair for gold in expected for pair in gold.query}
    return any(gold.host + gold.path in reached.host + reached.path for gold in expected) and all(
        any(pair in reached.query for pair in parameters if pair[0] == name) for name, _ in parameters
    )


def _includes(reached: ComparableAddress, expected: ComparableAddress) -> bool:
    return reached[:2] == expected[:2] and all(
        reached.query.count(pair) >= expected.query.count(pair) for pair in expected.query
    )


ADDRESS_COMPARISONS: Mapping[str, Callable[[str, Sequence[str]], bool]] = {
    compare.__name__: compare for compare in (equal, including, within)
}
"""Maps each value of ``UrlCheck.how`` to the function that compares the final address with the expected addresses."""


WHOLE_PAGE = "document.body?.innerText"
"""A JavaScript expression for the text of a page."""


def page_text(browsing: Browsing, url: str, script: str) -> str:
    """Return text from a page in the agent's browser, without affecting the episode.

    If ``script``, a JavaScript expression, is given, return its value with HTML entities such as ``&lt;`` decoded, as
    in WebArena. Otherwise, return the text of the whole page. Return "" if the page cannot be loaded or the script
    fails, for example because an element is missing. A page other than the current one is loaded in a hidden tab.

    Raises EnvironmentBroken if the script or a CSS selector in it has a syntax error.
    """
    expression = script or WHOLE_PAGE
    try:
        if url == browsing.url:
            value = browsing.tab.evaluate(expression)
        else:
            tab = WebTab(browsing.context, browsing.context.open_tab(hidden=True))
            try:
                value = "" if tab.load(url) else tab.evaluate(expression)
            finally:
                browsing.context.close_tab(tab.target)
    except TabGone:
        return ""
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
    return html.unescape(text) if script else text
