"""Turn a selection into tasks: check its names, filter by split, seed and type, and take the types in turn."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from planbook.envs.errors import BadSelection, EnvironmentBroken, EnvsError, raised_at
from planbook.envs.types import Selection, Task
from planbook.sandbox import did_you_mean

if TYPE_CHECKING:
    from planbook.envs.base import Environment

T = TypeVar("T")
NO_SEEDS = ": its tasks are made from no seeds; leave out --seeds"


def select(environment: "type[Environment]", selection: Selection, options: BaseModel | None) -> list[Task]:
    """Return the tasks that fit the selection, whatever part of it ``Environment.tasks`` observed.

    Raises BadSelection for a split, a type or an id that does not exist, and where no task is left.
    """
    name = environment.name
    split = chosen_split(selection, environment.task_splits(options), name)
    if not selection.ids and (types := environment.task_types(options)):
        chosen_types(selection, types, name)
    listed = _listed(environment, selection, options)
    if selection.ids:
        return [find_task(listed, task_id, name) for task_id in selection.ids]
    found = fitting(environment, listed, selection, split)
    if len(found) < len(listed) and selection.limit is not None:  # tasks() may have counted some that do not fit
        every = _listed(environment, selection.model_copy(update={"limit": None}), options)
        found = fitting(environment, every, selection, split)
    if not found:
        left_out = environment.unjudgeable(selection, options).items()
        why = _why_none(listed, selection, split) + "".join(f"; {n} left out: {reason}" for reason, n in left_out)
        raise BadSelection(f"{name} has no task that fits the selection{why}")
    return found[: selection.limit]


def fitting(environment: "type[Environment]", tasks: Iterable[Task], selection: Selection, split: str) -> list[Task]:
    """Return the tasks of the chosen split, seeds and types."""
    splits, seeds = environment.parts.get(split, (split,)), environment.seeds_of(split, selection.seeds)
    return [
        task
        for task in tasks
        if (not split or task.split in splits)
        and (not seeds or task.seed in seeds)
        and (not selection.types or task.type in selection.types)
    ]


def chosen_types(selection: Selection, known: Sequence[str], environment: str) -> tuple[str, ...]:
    """Return the selected types in the environment's order, all if none is named. Raises BadSelection."""
    if unknown := sorted(set(selection.types) - set(known)):
        raise BadSelection(
            f"{environment} has no task type {', '.join(unknown)}{did_you_mean(unknown[0], known, 'it has')}"
        )
    return tuple(name for name in known if not selection.types or name in selection.types)


def chosen_split(selection: Selection, known: Sequence[str], environment: str) -> str:
    """Return the selected split, by default the environment's first. Raises BadSelection."""
    if selection.split is not None and selection.split not in known:
        raise BadSelection(
            f"{environment} has no split {selection.split!r}{did_you_mean(selection.split, known, 'it has')}"
        )
    return selection.split or (known[0] if known else "")


def read_seeded_id(task_id: str, types: Sequence[str], environment: str) -> tuple[str, int]:
    """Return type and seed of an id of the form TYPE/SEED. Raises BadSelection."""
    kind, _, seed = task_id.partition("/")
    if kind not in types or not (seed.isascii() and seed.isdecimal()):
        raise BadSelection(
            f"{environment} has no task {task_id!r}; ids have the form TYPE/SEED, for example {types[0]}/3"
        )
    return kind, int(seed)


def find_task(tasks: Iterable[Task], task_id: str, environment: str) -> Task:
    """Return the task with that id. Raises BadSelection."""
    found = next((task for task in tasks if task.id == task_id), None)
    if found is None:
        raise BadSelection(f"{environment} has no task {task_id!r}; the first is {next(iter(tasks)).id!r}")
    return found


def in_turn(groups: Iterable[Iterable[T]], limit: int | None = None) -> Iterator[T]:
    """Yield the first ``limit`` items, one of each group in turn, so that a small selection covers every type."""
    turns = zip_longest(*(([item] for item in group) for group in groups), fillvalue=())
    return islice((item for turn in turns for wrapped in turn for item in wrapped), limit)


def _listed(environment: "type[Environment]", selection: Selection, options: BaseModel | None) -> list[Task]:
    """Return what ``tasks`` lists.

    Raises EnvironmentBroken if it fails, lists anything that is no Task, or lists an id twice.
    """
    name = environment.name
    try:
        tasks = list(environment.tasks(selection, options))
    except EnvsError:
        raise
    except Exception as error:
        place, message = raised_at(error)[0], " ".join(str(error).split())
        raise EnvironmentBroken(f"{name}: tasks() raised {type(error).__name__} ({place}): {message}") from error
    seen: set[str] = set()
    for task in tasks:
        if not isinstance(task, Task):
            raise EnvironmentBroken(f"{name}: tasks() must list Task objects, and lists a {type(task).__name__}")
        if task.id in seen and not selection.ids:
            raise EnvironmentBroken(f"{name} lists the task id {task.id!r} twice; give every task an id of its own")
        seen.add(task.id)
    return tasks


def _why_none(listed: Sequence[Task], selection: Selection, split: str) -> str:
    """Return the end of a sentence that says what the listed tasks have instead of what was selected."""
    if split and listed and all(task.split != split for task in listed):
        return f": none is of the split {split}, but of {', '.join(sorted({task.split for task in listed}))}"
    if selection.seeds and listed:
        seeds = sorted({task.seed for task in listed})
        return f": none is of the seeds asked for; the first seed is {seeds[0]}" if any(seeds) else NO_SEEDS
    return ""
