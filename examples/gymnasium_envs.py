"""Two Gymnasium environments for planbook, and the adapter class that they share."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import gymnasium
from pydantic import BaseModel

from planbook.envs import Environment, Observation, Selection, Task, Verdict, action


class Gymnasium(Environment):
    """An adapter. A subclass names a Gymnasium environment, describes its states in words, and defines actions."""

    gym_id: ClassVar[str]
    gym_options: ClassVar[Mapping[str, Any]] = {}
    goal: ClassVar[str]
    splits = ("all",)
    seeded = True

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self.gym = gymnasium.make(self.gym_id, **self.gym_options)
        self.reward = 0.0

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """Make a task for each selected id, or each selected seed, or else for five seeds."""
        (kind,) = cls.types
        seeds = [int(task_id.rpartition("/")[2]) for task_id in selection.ids] or selection.seeds or range(5)
        return [
            Task(id=f"{kind}/{seed}", env=cls.name, split="all", type=kind, goal=cls.goal, seed=seed) for seed in seeds
        ]

    def begin(self, task: Task) -> Observation:
        """Reset the environment with the task's seed, which determines everything random."""
        self.reward = 0.0
        state, _ = self.gym.reset(seed=task.seed)
        return Observation(self.describe(state))

    def step(self, number: int) -> Observation:
        """Take the action that has this number in Gymnasium."""
        state, reward, terminated, truncated, _ = self.gym.step(number)
        self.reward += float(reward)
        return Observation(self.describe(state), terminated=terminated, truncated=truncated)

    def describe(self, state: Any) -> str:
        """Describe a state in words, for the agent."""
        raise NotImplementedError

    def measures(self) -> Mapping[str, float]:
        """Return the sum of rewards, for reports."""
        return {"reward": self.reward}

    def close(self) -> None:
        """Close the environment."""
        self.gym.close()


class FrozenLake(Gymnasium):
    """A frozen lake of 4 x 4 fields. The agent walks from the start, S, over frozen fields, F, to the goal, G.

    It fails if it steps into a hole, H. Rows and columns are counted from 0, top left.
    """

    name, types = "frozen_lake", ("cross",)
    gym_id, gym_options = "FrozenLake-v1", {"is_slippery": False}
    goal = "reach the goal, G, without stepping into a hole, H"

    def describe(self, state: Any) -> str:
        """Describe where the agent is, and show the map."""
        rows = ["".join(map(bytes.decode, row)) for row in self.gym.unwrapped.desc]
        return f"You are in row {state // 4}, column {state % 4}. The map: {' '.join(rows)}"

    @action("agent.walk('down') -> 'You are in row 1, column 0. The map: SFFF FHFH FFFH HFFG'")
    def walk(self, direction: Literal["left", "down", "right", "up"]) -> Observation:
        """Go to the next field."""
        return self.step(("left", "down", "right", "up").index(direction))

    def verdict(self) -> Verdict:
        """Judge by the reward, which is given only at the goal."""
        return Verdict(self.reward == 1, self.reward)


class Taxi(Gymnasium):
    """A taxi on 5 x 5 fields with walls, which fetches a passenger at one landmark and brings them to another."""

    name, types = "taxi", ("ride",)
    gym_id = "Taxi-v4"
    goal = "bring the passenger to the destination"
    landmarks: ClassVar[Sequence[str]] = ("red (0, 0)", "green (0, 4)", "yellow (4, 0)", "blue (4, 3)")

    def describe(self, state: Any) -> str:
        """Describe where the taxi, the passenger and the destination are."""
        row, column, passenger, destination = self.gym.unwrapped.decode(state)
        location = [*self.landmarks, "in the taxi"][passenger]
        return f"Taxi: ({row}, {column}). Passenger: {location}. Destination: {self.landmarks[destination]}."

    @action("agent.drive('south') -> 'Taxi: (1, 0). Passenger: red (0, 0). Destination: blue (4, 3).'")
    def drive(self, direction: Literal["south", "north", "east", "west"]) -> Observation:
        """Go to the next field; a wall stops the taxi where it is."""
        return self.step(("south", "north", "east", "west").index(direction))

    @action()
    def pick_up(self) -> Observation:
        """Let the passenger in."""
        return self.step(4)

    @action()
    def drop_off(self) -> Observation:
        """Let the passenger out; at the destination, the ride is over."""
        return self.step(5)

    def verdict(self) -> Verdict:
        """Judge by whether the passenger is at the destination."""
        _, _, passenger, destination = self.gym.unwrapped.decode(self.gym.unwrapped.s)
        solved = passenger == destination
        return Verdict(solved, float(solved))
