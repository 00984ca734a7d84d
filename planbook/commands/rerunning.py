"""Commands that play a run once more, and compare: replay RUN, rerun, fork."""

import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict, JsonValue
from rich.console import Console

from planbook import errors
from planbook.commands.checking import given_plan
from planbook.commands.looking import chosen_entry
from planbook.commands.playing import play
from planbook.compare import RepeatedEpisode, RerunTotals, Way, learned_the_same, repeated_episodes, totals
from planbook.console import console
from planbook.knowledge import check_ablations
from planbook.options import JSON, PLAN_FILE, RUN_FOLDER, Command, options
from planbook.planner import Budget
from planbook.replay import Comparison, Sameness, replay_run
from planbook.resuming import Repeat, check_config, is_deterministic, prepared, prepared_fork
from planbook.runs import Entry, Run, new_branch, recorded_endings
from planbook.settings import Settings, lasting_model
from planbook.terminal.printing import answer
from planbook.wording import counted, harmless
from planbook.workers import Hosting


class Rerun(BaseModel):
    """The object that ends the standard output of ``--json``.

    ``differed`` are inputs that had changed before anything was played, ``episodes`` those that did not come out the
    same; ``deterministic`` says that they should have. ``learnt_the_same`` is for building runs: whether both know the
    same in the end.
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
def rerun(run: Path, settings: Settings, recorded: bool, as_json: bool) -> int:
    """Play RUN once more, and report what came out differently, and where."""
    out = settings.out
    if out is not None and out.resolve() == run.resolve():
        raise errors.BadArgument(f"--out {out} is the run that is to be repeated; name another folder")
    named = {role: lasting_model(model) for role, model in settings.models.items()}
    repeat = prepared(run, named, recorded=recorded, prices=settings.prices)
    budget = settings.budget or (repeat.budget if repeat.budget != Budget() else None)
    hosting = settings.hosting().model_copy(update={"budget": budget})
    code, found = play_again(run, repeat, hosting, out, settings.store, as_json=as_json)
    return answer(code, found, as_json=as_json)


@click.command(cls=Command)
@click.argument("run", type=RUN_FOLDER)
@click.argument("episode")
@click.option("--at", required=True, type=click.IntRange(min=0), help="Number of actions that stay as they were.")
@click.option("--plan", default=None, type=PLAN_FILE, help="Run this plan file from then on.")
@options("models", "without", "Spending", "Running")
@JSON
def fork(run: Path, episode: str, at: int, plan: Path | None, settings: Settings, as_json: bool) -> int:
    """Play EPISODE of RUN on from one of its actions: with a plan, another model, or without a rule.

    EPISODE is its number from 0, the id of its task, or `failed`. Every reply before the action --at is given again
    from the record; from then on the model is asked, or the plan is run. The branch is a run of one episode below
    RUN/branches, unless --out names another folder, and the report of RUN shows it beside the episode.
    """
    check_ablations(settings.without)
    with closing(Run.open(run)) as opened:
        entry = chosen_entry(opened, episode, recorded_endings(opened))
        there = opened.config
    named = {role: lasting_model(model) for role, model in settings.models.items()}
    repeat = prepared(run, named, recorded=False, prices=settings.prices)
    environment = settings.model_copy(update={"env": there.env, "env_options": there.env_options})
    given = given_plan(plan, environment) if plan else None
    forked = prepared_fork(run, entry, at, repeat, given, settings.without)
    out = settings.out or new_branch(run, f"{entry.index}-at-{at}")
    code, found = play_again(run, forked, settings.hosting(), out, settings.store, as_json=as_json)
    return answer(code, found, as_json=as_json)


def play_again(
    folder: Path, repeat: Repeat, hosting: Hosting, out: Path | None, store: str | None, *, as_json: bool
) -> tuple[int, Rerun]:
    """Tell the differences so far, play, and compare every episode; return the exit code and what was found."""
    to = console(as_json)
    _tell_beforehand(to, folder, repeat)
    of = str(folder.resolve())
    code, summary = play(
        repeat.config,
        out,
        hosting,
        as_json=as_json,
        store=store,
        tasks=repeat.tasks,
        rerun_of="" if repeat.forked else of,
        forked=repeat.forked,
    )
    with closing(Run.open(folder)) as first, closing(Run.open(Path(summary.run), store=store)) as second:
        differed = (*repeat.differs, *_of_environment(first, second))
        episodes = tuple(repeated_episodes(first, second))
        learnt = learned_the_same(first, second) if repeat.config.learning else None
    found = Rerun(
        rerun_of=str(folder),
        run=summary.run,
        differed=differed,
        deterministic=not repeat.forked and is_deterministic(repeat.config),
        totals=totals(episodes),
        learnt_the_same=learnt,
        episodes=tuple(each for each in episodes if each.way is not Way.SAME),
    )
    for line in differed[len(repeat.differs) :]:
        to.print(f"Played with another {line}.", soft_wrap=True)
    _tell_afterwards(to, found)
    return code or (errors.BROKEN if _parted(found) and found.deterministic else errors.OK), found


def _parted(found: Rerun) -> bool:
    ways = found.totals.by_way
    return bool(ways[Way.OTHER_WAY] or ways[Way.OTHER_OUTCOME]) or found.learnt_the_same is False


def _tell_beforehand(to: Console, folder: Path, repeat: Repeat) -> None:
    if repeat.goes_on:
        told = f"Note: {folder} is still being played; episodes that do not end in the meantime are not compared."
        to.print(told, style="yellow", soft_wrap=True)
    if not repeat.differs:
        to.print(f"None of the inputs of {folder} has changed since.", soft_wrap=True)
        return
    to.print(f"Changed since {folder} began:", soft_wrap=True)
    for line in repeat.differs:
        to.print(f"  {line}", soft_wrap=True)


def _of_environment(first: Run, second: Run) -> tuple[str, ...]:
    """Return the changed versions of the environment itself, which it names once it has been played."""
    then, now = _environment_versions(first), _environment_versions(second)
    return tuple(f"{name}: {was}, now {now[name]}" for name, was in then.items() if name in now and now[name] != was)


def _environment_versions(run: Run) -> dict[str, JsonValue]:
    return {name: version for row in run.store.events("run", "versions") for name, version in row.body.items()}


def _tell_afterwards(to: Console, found: Rerun) -> None:
    for each in found.episodes:
        to.print(harmless(str(each)), soft_wrap=True)
    sums = found.totals
    ways = ", ".join(f"{count} {way}" for way, count in sums.by_way.items() if count)
    to.print(
        f"{counted(sums.episodes, 'episode')} compared with those of {found.rerun_of}: {ways or 'none'}.",
        soft_wrap=True,
    )
    if sums.gained or sums.lost:
        to.print(
            f"Solved {sums.solved_before} then and {sums.solved_after} now: {sums.gained} gained, {sums.lost} lost "
            f"(exact test over tasks: p = {sums.p:.3g}).",
            soft_wrap=True,
        )
    if found.learnt_the_same is not None:
        to.print(f"What was learned from them is {'the same' if found.learnt_the_same else 'different'}.")
    if found.deterministic and _parted(found):
        to.print("All answers were fixed, so every episode should have been the same.", soft_wrap=True)


class Replayed(BaseModel):
    """What a replay of a recorded run found. ``by_sameness`` counts episodes; ``differences`` are by task id.

    ``verdicts_changed`` counts those that were solved only then, or only now.
    """

    model_config = ConfigDict(frozen=True)

    episodes: int
    by_sameness: dict[str, int]
    differences: dict[str, Comparison]
    verdicts_changed: int
    seconds: float
    run: str


def compare_run(folder: Path, hosting: Hosting, *, as_json: bool) -> tuple[int, Replayed]:
    """Play a recorded run again, print the first difference of each episode, and return the exit code."""
    begun = time.monotonic()
    out = console(as_json)
    counts: Counter[str] = Counter({kind.value: 0 for kind in Sameness})
    differences: dict[str, Comparison] = {}

    def on_comparison(entry: Entry, comparison: Comparison) -> None:
        counts[comparison.sameness] += 1
        if comparison.event:
            differences[entry.task.id] = comparison
            out.print(f"{entry.task.id}: {comparison}", markup=False, soft_wrap=True)

    with closing(Run.open(folder)) as run:
        if run.imported or run.config.copies:
            raise errors.BadArgument(
                f"{folder} holds episodes that were played elsewhere; replay the run they come from"
            )
        check_config(run.config, folder)
        finished = replay_run(run, on_comparison, hosting)
    seconds = round(time.monotonic() - begun, 3)
    ways = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    changed = sum(bool(each.then) for each in differences.values())
    told = f" The verdict changed in {changed} of them." if changed else ""
    out.print(f"{counted(counts.total(), 'episode')} replayed in {seconds:.1f} s: {ways or 'none'}.{told}")
    report = Replayed(
        episodes=counts.total(),
        by_sameness=dict(counts),
        differences=differences,
        verdicts_changed=changed,
        seconds=seconds,
        run=str(folder),
    )
    if not finished:
        return errors.INTERRUPTED, report
    return errors.BROKEN if differences else errors.OK, report
