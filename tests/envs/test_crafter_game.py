"""Our Crafter is the same game as that of the crafter package, and its snapshots are exact."""

from functools import cache
from itertools import islice

import pytest
from crafter import constants
from hypothesis import given, settings, strategies as st

from planbook.envs import Action, Selection, Snapshot
from planbook.envs.crafter import Crafter
from planbook.envs.crafter.environment import ACHIEVEMENTS
from planbook.envs.crafter.rules import CrafterAction
from tests.envs.crafter_games import ALL_ACTIONS, OriginalCrafter, assert_same_game, random_actions, started


@pytest.mark.parametrize(("seed", "steps"), [(0, 160), pytest.param(3, 250, marks=pytest.mark.deep)])
def test_the_same_actions_give_the_same_game_as_the_package(seed: int, steps: int) -> None:
    """At about step 150 it also gets dark."""
    environment, original, reward = started(seed), OriginalCrafter(seed=seed), 0.0
    original.reset()
    assert_same_game(environment.game, original)
    numbers = {name: number for number, name in enumerate(constants.actions)}
    for action in islice(random_actions(environment, seed), steps):
        last = environment.act(action)
        _, gained, done, info = original.step(numbers[CrafterAction(action.name, *map(str, action.args)).game_name])
        reward += gained
        assert_same_game(environment.game, original)
        assert environment.game.player.inventory == info["inventory"]
        assert set(environment.milestones()) == {name for name, count in info["achievements"].items() if count}
        assert environment.measures()["reward"] == pytest.approx(reward)
        assert done == (last.terminated or last.truncated)
        if done:
            break


def test_an_episode_is_truncated_when_the_game_ends() -> None:
    environment, original = started(2), OriginalCrafter(seed=2, length=3)
    environment.game._length = 3
    original.reset()
    truncated = [environment.act(next(random_actions(environment, 5))).truncated for _ in range(3)]
    assert truncated == [original.step(0)[2] for _ in range(3)] == [False, False, True]


def test_actions_and_achievements_are_those_of_the_package() -> None:
    names = [CrafterAction(each.name, *map(str, each.args)).game_name for each in ALL_ACTIONS]
    assert sorted(names) == sorted(constants.actions)
    assert len(names) == 17
    assert tuple(constants.achievements) == ACHIEVEMENTS
    assert len(Crafter.select(Selection(split="achievements"))) == 22 * 5


COMMON = st.sampled_from([Action("move", (way,)) for way in ("north", "south", "east", "west")] + [Action("do")] * 3)
RARE = st.sampled_from([Action("sleep"), Action("noop"), Action("place", ("table",)), Action("make", ("wood_sword",))])
WALKS = st.lists(COMMON | RARE, max_size=25)


def walk(environment: Crafter, actions: list[Action]) -> list[object]:
    """Take the actions and return everything that the player sees."""
    seen: list[object] = []
    for action in actions:
        if not environment.ended:
            seen += [environment.act(action), environment.attribute_values()]
            seen += [environment.milestones(), environment.measures()]
    return seen


@cache
def long_game() -> tuple[Crafter, list[Snapshot]]:
    """A game with snapshots from its start to its 200th step."""
    environment = started(7)
    snapshots = [environment.snapshot()]
    for turn, action in enumerate(islice(random_actions(environment, 7), 201)):
        environment.act(action)
        if environment.ended:
            break
        if turn % 40 == 0:
            snapshots.append(environment.snapshot())
    return environment, snapshots


@settings(max_examples=12, deadline=None)
@given(data=st.data(), before=WALKS, between=WALKS, after=WALKS)
def test_a_restored_game_continues_as_before(
    data: st.DataObject, before: list[Action], between: list[Action], after: list[Action]
) -> None:
    environment, snapshots = long_game()
    environment.restore(data.draw(st.sampled_from(snapshots)))
    walk(environment, before)
    snapshot = environment.snapshot()
    first = walk(environment, after)
    end = environment.snapshot()
    environment.restore(snapshot)
    walk(environment, between)
    assert environment.restore(snapshot) == snapshot.last
    assert walk(environment, after) == first
    other = started(7)
    other.restore(end)
    assert_same_game(environment.game, other.game)
