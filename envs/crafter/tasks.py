"""The tasks: the whole game, and each of its achievements alone."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planbook.envs.errors import BadSelection
from planbook.envs.selection import chosen_split, chosen_types, in_turn
from planbook.envs.types import Selection, Task

NAME = "crafter"
SURVIVE = "survive"
SPLITS = ("open", "achievements")
ACHIEVEMENTS = tuple(
    """collect_coal collect_diamond collect_drink collect_iron collect_sapling collect_stone collect_wood
    defeat_skeleton defeat_zombie eat_cow eat_plant make_iron_pickaxe make_iron_sword make_stone_pickaxe
    make_stone_sword make_wood_pickaxe make_wood_sword place_furnace place_plant place_stone place_table
    wake_up""".split()
)
"""Those of the package's rules, for where the package is missing."""
TYPES = (SURVIVE, *ACHIEVEMENTS)
SEEDS = {"open": tuple(range(20)), "achievements": tuple(range(5))}
"""Those of a split unless a selection names others."""


class CrafterOptions(BaseModel):
    """How the game is played; recorded beside every figure."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    length: int = Field(default=10_000, ge=1, description="Steps until the game's time is up.")

    @classmethod
    def read(cls, options: BaseModel | None) -> "CrafterOptions":
        """The options as given from outside, or the default ones."""
        return cls.model_validate(options.model_dump() if options else {})


def select(selection: Selection) -> Sequence[Task]:
    """One task for each chosen type and seed. Types that are named without a split are taken from either."""
    if selection.ids:
        return [_named(task_id) for task_id in selection.ids]
    split = chosen_split(selection, SPLITS, NAME)
    types = chosen_types(selection, TYPES, NAME)
    if selection.split or not selection.types:
        types = tuple(name for name in types if _split_of(name) == split)
    groups = ([task_of(name, seed) for seed in selection.seeds or SEEDS[_split_of(name)]] for name in types)
    return list(in_turn(groups, selection.limit))


def task_of(kind: str, seed: int) -> Task:
    """The task of a type and a seed; the seed makes the world."""
    whole = kind == SURVIVE
    goal = (
        f"survive, and unlock as many of the {len(ACHIEVEMENTS)} achievements as you can"
        if whole
        else f"unlock the achievement {kind}"
    )
    params: dict[str, JsonValue] = {} if whole else {"achievement": kind}
    return Task(id=f"{kind}/{seed}", env=NAME, split=_split_of(kind), type=kind, goal=goal, params=params, seed=seed)


def _split_of(kind: str) -> str:
    return "open" if kind == SURVIVE else "achievements"


def _named(task_id: str) -> Task:
    kind, _, seed = task_id.partition("/")
    if kind not in TYPES or not seed.isdecimal():
        raise BadSelection(f"{NAME} has no task {task_id!r}; an id reads TYPE/SEED, for example {SURVIVE}/3")
    return task_of(kind, int(seed))
