"""Gymnasium environments: spaces, rewards and tasks."""

from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from planbook.envs import Environment, Selection, UnknownEnvironment, load_environment
from planbook.envs.tools.gymnasium_env import describe_space

SPACES: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "Discrete": (spaces.Discrete(3, start=1), [1, 3], [0, 4, "1", 1.0, True, None, [1]]),
    "Box": (spaces.Box(-1, 1, (2,)), [[0.5, -1], [0, 1]], [[2, 0], [0], 0, ["a", 0], [[0, 0]], [True, 0]]),
    "Multi": (spaces.MultiDiscrete([2, 3]), [[1, 2]], [[2, 0], [0], [0.5, 1], "01"]),
    "Binary": (spaces.MultiBinary(2), [[1, 0]], [[2, 0], [1]]),
    "Text": (spaces.Text(3), ["abc"], ["abcd", "", 3]),
}


class AnyAction(gymnasium.Env[Any, Any]):
    """An environment that takes any action of a space."""

    observation_space = spaces.Box(-9, 9, (2,))

    def __init__(self, space: str) -> None:
        self.action_space = SPACES[space][0]

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.array([0.25, self.np_random.random()], dtype=np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(2, dtype=np.float32), 1.5, False, False, {}


for space in SPACES:
    gymnasium.register(f"Echo{space}-v0", entry_point=partial(AnyAction, space=space), disable_env_checker=True)


def start(name: str, **options: Any) -> Environment:
    environment_class = load_environment(name)
    environment = environment_class(environment_class.Options.model_validate(options))
    (task,) = environment_class.select(Selection(seeds=(3,)), environment.options)
    environment.reset(task)
    return environment


@pytest.mark.parametrize("space", SPACES)
def test_a_space_takes_only_its_own_values(space: str) -> None:
    environment = start(f"gym:Echo{space}-v0")
    _, good, bad = SPACES[space]
    for value in good:
        assert not environment.act(environment.actions["step"].bind(value)).failed
    for value in bad:
        refused = environment.act(environment.actions["step"].bind(value))
        assert refused.failed
        assert refused.text.startswith("step: the action must be a")
    assert environment.measures() == {"reward": 1.5 * len(good), "steps": len(good)}


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (spaces.Box(-1, 1, (2,)), "a list of 2 numbers, each from -1.0 to 1.0"),
        (
            spaces.Box(np.array([-1, 0]), np.array([1, 9])),
            "a list of 2 numbers, by position from [-1.0, 0.0] to [1.0, 9.0]",
        ),
        (spaces.MultiDiscrete([3, 2], start=[1, 0]), "a list of 2 whole numbers, by position from [1, 0] to [3, 1]"),
        (spaces.MultiBinary((2, 3)), "nested lists of whole numbers of shape [2, 3], each from 0 to 1"),
    ],
)
def test_the_description_of_a_space_has_its_exact_bounds(space: Any, words: str) -> None:
    assert describe_space(space) == words


def test_frozen_lake_is_solved_at_its_goal() -> None:
    lake = start("gym:FrozenLake-v1", make={"is_slippery": False}, threshold=1)
    first = lake.snapshot()
    assert "[S]FFF" in first.last.text
    assert "a whole number from 0 to 3" in lake.act(lake.actions["step"].bind(4)).text
    lake.restore(first)
    for step in (1, 1, 2, 1, 2, 2):
        observed = lake.act(lake.actions["step"].bind(step))
    assert observed.terminated
    assert "observation 15" in observed.text
    assert lake.verdict().solved
    lake.restore(first)
    assert not lake.verdict().solved
    lake.close()


def test_a_task_file_replaces_the_reward_as_judge(tmp_path: Path) -> None:
    file = tmp_path / "tasks.yaml"
    file.write_text("tasks: [{id: a, goal: What is the first number?, seed: 1, judge: {answer: 0.25}}]")
    environment_class = load_environment("gym:EchoBox-v0")
    environment = environment_class(environment_class.Options.model_validate({"tasks": str(file)}))
    assert not environment_class.takes_seeds("all", environment.options)
    environment.reset(environment_class.select(Selection(), environment.options)[0])
    environment.act(environment.actions["answer"].bind(0.25))
    assert environment.verdict().solved


def test_an_unknown_id_is_refused() -> None:
    with pytest.raises(UnknownEnvironment, match="NoSuch"):
        load_environment("gym:NoSuch-v0")
