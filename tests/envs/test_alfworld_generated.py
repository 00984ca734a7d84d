"""Games made without a download: the same everywhere, of all types, and winnable."""

import os
import subprocess
import sys
import time

import pytest

from planbook.envs.alfworld import generated
from planbook.envs.alfworld.direct import DirectEngine
from planbook.envs.alfworld.generated import SearchGoal, find_plan
from planbook.envs.alfworld.goals import TYPES, params_of

DIGEST = """
import hashlib, json
from planbook.envs.alfworld import generated
from planbook.envs.alfworld.goals import TYPES
games = [dict(generated.make(kind, seed).data) for kind in TYPES for seed in (0, 7)]
digest = hashlib.sha256(json.dumps(games).encode()).hexdigest()
"""


def test_a_seed_gives_the_same_game_in_every_process() -> None:
    here: dict[str, str] = {}
    exec(DIGEST, here)
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", f"{DIGEST}\nprint(digest)"]
        printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        assert printed.strip() == here["digest"]


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


def test_goals_are_parsed_for_all_types() -> None:
    for kind in TYPES:
        params = params_of(generated.make(kind, 1).goal)
        assert ("lamp" in params) == (kind == "look_at_obj")
        assert ("count" in params) == (kind == "pick_two_obj")


def test_receptacles_share_locations_in_some_games() -> None:
    shared = 0
    for seed in range(20):
        engine = DirectEngine()
        engine.load(generated.make("pick_and_place", seed))
        shared += any(len(there) > 1 for there in engine.scene.neighbours.values())
    assert shared > 0


def test_making_games_is_fast() -> None:
    start = time.process_time()
    for seed in range(1000, 1005):
        for kind in TYPES:
            generated.make(kind, seed)
    assert time.process_time() - start < 3.0
