"""A made-up household: furniture from a floor plan, objects strewn by chance over what can hold them."""

from dataclasses import dataclass, field
from functools import lru_cache
from random import Random

from planbook.envs.alfworld.wheel import Facts, Plan

_BASINS = {"SinkBasin": "Sink", "BathtubBasin": "Bathtub"}
"""Receptacles that alfworld names as part of another thing (``Sink|...|SinkBasin``)."""
_LAMP_STANDS = ("SideTable", "Desk", "Dresser", "Shelf", "CoffeeTable", "DiningTable")
"""What lamps stand on; alfworld's constants do not say."""
LAMP = "DeskLamp"
_IN_THE_OPEN = 3
"""How much likelier an object lies in the open than behind a door."""
_COUNTS = (1, 1, 1, 2, 2, 3)
"""How many objects of a kind there are, to choose from."""


@dataclass
class Room:
    """Receptacles and objects by name (``Cabinet|+00.68|+00.50|-02.20``)."""

    plan: str
    places: dict[str, str] = field(default_factory=dict)
    """Receptacle to its location."""
    inside: dict[str, str] = field(default_factory=dict)
    """Object to its receptacle."""

    def of_kind(self, kind: str) -> list[str]:
        """The receptacles of a kind."""
        return [receptacle for receptacle in self.places if kind_of(receptacle) == kind]

    def objects(self, kind: str) -> list[str]:
        """The objects of a kind."""
        return [thing for thing in self.inside if kind_of(thing) == kind]


@lru_cache(maxsize=4096)
def kind_of(name: str) -> str:
    """``Cabinet`` of ``Cabinet|+00.68|...``, ``SinkBasin`` of ``Sink|...|SinkBasin``."""
    last = name.rsplit("|", 1)[-1]
    return last if last in _BASINS else name.split("|", 1)[0]


def furnish(plan: Plan, facts: Facts, rng: Random) -> Room:
    """A floor plan's room with all kinds of objects that it has and can hold."""
    room = Room(plan.name)
    for receptacle, pose in plan.places.items():
        if kind_of(receptacle) in facts.holds:
            room.places[receptacle] = _location(*pose)
    for kind in plan.kinds:
        if kind in facts.holds and not room.of_kind(kind):
            room.places[_named(kind, rng)] = _location(rng.uniform(-5, 5), rng.uniform(-5, 5), 90, 7)
    for kind in plan.kinds:
        strew(room, kind, rng.choice(_COUNTS), facts, rng)
    return room


def strew(room: Room, kind: str, count: int, facts: Facts, rng: Random, without: str = "") -> None:
    """Put objects of a kind into receptacles that can hold them, but for receptacles of the kind ``without``."""
    stands = [where for where in room.places if holds(where, kind, facts) and kind_of(where) != without]
    weights = [1 if kind_of(where) in facts.openable else _IN_THE_OPEN for where in stands]
    for where in rng.choices(stands, weights, k=count) if stands else []:
        room.inside[_named(kind, rng)] = where


def holds(receptacle: str, kind: str, facts: Facts) -> bool:
    """Whether a receptacle can hold objects of a kind."""
    mine = kind_of(receptacle)
    return mine in _LAMP_STANDS if kind == LAMP else kind in facts.holds[mine]


def _named(kind: str, rng: Random) -> str:
    x, y, z = (f"{rng.uniform(-9.99, 9.99):+06.2f}" for _ in "xyz")
    return f"{_BASINS[kind]}|{x}|{y}|{z}|{kind}" if kind in _BASINS else f"{kind}|{x}|{y}|{z}"


def _location(x: float, y: float, turn: float, tilt: float) -> str:
    return f"loc|{round(x * 4)}|{round(y * 4)}|{round(turn / 90)}|{round(tilt)}"
