"""Record goals in Minecraft and the time that they take, on maps that are used for nothing else.

The horizon of a goal is the time that it takes to reach the goal. Selectors learn horizons from the table that this
module writes. Each row contains the features that were observed before a goal was tried, and the number of ticks until
the goal was reached. Goals are tried in random order, each by a random route (one of the ways to get the same item).

``python -m tools.record_goals`` writes the table that ships with planbook.
"""

import csv
import io
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from planbook.envs.minecraft import tasks
from planbook.envs.minecraft.environment import Minecraft, MinecraftOptions
from planbook.envs.minecraft.game_data import DATA, RECIPES, SOURCES, VERSION, can_be_equipped
from planbook.envs.minecraft.goals import HORIZONS_FILE, making_goal
from planbook.envs.minecraft.player import GoalRefused, NoneLeft, effects_of
from planbook.envs.optional_members import Features
from planbook.envs.types import Action, Task

SEEDS = range(100_000, 100_150)
"""The seeds of the maps."""
TICKS = 20_000
"""Length of an episode in ticks, long enough to reach distant goals."""
FREE_GOALS, MAX_COUNT, P_MAKING = 12, 4, 0.5
"""For free play: the number of goals in an episode, the maximum count of a goal, and the probability of making an item
(if one can be made) instead of gathering something.
"""
FREE_ITEM = "diamond"
"""The item to obtain in free play. It is almost never obtained, so episodes do not end early."""
HEADER = (
    f"# Goals reached in Minecraft in text ({VERSION}), seeds {SEEDS.start} to {SEEDS.stop - 1}: what was seen before, "
    "and the ticks until each was reached.\n# Made by: python -m tools.record_goals\n"
)
Row = tuple[Features, int]
"""The features before a goal was tried, and the ticks until it was reached."""


def render_table() -> str:
    """Return the table as CSV."""
    rows = [row for seed in SEEDS for row in _rows_of_seed(seed)]
    file = io.StringIO(HEADER)
    file.seek(0, io.SEEK_END)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*rows[0][0], "ticks"])
    writer.writerows([*map(_without_point, features.values()), ticks] for features, ticks in rows)
    return file.getvalue()


def _rows_of_seed(seed: int) -> Iterator[Row]:
    rng = random.Random(f"recording/{seed}")
    for kind in tasks.PARALLEL:
        yield from _parallel_rows(tasks.parallel_task(kind, seed), rng)
    yield from _free_rows(tasks.single_task(FREE_ITEM, seed), rng)


def _parallel_rows(task: Task, rng: random.Random) -> Iterator[Row]:
    """Try the goals of a task in random order, each by a random route. Yield a row for each goal that is reached."""
    environment = _new_episode(task)
    goals = tasks.parallel_goals(task)
    for goal in rng.sample(goals, len(goals)):
        yield from _try_goal(environment, rng.choice(_possible(environment, environment.goals.routes(goal))))


def _free_rows(task: Task, rng: random.Random) -> Iterator[Row]:
    """Gather and make items at random. Yield a row for each goal that is reached."""
    environment = _new_episode(task)
    for _ in range(FREE_GOALS):
        goals = _possible(environment, _making_goals(environment))
        if not goals or rng.random() >= P_MAKING:
            goals = _possible(environment, _gathering_goals(environment, rng))
        yield from _try_goal(environment, rng.choice(goals))


def _new_episode(task: Task) -> Minecraft:
    environment = Minecraft(MinecraftOptions(ticks=TICKS))
    environment.reset(task)
    return environment


def _try_goal(environment: Minecraft, goal: Action) -> Iterator[Row]:
    """Try a goal, and yield its row if the goal is reached."""
    if environment.ended:
        return
    features, start = environment.goals.features(goal), environment.player.spot.tick
    if environment.act(goal).accepted:
        yield features, int(environment.player.spot.tick - start)


def _possible(environment: Minecraft, goals: Sequence[Action]) -> list[Action]:
    return [goal for goal in goals if is_possible(environment, goal)]


def is_possible(environment: Minecraft, goal: Action) -> bool:
    """Return whether the environment would accept a goal now.

    The goal counts as possible even if the map does not contain enough of the item, which no agent knows in advance.
    """
    try:
        effects_of(environment.terrain, environment.player, goal)
    except NoneLeft:
        return True
    except GoalRefused:
        return False
    return True


def _making_goals(environment: Minecraft) -> list[Action]:
    """Return the goals to make one piece with each recipe whose ingredients are held, and to equip each held item."""
    recipes = [recipe for alternatives in RECIPES.values() for recipe in alternatives]
    held = set(environment.player.inventory)
    crafted = [making_goal(recipe, 1) for recipe in recipes if held.issuperset(recipe.ingredients)]
    return crafted + [Action("equip", (item,)) for item in environment.player.inventory if can_be_equipped(item)]


def _gathering_goals(environment: Minecraft, rng: random.Random) -> list[Action]:
    """Return a goal for each source. If the source needs a pickaxe, the goal uses the best pickaxe in the inventory."""
    held = [name for name in DATA.pickaxe_tiers if name in environment.player.inventory]
    return [
        Action(source.verb, ({source.goal_name: rng.randint(1, MAX_COUNT)}, held[-1] if source.tier and held else None))
        for source in SOURCES.values()
    ]


def _without_point(value: float | str) -> float | str:
    """Return a whole number as an int, so that it is written without a decimal point, and any other value unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def main() -> None:
    """Write the table that ships with planbook."""
    Path(HORIZONS_FILE).write_text(render_table(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
