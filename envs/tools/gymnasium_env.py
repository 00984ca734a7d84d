"""``--env gym:ID``: a Gymnasium environment, in which ``agent.step(action)`` takes one step.

The type of an action depends on the action space: a number for a discrete space, a list of numbers for a box, a list of
whole numbers for a multi-discrete or multi-binary space, and a string for a text space. ``-o make={"map_name": "4x4"}``
passes arguments to ``gymnasium.make``.

Without a task file, each seed is a task. The task is solved if the episode is over and the total reward reaches a
threshold: the option ``threshold`` or, if it is not set, the environment's ``reward_threshold``. If neither is set, the
total reward must be positive.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, Field, JsonValue

from planbook.envs.base import action
from planbook.envs.errors import EnvironmentBroken, UnknownEnvironment
from planbook.envs.requirements import missing_extra, package_version
from planbook.envs.selection import read_seeded_id
from planbook.envs.tools.environment import Tool, ToolEnvironment, ToolFailed, ToolOptions
from planbook.envs.tools.schemas import python_name, to_json
from planbook.envs.types import Observation, Selection, Task, Verdict

try:
    import gymnasium
    import numpy as np
    from gymnasium import spaces
except ImportError as error:
    raise missing_extra("gym", "--env gym:") from error

DEFAULT_SEEDS = tuple(range(5))


class GymOptions(ToolOptions):
    """Options of Gymnasium environments."""

    make: dict[str, JsonValue] = Field(default={}, description="Arguments for gymnasium.make, as JSON.")
    threshold: float | None = Field(default=None, description="Without a task file: total reward that solves a task.")


class GymEnvironment(ToolEnvironment):
    """A Gymnasium environment, reset with the task's seed. Without a task file, each seed is a task."""

    Options: ClassVar[type[BaseModel]] = GymOptions
    options: GymOptions
    id: ClassVar[str] = ""
    render_arguments: ClassVar[Mapping[str, Any]] = {}
    """The arguments of ``gymnasium.make`` that select rendering as text. Empty if the environment has no such mode."""
    types = ("play",)
    seeded = True
    action_limit = 500
    submits = False
    attributes = {"total_reward": "the sum of the rewards so far"}

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._env: Any = None
        self._rewards: list[float] = []
        self._is_over = False

    @classmethod
    def has_tasks(cls, options: BaseModel | None) -> bool:
        """Return True, since each seed is a task if there is no task file."""
        return True

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """Return the tasks of the task file or, without a task file, a task for each seed."""
        if ToolOptions.read(options).tasks:
            return super().tasks(selection, options)
        chosen = [read_seeded_id(task_id, ("seed",), cls.name)[1] for task_id in selection.ids]
        seeds = chosen or selection.seeds or DEFAULT_SEEDS
        split, goal = selection.split or cls.splits[0], f"Play {cls.id} for as high a total reward as you can."
        common = {"env": cls.name, "split": split, "type": cls.types[0], "goal": goal}
        return [Task(id=f"seed/{seed}", seed=seed, **common) for seed in seeds]

    @classmethod
    def takes_seeds(cls, split: str, options: BaseModel | None = None) -> bool:
        """Return True if there is no task file, since tasks are then made from seeds."""
        return not ToolOptions.read(options).tasks

    def start(self, task: Task) -> str:
        """Reset the environment with the task's seed, and return the first observation as text."""
        self.close()
        try:
            arguments: dict[str, Any] = {**self.render_arguments, **self.options.make}
            self._env = gymnasium.make(self.id, **arguments)
            observation, _ = self._env.reset(seed=task.seed)
        except Exception as error:
            raise EnvironmentBroken(f"gym:{self.id} cannot begin: {type(error).__name__}: {error}") from error
        self._rewards, self._is_over = [], False
        return self._observation_text(observation)

    def close(self) -> None:
        """Close the environment."""
        if self._env is not None:
            self._env.close()
            self._env = None

    @action()
    def step(self, action: Any) -> Observation:
        """Take a step, and return the new observation and the reward."""
        try:
            native = read_action(self._env.action_space, action)
        except ValueError as error:
            return Observation(f"step: {error}", accepted=False, failed=True)
        try:
            observation, reward, terminated, truncated, _ = self._env.step(native)
        except Exception as error:
            raise EnvironmentBroken(f"gym:{self.id} failed in step: {type(error).__name__}: {error}") from error
        self._rewards.append(float(reward))
        self._is_over = bool(terminated or truncated)
        ended = " The episode is over." if self._is_over else ""
        text = f"{self._observation_text(observation)}\nreward {float(reward):g}.{ended}"
        return Observation(text, terminated=bool(terminated), truncated=bool(truncated))

    def call(self, tool: Tool, arguments: dict[str, Any]) -> JsonValue:
        """Raise ToolFailed, since a Gymnasium environment has no tools: ``step`` is an action, but not a tool."""
        raise ToolFailed(f"there is no tool {tool.name}")

    def attribute_values(self) -> Mapping[str, JsonValue]:
        """Return the sum of the rewards."""
        return {"total_reward": sum(self._rewards)}

    def measures(self) -> Mapping[str, float]:
        """Return the total reward and the number of steps."""
        return {"reward": sum(self._rewards), "steps": float(len(self._rewards))}

    def verdict(self) -> Verdict:
        """Return the judge's verdict or, without a task file, one that depends on the total reward."""
        if self.options.tasks:
            return super().verdict()
        total = sum(self._rewards)
        threshold = self.options.threshold
        if threshold is None:
            threshold = getattr(getattr(self._env, "spec", None), "reward_threshold", None)
        solved = self._is_over and (total > 0 if threshold is None else total >= threshold)
        return Verdict(solved, float(solved))

    def versions(self) -> Mapping[str, str]:
        """Return the version of Gymnasium."""
        return {"gymnasium": package_version("gymnasium")}

    @property
    def judged_state(self) -> object:
        """The Gymnasium environment."""
        return self._env

    def _observation_text(self, observation: Any) -> str:
        values = rounded_json(observation)
        if self._env.render_mode != "ansi":
            return str(values)
        return f"{without_colours(str(self._env.render())).strip()}\nobservation {values}"


