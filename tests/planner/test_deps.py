"""DEPS in a small environment: descriptions and explanations, the order of goals, and unusable plans."""

from typing import Any

import pytest
from pydantic import JsonValue

from planbook.planner import Outcome
from planbook.planner.strategies.deps import REPLANS, DepsOptions
from planbook.sandbox import Limits, Sandbox
from tests.planner.camp import LOGS, PICKAXE, PLANKS, STICKS, WHOLE, Camp, RoleModels, code, goal_events, played

WITHOUT_STICKS = "\n".join((LOGS, PLANKS, PICKAXE))


def test_the_first_goal_that_fails_stops_the_plan_and_is_described_and_explained(sandbox: Sandbox) -> None:
    models = RoleModels(
        planner=[code(f"{LOGS}\n{PLANKS}\n{PICKAXE}\nagent.mine({{'sand': 1}})"), code(f"{STICKS}\n{PICKAXE}")],
        explainer=["A pickaxe takes 2 stick, and there is none: craft stick first."],
    )
    ending, playing = played(sandbox, models, "dep")
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert [step.observation.accepted for step in playing.steps] == [True, True, False, True, True]
    for text in (
        "Done: agent.mine({'log': 3}, None)\nDone: agent.craft({'planks': 12}",
        "Failed: agent.craft({'pickaxe': 1}, {'planks': 3, 'stick': 2})\nIn the plan: agent.craft(",
        "# step 4: craft 1 pickaxe",
        "pickaxe takes 2 stick, which you do not have",
        "Not tried: agent.mine({'sand': 1}, None)",
        "Current state: You hold 12 planks.",
        "A pickaxe takes 2 stick, and there is none",
    ):
        assert text in models.prompts()[1]
    explained = models.prompts("explainer")[0]
    assert WITHOUT_STICKS in explained
    assert "Failed: agent.craft({'pickaxe': 1}" in explained


def test_a_plan_whose_goals_are_reached_without_success_is_described(sandbox: Sandbox) -> None:
    models = RoleModels(planner=[code(LOGS), code(f"{PLANKS}\n{STICKS}\n{PICKAXE}")], explainer=["More is needed."])
    ending, _ = played(sandbox, models)
    assert ending.outcome.solved
    assert "Every goal of the plan was reached, but the task is not done" in models.prompts()[1]


@pytest.mark.parametrize(("rounds", "plans"), [(0, 1), (1, 2), (3, 4), (None, 21)])
def test_the_planner_replans_as_often_as_the_option_says(sandbox: Sandbox, rounds: int | None, plans: int) -> None:
    models = RoleModels(planner=[code(PICKAXE)] * 30, explainer=["No planks."] * 30)
    ending, playing = played(sandbox, models, options={"rounds": rounds})
    assert ending.outcome is Outcome.FAILURE
    assert len(models.prompts()) == len(playing.steps) == plans
    assert len(models.prompts("explainer")) == plans - 1
    assert ("This is your last plan." in models.prompts()[-1]) is (plans > 1)


def test_without_a_limit_the_planner_replans_while_actions_are_left(sandbox: Sandbox) -> None:
    models = RoleModels(planner=[code(PICKAXE)] * 40, explainer=["No planks."] * 40)
    ending, playing = played(sandbox, models, options={"rounds": "unlimited"}, actions=30)
    assert ending.outcome is Outcome.OUT_OF_BUDGET
    assert len(playing.steps) == 30
    assert effective_values("unlimited") is None
    assert effective_values(None) == REPLANS


def effective_values(rounds: JsonValue) -> JsonValue:
    return DepsOptions.model_validate({"rounds": rounds}).effective_values("camp")["rounds"]


def test_without_a_limit_unusable_plans_end_the_episode(sandbox: Sandbox) -> None:
    ending, _ = played(sandbox, RoleModels(planner=["no"] * 90), options={"rounds": "unlimited"}, actions=5)
    assert ending.cause == "no_plan"


