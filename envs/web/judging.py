"""Judging: compare answers, pages and stored data with the checks of a task at the end of an episode.

The score is the mean of what each check gives; a task is solved when all give 1. Beyond its checks, a task on a site of
ours must leave the rest of the site unchanged: only what a server check names may change, and nothing without one.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planbook.envs.types import Verdict
from planbook.envs.web import addresses
from planbook.envs.web.context import TabGone
from planbook.envs.web.tab import WebTab
from planbook.envs.web.tabs import Browsing
from planbook.envs.web.tasks import (
    NUMBER,
    AnswerCheck,
    Check,
    PageCheck,
    ServerCheck,
    Text,
    UnachievableCheck,
    UrlCheck,
    WebTask,
)

OR = " |OR| "
"""Between alternatives of one value, as in WebArena's files."""
QUOTES = "\"'`“”‘’„«»"


def spaced(text: str) -> str:
    """Return the text with single spaces, without blanks at its ends."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def clean(text: str) -> str:
    """Return the text in lower case, with single spaces, without quotation marks around it."""
    text = spaced(text).casefold()
    while len(text) > 1 and text[0] in QUOTES and text[-1] in QUOTES:
        text = text[1:-1].strip()
    return text


def exact(answer: str, values: Sequence[str]) -> bool:
    """Return whether the answer is one of the values, or one of their alternatives."""
    return clean(answer) in {clean(each) for value in values for each in value.split(OR)}


def must_include(answer: str, values: Sequence[str]) -> bool:
    """Return whether all values, or an alternative of each, occur in the answer; a single character as a whole word."""
    text = clean(answer)
    return all(any(_occurs(clean(each), text) for each in value.split(OR)) for value in values)


def same_lines(text: str, wanted: str) -> bool:
    """Return whether two texts have the same lines, ignoring blanks in them and at the ends of the text."""
    return [*map(spaced, text.strip().splitlines())] == [*map(spaced, wanted.strip().splitlines())]


def holds(text: str, values: Sequence[str]) -> bool:
    """Return whether all values occur in the text as written, ignoring the spaces between words."""
    return all(spaced(value) in spaced(text) for value in values)


def numbers(answer: str, values: Sequence[str]) -> bool:
    """Return whether the numbers in the answer are the values; ``#12`` is 12, ``1,200`` is 1200 and ``4.50`` is 4.5."""
    found = {_number(match) for match in NUMBER.findall(answer)}
    return found == {_number(value) for value in values}


def items(answer: str, values: Sequence[str]) -> bool:
    """Return whether the answer lists exactly the values; a final full stop does not count."""
    parts = re.split(r"[,;\n]|\band\b", answer.strip().removesuffix("."))
    return {clean(part) for part in parts if part.strip()} == {clean(value) for value in values}


def says_impossible(answer: str) -> bool:
    """Return whether the answer begins with N/A; a reason may follow."""
    return re.match(r"n/?a\b", clean(answer)) is not None


def _occurs(value: str, text: str) -> bool:
    if len(value) > 1:
        return value in text
    return re.search(rf"(?<![\w.]){re.escape(value)}(?!\.?\w)", text) is not None


def _number(text: str) -> float:
    return float(text.replace(",", ""))


ANSWERS: Mapping[str, Callable[[str, Sequence[str]], bool]] = {
    "exact": exact,
    "must_include": must_include,
    "numbers": numbers,
    "items": items,
}


@dataclass(frozen=True)
class EpisodeEnd:
    """What judging may look at."""

    answer: str | None
    """The argument of ``stop``; None if the episode ended without it."""
    url: str
    """The address of the current tab."""
    page_text: Callable[[str, str, str], str]
    """For an address, a selector and a script: the text of a page, see ``page_text``."""
    changes: Callable[[], Mapping[str, str | None]] | None = None
    """What differs on our site; None if the task is not on it."""


def judge(task: WebTask, facts: EpisodeEnd) -> Verdict:
    """Return the verdict on a task with real addresses (``tasks.placed``); a task without checks is never solved."""
    if not task.checks or task.unjudged or _changed_unasked(task, facts):
        return Verdict(solved=False, score=0.0)
    marks = [_JUDGES[type(check)](check, facts) for check in task.checks]
    return Verdict(solved=all(mark == 1 for mark in marks), score=sum(marks) / len(marks))


def _changed_unasked(task: WebTask, facts: EpisodeEnd) -> bool:
    """Return whether our site was changed although the task asks for no change."""
    if facts.changes is None or any(isinstance(check, ServerCheck) for check in task.checks):
        return False
    return bool(facts.changes())


def _answer(check: AnswerCheck, facts: EpisodeEnd) -> float:
    return float(facts.answer is not None and ANSWERS[check.how](facts.answer, check.values))


def _unachievable(check: UnachievableCheck, facts: EpisodeEnd) -> float:
    return float(facts.answer is not None and says_impossible(facts.answer))


def _url(check: UrlCheck, facts: EpisodeEnd) -> float:
    return float(addresses.MATCHES[check.how](facts.url, check.any_of))


def _page(check: PageCheck, facts: EpisodeEnd) -> float:
    address = facts.url if check.url == "last" else check.url
    text = facts.page_text(address, check.selector, check.script)
    return float(
        (not check.exact or exact(text, check.exact))
        and must_include(text, check.must_include)
        and not any(must_include(text, (value,)) for value in check.must_exclude)
        and bool(text)
    )


def _server(check: ServerCheck, facts: EpisodeEnd) -> float:
    """Return the share of right changes among those wanted and those made."""
    if facts.changes is None:
        return 0.0
    made = facts.changes()
    right = sum(place in made and _is(made[place], wanted) for place, wanted in check.changes.items())
    return right / len(made.keys() | check.changes.keys())


def _is(value: str | None, wanted: str | Text | None) -> bool:
    if value is None or wanted is None:
        return value is wanted
    if isinstance(wanted, str):
        return same_lines(value, wanted)
    return holds(value, wanted.must_include) and not any(holds(value, (each,)) for each in wanted.must_exclude)


_JUDGES: Mapping[type[Check], Callable[[Any, EpisodeEnd], float]] = {
    AnswerCheck: _answer,
    UrlCheck: _url,
    PageCheck: _page,
    ServerCheck: _server,
    UnachievableCheck: _unachievable,
}


WHOLE = "document.body?.innerText"


def page_text(visit: Browsing, url: str, selector: str, script: str) -> str:
    """Return text of a page as the agent's browser sees it: the current page, or another loaded in a hidden tab.

    It is the text of the first element that a CSS selector matches, the value of a JavaScript expression, or the text
    of the whole page. Empty if the page cannot be loaded or nothing matches. The episode does not notice.
    """
    asked = script or (_first(selector) if selector else WHOLE)
    try:
        if url == visit.url:
            return _text(visit.tab, asked)
        tab = WebTab(visit.context, visit.context.open(hidden=True))
        try:
            return "" if tab.fetch(url) else _text(tab, asked)
        finally:
            visit.context.drop(tab.target)
    except TabGone:
        return ""


def _first(selector: str) -> str:
    found = f"document.querySelector({json.dumps(selector)})"
    return f"(found => found && (found.value ?? found.innerText))({found})"


def _text(tab: WebTab, expression: str) -> str:
    value = tab.value(expression)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)
