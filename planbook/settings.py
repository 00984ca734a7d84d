"""The settings that a command or a Python caller gives, and the objects made from them.

``planbook.commands.click_options`` turns the fields of ``Settings`` into command-line options. ``planbook.run``,
``planbook.build`` and ``planbook.test`` take the same fields as keyword arguments. The most important object made from
them is the ``Config`` of a run.
"""

import random
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, JsonValue, ValidationError, model_validator

from planbook import runs, workers  # lazy packages: commands that use neither of them start faster
from planbook.config import (
    FOUND,
    GIVEN,
    LEARNED_LIBRARY,
    LIBRARIES,
    UNTYPED,
    BuildingSettings,
    Config,
    InvocationSettings,
    LearningSettings,
    Names,
    PaperSettings,
    PlayingSettings,
    SourceOfTypes,
    StrictModel,
)
from planbook.envs import Environment, Selection, load_environment, validation_faults
from planbook.errors import BadArgument
from planbook.manuals import TYPES_FILE
from planbook.options import Option, option, option_of, validate
from planbook.planner import DEFAULT_ROLE, Sampling, method

NO_PAPER = PaperSettings()
GOALS_FORM = 'write one {"task": "ID", "goal": "TEXT"} on each line, and each task once'


def _numbers_of(flag: str) -> Callable[[Any], Any]:
    """Return a function that parses numbers: N, A-B, or several of these separated by commas.

    The function raises BadArgument, with ``flag`` in the message, if a string has another form.
    """

    def parse(value: Any) -> Any:
        if isinstance(value, str):
            return tuple(_expand_ranges(value, flag)) if value else ()
        return tuple(value) if isinstance(value, Iterable) else (value,)

    return parse


def _expand_ranges(text: str, flag: str) -> Iterable[int]:
    for part in map(str.strip, text.split(",")):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise BadArgument(f"{flag} {text}: write N, A-B, or several of these separated by commas")
        if last and int(last) < int(first):
            raise BadArgument(f"{flag} {text}: {part} is in the wrong order; write {last}-{first}")
        yield from range(int(first), int(last or first) + 1)


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str | Path) else value


class _RewordedGoal(StrictModel):
    """A line of the ``--goals`` file: another wording of a task's goal."""

    task: str
    goal: str = Field(pattern=r"\S")


def _reworded_goal(line: str, number: int) -> _RewordedGoal:
    """Read a line of the ``--goals`` file. Raises ValueError with the line's number if it is faulty."""
    try:
        return _RewordedGoal.model_validate_json(line)
    except ValidationError as error:
        fault = validation_faults(error)[0].replace("at line 1 column", "at column")
        raise ValueError(f"line {number}: {fault}") from error


