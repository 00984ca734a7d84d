"""Commands that play a run again and compare: replay RUN, rerun, fork.

*replay* repeats the recorded actions in the environment. *rerun* plays the whole run anew, with its models. *fork*
plays one episode anew from one of its actions, with a change.
"""

import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict, JsonValue
from rich.console import Console

from planbook import errors
from planbook.commands.checking import plan_code
from planbook.commands.playing import play, play_settings
from planbook.commands.viewing import find_episode
from planbook.compare.reruns import (
    RepeatedEpisode,
    RepeatResult,
    RerunTotals,
    learned_the_same,
    repeated_episodes,
    totals,
)
from planbook.console import console
from planbook.knowledge import check_ablations
from planbook.options import JSON, PLAN_FILE, RUN_FOLDER, SELECTION, Command, CommandResult, options
from planbook.planner import Budget
from planbook.replay import Comparison, Sameness, replay_run
from planbook.resuming import Repeat, check_config, is_deterministic, prepare_fork, prepare_repeat
from planbook.runs import Entry, Run, new_branch, recorded_endings
from planbook.settings import Settings
from planbook.wording import counted
from planbook.workers import Execution


class Rerun(BaseModel):
    """Output of ``rerun --json`` and ``fork --json``.

    ``differed`` lists the inputs that changed, ``episodes`` lists the episodes with another result. If
    ``deterministic`` is True, no episode should have another result. ``learnt_the_same`` is None unless the runs learn.
    """

    model_config = ConfigDict(frozen=True)

    rerun_of: str
    run: str
    differed: tuple[str, ...]
    deterministic: bool
    totals: RerunTotals
    learnt_the_same: bool | None = None
    episodes: tuple[RepeatedEpisode, ...]


@click.command(cls=Command)
@click.argument("run", type=RUN_FOLDER)
@click.option("--recorded", is_flag=True, help="Answer from the run's own record: no model, no key, no cost.")
@options("models", "Spending", "Running")
@JSON
def rerun(run: Path, settings: Settings, recorded: bool) -> tuple[int, Rerun]:
    """Play RUN again, and report which episodes came out differently, and where."""
    out = settings.out
    if out is not None and out.resolve() == run.resolve():
        raise errors.BadArgument(f"--out {out} is the run that is to be repeated; name another folder")
    repeat = prepare_repeat(run, settings.models, recorded=recorded, prices=settings.prices)
    budget = settings.budget or (repeat.budget if repeat.budget != Budget() else None)
    execution = settings.execution().model_copy(update={"budget": budget})
    return play_again(run, repeat, execution, out, settings.store)


@click.command(cls=Command)
@click.argument("run", type=RUN_FOLDER)
@click.argument("episode")
@click.option("--at", required=True, type=click.IntRange(min=0), help="Number of actions to keep.")
@click.option("--plan", default=None, type=PLAN_FILE, help="Run this plan file from then on.")
@options("models", "without", "Spending", "Running")
@JSON
def fork(run: Path, episode: str, at: int, plan: Path | None, settings: Settings) -> tuple[int, Rerun]:
    """Continue EPISODE of RUN from one of its actions: with a plan, another model, or without a rule.

    EPISODE is its number from 0, the id of its task, or `failed`. Until the action --at, replies come from the record;
    after it, the model is asked or the plan is run. The branch is a run of one episode below RUN/branches, unless --out
    names another folder. The report of RUN shows it next to the episode.
    """
    check_ablations(settings.without)
    with closing(Run.open(run)) as opened:
        entry = find_episode(opened, episode, recorded_endings(opened))
        config = opened.config
    repeat = prepare_repeat(run, settings.models, recorded=False, prices=settings.prices)
    environment = settings.model_copy(update={"env": config.env, "env_options": config.env_options})
    new_plan = plan_code(plan, environment) if plan else None
    forked = prepare_fork(run, entry, at, repeat, new_plan, settings.without)
    out = settings.out or new_branch(run, f"{entry.index}-at-{at}")
    return play_again(run, forked, settings.execution(), out, settings.store)


def play_again(
    folder: Path, repeat: Repeat, execution: Execution, out: Path | None, store: str | None
) -> tuple[int, Rerun]:
    """Print the inputs that have changed, play, and compare every episode. Return the exit code and the comparison."""
    screen = console()
    _show_changes(screen, folder, repeat)
    code, summary = play(
        repeat.config,
        out,
        execution.model_copy(update={"prices": repeat.prices}),
        store=store,
        tasks=repeat.tasks,
        rerun_of="" if repeat.forked else str(folder.resolve()),
        forked=repeat.forked,
    )
    with closing(Run.open(folder)) as first, closing(Run.open(Path(summary.run))) as second:
        differed = (*repeat.changed_inputs, *_environment_changes(first, second))
        episodes = tuple(repeated_episodes(first, second))
        learned_same = learned_the_same(first, second) if repeat.config.learning else None
    result = Rerun(
        rerun_of=str(folder),
        run=summary.run,
        differed=differed,
        deterministic=not repeat.forked and is_deterministic(repeat.config),
        totals=totals(episodes),
        learnt_the_same=learned_same,
        episodes=tuple(episode for episode in episodes if episode.way is not RepeatResult.SAME),
    )
    for line in differed[len(repeat.changed_inputs) :]:
        screen.print(f"The environment has changed: {line}.", soft_wrap=True)
    _show_result(screen, result)
    return code or (errors.BROKEN if _has_diverged(result) and result.deterministic else errors.OK), result


