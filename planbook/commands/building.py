"""The commands of AutoManual's three stages: build, formulate, test; learning curves and comparisons with papers."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue
from rich.table import Table

from planbook import errors
from planbook.commands.effects import STOPPED, Effects, Series, play_effects
from planbook.commands.playing import play, play_settings
from planbook.config import LEARNED_LIBRARY, LIBRARIES, Config
from planbook.console import console, right_aligned
from planbook.envs import EnvsError
from planbook.knowledge import known_parts, learned_in
from planbook.learning import building_tasks, coverage_lines, export_manuals
from planbook.learning import formulate as formulate_rules
from planbook.papers import PaperComparison, compare_with_papers, paper_tables, publications
from planbook.planner import BudgetEnded, method
from planbook.results import BuildingCost, Paying, Reached, Summary, building_cost, paying_table, reached_after
from planbook.results.measures import ALL
from planbook.runs import Run, RunFile, is_run, new_folder
from planbook.settings import Settings
from planbook.terminal.printing import print_parts, spending
from planbook.wording import NO_FIGURE, fixed, interval
from planbook.workers import Hosting, check_roles

BUILD_SEEDS, TEST_SEEDS = range(1000), range(1000, 2000)
"""Ranges of seeds for environments that generate tasks from them; building and testing share none."""
TEST_TASKS_PER_TYPE = 6
LEARNERS = ("builder", "consolidator")
PAPER_OPTIONS = ("start", "tasks_per_type", "solved_after", "max_rules", "per_type", "libraries_only")
"""Options of building that a paper may set."""
PLAYING_OPTIONS = frozenset({"planner", "planner_options", "split", "seeds", "repeats", "limits", "procedures_first"})
"""Options of playing, which --from excludes."""


class Point(BaseModel):
    """One test run of a curve, and the cost of building up to it."""

    model_config = ConfigDict(frozen=True)

    after: int
    interval: tuple[float, float]
    until_then: Reached
    summary: Summary


class Curve(BaseModel):
    """Output of ``planbook test --after N,N --json``."""

    model_config = ConfigDict(frozen=True)

    library: str
    curve: tuple[Point, ...]
    paying: dict[str, Paying | None] = {}
    """The cost of a solved task with learning included, by the number of building tasks."""
    table: PaperComparison | None = None
    """Comparison of the last point with the papers (--table)."""


class Tested(Summary):
    """Output of ``--table --json``; no table for an environment that no paper uses."""

    table: PaperComparison | None

    @classmethod
    def of(cls, summary: Summary, table: PaperComparison | None) -> "Tested":
        """Return the summary with a table."""
        return cls(**dict(summary), table=table)


class Formulated(BaseModel):
    """Output of ``formulate --json``."""

    model_config = ConfigDict(frozen=True)

    manuals: tuple[str, ...]
    model_calls: int
    tokens: int
    run: str


def build(settings: Settings, *, as_json: bool) -> tuple[int, Summary]:
    """Begin a building run, or resume the one in the folder, and build to the end."""
    if settings.resume is not None:
        return play_settings(settings, "", as_json=as_json)
    config = config_from_sources(settings) if settings.sources else building_config(settings)
    check_roles(config, learners(config))
    return play(config, settings.out, settings.hosting(), as_json=as_json, store=settings.store)


def building_config(settings: Settings) -> Config:
    """Return the configuration of a run that plays the episodes it learns from."""
    planner = settings.planner or "automanual"
    learning = settings.learning()
    settings_with_tasks = settings.with_default_tasks(BUILD_SEEDS, learning.tasks_per_type, ("train",))
    config = settings_with_tasks.config(planner, ablated_options(planner, settings.without), building=True)
    if paper := settings.paper_settings(planner, building=True).learning:
        update = {name: getattr(paper, name) for name in PAPER_OPTIONS if not settings.was_given(name)}
        learning = learning.model_copy(update=update)
    return config.model_copy(update={"learning": learning})


def config_from_sources(settings: Settings) -> Config:
    """Return the configuration of a run that learns from recorded episodes."""
    from planbook.learning.given import environment_of, planned_by, read_source  # its schema takes a while to import

    settings.refuse("--from", PLAYING_OPTIONS)
    sources = [read_source(path) for path in settings.sources]
    agreed, (planner, options) = environment_of(sources), planned_by(sources)
    if not settings.env:
        if "env" not in agreed:
            raise errors.BadArgument("--from: the runs there do not name their environment; name it with --env")
        settings = settings.model_copy(update={"env": agreed["env"]})
    config = settings.config("automanual", ablated_options("automanual", settings.without))
    if not settings.env_options and settings.env == agreed.get("env"):
        config = config.model_copy(update={"env_options": agreed.get("env_options", config.env_options)})
    config = config.model_copy(update={"types": settings.source_of_types(building=True)})
    learning = settings.learning(agreed["split"]).model_copy(update={"given": tuple(given for given, _ in sources)})
    config = config.model_copy(update={"planner": planner, "planner_options": options, "learning": learning})
    check_verifying(config)
    return config


def learners(config: Config) -> tuple[str, ...]:
    """Return the roles that learn from finished episodes."""
    builds_rules = config.learning and not config.learning.libraries_only and "rules" not in config.without
    return ("planner", *(LEARNERS if builds_rules else ()))


def check_verifying(config: Config) -> None:
    """Raise BadArgument unless procedures can be verified in the environment, or are not learned."""
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


def test(settings: Settings, *, table: bool, as_json: bool) -> tuple[int, Summary | Curve]:
    """Play test tasks with what was learned, in one run for each number of building tasks (--after)."""
    after = settings.after if len(settings.after) > 1 else ()
    config = test_config(settings.model_copy(update={"after": ()}) if after else settings)
    series = Series(settings, as_json=as_json)
    if not after:
        code, summary = series.play(config, settings.out)
        if not table:
            return code, summary
        return code, Tested.of(summary, show_comparison(config, summary, as_json=as_json))
    out = settings.out or new_folder(config)
    code, curve = play_curve(config, after, out, series, as_json=as_json)
    if table:
        last = curve.curve[-1]
        comparison = show_comparison(config.model_copy(update={"after": last.after}), last.summary, as_json=as_json)
        curve = curve.model_copy(update={"table": comparison})
    return code, curve


def effect(folder: Path, parts: Sequence[str], settings: Settings, *, as_json: bool) -> tuple[int, Effects]:
    """Measure on test tasks what the rules and skills of a library are worth: the named ``parts``, or all."""
    building = RunFile.read(folder).config if is_run(folder) else None
    env = settings.env or (building.env if building else "")
    config = test_config(settings.model_copy(update={"library": str(folder), "env": env}))
    known = known_parts(config)
    if unknown := sorted(set(parts) - set(known)):
        raise errors.BadArgument(f"--parts {unknown[0]}: there is no such rule or skill; known: {', '.join(known)}")
    if not settings.models and not settings.planner:
        models = ", ".join(dict.fromkeys(building.models.values())) if building else ""
        raise errors.BadArgument(
            f"name the model that plays with --model{f' ({folder} was built with {models})' if models else ''}; or "
            "measure the procedures alone, which ask no model, with --planner procedures"
        )
    series = Series(settings, as_json=as_json)
    return play_effects(config, parts or known, settings.out or new_folder(config), series, as_json=as_json)


def test_config(settings: Settings) -> Config:
    """Return the configuration of a test. Defaults: the learned library, and procedures if no model is named."""
    planner = settings.planner or ("automanual" if settings.models else "procedures")
    if not settings.was_given("library") and (LIBRARIES[LEARNED_LIBRARY] / settings.environment().name).is_dir():
        settings = settings.model_copy(update={"library": LEARNED_LIBRARY})
    settings = settings.with_default_tasks(TEST_SEEDS, TEST_TASKS_PER_TYPE, ("valid_unseen", "test"))
    return settings.config(planner, ablated_options(planner, settings.without))


def formulate(
    folder: Path, models: Mapping[str, str], tokens: int | None, hosting: Hosting, *, as_json: bool
) -> tuple[int, Formulated]:
    """Write manuals from the rules of a building run, and export them."""
    out = console(as_json)
    with closing(Run.open(folder, to_play=True)) as run:
        if run.config.learning is None:
            raise errors.BadArgument(f"{folder} is not a building run; rules come from `planbook build`")
        config = run.config.model_copy(update={"models": {**run.config.models, **models}})
        run.begin_invocation(hosting, models=models.values())
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
        return code, Formulated(
            manuals=tuple(written), model_calls=spent.calls, tokens=spent.tokens, run=str(run.folder)
        )


def ablated_options(planner: str, without: tuple[str, ...]) -> dict[str, JsonValue]:
    """Return the planner's options that the ablations turn off."""
    implied = {"cooperation": "cooperation", "rules": "cooperation", "helpers": "helper_methods"}
    known = method(planner).options.model_fields
    return {option: False for part, option in implied.items() if part in without and option in known}


