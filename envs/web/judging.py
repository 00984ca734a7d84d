"""Judging a task on web pages by the facts at its end.

The score is the mean of what each check gives; a task is solved when all give 1. Beyond its checks, a task on a site of
ours must leave the site as it was: what changed is exactly what a server check names, and nothing where there is none.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from planbook.envs.types import Verdict
from planbook.envs.web import texts, urls
from planbook.envs.web.checks import AnswerCheck, Check, PageCheck, ServerCheck, Text, UnachievableCheck, UrlCheck
from planbook.envs.web.sites import Site
from planbook.envs.web.tasks import WebTask


class Facts(Protocol):
    """What judging may look at."""

    @property
    def answer(self) -> str | None:
        """What ``stop`` was given; None where the episode ended without it."""

    @property
    def url(self) -> str:
        """The address of the current tab."""

    @property
    def site(self) -> Site | None:
        """The site of ours that the task is about."""

    def page_text(self, url: str, selector: str = "", script: str = "") -> str:
        """Text of a page as the agent's browser sees it, loaded in a hidden tab; the current page where that is its
        address. Of the first element that a CSS selector matches, or the value of a JavaScript expression, or of the
        whole page. Empty where the page cannot be loaded or nothing matches."""


def judge(task: WebTask, facts: Facts) -> Verdict:
    """The verdict on a task whose addresses are in place (``tasks.placed``); one without checks is never solved."""
    if not task.checks or task.unjudged or _strayed(task, facts):
        return Verdict(solved=False, score=0.0)
    marks = [_JUDGES[type(check)](check, facts) for check in task.checks]
    return Verdict(solved=all(mark == 1 for mark in marks), score=sum(marks) / len(marks))


def _strayed(task: WebTask, facts: Facts) -> bool:
    """Whether our site was changed although the task asks for no change."""
    if facts.site is None or any(isinstance(check, ServerCheck) for check in task.checks):
        return False
    return bool(facts.site.changes())


def _answer(check: AnswerCheck, facts: Facts) -> float:
    return float(facts.answer is not None and texts.ANSWERS[check.how](facts.answer, check.values))


def _unachievable(check: UnachievableCheck, facts: Facts) -> float:
    return float(facts.answer is not None and texts.says_impossible(facts.answer))


def _url(check: UrlCheck, facts: Facts) -> float:
    return float(urls.MATCHES[check.how](facts.url, check.any_of))


def _page(check: PageCheck, facts: Facts) -> float:
    address = facts.url if check.url == "last" else check.url
    text = facts.page_text(address, check.selector, check.script)
    return float(
        (not check.exact or texts.exact(text, check.exact))
        and texts.must_include(text, check.must_include)
        and not any(texts.must_include(text, (value,)) for value in check.must_exclude)
        and bool(text)
    )


def _server(check: ServerCheck, facts: Facts) -> float:
    """The share of right changes among those wanted and those made."""
    if facts.site is None:
        return 0.0
    made = facts.site.changes()
    right = sum(place in made and _is(made[place], wanted) for place, wanted in check.changes.items())
    return right / len(made.keys() | check.changes.keys())


def _is(value: str | None, wanted: str | Text | None) -> bool:
    if value is None or wanted is None:
        return value is wanted
    if isinstance(wanted, str):
        return texts.same_lines(value, wanted)
    return texts.holds(value, wanted.must_include) and not any(
        texts.holds(value, (each,)) for each in wanted.must_exclude
    )


_JUDGES: Mapping[type[Check], Callable[[Any, Facts], float]] = {
    AnswerCheck: _answer,
    UrlCheck: _url,
    PageCheck: _page,
    ServerCheck: _server,
    UnachievableCheck: _unachievable,
}
