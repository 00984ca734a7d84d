"""The tables of papers as data, with their units (``adapt.json`` and so on)."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from planbook.papers.figures import Told

FILES = ("adapt.json", "deps.json", "agentkit.json", "devils_advocate.json")
ALL = "all"
"""The column of all tasks together."""


class Line(Told):
    """A row of a table: a method, in one of its variants. ``values`` are by column, in the unit of the table."""

    method: str
    planner: str | None
    """Our name of the method; None for one that cannot be played here."""
    model: str = ""
    variant: str = ""
    unit: str = ""
    """Where it is another one than the table's."""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """The options of our planner that the row was made with; None is no limit."""
    values: dict[str, float]
    spread: dict[str, float] = Field(default_factory=dict)
    """Standard deviations."""
    k_max: dict[str, float] = Field(default_factory=dict)


class Published(Told):
    """A table of a paper; ``by`` says what its columns are, those apart that ``columns.py`` knows; ``note`` how it was
    read.

    A ``main`` table is shown beside any run on its world, another one only beside a method that is in it.
    """

    table: int
    kind: Literal["table", "figure"] = "table"
    env: str
    split: str
    title: str
    unit: str
    by: Literal["type", "object", "skill"]
    main: bool = False
    note: str = ""
    rows: tuple[Line, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """What there are figures of, in the table's order."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.values))


class Setting(Told):
    """How a paper played the tasks of a split, which has our name; None where it does not say.

    ``models`` wrote the plans.
    """

    env: str
    split: str
    tasks: int
    repeats: int
    actions: int | None = None
    models: tuple[str, ...]
    options: dict[str, JsonValue]
    world: str = ""
    """Where theirs is not what ours is,"""
    our_world: str = "in text"
    """which is this,"""
    same_with: str = ""
    """unless an option of our world is given, which names what it is then."""
    world_options: dict[str, tuple[JsonValue, ...]] = Field(default_factory=dict)
    """The values that theirs had of our world's options, where these are not our usual ones."""
    prompts: str


class Publication(Told):
    """A paper's tables. ``names`` are its own names of task types."""

    paper: str
    names: dict[str, str]
    settings: tuple[Setting, ...]
    tables: tuple[Published, ...]

    @property
    def planners(self) -> frozenset[str]:
        """Our names of its methods."""
        return frozenset(row.planner for table in self.tables for row in table.rows if row.planner)

    @property
    def worlds(self) -> tuple[str, ...]:
        """The worlds that it has figures for."""
        return tuple(sorted({setting.env for setting in self.settings}))

    def setting(self, env: str, split: str) -> Setting:
        """How a split was played, or, for one that is not in the paper, the world's first."""
        about = [setting for setting in self.settings if setting.env == env]
        return next((setting for setting in about if setting.split == split), about[0])


@cache
def publications() -> Sequence[Publication]:
    """The papers that are kept in this form."""
    texts = [Path(__file__).with_name(name).read_text(encoding="utf-8") for name in FILES]
    return [Publication.model_validate_json(text) for text in texts]


def publication_of(planner: str, env: str) -> Publication | None:
    """The paper that has a method on a world; failing that, one that has the world, unless that is AutoManual's."""
    about = [each for each in publications() if env in each.worlds]
    return next((each for each in about if planner in each.planners), about[0] if about else None)
