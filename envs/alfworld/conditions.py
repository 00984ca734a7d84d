"""What the conditions and effects of the domain mean for an action of a household, with its arguments."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planbook.envs.alfworld.engine import Game
from planbook.envs.alfworld.scene import Scene, read_scene
from planbook.envs.alfworld.text import EMPTY_HANDED, START
from planbook.envs.preconditions import UNKNOWN, Change, Fact, Given, Need

HOLDING, LOCATION = Fact("holding"), Fact("location")
_KIND = re.compile(r"(\w+)type - otype")
_MARKS = {
    "pickupable": "taken",
    "cleanable": "cleaned",
    "heatable": "heated",
    "coolable": "cooled",
    "toggleable": "turned on",
}
"""What the domain says of objects, to how it is told that it is not so."""


@dataclass(frozen=True)
class Room:
    """What an agent may know of a game before it looks around."""

    scene: Scene
    receptacles: Mapping[str, str]
    """Our id to the game's."""
    kinds: frozenset[str]
    """Every kind of object that the game knows, whether there is one or not."""
    objects: Mapping[str, tuple[str, ...]]
    """Kind to the objects of that kind that there are."""

    def place(self, receptacle: str) -> str:
        """Where one stands who is at a receptacle, or has gone nowhere."""
        return self.scene.start.at if receptacle == START else self.scene.places[self.receptacles[receptacle]]

    def can_be_opened(self, receptacle: str) -> bool:
        """Whether it has a door or a lid."""
        return self.receptacles[receptacle] in self.scene.has("openable")


def room_of(game: Game) -> Room:
    """Read a game."""
    problem = str(game.data["pddl_problem"])
    scene = read_scene(problem)
    ours = {scene.names[entity].replace(" ", "_"): entity for entity in scene.places if entity in scene.names}
    objects: dict[str, list[str]] = defaultdict(list)
    for entity, name in scene.names.items():
        if entity not in scene.places:
            objects[name.partition(" ")[0]].append(entity)
    kinds = frozenset(_KIND.findall(problem.lower())) | objects.keys()
    return Room(scene, ours, kinds, {kind: tuple(found) for kind, found in objects.items()})


@dataclass
class Case:
    """One action with its arguments, by the domain's names; what comes of holding it against the rule."""

    room: Room
    given: Mapping[str, Given]
    needs: list[Need] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    impossible: str = ""
    sure: bool = True

    def value(self, name: str) -> Given:
        """An argument; UNKNOWN where the action has none of that name."""
        return self.given.get(name, UNKNOWN)

    def of_kind(self, holds: Callable[[str], bool], why: str) -> None:
        """A condition on the object that is known by kind: impossible where no object of that kind meets it."""
        thing = self.value("?o")
        there = self.room.objects.get(thing.rpartition("_")[0], ()) if thing is not UNKNOWN else ()
        if there and not any(map(holds, there)):
            self.impossible = self.impossible or why
        self.sure = self.sure and bool(there) and all(map(holds, there))


def at(room: Room, receptacle: str) -> Need:
    """The agent must stand where the receptacle is."""
    place = room.place(receptacle)
    return Need.that(
        LOCATION, lambda now: room.place(now) == place, f"the agent is at {{now}} then, not at {receptacle}"
    )


def _here(case: Case) -> None:
    if (receptacle := case.value("?r")) is not UNKNOWN:
        case.needs.append(at(case.room, receptacle))


def _marked(mark: str) -> Callable[[Case], None]:
    def need(case: Case) -> None:
        has = case.room.scene.has(mark)
        case.of_kind(lambda thing: thing in has, f"{case.value('?o')} is nothing that can be {_MARKS[mark]}")

    return need


def _kinds_of_machine(*types: str) -> Callable[[Case], None]:
    def need(case: Case) -> None:
        receptacle = case.value("?r")
        if receptacle is not UNKNOWN and case.room.scene.kinds[case.room.receptacles[receptacle]] not in types:
            told = " or ".join(kind.removesuffix("type") for kind in types)
            case.impossible = case.impossible or f"{receptacle} is no {told}"

    return need


def _openable(case: Case) -> None:
    receptacle = case.value("?r")
    if receptacle is not UNKNOWN and not case.room.can_be_opened(receptacle):
        case.impossible = f"{receptacle} is nothing that can be opened"