TARGET = 0.95
"""The share of solved tasks in the headline of a curve."""


def play_curve(config: Config, after: Sequence[int], out: Path, series: Series, *, as_json: bool) -> tuple[int, Curve]:
    """Play a test run for each number of building tasks, in folders below ``out``, and print the curve.

    Stops after the first run that is interrupted or whose budget ends; the same command continues. Raises BadArgument,
    BadRun.
    """
    cost, points, worst = _building_cost(config, after), list[Point](), errors.OK
    for number in after:
        code, summary = series.play(config.model_copy(update={"after": number}), out / f"after-{number}")
        until_then = reached_after(cost, number)
        points.append(Point(after=number, interval=summary.intervals[ALL], until_then=until_then, summary=summary))
        worst = max(worst, code)
        if code in STOPPED:
            message = f"Not finished at {number} building tasks; the same command with --out {out} continues."
            console(as_json).print(message, soft_wrap=True)
            break
    curve = Curve(library=config.library, curve=tuple(points), paying=curve_paying(points))
    screen = console(as_json)
    screen.print(curve_table(curve))
    screen.print(target_line(curve))
    print_parts(screen, paying_table(curve.paying, "building tasks"))
    return worst, curve


def _building_cost(config: Config, after: Sequence[int]) -> BuildingCost:
    folder = config.library_folder
    if not is_run(folder):
        raise errors.BadArgument("--after N,N: the building tasks are those of a building run; name it with --library")
    with closing(Run.open(folder)) as run:
        cost, tasks = building_cost(run), len(run.entries())
    if max(after) > tasks:
        raise errors.BadArgument(f"--after {max(after)}: {folder} has {tasks} building tasks")
    return cost


