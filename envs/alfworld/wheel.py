"""What the alfworld wheel ships, read as data: nothing of it is imported or run."""

import ast
import json
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from planbook.envs.errors import MissingRequirement
from planbook.envs.packages import folder_of, install

ROOMS = {"Kitchen": (1, 31), "LivingRoom": (201, 231), "Bedroom": (301, 331), "Bathroom": (401, 431)}
"""Room to its floor plans' numbers, first and one past the last."""
CONSTANTS, GOALS = "gen/constants.py", "gen/goal_library.py"
DOMAIN, GRAMMAR = "data/alfred.pddl", "data/alfred.twl2"
_TABLES = ("DiningTable", "CoffeeTable", "SideTable")


@dataclass(frozen=True)
class Facts:
    """Which object goes where, and what can be done with it. Everything is sorted, so that choices can be repeated."""

    holds: dict[str, tuple[str, ...]]
    """Kind of receptacle to the kinds of objects that it can hold."""
    able: dict[str, tuple[str, ...]]
    """Ability (``Heatable``) to kinds of objects."""
    openable: frozenset[str]
    movable: frozenset[str]
    """Kinds of objects that can hold others."""


@dataclass(frozen=True)
class Plan:
    """A floor plan: where its receptacles stand, and what kinds of things it has."""

    name: str
    places: dict[str, tuple[float, ...]]
    """Receptacle (``Cabinet|+00.68|+00.50|-02.20``) to the pose from which it is used."""
    kinds: tuple[str, ...]


def found() -> str | None:
    """Where the alfworld package is, or None."""
    folder = folder_of("alfworld")
    return str(folder) if folder else None


def remedy() -> str:
    """Return the command that installs the package alone: its data are all that generated games need."""
    return install("alfworld", "--no-deps", only="alfworld")


def wheel_files() -> list[Path]:
    """Every file that games are generated from. Raises MissingRequirement without the package."""
    if (folder := found()) is None:
        raise MissingRequirement(f"alfworld: the package is not there; add it with: {remedy()}")
    home = Path(folder)
    plans = (home / "gen" / "layouts").glob("FloorPlan*-o*.json")
    return [*(home / path for path in (CONSTANTS, GOALS, DOMAIN, GRAMMAR)), *plans]


def wheel_text(path: str) -> str:
    """A text file of the alfworld package. Raises MissingRequirement if the package or the file is not there."""
    if (folder := found()) and (file := Path(folder) / path).is_file():
        return file.read_text()
    raise MissingRequirement(f"alfworld: the package's file {path} is not there; add it with: {remedy()}")


def _assigned(source: str, key: str | None = None) -> dict[str, Any]:
    """The literals that a module assigns to names, or to the items of the dictionary ``key``."""
    found = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Assign):
            continue
        target = node.targets[0]
        try:
            if key is None and isinstance(target, ast.Name):
                found[target.id] = ast.literal_eval(node.value)
            elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == key:
                found[ast.literal_eval(target.slice)] = ast.literal_eval(node.value)
        except ValueError:
            continue
    return found


@lru_cache(maxsize=1)
def facts() -> Facts:
    """What alfworld's constants say."""
    constants = _assigned(wheel_text(CONSTANTS))
    movable = frozenset(constants["MOVABLE_RECEPTACLES"])
    holds = {
        kind: tuple(sorted(inner)) for kind, inner in constants["VAL_RECEPTACLE_OBJECTS"].items() if kind not in movable
    }
    table = holds.pop("TableTop")
    return Facts(
        holds=holds | dict.fromkeys(_TABLES, table),
        able={ability: tuple(sorted(kinds)) for ability, kinds in constants["VAL_ACTION_OBJECTS"].items()},
        openable=frozenset(constants["OPENABLE_CLASS_LIST"]) - movable,
        movable=movable,
    )


@lru_cache(maxsize=1)
def goals() -> dict[str, dict[str, Any]]:
    """Task type, as alfworld names it, to its formal goal (``pddl``) and its sentences (``templates``)."""
    return _assigned(wheel_text(GOALS), key="gdict")


@lru_cache(maxsize=1)
def domain() -> str:
    """The rules that all games share."""
    return wheel_text(DOMAIN)


@lru_cache(maxsize=1)
def grammar() -> str:
    """The sentences that all games share."""
    return wheel_text(GRAMMAR)


@cache
def floor_plan(number: int) -> Plan:
    """One of the 120 floor plans."""
    name = f"FloorPlan{number}"
    places = json.loads(wheel_text(f"gen/layouts/{name}-openable.json"))
    kinds = json.loads(wheel_text(f"gen/layouts/{name}-objects.json"))
    return Plan(name, {key: tuple(places[key]) for key in sorted(places)}, tuple(sorted(kinds)))