def _opened(case: Case) -> None:
    case.needs.append(Need.equal(Fact("opened", (case.value("?r"),)), True, f"{case.value('?r')} is closed then"))


def _closed(case: Case) -> None:
    case.needs.append(Need.equal(Fact("opened", (case.value("?r"),)), False, f"{case.value('?r')} is open then"))


def _accessible(case: Case) -> None:
    receptacle = case.value("?r")
    if receptacle is not UNKNOWN and case.room.can_be_opened(receptacle):
        _opened(case)


def _inside(case: Case) -> None:
    thing, receptacle = case.value("?o"), case.value("?r")
    why = f"{thing} is not in or on {receptacle} then"
    case.needs.append(Need.equal(Fact("inside", (thing, receptacle)), True, why))


def _held(case: Case) -> None:
    case.needs.append(Need.that(HOLDING, lambda now: now != EMPTY_HANDED, "nothing is held then"))
    case.needs.append(Need.equal(HOLDING, case.value("?o"), "{now} is held then"))


def _empty_handed(case: Case) -> None:
    case.needs.append(Need.equal(HOLDING, EMPTY_HANDED, "{now} is held then"))


def _can_contain(case: Case) -> None:
    thing, receptacle = case.value("?o"), case.value("?r")
    if receptacle is UNKNOWN:
        return
    scene = case.room.scene
    kind = scene.kinds[case.room.receptacles[receptacle]]
    why = f"no {str(thing).rpartition('_')[0]} goes in or on {receptacle}"
    case.of_kind(lambda each: (kind, scene.kinds.get(each, "")) in scene.can_contain, why)


def _nothing(case: Case) -> None:
    """What other conditions tell as well."""


NEEDS: Mapping[str, Callable[[Case], None]] = {
    "(atlocation ?a ?l)": _nothing,
    "(atlocation ?a ?lstart)": _nothing,
    "(receptacleatlocation ?r ?l)": _here,
    "(receptacleatlocation ?r ?lend)": _nothing,
    "(openable ?r)": _openable,
    "(opened ?r)": _opened,
    "(not (opened ?r))": _closed,
    "(or (not (openable ?r)) (opened ?r))": _accessible,
    "(inreceptacle ?o ?r)": _inside,
    "(holds ?a ?o)": _held,
    "(not (holdsany ?a))": _empty_handed,
    "(objecttype ?o ?ot)": _nothing,
    "(receptacletype ?r ?rt)": _nothing,
    "(cancontain ?rt ?ot)": _can_contain,
    **{f"({mark} ?o)": _marked(mark) for mark in _MARKS},
    "(or (receptacletype ?r sinkbasintype))": _kinds_of_machine("sinkbasintype"),
    "(or (receptacletype ?r sinktype) (receptacletype ?r sinkbasintype))": _kinds_of_machine(
        "sinkbasintype", "sinktype"
    ),
    "(or (receptacletype ?r microwavetype))": _kinds_of_machine("microwavetype"),
    "(or (receptacletype ?r fridgetype))": _kinds_of_machine("fridgetype"),
}
"""What the domain writes as a condition, to what it means for an action with its arguments."""


def _change(fact: Callable[[Case], Fact], to: Callable[[Case], object]) -> Callable[[Case], None]:
    return lambda case: case.changes.append(Change(fact(case), to(case)))


CHANGES: Mapping[str, Callable[[Case], None]] = {
    "(atlocation ?a ?lend)": _change(lambda case: LOCATION, lambda case: case.value("?r")),
    "(holds ?a ?o)": _change(lambda case: HOLDING, lambda case: case.value("?o")),
    "(not (holds ?a ?o))": _change(lambda case: HOLDING, lambda case: EMPTY_HANDED),
    "(opened ?r)": _change(lambda case: Fact("opened", (case.value("?r"),)), lambda case: True),
    "(not (opened ?r))": _change(lambda case: Fact("opened", (case.value("?r"),)), lambda case: False),
    "(inreceptacle ?o ?r)": _change(
        lambda case: Fact("inside", (case.value("?o"), case.value("?r"))), lambda case: True
    ),
    "(not (inreceptacle ?o ?r))": _change(
        lambda case: Fact("inside", (case.value("?o"), case.value("?r"))), lambda case: False
    ),
}
"""The effects that other actions ask for; the rest (clean, hot, looked at) no action needs."""
