"""The cost of learning, step by step, and whether it pays: the cost of a solved task with learning included."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from math import ceil
from typing import Any, Self, cast

from pydantic import BaseModel, ConfigDict, computed_field

from planbook.config import FOUND, LEARNED_LIBRARY, SHIPPED_LIBRARY, Config
from planbook.errors import BadArgument, BadRun
from planbook.knowledge import LEARNED, SPOILT, group_of, learned_in
from planbook.planner import Spent, add_cost
from planbook.runs import Run, is_run
from planbook.spending import Price, prices_from
from planbook.wording import counted

FORMULATING = "formulate"


class Reached(BaseModel):
    """The state of a building run after a number of tasks, and its cost without formulating.

    Episodes that were copied from other runs cost nothing here. ``actions`` are those of episodes and of verifications;
    ``money`` is in US dollars, None if a price is unknown. ``procedures`` counts the task types with a procedure.
    """

    model_config = ConfigDict(frozen=True)

    tasks: int
    calls: int = 0
    tokens: int = 0
    actions: int = 0
    money: float | None = 0.0
    rules: int = 0
    procedures: int = 0


class BuildingCost(BaseModel):
    """The output of ``planbook cost --json``; ``after`` has each building task, in order."""

    model_config = ConfigDict(frozen=True)

    after: tuple[Reached, ...]
    task_types: int
    formulating_calls: int
    formulating_tokens: int
    run: str


def building_cost(run: Run, price: Price | None = None) -> BuildingCost:
    """Read the cost of a building run at each step. Raises BadArgument for any other run."""
    if run.config.learning is None:
        raise BadArgument(f"{run.folder} is not a building run; only runs of `planbook build` have a cost of building")
    price = price or prices_from(None)
    formulating = Spent()
    for event in run.store.events(FORMULATING, "ask"):
        formulating = add_cost(formulating, event.kind, event.body, price)
    return BuildingCost(
        after=tuple(_steps(run, price)),
        task_types=_number_of_types(run),
        formulating_calls=formulating.calls,
        formulating_tokens=formulating.tokens,
        run=str(run.folder),
    )


def _number_of_types(run: Run) -> int:
    if run.config.types == FOUND:
        return sum(len(state.knowledge.found) for state in learned_in(run).values())
    return len({entry.task.type for entry in run.entries()})


def reached_after(cost: BuildingCost, tasks: int) -> Reached:
    """Return the state of a building run after a number of tasks."""
    return next((step for step in reversed(cost.after) if step.tasks <= tasks), Reached(tasks=0))


def cost_line(cost: BuildingCost) -> str:
    """Return a line with the cost until the last procedure was found; empty if there is none."""
    most = max((step.procedures for step in cost.after), default=0)
    if not most:
        return ""
    at = next(step for step in cost.after if step.procedures == most)
    return (
        f"Procedures for {most} of {counted(cost.task_types, 'task type')} after {counted(at.tasks, 'task')}: "
        f"{counted(at.calls, 'call')}, {at.tokens:,} tokens and {counted(at.actions, 'action')} until then."
    )


def _steps(run: Run, price: Price) -> Iterator[Reached]:
    assert run.config.learning is not None
    types = {entry.index: entry.task.type for entry in run.entries()}
    spent, counts = Spent(), dict[str, tuple[int, int]]()
    for event in run.own_events():
        if event.scope.startswith(f"{FORMULATING}/"):
            continue
        spent = add_cost(spent, event.kind, event.body, price)
        match = LEARNED.fullmatch(event.scope)
        if match and event.kind == "learnt" and SPOILT not in event.body:
            index, knowledge = int(match[1]), cast(Any, event.body)["knowledge"]
            counts[group_of(run.config.learning, types[index])] = len(knowledge["rules"]), len(knowledge["procedures"])
            yield Reached(
                tasks=index + 1,
                calls=spent.calls,
                tokens=spent.tokens,
                actions=spent.actions,
                money=spent.money,
                rules=sum(rules for rules, _ in counts.values()),
                procedures=sum(procedures for _, procedures in counts.values()),
            )


# The cost of a solved task.


class Paying(BaseModel):
    """Calls and tokens of a run for each solved task, without and with the cost of learning the knowledge it uses.

    ``break_even`` is the number of solved tasks after which the tokens of learning are saved, compared with a run of
    the same model without knowledge, named ``beside``; None if they never are, or if there is no such run.
    """

    model_config = ConfigDict(frozen=True)

    solved: int
    calls: int
    tokens: int
    learning_calls: int
    learning_tokens: int
    beside: str = ""
    break_even: int | None = None

    @classmethod
    def of(cls, solved: int, playing: Spent, learning: Spent) -> Self:
        """Return the figures before any comparison with another run."""
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
        """Calls and tokens for each solved task, without and with learning; None if none was solved."""
        learned = {"calls": self.learning_calls, "tokens": self.learning_tokens}
        played = {"calls": self.calls, "tokens": self.tokens}
        included = {f"{name}_with_learning": amount + learned[name] for name, amount in played.items()}
        return {name: self._per_solved(amount) for name, amount in {**played, **included}.items()}

    def _per_solved(self, amount: int) -> float | None:
        return round(amount / self.solved, 6) if self.solved else None

    @property
    def has_learned(self) -> bool:
        """True if something was spent on learning."""
        return bool(self.learning_calls or self.learning_tokens)

    def named(self, names: Mapping[str, str]) -> Self:
        """Return the figures with the displayed name of the other run."""
        return self.model_copy(update={"beside": names.get(self.beside, self.beside)})

    def compared_with(self, name: str, without: "Paying") -> Self:
        """Return the figures with the break-even point against a run without knowledge.

        They are unchanged if that run solved nothing: it has no cost of a solved task.
        """
        if not without.solved:
            return self
        mine, theirs = self._per_solved(self.tokens), without._per_solved(without.tokens)
        saved = None if mine is None or theirs is None or theirs <= mine else theirs - mine
        return self.model_copy(update={"beside": name, "break_even": saved and ceil(self.learning_tokens / saved)})


def learning_behind(config: Config, price: Price | None = None) -> Spent | None:
    """Return the cost of learning the knowledge that a run plays with; None if it is not known here.

    It is known of runs of `planbook build`, including the runs that they built on, but not of other folders. The manual
    counts if the run uses everything that was learned.
    """
    if config.library == SHIPPED_LIBRARY:
        return Spent()
    if config.library == LEARNED_LIBRARY or not is_run(config.library_folder):
        return None
    try:
        with closing(Run.open(config.library_folder)) as run:
            cost, before = building_cost(run, price), learning_behind(run.config, price)
    except (BadArgument, BadRun):
        return None
    uses_all = config.after is None
    at = cost.after[-1] if uses_all and cost.after else reached_after(cost, config.after or 0)
    manual = (cost.formulating_calls, cost.formulating_tokens) if uses_all else (0, 0)
    return before and before + Spent(calls=at.calls + manual[0], prompt=at.tokens + manual[1])
