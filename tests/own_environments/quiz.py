"""An environment whose episodes end with an answer."""

from collections.abc import Sequence

from pydantic import BaseModel

from planbook.envs import Environment, Observation, Selection, Task, Verdict, action


class Quiz(Environment):
    """One question, answered once."""

    name, types, splits = "quiz", ("sum",), ("all",)
    answer_action = "answer"

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        return [Task(id=f"sum/{n}", env="quiz", split="all", type="sum", goal=f"What is {n} + 1?") for n in (1, 2, 3)]

    def begin(self, task: Task) -> Observation:
        self.right, self.given = int(task.id[-1]) + 1, 0
        return Observation(task.goal)

    @action("agent.answer(2) -> 'Noted.'")
    def answer(self, number: int) -> Observation:
        """Give the answer."""
        self.given = number
        return Observation("Noted.", terminated=True)

    def verdict(self) -> Verdict:
        return Verdict(self.given == self.right, float(self.given == self.right))
