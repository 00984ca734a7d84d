"""Record goals from which horizons are learned, on maps that no test uses.

Each row holds what was observed: the features before a goal, and the ticks until it was reached. Order and routes are
random. ``python -m planbook.envs.minecraft.recording`` writes the table that ships.
"""

import csv
import io
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from planbook.envs.minecraft import tasks
from planbook.envs.minecraft.environment import Minecraft, MinecraftOptions
from planbook.envs.minecraft.game_data import PICKAXES, RECIPES, SOURCES, VERSION, wearable
from planbook.envs.minecraft.planning import RECORDED
from planbook.envs.optional import Features
from planbook.envs.types import Action, Task

SEEDS = range(100_000, 100_150)
"""Seeds of maps on which nothing is measured."""
TICKS = 20_000
"""Ticks of an episode: enough that no distant goal is missing from the table."""
FREE_GOALS, MAX_EACH, MAKING = 12, 4, 0.5
"""Free play: goals per episode, maximum count of a goal, and probability of making an item if possible."""
FREE = "diamond"
"""The task in free play, which is hardly ever solved."""
HEADER = (
    f"# Goals reached in Minecraft in text ({VERSION}), seeds {SEEDS.start} to {SEEDS.stop - 1}: what was seen before, "
    "and the ticks until each was reached.\n# Made by: python -m planbook.envs.minecraft.recording\n"
)
Row = tuple[Features, int]


def recorded() -> str:
    """Return the table that ships, as CSV."""
    rows = [row for seed in SEEDS for row in _rows_of_seed(seed)]
    file = io.StringIO(HEADER)
    file.seek(0, io.SEEK_END)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*rows[0][0], "ticks"])
    writer.writerows([*map(_without_point, features.values()), ticks] for features, ticks in rows)
    return file.getvalue()


def _rows_of_seed(seed: int) -> Iterator[Row]:
    dice = random.Random(f"recording/{seed}")
    for kind in tasks.PARALLEL:
        yield from _parallel(tasks.parallel_task(kind, seed, TICKS), dice)
    yield from _free(tasks.single_task(FREE, seed), dice)


def _parallel(task: Task, dice: random.Random) -> Iterator[Row]:
    """Yield the rows of a task's goals, tried in random order, each by a random route."""
    environment = _start(task)
    goals = tasks.parallel_goals(task)
    for goal in dice.sample(goals, len(goals)):
        yield from _try_goal(environment, dice.choice(_possible(environment, environment.goals.routes(goal))))


def _free(task: Task, dice: random.Random) -> Iterator[Row]:
    """Yield the rows of free play: gathering and making at random."""
    environment = _start(task)
    for _ in range(FREE_GOALS):
        makings = _possible(environment, _makings(environment))
        pool = makings if makings and dice.random() < MAKING else _possible(environment, _gatherings(environment, dice))
        yield from _try_goal(environment, dice.choice(pool))


def _start(task: Task) -> Minecraft:
    environment = Minecraft(MinecraftOptions(ticks=TICKS))
    environment.reset(task)
    return environment


def _try_goal(environment: Minecraft, goal: Action) -> Iterator[Row]:
    """Try a goal, and yield its row if it is reached."""
    if environment.ended:
        return
    features, start = environment.goals.features(goal), environment.player.spot.tick
    if environment.act(goal).accepted:
        yield features, int(environment.player.spot.tick - start)


def _possible(environment: Minecraft, goals: Sequence[Action]) -> list[Action]:
    return [goal for goal in goals if not environment.goals.refusal(goal)]


def _makings(environment: Minecraft) -> list[Action]:
    """Return goals to make one of every possible item, and to equip held items."""
    recipes = [recipe for ways in RECIPES.values() for recipe in ways]
    held = set(environment.player.inventory)
    crafted = [
        Action(recipe.verb, ({recipe.output: 1}, dict(recipe.ingredients), recipe.station))
        for recipe in recipes
        if held.issuperset(recipe.ingredients)
    ]
    return crafted + [Action("equip", (item,)) for item in environment.player.inventory if wearable(item)]


def _gatherings(environment: Minecraft, dice: random.Random) -> list[Action]:
    """Return goals to gather from each source, with the best pickaxe held where one is needed."""
    held = [name for name in PICKAXES if name in environment.player.inventory]
    return [
        Action(source.verb, ({source.goal_name: dice.randint(1, MAX_EACH)}, held[-1] if source.tier and held else None))
        for source in SOURCES.values()
    ]


def _without_point(value: float | str) -> float | str:
    """Return whole numbers without a decimal point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def main() -> None:
    """Write the table into the package."""
    Path(RECORDED).write_text(recorded(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
