"""From a selection to tasks."""

from collections.abc import Iterator, Sequence
from itertools import islice

from planbook.envs.alfworld import games, generated, wheel
from planbook.envs.alfworld.named import NAMED
from planbook.envs.alfworld.task_types import TYPES, paper_goal, params_of
from planbook.envs.checksums import of_files
from planbook.envs.errors import BadSelection
from planbook.envs.selection import chosen_split, chosen_types, in_turn
from planbook.envs.types import Selection, Task


def select(selection: Selection, splits: Sequence[str]) -> list[Task]:
    """The chosen tasks, in turn from each type; unsolvable games are left out, as alfworld does."""
    if selection.ids:
        return [_by_id(task_id, [split for split in splits if split not in NAMED]) for task_id in selection.ids]
    split = chosen_split(selection, splits, "alfworld")
    types = chosen_types(selection, TYPES, "alfworld")
    if selection.seeds and split != generated.SPLIT:
        raise BadSelection(
            f"alfworld: seeds make generated games; the games of {split!r} have none (--split SPLIT:N limits)"
        )
    found = _generated(types, selection) if split == generated.SPLIT else _on_disk(split, types)
    return list(islice(found, selection.limit))


def checksums(tasks: Sequence[Task]) -> dict[str, str]:
    """What the games of these tasks are, and what those of them that are generated are made from."""
    on_disk = [task.id for task in tasks if task.split != generated.SPLIT]
    found = {"games": of_files(map(games.game_path, on_disk))} if on_disk else {}
    if len(on_disk) < len(tasks):
        found["what games are generated from"] = of_files(wheel.wheel_files())
    return found


def _on_disk(split: str, types: Sequence[str]) -> Iterator[Task]:
    listed = NAMED[split]() if split in NAMED else games.list_games(split)
    for game_id in in_turn(listed[kind] for kind in types):
        goal, solvable = games.peek(game_id)
        if solvable:
            yield _task(game_id, game_id.partition("/")[0], games.type_of(game_id), goal)


def _generated(types: Sequence[str], selection: Selection) -> Iterator[Task]:
    seeds = selection.seeds or range(selection.limit or generated.SEEDS)
    return (_made(kind, seed) for seed in seeds for kind in types)


def _by_id(task_id: str, splits: Sequence[str]) -> Task:
    split, _, rest = task_id.partition("/")
    if split not in splits or "/" not in rest:
        raise BadSelection(
            f"alfworld: {task_id!r} is no task id: one reads SPLIT/..., with SPLIT one of {', '.join(splits)}; "
            f"for example {generated.game_id(TYPES[0], 1)}"
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
