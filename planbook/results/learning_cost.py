"""The cost of learning, and the number of solved tasks after which it pays off.

``BuildingState`` counts what `planbook build` has learned and spent after a task. ``LearningPayoff`` is the cost per
solved task in a run that uses learned knowledge, without and with the cost of learning. It can be compared with a run
that uses no learned knowledge.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, computed_field

from planbook.planner import Grid
from planbook.results.statistics import per_solved
from planbook.wording import NO_FIGURE, counted


class BuildingState(BaseModel):
    """Counts of what a run of `planbook build` has learned and spent after a number of tasks.

    The costs of writing the manual and of episodes that were copied from other runs are excluded.
    ``actions`` includes the actions that were taken to verify procedures. ``procedures`` counts the task types with a
    procedure.
    """

    tasks: int
    calls: int = 0
    tokens: int = 0
    actions: int = 0
    rules: int = 0
    procedures: int = 0
    skills: int = 0
    reflections: int = 0


def state_after(states: Sequence[BuildingState], tasks: int) -> BuildingState:
    """Return the state of a run of `planbook build` after its first ``tasks`` tasks, given all its states."""
    return next((state for state in reversed(states) if state.tasks <= tasks), BuildingState(tasks=0))


def cost_line(states: Sequence[BuildingState], task_types: int) -> str:
    """Return a line with the cost until the last task type got a procedure, or "" if no type has one.

    ``states`` holds the state of a run of `planbook build` after each task, and ``task_types`` is its number of types.
    """
    procedures = max((state.procedures for state in states), default=0)
    if not procedures:
        return ""
    last = next(state for state in states if state.procedures == procedures)
    return (
        f"Procedures for {procedures} of {counted(task_types, 'task type')} after {counted(last.tasks, 'task')}: "
        f"{counted(last.calls, 'call')}, {last.tokens:,} tokens and {counted(last.actions, 'action')} until then."
    )


class LearningPayoff(BaseModel):
    """The model calls and tokens of a run, in total and per solved task, without and with the cost of learning.

    ``calls`` and ``tokens`` were spent on playing. ``learning_calls`` and ``learning_tokens`` were spent on learning
    the knowledge that the run uses. ``baseline`` names the run with which this run is compared: one without learned
    knowledge. It is empty if this run is not compared. ``break_even`` is the number of solved tasks after which
    learning has saved as many tokens as it cost. It is None if learning never saves that much, or if this run is not
    compared.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    solved: int
    calls: int
    tokens: int
    learning_calls: int
    learning_tokens: int
    baseline: str = Field(default="", serialization_alias="beside")
    break_even: int | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def per_solved(self) -> dict[str, float | None]:
        """The calls and tokens per solved task, without and with those for learning.

        The keys are ``calls``, ``tokens``, ``calls_with_learning`` and ``tokens_with_learning``. All values are None if
        no task was solved.
        """
        learning = {"calls": self.learning_calls, "tokens": self.learning_tokens}
        playing = {"calls": self.calls, "tokens": self.tokens}
        total = {f"{name}_with_learning": amount + learning[name] for name, amount in playing.items()}
        return {name: per_solved(amount, self.solved) for name, amount in {**playing, **total}.items()}

    @property
    def has_learned(self) -> bool:
        """True if something was spent on learning."""
        return bool(self.learning_calls or self.learning_tokens)

    def named(self, names: Mapping[str, str]) -> Self:
        """Return a copy whose ``baseline`` is the name under which that other run is shown.

        ``names`` maps the names of runs to the names under which they are shown.
        """
        return self.model_copy(update={"baseline": names.get(self.baseline, self.baseline)})

    def compared_with(self, name: str, baseline: "LearningPayoff") -> Self:
        """Return a copy with the break-even point. ``baseline`` is the payoff of the run ``name``.

        The payoff is returned unchanged if this run uses no learned knowledge, if the baseline does, or if one of the
        runs solved no task.
        """
        tokens, baseline_tokens = per_solved(self.tokens, self.solved), per_solved(baseline.tokens, baseline.solved)
        if tokens is None or baseline_tokens is None or baseline.has_learned or not self.has_learned:
            return self
        break_even = ceil(self.learning_tokens / (baseline_tokens - tokens)) if tokens < baseline_tokens else None
        return self.model_copy(update={"baseline": name, "break_even": break_even})


def payoff_line(payoff: LearningPayoff | None) -> Iterable[str]:
    """Yield a line with the cost per solved task, without and with learning, if anything was spent on learning."""
    if payoff is None or not payoff.has_learned:
        return
    learning = f"learning ({counted(payoff.learning_calls, 'call')}, {payoff.learning_tokens:,} tokens)"
    if not payoff.solved:
        yield f"No task was solved for the cost of {learning}."
        return
    calls, tokens, calls_with, tokens_with = payoff.per_solved.values()
    playing = f"Playing took {calls:,.1f} calls and {tokens:,.0f} tokens per solved task"
    yield f"{playing}; with {learning} included, {calls_with:,.1f} calls and {tokens_with:,.0f} tokens."


def payoff_table(rows: Mapping[str, LearningPayoff | None], name: str = "run") -> Iterator[Grid | str]:
    """Yield a table with the cost per solved task in each run, without and with the cost of learning.

    Then yield a sentence for each run that is compared with a run that learned nothing. ``rows`` maps the displayed
    names of the runs to their payoffs. If no run spent anything on learning, yield nothing.
    """
    with_learning = {row: payoff for row, payoff in rows.items() if payoff and payoff.has_learned}
    if not with_learning:
        return
    per_solved_columns = ("calls / solved", "with learning", "tokens / solved", "with learning")
    title = "For each solved task, without and with the cost of learning"
    cells = [(row, *_payoff_cells(payoff)) for row, payoff in rows.items()]
    yield Grid(title, name, ("learning: calls", "tokens", *per_solved_columns), cells)
    yield from (_break_even_line(row, payoff) for row, payoff in with_learning.items() if payoff.baseline)


def _payoff_cells(payoff: LearningPayoff | None) -> Iterator[str]:
    if payoff is None:
        yield from (NO_FIGURE for _ in range(6))
        return
    yield from (f"{payoff.learning_calls:,}", f"{payoff.learning_tokens:,}")
    for name in ("calls", "calls_with_learning", "tokens", "tokens_with_learning"):
        figure = payoff.per_solved[name]
        yield NO_FIGURE if figure is None else f"{figure:,.{1 if name.startswith('calls') else 0}f}"


def _break_even_line(name: str, payoff: LearningPayoff) -> str:
    if payoff.break_even is None:
        spent = f"as many tokens as in {payoff.baseline}, or more"
        return f"{name}: learning does not pay off: a solved task takes {spent}."
    reached = "this is reached" if payoff.solved >= payoff.break_even else f"{payoff.solved:,} are solved so far"
    solved = counted(payoff.break_even, "solved task")
    saved = f"the tokens spent on learning are saved after {solved}"
    return f"{name}: {saved}, compared with {payoff.baseline}; {reached}."
