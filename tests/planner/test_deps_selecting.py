"""DEPS choosing among goals: in which order they are done, in which way, and what is written down of it."""

import time
from collections.abc import Sequence
from typing import Any

import pytest

from planbook.envs import MissingRequirement
from planbook.planner import MemoryJournal, Outcome
from planbook.sandbox import Sandbox
from tests.planner.camp import Camp, Voices, code, goal_events, played

FIRST = ["agent.mine({'sand': 1})", "agent.mine({'log': 3})"]
REST = [
    "agent.craft({'planks': 12}, {'log': 3})",
    "agent.craft({'stick': 4}, {'planks': 2})",
    "agent.craft({'pickaxe': 1}, {'planks': 3, 'stick': 2})",
]
PLAN = "\n".join(FIRST + REST)


def chosen(sandbox: Sandbox, selector: str | None, plan: str = PLAN) -> tuple[list[str], Sequence[Any], int]:
    journal, environment = MemoryJournal(), Camp()
    options: dict[str, Any] = {"selector": selector} if selector else {}
    ending, _ = played(sandbox, Voices(planner=[code(plan)]), environment=environment, journal=journal, **options)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    events = goal_events(journal)
    return [event["chosen"] for event in events], events, environment.time


def test_the_fixed_order_is_that_of_the_plan(sandbox: Sandbox) -> None:
    order, events, spent = chosen(sandbox, None)
    assert order[:2] == ["agent.mine({'sand': 1}, None)", "agent.mine({'log': 3}, None)"]
    assert {event["selector"] for event in events} == {"fixed"}
    assert spent == 20 + 30 + 3


def test_the_nearest_goal_comes_first_and_by_the_nearest_way(sandbox: Sandbox) -> None:
    order, events, spent = chosen(sandbox, "nearest")
    assert order[:2] == ["agent.mine({'birch_log': 3}, None)", "agent.craft({'planks': 12}, {'log': 3})"]
    assert order[-1].startswith("agent.craft({'pickaxe': 1}"), "the sand is left where it is"
    assert {event["selector"] for event in events} == {"nearest (oracle)"}
    assert spent == 10 + 3
    assert events[0]["candidates"] == [
        "agent.mine({'sand': 1}, None)",
        "agent.mine({'log': 3}, None)",
        "agent.mine({'oak_log': 3}, None)",
        "agent.mine({'birch_log': 3}, None)",
    ]
    assert events[0]["predicted"] == [20.0, 30.0, 30.0, 10.0]
    assert (events[0]["goal"], events[0]["line"]) == ("agent.mine({'log': 3}, None)", 2)


def test_a_random_order_is_the_same_for_the_same_seed(sandbox: Sandbox) -> None:
    order = chosen(sandbox, "random")[0]
    assert order == chosen(sandbox, "random")[0]
    crafted = [call for call in order if "craft" in call]
    assert [call.split("'")[1] for call in crafted] == ["planks", "stick", "pickaxe"]


def test_a_goal_waits_while_an_earlier_one_needs_its_material(sandbox: Sandbox) -> None:
    """The box could be made at once, but takes the planks that the sticks need."""
    plan = "\n".join([FIRST[1], *REST[:2], "agent.craft({'box': 1}, {'planks': 4})", REST[2]])
    order = chosen(sandbox, "nearest", plan)[0]
    assert [call.split("'")[1] for call in order] == ["birch_log", "planks", "stick", "box", "pickaxe"]


def test_what_a_selector_learns_from_is_written_down(sandbox: Sandbox) -> None:
    event = chosen(sandbox, "fixed")[1][1]
    assert (event["features"], event["horizon"]) == ({"kind": "mine", "far": 30.0}, 30.0)
    assert (event["actions"], event["done"], event["reason"]) == (1, True, "You mine {'log': 3}.")


def test_a_goal_done_in_another_way_is_described_so(sandbox: Sandbox) -> None:
    voices = Voices(planner=[code(f"{FIRST[1]}\n{REST[2]}"), code("\n".join(REST))], explainer=["Craft first."])
    ending, _ = played(sandbox, voices, selector="nearest")
    assert ending.outcome.solved
    assert "Done: agent.mine({'log': 3}, None) (in this way: agent.mine({'birch_log': 3}, None))" in voices.prompts()[1]


def test_a_selector_that_has_nothing_to_learn_from_is_an_error_that_says_so(sandbox: Sandbox) -> None:
    with pytest.raises(MissingRequirement, match="no recorded goals"):
        played(sandbox, Voices(planner=[code(PLAN)]), selector="horizon")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I would rather not.",
        code("while True:\n    pass"),
        code("for n in range(100_000):\n    agent.mine({'log': 1})"),
        code("agent.mine = None\nagent = None"),
        code("mine = getattr(agent, 'mi' + 'ne')\nmine({'log': 1})"),
        code("agent.inventory.__globals__['world'].held = {'pickaxe': 1}"),
        code("import os, socket\nos.system('true')"),
        code("raise SystemExit"),
        code("def plan(n):\n    return plan(n + 1)\nplan(0)"),
    ],
)
def test_hostile_replies_change_nothing_and_are_asked_for_again(sandbox: Sandbox, reply: str) -> None:
    voices = Voices(planner=[reply, code(PLAN)])
    begun = time.monotonic()
    ending, playing = played(sandbox, voices, seconds=0.5)
    assert ending.outcome.solved
    assert len(playing.steps) == 5
    assert "Your reply could not be used" in voices.prompts()[1]
    assert time.monotonic() - begun < 20


def test_replies_that_cannot_be_used_cost_a_round(sandbox: Sandbox) -> None:
    voices = Voices(planner=["no"] * 3 + [code(PLAN)])
    ending, _ = played(sandbox, voices, rounds=1)
    assert ending.outcome.solved
    assert "Nothing of it was done: " in voices.prompts()[-1]
    assert "This is your last plan." in voices.prompts()[-1]
    assert voices.asked["explainer"] == []


def test_a_line_that_names_no_goal_fails_alone(sandbox: Sandbox) -> None:
    plan = "agent.mine({'sand': 1})\nagent.sing('a song about the moon')"
    voices = Voices(planner=[code(plan), code(PLAN)], explainer=["Nobody sings here."])
    ending, playing = played(sandbox, voices, rounds=1)
    assert ending.outcome.solved
    assert playing.steps[0].action.name == "mine"
    assert "sing('a song about the moon')" in (told := voices.prompts()[1])
    assert "names no goal; it was left out." in told


def test_a_planner_that_only_sends_what_cannot_be_used_has_failed(sandbox: Sandbox) -> None:
    voices = Voices(planner=["no"] * 6)
    ending, playing = played(sandbox, voices, rounds=1)
    assert (ending.outcome, ending.cause) == (Outcome.FAILURE, "no_plan")
    assert playing.steps == []
