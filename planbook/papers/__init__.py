"""The published results and settings of papers, as data read from the JSON files in ``FILES``.

- ``settings`` makes the settings for ``--paper``.
- ``differences`` finds the differences between a run's settings and a paper's.
- ``comparison`` compares the results of a run with the tables of papers, and prints the comparison.

In this package, "our" refers to planbook, and "their" to the authors of a paper.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planbook.config import LearningSettings

FILES = ("automanual.json", "adapt.json", "deps.json", "agentkit.json", "devils_advocate.json")
LEARNING_OPTIONS = ("without", "start")
"""Keys in a row's options that are not options of a planner, but describe learning: the parts of the method that were
left out, and the starting examples."""


class PaperData(BaseModel):
    """Base class of all records in the data files."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)


class PublishedRow(PaperData):
    """A row of a published table. ``values`` maps columns to their numbers.

    ``variant`` distinguishes the row from other rows about the same method, for example by the model.
    """

    method: str
    planner: str | None
    """Our name for the method, or None if planbook does not have it."""
    model: str = ""
    variant: str = ""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """The options that make our planner and our environment correspond to the row. The value None means no limit.

    For a method that learns, there are two more entries. ``without`` lists the parts that were left out, with the names
    that ``--without`` accepts, and ``start`` lists the starting examples.
    """
    models: tuple[str, ...] = ()
    """The models that were used together. Empty if a single model of the setting was used."""
    values: dict[str, float]
    sd: dict[str, float] = Field(default_factory=dict, alias="spread")
    """Maps columns to the standard deviations of their numbers."""
    k_max: dict[str, float] = Field(default_factory=dict)
    """Maps task types to the mean, over solved episodes, of the greatest depth of subtasks."""
    quoted_only: bool = Field(default_factory=lambda values: values["planner"] is None)
    """True if planbook only quotes the numbers. This is the default for methods that planbook lacks."""


