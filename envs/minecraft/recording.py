"""The goals that horizons are learnt from: reached one after the other in worlds kept apart from those of any test.

Nothing is calculated: each row is what was seen before a goal, and the ticks that had passed when it was reached. The
order and the routes are random. ``python -m planbook.envs.minecraft.recording`` writes the table that is shipped.
"""

import csv
import io
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from planbook.envs.method_support import Features
from planbook.envs.minecraft import tasks
from planbook.envs.minecraft.environment import Minecraft, MinecraftOptions
from planbook.envs.minecraft.game_data import PICKAXES, RECIPES, SOURCES, VERSION, wearable
from planbook.envs.minecraft.planning import RECORDED
from planbook.envs.types import Action, Task

SEEDS = range(100_000, 100_150)
"""No figure is measured in these worlds."""
TICKS = 20_000
"""Of an episode: enough for all of it, so that no far goal is missing from the table."""
FREE_GOALS, MOST, MAKING = 12, 4, 0.5
"""Of free play: goals of an episode, the most of a thing that are gathered, and how often a thing is made if it can."""
FREE = "diamond"
"""The task of free play, which ends it hardly ever."""
HEADER = (
    f"# Goals reached in Minecraft in text ({VERSION}), seeds {SEEDS.start} to {SEEDS.stop - 1}: what was seen before, "
    "and the ticks until each was reached.\n# Made by: python -m planbook.envs.minecraft.recording\n"
)
Row = tuple[Features, int]


def recorded() -> str:
    """The table as it is shipped, made anew."""
    rows = [row for seed in SEEDS for row in _of_seed(seed)]
    file = io.StringIO(HEADER)
    file.seek(0, io.SEEK_END)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*rows[0][0], "ticks"])
    writer.writerows([*map(_short, features.values()), ticks] for features, ticks in rows)
    return file.getvalue()


def _of_seed(seed: int) -> Iterator[Row]:
    dice = random.Random(f"recording/{seed}")
    for kind in tasks.PARALLEL:
        yield from _parallel(tasks.parallel_task(kind, seed, TICKS), dice)
    yield from _free(tasks.single_task(FREE, seed), dice)


def _parallel(task: Task, dice: random.Random) -> Iterator[Row]:
    """The goals of a task in random order, each by a random route."""
    world = _begun(task)
    goals = tasks.parallel_goals(task)
    for goal in dice.sample(goals, len(goals)):
        yield from _tried(world, dice.choice(_open(world, world.goals.routes(goal))))


def _free(task: Task, dice: random.Random) -> Iterator[Row]:
    """Whatever can be done, gathering and making by turns."""
    world = _begun(task)
    for _ in range(FREE_GOALS):
        makings = _open(world, _makings(world))
        pool = makings if makings and dice.random() < MAKING else _open(world, _gatherings(world, dice))
        yield from _tried(world, dice.choice(pool))


def _begun(task: Task) -> Minecraft:
    world = Minecraft(MinecraftOptions(ticks=TICKS))
    world.reset(task)
    return world


def _tried(world: Minecraft, goal: Action) -> Iterator[Row]:
    """The row of a goal if it is reached."""
    if world.ended:
        return
    features, begun = world.goals.features(goal), world.body.spot.tick
    if world.act(goal).accepted:
        yield features, int(world.body.spot.tick - begun)


def _open(world: Minecraft, goals: Sequence[Action]) -> list[Action]:
    return [goal for goal in goals if not world.goals.refusal(goal)]


def _makings(world: Minecraft) -> list[Action]:
    """A piece of everything that has a recipe, and putting on what is held."""
    recipes = [recipe for ways in RECIPES.values() for recipe in ways]
    held = set(world.body.inventory)
    made = [
        Action(recipe.verb, ({recipe.output: 1}, dict(recipe.ingredients), recipe.station))
        for recipe in recipes
        if held.issuperset(recipe.ingredients)
    ]
    return made + [Action("equip", (item,)) for item in world.body.inventory if wearable(item)]


def _gatherings(world: Minecraft, dice: random.Random) -> list[Action]:
    """Some of each source, with the best pickaxe held where it takes one."""
    held = [name for name in PICKAXES if name in world.body.inventory]
    return [
        Action(source.verb, ({source.asked: dice.randint(1, MOST)}, held[-1] if source.tier and held else None))
        for source in SOURCES.values()
    ]


def _short(value: float | str) -> float | str:
    """Whole numbers without a point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def main() -> None:
    """Write the table into the package."""
    Path(RECORDED).write_text(recorded(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
