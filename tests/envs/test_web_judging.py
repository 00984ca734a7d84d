"""Judging web tasks: answers, addresses, pages and changes on the server."""

import time
from collections.abc import Mapping

import pytest
from hypothesis import given, strategies as st

from planbook.envs.web import judging
from planbook.envs.web.judging import EpisodeEnd, exact, judge
from planbook.envs.web.tasks import (
    KINDS,
    AnswerCheck,
    Check,
    PageCheck,
    ServerCheck,
    UnachievableCheck,
    UrlCheck,
    WebTask,
    judgeable,
    load_tasks,
    to_task,
    types_of,
    with_site_addresses,
)


def end(
    answer: str | None = None,
    url: str = "http://127.0.0.1:9/wiki",
    pages: Mapping[str, str] | None = None,
    made: Mapping[str, str | None] | None = None,
) -> EpisodeEnd:
    """Return the end of an episode. ``made`` maps changed places of our site to their new values."""
    found = pages or {}
    changes = None if made is None else lambda: made
    return EpisodeEnd(answer, url, lambda url, script: found.get(f"{url}{script}", ""), changes)


def task(*checks: Check) -> WebTask:
    return WebTask(id="t", type="t", kind="look_up", goal="?", start="http://h/", site="trac", checks=checks)


SHIPPED = [with_site_addresses(each, {"trac": "http://127.0.0.1:9"}) for each in load_tasks()]


@pytest.mark.parametrize(
    ("how", "values", "right", "wrong"),
    [
        ("exact", ["Sofie Dahl"], ["sofie dahl", ' "Sofie  Dahl" '], ["Sofie", "Sofie Dahl and others", ""]),
        ("exact", ["a |OR| b"], ["A", "b"], ["a |OR| b", "ab"]),
        ("must_include", ["red", "blue |OR| navy"], ["Blue and red", "red navy"], ["red", "blue"]),
        ("must_include", ["6"], ["6 reviews", "there are 6."], ["16", "60 reviews", "6.5x6y"]),
        ("numbers", ["12", "7"], ["#7, #12", "tickets 12 and 7", "12, 7, 7"], ["7", "7, 12, 13", "v12, v7", ""]),
        ("numbers", ["1200"], ["1,200 crowns", "1200.0"], ["1", "200", "12 00"]),
        ("items", ["oskar", "yuki"], ["yuki, oskar", "Oskar and yuki.", "oskar;yuki"], ["oskar", "oskar, yuki, mira"]),
    ],
)
def test_answers_are_compared_as_the_check_says(
    how: str, values: list[str], right: list[str], wrong: list[str]
) -> None:
    check = AnswerCheck.model_validate({"how": how, "values": values})
    assert [answer for answer in right if not judge(task(check), end(answer)).solved] == []
    assert [answer for answer in wrong if judge(task(check), end(answer)).solved] == []
    assert not judge(task(check), end(None)).solved


def test_only_na_solves_an_unachievable_task() -> None:
    solved = {
        answer: judge(task(UnachievableCheck()), end(answer)).solved
        for answer in ("n/a", "N/A: there is no such ticket", '"N/A"', "N/A.", None, "", "nap time", "It is n/a")
    }
    assert list(solved.values()) == [True] * 4 + [False] * 4


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("http://h:80/a/", "http://h/a", True),
        ("https://h:443/a", "http://H/a#part", True),
        ("http://h/q?b=2&a=1", "http://h/q?a=1&b=2", True),
        ("http://h/m/0.9%20Fixes", "http://h/m/0.9 Fixes", True),
        ("http://h/m?x=a+b", "http://h/m?x=a%20b", True),
        ("http://h/a", "http://h/b", False),
        ("http://h/a", "http://h:81/a", False),
        ("http://h/q?a=1", "http://h/q", False),
        ("", "http://h", False),
    ],
)
def test_addresses_are_equal_if_they_name_the_same_page(one: str, other: str, equal: bool) -> None:
    assert judging.equal(one, [other]) is equal
    assert judging.equal(other, [one]) is equal


def test_including_requires_the_same_page_and_every_wanted_parameter() -> None:
    wanted = ["http://h/query?component=a&status=!closed"]
    assert judging.including("http://h/query?order=id&status=%21closed&component=a", wanted)
    assert not judging.including("http://h/query?component=a", wanted)
    assert not judging.including("http://h/query/x?component=a&status=!closed", wanted)


