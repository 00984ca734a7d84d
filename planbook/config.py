"""What a run is asked to do: the fields of run.json's ``config``, which are options of the command line as well.

A field is described once: ``Playing`` has what is both given and recorded as it is, ``Building`` what is about
learning, ``Invocation`` what may change each time that a run goes on. ``Config`` is recorded and compared;
``planbook.settings.Settings`` is what a command or a caller gives, and makes a ``Config`` of it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from planbook.envs import Environment, Selection, Task, load_environment
from planbook.errors import BadArgument
from planbook.manuals import SHIPPED
from planbook.option_values import Option, option, pairs
from planbook.planner import DEFAULT_ROLE, Budget, Sampling, Timeouts, UnknownStrategy, is_method_file, method
from planbook.sandbox import Limits

SHIPPED_LIBRARY, LEARNED_LIBRARY = "shipped", "learnt"
LIBRARIES = {SHIPPED_LIBRARY: SHIPPED, LEARNED_LIBRARY: SHIPPED / "learnt"}
"""The libraries that ship: procedures written by hand, and what a recorded building run has learned."""
RECORDINGS = SHIPPED / "recordings"
"""The recordings that ship, for ``recorded:NAME``."""
NO_MODEL = "none"
SourceOfTypes = Literal["found", "given"]
FOUND: SourceOfTypes = "found"
GIVEN: SourceOfTypes = "given"
"""Where task types come from: the plans that solve them, or the environment."""
UNTYPED = frozenset({"", "task"})
"""Task types that say nothing."""
Executor = Literal["threads", "processes", "ray"]


# How options are read


def _of_role(text: str, mark: str) -> tuple[str, str]:
    """Return the role that an option is for, and the rest; without a role it is for all."""
    role, found, rest = text.partition(mark)
    return (role, rest) if found and role.isidentifier() else (DEFAULT_ROLE, text)


def by_role(given: str | Iterable[str] | Mapping[str, str]) -> dict[str, str]:
    """Return models by role, ``none`` left out. Raises BadArgument for two of one role."""
    if isinstance(given, Mapping):
        return {role: model for role, model in given.items() if model != NO_MODEL}
    named: dict[str, str] = {}
    for text in [given] if isinstance(given, str) else given:
        role, model = _of_role(text, "=")
        if role in named:
            raise BadArgument(f"--model {text}: {role} has the model {named[role]} already; name each role once")
        named[role] = model
    return by_role(named)


def _sampling_by_role(given: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs(given, "--sampling").items():
        if isinstance(value, Sampling | Mapping):
            found[name] = value
        else:
            role, field = _of_role(name, ".")
            found.setdefault(role, {})[field] = value
    return found


def _named(flag: str) -> Callable[[Any], Any]:
    def read(given: Any) -> Any:
        return given if given is None or isinstance(given, BaseModel) else pairs(given, flag)

    return read


def parts_of(given: Any) -> Any:
    """Return the parts of a text with commas; anything else as it is."""
    return tuple(filter(None, given.split(","))) if isinstance(given, str) else given


Names = Annotated[tuple[str, ...], BeforeValidator(parts_of)]


class Fields(BaseModel):
    """Base of models whose fields are given or recorded."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Playing(Fields):
    """How episodes are played."""

    planner: str = option(
        "", "The planning method: a name that `planbook planners` lists, or FILE.py:NAME.", Option("Planning")
    )
    planner_options: Annotated[dict[str, JsonValue], BeforeValidator(_named("--planner-option"))] = option(
        {},
        "An option of the planner: `planbook planners NAME` lists them.",
        Option("Planning", "--planner-option", metavar="NAME=VALUE", many=True),
    )
    env: str = option(
        "", "The environment: a name that `planbook envs` lists, or FILE.py:Class.", Option("Environment")
    )
    env_options: Annotated[dict[str, JsonValue], BeforeValidator(_named("--option"))] = option(
        {},
        "An option of the environment: `planbook envs --env NAME` lists them.",
        Option("Environment", "--option", "-o", metavar="NAME=VALUE", many=True),
    )
    repeats: int = option(1, "Play every task this many times.", Option("Tasks"), ge=1)
    limits: Annotated[Limits, BeforeValidator(_named("--limit"))] = option(
        Limits(),
        "A limit of one plan, such as wall_seconds=20.",
        Option("Episodes", "--limit", metavar="NAME=VALUE", many=True),
    )
    seed: int = option(0, "Seed of the random numbers in plans.", Option("Episodes"))
    dry_run: bool = option(
        False,
        "Refuse a plan before its first action if one of its actions is known to fail.",
        Option("Episodes"),
        exclude_if=lambda dry_run: not dry_run,
    )
    library: str = option(
        SHIPPED_LIBRARY,
        "What the planner knows already: shipped, learnt (the default of `test`), a building run, or a folder.",
        Option("Library", metavar="NAME|FOLDER"),
    )
    rule_tokens: int | None = option(
        None,
        "Tokens of a prompt that rules may take: the manual is shortened, or the rules that fit are chosen.",
        Option("Library"),
        ge=100,
    )
    models: Annotated[dict[str, str], BeforeValidator(by_role)] = option(
        {},
        "The model that answers: openai:NAME, recorded:FILE, exchange:DIR, scripted:FILE.py:NAME or none; for all "
        "roles or for one.",
        Option("Models", "--model", metavar="[ROLE=]MODEL", many=True),
    )
    sampling: Annotated[dict[str, Sampling], BeforeValidator(_sampling_by_role)] = option(
        {},
        "A sampling parameter: temperature=0.7, builder.max_tokens=4000; seed=null sends no seed.",
        Option("Models", metavar="[ROLE.]NAME=VALUE", many=True),
    )
    strict_recordings: bool = option(
        False,
        "Refuse a recorded reply if the wording of its prompt has changed.",
        Option("Planning"),
        exclude_if=lambda strict: not strict,
    )
    stream: bool = option(
        False,
        "Run each statement of a plan as soon as the model has written it.",
        Option("Planning"),
        exclude_if=lambda stream: not stream,
    )
    without: tuple[str, ...] = option(
        (), "Leave a part of the method out (for ablations).", Option("Planning", metavar="NAME", many=True)
    )


