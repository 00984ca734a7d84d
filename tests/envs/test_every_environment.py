"""What environments have in common: selections of tasks, first observations, snapshots and the actions of papers."""

from collections.abc import Callable, Sequence

import pytest
from pydantic import JsonValue

from planbook.envs import Action, BadSelection, Environment, Selection, load_environment
from planbook.envs.alfworld import Alfworld
from planbook.envs.minecraft import Minecraft
from planbook.envs.shopping import Shopping
from planbook.envs.tabletop import Tabletop
from planbook.envs.textcraft import Textcraft
from tests.envs.alfworld_games import winning_actions
from tests.envs.playing import do, started
from tests.minecraft_plans import TO_DIAMOND

CHOSEN: list[tuple[str, Selection, list[str]]] = [
    ("crafter", Selection(limit=2), ["survive/0", "survive/1"]),
    ("crafter", Selection(types=("eat_cow",), seeds=(8,)), ["eat_cow/8"]),
    ("minecraft", Selection(types=("MT8_challenge",), seeds=(4, 5)), ["MT8/diamond/4", "MT8/diamond/5"]),
    ("minecraft", Selection(types=("MT4_dig_down", "MT8_challenge"), limit=2), ["MT4/stone_stairs/0", "MT8/diamond/0"]),
    (
        "miniwob",
        Selection(types=("click-test", "click-link"), seeds=(7, 8)),
        ["click-link/7", "click-test/7", "click-link/8", "click-test/8"],
    ),
    ("miniwob", Selection(ids=("click-button/17",), split="no-feedback", seeds=(3,)), ["click-button/17"]),
    ("shopping", Selection(limit=4), ["test/14", "test/4", "test/1", "test/0"]),
    ("shopping", Selection(ids=("dev/500", "full/3")), ["dev/500", "full/3"]),
    ("tabletop", Selection(limit=1), ["assembling_kits/0"]),
    ("textcraft", Selection(limit=3), ["test/123", "test/11", "test/0"]),
    ("textcraft", Selection(ids=("dev/396", "test/3")), ["dev/396", "test/3"]),
    ("toy", Selection(limit=3, seeds=(7, 8)), ["fetch/7", "fetch_two/7", "fetch/8"]),
]


@pytest.mark.parametrize(("name", "selection", "ids"), CHOSEN)
def test_tasks_are_selected_by_type_seed_limit_and_id(name: str, selection: Selection, ids: list[str]) -> None:
    assert [task.id for task in load_environment(name).select(selection)] == ids


@pytest.mark.parametrize(
    ("name", "selection", "message"),
    [
        ("crafter", Selection(ids=("fly/1",)), "ids have the form TYPE/SEED"),
        ("crafter", Selection(split="open", types=("eat_cow",)), "no task that fits"),
        *(
            ("minecraft", Selection(ids=(task_id,)), "GROUP/ITEM/SEED")
            for task_id in (
                "MT2",
                "MT2/stone_sword",
                "MT2/stone_sword/x",
                "MT1/stone_sword/0",
                "parallel_5/0",
                "MT2/stone_sword/01",
            )
        ),
        ("minecraft", Selection(split="parallel", types=("MT1_basic",)), "no task that fits the selection"),
        ("miniwob", Selection(split="hard"), "no split 'hard'"),
        ("miniwob", Selection(types=("click-nothing",)), "no task type click-nothing"),
        ("miniwob", Selection(split="feedback", types=("click-test",)), "split feedback has no task type click-test"),
        ("miniwob", Selection(ids=("click-button",)), "TYPE/SEED"),
        ("miniwob", Selection(ids=("click-nothing/1",)), "TYPE/SEED"),
        ("shopping", Selection(ids=("test/100",)), "no task 'test/100'; the first is 'test/0'"),
        ("shopping", Selection(seeds=(100,)), "no task has one of the selected seeds"),
        ("tabletop", Selection(ids=("assembling_kits/²",)), "TYPE/SEED"),
        ("textcraft", Selection(ids=("test/200",)), "no task 'test/200'; the first is 'test/0'"),
        ("textcraft", Selection(split="train"), "no split 'train'"),
    ],
)
def test_a_selection_of_tasks_that_do_not_exist_is_refused(name: str, selection: Selection, message: str) -> None:
    with pytest.raises(BadSelection, match=message):
        load_environment(name).select(selection)


