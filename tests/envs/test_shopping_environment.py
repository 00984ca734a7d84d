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
    world = Shopping(ShoppingOptions.model_validate(options))
    world.reset(Shopping.select(Selection(ids=(task_id,)))[0])
    return world


def do(world: Environment, *calls: str) -> Observation:
    """``search body lotion`` and ``click Next >``, one after the other; the last is returned."""
    for call in calls:
        name, _, rest = call.partition(" ")
        last = world.act(Action(name, (rest,)))
    return last


def test_an_episode_begins_on_the_search_page_and_tells_the_goal_once() -> None:
    world = begun()
    task = Shopping.select(Selection(ids=("test/0",)))[0]
    assert world.reset(task).text == f"{world.scene()}\n\nGoal: {task.goal}"
    assert world.clickable() == []
    assert world.attribute_values() == {"page": "search", "selected": {}}
    assert task.goal not in do(world, "search body lotion", f"click {world.results()[0:]}").text
    assert "Goal" not in world.scene()


@pytest.mark.parametrize("window", [3, 10])
def test_results_come_in_pages(window: int) -> None:
    world = begun(results_per_page=window)
    first = do(world, "search vanilla body lotion")
    assert first.text.startswith(
        f"Results for 'vanilla body lotion': 1 to {window} of 50\n[Back to Search] [Next >]\n[B0"
    )
    seen = [each["id"] for each in world.results() if isinstance(each, dict)]
    while NEXT in world.clickable():
        do(world, f"click {NEXT}")
        seen += [each["id"] for each in world.results() if isinstance(each, dict)]
    assert len(seen) == len(set(seen)) == 50
    assert world.clickable()[:2] == [BACK, PREV]
    for _ in range(-(-50 // window) - 1):
        last = do(world, f"click {PREV}")
    assert last == first
    assert PREV not in world.clickable()


def test_a_product_page_has_its_options_and_sub_pages() -> None:
    world = begun()
    do(world, "search body lotion")
    id = world.clickable()[2]
    page = do(world, f"click {id}").text
    assert page.startswith(f"The page of {id}: ")
    assert set(world.choices()) == {"scent", "size"}
    values = [value for each in world.choices().values() for value in each]
    assert world.clickable() == [BACK, PREV, *values, *SUB_PAGES, BUY]
    assert all(f"[{button}]" in page for button in world.clickable())
    for button, name in SUB_PAGES.items():
        text = do(world, f"click {button.lower()}").text
        assert text.startswith(f"The {name} page of {id}: ")
        assert world.clickable() == [BACK, PREV]
        assert (world.choices(), world.price(), world.results()) == ({}, [], [])
        assert do(world, f"click {PREV}").text == page


def test_options_stay_on_sub_pages_and_are_lost_on_the_results() -> None:
    world = begun()
    do(world, "search body lotion", f"click {begun_results(world)[0]}")
    first, second = world.choices()["scent"][:2]
    assert f"Selected: scent = {first}\n" in do(world, f"click {first}").text
    assert f"Selected: scent = {second}\n" in do(world, f"click [{second.upper()}]").text
    do(world, "click Attributes", f"click {PREV}")
    assert world.attribute_values()["selected"] == {"scent": second}
    assert world.state().endswith(f"; selected: scent = {second}.")
    do(world, f"click {PREV}", f"click {world.clickable()[2]}")
    assert world.attribute_values()["selected"] == {}


def begun_results(world: Shopping) -> list[str]:
    do(world, "search body lotion")
    ids = [str(each["id"]) for each in world.results() if isinstance(each, dict)]
    do(world, f"click {BACK}")
    return ids


def test_the_price_follows_from_the_options() -> None:
    world = begun()
    do(world, "search body lotion")
    for id in [str(each["id"]) for each in world.results() if isinstance(each, dict)]:
        do(world, f"click {id}")
        least, most = world.price()
        for values in world.choices().values():
            do(world, f"click {values[-1]}")
        now = world.price()
        assert least <= now[0] == now[1] <= most
        assert f"Price: ${now[0]:.2f}\n" in world.scene()
        do(world, f"click {PREV}")


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
    world = begun()
    last = do(world, *calls)
    assert not last.accepted
    assert last.text.startswith("Nothing happens: ")
    assert reason in last.text


def test_a_search_without_results_says_so() -> None:
    assert do(begun(), "search qwxz").text == "Results for 'qwxz': none\n[Back to Search]"


def test_buying_ends_the_episode() -> None:
    world = begun()
    do(world, "search body lotion", f"click {begun_results(begun())[0]}")
    assert (world.verdict().score, world.measures()) == (0.0, {"reward": 0.0})
    last = do(world, "click Buy Now")
    assert last.terminated
    assert "reward" not in last.text
    assert world.measures() == {"reward": world.verdict().score}
    with pytest.raises(EpisodeEnded):
        do(world, f"click {BACK}")


def test_nothing_bought_earns_nothing() -> None:
    world = begun()
    do(world, "search lamp")
    assert (world.verdict().solved, world.verdict().score) == (False, 0.0)


def test_a_snapshot_brings_everything_back() -> None:
    world = begun()
    do(world, "search body lotion", f"click {begun_results(begun())[0]}")
    do(world, f"click {world.choices()['size'][0]}")
    mark, page = world.snapshot(), world.scene()
    do(world, f"click {BACK}", "search rug")
    assert world.restore(mark).text == page
    assert world.scene() == page
    do(world, "click Buy Now")
    world.restore(mark)
    assert not world.ended
    assert world.attribute_values()["page"] == "item"


@settings(max_examples=60, deadline=None)
@given(some.data())
def test_every_button_of_every_page_works(data: some.DataObject) -> None:
    world = begun(results_per_page=data.draw(some.sampled_from([3, 10])))
    for _ in range(data.draw(some.integers(1, 12))):
        possible = world.possible_actions()
        if world.ended:
            assert possible == []
            return
        assert [each.args[0] for each in possible if each.name == "click"] == world.clickable()
        last = world.act(data.draw(some.sampled_from(possible)))
        assert last.accepted
        assert last.text == world.scene()
        assert world.state().count("\n") == 0 < len(world.state())
        assert world.brief(last, last) == last.text.split("\n")[0]
        assert world.verdict().score == 0.0 or world.ended


@given(some.text(max_size=40))
def test_no_keywords_break_the_page(keywords: str) -> None:
    world = begun()
    last = world.act(Action("search", (keywords,)))
    assert last.accepted == bool(keywords.strip())
    assert last.text.isprintable() or "\n" in last.text
    assert last.text.count("[Back to Search]") == last.accepted


def test_histories_walked_again_give_the_same() -> None:
    world, other = begun(), begun()
    calls = ["search cotton sun hat", "click Next >", "click < Prev", "click Back to Search", "search hat"]
    for before, call in pairwise(["", *calls]):
        assert do(world, call) == do(other, call), before