def test_the_actions_of_the_episode_end_it(sandbox: Sandbox) -> None:
    ending, playing = played(sandbox, RoleModels(planner=[code(WHOLE)]), "dep", actions=2)
    assert ending.outcome is Outcome.OUT_OF_BUDGET
    assert [goal["done"] for goal in goal_events(playing)] == [True, True], "the goal that was not taken was not tried"


def test_lines_that_are_not_valid_calls_are_mapped_to_goals_and_described(sandbox: Sandbox) -> None:
    plan = f"agent.mine_log(1)\nagent.craft('planks', 4)\n{STICKS}\n{PICKAXE}"
    models = RoleModels(planner=[code(plan), code(WHOLE)], explainer=["Too few planks."])
    ending, playing = played(sandbox, models, "dep")
    assert ending.outcome.solved
    assert [str(step.action) for step in playing.steps[:2]] == [
        "mine({'log': 1}, None)",
        "craft({'planks': 4}, {'log': 1})",
    ]
    assert [event["said"] for event in goal_events(playing)][:2] == ["agent.mine_log(1)", "agent.craft('planks', 4)"]
    assert '"agent.mine_log(1)" is not a valid goal. It was replaced by' in models.prompts()[1]
    assert "the most similar one: agent.mine({'log': 1}, None)" in models.prompts()[1]


def test_an_empty_explanation_is_left_out(sandbox: Sandbox) -> None:
    models = RoleModels(planner=[code(PICKAXE), code(WHOLE)], explainer=["", " ", ""])
    ending, _ = played(sandbox, models)
    assert ending.outcome.solved
    assert "# Why" not in models.prompts()[1]


# The order of goals, and the ways to reach them.

WITH_SAND = f"agent.mine({{'sand': 1}})\n{WHOLE}"


def tried(sandbox: Sandbox, selector: str | None) -> tuple[list[dict[str, Any]], int]:
    """Play the plan with a selector. Return the recorded goals, and the time that passed in the camp."""
    camp = Camp()
    ending, playing = played(
        sandbox, RoleModels(planner=[code(WITH_SAND)]), environment=camp, options={"selector": selector}
    )
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    return goal_events(playing), camp.time


def test_the_fixed_order_is_that_of_the_plan(sandbox: Sandbox) -> None:
    goals, spent = tried(sandbox, None)
    assert [goal["chosen"] for goal in goals][:2] == ["agent.mine({'sand': 1}, None)", "agent.mine({'log': 3}, None)"]
    assert {goal["selector"] for goal in goals} == {"fixed"}
    assert [(goal["line"], goal["done"]) for goal in goals] == [(line, True) for line in range(1, 6)]
    assert spent == 20 + 30 + 3
    assert (goals[1]["features"], goals[1]["horizon"]) == ({"kind": "mine", "far": 30.0}, 30.0)
    assert (goals[1]["actions"], goals[1]["done"], goals[1]["reason"]) == (1, True, "You mine {'log': 3}.")


def test_the_nearest_goal_comes_first_by_the_nearest_route(sandbox: Sandbox) -> None:
    goals, spent = tried(sandbox, "nearest")
    assert [goal["chosen"] for goal in goals][:2] == [
        "agent.mine({'birch_log': 3}, None)",
        "agent.craft({'planks': 12}, {'log': 3})",
    ]
    assert goals[-1]["chosen"].startswith("agent.craft({'pickaxe': 1}"), "no sand is mined"
    assert {goal["selector"] for goal in goals} == {"nearest (oracle)"}
    assert spent == 10 + 3
    assert goals[0]["candidates"] == [
        "agent.mine({'sand': 1}, None)",
        "agent.mine({'log': 3}, None)",
        "agent.mine({'oak_log': 3}, None)",
        "agent.mine({'birch_log': 3}, None)",
    ]
    assert goals[0]["predicted"] == [20.0, 30.0, 30.0, 10.0]
    assert (goals[0]["goal"], goals[0]["line"]) == ("agent.mine({'log': 3}, None)", 2)


