"""The configuration of a run, which run.json stores as ``config``. Most of its fields are also command-line options.

Each field is declared once: in ``PlayingSettings`` if ``Config`` has the same field, in ``BuildingSettings`` if it
concerns learning, or in ``InvocationSettings`` if it may change when a run is resumed. A command or a Python caller
fills in ``planbook.settings.Settings``, from which the run's ``Config`` is made. A command that continues the run must
produce an equal ``Config``.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from planbook.envs import Environment, Selection, Task, load_environment
from planbook.errors import BadArgument
from planbook.manuals import SHIPPED
from planbook.options import Option, option, parse_pairs
from planbook.planner import DEFAULT_ROLE, Budget, PlannerError, Sampling, Timeouts, is_method_file, known_method
from planbook.sandbox import Limits

SHIPPED_LIBRARY, LEARNED_LIBRARY = "shipped", "learned"
LIBRARIES = {SHIPPED_LIBRARY: SHIPPED, LEARNED_LIBRARY: SHIPPED / "learned"}
"""The shipped libraries: procedures written by hand, and what a recorded run of `planbook build` learned."""
RECORDINGS = SHIPPED / "recordings"
"""The folder of the recorded replies that ship with planbook, for models named ``recorded:NAME``."""
NO_MODEL = "none"
SourceOfTypes = Literal["found", "given"]
FOUND: SourceOfTypes = "found"
GIVEN: SourceOfTypes = "given"
"""Where task types come from: planbook finds them in the plans that solve the tasks, or the environment gives them."""
UNTYPED = frozenset({"", "task"})
"""Types of tasks in environments without task types."""
Executor = Literal["threads", "processes", "ray"]


def _split_role(text: str, separator: str) -> tuple[str, str]:
    """Split a string such as ``planner=openai:NAME`` into a role (by default, DEFAULT_ROLE) and the text after it."""
    role, has_separator, value = text.partition(separator)
    return (role, value) if has_separator and role.isidentifier() else (DEFAULT_ROLE, text)


def models_by_role(values: str | Iterable[str] | Mapping[str, str]) -> dict[str, str]:
    """Return a dict that maps roles to models. ``values`` is such a mapping, or strings of the form [ROLE=]MODEL.

    A role with the model ``none`` is left out if ``values`` is a mapping. If given as a string, it is kept, since
    ``none`` may later override the model that a run used. Raises BadArgument if two strings name the same role, or if a
    mapping has ``none`` for one role although it has a model for all roles.
    """
    if isinstance(values, Mapping):
        models = {role: model for role, model in values.items() if model != NO_MODEL}
        if DEFAULT_ROLE in models and (missing := [role for role in values if role not in models]):
            raise BadArgument(
                f"--model {missing[0]}=none: {models[DEFAULT_ROLE]}, the model for all roles, would answer "
                "instead; name a model for each of the other roles"
            )
        return models
    models = {}
    for text in [values] if isinstance(values, str) else map(str, values):
        role, model = _split_role(text, "=")
        if role in models:
            raise BadArgument(f"--model {text}: {role} already has the model {models[role]}; name each role once")
        models[role] = model
    return models


def _sampling_by_role(values: Any) -> dict[str, Any]:
    sampling: dict[str, Any] = {}
    for name, value in parse_pairs(values, "--sampling").items():
        if isinstance(value, Sampling | Mapping):
            sampling[name] = value
        else:
            role, field = _split_role(name, ".")
            sampling.setdefault(role, {})[field] = value
    return sampling


def parsed_with(parse: Callable[[Any], Any]) -> BeforeValidator:
    """Return a validator that calls ``parse`` for strings and collections, and passes other values on to pydantic."""
    return BeforeValidator(
        lambda value: parse(value) if isinstance(value, Iterable) and not isinstance(value, BaseModel) else value
    )


def _parsed_pairs(flag: str) -> BeforeValidator:
    return parsed_with(lambda value: parse_pairs(value, flag))


def _present_library(name: Any) -> Any:
    """Return the present name of a library, which an earlier planbook may have called ``learnt``."""
    return LEARNED_LIBRARY if name == "learnt" else name


def split_names(value: Any) -> Any:
    """Split a string at its commas, and return the non-empty parts. Return a value that is not a string unchanged."""
    return tuple(filter(None, value.split(","))) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(split_names)]


class StrictModel(BaseModel):
    """Base class of settings and of the records in run.json. Instances are immutable, and refuse unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PlayingSettings(StrictModel):
    """Settings for playing episodes."""

    planner: str = option(
        "", "The planning method: a name that `planbook planners` lists, or FILE.py:NAME.", Option("Planning")
    )
    planner_options: Annotated[dict[str, JsonValue], _parsed_pairs("--planner-option")] = option(
        {},
        "An option of the planner; `planbook planners NAME` lists all options.",
        Option("Planning", "--planner-option", metavar="NAME=VALUE", many=True),
    )
    env: str = option(
        "",
        "The environment: a name that `planbook envs` lists, FILE.py:Class, or tools as module:FILE.py, gym:ID or "
        "mcp:COMMAND.",
        Option("Environment"),
    )
    env_options: Annotated[dict[str, JsonValue], _parsed_pairs("--option")] = option(
        {},
        "An option of the environment; `planbook envs --env NAME` lists all options.",
        Option("Environment", "--option", "-o", metavar="NAME=VALUE", many=True),
    )
    repeats: int = option(1, "Play every task this many times.", Option("Tasks"), ge=1, le=1_000)
    limits: Annotated[Limits, _parsed_pairs("--limit")] = option(
        Limits(),
        "A limit for each cell (a piece of plan code that is run as a unit), for example wall_seconds=20.",
        Option("Episodes", "--limit", metavar="NAME=VALUE", many=True),
    )
    seed: int = option(0, "Seed for plans, models, and the tasks that `build` and `test` draw.", Option("Episodes"))
    dry_run: bool = option(
        False,
        "Refuse a plan before its first action if one of its actions is known to fail.",
        Option("Episodes"),
        exclude_if=lambda dry_run: not dry_run,
    )
    library: Annotated[str, BeforeValidator(_present_library)] = option(
        SHIPPED_LIBRARY,
        "The planner's knowledge: shipped (the default), learned (the default of `test` and `mcp`, if there is one), a "
        "run of `planbook build`, or a folder.",
        Option("Library", metavar="NAME|FOLDER"),
    )
    rule_tokens: int | None = option(
        None,
        "Maximum number of tokens of rules in a prompt: the manual is shortened, or the most fitting rules are chosen.",
        Option("Library"),
        ge=100,
    )
    models: Annotated[dict[str, str], parsed_with(models_by_role)] = option(
        {},
        "The model that answers: openai:NAME, recorded:FILE, exchange:DIR, scripted:FILE.py:NAME or none; for all "
        "roles or for one.",
        Option("Models", "--model", metavar="[ROLE=]MODEL", many=True),
    )
    sampling: Annotated[dict[str, Sampling], parsed_with(_sampling_by_role)] = option(
        {},
        "A sampling parameter, such as temperature=0.7 or builder.max_tokens=4000; seed=null sends no seed.",
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
        (),
        "Leave out a part of what was learned, such as rules, examples, rule_3 or skill:TYPE. An unknown name is "
        "refused with a list of the known ones.",
        Option("Planning", metavar="NAME", many=True),
    )


