"""The rules of the original ``crafter`` package, read without importing it (which takes half a second)."""

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
    walkable: Sequence[str]
    collect: Mapping[str, Mapping[str, Any]]
    """Maps a material to the requirements of collecting it (``require``) and its maximum yield (``receive``)."""
    place: Mapping[str, Mapping[str, Any]]
    """Maps a thing to the items that placing it uses (``uses``), and the materials it can be placed on (``where``)."""
    make: Mapping[str, Mapping[str, Any]]
    """Maps a tool to the items that making it uses (``uses``), and the materials that must be nearby (``nearby``)."""
    limits: Mapping[str, int]
    """Maximum of each item, vitals included."""
    achievements: tuple[str, ...]

    @property
    def things(self) -> list[str]:
        """The items that can be carried, in the game's order."""
        return [item for item in self.limits if item not in VITALS]


@cache
def rules() -> GameRules:
    """Return the tables, read once per process. Raises MissingRequirement."""
    tables = YAML(typ="safe", pure=True).load((PACKAGE.folder() / "data.yaml").read_text(encoding="utf-8"))
    limits = {name: item["max"] for name, item in tables["items"].items()}
    acting = tables["collect"], tables["place"], tables["make"]
    return GameRules(tables["actions"], tables["walkable"], *acting, limits, tuple(tables["achievements"]))
