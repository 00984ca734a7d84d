"""The rules of the genuine ``crafter`` package, read without importing it (which takes half a second)."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ruamel.yaml import YAML

from planbook.envs.errors import MissingRequirement
from planbook.envs.resources import install_command, package_folder

EXTRA = "crafter"
VITALS = ("health", "food", "drink", "energy")
"""Items that describe the player's condition."""


class CollectingRule(NamedTuple):
    """What collecting from a material requires, and gives at most."""

    require: Mapping[str, int]
    receive: Mapping[str, int]
    leaves: str


class PlacingRule(NamedTuple):
    """What placing a thing uses, and the materials it can be placed on."""

    uses: Mapping[str, int]
    where: Sequence[str]


class MakingRule(NamedTuple):
    """What making a tool uses, and the materials that must be nearby."""

    uses: Mapping[str, int]
    nearby: Sequence[str]


class GameRules(NamedTuple):
    """The game's own tables."""

    actions: Sequence[str]
    materials: Sequence[str]
    walkable: Sequence[str]
    most: Mapping[str, int]
    """Maximum of each item, vitals included."""
    collect: Mapping[str, CollectingRule]
    place: Mapping[str, PlacingRule]
    make: Mapping[str, MakingRule]
    achievements: tuple[str, ...]

    @property
    def things(self) -> list[str]:
        """The items that can be carried, in the game's order."""
        return [item for item in self.most if item not in VITALS]


def found() -> str | None:
    """Return the path of the package's rules, or None. Nothing of the package is imported."""
    folder = package_folder("crafter")
    return str(folder / "data.yaml") if folder and (folder / "data.yaml").is_file() else None


def home() -> Path:
    """Return the package's folder. Raises MissingRequirement."""
    if (data := found()) is None:
        raise MissingRequirement(f"crafter: the package's rules are not there; add them with: {install_command(EXTRA)}")
    return Path(data).parent


@cache
def rules() -> GameRules:
    """Return the tables, read once a process. Raises MissingRequirement."""
    tables = YAML(typ="safe", pure=True).load((home() / "data.yaml").read_text(encoding="utf-8"))
    collect = {
        name: CollectingRule(each["require"], each["receive"], each["leaves"])
        for name, each in tables["collect"].items()
    }
    return GameRules(
        actions=tables["actions"],
        materials=tables["materials"],
        walkable=tables["walkable"],
        most={name: each["max"] for name, each in tables["items"].items()},
        collect=collect,
        place={name: PlacingRule(each["uses"], each["where"]) for name, each in tables["place"].items()},
        make={name: MakingRule(each["uses"], each["nearby"]) for name, each in tables["make"].items()},
        achievements=tuple(tables["achievements"]),
    )
