"""AgentKit: whole episodes with prompt graphs, on the toy environment and in the web shop."""

import re
from pathlib import Path
from typing import Any

import pytest

from planbook.envs.toy import Toy
from planbook.planner import Ending, Episode, FeedbackKind, MemoryJournal, Outcome
from planbook.planner.errors import BadGraphFile, ModelUnavailable
from planbook.planner.graph.checks import AGENT_VALUES
from planbook.planner.graph.node import GraphFile
from planbook.planner.strategies.agentkit import MAX_IDLE, AgentKitOptions, roles_of
from planbook.sandbox import Sandbox
from tests.pages import ROOT
from tests.planner import episode_kit
from tests.planner.episode_kit import SOLVE, TASK, code
from tests.planner.node_models import NodeModels, Reply, played
from tests.planner.streaming_kit import cut_journals, untimed

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


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(GRAPH)
    return str(path)


def play(
    sandbox: Sandbox, nodes: NodeModels, graph: str, *, steps: int | None = None, **settings: Any
) -> tuple[Ending, Episode]:
    return played(sandbox, nodes, "toy", TASK.id, options={"graph": graph, "steps": steps}, **settings)


def test_the_checks_know_the_values_that_graphs_find(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    prompt = "{{ db.world }} {{ db.last | default({}) }} {{ db.step }}"
    path.write_text(f"code: act\nnodes:\n  act: {{prompt: '{prompt}', expect: code}}\n")
    nodes = NodeModels({"act": code("agent.open('box_1')")})
    played(sandbox, nodes, "toy", TASK.id, options={"graph": str(path), "steps": 2, "actions_per_step": 1})
    found = set(re.findall(r'^ *"(\w+)":', nodes.asked[-1][2], flags=re.MULTILINE))
    assert found == {name for names in AGENT_VALUES.values() for name in names} - {"manual", "knowledge"}
    documented = set(re.findall(r"`db\.(\w+\.\w+)`", (ROOT / "docs" / "graphs.md").read_text()))
    assert documented >= {f"{group}.{name}" for group, names in AGENT_VALUES.items() for name in names}


def replies(**changes: Reply) -> dict[str, Reply]:
    return {"plan": {"goal": "open boxes"}, "act": code("agent.open('box_1')"), **changes}


def shipped(name: str) -> GraphFile:
    return AgentKitOptions(graph=name).graph_file("toy")


@pytest.mark.parametrize("graph", ["chain-of-thought", "general", "spring"])
def test_a_shipped_graph_plays_to_the_end_of_the_task(sandbox: Sandbox, graph: str) -> None:
    nodes = NodeModels({shipped(graph).code or "": lambda number: code(SOLVE if number else "agent.open('box_1')")})
    ending, episode = play(sandbox, nodes, graph)
    assert ending.outcome is Outcome.DIRECT_SUCCESS, ending.message
    assert len(episode.cells) == 2
    assert any("agent.open('box_1') -> You open box_1." in text for _, _, text in nodes.asked), (
        "the second pass sees the result"
    )


@pytest.mark.parametrize("graph", ["chain-of-thought", "general", "spring"])
def test_a_general_graph_uses_the_manual_of_the_environments_own_graph(sandbox: Sandbox, graph: str) -> None:
    nodes = NodeModels({shipped(graph).code or "": code("agent.search('lamp')")})
    played(sandbox, nodes, "shopping", "test/0", options={"graph": graph, "steps": 1})
    assert any("good enough to buy" in text for _, _, text in nodes.asked)


def test_the_code_of_a_step_may_be_limited_to_one_action(sandbox: Sandbox) -> None:
    nodes = NodeModels({"think_and_act": code("while True:", "    agent.noop()")})
    options = {"graph": "chain-of-thought", "steps": 2, "actions_per_step": 1}
    _, episode = played(sandbox, nodes, "crafter", "survive/0", options=options, actions=10)
    assert len(episode.steps) == 2
    assert "The code may take at most 1 action. You will see" in nodes.questions("think_and_act")[0]


def test_a_graph_that_cannot_play_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadGraphFile, match="crafter, general, shopping"):
        shipped("nosuch")
    path = tmp_path / "mine"
    path.write_text("nodes: {look: {prompt: What is there?}}")
    with pytest.raises(BadGraphFile, match="code: NODE"):
        shipped(str(path))


def test_the_roles_are_those_of_the_nodes(graph: str) -> None:
    assert set(roles_of(AgentKitOptions(graph=graph), "toy")) == {"small", "graph"}
    assert set(roles_of(AgentKitOptions(), "crafter")) == {"small", "large"}


def test_the_result_of_the_last_code_is_in_the_next_pass(sandbox: Sandbox, graph: str) -> None:
    codes = [code("agent.open('box_1', 'box_2')"), code("agent.open('box_1')"), code(SOLVE)]
    nodes = NodeModels(replies(act=codes.__getitem__))
    ending, episode = play(sandbox, nodes, graph)
    assert ending.outcome is Outcome.INDIRECT_SUCCESS
    assert [feedback.kind.value for feedback in episode.feedbacks] == ["check", "unfinished", "done"]
    first, second, third = nodes.questions("act")
    assert first.startswith("### plan")
    assert "Step 0 of 60: open boxes. Last: none" in first
    assert "The code was not run. Correct this first" in second
    assert "You open box_1" in third


