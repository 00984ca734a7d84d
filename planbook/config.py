"""What a run is asked to do."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from planbook.envs import Environment, Selection, load_environment
from planbook.manuals import SHIPPED
from planbook.planner import method
from planbook.planner.errors import UnknownStrategy
from planbook.planner.models import Sampling
from planbook.planner.strategies import is_method_file
from planbook.sandbox import Limits

SHIPPED_LIBRARY, LEARNT_LIBRARY = "shipped", "learnt"
LIBRARIES = {SHIPPED_LIBRARY: SHIPPED, LEARNT_LIBRARY: SHIPPED / "learnt"}
"""The libraries that ship: procedures written by hand, and what a recorded building run has learnt."""
RECORDINGS = SHIPPED / "recordings"
"""The recordings that ship, for ``recorded:NAME``."""


class Given(BaseModel):
    """Where a building run copies episodes from: a run's folder, or a file.

    ``sha256`` is of its episodes as JSON Lines, which is the same for the run and for any file exported from it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    sha256: str
    episodes: int


class Learning(BaseModel):
    """How rules are built (AutoManual, appendix D)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: tuple[str, ...] = ()
    """The examples to start from, with their rules."""
    tasks_per_type: int = Field(default=6, ge=1)
    solved_after: int = Field(default=3, ge=1)
    """Successes in a row after which a type's other tasks are left out."""
    max_rules: int = Field(default=12, ge=1)
    per_type: bool = False
    """Rules of each task type by themselves."""
    libraries_only: bool = False
    """Whether rules stay as they are: only skills, reflections and procedures are learnt (appendix D, all 53 types)."""
    procedures: bool = True
    """Whether successes are generalised into procedures."""
    conclusions: Literal["needed", "always"] = "needed"
    """Whether the planner is asked for its conclusion of every episode, or not where one plan did the task."""
    verify: str = ""
    """SPLIT:N, tasks beside the building tasks that a procedure must solve: N of each type."""
    given: tuple[Given, ...] = Field(default=(), exclude_if=lambda given: not given)
    """Where the episodes are copied from; empty if they are played."""


class Config(BaseModel):
    """What a run was asked to do. Two configurations that are equal give the same episodes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    planner: str
    planner_options: dict[str, JsonValue] = Field(default_factory=dict)
    env: str
    env_options: dict[str, JsonValue] = Field(default_factory=dict)
    selection: Selection = Selection()
    repeats: int = Field(default=1, ge=1)
    actions: int = Field(ge=0)
    """Actions that one episode may take."""
    limits: Limits = Limits()
    seed: int = 0
    dry_run: bool = Field(default=False, exclude_if=lambda dry_run: not dry_run)
    """Whether a plan is refused before its first action if it has actions that cannot succeed."""
    library: str = SHIPPED_LIBRARY
    """What is known beforehand: the name of a library that ships, or a folder (a building run's too)."""
    after: int | None = Field(default=None, ge=0)
    """Of a building run as library: what it knew after so many episodes."""
    rule_tokens: int | None = Field(default=None, ge=100)
    """Tokens that the rules may have in a prompt: a manual is shortened, of a list the rules that fit are chosen."""
    models: dict[str, str] = Field(default_factory=dict)
    """Model by role; ``default`` stands for the roles that are not named."""
    sampling: dict[str, Sampling] = Field(default_factory=dict)
    """Sampling by role, likewise."""
    strict_recordings: bool = Field(default=False, exclude_if=lambda strict: not strict)
    """Whether recordings give no reply to a prompt whose wording has changed since."""
    stream: bool = Field(default=False, exclude_if=lambda stream: not stream)
    """Whether plans run while the model still writes them."""
    without: tuple[str, ...] = ()
    """What is left out (ablations)."""
    paper: str = Field(default="", exclude_if=lambda paper: not paper)
    """The paper whose settings these are, where nothing else was given (``--paper``)."""
    learning: Learning | None = None
    """How rules are built from the episodes; None if nothing is learnt."""

    @property
    def title(self) -> str:
        """What plays, in a word: the planner, or the plan file that was given."""
        planner = Path(self.planner).name if is_method_file(self.planner) else self.planner
        return str(self.planner_options.get("source", planner))

    @property
    def copies(self) -> bool:
        """Whether rules are built from episodes that are copied from elsewhere, so that nobody plays."""
        return self.learning is not None and bool(self.learning.given)

    @property
    def library_folder(self) -> Path:
        """Where the library is."""
        return LIBRARIES.get(self.library) or Path(self.library)

    @property
    def world(self) -> type[Environment]:
        """The world's class. Raises UnknownEnvironment."""
        return load_environment(self.env)

    @property
    def world_options(self) -> BaseModel:
        """The world's options, in its own model."""
        return self.world.Options.model_validate(self.env_options)


def by_dotted_name(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Settings within settings, each by its whole name, in words; what was left empty is left out."""
    if isinstance(value, Mapping):
        for inner, each in value.items():
            yield from by_dotted_name(each, f"{name}.{inner}" if name else str(inner))
    elif isinstance(value, list | tuple):
        if value:
            yield name, ", ".join(map(str, value))
    elif value is not None:
        yield name, str(value)


def chosen_options(config: Config, world: str) -> dict[str, JsonValue]:
    """Return all options that the method plays with, with those that follow from the environment of that name.

    Of a method that is not at hand, or has other options by now, those that were given.
    """
    try:
        chosen = method(config.planner)
        return chosen.options.model_validate(config.planner_options).in_force(world)
    except (UnknownStrategy, ValidationError):
        return config.planner_options