class Building(Fields):
    """How rules are built (AutoManual, appendix D)."""

    start: Names = option(
        (),
        "The examples to start from, with their rules; by default the usual ones.",
        Option("Learning", metavar="NAME,..."),
    )
    tasks_per_type: int = option(6, "Number of tasks of each type to build on.", Option("Learning"), ge=1)
    solved_after: int = option(
        3, "Leave out the rest of a task type after this many successes in a row.", Option("Learning"), ge=1
    )
    max_rules: int = option(12, "Number of rules above which some are consolidated.", Option("Learning"), ge=1)
    per_type: bool = option(False, "Keep separate rules for each task type.", Option("Learning"))
    libraries_only: bool = option(
        False, "Leave the rules as they are: learn only skills, reflections and procedures.", Option("Learning")
    )
    procedures: bool = option(
        True, "Do not generalise successes into procedures.", Option("Learning", "--no-procedures")
    )
    conclusions: Literal["needed", "always"] = option(
        "needed",
        "Ask the planner to sum up every episode, or only those that one plan did not solve.",
        Option("Learning"),
    )
    checks: bool = option(
        False,
        "Let the Builder write checks of rules as code, and measure with them whether plans obey the rules.",
        Option("Learning"),
        exclude_if=lambda checks: not checks,
    )
    verify: str = option(
        "", "Verify procedures on N more tasks of each type from this split.", Option("Learning", metavar="SPLIT:N")
    )


