"""The rules of the original ``crafter`` package. They are read without importing it, which would take half a second."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from planbook.envs.resources import PackageData

PACKAGE = PackageData("crafter", "crafter")
VITALS = ("health", "food", "drink", "energy")
"""Items that describe the player's condition."""


class GameRules(NamedTuple):
    """The game's tables."""

    actions: Sequence[str]
    """The game's names of all actions, in the game's order."""
    walkable: Sequence[str]
    """The materials on which the player can walk."""
    collect: Mapping[str, Mapping[str, Any]]
    """Maps a material to the items needed to collect it (``require``) and what it yields at most (``receive``)."""
    place: Mapping[str, Mapping[str, Any]]
    """Maps a thing to the items that it is built from (``uses``) and to the materials that it can be on (``where``)."""
    make: Mapping[str, Mapping[str, Any]]
    """Maps a tool to the items that it is made from (``uses``) and the things that must be nearby (``nearby``)."""
    limits: Mapping[str, int]
    """Maps each item, including the vitals, to the maximum that the player can have."""
    achievements: tuple[str, ...]

    @property
    def things(self) -> list[str]:
        """The items that can be carried, in the game's order."""
        return [item for item in self.limits if item not in VITALS]


@cache
def rules() -> GameRules:
    """Return the tables, which are read once per process. Raises MissingRequirement if the package is missing."""
    tables = YAML(typ="safe", pure=True).load((PACKAGE.folder() / "data.yaml").read_text(encoding="utf-8"))
    limits = {name: item["max"] for name, item in tables["items"].items()}
    recipes = tables["collect"], tables["place"], tables["make"]
    return GameRules(tables["actions"], tables["walkable"], *recipes, limits, tuple(tables["achievements"]))