class Unseen(Toy):
    """A toy environment without a scene."""

    def scene(self) -> str:
        return ""


@pytest.mark.parametrize(("environment", "first"), [(Toy, 1), (Unseen, 0)])
def test_a_scene_that_the_observation_repeats_is_not_shown(
    sandbox: Sandbox, environment: type[Toy], first: int
) -> None:
    nodes = NodeModels({"think_and_act": code("agent.open('box_1')")})
    options = {"graph": "chain-of-thought", "steps": 2}
    episode_kit.played(sandbox, nodes, "agentkit", environment=environment(), options=options)
    prompts = nodes.questions("think_and_act")
    assert [prompt.count("The same as now.") for prompt in prompts] == [first, 0]
    assert [prompt.count("You see box_1") for prompt in prompts] == [first, first]


@pytest.mark.parametrize(
    ("node", "reply"),
    [("plan", '```json\n{"goal": "open boxes\n```'), ("look", ""), ("act", "I would open a box.")],
    ids=["broken JSON", "nothing", "no code"],
)
def test_a_node_without_a_usable_answer_ends_the_episode(sandbox: Sandbox, graph: str, node: str, reply: str) -> None:
    nodes = NodeModels(replies(**{node: reply}))
    ending, episode = play(sandbox, nodes, graph)
    assert nodes.names[-3:] == [node] * 3, "the node is asked two more times"
    first, second, _ = nodes.questions(node)
    assert "could not be used" in second
    assert first not in second
    assert (ending.outcome, ending.cause, ending.error_steps, ending.actions) == (Outcome.FAILURE, "parse", 1, 0)
    assert episode.cells[0].code == ""
    assert node in episode.cells[0].feedback.text


def test_idle_steps_end_the_episode(sandbox: Sandbox, graph: str) -> None:
    ending, episode = play(sandbox, NodeModels(replies(act=code("print('waiting')"))), graph)
    assert len(episode.cells) == MAX_IDLE
    assert ending.outcome is Outcome.FAILURE


def test_each_step_has_its_own_namespace(sandbox: Sandbox, graph: str) -> None:
    codes = [code("seen = 1\nagent.open('box_1')"), code("print(seen)")]
    _, episode = play(sandbox, NodeModels(replies(act=codes.__getitem__)), graph, steps=2)
    assert episode.cells[1].feedback.kind is FeedbackKind.CHECK


def test_an_episode_cut_off_anywhere_ends_in_the_same_journal(sandbox: Sandbox, graph: str) -> None:
    complete, nodes = MemoryJournal(), NodeModels(replies())
    ending, _ = play(sandbox, nodes, graph, steps=3, journal=complete)
    for journal, recorded in cut_journals(complete):
        resumed_nodes = NodeModels(replies())
        assert play(sandbox, resumed_nodes, graph, steps=3, journal=journal)[0] == ending
        assert untimed(journal) == untimed(complete)
        assert len(resumed_nodes.asked) == len(nodes.asked) - recorded, "nothing is asked twice"


def test_an_unavailable_model_stops_the_run(sandbox: Sandbox, graph: str) -> None:
    def down(number: int) -> Any:
        raise ModelUnavailable("the server is down")

    with pytest.raises(ModelUnavailable):
        play(sandbox, NodeModels(replies(plan=down)), graph)


# The agent of the web shop. A recording plays a whole purchase; these are the cases that it lacks.


def page(*products: str) -> Reply:
    return {"products": {name: {"price": "$5"} for name in products}, "elements": ["Back to Search"]}


def shopper(*calls: str, **changes: Reply) -> NodeModels:
    """Models that make these calls in turn, again and again."""
    defaults: dict[str, Reply] = {
        "obs": page("a lamp"),
        "action": lambda number: code(f"agent.{calls[number % len(calls)]}"),
        "summary_obs": lambda number: f"PAGE {number}",
        "summary_actor_plan": lambda number: f"PLAN {number}",
    }
    return NodeModels({**defaults, **changes})


def test_an_empty_page_is_not_filtered(sandbox: Sandbox) -> None:
    nodes = shopper("search('lamp')", obs=page())
    played(sandbox, nodes, "shopping", "test/0", options={"steps": 1})
    assert "task_filter" not in nodes.names
    assert "There is no product on this page." in nodes.questions("actor_sketch")[0]


def test_the_agent_stops_after_25_steps(sandbox: Sandbox) -> None:
    nodes = shopper("search('lamp')", "click('Back to Search')")
    ending, _ = played(sandbox, nodes, "shopping", "test/0", actions=250)
    assert (ending.outcome, ending.actions) == (Outcome.FAILURE, 25)


def test_a_step_is_one_call(sandbox: Sandbox) -> None:
    two_calls = "agent.search('lamp')\nagent.click('Next >')"
    nodes = shopper("x", action=lambda number: code("agent.search('lamp')" if number else two_calls))
    ending, _ = played(sandbox, nodes, "shopping", "test/0", options={"steps": 1})
    assert ending.actions == 1
    assert "exactly one call of an action" in nodes.questions("action")[1]