def test_within_is_the_gold_in_pred_check_of_webarena() -> None:
    gold = ["http://h/shop?cat=60", "http://h/phones?cat=61"]
    assert judging.within("http://h/shop/list?cat=61&page=2", gold)
    assert not judging.within("http://h/shop/list?page=2", gold)
    assert not judging.within("http://h/other?cat=60", gold)


@given(st.text(max_size=60))
def test_any_text_can_be_compared(text: str) -> None:
    assert judging.equal(text, [text])
    for compare in judging.ANSWER_COMPARISONS.values():
        assert compare(text, ["7"]) in (True, False)


def test_a_page_check_reads_its_own_page_with_its_script() -> None:
    facts = end(url="http://h/last", pages={"http://h/last": "Two boats", "http://h/p#c": "one berth"})
    assert judge(task(PageCheck(must_include=("two BOATS",))), facts).solved
    assert judge(task(PageCheck(url="http://h/p", script="#c", exact=("One berth",))), facts).solved
    assert not judge(task(PageCheck(must_include=("boats",), must_exclude=("two",))), facts).solved
    assert not judge(task(PageCheck(url="http://h/gone", must_exclude=("two",))), facts).solved


def test_a_server_check_requires_exactly_its_changes() -> None:
    wanted = {"ticket/1/status": "closed", "wiki/A": None, "wiki/B": "an x"}
    checked = task(ServerCheck(changes=wanted))
    made: dict[str, str | None] = {"ticket/1/status": "closed", "wiki/A": None, "wiki/B": "an x"}
    assert judge(checked, end(made=made)).solved
    assert judge(checked, end(made=made | {"wiki/A": "kept"})).score == pytest.approx(2 / 3)
    more = judge(checked, end(made=made | {"ticket/2/status": "closed"}))
    assert not more.solved
    assert more.score == pytest.approx(3 / 4)
    assert judge(checked, end(made={})).score == 0
    lines = task(ServerCheck(changes={"wiki/A": "one  two\nthree"}))
    assert judge(lines, end(made={"wiki/A": "one two \r\nthree\n"})).solved
    assert not judge(lines, end(made={"wiki/A": "one two three"})).solved
    unchecked = task(AnswerCheck(how="exact", values=("7",)))
    assert judge(unchecked, end("7", made={})).solved
    assert judge(unchecked, end("7", made={"ticket/1/owner": "mira"})).score == 0


def test_the_score_is_the_share_of_checks() -> None:
    both = task(AnswerCheck(how="exact", values=("7",)), UrlCheck(any_of=("http://127.0.0.1:9/wiki",)))
    assert judge(both, end("8")).score == 0.5
    assert not judge(both, end("8")).solved
    assert judge(both, end("7")).solved
    assert not judge(task(), end("7")).solved


def test_the_shipped_tasks_have_four_of_each_kind() -> None:
    kinds: list[str] = [each.kind for each in SHIPPED]
    assert len(SHIPPED) >= 36
    assert {kind for kind in KINDS if kinds.count(kind) >= 4} == set(KINDS)
    assert len({each.id for each in SHIPPED}) == len(SHIPPED)
    assert set(types_of(load_tasks())) == {each.type for each in SHIPPED}
    assert judgeable(SHIPPED) == SHIPPED


def test_a_shipped_task_is_solved_neither_by_doing_nothing_nor_by_na_if_it_can_be_achieved() -> None:
    for each in SHIPPED:
        scores = [judge(each, end(answer, url=each.start, made={})).score for answer in (None, "", "N/A")]
        assert scores == [0, 0, each.kind == "unachievable"], each.id


def test_goals_and_params_of_shipped_tasks_do_not_contain_the_answer() -> None:
    for each in SHIPPED:
        shown = f"{each.goal} {each.params}"
        for check in each.checks:
            if isinstance(check, AnswerCheck):
                assert [value for value in check.values if judging.must_include(shown, [value])] == [], each.id
        assert to_task(each).params == each.params


def test_an_answer_of_many_accents_is_compared_quickly() -> None:
    """Python sorts the accents of a letter in quadratic time: all of these would take half a minute."""
    started = time.process_time()
    assert not exact(f"a{chr(0x315) * 50_000}{chr(0x300) * 49_000}", ["a"])
    assert exact("Ame\u0301lie", ["am\u00e9lie"])
    assert time.process_time() - started < 2
