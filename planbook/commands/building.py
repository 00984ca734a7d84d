"""The commands that learn: build, formulate, cost."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict, JsonValue

from planbook import errors
from planbook.commands.playing import play, play_settings
from planbook.config import PAPER_OPTIONS, Config, models_by_role
from planbook.console import console
from planbook.envs import EnvsError
from planbook.knowledge import learned_in
from planbook.learning.stages import coverage_lines, export_manuals, show_cost
from planbook.learning.stages import formulate as formulate_rules
from planbook.learning.tasks import building_tasks
from planbook.options import JSON, PRICES, RUN_FOLDER, SELECTION, Command, CommandResult, options
from planbook.planner import BudgetEnded, method
from planbook.results.summary import Summary
from planbook.runs import Run
from planbook.settings import Settings
from planbook.terminal import spending
from planbook.workers import Execution, check_roles

BUILD_SEEDS = range(1000)
"""Seeds of the tasks of `planbook build`, if tasks are generated from seeds. `planbook test` uses other seeds."""
RULE_ROLES = ("builder", "consolidator")
PLAYING_OPTIONS = frozenset({"planner", "planner_options", "split", "seeds", "repeats", "limits", "procedures_first"})
"""Options that cannot be combined with ``--from``, since its episodes have been played already."""


class FormulateResult(BaseModel):
    """Output of ``formulate --json``."""

    model_config = ConfigDict(frozen=True)

    manuals: tuple[str, ...]
    model_calls: int
    tokens: int
    run: str


@click.command("build", cls=Command)
@options(
    *SELECTION,
    "library",
    "rule_tokens",
    "Learning",
    "Planning",
    "Models",
    "Spending",
    "Running",
    "resume",
    "allow_changed",
    planner="automanual",
)
@JSON
def build_command(settings: Settings) -> tuple[int, Summary]:
    """Learn rules, skills and procedures from episodes, one after the other."""
    return build(settings)


def build(settings: Settings) -> tuple[int, Summary]:
    """Begin a build, or resume the run that ``--out`` or ``--resume`` names. Play and learn until the run ends."""
    if settings.resume is not None:
        return play_settings(settings, "")
    config = config_from_sources(settings) if settings.sources else building_config(settings)
    builds_rules = config.learning and not config.learning.libraries_only and "rules" not in config.without
    check_roles(config, ("planner", *(RULE_ROLES if builds_rules else ())))
    return play(config, settings.out, settings.execution(), store=settings.store)


def building_config(settings: Settings) -> Config:
    """Return the configuration of a build that plays its own episodes."""
    planner = settings.planner or "automanual"
    learning = settings.learning()
    settings_with_tasks = settings.with_default_tasks(BUILD_SEEDS, learning.tasks_per_type, ("train",))
    config = settings_with_tasks.config(planner, ablated_options(planner, settings.without), building=True)
    if paper := settings.paper_settings(planner, building=True).learning:
        update = {name: getattr(paper, name) for name in PAPER_OPTIONS if not settings.was_given(name)}
        learning = learning.model_copy(update=update)
    return config.model_copy(update={"learning": learning})


def config_from_sources(settings: Settings) -> Config:
    """Return the configuration of a build that learns from recorded episodes (``--from``)."""
    from planbook.learning.tasks import environment_of, planned_by, read_source  # its schema takes a while to import

    settings.refuse("--from", PLAYING_OPTIONS)
    sources = [read_source(path) for path in settings.sources]
    defaults, (planner, options) = environment_of(sources), planned_by(sources)
    if not settings.env:
        if "env" not in defaults:
            raise errors.BadArgument("--from: the sources do not name one installed environment; name it with --env")
        settings = settings.model_copy(update={"env": defaults["env"]})
    config = settings.config("automanual", ablated_options("automanual", settings.without))
    if not settings.env_options and settings.env == defaults.get("env"):
        config = config.model_copy(update={"env_options": defaults.get("env_options", config.env_options)})
    config = config.model_copy(update={"types": settings.source_of_types(building=True)})
    learning = settings.learning(defaults["split"]).model_copy(update={"given": tuple(source for source, _ in sources)})
    config = config.model_copy(update={"planner": planner, "planner_options": options, "learning": learning})
    check_verifying(config)
    return config


def check_verifying(config: Config) -> None:
    """Raise BadArgument if procedures are to be learned, but the environment to verify them in cannot be played."""
    assert config.learning is not None
    if not config.learning.procedures:
        return
    task = building_tasks(config)[0]
    try:
        with closing(config.environment(config.environment_options)) as environment:
            environment.reset(task)
    except EnvsError as error:
        raise errors.BadArgument(
            f"procedures are verified on the tasks of the episodes, and {task.id} cannot be played here: {error}; "
            "build without them: --no-procedures"
        ) from error


@click.command("formulate", cls=Command)
@click.argument("run", type=RUN_FOLDER)
@click.option("--tokens", default=None, type=click.IntRange(min=100), help="Maximum number of tokens of the manual.")
@options("models", "Spending")
@JSON
def formulate_command(run: Path, tokens: int | None, settings: Settings) -> tuple[int, FormulateResult]:
    """Write the manual from the rules of a run of `planbook build`, with its models unless --model names others."""
    return formulate(run, settings.models, tokens, settings.execution())


def formulate(
    folder: Path, models: Mapping[str, str], tokens: int | None, execution: Execution
) -> tuple[int, FormulateResult]:
    """Write the manuals of a run of `planbook build` from its rules, and export them to files."""
    out = console()
    with closing(Run.open(folder, to_play=True)) as run:
        if run.config.learning is None:
            raise errors.BadArgument(f"{folder} is not a run of `planbook build`, which makes the rules")
        config = run.config.model_copy(update={"models": models_by_role({**run.config.models, **models})})
        run.begin_invocation(execution, models=config.models.values())
        code = errors.OK
        try:
            formulate_rules(run, config, tokens)
        except BudgetEnded as ended:
            out.print(
                f"Stopped: {ended}. Continue with: planbook formulate {folder} --budget {ended.larger}", soft_wrap=True
            )
            code = errors.OUT_OF_BUDGET
        finally:
            run.end_invocation()
        written = list(map(str, export_manuals(run, tokens)))
        spent = run.meter.spent
        for group, state in learned_in(run).items():
            for line in coverage_lines(run, group, state):
                out.print(line, markup=False, soft_wrap=True)
        out.print(f"Written: {', '.join(written) or 'no manual'}", soft_wrap=True)
        out.print(f"The run so far: {spending(spent, run.meter.budget)}.")
        return code, FormulateResult(
            manuals=tuple(written), model_calls=spent.calls, tokens=spent.tokens, run=str(run.folder)
        )


def ablated_options(planner: str, without: tuple[str, ...]) -> dict[str, JsonValue]:
    """Return a dict that maps each option of the planner that ``--without`` turns off to False."""
    implied = {"cooperation": "cooperation", "rules": "cooperation", "helpers": "helper_methods"}
    option_names = method(planner).options.model_fields
    return {option: False for part, option in implied.items() if part in without and option in option_names}


@click.command(cls=Command)
@click.argument("run", type=RUN_FOLDER)
@PRICES
@JSON
def cost(run: Path, prices: Path | None) -> CommandResult:
    """Show the cost of building after each task, and how many task types had a procedure by then."""
    return errors.OK, show_cost(run, prices)
