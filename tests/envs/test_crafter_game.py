"""Crafter's game is the genuine one, and snapshots of it are exact."""

from itertools import islice

import pytest
from crafter import constants
from hypothesis import given, settings
from hypothesis import strategies as st

from planbook.envs import Action
from planbook.envs.crafter import Crafter
from planbook.envs.crafter.actions import CrafterAction, all_actions
from planbook.envs.crafter.environment import ACHIEVEMENTS
from planbook.envs.crafter.rules import rules
from tests.envs.crafter_games import Genuine, begun, look_alike, survive, wild


@pytest.mark.parametrize(("seed", "steps"), [(0, 160), pytest.param(3, 250, marks=pytest.mark.deep)])
def test_the_same_actions_lead_to_the_same_game(seed: int, steps: int) -> None:
    """Dusk falls at about step 150."""
    world, genuine, reward = begun(seed), Genuine(seed=seed), 0.0
    genuine.reset()
    look_alike(world.game, genuine)
    numbers = {name: number for number, name in enumerate(constants.actions)}
    for action in islice(wild(world, seed), steps):
        last = world.act(action)
        _, gained, done, info = genuine.step(numbers[CrafterAction(action.name, *map(str, action.args)).code])
        reward += gained
        look_alike(world.game, genuine)
        assert world.game.player.inventory == info["inventory"]
        assert set(world.milestones()) == {name for name, count in info["achievements"].items() if count}
        assert world.measures()["reward"] == pytest.approx(reward)
        assert done == (last.terminated or last.truncated)
        if done:
            break


@pytest.mark.deep
def test_darkness_draws_from_the_random_stream_as_pictures_do() -> None:
    world, genuine = begun(1), Genuine(seed=1)
    genuine.reset()
    world.game._step = genuine._step = 140
    for _ in range(25):
        world.game.player.inventory["health"] = genuine._player.inventory["health"] = 9
        world.game.advance("noop")
        genuine.step(0)
    look_alike(world.game, genuine)


def test_time_is_up_when_the_genuine_game_ends() -> None:
    world, genuine = begun(2, length=3), Genuine(seed=2, length=3)
    genuine.reset()
    ours = [world.act(next(wild(world, 5))).truncated for _ in range(3)]
    assert ours == [genuine.step(0)[2] for _ in range(3)] == [False, False, True]


def test_actions_and_rules_are_those_of_the_package() -> None:
    assert [deed.code for deed in sorted(all_actions(), key=lambda deed: deed.code)] == sorted(constants.actions)
    assert len(all_actions()) == 17
    assert rules().achievements == ACHIEVEMENTS == tuple(constants.achievements)
    assert {name: each["uses"] for name, each in rules().make.items()} == {
        name: each["uses"] for name, each in constants.make.items()
    }


CALLS = st.sampled_from([Action("move", (way,)) for way in ("north", "south", "east", "west")] + [Action("do")] * 3)
OTHERS = st.sampled_from(
    [Action("sleep"), Action("noop"), Action("place", ("table",)), Action("make", ("wood_sword",))]
)
WALKS = st.lists(CALLS | OTHERS, max_size=25)
START = begun(7)
AT = [START.snapshot()]
for _turn, _action in enumerate(islice(wild(START, 7), 240)):
    if START.ended:
        break
    START.act(_action)
    if _turn % 40 == 0 and not START.ended:
        AT.append(START.snapshot())


def walk(world: Crafter, actions: list[Action]) -> list[object]:
    seen: list[object] = []
    for action in actions:
        if not world.ended:
            seen += [world.act(action), world.attribute_values(), world.milestones(), world.measures()]
    return seen


@settings(max_examples=12, deadline=None)
@given(start=st.sampled_from(range(len(AT))), before=WALKS, between=WALKS, after=WALKS)
def test_what_follows_is_the_same_after_coming_back(
    start: int, before: list[Action], between: list[Action], after: list[Action]
) -> None:
    world = START
    world.restore(AT[start])
    walk(world, before)
    mark = world.snapshot()
    first = walk(world, after)
    end = world.snapshot()
    world.restore(mark)
    walk(world, between)
    assert world.restore(mark) == mark.last
    assert walk(world, after) == first
    other = begun(7)
    other.restore(end)
    look_alike(world.game, other.game)


@pytest.mark.deep
def test_a_snapshot_can_be_taken_up_by_another_instance_and_shares_nothing() -> None:
    one, other = begun(5), begun(5)
    walk(one, [Action("move", ("north",))] * 5)
    mark = one.snapshot()
    other.restore(mark)
    look_alike(one.game, other.game)
    walk(other, [Action("move", ("west",))] * 5)
    one.restore(mark)
    assert walk(one, [Action("do")] * 3) == walk(begun_at(5, 5), [Action("do")] * 3)


def begun_at(seed: int, steps: int) -> Crafter:
    world = Crafter()
    world.reset(survive(seed))
    walk(world, [Action("move", ("north",))] * steps)
    return world