class BuildingSettings(StrictModel):
    """Settings for building rules (AutoManual, appendix D)."""

    start: Names = option(
        (),
        "The examples to start from, with their rules; by default those for the environment.",
        Option("Learning", metavar="NAME,..."),
    )
    tasks_per_type: int = option(6, "Number of tasks of each type to learn from.", Option("Learning"), ge=1)
    solved_after: int = option(
        3, "Skip the rest of a task type after this many successes in a row.", Option("Learning"), ge=1
    )
    max_rules: int = option(12, "Consolidate the rules when there are more than this many.", Option("Learning"), ge=1)
    libraries_only: bool = option(
        False, "Leave the rules as they are: learn only skills, reflections and procedures.", Option("Learning")
    )
    procedures: bool = option(
        True, "Do not generalise successes into procedures.", Option("Learning", "--no-procedures")
    )
    conclusions: Literal["needed", "always"] = option(
        "needed",
        "Ask the planner to sum up the episodes that the first plan did not solve by itself (needed), or all (always).",
        Option("Learning"),
    )
    checks: bool = option(
        False,
        "Let the Builder add checks to rules: code that decides whether an episode obeyed the rule.",
        Option("Learning"),
        exclude_if=lambda checks: not checks,
    )
    verify: str = option(
        "", "Verify procedures on N more tasks of each type from this split.", Option("Learning", metavar="SPLIT:N")
    )


