"""The content of ``run.json``: what was asked for and with which inputs; and the episodes that a run is to play."""

from itertools import accumulate
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from planbook.config import Config
from planbook.envs import Task
from planbook.errors import BadRun
from planbook.planner import Budget, Timeouts
from planbook.runs.folder import CONFIG_FILE, found_again
from planbook.store import Schema
from planbook.writing import write_whole


class MadeOf(BaseModel):
    """The inputs of a run apart from versions. All but the seeds are digests (SHA-256, shortened for prompts), by name.

    ``knowledge`` is library, start and demonstrations. ``models`` are recordings and scripts that answer. ``seeds`` has
    that of the run and those that models are sent in the first repeat, by role; the seeds of tasks are in the tasks.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: dict[str, str] = {}
    prompts: dict[str, str] = {}
    knowledge: dict[str, str] = {}
    models: dict[str, str] = {}
    prices: dict[str, str] = {}
    seeds: dict[str, int | None] = {}


class ReadFile(BaseModel):
    """An imported file; ``sha256`` is of its bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    sha256: str
    episodes: int


class ImportOrigin(BaseModel):
    """A run that a number of consecutive episodes were exported from; ``facts`` as in the schema of exports."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    episodes: int
    facts: dict[str, JsonValue]


class Imported(BaseModel):
    """Marks a run whose episodes were played elsewhere."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: tuple[ReadFile, ...]
    origins: tuple[ImportOrigin, ...] = Field(default=())

    def facts_of(self, index: int) -> dict[str, Any]:
        """Return the facts of the run that an episode comes from."""
        last = accumulate(origin.episodes for origin in self.origins)
        return next(origin.facts for origin, end in zip(self.origins, last, strict=True) if index < end)


class Fork(BaseModel):
    """Where a run was forked from: an episode of another run, and the number of its actions that are kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str
    """The folder of the other run."""
    episode: int
    at: int
    repeat: int = 0
    """The repeat of the task there, which sets the random numbers of the episode."""
    without: tuple[str, ...] = ()
    """Parts that the planner is not told, but was told there."""
    change: str = ""
    """What is different from then on, in words."""


GRAPH_PLANNER = "graph"
"""The planner in run.json of a run that holds passes of a prompt graph."""


class RunFile(BaseModel):
    """The content of run.json. ``rerun_of`` is the folder of the run that this one repeats, if it does."""

    model_config = ConfigDict(extra="forbid")

    config: Config
    begun: str
    versions: dict[str, str]
    budget: Budget = Budget()
    timeouts: Timeouts = Field(default=Timeouts(), exclude_if=lambda timeouts: timeouts == Timeouts())
    """Timeouts of its model calls."""
    unsafe_no_sandbox: bool = Field(default=False, exclude_if=lambda unsafe: not unsafe)
    """True if its plans may run where the kernel cannot confine them."""
    store: Schema | None = None
    """The place of the events, if not in the folder."""
    made_of: MadeOf | None = None
    rerun_of: str = ""
    reworded_replies: int = Field(default=0, exclude_if=lambda number: not number)
    """Recorded replies to prompts whose wording has changed since they were recorded."""
    unjudgeable: dict[str, int] = Field(default_factory=dict, exclude_if=lambda counts: not counts)
    """Number of selected tasks that are not played because the environment cannot judge them, by reason."""
    forked: Fork | None = Field(default=None, exclude_if=lambda forked: forked is None)
    """Set for a run of one episode that plays on from a recorded action."""
    imported: Imported | None = Field(default=None, exclude_if=lambda imported: imported is None)
    """Set for a run that was played elsewhere."""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the file in a run's folder; files that were moved with it get their present paths. Raises BadRun."""
        try:
            file = cls.model_validate_json((folder / CONFIG_FILE).read_text(encoding="utf-8"))
            return file.model_copy(update={"config": found_again(file.config, folder)})
        except FileNotFoundError as error:
            raise BadRun(f"{folder} holds no run: there is no {CONFIG_FILE}; name the folder of one") from error
        except ValidationError as error:
            told = f"{folder / CONFIG_FILE} is not that of a run, or of a later planbook: {_first(error)}"
            raise BadRun(told) from error
        except (OSError, UnicodeDecodeError) as error:
            raise BadRun(f"{folder / CONFIG_FILE} cannot be read: {error}") from error

    def write(self, folder: Path) -> None:
        """Write the file atomically."""
        write_whole(folder / CONFIG_FILE, self.model_dump_json(indent=2))


class Entry(BaseModel):
    """An episode that a run is to play: a task, and the index of its repeat."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: int
    task: Task
    repeat: int = 0

    @property
    def path(self) -> str:
        """The scope of the episode's events."""
        return f"task/{self.index}"


def index_of(scope: str) -> int:
    """Return the index of the episode that a scope belongs to; -1 if it belongs to none."""
    name, _, below = scope.partition("/")
    number = below.partition("/")[0]
    return int(number) if name == "task" and number.isdecimal() else -1


def _first(error: ValidationError) -> str:
    """Return the first fault and its place, in one line."""
    fault = error.errors()[0]
    more = f", and {error.error_count() - 1} more" if error.error_count() > 1 else ""
    return f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}{more}"
