"""The shop's pages and buttons: what leads where, what cannot be clicked, and what an episode is worth."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from planbook.envs import Action, EpisodeEnded, Observation, Selection
from planbook.envs.base import Environment
from planbook.envs.shopping import Shopping
from planbook.envs.shopping.environment import ShoppingOptions
from planbook.envs.shopping.pages import BACK, BUY, NEXT, PREV, SUB_PAGES


def begun(task_id: str = "test/0", **options: object) -> Shopping:
    environment = Shopping(ShoppingOptions.model_validate(options))
    environment.reset(Shopping.select(Selection(ids=(task_id,)))[0])
    return environment


def do(environment: Environment, *calls: str) -> Observation:
    """``search body lotion`` and ``click Next >``, one after the other; the last is returned."""
    for call in calls:
        name, _, rest = call.partition(" ")
        last = environment.act(Action(name, (rest,)))
    return last


def test_an_episode_begins_on_the_search_page_and_tells_the_goal_once() -> None:
    environment = begun()
    task = Shopping.select(Selection(ids=("test/0",)))[0]
    assert environment.reset(task).text == f"{environment.scene()}\n\nGoal: {task.goal}"
    assert environment.clickable() == []
    assert environment.attribute_values() == {"page": "search", "selected": {}}
    assert task.goal not in do(environment, "search body lotion", f"click {environment.results()[0:]}").text
    assert "Goal" not in environment.scene()


@pytest.mark.parametrize("window", [3, 10])
def test_results_come_in_pages(window: int) -> None:
    environment = begun(results_per_page=window)
    first = do(environment, "search vanilla body lotion")
    assert first.text.startswith(
        f"Results for 'vanilla body lotion': 1 to {window} of 50\n[Back to Search] [Next >]\n[B0"
    )
    seen = [each["id"] for each in environment.results() if isinstance(each, dict)]
    while NEXT in environment.clickable():
        do(environment, f"click {NEXT}")
        seen += [each["id"] for each in environment.results() if isinstance(each, dict)]
    assert len(seen) == len(set(seen)) == 50
    assert environment.clickable()[:2] == [BACK, PREV]
    for _ in range(-(-50 // window) - 1):
        last = do(environment, f"click {PREV}")
    assert last == first
    assert PREV not in environment.clickable()


def test_a_product_page_has_its_options_and_sub_pages() -> None:
    environment = begun()
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


def test_options_stay_on_sub_pages_and_are_lost_on_the_results() -> None:
    environment = begun()
    do(environment, "search body lotion", f"click {begun_results(environment)[0]}")
    first, second = environment.choices()["scent"][:2]
    assert f"Selected: scent = {first}\n" in do(environment, f"click {first}").text
    assert f"Selected: scent = {second}\n" in do(environment, f"click [{second.upper()}]").text
    do(environment, "click Attributes", f"click {PREV}")
    assert environment.attribute_values()["selected"] == {"scent": second}
    assert environment.state().endswith(f"; selected: scent = {second}.")
    do(environment, f"click {PREV}", f"click {environment.clickable()[2]}")
    assert environment.attribute_values()["selected"] == {}


def begun_results(environment: Shopping) -> list[str]:
    do(environment, "search body lotion")
    ids = [str(each["id"]) for each in environment.results() if isinstance(each, dict)]
    do(environment, f"click {BACK}")
    return ids


def test_the_price_follows_from_the_options() -> None:
    environment = begun()
    do(environment, "search body lotion")
    for id in [str(each["id"]) for each in environment.results() if isinstance(each, dict)]:
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
def test_what_is_not_there_cannot_be_clicked(calls: list[str], reason: str) -> None:
    environment = begun()
    last = do(environment, *calls)
    assert not last.accepted
    assert last.text.startswith("Nothing happens: ")
    assert reason in last.text


def test_a_search_without_results_says_so() -> None:
    assert do(begun(), "search qwxz").text == "Results for 'qwxz': none\n[Back to Search]"


def test_buying_ends_the_episode() -> None:
    environment = begun()
    do(environment, "search body lotion", f"click {begun_results(begun())[0]}")
    assert (environment.verdict().solved, environment.verdict().score) == (False, 0.0)
    assert environment.measures() == {"reward": 0.0}
    last = do(environment, "click Buy Now")
    assert last.terminated
    assert "reward" not in last.text
    assert environment.measures() == {"reward": environment.verdict().score}
    with pytest.raises(EpisodeEnded):
        do(environment, f"click {BACK}")


def test_a_snapshot_brings_everything_back() -> None:
    environment = begun()
    do(environment, "search body lotion", f"click {begun_results(begun())[0]}")
    do(environment, f"click {environment.choices()['size'][0]}")
    mark, page = environment.snapshot(), environment.scene()
    do(environment, f"click {BACK}", "search rug")
    assert environment.restore(mark).text == page
    assert environment.scene() == page
    do(environment, "click Buy Now")
    environment.restore(mark)
    assert not environment.ended
    assert environment.attribute_values()["page"] == "item"


@settings(max_examples=60, deadline=None)
@given(some.data())
def test_every_button_of_every_page_works(data: some.DataObject) -> None:
    environment = begun(results_per_page=data.draw(some.sampled_from([3, 10])))
    for _ in range(data.draw(some.integers(1, 12))):
        possible = environment.possible_actions()
        if environment.ended:
            assert possible == []
            return
        assert [each.args[0] for each in possible if each.name == "click"] == environment.clickable()
        last = environment.act(data.draw(some.sampled_from(possible)))
        assert last.accepted
        assert last.text == environment.scene()
        assert environment.state().count("\n") == 0 < len(environment.state())
        assert environment.brief(last, last) == last.text.split("\n")[0]
        assert environment.verdict().score == 0.0 or environment.ended


@given(some.text(max_size=40))
def test_no_keywords_break_the_page(keywords: str) -> None:
    environment = begun()
    last = environment.act(Action("search", (keywords,)))
    assert last.accepted == bool(keywords.strip())
    assert last.text.isprintable() or "\n" in last.text
    assert last.text.count("[Back to Search]") == last.accepted


def test_histories_walked_again_give_the_same() -> None:
    environment, other = begun(), begun()
    calls = ["search cotton sun hat", "click Next >", "click < Prev", "click Back to Search", "search hat"]
    for before, call in pairwise(["", *calls]):
        assert do(environment, call) == do(other, call), before
