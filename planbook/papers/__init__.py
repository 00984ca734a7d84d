"""The tables and settings that papers published, as data, which are read from ``FILES``.

- ``settings``: the settings for ``--paper``, and the differences between the settings of a run and a paper.
- ``comparison``: compares the results of a run with the tables, and prints the comparison.

"Our" refers to planbook, "their" to the authors of a paper.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, computed_field

from planbook.config import LearningSettings

FILES = ("automanual.json", "adapt.json", "deps.json", "agentkit.json", "devils_advocate.json")
LEARNING_OPTIONS = ("without", "start")
"""Keys in the options of a row that describe learning: parts left out, and starting examples. No planner has them."""


class PaperData(BaseModel):
    """Base class of the records in a data file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedRow(PaperData):
    """A row of a table: the results of a method, or of a variant of it. ``values`` maps each column to its figure."""

    method: str
    planner: str | None
    """Our name for the method, or None if planbook does not have it."""
    model: str = ""
    variant: str = ""
    unit: str = ""
    """The unit of the figures, if it differs from that of the table."""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """The options of our planner that correspond to the row. None means no limit.

    A method that learns has two more entries: ``without``, the parts that it leaves out, named as on the command line,
    and ``start``, its starting examples.
    """
    values: dict[str, float]
    spread: dict[str, float] = Field(default_factory=dict)
    """Maps columns to the standard deviations of their figures."""
    k_max: dict[str, float] = Field(default_factory=dict)
    """Maps task types to the mean of the greatest depth of subtasks, as in ``comparison.OurRow``."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def quoted_only(self) -> bool:
        """True if the figures are only quoted: planbook does not have the method, or LLaMA wrote the plans."""
        return self.planner is None or "LLaMA" in self.model


class PublishedTable(PaperData):
    """A table of a paper. ``by`` says whether its columns, except those in ``comparison.COLUMNS``, are task types,
    objects or skills.

    A ``main`` table is compared with all runs in its environment. Other tables are compared only with runs of a method
    that they contain. A table of ``ablations`` is not printed for a run that asked no model. ``note`` explains how the
    table is to be read.
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
        """Return the rows of one of our methods, as a dict from the number of the row to the row."""
        return {number: row for number, row in enumerate(self.rows) if row.planner == planner}


class PaperBuilding(PaperData):
    """The settings with which a paper learns its rules. Values that the paper does not state are None."""

    planner: str
    models: tuple[str, ...]
    split: str
    actions: int | None = None
    options: dict[str, JsonValue]
    learning: LearningSettings


class PaperSetting(PaperData):
    """The setting of a paper's experiments on a split. Values that the paper does not state are None.

    ``env`` and ``split`` are our names. ``types`` lists all task types of the split, and is empty if the columns of the
    tables name them. ``models`` are the models that wrote the plans. ``building`` is None if nothing was learned.
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
    """A description of our environment, to print next to theirs."""
    matching_option: str = ""
    """An option that can make our environment match theirs. If set, it is printed instead of ``our_environment``."""
    environment_options: dict[str, tuple[JsonValue, ...]] = Field(default_factory=dict)
    """Maps options of our environment to the values that correspond to theirs, where these are not the defaults.

    ``--paper`` uses the first value. The others are equivalent.
    """
    deviations: dict[str, dict[str, tuple[str, str]]] = Field(default_factory=dict)
    """Exceptions from this setting for single methods.

    The outer dict maps our name of a method to its exceptions. The inner dict maps the name of a setting to our value
    and theirs. ``{tasks}`` in our value is replaced by the number of our tasks.
    """
    without: tuple[str, ...] = ()
    """Parts of our method that theirs does not have, named as for ``--without``."""
    prompts: str
    building: PaperBuilding | None = None


class Publication(PaperData):
    """The settings and tables of a paper. ``names`` maps our task types to the paper's names."""

    paper: str
    names: Mapping[str, str]
    settings: tuple[PaperSetting, ...]
    tables: tuple[PublishedTable, ...]

    @property
    def planners(self) -> frozenset[str]:
        """Our names for the paper's methods, as far as planbook has them."""
        return frozenset(row.planner for table in self.tables for row in table.rows if row.planner)

    @property
    def environments(self) -> tuple[str, ...]:
        """The environments for which the paper has results."""
        return tuple(sorted({setting.env for setting in self.settings}))

    def settings_of(self, env: str) -> tuple[PaperSetting, ...]:
        """Return the settings for the splits of an environment."""
        return tuple(setting for setting in self.settings if setting.env == env)

    def options(self, planner: str, setting: PaperSetting) -> dict[str, JsonValue]:
        """Return the options of a method in a setting.

        Options that all rows of the method agree on take precedence over those of the setting.
        """
        tables = (table for table in self.tables if self.setting(table.env, table.split) == setting)
        rows = [row.options for table in tables for row in table.rows_of(planner).values()]
        agreed = {name: value for row in rows for name, value in row.items() if all(r.get(name) == value for r in rows)}
        return {name: value for name, value in (setting.options | agreed).items() if name not in LEARNING_OPTIONS}

    def setting(self, env: str, split: str, types: Collection[str] = ()) -> PaperSetting:
        """Return the first setting that includes all the types.

        If there is none, return the setting for the split, or else the first one for the environment.
        """
        settings = self.settings_of(env)
        of_types = (setting for setting in settings if types and set(types) <= set(setting.types))
        of_split = (setting for setting in settings if setting.split == split)
        return next(chain(of_types, of_split), settings[0])


@cache
def publications() -> Sequence[Publication]:
    """Return all papers whose results come with planbook."""
    texts = [Path(__file__).with_name(name).read_text(encoding="utf-8") for name in FILES]
    return [Publication.model_validate_json(text) for text in texts]


def papers_of(planner: str, env: str) -> Sequence[Publication]:
    """Return the papers that have results for this method and environment.

    If there are none, return only the first paper on the environment, if there is one.
    """
    papers = [paper for paper in publications() if env in paper.environments]
    return [paper for paper in papers if planner in paper.planners] or papers[:1]
