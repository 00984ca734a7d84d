"""How likely a goal is reached, and how long it may take (table 18 of the DEPS paper).

The paper measured a learnt controller on some skills; the others are given the figures of the likest one it lists.
"""

import random

from planbook.envs.minecraft.deeds import Deed
from planbook.envs.minecraft.nature import SOURCES

CHANCES = {
    "oak_tree": 0.39,
    "birch_tree": 0.29,
    "stone": 0.95,
    "wheat_seeds": 0.18,
    "leaves": 0.68,
    "vine": 0.68,
    "dirt": 0.54,
    "iron_ore": 0.40,
    "diamond_ore": 0.35,
    "sheep": 0.44,
    "cow": 0.60,
    "chicken": 0.46,
    "pig": 0.49,
    "equip": 1.0,
    "craft": 1.0,
    "craft at crafting_table": 0.90,
    "smelt at furnace": 0.80,
}
THREE_IRON_ORES = 0.16
OTHER_TREES, OTHER_ANIMALS, OTHER_ORES, OTHER_BLOCKS = 0.29, 0.50, 0.40, 0.54
"""As birch, llama, iron ore and dirt."""
SHORT, ORE, LONG = 600, 3000, 12000
"""Ticks a goal may take: most, ores, and diamonds."""


def chance(deed: Deed) -> float:
    """How likely the deed is done within its time."""
    if deed.skill == "iron_ore" and sum(deed.gains.values()) >= 3:
        return THREE_IRON_ORES
    return CHANCES.get(deed.skill, _other(deed.skill))


def _other(skill: str) -> float:
    source = SOURCES.get(skill)
    if source is None:
        return 1.0
    if skill.endswith("_tree"):
        return OTHER_TREES
    if source.verb == "kill":
        return OTHER_ANIMALS
    return OTHER_ORES if source.tool == "pickaxe" else OTHER_BLOCKS


def time_limit(deed: Deed) -> int:
    """Ticks that the deed may take."""
    if deed.skill == "diamond_ore":
        return LONG
    source = SOURCES.get(deed.skill)
    return ORE if source is not None and source.tool == "pickaxe" and source.depth[1] else SHORT


def succeeds(deed: Deed, task_id: str, tries: int) -> bool:
    """Whether the deed is done this time: thrown anew for each goal that is begun, the same in every replay."""
    return random.Random(f"luck/{task_id}/{tries}").random() < chance(deed)
