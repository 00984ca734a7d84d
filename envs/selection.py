"""Check a selection's names against an environment, and take its task types in turn."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import TypeVar

from planbook.envs.errors import BadSelection
from planbook.envs.text_matching import instead
from planbook.envs.types import Selection, Task

T = TypeVar("T")
NO_SEEDS = ": its tasks are made from no seeds; leave out --seeds"


def chosen_types(selection: Selection, known: Sequence[str], world: str) -> tuple[str, ...]:
    """The selected types in the world's order; all of them if none is named. Raises BadSelection."""
    if unknown := sorted(set(selection.types) - set(known)):
        raise BadSelection(f"{world} has no task type {', '.join(unknown)}{instead(unknown[0], known, 'it has')}")
    return tuple(name for name in known if not selection.types or name in selection.types)


def chosen_split(selection: Selection, known: Sequence[str], world: str) -> str:
    """The selected split, or the world's first. Raises BadSelection."""
    if selection.split is not None and selection.split not in known:
        raise BadSelection(f"{world} has no split {selection.split!r}{instead(selection.split, known, 'it has')}")
    return selection.split or (known[0] if known else "")


def find_task(tasks: Iterable[Task], task_id: str, world: str) -> Task:
    """The task of that id. Raises BadSelection."""
    found = next((task for task in tasks if task.id == task_id), None)
    if found is None:
        raise BadSelection(f"{world} has no task {task_id!r}; the first it has is {next(iter(tasks)).id!r}")
    return found


def why_none(listed: Sequence[Task], selection: Selection, split: str) -> str:
    """Return the end of a sentence: what the tasks that were listed have instead of what was chosen."""
    if split and listed and all(task.split != split for task in listed):
        return f": none is of the split {split}, but of {', '.join(sorted({task.split for task in listed}))}"
    if selection.seeds and listed:
        seeds = sorted({task.seed for task in listed})
        return f": none is of the seeds asked for; the first seed is {seeds[0]}" if any(seeds) else NO_SEEDS
    return ""


def in_turn(groups: Iterable[Iterable[T]], limit: int | None = None) -> Iterator[T]:
    """The first ``limit`` items, one of each group in turn, so that a small selection still covers every type."""
    turns = zip_longest(*(([item] for item in group) for group in groups), fillvalue=())
    return islice((item for turn in turns for wrapped in turn for item in wrapped), limit)