class PublishedTable(PaperData):
    """A table of a paper. ``grouped_by`` says whether its columns are task types or objects, except for the columns in
    ``comparison.COLUMNS``, which hold numbers about whole runs.

    A ``main`` table is compared with all runs in its environment. Any other table is compared only with runs of a
    method that it contains. ``note`` explains how to read the table.
    """

    table: int
    kind: Literal["table", "figure"] = "table"
    env: str
    split: str
    title: str
    unit: str
    grouped_by: Literal["type", "object"] = Field(alias="by")
    main: bool = False
    note: str = ""
    rows: tuple[PublishedRow, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the table's order."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.values))

    def rows_of(self, planner: str) -> dict[int, PublishedRow]:
        """Return the rows about one of our methods, as a dict keyed by their numbers in the table."""
        return {number: row for number, row in enumerate(self.rows) if row.planner == planner}


class PaperBuild(PaperData):
    """The settings with which a paper learns its rules. Values that the paper does not state are None."""

    planner: str
    models: tuple[str, ...]
    split: str
    actions: int | None = None
    options: dict[str, JsonValue]
    learning: LearningSettings


class PaperSetting(PaperData):
    """The setting in which a paper tested its methods on one split. Values that the paper does not state are None.

    ``env`` and ``split`` are our names. ``types`` lists all task types of the split; it is empty if these are the
    columns of the tables. ``models`` are the models that wrote the plans, one of them in each run. ``build`` is None if
    the paper's methods learned nothing.
    """

    env: str
    split: str
    types: tuple[str, ...] = ()
    tasks: int | None = None
    repeats: int
    reseeds: bool = False
    """True if each repeat of a task was played with a different seed."""
    actions: int | None = None
    models: tuple[str, ...]
    options: dict[str, JsonValue]
    sampling: dict[str, JsonValue] = Field(default_factory=dict)
    environment: str = ""
    """A description of their environment, if it differs from ours."""
    our_environment: str = "in text"
    """A description of our environment, which is printed next to the description of theirs."""
    matching_option: str = ""
    """An option that can make our environment match theirs. If a run sets it, it is printed instead of
    ``our_environment``."""
    environment_options: dict[str, tuple[JsonValue, ...]] = Field(default_factory=dict)
    """Maps options of our environment to the values that correspond to the paper's environment.

    Options whose defaults already correspond to it are left out. ``--paper`` uses the first value; the other values are
    equivalent.
    """
    deviations: dict[str, dict[str, tuple[str, str]]] = Field(default_factory=dict)
    """Maps our name of a method to its deviations from this setting.

    Each deviation maps the name of a setting, or of a further difference, to our value and theirs. ``{tasks}`` in our
    value is replaced by the number of our tasks.
    """
    without: tuple[str, ...] = ()
    """Parts of our method that their method lacks, with the names that ``--without`` accepts."""
    prompts: str
    build: PaperBuild | None = None


class Publication(PaperData):
    """The settings and tables of a paper. ``names`` maps our task types to the paper's names."""

    paper: str
    names: Mapping[str, str]
    settings: tuple[PaperSetting, ...]
    tables: tuple[PublishedTable, ...]

    @property
    def planners(self) -> frozenset[str]:
        """Our names for the methods of the paper that planbook has."""
        return frozenset(row.planner for table in self.tables for row in table.rows if row.planner)

    def has_results(self, planner: str, env: str) -> bool:
        """Return True if the paper has results of one of our methods in an environment."""
        return any(table.rows_of(planner) for table in self.tables if table.env == env)

    @property
    def environments(self) -> tuple[str, ...]:
        """The environments for which the paper has results."""
        return tuple(sorted({setting.env for setting in self.settings}))

    def settings_of(self, env: str) -> tuple[PaperSetting, ...]:
        """Return the settings for the splits of an environment."""
        return tuple(setting for setting in self.settings if setting.env == env)

    def best_matching_rows(
        self, planner: str, setting: PaperSetting, chosen: Mapping[str, JsonValue]
    ) -> list[PublishedRow]:
        """Return the rows about a method in a setting that agree with the most ``chosen`` values of options."""
        tables = (table for table in self.tables if self.setting(table.env, table.split) == setting)
        rows = [row for table in tables for row in table.rows_of(planner).values()]
        agreements = [
            sum(name in chosen and chosen[name] == value for name, value in row.options.items()) for row in rows
        ]
        return [row for row, count in zip(rows, agreements, strict=True) if count == max(agreements)]

    def options(
        self, planner: str, setting: PaperSetting, chosen: Mapping[str, JsonValue] = {}
    ) -> dict[str, JsonValue]:
        """Return the options of a method in a setting, given the ``chosen`` values of some options.

        If all best matching rows agree on an option, their value overrides the setting's.
        """
        rows = [row.options for row in self.best_matching_rows(planner, setting, chosen)]
        agreed = {name: value for row in rows for name, value in row.items() if all(r.get(name) == value for r in rows)}
        return {name: value for name, value in (setting.options | agreed).items() if name not in LEARNING_OPTIONS}

    def setting(self, env: str, split: str, types: Collection[str] = (), *, for_build: bool = False) -> PaperSetting:
        """Return the environment's setting that best fits a split and task types.

        In order of preference, this is a setting for the split that names no task types, a setting that includes all
        ``types``, any setting for the split, a setting that learns from the split (if ``for_build`` is true), or the
        first setting.
        """
        settings = self.settings_of(env)
        of_all_types = (setting for setting in settings if setting.split == split and not setting.types)
        of_types = (setting for setting in settings if types and set(types) <= set(setting.types))
        of_split = (setting for setting in settings if setting.split == split)
        learning = (setting for setting in settings if for_build and setting.build and setting.build.split == split)
        return next(chain(of_all_types, of_types, of_split, learning), settings[0])


@cache
def publications() -> Sequence[Publication]:
    """Return all papers whose results ship with planbook."""
    texts = [Path(__file__).with_name(name).read_text(encoding="utf-8") for name in FILES]
    return [Publication.model_validate_json(text) for text in texts]


def papers_of(planner: str, env: str) -> Sequence[Publication]:
    """Return the papers that have results for this method and environment.

    If there are none, return the first paper with results for the environment, or nothing if no paper has any.
    """
    papers = [paper for paper in publications() if env in paper.environments]
    return [paper for paper in papers if planner in paper.planners] or papers[:1]
