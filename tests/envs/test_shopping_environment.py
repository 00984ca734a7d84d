"""The pages and buttons of the shop, refused clicks, and the reward."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from planbook.envs import Action, EpisodeEnded
from planbook.envs.shopping import Shopping
from planbook.envs.shopping.webshop import BACK, BUY, NEXT, PREV, SUB_PAGES
from tests.envs.playing import do, started


def start(**options: object) -> Shopping:
    return started(Shopping, "test/0", **options)


def ids(environment: Shopping) -> list[str]:
    """Return the ids of the results on this page."""
    results: Any = environment.results()
    return [each["id"] for each in results]


def open_lotion(environment: Shopping) -> None:
    """Open the page of the first body lotion."""
    do(environment, "search body lotion")
    do(environment, f"click {ids(environment)[0]}")


@pytest.mark.parametrize("window", [3, 10])
def test_results_are_split_into_pages(window: int) -> None:
    environment = start(results_per_page=window)
    first = do(environment, "search vanilla body lotion")
    assert first.text.startswith(
        f"Results for 'vanilla body lotion': 1 to {window} of 50\n[Back to Search] [Next >]\n[B0"
    )
    seen = ids(environment)
    while NEXT in environment.clickable():
        do(environment, f"click {NEXT}")
        seen += ids(environment)
    assert len(seen) == len(set(seen)) == 50
    assert environment.clickable()[:2] == [BACK, PREV]
    for _ in range(-(-50 // window) - 1):
        last = do(environment, f"click {PREV}")
    assert last == first
    assert PREV not in environment.clickable()


def test_a_product_page_has_its_options_and_sub_pages() -> None:
    environment = start()
    do(environment, "search body lotion")
    id = environment.clickable()[2]
    page = do(environment, f"click {id}").text
    assert page.startswith(f"The page of {id}: ")
    assert set(environment.choices()) == {"scent", "size"}
    values = [value for each in environment.choices().values() for value in each]
    assert environment.clickable() == [BACK, PREV, *values, *SUB_PAGES, BUY]
    assert all(f"[{button}]" in page for button in environment.clickable())
    for button, name in SUB_PAGES.items():
        text = do(environment, f"click {button.lower()}").text
        assert text.startswith(f"The {name} page of {id}: ")
        assert environment.clickable() == [BACK, PREV]
        assert (environment.choices(), environment.price(), environment.results()) == ({}, [], [])
        assert do(environment, f"click {PREV}").text == page


def test_chosen_options_are_kept_on_sub_pages_and_lost_on_the_results() -> None:
    environment = start()
    assert environment.attribute_values() == {"page": "search", "selected": {}}
    open_lotion(environment)
    first, second = environment.choices()["scent"][:2]
    assert f"Selected: scent = {first}\n" in do(environment, f"click {first}").text
    assert f"Selected: scent = {second}\n" in do(environment, f"click [{second.upper()}]").text
    do(environment, "click Attributes", f"click {PREV}")
    assert environment.attribute_values() == {"page": "item", "selected": {"scent": second}}
    assert environment.state().endswith(f"; selected: scent = {second}.")
    do(environment, f"click {PREV}", f"click {environment.clickable()[2]}")
    assert environment.attribute_values()["selected"] == {}


def test_the_price_depends_on_the_options() -> None:
    environment = start()
    do(environment, "search body lotion")
    for id in ids(environment):
        do(environment, f"click {id}")
        least, most = environment.price()
        for values in environment.choices().values():
            do(environment, f"click {values[-1]}")
        now = environment.price()
        assert least <= now[0] == now[1] <= most
        assert f"Price: ${now[0]:.2f}\n" in environment.scene()
        do(environment, f"click {PREV}")


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        (["click Buy Now"], "there is no [Buy Now] on this page; what can be clicked: nothing; search first"),
        (["search  "], "name what to search for"),
        (["search lamp", "search rug"], "there is no search box on this page; click 'Back to Search' first"),
        (["search lamp", "click < Prev"], "there is no [< Prev] on this page; what can be clicked: [Back to Search]"),
        (["search lamp", "click B0"], "there is no [B0] on this page"),
        (["search qwxz", "click Next >"], "what can be clicked: [Back to Search]."),
        (["search lamp", "click ]\n[Buy Now"], "there is no [) (Buy Now] on this page"),
    ],
)
def test_only_buttons_of_the_page_can_be_clicked(calls: list[str], reason: str) -> None:
    environment = start()
    last = do(environment, *calls)
    assert not last.accepted
    assert last.text.startswith("Nothing happens: ")
    assert reason in last.text


def test_a_search_without_results_shows_none() -> None:
    assert do(start(), "search qwxz").text == "Results for 'qwxz': none\n[Back to Search]"


def test_buying_ends_the_episode() -> None:
    environment = start()
    open_lotion(environment)
    assert (environment.verdict().solved, environment.verdict().score) == (False, 0.0)
    last = do(environment, "click Buy Now")
    assert last.terminated
    assert "reward" not in last.text
    with pytest.raises(EpisodeEnded):
        do(environment, f"click {BACK}")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_possible_action_is_accepted(data: st.DataObject) -> None:
    environment = start(results_per_page=data.draw(st.sampled_from([3, 10])))
    for _ in range(data.draw(st.integers(1, 12))):
        possible = environment.possible_actions()
        if environment.ended:
            assert possible == []
            return
        assert [each.args[0] for each in possible if each.name == "click"] == environment.clickable()
        last = environment.act(data.draw(st.sampled_from(possible)))
        assert last.accepted
        assert last.text == environment.scene()
        assert "Goal" not in last.text
        assert environment.state().count("\n") == 0 < len(environment.state())
        assert environment.brief(last, last) == last.text.split("\n")[0]
        assert environment.verdict().score == 0.0 or environment.ended


@given(st.text(max_size=40))
def test_no_keywords_break_the_page(keywords: str) -> None:
    environment = start()
    last = environment.act(Action("search", (keywords,)))
    assert last.accepted == bool(keywords.strip())
    assert last.text.isprintable() or "\n" in last.text
    assert last.text.count("[Back to Search]") == last.accepted