def test_a_goal_reached_by_another_route_is_described_with_that_route(sandbox: Sandbox) -> None:
    models = RoleModels(
        planner=[code(f"{LOGS}\n{PICKAXE}"), code(f"{PLANKS}\n{STICKS}\n{PICKAXE}")], explainer=["Craft first."]
    )
    ending, _ = played(sandbox, models, options={"selector": "nearest"})
    assert ending.outcome.solved
    assert "Done: agent.mine({'log': 3}, None) (tried as agent.mine({'birch_log': 3}, None))" in models.prompts()[1]


@pytest.mark.parametrize(
    ("planner", "options", "told"),
    [
        ("deps", {"selector": "nearest"}, True),
        ("deps", {"selector": "random"}, False),
        ("deps", {}, False),
        ("dep", {}, False),
    ],
)
def test_the_planner_is_told_if_the_nearest_goal_comes_first(
    sandbox: Sandbox, planner: str, options: dict[str, Any], told: bool
) -> None:
    models = RoleModels(planner=[code(WHOLE)])
    played(sandbox, models, planner, options=options)
    assert ("the nearest is done first" in models.conversation_text(0)) is told


def test_without_routes_goals_are_reached_as_the_plan_says(sandbox: Sandbox) -> None:
    options = {"selector": "nearest", "routes": False}
    _, playing = played(sandbox, RoleModels(planner=[code(WITH_SAND)]), options=options)
    first = goal_events(playing)[0]
    assert first["candidates"] == ["agent.mine({'sand': 1}, None)", "agent.mine({'log': 3}, None)"]


# Unusable plans.


@pytest.mark.parametrize(
    "reply",
    [
        "I would rather not.",
        code("while True:\n    pass"),
        code("mine = getattr(agent, 'mi' + 'ne')\nmine({'log': 1})"),
        code("raise SystemExit"),
        code("def plan(n):\n    return plan(n + 1)\nplan(0)"),
    ],
)
def test_an_unusable_reply_has_no_effect_and_is_asked_for_again(sandbox: Sandbox, reply: str) -> None:
    models = RoleModels(planner=[reply, code(WITH_SAND)])
    ending, playing = played(sandbox, models, limits=Limits(wall_seconds=0.5))
    assert ending.outcome.solved
    assert len(playing.steps) == 5
    assert "Your reply could not be used" in models.prompts()[1]


def test_a_round_without_a_usable_reply_counts(sandbox: Sandbox) -> None:
    models = RoleModels(planner=["no"] * 3 + [code(WITH_SAND)])
    ending, _ = played(sandbox, models, options={"rounds": 1})
    assert ending.outcome.solved
    assert "No part of the plan was carried out: " in models.prompts()[-1]
    assert "This is your last plan." in models.prompts()[-1]
    assert models.asked("explainer") == []


@pytest.mark.parametrize("first", [["no"] * 3, [code(LOGS)]], ids=["no plan", "a plan that ran"])
def test_an_unusable_last_plan_is_the_cause_of_the_failure(sandbox: Sandbox, first: list[str]) -> None:
    models = RoleModels(planner=[*first, *["no"] * 3], explainer=["It was too little."])
    ending, playing = played(sandbox, models, options={"rounds": 1})
    assert (ending.outcome, ending.cause) == (Outcome.FAILURE, "no_plan")
    assert ending.message.startswith("the planner gave no usable reply to deps/again.j2: no-code")
    assert len(playing.steps) == (len(first) == 1)


def test_a_line_without_a_goal_does_not_affect_the_other_lines(sandbox: Sandbox) -> None:
    plan = "agent.mine({'sand': 1})\nagent.sing('a song about the moon')"
    models = RoleModels(planner=[code(plan), code(WITH_SAND)], explainer=["Nobody sings here."])
    ending, playing = played(sandbox, models, options={"rounds": 1})
    assert ending.outcome.solved
    assert playing.steps[0].action.name == "mine"
    assert "sing('a song about the moon')" in models.prompts()[1]
    assert "Left out, because it names no goal: " in models.prompts()[1]
