"""The tables of papers as data, with their units, read from ``automanual.json`` and so on."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, computed_field

from planbook.config import Learning

FILES = ("automanual.json", "adapt.json", "deps.json", "agentkit.json", "devils_advocate.json")
LEARNING_OPTIONS = ("without", "start")
"""Entries of a learning method's row that are no options of the method."""
ALL = "all"
"""The column of all tasks together."""


class PaperData(BaseModel):
    """Base of the content of a data file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedRow(PaperData):
    """A row of a table: a method, in one of its variants. ``values`` are by column, in the unit of the table."""

    method: str
    planner: str | None
    """Our name of the method; None for one that cannot be played here."""
    model: str = ""
    variant: str = ""
    unit: str = ""
    """Set if it differs from the table's."""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """Our planner's options that the row was made with, None being no limit.

    Of a learning method also what was left out (``without``, as on the command line) and its examples (``start``).
    """
    values: dict[str, float]
    spread: dict[str, float] = Field(default_factory=dict)
    """Standard deviations."""
    k_max: dict[str, float] = Field(default_factory=dict)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def quoted_only(self) -> bool:
        """True if the figures are only quoted: the method cannot be played here, or it was never played with LLaMA."""
        return self.planner is None or "LLaMA" in self.model


class PublishedTable(PaperData):
    """A table of a paper; ``by`` says what its columns are, except those of ``COLUMNS``; ``note`` how it was read.

    A ``main`` table is shown beside any run on its environment, another one only beside a method that is in it; one of
    ``ablations`` is not printed beside a run that asked no model.
    """

    table: int
    kind: Literal["table", "figure"] = "table"
    env: str
    split: str
    title: str
    unit: str
    by: Literal["type", "object", "skill"]
    main: bool = False
    ablations: bool = False
    note: str = ""
    rows: tuple[PublishedRow, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the table's order."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.values))

    def of(self, planner: str) -> dict[int, PublishedRow]:
        """Return the rows of a method of ours, by their numbers."""
        return {number: row for number, row in enumerate(self.rows) if row.planner == planner}


class PaperBuilding(PaperData):
    """The building of a paper's knowledge; None for what it does not state."""

    planner: str
    models: tuple[str, ...]
    split: str
    actions: int | None = None
    options: dict[str, JsonValue]
    learning: Learning


class PaperSetting(PaperData):
    """The setting of a paper on a split, which has our name; None for what it does not state.

    ``types`` are all the task types of the split, where its figures are over types that they do not name. ``models``
    wrote the plans. In a paper without ``building`` nothing was learned.
    """

    env: str
    split: str
    types: tuple[str, ...] = ()
    tasks: int | None = None
    repeats: int
    actions: int | None = None
    models: tuple[str, ...]
    options: dict[str, JsonValue]
    sampling: dict[str, JsonValue] = Field(default_factory=dict)
    environment: str = ""
    """Their environment, where it is not ours,"""
    our_environment: str = "in text"
    """which is this one,"""
    same_with: str = ""
    """unless this option of our environment is given, whose value names it then."""
    environment_options: dict[str, tuple[JsonValue, ...]] = Field(default_factory=dict)
    """Their values of our environment's options, where these are not our usual ones."""
    apart: dict[str, dict[str, tuple[str, str]]] = Field(default_factory=dict)
    """By planner, for rows that were not made as the setting says: what, ours and theirs.

    ``{tasks}`` in ours stands for the number of our tasks.
    """
    without: tuple[str, ...] = ()
    """Parts of ours that it did not have (``--without``)."""
    prompts: str
    building: PaperBuilding | None = None


class Publication(PaperData):
    """A paper's tables. ``names`` are its own names of task types."""

    paper: str
    names: Mapping[str, str]
    settings: tuple[PaperSetting, ...]
    tables: tuple[PublishedTable, ...]

    @property
    def planners(self) -> frozenset[str]:
        """Our names of its methods."""
        return frozenset(row.planner for table in self.tables for row in table.rows if row.planner)

    @property
    def environments(self) -> tuple[str, ...]:
        """The environments that it has figures for."""
        return tuple(sorted({setting.env for setting in self.settings}))

    def settings_of(self, env: str) -> tuple[PaperSetting, ...]:
        """Return the settings of an environment's splits."""
        return tuple(setting for setting in self.settings if setting.env == env)

    def options(self, planner: str, setting: PaperSetting) -> dict[str, JsonValue]:
        """Return the options that a method was played with: the setting's, replaced by those that all its rows have."""
        tables = (table for table in self.tables if self.setting(table.env, table.split) == setting)
        rows = [row.options for table in tables for row in table.of(planner).values()]
        agreed = {
            name: value for row in rows for name, value in row.items() if all(each.get(name) == value for each in rows)
        }
        return {name: value for name, value in (setting.options | agreed).items() if name not in LEARNING_OPTIONS}

    def setting(self, env: str, split: str, types: Collection[str] = ()) -> PaperSetting:
        """Return the first setting that has all the types, else that of the split, else the environment's first."""
        about = self.settings_of(env)
        of_types = (each for each in about if types and set(types) <= set(each.types))
        of_split = (each for each in about if each.split == split)
        return next(chain(of_types, of_split), about[0])


@cache
def publications() -> Sequence[Publication]:
    """Return every paper whose figures ship."""
    texts = [Path(__file__).with_name(name).read_text(encoding="utf-8") for name in FILES]
    return [Publication.model_validate_json(text) for text in texts]


def papers_of(planner: str, env: str) -> Sequence[Publication]:
    """Return the papers that have a method and an environment, else the first that has the environment."""
    about = [each for each in publications() if env in each.environments]
    return [each for each in about if planner in each.planners] or about[:1]
