"""From a selection to tasks."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest

from envs.alfworld import games, generated
from envs.alfworld.goals import TYPES, paper_goal, params_of
from envs.base import Selection, Task
from envs.errors import BadSelection


def select(selection: Selection, splits: Sequence[str]) -> list[Task]:
    """The chosen tasks, in turn from each type; unsolvable games are left out, as alfworld does."""
    if selection.ids:
        return [_by_id(task_id, splits) for task_id in selection.ids]
    split = selection.split or splits[0]
    if split not in splits:
        raise BadSelection(f"alfworld has no split {split!r}; it has {', '.join(splits)}")
    if unknown := [kind for kind in selection.types if kind not in TYPES]:
        raise BadSelection(f"alfworld has no task type {', '.join(map(repr, unknown))}; it has {', '.join(TYPES)}")
    types = selection.types or TYPES
    found = _generated(types, selection) if split == generated.SPLIT else _on_disk(split, types)
    return list(islice(found, selection.limit))


def _on_disk(split: str, types: Sequence[str]) -> Iterator[Task]:
    listed = games.list_games(split)
    for game_id in _in_turn([listed[kind] for kind in types]):
        goal, solvable = games.peek(game_id)
        if solvable:
            yield _task(game_id, split, games.type_of(game_id), goal)


def _generated(types: Sequence[str], selection: Selection) -> Iterator[Task]:
    seeds = selection.seeds or range(selection.limit or generated.SEEDS)
    return (_made(kind, seed) for seed in seeds for kind in types)


def _in_turn(lists: Iterable[Sequence[str]]) -> Iterator[str]:
    for turn in zip_longest(*lists):
        yield from (item for item in turn if item is not None)


def _by_id(task_id: str, splits: Sequence[str]) -> Task:
    split, _, rest = task_id.partition("/")
    if split not in splits or "/" not in rest:
        raise BadSelection(
            f"alfworld: {task_id!r} is no task id: one reads SPLIT/..., with SPLIT one of {', '.join(splits)}"
        )
    if split != generated.SPLIT:
        return _task(task_id, split, games.type_of(task_id), games.peek(task_id)[0])
    kind, _, seed = rest.partition("/")
    if kind not in TYPES or not seed.isdecimal():
        raise BadSelection(
            f"alfworld: {task_id!r} is no generated task: one reads generated/TYPE/SEED, TYPE one of {', '.join(TYPES)}"
        )
    return _made(kind, int(seed))


def _made(kind: str, seed: int) -> Task:
    return _task(generated.game_id(kind, seed), generated.SPLIT, kind, generated.goal_of(kind, seed), seed)


def _task(task_id: str, split: str, kind: str, goal: str, seed: int = 0) -> Task:
    return Task(
        id=task_id,
        env="alfworld",
        split=split,
        type=kind,
        goal=paper_goal(goal),
        params=params_of(paper_goal(goal)),
        seed=seed,
    )
