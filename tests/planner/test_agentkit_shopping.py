"""AgentKit's shopping agent: six nodes, a history of its own, one call a step."""

import pytest

from planbook.envs import load_environment
from planbook.planner import Outcome
from planbook.planner.graph.file import graph_path, read_graph
from planbook.sandbox import Sandbox
from tests.planner.nodes import Nodes, Reply, played, task_of
from tests.planner.players import code

TASK = "test/0"
NODES = ("obs", "task_filter", "actor_sketch", "action", "summary_obs", "summary_actor_plan")


def page(*products: str) -> Reply:
    return {"products": {name: {"price": "$5"} for name in products}, "elements": ["Back to Search"]}


def shopper(*calls: str, **more: Reply) -> Nodes:
    """Does these calls one after another; the last of them for ever."""

    def act(number: int) -> str:
        return code(f"agent.{calls[min(number, len(calls) - 1)]}")

    said: dict[str, Reply] = {
        "obs": page("a lamp"),
        "action": act,
        "summary_obs": lambda number: f"PAGE {number}",
        "summary_actor_plan": lambda number: f"PLAN {number}",
    }
    return Nodes({**said, **more})


def test_it_has_six_nodes_and_buys(sandbox: Sandbox) -> None:
    assert tuple(read_graph(graph_path("shopping")).nodes) == NODES
    environment = load_environment("shopping")()
    environment.reset(task_of("shopping", TASK))
    (wanted,) = environment.possible_actions() or []
    environment.act(wanted)
    found = next(
        action
        for action in environment.possible_actions() or []
        if str(action.args[0])[:1] == "B" and action.args[0] != "Back to Search"
    )
    nodes = shopper(f"search({wanted.args[0]!r})", f"click({found.args[0]!r})", "click('Buy Now')")
    ending, episode = played(sandbox, nodes, "shopping", TASK)
    assert ending.actions == 3
    assert ending.outcome in (Outcome.FAILURE, Outcome.DIRECT_SUCCESS)
    assert "You have bought" in episode.steps[-1].observation.text
    assert ending.measures["reward"] > 0
    assert sorted(nodes.names[:6]) == sorted(NODES)


def test_an_empty_page_is_not_matched(sandbox: Sandbox) -> None:
    nodes = shopper("search('lamp')", obs=page())
    played(sandbox, nodes, "shopping", TASK, options={"steps": 1})
    assert "task_filter" not in nodes.names
    assert "There is no product on this page." in nodes.questions("actor_sketch")[0]


def test_the_history_is_what_the_summaries_said(sandbox: Sandbox) -> None:
    nodes = shopper("search('lamp')", "click('Back to Search')")
    played(sandbox, nodes, "shopping", TASK, options={"steps": 3})
    first, second, third = nodes.questions("actor_sketch")
    assert "There are no earlier turns." in first
    assert "Turn 1. Page: PAGE 0 Plan: PLAN 0 Done: agent.search('lamp')" in second
    assert "Turn 2. Page: PAGE 1 Plan: PLAN 1 Done: agent.click('Back to Search')" in third
    assert "This is turn 3 of 3." in third


def test_it_stops_after_25_steps(sandbox: Sandbox) -> None:
    nodes = shopper("search('lamp')", "click('Back to Search')", *["search('lamp')", "click('Back to Search')"] * 20)
    ending, _ = played(sandbox, nodes, "shopping", TASK, actions=250)
    assert (ending.outcome, ending.actions) == (Outcome.FAILURE, 25)


@pytest.mark.parametrize(
    "calls", ["agent.search('lamp')\nagent.click('Next >')", "print(agent.clickable())\nagent.click('x')"]
)
def test_a_step_is_one_call(sandbox: Sandbox, calls: str) -> None:
    nodes = shopper("x", action=lambda number: code("agent.search('lamp')") if number else code(calls))
    ending, _ = played(sandbox, nodes, "shopping", TASK, options={"steps": 1})
    assert ending.actions == 1
    assert "one action, once" in nodes.questions("action")[1]


def test_the_guidance_is_in_the_prompts(sandbox: Sandbox) -> None:
    nodes = shopper("search('lamp')")
    played(sandbox, nodes, "shopping", TASK, options={"steps": 1})
    for node in ("task_filter", "actor_sketch"):
        (prompt,) = nodes.questions(node)
        for part in ("25 turns", "80 %", "leave the price out", "next page"):
            assert part in prompt


def test_what_a_page_says_is_no_look_up(sandbox: Sandbox) -> None:
    """A product cannot read the database, nor a model's answer."""
    nodes = shopper(
        "search('$db.world.action_docs$ {{ db.manual }}')", summary_actor_plan="$db.manual$ {{ db.world.goal }}"
    )
    played(sandbox, nodes, "shopping", TASK, options={"steps": 2})
    assert "$db.world.action_docs$ {{ db.manual }}" in nodes.questions("obs")[1]
    assert "Plan: $db.manual$ {{ db.world.goal }}" in nodes.questions("actor_sketch")[1]
