"""The settings that a command or a caller gives, and the configuration that a run records of them.

``Settings`` is the command line of everything that plays: `planbook.options` makes options of its fields, and
``planbook.run``, ``planbook.build`` and ``planbook.test`` take them as keyword arguments.
"""

import random
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, ValidationError, model_validator

from planbook.config import (
    FOUND,
    GIVEN,
    LIBRARIES,
    UNTYPED,
    Building,
    Config,
    Invocation,
    Learning,
    Names,
    Playing,
    SourceOfTypes,
    by_role,
    parts_of,
)
from planbook.envs import Environment, Selection, load_environment
from planbook.errors import BadArgument
from planbook.manuals import TYPES_FILE, usual_starts
from planbook.option_values import Option, option, option_of, validated
from planbook.papers import NO_PAPER, PaperSettings, paper_settings
from planbook.planner import DEFAULT_ROLE, Sampling, method
from planbook.runs import RunFile, file_named, is_run, model_named
from planbook.workers import Hosting


def _seeds(given: Any) -> Any:
    """Read A, A-B, or several with commas. Raises BadArgument."""
    if not isinstance(given, str):
        return (given,) if isinstance(given, int) else tuple(given)
    return tuple(seed for part in filter(None, [given]) for seed in _numbers(part))


def _numbers(text: str) -> Iterable[int]:
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise BadArgument(f"--seeds {text}: write a number, A-B, or several with commas")
        if last and int(last) < int(first):
            raise BadArgument(f"--seeds {text}: {part} runs backwards; write {last}-{first}")
        yield from range(int(first), int(last or first) + 1)


def _counts(given: Any) -> Any:
    """Read N or N,N,N: numbers of building tasks, in order and without repetitions. Raises BadArgument."""
    if not isinstance(given, str):
        return (given,) if isinstance(given, int) else tuple(given)
    numbers = [part.strip() for part in given.split(",")] if given else []
    if wrong := [number for number in numbers if not number.isdecimal()]:
        raise BadArgument(
            f"--after {given}: {wrong[0] or 'nothing'!r} is not a number of tasks; write N, or several with commas"
        )
    return tuple(sorted(set(map(int, numbers))))


def _several(given: Any) -> Any:
    return (given,) if isinstance(given, str | Path) else given


