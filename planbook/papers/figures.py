"""The figures that a paper prints, as its tables give them (``automanual.json``)."""

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

AUTOMANUAL = Path(__file__).with_name("automanual.json")


class Told(BaseModel):
    """Base of what stands in the data file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Row(Told):
    """One method with one test model. ``overall`` and ``by_type`` are percentages of tasks that were solved.

    ``only_quoted`` methods cannot be played here. ``without`` names what is left out, in the words of ``--without``;
    None for methods that are no form of AutoManual. ``start`` is the starting example where the table varies it.
    """

    method: str
    model: str
    examples: int | None = None
    """Human examples that the method was given."""
    by_type: dict[str, float] = Field(default_factory=dict)
    overall: float
    error_steps: float | None = None
    only_quoted: bool = False
    without: tuple[str, ...] | None = None
    start: tuple[str, ...] = ()


class Figures(Told):
    """A table of the paper, or the half of it that is about one split. ``note`` says how it was read."""

    table: int
    env: str
    split: str
    what: Literal["success by task type", "ablations"]
    label: str = ""
    """What the overall figures are over."""
    rows: tuple[Row, ...]
    note: str = ""


class Setting(Told):
    """How the paper played a world; None where it does not say."""

    split: str | None = None
    tasks: int | None = None
    tasks_of_each_type: int | None = None
    repeats: int
    actions: int | None = None
    replans: int
    building_model: str
    building_splits: dict[str, str]
    building_actions: int | None = None
    tasks_per_type: int
    solved_after: int
    max_rules: int
    starts: dict[str, tuple[str, ...]]
    """The starting examples by the split that is tested; "" is any other, here too."""
    rules_from_earlier: tuple[str, ...] = ()
    """The splits for which an earlier run made the rules, and this one added to the libraries only."""


class Paper(Told):
    """A paper's figures. ``test_models`` maps the paper's names of models to the exact ones, ``names`` types to its."""

    paper: str
    test_models: dict[str, str]
    names: dict[str, str]
    settings: dict[str, Setting]
    tables: tuple[Figures, ...]

    def of(self, env: str) -> tuple[Figures, ...]:
        """The tables about a world."""
        return tuple(each for each in self.tables if each.env == env)


@cache
def automanual() -> Paper:
    """The figures of the AutoManual paper."""
    return Paper.model_validate_json(AUTOMANUAL.read_text(encoding="utf-8"))