class InvocationSettings(StrictModel):
    """Settings of one invocation. All of them may change when a run is resumed; None keeps the run's setting."""

    jobs: int = option(1, "Number of episodes to play at the same time.", Option("Running", on_resume=True), ge=1)
    executor: Executor = option(
        "threads",
        "Where episodes are played: threads here, worker processes, or a Ray cluster (RAY_ADDRESS).",
        Option("Running", on_resume=True),
    )
    unsafe_no_sandbox: bool = option(
        False,
        "Run plans even if the kernel cannot confine them: they then have your permissions.",
        Option("Running", on_resume=True),
    )
    budget: Annotated[Budget | None, _parsed_pairs("--budget")] = option(
        None,
        "A limit for the whole run, or for all runs of a command together: calls, tokens, actions, seconds or money "
        "(US dollars). A run of `planbook build` reserves a tenth for its manual; formulator=SHARE sets another share.",
        Option("Spending", metavar="NAME=VALUE", many=True, on_resume=True),
    )
    prices: Path | None = option(None, "Your own price table.", Option("Spending", metavar="FILE", on_resume=True))
    timeouts: Annotated[Timeouts | None, _parsed_pairs("--timeout")] = option(
        None,
        "Wait at most this long for a model's server: connect=10 to accept a connection, idle=300 to send a token.",
        Option("Spending", "--timeout", metavar="NAME=SECONDS", many=True, on_resume=True),
    )
    allow_changed: bool = option(
        False,
        "Resume even if data, prompts or knowledge have changed since the run began.",
        Option("Resuming", on_resume=True),
    )


class EpisodeSource(StrictModel):
    """A source of the episodes from which `planbook build` learns: a run's folder, or a file exported from a run.

    ``sha256`` is the digest of its episodes in JSON Lines. A run and the files exported from it have the same digest.
    """

    path: str
    sha256: str
    episodes: int


class LearningSettings(BuildingSettings):
    """Settings for building rules, as a run records them."""

    given: tuple[EpisodeSource, ...] = Field(default=(), exclude_if=lambda given: not given)
    """Where the episodes are copied from; empty if the run plays them itself."""
    per_type: bool = Field(default=False, exclude_if=lambda per_type: not per_type)
    """True in some runs of earlier versions, which learned separate rules for each task type. Their knowledge cannot be
    read."""


