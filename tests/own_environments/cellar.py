"""An environment that lists all its tasks whatever is selected."""

from collections.abc import Sequence

from pydantic import BaseModel

from planbook.envs import Environment, Observation, Selection, Task, Verdict, action


class Cellar(Environment):
    """A cellar with one bottle in it."""

    name, types, splits = "cellar", ("get_wine", "look"), ("train", "test")

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        return [
            Task(id=f"{split}/{kind}/{seed}", env="cellar", split=split, type=kind, goal="get wine", seed=seed)
            for seed in (1, 2, 3)
            for split in cls.splits
            for kind in cls.types
        ][: selection.limit]

    def begin(self, task: Task) -> Observation:
        self.got = False
        return Observation("There is a bottle of wine.")

    @action("agent.get() -> 'You have it.'")
    def get(self) -> Observation:
        """Get the bottle."""
        self.got = True
        return Observation("You have it.", terminated=True)

    def verdict(self) -> Verdict:
        return Verdict(self.got, float(self.got))
