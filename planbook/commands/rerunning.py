"""The commands `replay`, `rerun` and `fork`, which play a run again and compare the results.

`replay RUN` plays the episodes again with their recorded replies, and writes nothing. `rerun` plays the run again with
its models, as a new run. `fork` continues one episode from one of its actions, with a change, such as another model.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import click
from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from planbook import errors
from planbook.commands.checking import plan_code
from planbook.commands.click_options import EXISTING_FILE, JSON, RUN_FOLDER, Command, CommandResult, options
from planbook.commands.playing import play
from planbook.commands.viewing import find_episode
from planbook.config import Config, models_by_role
from planbook.console import console
from planbook.divergence import Comparison, Sameness
from planbook.envs import BadSelection, Selection, Task
from planbook.errors import BadArgument, BadRun
from planbook.inputs import current_inputs
from planbook.knowledge import RETRIEVAL, check_ablations
from planbook.learning.tasks import tasks_of
from planbook.planner import Budget, GivenCode, Step, format_call
from planbook.preflight import check_config
from planbook.replay import replay_run
from planbook.reruns import compare_episodes, have_same_knowledge, kept_steps
from planbook.runs import (
    EpisodeEntry,
    Fork,
    Run,
    changed_inputs,
    changed_versions,
    last_attempt,
    new_branch,
    recorded_endings,
    versions,
)
from planbook.settings import Settings, absolute_model
from planbook.wording import counted, listed, tally
from planbook.workers import Execution


class Rerun(BaseModel):
    """Output of ``rerun --json`` and ``fork --json``.

    ``differed`` lists the inputs that have changed. ``by_sameness`` maps each kind of result to its number of episodes.
    ``differences`` maps each episode that differs from the original to its first difference; if
    ``deterministic`` is True, there should be none. ``learned_the_same`` is None unless the runs learn.
    """

    model_config = ConfigDict(frozen=True, serialize_by_alias=True)

    rerun_of: str
    run: str
    differed: tuple[str, ...]
    deterministic: bool
    by_sameness: dict[str, int]
    differences: dict[str, Comparison]
    learned_the_same: bool | None = Field(default=None, serialization_alias="learnt_the_same")


@click.command(cls=Command)
@click.argument("run", type=RUN_FOLDER)
@click.option("--recorded", is_flag=True, help="Take the replies from the run's own record: no model, no key, no cost.")
@options("models", "Spending", "Running")
@JSON
def rerun(run: Path, settings: Settings, recorded: bool) -> tuple[int, Rerun]:
    """Play RUN again, and report which episodes came out differently, and where."""
    out = settings.out
    if out is not None and out.resolve() == run.resolve():
        raise BadArgument(f"--out {out} is the run that is to be repeated; name another folder")
    with closing(Run.open(run)) as opened:
        inputs = prepare_rerun(opened, settings.models, recorded=recorded, prices=settings.prices)
    budget = settings.budget or (inputs.budget if inputs.budget != Budget() else None)
    execution = settings.execution().model_copy(update={"budget": budget})
    return play_again(run, inputs, execution, out, settings.store)


@click.command(cls=Command)
@click.argument("run", type=RUN_FOLDER)
@click.argument("episode")
@click.option("--at", required=True, type=click.IntRange(min=0), help="Number of actions to keep.")
@click.option("--plan", default=None, type=EXISTING_FILE, help="Run this plan file from then on.")
@options("models", "without", "Spending", "Running")
@JSON
def fork(run: Path, episode: str, at: int, plan: Path | None, settings: Settings) -> tuple[int, Rerun]:
    """Continue EPISODE of RUN from one of its actions: with a plan, another model, or without a rule.

    EPISODE is a number (from 0), the id of a task, or `failed`. Up to action number --at, replies come from the record;
    after it, the model is asked or the plan is run. The branch is a run of one episode below RUN/branches, unless --out
    names another folder. The report of RUN shows it next to the episode.
    """
    check_ablations(settings.without)
    with closing(Run.open(run)) as opened:
        entry = find_episode(opened, episode, recorded_endings(opened))
        inputs = prepare_rerun(opened, settings.models, recorded=False, prices=settings.prices)
        config = opened.config
        environment = settings.model_copy(update={"env": config.env, "env_options": config.env_options})
        new_plan = plan_code(plan, environment) if plan else None
        inputs = prepare_fork(opened, entry, at, inputs, new_plan, settings.without)
    out = settings.out or new_branch(run, f"{entry.index}-at-{at}")
    return play_again(run, inputs, settings.execution(), out, settings.store)


class RerunInputs(NamedTuple):
    """Everything needed to play a run again: its configuration, its current tasks, its budget and its prices.

    ``changes`` lists changed inputs and versions. ``prices`` is the file of the price table. ``forked`` is set if only
    one episode is played, from one of its actions.
    """

    config: Config
    tasks: Sequence[Task]
    budget: Budget
    changes: tuple[str, ...]
    prices: Path | None
    forked: Fork | None = None


def prepare_rerun(run: Run, models: Mapping[str, str], *, recorded: bool, prices: Path | None) -> RerunInputs:
    """Prepare to play a run again. Raises BadRun if something that it needs is missing.

    ``models`` maps roles to models that replace the models of the run. If ``recorded`` is true, all other roles get
    recorded replies, and the run's models are not asked.
    """
    if run.imported:
        raise BadRun(f"{run.folder} was imported, and not played here; repeat the run that it was exported from")
    config = check_config(run.config, run.folder)
    old_tasks = [entry.task for entry in run.entries() if entry.repeat == 0]
    tasks = _current_tasks(config, old_tasks, run.folder)
    own_models = dict.fromkeys(config.models, f"recorded:{run.folder.resolve()}") if recorded else config.models
    new_models = {role: absolute_model(model) for role, model in models.items()}
    config = config.model_copy(update={"models": models_by_role({**own_models, **new_models})})
    prices = prices or run.prices
    changes = _describe_changes(run, config, tasks, prices)
    changes += [f"task: {old.id} has changed" for old, new in zip(old_tasks, tasks, strict=True) if old != new]
    if config.models != run.config.models:
        changes.append(f"models: {_format_models(run.config.models)}, now {_format_models(config.models)}")
    return RerunInputs(config, tasks, run.file.budget, tuple(changes), prices, run.forked)


def _describe_changes(run: Run, config: Config, tasks: Sequence[Task], prices: Path | None) -> list[str]:
    """Describe the changes since the run began, without changed models if ``config`` names other models."""
    current = current_inputs(config, tasks, prices)
    changes = [*changed_versions(run.versions, versions()), *changed_inputs(run.initial_inputs, current)]
    return [str(change) for change in changes if change.part != "models" or config.models == run.config.models]


def prepare_fork(
    run: Run, entry: EpisodeEntry, at: int, inputs: RerunInputs, plan: GivenCode | None, without: Sequence[str]
) -> RerunInputs:
    """Prepare to continue an episode after ``at`` actions, with another plan, other models or less knowledge.

    If the run learns (`planbook build`), the new episode gets the knowledge that the run had when the original episode
    began. Raises BadArgument if the episode has fewer than ``at`` actions, or if a plan is given and action ``at``
    ended the episode.
    """
    episode = last_attempt(run, entry)
    actions = sum(len(round_.steps) for round_ in episode.rounds)
    if at > actions:
        raise BadArgument(f"--at {at}: {entry.task.id} has {counted(actions, 'action')}; choose from 0 to {actions}")
    config, changed_options = inputs.config, [f"--without {name}" for name in without]
    update: dict[str, Any] = {"learning": None, "repeats": 1, "without": tuple(sorted({*config.without, *without}))}
    update["selection"] = Selection(split=entry.task.split or None, ids=(entry.task.id,))
    if run.config.learning and without:
        update |= {"library": str(run.folder.resolve()), "after": entry.index}
        update["without"] = (*update["without"], RETRIEVAL)  # a build shows its planner all rules
    if plan is not None:
        kept = kept_steps(episode, at)
        if kept and (kept[-1].observation.terminated or kept[-1].observation.truncated):
            raise BadArgument(
                f"--at {at}: action {at} ended the episode, so the plan would never run; give a smaller number"
            )
        prefix = "\n".join(map(_code_to_repeat, kept))
        code = plan.model_copy(update={"before": prefix})
        update |= {"planner": "code", "planner_options": code.model_dump(mode="json")}
        changed_options.append(f"--plan {plan.source}")
    if config.models != run.config.models:
        changed_options.append(f"--model {_format_models(config.models)}")
    fork = Fork(
        run=str(run.folder.resolve()),
        episode=entry.index,
        at=at,
        repeat=entry.repeat,
        without=tuple(without),
        change=" ".join(changed_options),
    )
    tasks = [task for task in inputs.tasks if task.id == entry.task.id]
    return inputs._replace(config=config.model_copy(update=update), tasks=tasks, forked=fork)


def _code_to_repeat(step: Step) -> str:
    """Return plan code that repeats a recorded action. If the action failed, the code ignores its error."""
    call = format_call(step.action)
    return f"try:\n    {call}\nexcept RuntimeError:\n    pass" if step.observation.failed else call


def _current_tasks(config: Config, old_tasks: Sequence[Task], folder: Path) -> list[Task]:
    """Return the run's tasks as their environment defines them now, in the original order.

    If the run has copied its episodes, the tasks are read from the sources of the copies. Raises BadRun if a task no
    longer exists, or BadArgument or BadRun if the sources have changed.
    """
    if config.copies_episodes:
        return list(tasks_of(config))
    current = {task.id: task for task in tasks_of(config)}
    if missing := [task.id for task in old_tasks if task.id not in current]:
        raise BadRun(
            f"{folder} cannot be repeated: {config.environment.name} no longer has the task {listed(missing, 1)} in "
            "this selection; restore the data that the run was played on"
        )
    return [current[task.id] for task in old_tasks]


def _format_models(models: Mapping[str, str]) -> str:
    return ", ".join(f"{role}={spec}" for role, spec in models.items()) or "none"


def is_deterministic(config: Config) -> bool:
    """Return True if playing the run again must give the same episodes, because it asks no live model."""
    return all(spec.startswith("recorded:") and "+" not in spec for spec in config.models.values())


def play_again(
    folder: Path, inputs: RerunInputs, execution: Execution, out: Path | None, store: str | None
) -> tuple[int, Rerun]:
    """Print what has changed, play, and compare each episode with the original. Return the exit code and the result."""
    screen = console()
    _show_changes(screen, folder, inputs.changes)
    code, summary = play(
        inputs.config,
        out,
        execution.model_copy(update={"prices": inputs.prices}),
        store=store,
        tasks=inputs.tasks,
        rerun_of="" if inputs.forked else str(folder.resolve()),
        forked=inputs.forked,
    )
    with closing(Run.open(folder)) as original, closing(Run.open(Path(summary.run))) as repetition:
        # an environment may report versions only while it is played, so they are compared here
        versions_changed = changed_versions(original.environment_versions, repetition.environment_versions)
        compared = list(compare_episodes(original, repetition))
        same_knowledge = have_same_knowledge(original, repetition) if inputs.config.learning else None
    result = Rerun(
        rerun_of=str(folder),
        run=summary.run,
        differed=(*inputs.changes, *map(str, versions_changed)),
        deterministic=not inputs.forked and is_deterministic(inputs.config),
        by_sameness=_count_by_sameness(compared),
        differences={
            _episode_name(entry): comparison
            for entry, comparison in compared
            if comparison.sameness is Sameness.DIFFERENT
        },
        learned_the_same=same_knowledge,
    )
    for version_change in versions_changed:
        screen.print(f"The environment has changed: {version_change}.")
    _show_result(screen, result)
    return code or (errors.BROKEN if _has_diverged(result) and result.deterministic else errors.OK), result


def _episode_name(entry: EpisodeEntry) -> str:
    return f"{entry.task.id} (repeat {entry.repeat})" if entry.repeat else entry.task.id


def _count_by_sameness(compared: Iterable[tuple[EpisodeEntry, Comparison]]) -> dict[str, int]:
    """Return the number of episodes for each kind of result."""
    counts = Counter(comparison.sameness for _, comparison in compared)
    return {kind.value: counts[kind] for kind in Sameness}


def _has_diverged(result: Rerun) -> bool:
    return bool(result.differences) or result.learned_the_same is False


def _show_changes(out: Console, folder: Path, changes: Sequence[str]) -> None:
    if not changes:
        out.print(f"No input of {folder} has changed since it began.")
        return
    out.print(f"Changed since {folder} began:")
    for change in changes:
        out.print(f"  {change}")


def _show_result(out: Console, result: Rerun) -> None:
    for name, comparison in result.differences.items():
        out.print(f"{name}: {comparison}")
    episodes = f"{counted(sum(result.by_sameness.values()), 'episode')} compared with those of {result.rerun_of}"
    out.print(f"{episodes}: {tally(result.by_sameness) or 'none'}.")
    if result.learned_the_same is not None:
        out.print(f"What was learned from them is {'the same' if result.learned_the_same else 'different'}.")
    if result.deterministic and _has_diverged(result):
        out.print("All replies were recorded, so every episode should have been the same.")


@click.command(cls=Command)
@click.argument("folder", metavar="RUN", type=RUN_FOLDER)
@options("jobs", "unsafe_no_sandbox")
@JSON
def replay(folder: Path, settings: Settings) -> CommandResult:
    """Play the episodes of RUN again with their recorded replies, and report where they diverge. Nothing is written."""
    begun = time.monotonic()
    out = console()
    compared: list[tuple[EpisodeEntry, Comparison]] = []

    def on_comparison(entry: EpisodeEntry, comparison: Comparison) -> None:
        compared.append((entry, comparison))
        if comparison.event:
            out.print(f"{_episode_name(entry)}: {comparison}")

    with closing(Run.open(folder)) as run:
        if run.imported or run.config.copies_episodes:
            raise BadArgument(f"{folder} holds episodes that were played elsewhere; replay the run they come from")
        config = check_config(run.config, folder)
        try:
            changes = _describe_changes(run, config, [entry.task for entry in run.entries()], run.prices)
        except BadSelection as error:  # a task is gone; the others can be replayed
            changes = [f"data: {error}"]
        _show_changes(out, folder, changes)
        finished = replay_run(run, on_comparison, settings.execution())
    seconds = round(time.monotonic() - begun, 3)
    counts = _count_by_sameness(compared)
    differences = {_episode_name(entry): comparison for entry, comparison in compared if comparison.event}
    verdicts_changed = sum(comparison.verdict_changed for comparison in differences.values())
    verdicts = f" The verdict changed in {verdicts_changed} of them." if verdicts_changed else ""
    out.print(f"{counted(len(compared), 'episode')} replayed in {seconds:.1f} s: {tally(counts) or 'none'}.{verdicts}")
    # `differed`: the changed inputs; `by_sameness`: the number of episodes for each kind of result; `differences`: maps
    # episodes to their first difference; `verdicts_changed`: number of episodes solved only in the run or the replay
    report = {
        "differed": changes,
        "episodes": len(compared),
        "by_sameness": counts,
        "differences": {name: comparison.model_dump() for name, comparison in differences.items()},
        "verdicts_changed": verdicts_changed,
        "seconds": seconds,
        "run": str(folder),
    }
    if not finished:
        return errors.INTERRUPTED, report
    return errors.BROKEN if differences else errors.OK, report