def without_colours(text: str) -> str:
    """Return text without colour codes. Coloured parts, such as the player's position, are in square brackets."""
    bracketed = re.sub(r"\x1b\[(?!0?m)[\d;]*m(.*?)\x1b\[0?m", r"[\1]", text, flags=re.DOTALL)
    return re.sub(r"\x1b\[[\d;]*[A-Za-z]", "", bracketed)


def rounded_json(observation: Any) -> JsonValue:
    """Return an observation as JSON. Floats are rounded to six significant digits."""
    plain = observation.tolist() if hasattr(observation, "tolist") else observation
    if isinstance(plain, float):
        return float(f"{plain:.6g}") if math.isfinite(plain) else str(plain)
    if isinstance(plain, list | tuple):
        return [rounded_json(item) for item in plain]
    if isinstance(plain, dict):
        return {str(key): rounded_json(item) for key, item in plain.items()}
    return to_json(plain)


def read_action(space: Any, value: Any) -> Any:
    """Convert a plan's value into an action of a space. Raises ValueError if the space does not contain it."""
    native = value
    if isinstance(space, spaces.Discrete):
        native = value if type(value) is int else None
    elif isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        number_types = (int, float) if isinstance(space, spaces.Box) else (int,)
        is_numeric = all(type(number) in number_types for number in _flatten(value))
        native = _to_array(space, value) if is_numeric else None
    if native is None or not space.contains(native):
        raise ValueError(f"the action must be {describe_space(space)}, not {str(value)[:100]!r}")
    return native


def _to_array(space: Any, value: Any) -> Any:
    try:
        return np.asarray(value, dtype=space.dtype)
    except (ValueError, TypeError, OverflowError):
        return None


def _flatten(value: Any) -> list[Any]:
    return [item for part in value for item in _flatten(part)] if isinstance(value, list) else [value]


def describe_space(space: Any) -> str:
    """Describe the values of a space in words. Raises UnknownEnvironment if plans cannot use this kind of space."""
    if isinstance(space, spaces.Discrete):
        return f"a whole number from {space.start} to {space.start + space.n - 1}"
    if isinstance(space, spaces.Box):
        return _describe_list("numbers", space.low, space.high)
    if isinstance(space, spaces.MultiDiscrete):
        return _describe_list("whole numbers", space.start, space.start + space.nvec - 1)
    if isinstance(space, spaces.MultiBinary):
        return _describe_list("whole numbers", np.zeros(space.shape, int), np.ones(space.shape, int))
    if isinstance(space, spaces.Text):
        return f"a text of {space.min_length} to {space.max_length} characters"
    raise UnknownEnvironment(
        f"plans cannot use the action space {space}; they can use discrete, box, multi-discrete, multi-binary and text"
    )


def _describe_list(items: str, low: Any, high: Any) -> str:
    """Describe a space of lists. The arrays ``low`` and ``high`` contain the bounds of each item."""
    shape = f"a list of {len(low)} {items}" if low.ndim == 1 else f"nested lists of {items} of shape {list(low.shape)}"
    if (low == low.min()).all() and (high == high.max()).all():
        return f"{shape}, each from {rounded_json(low.min())} to {rounded_json(high.max())}"
    return f"{shape}, by position from {rounded_json(low)} to {rounded_json(high)}"


def environment(gym_id: str) -> type[ToolEnvironment]:
    """Return the environment class for a Gymnasium id. Raises UnknownEnvironment if Gymnasium cannot make it."""
    try:
        env = gymnasium.make(gym_id)
    except Exception as error:
        raise UnknownEnvironment(f"gym:{gym_id}: {type(error).__name__}: {error}") from error
    try:
        action_text, space = describe_space(env.action_space), str(env.observation_space)
        render_arguments = {"render_mode": "ansi"} if "ansi" in env.metadata.get("render_modes", ()) else {}
    finally:
        env.close()
    doc = (type(env.unwrapped).__doc__ or "").strip().partition("\n## ")[0].split("\n\n")[0]
    about = (
        f"The Gymnasium environment {gym_id}. {' '.join(doc.split())}\n\n`agent.step(action)` takes one step. The "
        f"action is {action_text}. The call returns the observation, from the space {space}, and the reward. The "
        "episode ends by itself; agent.answer(value) ends it earlier."
    )
    name = f"gym_{python_name(gym_id).lower()}"
    return GymEnvironment.with_tools(name, about, (), id=gym_id, render_arguments=render_arguments)
