"""List the tasks that match a selection.

This module checks that the selected splits, types and ids exist, filters the environment's tasks by split, seed and
type, and applies the limit.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from planbook.envs.errors import BadSelection, EnvironmentBroken, EnvsError, error_location
from planbook.envs.types import Selection, Task
from planbook.sandbox import did_you_mean

if TYPE_CHECKING:
    from planbook.envs.base import Environment

T = TypeVar("T")


def select(environment: "type[Environment]", selection: Selection, options: BaseModel | None) -> list[Task]:
    """Return the tasks that match the selection, even if ``Environment.tasks`` ignores parts of the selection.

    Raises BadSelection if a split, a type or an id does not exist, or if no task matches.
    """
    name = environment.name
    split = chosen_split(selection, environment.task_splits(options), name)
    without_limit = selection.model_copy(update={"limit": None})
    if selection.ids:
        return _select_ids(environment, list_tasks(environment, without_limit, options), selection)[: selection.limit]
    if types := environment.task_types(options):
        chosen_types(selection, types, name)
    tasks = list_tasks(environment, selection, options)
    if selection.seeds and not any(task.seed for task in tasks) and not environment.takes_seeds(split, options):
        without_seeds = without_limit.model_copy(update={"seeds": ()})
        if not any(task.seed for task in list_tasks(environment, without_seeds, options)):
            raise BadSelection(f"the tasks of {name} are not made from seeds; leave out --seeds")
    chosen = filter_tasks(environment, tasks, selection, split)
    if len(chosen) < len(tasks) and selection.limit is not None:  # tasks() may have applied the limit before the filter
        tasks = list_tasks(environment, without_limit, options)
        chosen = filter_tasks(environment, tasks, selection, split)
    if not chosen:
        reason = _explain_empty(environment, tasks, selection, split)
        unjudgeable = environment.unjudgeable(selection, options).items()
        left_out = "".join(f"; {count} left out: {cause}" for cause, count in unjudgeable)
        raise BadSelection(f"{name} has no task that fits the selection{reason}{left_out}")
    return chosen[: selection.limit]


def _select_ids(env: "type[Environment]", tasks: Sequence[Task], selection: Selection) -> list[Task]:
    """Return the tasks with the selected ids. Raises BadSelection if one is missing, or not in the selected split."""
    by_id = {task.id: task for task in reversed(tasks)}  # reversed, so that the first task with an id wins
    splits = env.combined_splits.get(selection.split or "", (selection.split,))
    for task_id in selection.ids:
        if task_id not in by_id:
            first = f"; the first is {tasks[0].id!r}" if tasks else ""
            raise BadSelection(f"{env.name} has no task {task_id!r}{first}")
        split = by_id[task_id].split
        if selection.split and split not in splits:
            raise BadSelection(f"{task_id} is in the split {split}, not in {selection.split}; leave out the split")
    return [by_id[task_id] for task_id in dict.fromkeys(selection.ids)]


def filter_tasks(env: "type[Environment]", tasks: Iterable[Task], selection: Selection, split: str) -> list[Task]:
    """Return the tasks in ``split`` that have one of the selected seeds and one of the selected types.

    If no seeds are selected, any seed matches. The same holds for types.
    """
    splits = env.combined_splits.get(split, (split,))
    return [
        task
        for task in tasks
        if (not split or task.split in splits)
        and (not selection.seeds or task.seed in selection.seeds)
        and (not selection.types or task.type in selection.types)
    ]


def chosen_types(selection: Selection, all_types: Sequence[str], environment: str) -> tuple[str, ...]:
    """Return the selected types in the order of ``all_types``, or all types if none is selected.

    Raises BadSelection if a selected type is not in ``all_types``.
    """
    if unknown := sorted(set(selection.types) - set(all_types)):
        raise BadSelection(
            f"{environment} has no task type {', '.join(unknown)}{did_you_mean(unknown[0], all_types, 'it has')}"
        )
    return tuple(name for name in all_types if not selection.types or name in selection.types)


def chosen_split(selection: Selection, all_splits: Sequence[str], environment: str) -> str:
    """Return the selected split, or the first of ``all_splits`` if none is selected.

    Raises BadSelection if the selected split is not in ``all_splits``.
    """
    if selection.split is not None and selection.split not in all_splits:
        raise BadSelection(
            f"{environment} has no split {selection.split!r}{did_you_mean(selection.split, all_splits, 'it has')}"
        )
    return selection.split or (all_splits[0] if all_splits else "")


def read_seeded_id(task_id: str, types: Sequence[str], environment: str) -> tuple[str, int]:
    """Return the type and the seed from an id of the form TYPE/SEED.

    Raises BadSelection if the id has another form, or if its type is not in ``types``.
    """
    kind, _, seed = task_id.partition("/")
    if kind not in types or not (seed.isascii() and seed.isdecimal()):
        raise BadSelection(
            f"{environment} has no task {task_id!r}; ids have the form TYPE/SEED, for example {types[0]}/3"
        )
    return kind, int(seed)


def interleave(groups: Iterable[Iterable[T]], limit: int | None = None) -> Iterator[T]:
    """Yield up to ``limit`` items: the first item of each group, then the second item of each group, and so on.

    For example, if each group contains the tasks of one type, the first few items already include every type.
    """
    rows = zip_longest(*(([item] for item in group) for group in groups), fillvalue=())  # () pads short groups
    return islice((item for row in rows for cell in row for item in cell), limit)


def list_tasks(
    environment: "type[Environment]", selection: Selection, options: BaseModel | None, *, unique: bool = True
) -> list[Task]:
    """Return the result of ``Environment.tasks``.

    Raises EnvironmentBroken if the method raises an error other than EnvsError, lists an object that is not a Task or,
    with ``unique`` and no selected ids, lists an id twice.
    """
    name = environment.name
    try:
        tasks = list(environment.tasks(selection, options))
    except EnvsError:
        raise
    except Exception as error:
        place, message = error_location(error)[0], " ".join(str(error).split())
        where = f" ({place})" if place else ""
        raise EnvironmentBroken(f"{name}: tasks() raised {type(error).__name__}{where}: {message}") from error
    ids: set[str] = set()
    for task in tasks:
        if not isinstance(task, Task):
            raise EnvironmentBroken(f"{name}: tasks() must list Task objects, not {type(task).__name__}")
        if unique and task.id in ids and not selection.ids:
            raise EnvironmentBroken(f"{name} lists the task id {task.id!r} twice; give every task a different id")
        ids.add(task.id)
    return tasks


def _explain_empty(env: "type[Environment]", tasks: Sequence[Task], selection: Selection, split: str) -> str:
    """Return the end of a message that says why no task matches the selection, or "" if the reason is unknown."""
    listed_splits = {task.split for task in tasks}
    if split and tasks and listed_splits.isdisjoint(env.combined_splits.get(split, (split,))):
        splits = ", ".join(sorted(listed_splits))
        return f": none of the tasks that it lists is in the split {split}; they are in {splits}"
    if selection.seeds and tasks:
        return f": no task has one of the selected seeds; the lowest seed is {min(task.seed for task in tasks)}"
    return ""