def _has_diverged(result: Rerun) -> bool:
    counts = result.totals.by_way
    return bool(counts[RepeatResult.OTHER_WAY] or counts[RepeatResult.OTHER_OUTCOME]) or result.learnt_the_same is False


def _show_changes(out: Console, folder: Path, repeat: Repeat) -> None:
    if repeat.original_is_played:
        note = f"Note: {folder} is still being played; episodes that do not end in the meantime are not compared."
        out.print(note, style="yellow", soft_wrap=True)
    if not repeat.changed_inputs:
        out.print(f"No input of {folder} has changed since it began.", soft_wrap=True)
        return
    out.print(f"Changed since {folder} began:", soft_wrap=True)
    for line in repeat.changed_inputs:
        out.print(f"  {line}", soft_wrap=True)


def _environment_changes(first: Run, second: Run) -> tuple[str, ...]:
    """Describe the changed versions among those that an environment reports only when it is played."""
    before, after = _environment_versions(first), _environment_versions(second)
    changed = [name for name in before if name in after and after[name] != before[name]]
    return tuple(f"{name}: {before[name]}, now {after[name]}" for name in changed)


def _environment_versions(run: Run) -> dict[str, JsonValue]:
    return {name: version for row in run.store.events("run", "versions") for name, version in row.body.items()}


def _show_result(out: Console, result: Rerun) -> None:
    for episode in result.episodes:
        out.print(str(episode), soft_wrap=True)
    sums = result.totals
    by_way = ", ".join(f"{count} {way}" for way, count in sums.by_way.items() if count)
    out.print(
        f"{counted(sums.episodes, 'episode')} compared with those of {result.rerun_of}: {by_way or 'none'}.",
        soft_wrap=True,
    )
    if sums.gained or sums.lost:
        out.print(
            f"Solved {sums.solved_before} then and {sums.solved_after} now: {sums.gained} gained, {sums.lost} lost "
            f"(exact test over tasks: p = {sums.p:.3g}).",
            soft_wrap=True,
        )
    if result.learnt_the_same is not None:
        out.print(f"What was learned from them is {'the same' if result.learnt_the_same else 'different'}.")
    if result.deterministic and _has_diverged(result):
        out.print("All answers were fixed, so every episode should have been the same.", soft_wrap=True)


class ReplayResult(BaseModel):
    """Output of ``replay RUN --json``.

    ``by_sameness`` maps each kind of result to its number of episodes, and ``differences`` each task to the difference
    in its last episode that differs. ``verdicts_changed`` counts episodes that were solved only in the run, or only in
    the replay.
    """

    model_config = ConfigDict(frozen=True)

    episodes: int
    by_sameness: dict[str, int]
    differences: dict[str, Comparison]
    verdicts_changed: int
    seconds: float
    run: str


@click.command(cls=Command)
@click.argument("recorded", required=False, type=RUN_FOLDER, metavar="[RUN]")
@options(*SELECTION, "Library", "Running")
@JSON
def replay(recorded: Path | None, settings: Settings) -> CommandResult:
    """Play a recorded RUN again and report where it diverges; without RUN, play tasks with the stored procedures."""
    if recorded is None:
        return play_settings(settings, "procedures")
    settings.refuse_fixed("a RUN")
    return compare_run(recorded, settings.execution())


def compare_run(folder: Path, execution: Execution) -> tuple[int, ReplayResult]:
    """Replay a recorded run, print the first difference of each episode, and return the exit code and the counts."""
    if execution.executor != "threads":
        raise errors.BadArgument("--executor: a RUN is replayed in threads of this process; leave the option out")
    begun = time.monotonic()
    out = console()
    counts: Counter[str] = Counter({kind.value: 0 for kind in Sameness})
    differing: list[tuple[Entry, Comparison]] = []

    def on_comparison(entry: Entry, comparison: Comparison) -> None:
        counts[comparison.sameness] += 1
        if comparison.event:
            differing.append((entry, comparison))
            out.print(f"{entry.task.id}: {comparison}", markup=False, soft_wrap=True)

    with closing(Run.open(folder)) as run:
        if run.imported or run.config.copies:
            raise errors.BadArgument(
                f"{folder} holds episodes that were played elsewhere; replay the run they come from"
            )
        check_config(run.config, folder)
        finished = replay_run(run, on_comparison, execution)
    seconds = round(time.monotonic() - begun, 3)
    by_kind = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    changed = sum(bool(comparison.then) for _, comparison in differing)
    verdicts = f" The verdict changed in {changed} of them." if changed else ""
    out.print(f"{counted(counts.total(), 'episode')} replayed in {seconds:.1f} s: {by_kind or 'none'}.{verdicts}")
    report = ReplayResult(
        episodes=counts.total(),
        by_sameness=dict(counts),
        differences={entry.task.id: comparison for entry, comparison in differing},
        verdicts_changed=changed,
        seconds=seconds,
        run=str(folder),
    )
    if not finished:
        return errors.INTERRUPTED, report
    return errors.BROKEN if differing else errors.OK, report
