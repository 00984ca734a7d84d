"""The tree of what was tried: every branch once, in its place, with its cell, its fate and what it left behind."""

from typing import Any

import pytest

from planbook.report import report_runs
from planbook.report.inside.places import Place
from planbook.report.inside.scopes import told
from planbook.report.inside.searched import Limb, Searched
from planbook.store import Event
from tests.reported import Page, written
from tests.searching import FETCH_ALL, TAKE_ANY, played, search

ADVOCATE = "task/0/round/0/advocate/0"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = written(tmp_path_factory.mktemp("search") / "run", lambda path: played(path, "automanual", search))
    report_runs([folder], None, None, as_json=True)
    return Page(folder / "report.html")


def branch(number: int, parent: int | None, fate: str, **more: Any) -> Event:
    body = {"round": 0, "number": number, "parent": parent, "subtask": "s", "code": f"c{number}", "fate": fate, **more}
    return Event(ADVOCATE, "branch", number, body, 0.0)


def grown(*events: Event) -> Searched:
    (round_,) = told("task/0", events, "a").items
    assert isinstance(round_, Place)
    (frame,) = round_.items
    assert isinstance(frame, Place)
    (found,) = frame.items
    assert isinstance(found, Searched)
    return found


def shape(limbs: list[Limb]) -> list[Any]:
    """The numbers of the branches; what is inside one stands in a list after it."""
    return [
        each
        for limb in limbs
        for each in ([limb.branch.number, shape(limb.inside)] if limb.inside else [limb.branch.number])
    ]


def test_what_was_kept_goes_on_at_one_level_and_what_was_left_stands_inside() -> None:
    found = grown(
        branch(0, None, "kept"),
        branch(1, 0, "turned back"),
        branch(2, 0, "abandoned"),
        branch(3, 2, "failed"),
        branch(4, 2, "abandoned"),
        branch(5, 0, "kept"),
        branch(6, 5, "over"),
        branch(7, 5, "not tried"),
        branch(8, None, "not tried"),
    )
    assert shape(found.tree) == [0, 1, 2, [3, 4], 5, 6]
    assert found.spare == []
    assert [[each.number for each in limb.spare] for limb in found.tree] == [[8], [], [], [], [7]]


def test_what_was_never_needed_stands_after_what_was_tried_in_its_place() -> None:
    found = grown(
        branch(0, None, "turned back"),
        branch(1, 0, "not tried"),
        branch(2, None, "kept", subtask="first"),
        branch(3, None, "not tried", subtask="first"),
        branch(4, 2, "not tried", subtask="second"),
    )
    assert shape(found.tree) == [0, 2]
    assert [[each.number for each in limb.spare] for limb in found.tree] == [[1], [3, 4]]
    assert [each.number for each in grown(branch(0, None, "not tried")).spare] == [0]


def test_a_round_that_was_left_altogether_is_told_in_order() -> None:
    found = grown(branch(0, None, "abandoned"), branch(1, 0, "turned back"), branch(2, None, "turned back"))
    assert shape(found.tree) == [0, [1], 2]


def test_a_long_way_stays_at_one_level_and_samples_stand_before_the_one_that_was_taken() -> None:
    long = [branch(number, number - 1 if number else None, "abandoned") for number in range(30)]
    assert shape(grown(*long).tree) == list(range(30))
    samples = [branch(0, None, "kept", value=0.9), branch(1, None, "turned back", value=0.1), branch(2, 0, "kept")]
    assert shape(grown(*samples).tree) == [1, 0, 2]


def test_branches_that_cannot_be_a_tree_come_to_an_end() -> None:
    assert shape(grown(branch(0, 1, "kept"), branch(1, 0, "kept")).tree) == []
    assert shape(grown(branch(0, None, "turned back"), branch(1, 0, "abandoned"), branch(0, 1, "failed")).tree)


def test_rounds_stand_apart_where_they_began() -> None:
    plan: Any = {"round": 1, "parts": ["b"], "revision": True, "why": "w"}
    events = [branch(0, None, "kept"), Event(ADVOCATE, "plan", 0, plan, 0.0), branch(1, None, "kept", round=1)]
    (round_,) = told("task/0", events, "a").items
    assert isinstance(round_, Place)
    (frame,) = round_.items
    assert isinstance(frame, Place)
    first, second = frame.items
    assert isinstance(first, Searched)
    assert isinstance(second, Searched)
    assert (first.plans, [each.why for each in second.plans]) == ([], ["w"])
    assert [limb.branch.number for limb in second.limbs] == [1]


def test_every_branch_is_on_the_page_with_its_code_and_fate(page: Page) -> None:
    first, second = page.all("details", class_="searched")
    assert first.strip().startswith("Round 1: abandoned 2 turned back 3 failed 1 not tried 1")
    assert second.strip().startswith("Round 2: kept 1 not tried 1 over 1")
    assert "The plan as revised" in second
    assert "a loop sees all of them" in second
    limbs = page.all("li", class_="limb")
    assert len(limbs) == 8
    assert len(page.all("li", class_="left")) == 6
    assert sum(TAKE_ANY.splitlines()[-2] in each for each in page.all("pre", class_="code")) == 2
    assert sum(each.strip() == FETCH_ALL for each in page.all("pre", class_="code")) == 2
    assert any("Run on the page as it was by then" in each and "agent.open('box_3')" in each for each in limbs)
    assert "value 0.25, visits 3" in limbs[0]
    assert [each for each in page.all("small", class_="flag") if each.startswith(("remedy", "sample"))] == [
        "sample 1",
        "remedy 1",
        "remedy 1",
        "remedy 1",
    ]
    (spare, other) = page.all("li", class_="spare")
    assert "remedy 2 agent.open('</script>" in spare
    assert other == "Never needed: remedy 1 agent.open('box_1')"


def test_what_a_rewind_did_not_take_back_says_so(page: Page) -> None:
    told_of = page.all("p", class_="lasting")
    assert told_of[0] == "It changed what a rewind does not bring back: going back did not undo it."
    assert told_of[1] == "It changed what a rewind does not bring back."
    steps = page.all("li", class_="stays")
    assert [each.split("line")[0].strip() for each in steps] == ["agent.put('book')"]
    assert "going back did not undo it" in steps[0]


def test_links_lead_to_cells_and_prompts(page: Page) -> None:
    names = page.values("id")
    assert len(names) == len(set(names))
    assert {link.removeprefix("#") for link in page.values("href")} <= set(names)
    facts = [each for each in page.all("p", class_="facts") if each.startswith("branch ")]
    assert [each.split("; ")[1] for each in facts] == [f"cell {number}" for number in range(8)]
    assert all("asked before: repair.j2" in each for each in facts)


def test_nothing_that_was_said_runs_or_hides(page: Page) -> None:
    assert page.source.count("<script>") == 1
    assert "<img" not in page.source
    assert "\\u202e" in page.source
    assert all(each.isprintable() or each in "\n\t" for each in page.source)


def test_the_figures_stand_above_the_episodes(page: Page) -> None:
    (section,) = page.all("section", class_="search")
    assert "Plans were revised 1.00 times a task." in section
    assert "Of the ideas after a first one, remedies or samples, 3 were tried and 0 kept." in section
    assert "3 actions changed what no rewind brings back; 1 of them was gone back behind all the same." in section
