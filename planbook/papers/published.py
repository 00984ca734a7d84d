"""The tables of papers as data, with their units, read from ``automanual.json`` and similar files."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, computed_field

from planbook.config import Learning

FILES = ("automanual.json", "adapt.json", "deps.json", "agentkit.json", "devils_advocate.json")
LEARNING_OPTIONS = ("without", "start")
"""Entries of a learning method's row that are not options of the method."""


class PaperData(BaseModel):
    """Base of the content of a data file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedRow(PaperData):
    """A row of a table: a method or a variant of it. ``values`` are by column, in the unit of the table."""

    method: str
    planner: str | None
    """Our name for the method; None if it cannot be played here."""
    model: str = ""
    variant: str = ""
    unit: str = ""
    """Set if it differs from the table's."""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """The options of our planner that correspond to the row; None means no limit.

    A learning method also has its left-out parts (``without``, as on the command line) and its examples (``start``).
    """
    values: dict[str, float]
    spread: dict[str, float] = Field(default_factory=dict)
    """Standard deviations."""
    k_max: dict[str, float] = Field(default_factory=dict)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def quoted_only(self) -> bool:
        """True if the figures are only quoted: the method cannot be played here, or LLaMA planned."""
        return self.planner is None or "LLaMA" in self.model


class PublishedTable(PaperData):
    """A table of a paper; ``by`` says what its columns are, apart from those in ``comparison.COLUMNS``.

    A ``main`` table is compared with any run in its environment, any other only with runs of its methods. A table of
    ``ablations`` is not printed for a run that asked no model. ``note`` explains how the table was read.
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

    def rows_of(self, planner: str) -> dict[int, PublishedRow]:
        """Return the rows of one of our methods, by their numbers."""
        return {number: row for number, row in enumerate(self.rows) if row.planner == planner}


class PaperBuilding(PaperData):
    """The settings of a paper's building stage; None for values that the paper does not state."""

    planner: str
    models: tuple[str, ...]
    split: str
    actions: int | None = None
    options: dict[str, JsonValue]
    learning: Learning


class PaperSetting(PaperData):
    """The setting of a paper on a split, under our name for the split; None for values that the paper does not state.

    ``types`` are all task types of the split; empty if the columns of the tables name them. ``models`` wrote the plans.
    A paper without ``building`` learned nothing.
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
    """A description of their environment, if it differs from ours."""
    our_environment: str = "in text"
    """A description of our environment, to print beside theirs."""
    matching_option: str = ""
    """The option of our environment that can make it match theirs; if set, it is printed for ``our_environment``."""
    environment_options: dict[str, tuple[JsonValue, ...]] = Field(default_factory=dict)
    """Their values of our environment's options where they differ from our defaults; ``--paper`` sets the first."""
    deviations: dict[str, dict[str, tuple[str, str]]] = Field(default_factory=dict)
    """By planner, the values in which its rows deviate from this setting: name, our value and theirs.

    ``{tasks}`` in our value is replaced by the number of our tasks.
    """
    without: tuple[str, ...] = ()
    """Parts of our method that theirs lacks (``--without``)."""
    prompts: str
    building: PaperBuilding | None = None


class Publication(PaperData):
    """A paper's settings and tables. ``names`` has the paper's names for our task types."""

    paper: str
    names: Mapping[str, str]
    settings: tuple[PaperSetting, ...]
    tables: tuple[PublishedTable, ...]

    @property
    def planners(self) -> frozenset[str]:
        """Our names for its methods."""
        return frozenset(row.planner for table in self.tables for row in table.rows if row.planner)

    @property
    def environments(self) -> tuple[str, ...]:
        """The environments that it has figures for."""
        return tuple(sorted({setting.env for setting in self.settings}))

    def settings_of(self, env: str) -> tuple[PaperSetting, ...]:
        """Return the settings for the splits of an environment."""
        return tuple(setting for setting in self.settings if setting.env == env)

    def options(self, planner: str, setting: PaperSetting) -> dict[str, JsonValue]:
        """Return the options of a method: those of the setting, overridden by those that all its rows agree on."""
        tables = (table for table in self.tables if self.setting(table.env, table.split) == setting)
        rows = [row.options for table in tables for row in table.rows_of(planner).values()]
        agreed = {
            name: value for row in rows for name, value in row.items() if all(it.get(name) == value for it in rows)
        }
        return {name: value for name, value in (setting.options | agreed).items() if name not in LEARNING_OPTIONS}

    def setting(self, env: str, split: str, types: Collection[str] = ()) -> PaperSetting:
        """Return the first setting that has all the types, else that of the split, else the environment's first."""
        settings = self.settings_of(env)
        of_types = (setting for setting in settings if types and set(types) <= set(setting.types))
        of_split = (setting for setting in settings if setting.split == split)
        return next(chain(of_types, of_split), settings[0])


@cache
def publications() -> Sequence[Publication]:
    """Return every paper whose figures ship with planbook."""
    texts = [Path(__file__).with_name(name).read_text(encoding="utf-8") for name in FILES]
    return [Publication.model_validate_json(text) for text in texts]


def papers_of(planner: str, env: str) -> Sequence[Publication]:
    """Return the papers that have both method and environment, else the first with the environment, if any."""
    papers = [paper for paper in publications() if env in paper.environments]
    return [paper for paper in papers if planner in paper.planners] or papers[:1]