def curve_paying(points: Sequence[Point]) -> dict[str, Paying | None]:
    """Return the cost of a solved task at each point, learning included, compared with the point without learning."""
    costs = {str(point.after): point.summary.paying for point in points}
    baseline = costs.get("0")
    return {
        name: paying.compared_with("no building tasks", baseline) if paying and baseline and name != "0" else paying
        for name, paying in costs.items()
    }


def target_line(curve: Curve) -> str:
    """Return the headline: the cost of building at the first point that reaches the target."""
    for point in curve.curve:
        if point.summary.tasks and point.summary.solved / point.summary.tasks >= TARGET:
            built = point.until_then
            return (
                f"{TARGET:.0%} solved first after {point.after} building tasks: {built.calls:,} calls, "
                f"{built.tokens:,} tokens and {built.actions:,} actions of building."
            )
    return f"No point of the curve solves {TARGET:.0%}."


def curve_table(curve: Curve) -> Table:
    """Return a row for each point: success, model calls of the test, and the cost of building up to it."""
    test_columns = ("building\ntasks", "\nsolved", "\n95 % interval", "error\nsteps", "model\ncalls")
    building_columns = ("built:\ncalls", "\ntokens", "\nactions", "\nprocedures")
    title = "success by building tasks; cost of building up to each point"
    table = right_aligned(None, (*test_columns, *building_columns), title=title, unbroken=True)
    for point in curve.curve:
        summary, built, (low, high) = point.summary, point.until_then, point.interval
        share = f"{summary.solved / summary.tasks:.1%}" if summary.tasks else NO_FIGURE
        figures = (summary.model_calls, built.calls, built.tokens, built.actions, built.procedures)
        steps = fixed(summary.mean_error_steps, 2)
        table.add_row(str(point.after), share, interval(low, high), steps, *(f"{figure:,}" for figure in figures))
    return table


def show_comparison(config: Config, summary: Summary, *, as_json: bool) -> PaperComparison | None:
    """Print the figures of a run and of the papers, or a line that no paper has any."""
    out, comparison = console(as_json), compare_with_papers(config, summary)
    print_parts(out, paper_tables(comparison) if comparison else [_no_figures(config)])
    return comparison


def with_table(summary: Summary, *, as_json: bool) -> Tested:
    """Print the comparison with papers and return the summary with it. Raises BadRun, BadKnowledge."""
    with closing(Run.open(Path(summary.run))) as run:
        config = run.config
    return Tested.of(summary, show_comparison(config, summary, as_json=as_json))


def _no_figures(config: Config) -> str:
    papers = (f"{paper.paper} has them for {_enumerate(paper.environments)}." for paper in publications())
    return f"No paper has figures for {config.environment.name}. {' '.join(papers)}"


def _enumerate(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
