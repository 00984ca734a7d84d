"""What an ALFWorld game admits, as actions: all of it works, nothing else does, and textworld says the same."""

from itertools import product
from random import Random

import pytest

from planbook.envs.alfworld import Alfworld, AlfworldOptions
from planbook.envs.alfworld.goals import TYPES
from planbook.envs.alfworld.wording import as_action
from planbook.envs.toy import Toy
from planbook.envs.types import Action, Selection


def begun(kind: str, seed: int, **options: str) -> Alfworld:
    world = Alfworld(AlfworldOptions.model_validate(options))
    world.reset(Alfworld.tasks(Selection(ids=(f"generated/{kind}/{seed}",)))[0])
    return world


def step_of(world: Alfworld, dice: Random) -> Action:
    """One of the possible actions, rather one that handles things."""
    possible = world.possible_actions()
    handling = [each for each in possible if each.name not in ("go_to", "look", "inventory", "examine", "close")]
    return dice.choice(handling if handling and dice.random() < 0.6 else possible)


def every_action(world: Alfworld, dice: Random, count: int) -> list[Action]:
    """Actions drawn from all that can be written with the names that were ever seen."""
    seen = sorted({str(thing) for each in world.possible_actions() for thing in each.args})
    ones = [Action(name, (thing,)) for name in ("go_to", "open", "close", "use", "examine") for thing in seen]
    pairs = ("take_from", "put_in_or_on", "clean_with", "heat_with", "cool_with")
    twos = [Action(name, (one, two)) for name in pairs for one, two in product(seen, seen)]
    return [*ones, *dice.sample(twos, min(count, len(twos)))]


@pytest.mark.parametrize("shared", ["hidden", "open"])
@pytest.mark.parametrize("kind", TYPES)
def test_what_is_listed_is_accepted_and_all_else_is_refused(kind: str, shared: str) -> None:
    dice, world = Random(f"{kind} {shared}"), begun(kind, 5, shared_locations=shared)
    names = set()
    for _ in range(25):
        possible = world.possible_actions()
        assert len(set(possible)) == len(possible)
        names |= {each.name for each in possible}
        snapshot = world.snapshot()
        for each in (*possible, *every_action(world, dice, 100)):
            accepted = world.act(each).accepted
            assert accepted == (each in possible), each
            world.restore(snapshot)
        if world.act(step_of(world, dice)).terminated:
            break
    assert {"go_to", "look", "inventory", "examine", "take_from"} <= names


def test_receptacles_that_share_a_location_can_be_gone_to_only_with_the_option() -> None:
    found = 0
    for seed in range(12):
        hidden, opened = begun("pick_and_place", seed), begun("pick_and_place", seed, shared_locations="open")
        for go in [each for each in hidden.possible_actions() if each.name == "go_to"]:
            for world in (hidden, opened):
                world.reset(Alfworld.tasks(Selection(ids=(f"generated/pick_and_place/{seed}",)))[0])
                world.act(go)
            more = set(opened.possible_actions()) - set(hidden.possible_actions())
            assert {each.name for each in more} <= {"go_to"}
            assert go not in more
            found += len(more)
    assert found > 0


@pytest.mark.parametrize("kind", ["pick_clean_then_place", "pick_heat_then_place", "look_at_obj"])
def test_textworld_admits_the_same(kind: str) -> None:
    dice, ours, theirs = Random(kind), begun(kind, 2), begun(kind, 2, engine="textworld")
    for _ in range(15):
        assert ours.possible_actions() == theirs.possible_actions()
        step = step_of(ours, dice)
        assert ours.act(step) == theirs.act(step)
        if ours.ended:
            break
    theirs.close()


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("move mug 1 to desk 12", Action("put_in_or_on", ("mug_1", "desk_12"))),
        ("put mug 1 in/on desk 12", Action("put_in_or_on", ("mug_1", "desk_12"))),
        ("close fridge 1", Action("close", ("fridge_1",))),
        ("look", Action("look")),
        ("help", None),
        ("slice apple 1 with knife 2", None),
        ("go to desk", None),
    ],
)
def test_a_command_means_an_action_or_none(command: str, action: Action | None) -> None:
    assert as_action(command) == action


def test_a_world_that_cannot_list_them_says_none() -> None:
    assert Toy().possible_actions() is None