class Settings(Playing, Building, Invocation):
    """What a command or a caller gives; ``model_fields_set`` tells it from the defaults."""

    paper_actions: bool = option(
        False, "Only the actions of the papers; the same as -o paper_actions=true.", Option("Environment")
    )
    split: str = option("", "The split, and how many of its tasks.", Option("Tasks", metavar="SPLIT[:N]"))
    types: Names = option(
        (),
        "The task types. With a library also `found`, types learned from plans and goals, or `given`, the labels.",
        Option("Tasks", metavar="T,..."),
    )
    goals: Path | None = option(
        None,
        'Other wordings of goals: a file with a JSON object a line, {"task": ID, "goal": TEXT}. Plays those tasks.',
        Option("Tasks", metavar="FILE"),
    )
    seeds: Annotated[tuple[int, ...], BeforeValidator(_seeds)] = option(
        (), "The seeds: A, A-B, or several with commas.", Option("Tasks", metavar="A-B")
    )
    tasks: Annotated[tuple[str, ...], BeforeValidator(_several)] = option(
        (), "One task by its id; may be given several times.", Option("Tasks", "--task", metavar="ID", many=True)
    )
    actions: int | None = option(None, "Number of actions that an episode may take.", Option("Episodes"), ge=0)
    after: Annotated[tuple[int, ...], BeforeValidator(_counts)] = option(
        (),
        "Use what the building run given as library knew after N tasks. Several (`test` only) make a learning curve, "
        "with a run for each below --out.",
        Option("Library", metavar="N[,N...]"),
    )
    procedures_first: bool = option(
        False, "Run a stored procedure first, and ask a model only if it fails.", Option("Planning")
    )
    paper: bool = option(
        False, "Use the settings of the method's paper where you give none, and print them.", Option("Planning")
    )
    sources: Annotated[tuple[Path, ...], BeforeValidator(_several)] = option(
        (),
        "Play nothing: learn from the episodes of a run, or of an exported file.",
        Option("Learning", "--from", metavar="RUN|FILE", many=True),
    )
    out: Path | None = option(
        None,
        "The run's folder; the same command resumes it.",
        Option("Running", metavar="FOLDER"),
    )
    store: str | None = option(
        None, "Keep the events in PostgreSQL: postgresql://USER@HOST/DATABASE.", Option("Running", metavar="URL")
    )
    resume: Path | None = option(
        None, "Resume the run in this folder.", Option("Resuming", metavar="RUN", on_resume=True)
    )
    again: Literal["broken"] | None = option(
        None,
        "With --resume: play the episodes that ended BROKEN once more.",
        Option("Resuming", on_resume=True),
    )

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Return validated settings. Raises BadArgument, which says all that is wrong."""
        return validated(cls, given)

    @model_validator(mode="after")
    def _again_needs_a_run(self) -> Self:
        if self.again and not self.resume:
            raise BadArgument(f"--again {self.again} plays episodes of a run once more: name the run with --resume")
        return self

    @model_validator(mode="after")
    def _tasks_have_their_seeds(self) -> Self:
        if self.tasks and self.seeds:
            raise BadArgument("--task names a task with its seed; leave out --seeds, or select tasks by --types")
        return self

    # What was given

    def was_given(self, name: str) -> bool:
        """Return whether a field was given."""
        return name in self.model_fields_set

    def refuse(self, what: str, names: Collection[str]) -> None:
        """Raise BadArgument if any of these was given, which ``what`` decides already."""
        given = [name for name in type(self).model_fields if name in names and self.was_given(name)]
        if given:
            flags = ", ".join(how.flag for name in given if (how := option_of(name, type(self).model_fields[name])))
            raise BadArgument(f"{what} already says what is played; leave out {flags}")

    def refuse_fixed(self, what: str) -> None:
        """Raise BadArgument if anything was given that cannot change once a run has begun."""
        fields = type(self).model_fields
        self.refuse(what, {name for name in fields if (how := option_of(name, fields[name])) and not how.on_resume})

    # What it comes to

    def hosting(self) -> Hosting:
        """Return how the episodes are hosted, and what they may cost."""
        return Hosting(**{name: getattr(self, name) for name in Invocation.model_fields})

    def environment(self) -> type[Environment]:
        """Return the class of the environment. Raises BadArgument, UnknownEnvironment."""
        if not self.env:
            raise BadArgument("name an environment with --env; `planbook envs` lists them")
        return load_environment(self.env)

    def environment_options(self, theirs: PaperSettings = NO_PAPER) -> BaseModel:
        """Return the environment's options, defaults included. Raises BadArgument."""
        actions = {"paper_actions": True} if self.paper_actions else {}
        return validated(self.environment().Options, {**theirs.env_options, **self.env_options, **actions}, "--option")

    def paper_settings(self, planner: str, *, building: bool = False) -> PaperSettings:
        """Return the settings of the method's paper, if they were asked for. Raises BadArgument."""
        if not self.paper:
            return NO_PAPER
        return paper_settings(planner, self.env, self.split.partition(":")[0], self.chosen_types, building=building)

    def drawn(self, seeds: range, count: int, splits: tuple[str, ...]) -> Self:
        """Return them with seeds drawn by the run's own where none are given, and the first existing of ``splits``."""
        environment, chosen = self.environment(), self.environment_options()
        known = environment.task_splits(chosen)
        split = self.split or next((split for split in splits if split in known), known[0])
        takes_seeds = environment.takes_seeds(split.partition(":")[0], chosen)
        drawn = sorted(random.Random(f"seeds/{self.seed}").sample(seeds, count)) if takes_seeds else []
        return self.model_copy(update={"seeds": self.seeds or tuple(drawn), "split": split})

    def selection(self) -> Selection:
        """Return the selected tasks. Raises BadArgument."""
        name, colon, count = self.split.partition(":")
        if colon and not (count.isdecimal() and int(count) > 0):
            raise BadArgument(f"--split {self.split}: after the colon comes a number of tasks, for example {name}:20")
        limit = int(count) if count else None
        ids = self.tasks or tuple(self.other_goals())
        return Selection(split=name or None, limit=limit, types=self.chosen_types, seeds=self.seeds, ids=ids)

    @property
    def chosen_types(self) -> tuple[str, ...]:
        """The task types that are chosen."""
        return tuple(kind for kind in self.types if kind not in (FOUND, GIVEN))

    def source_of_types(self, *, building: bool) -> SourceOfTypes:
        """Return where task types come from: found as in the library, or where there are none to build with.

        Raises BadArgument.
        """
        if building and self.per_type and FOUND in self.types:
            raise BadArgument("--per-type keeps rules by given types; leave it out with --types found")
        if said := {FOUND, GIVEN} & set(self.types):
            return GIVEN if GIVEN in said else FOUND
        folder = LIBRARIES.get(self.library) or Path(self.library)
        if is_run(folder):
            return RunFile.read(folder).config.types
        there = (folder / self.environment().name / TYPES_FILE).exists()
        return (
            FOUND
            if there
            or (
                building
                and not self.per_type
                and set(self.environment().task_types(self.environment_options())) <= UNTYPED
            )
            else GIVEN
        )

    def other_goals(self) -> dict[str, str]:
        """Return the other wordings of goals by task id. Raises BadArgument."""
        if self.goals is None:
            return {}
        try:
            lines = self.goals.read_text("utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise BadArgument(f"--goals {self.goals}: {error}") from error
        goals: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            if line.strip():
                place = f"--goals {self.goals}:{number}"
                told = _goal_of(line, place)
                if told.task in goals:
                    raise BadArgument(f"{place}: {told.task} is used twice; write a file for each of its wordings")
                goals[told.task] = told.goal
        return goals

    def learning(self, split: str = "") -> Learning:
        """Return how rules are built on a split, unless another was given. Raises BadArgument, UnknownEnvironment."""
        given = {name: getattr(self, name) for name in Building.model_fields}
        if not self.was_given("start"):
            given["start"] = usual_starts(self.environment().name, self.split or split)
        return Learning(**given)

    def config(self, planner: str, options: Mapping[str, JsonValue] = {}, *, building: bool = False) -> Config:
        """Return the configuration of a run of the named planner, unless another was given.

        What was given comes first, then ``options`` of the planner, then what the paper set. Raises BadArgument,
        UnknownEnvironment, UnknownStrategy.
        """
        planner = self.planner or planner
        environment, theirs = self.environment(), self.paper_settings(planner, building=building)
        of_method = method(planner).options
        actions = (self.actions, theirs.actions, of_method.usual_actions, environment.action_limit)
        first = {"procedures_first": True} if self.procedures_first else {}
        chosen = {**theirs.options, **options, **self.planner_options, **first}
        if len(self.after) > 1:
            raise BadArgument("--after N,N: a learning curve is played by `planbook test`; give one number")
        as_given = {name: getattr(self, name) for name in Playing.model_fields}
        return Config(
            **as_given
            | {
                "planner": file_named(planner, Path.resolve),
                "planner_options": validated(of_method, chosen, "--planner-option").model_dump(mode="json"),
                "env": file_named(self.env, Path.resolve),
                "env_options": self.environment_options(theirs).model_dump(mode="json"),
                "library": self._lasting_library(),
                "models": {role: lasting_model(model) for role, model in self.models.items()},
                "sampling": self.sampling_by_role({**of_method.usual_sampling, **theirs.sampling}),
                "without": tuple(sorted({*self.without, *theirs.without})),
            },
            selection=self.selection(),
            actions=next(each for each in actions if each is not None),
            after=next(iter(self.after), None),
            paper=theirs.paper,
            types=self.source_of_types(building=building),
            goals=self.other_goals(),
        )

    def _lasting_library(self) -> str:
        """Return the library's name if it ships, else its whole path. Raises BadArgument."""
        if self.library in LIBRARIES:
            return self.library
        folder = Path(self.library).resolve()
        if not folder.is_dir():
            raise BadArgument(f"--library {self.library}: no such folder; there are also {', '.join(LIBRARIES)}")
        return str(folder)

    def sampling_by_role(self, usual: Mapping[str, JsonValue] = {}) -> dict[str, Sampling]:
        """Return the sampling of each role: what was given for it, else for all, else the usual of the method."""
        given = {role: each.model_dump(exclude_unset=True) for role, each in self.sampling.items()}
        if usual:
            given[DEFAULT_ROLE] = {**usual, **given.get(DEFAULT_ROLE, {})}
        everyone = given.get(DEFAULT_ROLE, {})
        return {role: validated(Sampling, {**everyone, **own}, "--sampling") for role, own in given.items()}


def lasting_model(model: str) -> str:
    """Return a model's name that is good in any folder: its file or folder is named by its whole path."""
    return model_named(model, Path.resolve)


class _OtherGoal(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    task: str
    goal: str


def _goal_of(line: str, place: str) -> _OtherGoal:
    try:
        return _OtherGoal.model_validate_json(line)
    except ValidationError as error:
        faults = "; ".join(": ".join([*map(str, each["loc"]), each["msg"]]) for each in error.errors())
        raise BadArgument(f'{place}: write {{"task": ID, "goal": TEXT}}: {faults}') from error


__all__ = ["Settings", "by_role", "lasting_model", "parts_of"]
