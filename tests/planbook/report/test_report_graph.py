"""A graph's passes in the report: nodes by layer, with answers, prompts, and what they changed in the database."""

from typing import Any

import pytest

from planbook.config import Config
from planbook.report import report_runs
from planbook.report.inside.evaluated import Passed
from planbook.report.inside.places import Place
from planbook.report.inside.scopes import told
from planbook.report.tables import asked
from planbook.store import Event
from tests.reported import Page, written
from tests.searching import graph, played

STEPS = "task/0/round/0/pass"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = written(tmp_path_factory.mktemp("graph") / "run", lambda path: played(path, "automanual", graph))
    report_runs([folder], None, None, as_json=True)
    return Page(folder / "report.html")


def node(number: int, name: str, layer: int, n: int = 0, **more: Any) -> Event:
    return Event(f"{STEPS}/{number}", "node", n, {"node": name, "layer": layer, "number": number, **more}, 0.0)


def passes(*events: Event) -> list[Passed]:
    (round_,) = told("task/0", events, "a").items
    assert isinstance(round_, Place)
    return [
        item for place in round_.items if isinstance(place, Place) for item in place.items if isinstance(item, Passed)
    ]


def test_nodes_stand_by_layer_and_the_database_is_followed_from_pass_to_pass() -> None:
    first, second = passes(
        node(0, "b", 1, 0, stored={"x": 1}),
        node(0, "a", 0, 1, stored={"y": None, "z": [1]}),
        node(1, "a", 0, 0, stored={"y": None, "z": [2]}),
        node(1, "b", 1, 1, stored={"x": 1}),
    )
    assert [(layer, [each.node.node for each in nodes]) for layer, nodes in first.layers] == [(0, ["a"]), (1, ["b"])]
    assert {each.path: each.before for each in first.changes} == {"x": "", "y": "", "z": ""}
    assert [(each.path, each.before.split(), each.now.split()) for each in second.changes] == [
        ("z", ["[", "1", "]"], ["[", "2", "]"])
    ]


def test_a_skipped_node_leads_to_where_it_was_answered() -> None:
    first, second, third = passes(
        node(0, "a", 0, answer="x"),
        node(1, "a", 0, skipped=True, answer="x"),
        node(2, "a", 0, skipped=True, answer="x"),
    )
    assert (second.nodes[0].last, second.nodes[0].last_pass) == (first.nodes[0].anchor, 0)
    assert third.nodes[0].last == first.nodes[0].anchor
    (never,) = passes(node(0, "a", 0, skipped=True, answer="instead"))
    assert (never.nodes[0].last, never.nodes[0].answer) == ("", "instead")
    assert [(each.reused, each.skipped) for each in (first, second, never)] == [(0, 0), (1, 0), (0, 1)]


def test_of_a_long_game_the_prompts_at_both_ends_are_shown() -> None:
    every = passes(*(node(number, "a", 0) for number in range(50)))
    assert [each.number for each in every if not each.in_full] == list(range(20, 30))
    assert all(each.in_full for each in passes(*(node(number, "a", 0) for number in range(40))))


def test_an_episode_that_was_started_over_begins_with_an_empty_database() -> None:
    again = Event("task/0/restart/1/round/0/pass/0", "node", 0, {"node": "a", "stored": {"x": 1}}, 0.0)
    items = told("task/0", [node(0, "a", 0, stored={"x": 1}), again], "a").items
    last = items[-1]
    while isinstance(last, Place):
        last = last.items[-1]
    assert isinstance(last, Passed)
    assert [each.path for each in last.changes] == ["x"]


def test_the_page_has_every_node_with_its_prompts(page: Page) -> None:
    first, second, third = page.all("details", class_="passed")
    assert first.strip().startswith("Pass 0 4 nodes answered; 4 changes of the database")
    assert second.strip().startswith("Pass 1 3 nodes answered, 1 kept the answer of before; 2 changes of the database")
    nodes = page.all("details", class_="node")
    assert len(nodes) == 12
    assert len(page.all("details", class_="asked")) == 11
    (reused,) = page.all("details", class_="skipped")
    assert [node for node in nodes if " was asked" not in node] == [reused]
    assert "as answered in pass 0" in reused
    assert sum("temporary" in each for each in nodes) == 3
    assert "given the answers of plan, doubt" in third


def test_answers_are_told_as_they_are_and_do_no_harm(page: Page) -> None:
    answers = page.all("pre", class_="answer")
    assert any('"done when": [' in each for each in answers)
    assert any("\\x1b[31m" in each for each in answers)
    assert page.source.count("<script>") == 1
    names = page.values("id")
    assert len(names) == len(set(names))
    assert {link.removeprefix("#") for link in page.values("href")} <= set(names)


def test_the_figures_stand_above_the_episodes(page: Page) -> None:
    (section,) = page.all("section", class_="graph")
    assert "3 passes, 3.0 a task. Of the nodes, 11 were answered by a model, 1 kept the answer of before" in section


def test_the_graph_that_was_gone_through_is_named_where_it_was_not_chosen() -> None:
    assert asked(Config(planner="agentkit", env="toy", actions=5))["planner_options"]["graph"] == "general"
    assert asked(Config(planner="agentkit", env="crafter", actions=5))["planner_options"]["graph"] == "crafter"
    assert asked(Config(planner="agentkit", env="moon", actions=5))["planner_options"] == {}
    assert asked(Config(planner="random", env="crafter", actions=5))["planner_options"] == {"steps": None}