class Settings(PlayingSettings, BuildingSettings, InvocationSettings):
    """The settings of a command or a Python caller. ``model_fields_set`` holds the names of those given explicitly."""

    paper_actions: bool = option(
        False, "Offer only the papers' actions; the same as -o paper_actions=true.", Option("Environment")
    )
    split: str = option("", "The split to play, and how many of its tasks.", Option("Tasks", metavar="SPLIT[:N]"))
    types: Names = option(
        (),
        "The task types to play. Or `found`: types inferred from plans and goals; `given`: the environment's types.",
        Option("Tasks", metavar="T,..."),
    )
    goals: Path | None = option(
        None,
        'Play tasks with reworded goals, from a JSON Lines file of {"task": ID, "goal": TEXT}.',
        Option("Tasks", metavar="FILE"),
    )
    seeds: Annotated[tuple[int, ...], BeforeValidator(_numbers_of("--seeds"))] = option(
        (), "The seeds: A, A-B, or several of these, separated by commas.", Option("Tasks", metavar="A-B")
    )
    tasks: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] = option(
        (), "The id of a task to play; may be given several times.", Option("Tasks", "--task", metavar="ID", many=True)
    )
    actions: int | None = option(None, "Maximum number of actions in an episode.", Option("Episodes"), ge=1)
    after: Annotated[
        tuple[int, ...],
        AfterValidator(lambda numbers: tuple(sorted({*numbers}))),
        BeforeValidator(_numbers_of("--after")),
    ] = option(
        (),
        "Use the knowledge that the run of `planbook build` had after N tasks. Several numbers (only in `test`) give a "
        "learning curve, with one run for each number below --out.",
        Option("Library", metavar="N[,N...]"),
    )
    procedures_first: bool = option(
        False, "Run a stored procedure first, and ask a model only if it fails.", Option("Planning")
    )
    paper: bool = option(
        False, "Use the settings of the method's paper where you give none, and print them.", Option("Planning")
    )
    sources: Annotated[tuple[Path, ...], BeforeValidator(_as_tuple)] = option(
        (),
        "Learn from the episodes of a run or an exported file, instead of playing.",
        Option("Learning", "--from", metavar="RUN|FILE", many=True),
    )
    out: Path | None = option(
        None,
        "The run's folder; repeating the command resumes the run.",
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
        "With --resume: play the episodes that ended BROKEN again.",
        Option("Resuming", on_resume=True),
    )

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Return validated settings. Raises BadArgument with a message that lists every fault."""
        return validate(cls, values)

    @model_validator(mode="after")
    def _again_needs_a_run(self) -> Self:
        if self.again and not self.resume:
            raise BadArgument(f"--again {self.again} plays episodes of a run again; name the run with --resume")
        return self

    @model_validator(mode="after")
    def _tasks_have_their_seeds(self) -> Self:
        if self.tasks and self.seeds:
            raise BadArgument("--task already determines the seed; leave out --seeds, or select tasks with --types")
        return self

    def was_given(self, name: str) -> bool:
        """Return True if a field was given explicitly."""
        return name in self.model_fields_set

    def refuse(self, source: str, names: Collection[str], advice: str = "") -> None:
        """Raise BadArgument if any of these fields was given although ``source``, such as "--from", determines them.

        ``advice`` is added to the message.
        """
        fields = type(self).model_fields
        refused = [name for name in fields if name in names and self.was_given(name)]
        if refused:
            flags = ", ".join(details.flag for name in refused if (details := option_of(name, fields[name])))
            raise BadArgument(f"{source} already determines what is played; leave out {flags}{advice}")

    def refuse_fixed_by_run(self) -> None:
        """Raise BadArgument if a field was given that the resumed run fixes."""
        options = {name: option_of(name, field) for name, field in type(self).model_fields.items()}
        self.refuse("--resume", {name for name, details in options.items() if details and not details.on_resume})

    def execution(self) -> "workers.Execution":
        """Return the settings that say how and where episodes are played."""
        return workers.Execution(**{name: getattr(self, name) for name in InvocationSettings.model_fields})

    def environment(self) -> type[Environment]:
        """Return the class of the environment.

        Raises BadArgument if no environment was named, or UnknownEnvironment if there is none with this name.
        """
        if not self.env:
            raise BadArgument("name an environment with --env; `planbook envs` lists them")
        return load_environment(self.env)

    def environment_options(self, paper: PaperSettings = NO_PAPER) -> BaseModel:
        """Return the environment's options, including defaults. Raises BadArgument if an option is invalid."""
        chosen = {**self.env_options, **({"paper_actions": True} if self.paper_actions else {})}
        return validate(self.environment().Options, {**paper.env_options, **chosen}, "--option")

    def with_learned_library(self) -> Self:
        """Return the settings with the shipped learned library, if there is one and no other library was given."""
        if self.was_given("library") or not (LIBRARIES[LEARNED_LIBRARY] / self.environment().name).is_dir():
            return self
        return self.model_copy(update={"library": LEARNED_LIBRARY})

    def paper_settings(self, planner: str, *, for_build: bool = False) -> PaperSettings:
        """Return the settings of the planning method's paper if --paper was given, or else NO_PAPER.

        Raises BadArgument if no paper has settings for this method and environment.
        """
        if not self.paper:
            return NO_PAPER
        from planbook.papers.settings import paper_settings

        split, chosen = self.split.partition(":")[0] or self.environment().splits[0], self.planner_options
        return paper_settings(planner, self.env, split, self.chosen_types, chosen, for_build=for_build)

    def with_default_tasks(self, seeds: range, count: int, splits: tuple[str, ...]) -> Self:
        """Return the settings with a default split and default seeds, where none were given.

        The default split is the first of ``splits`` that the environment has. The default seeds are ``count`` of the
        ``seeds``, drawn at random with the run's own seed. If tasks are named, the settings are returned unchanged.
        """
        if self.tasks or self.goals:  # the named tasks may be in any split
            return self
        environment, options = self.environment(), self.environment_options()
        existing = environment.task_splits(options)
        split = self.split or next((split for split in splits if split in existing), existing[0])
        takes_seeds = environment.takes_seeds(split.partition(":")[0], options)
        drawn = sorted(random.Random(f"seeds/{self.seed}").sample(seeds, count)) if takes_seeds else []
        return self.model_copy(update={"seeds": self.seeds or tuple(drawn), "split": split})

    def selection(self, paper: PaperSettings = NO_PAPER) -> Selection:
        """Return the selection of tasks: as many as in the paper, unless a number, types, seeds or ids are given.

        Raises BadArgument if the number after the split's colon is invalid.
        """
        name, colon, count = self.split.partition(":")
        if colon and not (count.isdecimal() and int(count) > 0):
            raise BadArgument(f"--split {self.split}: write a number of tasks after the colon, for example {name}:20")
        ids = self.tasks or tuple(self.reworded_goals())
        limit = int(count) if count else None if self.chosen_types or self.seeds or ids else paper.tasks
        return Selection(split=name or None, limit=limit, types=self.chosen_types, seeds=self.seeds, ids=ids)

    @property
    def chosen_types(self) -> tuple[str, ...]:
        """The values of ``types`` that name task types, without the words ``found`` and ``given``."""
        return tuple(name for name in self.types if name not in (FOUND, GIVEN))

    def source_of_types(self, *, for_build: bool) -> SourceOfTypes:
        """Return where task types come from: FOUND or GIVEN.

        If the library is a run, the default is the source that this run used. For any other library, the default is
        FOUND if the library holds found types, or if the new run learns from tasks without types.
        """
        for source in (GIVEN, FOUND):
            if source in self.types:
                return source
        folder = LIBRARIES.get(self.library) or Path(self.library)
        if runs.is_run(folder):
            return runs.RunFile.read(folder).config.types
        environment = self.environment()
        if (folder / environment.name / TYPES_FILE).exists():
            return FOUND
        return FOUND if for_build and set(environment.task_types(self.environment_options())) <= UNTYPED else GIVEN

    def reworded_goals(self) -> dict[str, str]:
        """Read the ``--goals`` file, and return a dict that maps task ids to other wordings of their goals.

        Raises BadArgument if the file cannot be read, has a faulty line or a task twice, or has no goals.
        """
        if self.goals is None:
            return {}
        try:
            lines = enumerate(self.goals.read_text("utf-8-sig").split("\n"), 1)
            wordings = [_reworded_goal(line, number) for number, line in lines if line.strip()]
        except (OSError, ValueError) as error:
            raise BadArgument(f"--goals {self.goals} cannot be read ({GOALS_FORM}): {error}") from error
        goals = {wording.task: wording.goal for wording in wordings}
        if not goals or len(goals) < len(wordings):
            raise BadArgument(f"--goals {self.goals} has no goals, or a task twice ({GOALS_FORM})")
        return goals

    def learning(self, split: str = "") -> LearningSettings:
        """Return the settings for learning.

        By default, learning starts from the default examples for the chosen split, or for ``split`` if none was chosen.
        Raises BadArgument if no environment was named, or UnknownEnvironment if there is none with this name.
        """
        values = {name: getattr(self, name) for name in BuildingSettings.model_fields}
        if not self.was_given("start"):
            from planbook.manuals import default_starts

            values["start"] = default_starts(self.environment().name, self.split or split)
        return LearningSettings(**values)

    def config(self, planner: str, options: Mapping[str, JsonValue] = {}, *, for_build: bool = False) -> Config:
        """Return the configuration of a run. ``planner`` is the default planning method.

        Settings that were given override the planner's ``options``, which override the paper's settings. Raises
        BadArgument, UnknownEnvironment or UnknownStrategy for a wrong setting.
        """
        planner = self.planner or planner
        environment, paper = self.environment(), self.paper_settings(planner, for_build=for_build)
        options_model = method(planner).options
        limits = (self.actions, paper.actions, options_model.default_actions, environment.action_limit)
        procedures_first = {"procedures_first": True} if self.procedures_first else {}
        chosen = {**paper.options, **options, **self.planner_options, **procedures_first}
        if len(self.after) > 1:
            raise BadArgument("--after N,N: only `planbook test` plays a learning curve; give one number")
        values = {name: getattr(self, name) for name in PlayingSettings.model_fields}
        return Config(
            **values
            | {
                "planner": runs.change_path_in_name(planner, Path.resolve),
                "planner_options": validate(options_model, chosen, "--planner-option").model_dump(mode="json"),
                "env": runs.change_path_in_name(self.env, Path.resolve),
                "env_options": self.environment_options(paper).model_dump(mode="json"),
                "library": self._absolute_library(),
                "models": {role: absolute_model(model) for role, model in self.models.items()},
                "sampling": self.sampling_by_role({**options_model.default_sampling, **paper.sampling}),
                "without": tuple(sorted({*self.without, *paper.without})),
            },
            selection=self.selection(paper),
            actions=next(limit for limit in limits if limit is not None),
            after=next(iter(self.after), None),
            paper=paper.paper,
            types=self.source_of_types(for_build=for_build),
            goals=self.reworded_goals(),
        )

    def _absolute_library(self) -> str:
        """Return the name of a shipped library, or the absolute path of any other library.

        Raises BadArgument if the path is not a folder.
        """
        if self.library in LIBRARIES:
            return self.library
        folder = Path(self.library).resolve()
        if not folder.is_dir():
            shipped = " or ".join(LIBRARIES)
            raise BadArgument(f"--library {self.library}: there is no such folder; name another folder, or {shipped}")
        return str(folder)

    def sampling_by_role(self, defaults: Mapping[str, JsonValue] = {}) -> dict[str, Sampling]:
        """Return a dict that maps each role to its sampling parameters.

        Parameters given for a role override the parameters given for all roles. These override the ``defaults``.
        """
        roles = {role: sampling.model_dump(exclude_unset=True) for role, sampling in self.sampling.items()}
        if defaults:
            roles[DEFAULT_ROLE] = {**defaults, **roles.get(DEFAULT_ROLE, {})}
        shared = roles.get(DEFAULT_ROLE, {})
        sampling = {role: validate(Sampling, {**shared, **own}, "--sampling") for role, own in roles.items()}
        for role, parameters in sampling.items():
            if parameters.max_tokens and parameters.max_tokens >= parameters.context:
                raise BadArgument(
                    f"--sampling: max_tokens of the {role} role is {parameters.max_tokens}, which leaves no room for a "
                    f"prompt in its context of {parameters.context}; give a smaller number, or the actual context=N"
                )
        return sampling


def ablated_options(planner: str, without: tuple[str, ...]) -> dict[str, JsonValue]:
    """Return the planner's options that ``--without`` turns off, each with the value False."""
    implied = {"cooperation": "cooperation", "rules": "cooperation", "helpers": "helper_methods"}
    option_names = method(planner).options.model_fields
    return {option: False for part, option in implied.items() if part in without and option in option_names}


def absolute_model(model: str) -> str:
    """Return a model's name. If it contains the path of a file or folder, make this path absolute."""
    return runs.change_path_in_model(model, Path.resolve)
