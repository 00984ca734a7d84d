"""Before a run is resumed or repeated: what has changed since it was begun, and whether all it needs is there."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from planbook.config import Config
from planbook.console import ERRORS
from planbook.envs import Selection, Task
from planbook.errors import BadArgument, BadRun
from planbook.inputs import inputs
from planbook.knowledge import RETRIEVAL, learned_at
from planbook.learning import learning_path, tasks_of
from planbook.planner import Body, Budget, EventKind, GivenCode, Step, Trajectory, call_of, method, read_trajectory
from planbook.runs import (
    Entry,
    Fork,
    InputChange,
    MadeOf,
    Run,
    changed_versions,
    changes,
    decisive_changes,
    last_path,
    recorded_endings,
    versions,
)
from planbook.wording import counted, listed
from planbook.workers import Hosting

MADE_OF = "made_of"
"""The inputs of an invocation that resumed with other inputs, in its event."""
PUT_BACK = "put back what it was played with"


def notice_changes(run: Run, hosting: Hosting, *, again: bool = False) -> Body:
    """Tell what has changed since the run was begun, and return what the invocation is to record of it.

    Raises BadRun where data, prompts or knowledge have changed and something is left to play (or is to be played
    ``again``), unless that is allowed (``Hosting.allow_changed``), which then holds for later invocations too.
    """
    if run.is_new:
        return {}
    _refuse_other_release(run, again)
    now = inputs(run.config, [entry.task for entry in run.entries()], hosting.prices)
    others, newer = changes(run.made_of, now), changed_versions(run.versions, versions())
    if newer:
        ERRORS.print(f"This run began with other versions: {_in_words(newer)}.", style="yellow", markup=False)
    if others:
        ERRORS.print(f"Since this run was begun: {_in_words(others)}.", style="yellow", markup=False, soft_wrap=True)
    if (refused := decisive_changes(changes(_last(run), now))) and not hosting.allow_changed and _mixes(run, again):
        raise BadRun(
            f"{run.folder} was played with inputs that have changed since ({_in_words(refused)}), and what is played "
            "next would be mixed with it. Put back what it was; or repeat the run and see what comes out otherwise: "
            f"`planbook rerun {run.folder}`; or go on anyway: `planbook run --resume {run.folder} --allow-changed`"
        )
    found = [str(change) for change in (*newer, *others)]
    return {"changed": list(found), MADE_OF: now.model_dump(mode="json")} if found else {}


def _refuse_other_release(run: Run, again: bool) -> None:
    """Raise BadRun for an unfinished run of another release: plans do not run as they did."""
    then, now = run.versions.get("planbook", ""), versions()["planbook"]
    if _release(then) != _release(now) and _mixes(run, again):
        raise BadRun(
            f"{run.folder} was begun by planbook {then or 'of an unknown version'}, whose sandbox ran plans otherwise "
            f"than that of planbook {now}. Play it anew: `planbook rerun {run.folder}`; or go on with planbook {then}"
        )


def _release(version: str) -> list[str]:
    return version.split(".")[:2]


def _in_words(found: list[InputChange]) -> str:
    return "; ".join(map(str, found))


def _mixes(run: Run, again: bool) -> bool:
    """Tell whether something was played and something is left."""
    kinds: tuple[EventKind, ...] = ("task", "learnt")
    begun = any(event.scope.startswith(("task/", "learn/")) for event in run.store.events(kind=kinds))
    return begun and (again or _left(run))


def _left(run: Run) -> bool:
    if run.config.learning is None:
        return len(recorded_endings(run)) < len(run.entries())
    return any(learned_at(run, learning_path(entry)) is None for entry in run.entries())


def _last(run: Run) -> MadeOf | None:
    """Return the inputs of the run when it was last resumed, else when it was begun."""
    rows: Any = run.store.events("run", "sitting")
    told = [row.body[MADE_OF] for row in rows if MADE_OF in row.body]
    return MadeOf.model_validate(told[-1]) if told else run.made_of


# Repeating.


class Repeat(NamedTuple):
    """What is to be played once more: configuration, tasks as they are now, budget, and the differences so far.

    ``goes_on`` says that the run itself is still being played, so that episodes without an ending may get one.
    ``forked`` is set where one episode alone is played, from one of its actions on: of the run, or as the run did.
    """

    config: Config
    tasks: Sequence[Task]
    budget: Budget
    differs: tuple[str, ...]
    goes_on: bool
    forked: Fork | None = None


def prepared(folder: Path, models: Mapping[str, str], *, recorded: bool, prices: Path | None) -> Repeat:
    """Return what repeating the run takes; ``models`` replace its own, by role, and its recording all the others.

    Raises BadRun where something is missing by now, and what reading it raises.
    """
    with closing(Run.open(folder)) as run:
        _check_played(run)
        config = check_config(run.config, folder)
        was = [entry.task for entry in run.entries() if entry.repeat == 0]
        tasks = _tasks_now(config, was, folder)
        own = dict.fromkeys(config.models, f"recorded:{folder.resolve()}") if recorded else config.models
        config = config.model_copy(update={"models": {**own, **models}})
        now = inputs(config, tasks, prices)
        found = [*changed_versions(run.versions, versions()), *changes(run.made_of, now)]
        told = [str(change) for change in found if change.part != "models" or config.models == run.config.models]
        told += [f"task: {one.id} reads otherwise" for one, other in zip(was, tasks, strict=True) if one != other]
        if config.models != run.config.models:
            told.append(f"models: {_models(run.config.models)}, now {_models(config.models)}")
        return Repeat(config, tasks, run.budget, tuple(told), run.is_played, run.forked)


# Forking: one episode is repeated up to one of its actions.


def prepared_fork(
    folder: Path, entry: Entry, at: int, repeat: Repeat, plan: GivenCode | None, without: Sequence[str]
) -> Repeat:
    """Return what it takes to play an episode of a repeated run on from an action, with another plan or knowledge.

    An episode of a building run gets what was known before it. Raises BadArgument if it has fewer actions.
    """
    with closing(Run.open(folder)) as run:
        episode = read_trajectory(path := last_path(run, entry), run.store.events(path))
        models, builds = run.config.models, run.config.learning is not None
    actions = sum(len(each.steps) for each in episode.rounds)
    if not 0 <= at <= actions:
        raise BadArgument(f"--at {at}: {entry.task.id} has {counted(actions, 'action')}; give a number from 0 to that")
    config, change = repeat.config, [f"--without {name}" for name in without]
    new: dict[str, Any] = {"learning": None, "repeats": 1, "without": tuple(sorted({*config.without, *without}))}
    new["selection"] = Selection(split=entry.task.split or None, ids=(entry.task.id,))
    if builds and without:  # where all rules were shown, whatever the task
        new |= {"library": str(folder.resolve()), "after": entry.index, "without": (*new["without"], RETRIEVAL)}
    if plan is not None:
        before = "\n".join(call_of(step.action) for step in _standing_steps(episode, at) if step.observation.accepted)
        given = plan.model_copy(update={"before": before})
        new |= {"planner": "code", "planner_options": given.model_dump(mode="json")}
        change.append(f"--plan {plan.source}")
    if config.models != models:
        change.append(f"--model {_models(config.models)}")
    fork = Fork(
        run=str(folder.resolve()),
        episode=entry.index,
        at=at,
        repeat=entry.repeat,
        without=tuple(without),
        change=" ".join(change),
    )
    tasks = [task for task in repeat.tasks if task.id == entry.task.id]
    return repeat._replace(config=config.model_copy(update=new), tasks=tasks, forked=fork)


def _standing_steps(episode: Trajectory, at: int) -> list[Step]:
    """Return the steps of the present round that had not been undone when an episode had taken so many actions."""
    for played in episode.rounds:
        if at <= len(played.steps):
            break
        at -= len(played.steps)
    steps = list(played.steps[:at])
    undone: set[int] = set()
    for rewind in played.rewinds:
        there = sum((step.order or 0) < rewind.order for step in steps)
        if at and rewind.order < (steps[-1].order or 0):
            undone |= set(range(rewind.kept, there))
    return [step for number, step in enumerate(steps) if number not in undone]


def keep_recall(run: Run, fork: Fork) -> None:
    """Give a forked episode the very knowledge that it had, unless it is to have less."""
    if fork.without:
        return
    with closing(Run.open(Path(fork.run))) as there:
        entry = there.entries()[fork.episode]
        rows = list(there.store.events(last_path(there, entry), "recall"))
    for row in rows[:1]:
        run.store.put("task/0", "recall", 0, row.body)


def _check_played(run: Run) -> None:
    """Raise BadRun for a run that was imported: there is nothing to play once more."""
    if run.imported:
        raise BadRun(f"{run.folder} was imported, and not played here; repeat the run that it was exported from")


def is_deterministic(config: Config) -> bool:
    """Tell whether the same has to come out: no model is asked, or none that could answer otherwise."""
    return all(spec.startswith("recorded:") and "+" not in spec for spec in config.models.values())


def check_config(config: Config, folder: Path) -> Config:
    """Return the configuration if all that it names is still there. Raises BadRun, UnknownWorld, UnknownStrategy."""
    environment, options = config.environment, method(config.planner).options
    try:
        environment.Options.model_validate(config.env_options)
    except ValidationError as error:
        told = f"{folder}: {environment.name} no longer takes these options ({_option_faults(error)}); {PUT_BACK}"
        raise BadRun(told) from error
    try:
        options.model_validate(config.planner_options)
    except ValidationError as error:
        told = f"{folder}: {config.title} no longer takes these options ({_option_faults(error)}); {PUT_BACK}"
        raise BadRun(told) from error
    if not config.library_folder.is_dir():
        raise BadRun(f"{folder} was played with the library {config.library}, which is not there any more; put it back")
    return config


def _tasks_now(config: Config, was: Sequence[Task], folder: Path) -> list[Task]:
    """Return the tasks of the run as their environment has them now, in order. Raises BadRun for one that is gone.

    A run that copies its episodes has the tasks of its sources, which must be what they were (BadArgument, BadRun).
    """
    if config.copies:
        return list(tasks_of(config))
    now = {task.id: task for task in tasks_of(config)}
    if gone := [task.id for task in was if task.id not in now]:
        raise BadRun(
            f"{folder} cannot be repeated: {config.environment.name} no longer has the task {listed(gone, 1)} in this "
            "selection; put back the data that it was played on"
        )
    return [now[task.id] for task in was]


def _option_faults(error: ValidationError) -> str:
    each: list[Any] = list(error.errors())
    return "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in each)


def _models(models: Mapping[str, str]) -> str:
    return ", ".join(f"{role}={spec}" for role, spec in models.items()) or "none"
