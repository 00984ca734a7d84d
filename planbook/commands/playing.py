"""The commands `run` and `join`, and the functions with which all commands play a run and print its results."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import click
from pydantic import JsonValue
from rich.console import Console

from planbook import errors, knowledge
from planbook.commands.click_options import JSON, PLAYING, RUN_FOLDER, TABLE, Command, CommandResult, options
from planbook.config import FOUND, Config
from planbook.console import ERRORS, console
from planbook.envs import Task
from planbook.inputs import current_inputs
from planbook.knowledge import memory_of
from planbook.learning.tasks import tasks_of
from planbook.planner import ERROR_KINDS, BudgetEnded, Cell, Ending, EpisodeStopped, ModelError, Outcome
from planbook.preflight import (
    check_config,
    check_knowledge,
    check_settings,
    finished_endings,
    print_paper_settings,
    report_changes,
    report_changes_since_build,
    report_tasks_learned_from,
)
from planbook.results import RunResults, read_run
from planbook.results.learning_cost import cost_line, payoff_line
from planbook.results.summary import UNSAFE, Summary, failure_lines, figure_parts, results_table, spending_lines
from planbook.runs import (
    AGAIN,
    EpisodeEntry,
    Fork,
    Run,
    broken_scopes,
    is_run,
    last_scope,
    new_folder,
    recorded_endings,
)
from planbook.sandbox import Fault, FaultKind, Limits
from planbook.settings import Settings
from planbook.spending import check_money
from planbook.store import OnEvent
from planbook.terminal import Progress, episode_line, print_parts
from planbook.wording import counted, first_line
from planbook.workers import Execution, RequestListener, check_executor, join_run, play_episodes

WHY_OVER_LIMIT = "success processes and helper methods are never deleted, and the Consolidator merged no other rules."
STOPPED_BY_WATCH = "Stopped from planbook watch."
QUOTED_CHARS = 240
"""Maximum length of the error that is quoted in the results of a run."""


@click.command("run", cls=Command)
@options(*PLAYING, "Resuming", planner="procedures")
@TABLE
@JSON
def run_command(settings: Settings, table: bool) -> tuple[int, Summary]:
    """Play tasks of an environment with a planning method."""
    code, summary = play_settings(settings, "procedures")
    if table or settings.paper:
        from planbook.commands.testing import with_table

        summary = with_table(summary)
    return code, summary


@click.command("join", cls=Command)
@click.argument("run", type=RUN_FOLDER)
@options("prices", "jobs", "unsafe_no_sandbox")
@JSON
def join_command(run: Path, settings: Settings) -> CommandResult:
    """Help another process, on this machine or another one, play RUN.

    RUN is the run's folder. If the events of the run are in PostgreSQL, a copy of the folder is enough. If this process
    is lost, another one continues its episodes. This process ends when the process that plays the run ends.
    """
    execution = settings.execution()
    with closing(Run.open(run)) as opened:
        if opened.config.learning is not None:
            raise errors.BadArgument(f"{run} learns from one episode after another, so no other process can join it")
        if not opened.is_running:
            raise errors.BadRun(f"no process is playing {run}; resume it with: planbook run --resume {run}")
        check_config(opened.config, run)
        report_changes(opened, execution)
        report = join_run(opened, execution)
        if not isinstance(report.error, EpisodeStopped | BudgetEnded | None):
            raise report.error
        played = opened.store.leases.workers().count(report.worker)
    stopped = f" Stopped: {report.error}." if isinstance(report.error, BudgetEnded) else ""
    console().print(f"{counted(played, 'episode')} of {run} played here.{stopped}")
    spent = {"model_calls": report.spent.calls, "tokens": report.spent.tokens}
    code = errors.OUT_OF_BUDGET if stopped else errors.INTERRUPTED if report.error else errors.OK
    return code, {"episodes": played, **spent, "run": str(run)}


def play(
    config: Config,
    out: Path | None,
    execution: Execution,
    *,
    on_event: OnEvent | None = None,
    store: str | None = None,
    tasks: Sequence[Task] | None = None,
    rerun_of: str = "",
    forked: Fork | None = None,
    in_series: bool = False,
) -> tuple[int, Summary]:
    """Begin a run in the folder ``out``, and play it to the end. If the folder already holds this run, resume it.

    ``store`` is the URL of a database for the events; by default, the folder holds them. ``tasks`` replaces the tasks
    that the configuration selects. If the run repeats another run, ``rerun_of`` is the other run's folder. If the run
    continues an episode of another run, ``forked`` names this episode and the action from which it continues. With
    ``in_series``, the caller prints how to continue a stopped run, and whether learning has paid off.
    """
    check_settings(config, execution)
    if out is None or not is_run(out):  # an existing run checks its own price table
        check_money(config.models.values(), execution.budget, execution.prices)
    tasks = tasks_of(config) if tasks is None else tasks
    check_knowledge(config, tasks)
    if config.paper:
        print_paper_settings(config)
    inputs = current_inputs(config, tasks, execution.prices)
    report_changes_since_build(config.library_folder, inputs)
    report_tasks_learned_from(config, tasks)
    folder = out or new_folder(config)
    unjudgeable = config.environment.unjudgeable(config.selection, config.environment_options)
    run = Run.create(
        folder, config, tasks, store=store, inputs=inputs, rerun_of=rerun_of, forked=forked, unjudgeable=unjudgeable
    )
    with closing(run):
        if forked and run.is_new:
            copy_recall(run, forked)
        return play_run(run, execution, on_event=on_event, in_series=in_series)


def copy_recall(run: Run, fork: Fork) -> None:
    """Give a fork the knowledge that the original episode recalled, unless the fork omits a part of it."""
    if fork.without:
        return
    with closing(Run.open(Path(fork.run))) as original:
        entry = original.entries()[fork.episode]
        rows = list(original.store.events(last_scope(original, entry), "recall"))
    for row in rows[:1]:
        run.store.put("task/0", "recall", 0, row.body)


def play_settings(
    settings: Settings,
    planner: str,
    options: Mapping[str, JsonValue] = {},
    *,
    on_event: OnEvent | None = None,
) -> tuple[int, Summary]:
    """Begin the run that the settings describe, or resume the run that ``--resume`` names, and play it to the end.

    ``planner`` and ``options`` are the default planning method and its default options.
    """
    execution = settings.execution()
    if settings.resume is not None:
        settings.refuse_fixed_by_run()
        return resume(settings.resume, execution, again=settings.again)
    config = settings.config(planner, options)
    return play(config, settings.out, execution, on_event=on_event, store=settings.store)


def resume(folder: Path, execution: Execution, *, again: str | None = None) -> tuple[int, Summary]:
    """Resume a run. If ``again`` is "broken", the episodes that ended BROKEN are also played again."""
    with closing(Run.open(folder, to_play=True)) as run:
        check_config(run.config, folder)
        check_executor(run.config, execution)
        superseded = broken_scopes(run) if again == Outcome.BROKEN else []
        return play_run(run, execution, superseded_scopes=superseded)


def play_run(
    run: Run,
    execution: Execution,
    *,
    on_event: OnEvent | None = None,
    superseded_scopes: Sequence[str] = (),
    in_series: bool = False,
) -> tuple[int, Summary]:
    """Play the open episodes of a run, print its results, and return the exit code and the summary.

    Endings that were recorded in ``superseded_scopes`` no longer count; their episodes are played again. Unless the run
    is ``in_series``, this also prints whether learning has paid off and, if the run is stopped, how to resume it.
    """
    note = report_changes(run, execution, plays_again=bool(superseded_scopes))
    if superseded_scopes:
        note = {**note, AGAIN: list(superseded_scopes)}
    title = f"{run.config.title} on {run.config.environment.name}"
    run.begin_invocation(execution, note={**note, **execution.recorded_settings()})
    listener = RequestListener(run)
    seconds_before = run.meter.spent.seconds
    try:
        stopped = _play_with_progress(run, title, execution, listener, on_event)
        formulated = isinstance(stopped, BudgetEnded) and bool(run.config.learning) and _formulate(run, stopped)
    except ModelError as error:
        same_command = f"continue with the same command and --out {run.folder.parent}"
        remedy = same_command if in_series else f"resume with: {_resume_line(run, execution)}"
        raise type(error)(f"{error}. Once this is solved, {remedy}") from error
    finally:
        run.end_invocation()
    seconds = run.meter.spent.seconds - seconds_before
    results, out = read_run(run), console()
    summary = results.summary(seconds)
    _print_results(results, summary, title, out, in_series=in_series)
    if formulated:
        out.print(f"The manual was written with the {run.meter.budget.formulator:.0%} of the budget reserved for it.")
    if stopped is not None:
        over_budget = isinstance(stopped, BudgetEnded)
        larger = ("--budget", stopped.suggested_limit) if isinstance(stopped, BudgetEnded) else ()
        advice = "" if in_series else f" Resume with: {_resume_line(run, execution, *larger)}"
        out.print(f"Stopped: {stopped}.{advice}" if over_budget else f"{stopped}{advice}")
        return errors.OUT_OF_BUDGET if over_budget else errors.INTERRUPTED, summary
    return errors.BROKEN if summary.broken else errors.OK, summary


def _formulate(run: Run, stopped: BudgetEnded) -> bool:
    """Write the manual of a build with the reserved share of the budget. Return True if it was written."""
    from planbook.learning.stages import formulate_with_reserve

    return formulate_with_reserve(run, stopped)


def _print_results(results: RunResults, summary: Summary, title: str, out: Console, *, in_series: bool) -> None:
    """Print the results of a run, what it has learned, and the path of its folder."""
    run = results.run
    print_parts(
        out,
        (
            results_table(summary, title),
            *figure_parts(summary),
            *failure_lines(summary),
            *([UNSAFE] if run.file.unsafe_no_sandbox else []),
            *_first_error(run, recorded_endings(run)),
            *spending_lines(summary),
            *(() if in_series else payoff_line(summary.paying)),
        ),
    )
    if run.config.learning:
        _print_learned(results, out)
    out.print(f"{summary.seconds or 0:.1f} s in this invocation; the run is in {summary.run}")


def _first_error(run: Run, endings: Mapping[int, Ending]) -> Iterator[str]:
    """Yield the first error that ended an episode, and the command that shows the first failed episode."""
    for entry in run.entries():
        if (ending := endings.get(entry.index)) and ending.cause in ERROR_KINDS:
            cells = [Cell.model_validate(event.body) for event in run.store.events(last_scope(run, entry), "cell")]
            if cells and (faults := cells[-1].feedback.faults):
                number = f" ({entry.index})" if len(endings) > 1 else ""
                error = _short_error(faults[0])
                ellipsis = " ..." if len(error) > QUOTED_CHARS else ""
                yield f"For example {entry.task.id}{number}: {error[:QUOTED_CHARS]}{ellipsis}"
                break
    if any(ending.outcome.played and not ending.outcome.solved for ending in endings.values()):
        yield f"To see why: planbook show {run.folder} failed"


def _short_error(fault: Fault) -> str:
    """Return an error in one line, with its line numbers and, if a limit was exceeded, the option that changes it."""
    if fault.type == "reply":
        return first_line(fault.message)
    callers = f" (called from line {', from line '.join(map(str, fault.callers[::-1]))})" if fault.callers else ""
    option = next((name for name in Limits.model_fields if name.startswith(fault.type)), "")
    limit_hint = f"; --limit {option}=N changes the limit" if option and fault.kind is FaultKind.LIMIT else ""
    return f"{first_line(str(fault))}{callers}{limit_hint}"


def _resume_line(run: Run, execution: Execution, *extra_options: str) -> str:
    """Return the command that resumes a run, with additional options.

    If the run uses Python objects as environment or models, no command can resume it. In this case, return the call of
    ``planbook.run`` that does.
    """
    options = ["--unsafe-no-sandbox", *extra_options] if execution.unsafe_no_sandbox else [*extra_options]
    if any(name.startswith("object:") for name in (run.config.env, *run.config.models.values())):
        arguments = " ".join(["the same objects", *(["and", *options] if options else [])])
        return f"planbook.run(resume={str(run.folder)!r}, ...), with {arguments}"
    return shlex.join(["planbook", "run", "--resume", str(run.folder), *options])


def _print_learned(results: RunResults, out: Console) -> None:
    """Print what a run of `planbook build` has learned, and the folder that holds it."""
    from planbook.learning.coverage import coverage_lines, coverage_of
    from planbook.learning.stages import export

    run = results.run
    folder, max_rules = export(run), run.config.building.max_rules
    state = knowledge.learned_state(run)
    learned = state.knowledge
    out.print(
        f"{counted(len(learned.rules), 'rule')} after {counted(state.history.change_count, 'change')}, "
        f"{counted(len(learned.skills), 'skill')}, {counted(len(learned.reflections), 'reflection')}, "
        f"{counted(len(learned.procedures), 'procedure')}.",
    )
    if knowledge.manual_is_outdated(run, state):
        command = f"planbook formulate {shlex.quote(str(run.folder))}"
        out.print(f"The manual is older than the latest rules; rewrite it with: {command}")
    if (excess := len(learned.rules) - max_rules) > 0 and not run.config.building.libraries_only:
        out.print(f"{counted(excess, 'rule')} more than --max-rules: {WHY_OVER_LIMIT}", style="yellow")
    for line in coverage_lines(run, coverage_of(run, state)):
        out.print(line)
    for note in state.notes:
        out.print(f"Not learned: {first_line(note)}", style="yellow")
    types = len({row.entry.task.type for row in results.episodes.values()})
    if run.config.types == FOUND:
        types = len(learned.found)
    if line := cost_line(results.building_states, types):
        out.print(line)
    out.print(f"What was learned is in {folder}")


def _play_with_progress(
    run: Run, title: str, execution: Execution, listener: RequestListener, on_event: OnEvent | None
) -> str | BudgetEnded | None:
    """Play the open episodes. Return None, or the reason if the budget, Ctrl-C or `planbook watch` ended this early."""
    finished_before = finished_endings(run)
    progress = Progress(run, title, len(run.entries()), finished_before.values(), lambda: listener.switches.paused)

    def on_ending(entry: EpisodeEntry, ending: Ending) -> None:
        if entry.index in finished_before:  # a resumed build also reports the episodes of earlier invocations
            return
        progress.count(ending)
        if run.config.learning:
            ERRORS.print(episode_line(entry, ending, run.meter))

    with listener.listening(), progress.show():
        try:
            execution = execution.model_copy(update={"switches": listener.switches})
            finished = _play_open_episodes(run, on_ending, execution, on_event)
        except BudgetEnded as error:
            return error
    if finished:
        return None
    return STOPPED_BY_WATCH if listener.stopped else "Stopped."


def _play_open_episodes(
    run: Run, on_ending: Callable[[EpisodeEntry, Ending], None], execution: Execution, on_event: OnEvent | None
) -> bool:
    """Play the open episodes. Return False if the run was stopped."""
    if not run.config.learning:
        return play_episodes(run, memory_of(run.config), on_ending, execution=execution, on_event=on_event)

    from planbook.learning.stages import build  # imported here, since most runs learn nothing

    return build(run, on_ending, execution=execution, on_event=on_event)