@pytest.mark.parametrize(
    ("kind", "task_id", "form", "handoff"),
    [
        (Alfworld, "generated/pick_two_obj/1", "{scene}\nYour task is to: {goal}.", "last action"),
        (Minecraft, "MT2/stone_sword/0", "{scene} {state} Your task is to: {goal}.", "state"),
        *((Tabletop, f"{name}/1", "{scene} {state}\nYour task is to: {goal}.", "state") for name in Tabletop.types),
        (Shopping, "test/0", "{scene}\n\nGoal: {goal}", "note"),
        (Textcraft, "test/1", "{scene}\n\nGoal: {goal}.", "state"),
    ],
)
def test_an_episode_begins_with_the_scene_the_state_and_the_goal(
    kind: type[Environment], task_id: str, form: str, handoff: str
) -> None:
    environment = started(kind, task_id)
    assert environment.task is not None
    scene, goal = environment.scene(), environment.task.goal
    first = environment.reset(environment.task).text
    assert first == form.format(scene=scene, state=environment.state(), goal=goal)
    assert goal not in scene
    assert environment.handoff == handoff


def shopping_trip() -> list[Action]:
    """Return the actions that buy a small body lotion."""
    shop = started(Shopping, "test/0")
    do(shop, "search body lotion")
    do(shop, f"click {shop.clickable()[2]}")
    size = shop.choices()["size"][0]
    do(shop, f"click {size}", "click Attributes", "click < Prev", "click Back to Search", "search rug")
    do(shop, f"click {shop.clickable()[2]}", "click Buy Now")
    return [action for action, _ in shop.history]


def crafting() -> list[Action]:
    """Return the actions that craft a minecart with a hopper."""
    stages = [
        *["get 10 iron ingot", "get 2 oak logs", *["craft 4 oak planks using 1 oak logs"] * 2],
        *["craft 1 chest using 8 oak planks", "craft 1 hopper using 1 chest, 5 iron ingot"],
        *["craft 1 minecart using 5 iron ingot", "craft 1 hopper minecart using 1 hopper, 1 minecart"],
    ]
    crafted = started(Textcraft, "test/1")
    do(crafted, *stages)
    return [action for action, _ in crafted.history]


def facts(environment: Environment) -> list[object]:
    return [environment.state(), environment.attribute_values(), environment.verdict(), environment.ended]


@pytest.mark.parametrize(
    ("kind", "task_id", "actions", "options"),
    [
        (Alfworld, "generated/pick_two_obj/4", lambda: winning_actions("pick_two_obj", 4), {}),
        pytest.param(
            *(Alfworld, "generated/look_at_obj/4", lambda: winning_actions("look_at_obj", 4), {"engine": "textworld"}),
            marks=pytest.mark.deep,
        ),
        (Minecraft, "MT8/diamond/0", lambda: TO_DIAMOND, {}),
        (Shopping, "test/0", shopping_trip, {}),
        (Textcraft, "test/1", crafting, {}),
    ],
)
def test_every_restored_snapshot_continues_as_before_in_any_instance(
    kind: type[Environment], task_id: str, actions: Callable[[], Sequence[Action]], options: dict[str, JsonValue]
) -> None:
    environment, other = started(kind, task_id, **options), kind(kind.Options.model_validate(options))
    plan, snapshots, seen = actions(), [environment.snapshot()], [facts(environment)]
    for action in plan:
        environment.act(action)
        snapshots.append(environment.snapshot())
        seen.append(facts(environment))
    assert environment.ended
    for number, snapshot in enumerate(snapshots):
        assert (snapshot.saved_state is None) == (options.get("engine") == "textworld")
        for restored in (environment, other):
            assert restored.restore(snapshot) == snapshot.last
            assert facts(restored) == seen[number]
            for later, action in enumerate(plan[number:], number + 1):
                assert restored.act(action) == snapshots[later].last
                assert facts(restored) == seen[later]
    environment.close()
    other.close()


@pytest.mark.parametrize(
    ("name", "actions"),
    [
        ("miniwob", "click_xpath click_option type press_key move_mouse_on"),
        ("web", "click type scroll goto go_back go_forward note_down stop"),
    ],
)
def test_the_actions_of_a_paper_come_without_queries(name: str, actions: str) -> None:
    kind = load_environment(name)
    full, paper = (kind.offered(kind.Options.model_validate({"paper_actions": only})) for only in (False, True))
    assert set(paper.actions) == set(actions.split()) < set(full.actions)
    assert full.queries
    assert not paper.queries
