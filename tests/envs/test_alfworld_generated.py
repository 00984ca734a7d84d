"""Games made without a download: the same everywhere, of all types, and winnable."""

import time

import pytest

from planbook.envs.alfworld import generated
from planbook.envs.alfworld.direct import DirectEngine
from planbook.envs.alfworld.generated import SearchGoal, find_plan
from planbook.envs.alfworld.goals import TYPES


@pytest.mark.parametrize("kind", TYPES)
def test_games_are_won_by_a_search_that_knows_all_and_not_before(kind: str) -> None:
    sentences = set()
    for seed in range(25):
        engine = DirectEngine()
        engine.load(generated.make(kind, seed))
        assert not engine.reset().won
        goal = generated.make(kind, seed).goal
        plan = find_plan(engine, generated.search_goal(kind, goal))
        assert plan is not None
        replies = [engine.step(command) for command in plan]
        assert [reply.won for reply in replies] == [False] * (len(plan) - 1) + [True]
        sentences.add(goal)
    assert len(sentences) > 12, "the games should differ"


def test_the_search_says_when_a_game_cannot_be_won() -> None:
    engine = DirectEngine()
    engine.load(generated.make("pick_heat_then_place", 2))
    wanted = generated.search_goal("pick_heat_then_place", generated.make("pick_heat_then_place", 2).goal)
    assert find_plan(engine, SearchGoal(wanted.object, wanted.target, change="clean")) is None
    assert find_plan(engine, SearchGoal("elephant", wanted.target)) is None
    assert find_plan(engine, wanted)


def test_making_games_is_fast() -> None:
    start = time.process_time()
    for seed in range(1000, 1005):
        for kind in TYPES:
            generated.make(kind, seed)
    assert time.process_time() - start < 3.0
