"""The cost of learning, step by step, and whether it pays: the cost of a solved task with learning included."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Self

from pydantic import BaseModel, Field, computed_field

from planbook.planner import Spent
from planbook.results.statistics import per_solved
from planbook.wording import counted


class Reached(BaseModel):
    """The state of a building run after a number of tasks, and its cost without formulating.

    Episodes that were copied from other runs cost nothing here. ``actions`` are those of episodes and of verifications;
    ``money`` is in US dollars, None if a price is unknown. ``procedures`` counts the task types with a procedure.
    """

    tasks: int
    calls: int = 0
    tokens: int = 0
    actions: int = 0
    money: float | None = 0.0
    rules: int = 0
    procedures: int = 0
    skills: int = Field(default=0, exclude=True)
    reflections: int = Field(default=0, exclude=True)


class BuildingCost(BaseModel):
    """The output of ``planbook cost --json``; ``after`` has the state after each building task, in order."""

    after: tuple[Reached, ...]
    task_types: int
    formulating_calls: int
    formulating_tokens: int
    run: str


def reached_after(steps: Sequence[Reached], tasks: int) -> Reached:
    """Return the state of a building run after a number of tasks."""
    return next((step for step in reversed(steps) if step.tasks <= tasks), Reached(tasks=0))


def cost_line(cost: BuildingCost) -> str:
    """Return a line with the cost until the last procedure was found; empty if none was found."""
    most = max((step.procedures for step in cost.after), default=0)
    if not most:
        return ""
    at = next(step for step in cost.after if step.procedures == most)
    return (
        f"Procedures for {most} of {counted(cost.task_types, 'task type')} after {counted(at.tasks, 'task')}: "
        f"{counted(at.calls, 'call')}, {at.tokens:,} tokens and {counted(at.actions, 'action')} until then."
    )


# The cost of a solved task.


class LearningPayoff(BaseModel):
    """Calls and tokens of a run, in total and per solved task, without and with the cost of learning its knowledge.

    ``break_even`` is the number of solved tasks after which the tokens of learning are saved, compared with the run
    without knowledge that ``beside`` names; None if they never are, or if there is no such run.
    """

    solved: int
    calls: int
    tokens: int
    learning_calls: int
    learning_tokens: int
    beside: str = ""
    break_even: int | None = None

    @classmethod
    def of(cls, solved: int, playing: Spent, learning: Spent) -> Self:
        """Return the figures without a comparison with another run."""
        return cls(
            solved=solved,
            calls=playing.calls,
            tokens=playing.tokens,
            learning_calls=learning.calls,
            learning_tokens=learning.tokens,
        )

    @computed_field  # type: ignore[prop-decorator]
    @property
    def per_solved(self) -> dict[str, float | None]:
        """Calls and tokens per solved task, without and with learning; None if no task was solved."""
        learned = {"calls": self.learning_calls, "tokens": self.learning_tokens}
        played = {"calls": self.calls, "tokens": self.tokens}
        included = {f"{name}_with_learning": amount + learned[name] for name, amount in played.items()}
        return {name: per_solved(amount, self.solved) for name, amount in {**played, **included}.items()}

    @property
    def has_learned(self) -> bool:
        """True if something was spent on learning."""
        return bool(self.learning_calls or self.learning_tokens)

    def named(self, names: Mapping[str, str]) -> Self:
        """Return the figures, with the name of the other run replaced by its displayed name."""
        return self.model_copy(update={"beside": names.get(self.beside, self.beside)})

    def compared_with(self, name: str, without: "LearningPayoff") -> Self:
        """Return the figures with the break-even point against a run without knowledge.

        They are unchanged if this run learned nothing, if that one did, or if one of them solved nothing.
        """
        mine, theirs = per_solved(self.tokens, self.solved), per_solved(without.tokens, without.solved)
        if mine is None or theirs is None or without.has_learned or not self.has_learned:
            return self
        break_even = ceil(self.learning_tokens / (theirs - mine)) if mine < theirs else None
        return self.model_copy(update={"beside": name, "break_even": break_even})
