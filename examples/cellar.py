import random
from typing import Literal

from planbook.envs import Environment, Observation, Selection, Task, Verdict, action, query


class Cellar(Environment):
    """A cellar with rooms in a row, which hold bottles. The agent starts in room 0 and carries one bottle."""

    name, types, splits = "cellar", ("fetch",), ("train", "test")
    attributes = {"room": "the number of the room that the agent is in"}
    action_limit = 20

    @classmethod
    def tasks(cls, selection: Selection, options: object = None) -> list[Task]:
        """Return all tasks. planbook applies --split, --types and --task."""
        return [cls.task_of(seed, "train" if seed < 6 else "test") for seed in range(10)]

    @classmethod
    def task_of(cls, seed: int, split: str) -> Task:
        wine = ("riesling", "merlot")[seed % 2]
        goal = f"bring a {wine} to room 0"
        return Task(
            id=f"fetch/{seed}", env="cellar", split=split, type="fetch", goal=goal, params={"wine": wine}, seed=seed
        )

    def begin(self, task: Task) -> Observation:
        """Set up a task. Its seed determines everything random."""
        rng = random.Random(task.seed)
        self.bottles = {wine: rng.randrange(1, 5) for wine in ("riesling", "merlot")}
        self.room, self.carried, self.goal_wine = 0, "nothing", task.params["wine"]
        return Observation(self.look())

    @action("agent.walk('east') -> 'You are in room 1. You see riesling.'")
    def walk(self, direction: Literal["east", "west"]) -> Observation:
        """Go to the next room."""
        room = self.room + (1 if direction == "east" else -1)
        if not 0 <= room <= 5:
            return Observation.refused("there is a wall")
        self.room = room
        return Observation(self.look(), terminated=self.verdict().solved)

    @action("agent.take('riesling') -> 'You take riesling.'")
    def take(self, wine: str) -> Observation:
        """Take a bottle that is in this room."""
        if self.bottles.get(wine) != self.room:
            return Observation.refused(f"there is no {wine} here")
        self.carried = wine
        return Observation(f"You take {wine}.")

    @query("agent.rooms() -> 6")
    def rooms(self) -> int:
        """The number of rooms."""
        return 6

    def look(self) -> str:
        visible = [wine for wine, room in self.bottles.items() if room == self.room and wine != self.carried]
        return f"You are in room {self.room}. You see {', '.join(visible) or 'nothing'}."

    def attribute_values(self) -> dict[str, int]:
        return {"room": self.room}

    def state(self) -> str:
        return f"You are in room {self.room} and carry {self.carried}."

    def verdict(self) -> Verdict:
        solved = self.room == 0 and self.carried == self.goal_wine
        return Verdict(solved, float(solved))
