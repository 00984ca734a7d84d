"""TextCraft: actions, tolerated spellings, refusals, and goals for selectors."""

import pytest

from planbook.envs import Action, EpisodeEnded, Observation
from planbook.envs.textcraft import Textcraft
from tests.envs.playing import do, started

HOPPER_MINECART = "test/1"
PAINTING = "test/85"


def start(task_id: str = HOPPER_MINECART) -> Textcraft:
    return started(Textcraft, task_id)


def test_crafting_the_target_ends_the_episode() -> None:
    environment = start()
    do(environment, "get 10 iron ingot", "get 2 oak logs", *["craft 4 oak planks using 1 oak logs"] * 2)
    do(environment, "craft 1 chest using 8 oak planks", "craft 1 hopper using 1 chest, 5 iron ingot")
    assert not do(environment, "craft 1 minecart using 5 iron ingot").terminated
    assert (environment.verdict().solved, environment.verdict().score) == (False, 0.0)
    last = do(environment, "craft 1 hopper minecart using 1 hopper, 1 minecart")
    assert last.terminated
    assert last.text == "You craft 1 hopper minecart."
    assert (environment.verdict().solved, environment.verdict().score) == (True, 1.0)
    assert environment.state() == "Inventory: 1 hopper minecart."
    with pytest.raises(EpisodeEnded):
        do(environment, "get 1 oak logs")


@pytest.mark.parametrize(
    "args",
    [
        ("4 oak planks", "1 oak logs"),
        ("4 Oak Planks", "1 OAK LOGS"),
        ("craft 4 oak planks", "using 1 oak logs"),
        (" 4  minecraft:oak_planks ", "1 minecraft:oak_logs."),
        ("oak planks", "1 oak logs"),
        ("1 oak planks", "1 oak logs"),
        ("craft 4 oak planks using 1 oak logs",),
        ("4 oak planks using 1 oak logs", ""),
    ],
)
def test_variations_of_a_command_are_understood(args: tuple[str, ...]) -> None:
    environment = start()
    assert do(environment, "get get 1 Minecraft:Oak_Logs").text == "You get 1 oak logs."
    assert environment.act(Action("craft", args)) == Observation("You craft 4 oak planks.")
    assert environment.inventory() == {"oak planks": 4}


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("get oak logs", "say how many oak logs, such as '2 oak logs'"),
        ("get ", "'' is no count and item, such as '2 oak logs'"),
        ("get 3", "'3' is no count and item"),
        ("get 0 oak logs", "the count of oak logs must be 1 or more"),
        ("get -1 oak logs", "'-1 oak logs' is no count and item"),
        ("get 99999999 oak logs", "'99999999 oak logs' is no count and item"),
        ("get 1 unobtainium", "there is no item called 'unobtainium'"),
        ("get 4 oak planks", "oak planks cannot be got, it has to be crafted."),
        ("get 1 white wool", "white wool cannot be got, it has to be crafted."),
        ("get 2 planks", "planks is a kind of item, so name one of that kind."),
        ("craft 1 hopper", "name the ingredients"),
        ("craft 1 chest using ", "name the ingredients"),
        ("craft 1 hopper using 1 chest, iron ingot", "say how many iron ingot"),
        ("craft 1 hopper using 1 chest, 4 iron ingot", "no recipe makes hopper from exactly 1 chest, 4 iron ingot."),
        ("craft 1 hopper using 1 chest", "no recipe makes hopper from exactly 1 chest"),
        ("craft 1 hopper using 1 chest, 5 iron ingot, 1 stick", "no recipe makes hopper from exactly 1 chest, 5 iron"),
        ("craft 1 chest using 8 planks", "planks is a kind of item"),
        ("craft 1 chest using 4 oak planks, 4 birch planks", "no recipe makes chest from exactly 4 oak planks, 4"),
        ("craft 4 planks using 1 oak logs", "planks is a kind of item"),
        ("craft 1 oak logs using 1 oak wood", "oak logs cannot be crafted, it has to be got"),
        ("craft 1 beehive using 1 oak logs", "no recipe makes beehive from exactly 1 oak logs."),
        ("craft 1 chest using 8 oak planks", "not enough, this takes 8 oak planks (0 carried)."),
        ("craft 1 hopper using 1 chest, 5 iron ingot", "takes 1 chest (0 carried), 5 iron ingot (0 carried)"),
    ],
)
def test_a_refusal_gives_the_reason_and_changes_nothing(call: str, reason: str) -> None:
    environment = start()
    refused = do(environment, "get 3 string", call)
    assert not refused.accepted
    assert refused.text.startswith("Nothing happens: ")
    assert reason in refused.text
    assert environment.state() == "Inventory: 3 string."


def test_the_materials_of_a_goal_are_the_stated_ingredients() -> None:
    goals = start().goals
    assert goals.materials(Action("craft", ("1 hopper", "1 chest, 5 iron ingot"))) == {"chest": 1, "iron ingot": 5}
    assert goals.materials(Action("get", ("1 oak logs",))) == {}
    assert goals.materials(Action("craft", ("1 hopper", "chests"))) == {}
    assert not goals.is_open(Action("craft", ("1 hopper", "1 chest")))


def test_known_goals_are_the_shown_recipes_and_their_raw_ingredients() -> None:
    for task_id in (HOPPER_MINECART, PAINTING):
        environment = start(task_id)
        assert environment.task is not None
        known = environment.goals.list_goals()
        assert len(known) == len(set(known))
        made = {str(goal.args[0]) for goal in known if goal.name == "craft"}
        assert made <= {f"{recipe.count} {recipe.makes}" for recipe in environment.shown_commands}
        assert f"1 {environment.task.params['target']}" in made
        for goal in known:
            seen = start(task_id).act(goal)
            assert seen.accepted if goal.name == "get" else "not enough" in seen.text