class Invocation(Fields):
    """How one command plays a run; None leaves a setting of the run as it is. All of it may change on resume."""

    jobs: int = option(1, "Number of episodes to play at the same time.", Option("Running", on_resume=True), ge=1)
    executor: Executor = option(
        "threads",
        "Where episodes are played: threads here, worker processes, or a Ray cluster (RAY_ADDRESS).",
        Option("Running", on_resume=True),
    )
    unsafe_no_sandbox: bool = option(
        False,
        "Run plans even if the kernel cannot confine them: they have your permissions.",
        Option("Running", on_resume=True),
    )
    budget: Annotated[Budget | None, BeforeValidator(_named("--budget"))] = option(
        None,
        "A limit of the whole run, or of all runs of a command together: calls, tokens, actions, seconds or money "
        "(US dollars). A building run keeps a tenth for its manual, or formulator=SHARE.",
        Option("Spending", metavar="NAME=VALUE", many=True, on_resume=True),
    )
    prices: Path | None = option(None, "A price table of your own.", Option("Spending", metavar="FILE", on_resume=True))
    timeouts: Annotated[Timeouts | None, BeforeValidator(_named("--timeout"))] = option(
        None,
        "Wait at most this long for a model's server: connect=10 to accept a connection, idle=300 to send a token.",
        Option("Spending", "--timeout", metavar="NAME=SECONDS", many=True, on_resume=True),
    )
    allow_changed: bool = option(
        False,
        "Resume even if data, prompts or knowledge have changed since the run began.",
        Option("Resuming", on_resume=True),
    )


class Given(Fields):
    """Where a building run copies episodes from: a run's folder, or a file.

    ``sha256`` is of its episodes as JSON Lines, which is the same for the run and for any file exported from it.
    """

    path: str
    sha256: str
    episodes: int


class Learning(Building):
    """How rules are built, as a run records it."""

    given: tuple[Given, ...] = Field(default=(), exclude_if=lambda given: not given)
    """Where the episodes are copied from; empty if they are played."""


class Config(Playing):
    """What a run was asked to do. Two configurations that are equal give the same episodes.

    ``models`` and ``sampling`` are by role; ``default`` stands for the roles that are not named.
    """

    selection: Selection = Selection()
    actions: int = Field(ge=0)
    """Actions that one episode may take."""
    after: int | None = Field(default=None, ge=0)
    """Of a building run as library: what it knew after this many episodes."""
    paper: str = Field(default="", exclude_if=lambda paper: not paper)
    """The paper whose settings these are, where nothing else was given (``--paper``)."""
    types: SourceOfTypes = Field(default="given", exclude_if=lambda types: types == GIVEN)
    """Whether task types and params are the environment's, or found from plans and goals: nobody is told them then."""
    goals: dict[str, str] = Field(default_factory=dict, exclude_if=lambda goals: not goals)
    """Other wordings of goals, by task id, which planners get instead of the environment's."""
    learning: Learning | None = None
    """How rules are built from the episodes; None if nothing is learned."""

    @property
    def title(self) -> str:
        """The name of what plays: the planner, or the plan file that was given."""
        planner = Path(self.planner).name if is_method_file(self.planner) else self.planner
        return str(self.planner_options.get("source", planner))

    def told(self, task: Task) -> dict[str, Any]:
        """Return the fields of a task that differ from the environment's for all but the environment itself."""
        untyped = {"type": "", "params": {}} if self.types == FOUND else {}
        return untyped | ({"goal": self.goals[task.id]} if task.id in self.goals else {})

    @property
    def copies(self) -> bool:
        """True if rules are built from episodes that are copied from elsewhere, so that nobody plays."""
        return self.learning is not None and bool(self.learning.given)

    @property
    def library_folder(self) -> Path:
        """The folder of the library."""
        return LIBRARIES.get(self.library) or Path(self.library)

    @property
    def environment(self) -> type[Environment]:
        """The environment's class. Raises UnknownEnvironment."""
        return load_environment(self.env)

    @property
    def environment_options(self) -> BaseModel:
        """The environment's options, in its own model."""
        return self.environment.Options.model_validate(self.env_options)


def by_dotted_name(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield settings within settings, each by its whole name, in words; what was left empty is left out."""
    if isinstance(value, Mapping):
        for inner, each in value.items():
            yield from by_dotted_name(each, f"{name}.{inner}" if name else str(inner))
    elif isinstance(value, list | tuple):
        if value:
            yield name, ", ".join(map(str, value))
    elif value is not None:
        yield name, str(value)


def chosen_options(config: Config, environment: str) -> dict[str, JsonValue]:
    """Return all options that the method plays with, with those that follow from the environment of that name.

    Of a method that is not available, or has other options by now, those that were given.
    """
    try:
        chosen = method(config.planner)
        return chosen.options.model_validate(config.planner_options).in_force(environment)
    except (UnknownStrategy, ValidationError):
        return config.planner_options
