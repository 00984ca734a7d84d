"""Check for changed or missing inputs before a run is resumed, repeated or forked."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, JsonValue, ValidationError

from planbook.config import Config, models_by_role
from planbook.console import ERRORS
from planbook.envs import Selection, Task, validation_faults
from planbook.errors import BadArgument, BadRun
from planbook.inputs import current_inputs
from planbook.knowledge import RETRIEVAL, learned_event, learning_path
from planbook.learning.tasks import tasks_of
from planbook.planner import Body, Budget, EventKind, Step, format_call, method
from planbook.runs import (
    Entry,
    Fork,
    InputChange,
    Run,
    RunInputs,
    change_path_in_model,
    changed_versions,
    changes,
    decisive_changes,
    last_path,
    recorded_endings,
    versions,
)
from planbook.wording import counted, listed
from planbook.workers import Execution

if TYPE_CHECKING:
    from planbook.planner import GivenCode

MADE_OF = "made_of"
"""Key of the current inputs in the event that begins an invocation, if they have changed or changed back."""
PUT_BACK = "restore the version that it was played with"


def notice_changes(run: Run, execution: Execution, *, plays_again: bool = False) -> Body:
    """Print what has changed since the run began, and return what the invocation records about it.

    Raises BadRun if new episodes would be added to old ones that were played with other data, prompts or knowledge, or
    with another release of planbook. ``Execution.allow_changed`` accepts other inputs, now and in later
    invocations, but never another release. ``plays_again`` is True if ended episodes will be played again.
    """
    if run.is_new:
        return {}
    _refuse_other_release(run, plays_again)
    current = current_inputs(run.config, [entry.task for entry in run.entries()], execution.prices or run.prices)
    other_inputs, other_versions = changes(run.made_of, current), changed_versions(run.versions, versions())
    if other_versions:
        ERRORS.print(f"This run began with other versions: {_join(other_versions)}.", style="yellow", markup=False)
    if other_inputs:
        message = f"This run began with other inputs: {_join(other_inputs)}."
        ERRORS.print(message, style="yellow", markup=False, soft_wrap=True)
    if (
        (refused := decisive_changes(changes(_latest_inputs(run), current)))
        and not execution.allow_changed
        and _would_mix(run, plays_again)
    ):
        raise BadRun(
            f"{run.folder} was played with inputs that have changed since ({_join(refused)}), so its next episodes "
            "would not be comparable. Restore the inputs; or repeat the run and compare the results: "
            f"`planbook rerun {run.folder}`; or continue anyway: `planbook run --resume {run.folder} --allow-changed`"
        )
    recorded: list[JsonValue] = [str(change) for change in (*other_versions, *other_inputs)]
    must_record = recorded or changes(_latest_inputs(run), current)  # an empty list: the original inputs are back
    return {"changed": recorded, MADE_OF: current.model_dump(mode="json")} if must_record else {}


def _refuse_other_release(run: Run, plays_again: bool) -> None:
    """Raise BadRun for an unfinished run of another release of planbook, whose sandbox runs plans differently."""
    then, now = run.versions.get("planbook", ""), versions()["planbook"]
    if _release(then) != _release(now) and _would_mix(run, plays_again):
        raise BadRun(
            f"{run.folder} was begun by planbook {then or 'of an unknown version'}, whose sandbox runs plans "
            f"differently from that of planbook {now}. Play it again: `planbook rerun {run.folder}`; or resume it with "
            f"planbook {then}"
        )


def _release(version: str) -> list[str]:
    return version.split(".")[:2]


def _join(found: list[InputChange]) -> str:
    return "; ".join(map(str, found))


def _would_mix(run: Run, plays_again: bool) -> bool:
    """Return whether new episodes would be added to old ones: some have begun, and others are open or played again."""
    kinds: tuple[EventKind, ...] = ("task", "learnt")
    begun = any(event.scope.startswith(("task/", "learn/")) for event in run.store.events(kind=kinds))
    return begun and (plays_again or _is_unfinished(run))


def _is_unfinished(run: Run) -> bool:
    if run.config.learning is None:
        return len(recorded_endings(run)) < len(run.entries())
    return any(learned_event(run, learning_path(entry)) is None for entry in run.entries())


def _latest_inputs(run: Run) -> RunInputs | None:
    """Return the inputs that were recorded last: when a resume found changes, or else when the run began."""
    rows: Any = run.store.events("run", "sitting")
    recorded = [row.body[MADE_OF] for row in rows if MADE_OF in row.body]
    return RunInputs.model_validate(recorded[-1]) if recorded else run.made_of


# Repeating


class Repeat(NamedTuple):
    """A run to be played again: its configuration, its tasks as they are now, its budget, and its changed inputs.

    While the original run is still being played (``original_is_played``), its open episodes may still end. ``forked``
    is set if only one episode is played again, from one of its actions on. ``prices`` is the price table to use.
    """

    config: Config
    tasks: Sequence[Task]
    budget: Budget
    changed_inputs: tuple[str, ...]
    original_is_played: bool
    prices: Path | None
    forked: Fork | None = None


def prepare_repeat(folder: Path, models: Mapping[str, str], *, recorded: bool, prices: Path | None) -> Repeat:
    """Prepare to play a run again. Raises BadRun if something that it needs is missing.

    ``models`` maps roles to models that replace the run's own. If ``recorded``, the replies that the run
    recorded answer for all other roles.
    """
    with closing(Run.open(folder)) as run:
        if run.imported:
            raise BadRun(f"{run.folder} was imported, and not played here; repeat the run that it was exported from")
        config = check_config(run.config, folder)
        old_tasks = [entry.task for entry in run.entries() if entry.repeat == 0]
        tasks = _current_tasks(config, old_tasks, folder)
        own_models = dict.fromkeys(config.models, f"recorded:{folder.resolve()}") if recorded else config.models
        new_models = {role: change_path_in_model(model, Path.resolve) for role, model in models.items()}
        config = config.model_copy(update={"models": models_by_role({**own_models, **new_models})})
        prices = prices or run.prices
        current = current_inputs(config, tasks, prices)
        found = [*changed_versions(run.versions, versions()), *changes(run.made_of, current)]
        lines = [str(change) for change in found if change.part != "models" or config.models == run.config.models]
        lines += [f"task: {old.id} has changed" for old, new in zip(old_tasks, tasks, strict=True) if old != new]
        if config.models != run.config.models:
            lines.append(f"models: {_format_models(run.config.models)}, now {_format_models(config.models)}")
        return Repeat(config, tasks, run.file.budget, tuple(lines), run.is_played, prices, run.forked)


# Forking: one episode is repeated up to one of its actions


def prepare_fork(
    folder: Path, entry: Entry, at: int, repeat: Repeat, plan: "GivenCode | None", without: Sequence[str]
) -> Repeat:
    """Prepare to continue an episode from an action with another plan, other models or less knowledge.

    An episode of a run of `planbook build` gets the knowledge that the run had when the episode began. Raises
    BadArgument if the episode has fewer than ``at`` actions, or if a plan is given but action ``at`` ended the episode.
    """
    from planbook.compare.reruns import kept_steps
    from planbook.planner import read_trajectory

    with closing(Run.open(folder)) as run:
        episode = read_trajectory(path := last_path(run, entry), run.store.events(path), entry.task)
        models, builds = run.config.models, run.config.learning is not None
    actions = sum(len(played.steps) for played in episode.rounds)
    if at > actions:
        raise BadArgument(f"--at {at}: {entry.task.id} has {counted(actions, 'action')}; choose from 0 to {actions}")
    config, change = repeat.config, [f"--without {name}" for name in without]
    new: dict[str, Any] = {"learning": None, "repeats": 1, "without": tuple(sorted({*config.without, *without}))}
    new["selection"] = Selection(split=entry.task.split or None, ids=(entry.task.id,))
    if builds and without:  # while building, all rules are shown, whatever the task
        new |= {"library": str(folder.resolve()), "after": entry.index, "without": (*new["without"], RETRIEVAL)}
    if plan is not None:
        kept = kept_steps(episode, at)
        if kept and (kept[-1].observation.terminated or kept[-1].observation.truncated):
            raise BadArgument(
                f"--at {at}: action {at} ended the episode, so the plan would never run; give a smaller number"
            )
        prefix = "\n".join(map(_code_to_repeat, kept))
        code = plan.model_copy(update={"before": prefix})
        new |= {"planner": "code", "planner_options": code.model_dump(mode="json")}
        change.append(f"--plan {plan.source}")
    if config.models != models:
        change.append(f"--model {_format_models(config.models)}")
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


def _code_to_repeat(step: Step) -> str:
    """Return plan code that repeats a recorded action. If the action failed, the code ignores its error."""
    call = format_call(step.action)
    return f"try:\n    {call}\nexcept RuntimeError:\n    pass" if step.observation.failed else call


def copy_recall(run: Run, fork: Fork) -> None:
    """Copy to a fork the knowledge that the original episode recalled, unless the fork leaves out a part of it."""
    if fork.without:
        return
    with closing(Run.open(Path(fork.run))) as original:
        entry = original.entries()[fork.episode]
        rows = list(original.store.events(last_path(original, entry), "recall"))
    for row in rows[:1]:
        run.store.put("task/0", "recall", 0, row.body)


def is_deterministic(config: Config) -> bool:
    """Return whether playing again gives the same episodes: all model replies, if there are any, are recorded."""
    return all(spec.startswith("recorded:") and "+" not in spec for spec in config.models.values())


def check_config(config: Config, folder: Path) -> Config:
    """Return the configuration if everything that it names still exists.

    Raises BadRun, UnknownEnvironment or UnknownStrategy if something does not.
    """
    for name in (config.env, config.planner):
        path = Path(name.removeprefix("module:").partition(":")[0])
        if path.suffix == ".py" and not path.is_file():
            raise BadRun(
                f"{folder} was played with {path}, which is missing, and there is no unchanged copy beside the run; "
                "put it back"
            )
    environment = config.environment
    _check_options(environment.Options, config.env_options, environment.name, folder)
    _check_options(method(config.planner).options, config.planner_options, config.title, folder)
    if not config.library_folder.is_dir():
        raise BadRun(f"{folder} was played with the library {config.library}, which no longer exists; put it back")
    return config


def _check_options(model: type[BaseModel], options: Mapping[str, Any], owner: str, folder: Path) -> None:
    try:
        model.model_validate(options)
    except ValidationError as error:
        faults = "; ".join(validation_faults(error))
        raise BadRun(f"{folder}: {owner} no longer takes these options ({faults}); {PUT_BACK}") from error


def _current_tasks(config: Config, old_tasks: Sequence[Task], folder: Path) -> list[Task]:
    """Return the tasks of the run as their environment defines them now, in order. Raises BadRun for a missing task.

    If the run's episodes were copied, returns the tasks of the sources. Raises BadArgument or BadRun if these have
    changed.
    """
    if config.copies:
        return list(tasks_of(config))
    current = {task.id: task for task in tasks_of(config)}
    if missing := [task.id for task in old_tasks if task.id not in current]:
        raise BadRun(
            f"{folder} cannot be repeated: {config.environment.name} no longer has the task {listed(missing, 1)} in "
            "this selection; put back the data that it was played on"
        )
    return [current[task.id] for task in old_tasks]


def _format_models(models: Mapping[str, str]) -> str:
    return ", ".join(f"{role}={spec}" for role, spec in models.items()) or "none"
