"""AgentKit as a method: whole episodes whose nodes reply as they are told to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from planbook.planner import FeedbackKind, MemoryJournal, Outcome
from planbook.planner.errors import BadGraphFile, ModelUnavailable
from planbook.planner.graph.file import SHIPPED_GRAPHS
from planbook.planner.graph.node import GraphFile
from planbook.planner.strategies.agentkit import MAX_IDLE, AgentKitOptions, roles_of
from planbook.sandbox import Sandbox
from tests.planner.nodes import Nodes, Reply, played
from tests.planner.pieces import cuts, timeless
from tests.planner.players import SOLVE, TASK, code
from tests.spanning import held

TASK_ID = TASK.id
WRONG = code("agent.open('box_1', 'box_2')")


GRAPH = """
nodes:
  look: {prompt: "What is in {{ db.world.observation }}?", model: small}
  plan:
    after: [look]
    when: look != "nothing new"
    prompt: "Plan for {{ db.world.goal }}."
    expect: {goal: text}
    store: {plan: answer.goal}
  act:
    after: [plan]
    expect: code
    prompt: >
      Step {{ db.step.number }} of {{ db.step.most }}: {{ db.plan | default("no plan") }}.
      Last: {{ db.last.feedback | default("none") }}
code: act
"""


def graph_named(name: str) -> GraphFile:
    """Return a graph that plays an environment, by its name or file."""
    return AgentKitOptions(graph=name).graph_file("toy")


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(GRAPH)
    return str(path)


def replies(**more: Reply) -> dict[str, Reply]:
    return {"plan": {"goal": "open boxes"}, "act": code("agent.open('box_1')"), **more}


@pytest.mark.parametrize("graph", ["chain-of-thought", "general", "spring"])
def test_a_shipped_graph_plays_to_the_end_of_the_task(sandbox: Sandbox, graph: str) -> None:
    nodes = Nodes(
        {graph_named(graph).code or "": lambda number: code("agent.open('box_1')") if number == 0 else code(SOLVE)}
    )
    ending, episode = played(sandbox, nodes, "toy", TASK_ID, options={"graph": graph})
    assert ending.outcome is Outcome.DIRECT_SUCCESS, ending.message
    assert len(episode.cells) == 2
    assert any("agent.open('box_1') -> You open box_1." in text for _, _, text in nodes.asked), (
        "the second pass is told"
    )


def test_the_graph_of_an_environment_is_taken_unless_another_is_named() -> None:
    assert AgentKitOptions().graph_name("crafter") == "crafter"
    assert AgentKitOptions().graph_name("toy") == "general"
    assert AgentKitOptions(graph="spring").graph_name("crafter") == "spring"


def test_every_shipped_graph_writes_plan_code_and_is_explained() -> None:
    names = {path.stem for path in SHIPPED_GRAPHS.glob("*.yaml")}
    assert names == {"chain-of-thought", "crafter", "general", "shopping", "spring"}
    for name in names:
        file = graph_named(name)
        assert file.code
        assert file.about.endswith(".")


@pytest.mark.parametrize(("name", "told"), [("nosuch", "crafter, general, shopping"), ("mine", "code: NODE")])
def test_a_graph_that_cannot_play_is_refused_at_once(tmp_path: Path, name: str, told: str) -> None:
    path = tmp_path / "mine"
    path.write_text("nodes: {look: {prompt: What is there?}}")
    with pytest.raises(BadGraphFile, match=told):
        graph_named(str(path) if name == "mine" else name)


def test_the_roles_are_those_that_the_nodes_name(graph: str) -> None:
    assert set(roles_of(AgentKitOptions(graph=graph), "toy")) == {"small", "graph"}
    assert set(roles_of(AgentKitOptions(), "crafter")) == {"small", "large"}


def test_nodes_ask_their_own_models_and_a_pass_lies_in_the_step(sandbox: Sandbox, graph: str) -> None:
    journal, nodes = MemoryJournal(), Nodes(replies())
    played(sandbox, nodes, "toy", TASK_ID, options={"graph": graph, "steps": 2}, journal=journal)
    assert [(role, node) for role, node, _ in nodes.asked] == [
        ("small", "look"),
        ("graph", "plan"),
        ("graph", "act"),
    ] * 2
    path = "task/0/round/0/step/1"
    assert (f"{path}/plan/0", "ask", 0) in journal.events
    assert [node["stored"] for node in held(journal, "node") if node["node"] == "plan"][1] == {"plan": "open boxes"}
    assert [body["scope"] for (_, kind, _), body in journal.events.items() if kind == "cell"] == [
        "task/0/round/0/step/0",
        path,
    ]


def test_what_the_last_code_came_to_is_in_the_next_pass(sandbox: Sandbox, graph: str) -> None:
    nodes = Nodes(replies(act=lambda number: [WRONG, code("agent.open('box_1')"), code(SOLVE)][number]))
    ending, episode = played(sandbox, nodes, "toy", TASK_ID, options={"graph": graph})
    assert ending.outcome is Outcome.INDIRECT_SUCCESS
    assert [cell.feedback.kind for cell in episode.cells] == [
        FeedbackKind.CHECK,
        FeedbackKind.UNFINISHED,
        FeedbackKind.DONE,
    ]
    first, second, third = nodes.questions("act")
    assert first.startswith("### plan")
    assert "Step 0 of 60: open boxes. Last: none" in first
    assert "The code was not run. Mend this first" in second
    assert "You open box_1" in third


def test_the_scene_is_told_where_the_observation_does_not_tell_it(sandbox: Sandbox) -> None:
    nodes = Nodes({"think_and_act": code("agent.open('box_1')")})
    played(sandbox, nodes, "toy", TASK_ID, options={"graph": "chain-of-thought", "steps": 2})
    first, second = nodes.questions("think_and_act")
    assert (first.count("You see box_1"), first.count("The same as now.")) == (1, 1)
    assert (second.count("You see box_1"), second.count("The same as now.")) == (1, 0)


@pytest.mark.parametrize("graph", ["chain-of-thought", "general", "spring"])
def test_other_graphs_play_with_the_manual_of_the_environments_own(sandbox: Sandbox, graph: str) -> None:
    nodes = Nodes({graph_named(graph).code or "": code("agent.search('lamp')")})
    played(sandbox, nodes, "shopping", "test/0", options={"graph": graph, "steps": 1})
    assert any("good enough to buy" in text for _, _, text in nodes.asked)


HOSTILE: Mapping[str, Mapping[str, Reply]] = {
    "no JSON": {"plan": "My plan is to open boxes."},
    "broken JSON": {"plan": '```json\n{"goal": "open boxes\n```'},
    "another form": {"plan": {"goal": ["open", "boxes"]}},
    "nothing": {"look": ""},
    "no code": {"act": "I would open a box."},
    "not applicable": {"act": "N/A"},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_node_without_an_answer_ends_the_episode_and_nothing_is_passed_on(
    sandbox: Sandbox, graph: str, name: str
) -> None:
    nodes = Nodes(replies(**HOSTILE[name]))
    ending, episode = played(sandbox, nodes, "toy", TASK_ID, options={"graph": graph})
    (failing,) = HOSTILE[name]
    assert nodes.names[-3:] == [failing] * 3, "asked again twice, each time with what was wrong"
    first, second, _ = nodes.questions(failing)
    assert "could not be used" in second
    assert first not in second
    assert (ending.outcome, ending.cause, ending.error_steps, ending.actions) == (Outcome.FAILURE, "parse", 1, 0)
    assert episode.cells[0].code == ""
    assert failing in episode.cells[0].feedback.text


def test_steps_that_do_nothing_come_to_an_end(sandbox: Sandbox, graph: str) -> None:
    nodes = Nodes(replies(act=code("print('waiting')")))
    ending, episode = played(sandbox, nodes, "toy", TASK_ID, options={"graph": graph})
    assert len(episode.cells) == MAX_IDLE
    assert ending.outcome is Outcome.FAILURE


def test_names_of_one_steps_code_are_gone_in_the_next(sandbox: Sandbox, graph: str) -> None:
    nodes = Nodes(
        replies(act=lambda number: code("seen = 1\nagent.open('box_1')") if number == 0 else code("print(seen)"))
    )
    _, episode = played(sandbox, nodes, "toy", TASK_ID, options={"graph": graph, "steps": 2})
    assert episode.cells[1].feedback.kind is FeedbackKind.CHECK


def by_node(**more: Reply) -> dict[str, Reply]:
    """Replies that depend on nothing but what is asked."""
    return replies(act=code("agent.open('box_1')", "agent.open('box_2')"), **more)


def test_an_episode_cut_off_anywhere_ends_in_the_same_journal(sandbox: Sandbox, graph: str) -> None:
    options = {"graph": graph, "steps": 3}
    whole, nodes = MemoryJournal(), Nodes(by_node())
    ending, _ = played(sandbox, nodes, "toy", TASK_ID, options=options, journal=whole)
    events = list(whole.events.items())
    assert len(events) > 25
    for cut in cuts(whole):
        journal, again = MemoryJournal(), Nodes(by_node())
        journal.events = dict(events[:cut])
        assert played(sandbox, again, "toy", TASK_ID, options=options, journal=journal)[0] == ending
        assert timeless(journal) == timeless(whole)
        answered = sum(kind == "ask" for (_, kind, _), _ in events[:cut])
        assert len(again.asked) == len(nodes.asked) - answered, "nothing is asked twice"


def test_a_model_that_does_not_answer_stops_the_run(sandbox: Sandbox, graph: str) -> None:
    def down(number: int) -> Any:
        raise ModelUnavailable("the server is down")

    with pytest.raises(ModelUnavailable):
        played(sandbox, Nodes(replies(plan=down)), "toy", TASK_ID, options={"graph": graph})