class Config(PlayingSettings):
    """The configuration that a run records. The run can only be resumed with an equal configuration.

    ``models`` and ``sampling`` map roles to their values; the entry for ``default`` applies to all roles without one.
    """

    selection: Selection = Selection()
    repeats: int = Field(default=1, ge=1)
    """Number of times that every task is played. Older runs may exceed the upper limit of the option."""
    actions: int = Field(ge=0)
    """Maximum number of actions in an episode."""
    after: int | None = Field(default=None, ge=0)
    """If the library is a run of `planbook build`, use its knowledge after this many episodes."""
    paper: str = Field(default="", exclude_if=lambda paper: not paper)
    """The paper whose settings are the defaults (``--paper``)."""
    types: SourceOfTypes = Field(default="given", exclude_if=lambda types: types == GIVEN)
    """Where task types and params come from. With FOUND, the environment's own types and params are hidden."""
    goals: dict[str, str] = Field(default_factory=dict, exclude_if=lambda goals: not goals)
    """Maps task ids to other wordings of their goals. Planners get these goals instead of the environment's goals."""
    learning: LearningSettings | None = None
    """Settings for building rules; None if nothing is learned."""

    @property
    def title(self) -> str:
        """The name of the planner, or of the plan file that is played."""
        planner = Path(self.planner).name if is_method_file(self.planner) else self.planner
        return str(self.planner_options.get("source", planner))

    def task_overrides(self, task: Task) -> dict[str, Any]:
        """Return a dict from fields of a task to the values that planners and learners get instead.

        Copied episodes were not played with the goals of this run, so their own goals are not replaced.
        """
        untyped = {"type": "", "params": {}} if self.types == FOUND else {}
        return untyped | ({"goal": self.goals[task.id]} if task.id in self.goals and not self.copies_episodes else {})

    @property
    def building(self) -> LearningSettings:
        """The settings for building rules. Only a run of `planbook build` has them."""
        assert self.learning is not None
        return self.learning

    @property
    def copies_episodes(self) -> bool:
        """True if the run learns from copied episodes, and plays none."""
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
        """The environment's options, as an instance of its ``Options``."""
        return self.environment.Options.model_validate(self.env_options)


def effective_options(config: Config, environment: str) -> dict[str, JsonValue]:
    """Return all options of the planning method, including defaults that depend on the named ``environment``.

    If the method cannot be loaded, or no longer accepts the recorded options, they are returned unchanged.
    """
    try:
        options = known_method(config.planner).options
        return options.model_validate(config.planner_options).effective_values(environment)
    except (PlannerError, ValidationError):
        return config.planner_options


PAPER_OPTIONS = tuple(name for name in BuildingSettings.model_fields if name != "verify")
"""Learning options that ``--paper`` takes from a paper. Comparisons check whether a run has the same."""


class PaperSettings(NamedTuple):
    """The settings that ``--paper`` takes from a paper. Settings that the paper does not state are empty or None."""

    paper: str = ""
    options: Mapping[str, JsonValue] = {}
    env_options: Mapping[str, JsonValue] = {}
    sampling: Mapping[str, JsonValue] = {}
    actions: int | None = None
    without: tuple[str, ...] = ()
    learning: LearningSettings | None = None
    tasks: int | None = None

    def describe_in_force(self, config: Config) -> str:
        """List, in one line, those of the paper's settings that a run has."""
        learning, sampling = self.learning or LearningSettings(), config.sampling.get(DEFAULT_ROLE, Sampling())
        groups: Mapping[str, tuple[Mapping[str, JsonValue], Mapping[str, JsonValue]]] = {
            "planner": (self.options, config.planner_options),
            "environment": (self.env_options, config.env_options),
            "sampling": (self.sampling, sampling.model_dump(mode="json")),
            "episode": ({"actions": self.actions}, {"actions": config.actions}),
            "run": ({"tasks": self.tasks}, {"tasks": config.selection.limit or 0}),
            "learning": (
                learning.model_dump(mode="json", exclude_unset=True),
                (config.learning or learning).model_dump(mode="json"),
            ),
        }
        texts = {
            group: ", ".join(f"{name}={json.dumps(value)}" for name, value in in_paper.items() if in_run[name] == value)
            for group, (in_paper, in_run) in groups.items()
        }
        parts = [f"{group}: {text}" for group, text in texts.items() if text]
        return "; ".join((*parts, *([f"without {', '.join(self.without)}"] if self.without else [])))
