"""The split ``generated``: games made from seeds and from files in the package alfworld, without any download.

A game depends only on its type and its seed. A floor plan from the package is chosen and furnished at random. The room
and a task in it are then written as a PDDL problem, which is the form of alfworld's own games.

Every game can be won: its objects are in receptacles of the room, and the room has the machine, the target or the lamp
that the goal needs. A test confirms this by searching the complete states of games.

The files of the package are read as data. Nothing in the package is imported or run.
"""

import ast
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import Any

from planbook.envs.alfworld.engines import TREATABLE, AlfworldGame
from planbook.envs.errors import EnvironmentBroken
from planbook.envs.requirements import RequiredPackage

SPLIT = "generated"
DEFAULT_COUNT = 100
"""Number of games of each type if the selection has neither seeds nor a limit."""
MAX_RECEPTACLES = 24
"""Maximum number of receptacles in a room. An agent needs up to two actions to look into one, and has 50 in all."""
_ATTEMPTS = 200
"""Maximum number of random rooms to try for one seed."""
GAME_TYPES = {
    "pick_and_place": "pick_and_place_simple",
    "pick_clean_then_place": "pick_clean_then_place_in_recep",
    "pick_heat_then_place": "pick_heat_then_place_in_recep",
    "pick_cool_then_place": "pick_cool_then_place_in_recep",
    "look_at_obj": "look_at_obj_in_light",
    "pick_two_obj": "pick_two_obj_and_place",
}
"""Maps our name for each task type to alfworld's name."""
TYPES = tuple(GAME_TYPES)
_ROOM_TYPES = {
    "pick_and_place": ("Kitchen", "LivingRoom", "Bathroom", "Bedroom"),
    "pick_clean_then_place": ("Kitchen", "Bathroom"),
    "pick_heat_then_place": ("Kitchen",),
    "pick_cool_then_place": ("Kitchen",),
    "look_at_obj": ("LivingRoom", "Bedroom"),
    "pick_two_obj": ("Kitchen", "LivingRoom", "Bathroom", "Bedroom"),
}
"""Maps each task type to the types of rooms in which alfworld sets its tasks."""
MACHINES = {"clean": "SinkBasin", "heat": "Microwave", "cool": "Fridge"}
"""Maps each treatment to the kind of receptacle with which it is done."""
_TREATMENTS = {"pick_clean_then_place": "clean", "pick_heat_then_place": "heat", "pick_cool_then_place": "cool"}
_FLOOR_PLANS = {"Kitchen": (1, 31), "LivingRoom": (201, 231), "Bedroom": (301, 331), "Bathroom": (401, 431)}
"""Maps each type of room to the number of its first floor plan, and the number after its last floor plan."""
_BASINS = {"SinkBasin": "Sink", "BathtubBasin": "Bathtub"}
"""Maps each kind of basin to the kind of object that it is part of. alfworld names a basin ``Sink|...|SinkBasin``."""
_LAMP_STANDS = ("SideTable", "Desk", "Dresser", "Shelf", "CoffeeTable", "DiningTable")
"""Kinds of receptacles on which a lamp may stand. alfworld's constants do not list them."""
LAMP = "DeskLamp"


@dataclass
class FurnishedRoom:
    """A room. Its receptacles and objects have names such as ``Cabinet|+00.68|+00.50|-02.20``."""

    plan: str
    """The name of the floor plan."""
    locations: dict[str, str] = field(default_factory=dict)
    """Maps a receptacle to its location."""
    receptacle_of: dict[str, str] = field(default_factory=dict)
    """Maps an object to its receptacle."""

    def receptacles(self, kind: str) -> list[str]:
        """Return the receptacles of a kind."""
        return [name for name in self.locations if kind_of(name) == kind]

    def objects(self, kind: str) -> list[str]:
        """Return the objects of a kind."""
        return [name for name in self.receptacle_of if kind_of(name) == kind]


def kind_of(name: str) -> str:
    """Return the kind in a name: ``Cabinet`` in ``Cabinet|+00.68|...``, or ``SinkBasin`` in ``Sink|...|SinkBasin``."""
    last = name.rsplit("|", 1)[-1]
    return last if last in _BASINS else name.split("|", 1)[0]


def game_id(task_type: str, seed: int) -> str:
    """Return the id of a generated game, such as ``generated/pick_two_obj/7``."""
    return f"{SPLIT}/{task_type}/{seed}"


@lru_cache(maxsize=16)
def make_game(task_type: str, seed: int) -> AlfworldGame:
    """Return the game of this type with this seed. It is the same in every process."""
    rng = Random(game_id(task_type, seed))
    for _ in range(_ATTEMPTS):
        if game := _random_game(task_type, seed, rng):
            return game
    raise EnvironmentBroken(
        f"alfworld: seed {seed} does not produce a solvable game of type {task_type!r}; choose another"
    )


def _random_game(task_type: str, seed: int, rng: Random) -> AlfworldGame | None:
    """Return a random game, or None if the room has too many receptacles, or allows no task of this type."""
    room = furnish(rng.randrange(*_FLOOR_PLANS[rng.choice(_ROOM_TYPES[task_type])]), rng)
    choices = _possible_tasks(task_type, room)
    if not choices or len(room.locations) > MAX_RECEPTACLES:
        return None
    object_kind, target_kind = rng.choice(choices)
    _place_task_objects(task_type, room, object_kind, target_kind, rng)
    template = rng.choice(goal_library()[GAME_TYPES[task_type]]["templates"])
    objects = room.objects(object_kind)  # empty if only receptacles of the target's kind can hold the object
    return _game(task_type, seed, room, object_kind, target_kind, template) if objects else None


def _possible_tasks(task_type: str, room: FurnishedRoom) -> list[tuple[str, str]]:
    """Return the possible tasks in a room. Each is a pair: the kind of object, and the kind of target or lamp."""
    facts = affordances()
    kinds = sorted({kind_of(name) for name in room.receptacle_of} - {*facts.kinds_by_ability["Toggleable"]})
    if task_type == "look_at_obj":
        return [(kind, LAMP) for kind in kinds] if room.objects(LAMP) else []
    if treatment := _TREATMENTS.get(task_type):
        treatable = facts.kinds_by_ability[TREATABLE[treatment].capitalize()]
        kinds = [kind for kind in kinds if kind in treatable and room.receptacles(MACHINES[treatment])]
    targets = sorted({kind_of(name) for name in room.locations})
    return [(kind, target) for kind in kinds for target in targets if kind in facts.holds[target]]


def _place_task_objects(task_type: str, room: FurnishedRoom, object_kind: str, target_kind: str, rng: Random) -> None:
    """Place the task's objects at random, but not in receptacles of the target's kind, where they must end up."""
    if task_type == "look_at_obj":
        return
    count = max(len(room.objects(object_kind)), 2 if task_type == "pick_two_obj" else 1)
    for name in room.objects(object_kind):
        del room.receptacle_of[name]
    place_objects(room, object_kind, count, rng, excluded=target_kind)


def _game(
    task_type: str, seed: int, room: FurnishedRoom, object_kind: str, target_kind: str, template: str
) -> AlfworldGame:
    goals = goal_library()[GAME_TYPES[task_type]]
    sentence = template.format(
        obj=object_kind.lower(), recep=target_kind.lower(), toggle=target_kind.lower(), mrecep=""
    )
    pddl_goal = (
        goals["pddl"].replace("#", "-").format(obj=object_kind, recep=target_kind, toggle=target_kind, mrecep="")
    )
    name = pddl_name(f"{room.plan}_{task_type}_{seed}")
    data = {
        "pddl_domain": package_text(DOMAIN),
        "grammar": package_text(GRAMMAR).replace("UNKNOWN GOAL", sentence),
        "pddl_problem": problem_text(name, room, pddl_goal),
        "solvable": True,
    }
    return AlfworldGame(game_id(task_type, seed), data, sentence)


_OPEN_WEIGHT = 3
"""An object is this many times as likely to be in a receptacle that is always open as in one that can be closed."""
_OBJECT_COUNTS = (1, 1, 1, 2, 2, 3)
"""For each kind, the number of objects is drawn from these numbers."""


def furnish(number: int, rng: Random) -> FurnishedRoom:
    """Return a room with the receptacles of a floor plan, and with random objects of the kinds that the plan lists."""
    room, can_hold = FurnishedRoom(f"FloorPlan{number}"), affordances().holds
    poses = json.loads(package_text(f"gen/layouts/{room.plan}-openable.json"))
    kinds = sorted(json.loads(package_text(f"gen/layouts/{room.plan}-objects.json")))
    for receptacle in sorted(poses):
        if kind_of(receptacle) in can_hold:
            room.locations[receptacle] = _location(*poses[receptacle])
    for kind in kinds:
        if kind in can_hold and not room.receptacles(kind):
            room.locations[_new_name(kind, rng)] = _location(rng.uniform(-5, 5), rng.uniform(-5, 5), 90, 7)
    for kind in kinds:
        place_objects(room, kind, rng.choice(_OBJECT_COUNTS), rng)
    return room


def place_objects(room: FurnishedRoom, kind: str, count: int, rng: Random, excluded: str = "") -> None:
    """Put objects of a kind into random receptacles that can hold them, except receptacles of the kind ``excluded``."""
    receptacles = [name for name in room.locations if _holds(name, kind) and kind_of(name) != excluded]
    weights = [1 if kind_of(name) in affordances().openable else _OPEN_WEIGHT for name in receptacles]
    for receptacle in rng.choices(receptacles, weights, k=count) if receptacles else []:
        room.receptacle_of[_new_name(kind, rng)] = receptacle


def _holds(receptacle: str, kind: str) -> bool:
    holder = kind_of(receptacle)
    return holder in _LAMP_STANDS if kind == LAMP else kind in affordances().holds[holder]


def _new_name(kind: str, rng: Random) -> str:
    x, y, z = (f"{rng.uniform(-9.99, 9.99):+06.2f}" for _ in "xyz")
    return f"{_BASINS[kind]}|{x}|{y}|{z}|{kind}" if kind in _BASINS else f"{kind}|{x}|{y}|{z}"


def _location(x: float, y: float, turn: float, tilt: float) -> str:
    return f"loc|{round(x * 4)}|{round(y * 4)}|{round(turn / 90)}|{round(tilt)}"


# The files of the package alfworld.

PACKAGE = RequiredPackage("alfworld", "alfworld", ("--no-deps",), ("alfworld",))
"""The package alfworld. It is installed without its dependencies, since generated games need only its data."""
CONSTANTS, GOALS = "gen/constants.py", "gen/goal_library.py"
DOMAIN, GRAMMAR = "data/alfred.pddl", "data/alfred.twl2"
_TABLES = ("DiningTable", "CoffeeTable", "SideTable")


def package_files() -> list[Path]:
    """Return every file from which games are generated. Raises MissingRequirement if alfworld is not installed."""
    home = PACKAGE.folder()
    plans = (home / "gen" / "layouts").glob("FloorPlan*-o*.json")
    return [*(home / path for path in (CONSTANTS, GOALS, DOMAIN, GRAMMAR)), *plans]


@cache
def package_text(path: str) -> str:
    """Return the text of a file in the package. Raises MissingRequirement if alfworld is not installed."""
    return (PACKAGE.folder() / path).read_text()


@dataclass(frozen=True)
class Affordances:
    """The affordances of each kind of receptacle and object: what can be done with it.

    The tuples are sorted, so that random choices from them are reproducible.
    """

    holds: dict[str, tuple[str, ...]]
    """Maps a kind of receptacle to the kinds of objects that it can hold."""
    kinds_by_ability: dict[str, tuple[str, ...]]
    """Maps an ability, such as ``Heatable``, to the kinds of objects that have this ability."""
    openable: frozenset[str]
    """The kinds of receptacles that can be opened."""
    movable_receptacles: frozenset[str]
    """The kinds of objects that can hold other objects, such as plates."""


@cache
def affordances() -> Affordances:
    """Return the affordances that alfworld's constants define."""
    constants = _read_literals(package_text(CONSTANTS))
    movable_receptacles = frozenset(constants["MOVABLE_RECEPTACLES"])
    holds = {
        kind: tuple(sorted(held_kinds))
        for kind, held_kinds in constants["VAL_RECEPTACLE_OBJECTS"].items()
        if kind not in movable_receptacles
    }
    table = holds.pop("TableTop")
    return Affordances(
        holds=holds | dict.fromkeys(_TABLES, table),
        kinds_by_ability={ability: tuple(sorted(kinds)) for ability, kinds in constants["VAL_ACTION_OBJECTS"].items()},
        openable=frozenset(constants["OPENABLE_CLASS_LIST"]) - movable_receptacles,
        movable_receptacles=movable_receptacles,
    )


@cache
def goal_library() -> dict[str, dict[str, Any]]:
    """Return a dict that maps each of alfworld's task types to its goal.

    A goal has the keys ``pddl`` (the goal in PDDL) and ``templates`` (sentences that state the goal).
    """
    return _read_literals(package_text(GOALS))


def _read_literals(source: str) -> dict[str, Any]:
    """Return a dict from the names of variables, and the keys of dict items, to the literals assigned to them."""
    literals = {}
    for node in ast.parse(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(str(name)) | ast.Subscript(slice=ast.Constant(str(name)))]):
                with suppress(ValueError):  # skip a value that is not a literal
                    literals[name] = ast.literal_eval(node.value)
    return literals


# The PDDL problem of a room.

_START = "loc|0|0|0|0|start"
_ABILITIES = {"Heatable": "heatable", "Coolable": "coolable", "Cleanable": "cleanable", "Sliceable": "sliceable"}
_ESCAPES = str.maketrans({"|": "_bar_", "+": "_plus_", "-": "_minus_", ".": "_dot_"})
_RECEPTACLES_IN_RULES = ("Microwave", "Fridge", "SinkBasin")
"""The kinds of receptacles that alfworld's rules mention. A problem must declare them even if the room has none."""
_OBJECTS_IN_RULES = ("Knife", "ButterKnife")
"""The kinds of objects that alfworld's rules mention. A problem must declare them, too."""


def pddl_name(name: str) -> str:
    """Return a name in which characters that PDDL does not allow are replaced with words."""
    return name.translate(_ESCAPES)


def problem_text(name: str, room: FurnishedRoom, goal: str) -> str:
    """Return the PDDL problem of a room. As in alfworld, ``goal`` ends with the parenthesis that closes the problem."""
    return (
        f"(define (problem {name})\n(:domain alfred)\n(:objects\n{_lines(_objects(room))})\n"
        f"(:init\n{_lines(_init(room))})\n{goal.strip()}\n"
    )


def _lines(texts: Iterable[str]) -> str:
    return "".join(f"    {text}\n" for text in texts)


def _objects(room: FurnishedRoom) -> Iterator[str]:
    yield "agent1 - agent"
    contained = {kind for receptacle in room.locations for kind in affordances().holds[kind_of(receptacle)]}
    for kind in sorted(contained | {kind_of(name) for name in room.receptacle_of} | {LAMP, *_OBJECTS_IN_RULES}):
        yield f"{kind}Type - otype"
    for kind in sorted({kind_of(receptacle) for receptacle in room.locations} | {*_RECEPTACLES_IN_RULES}):
        yield f"{kind}Type - rtype"
    for name in room.receptacle_of:
        yield f"{pddl_name(name)} - object"
    for receptacle in room.locations:
        yield f"{pddl_name(receptacle)} - receptacle"
    for location in sorted({_START, *room.locations.values()}):
        yield f"{pddl_name(location)} - location"


def _init(room: FurnishedRoom) -> Iterator[str]:
    facts = affordances()
    yield f"(atLocation agent1 {pddl_name(_START)})"
    for receptacle, location in room.locations.items():
        name, kind = pddl_name(receptacle), kind_of(receptacle)
        yield f"(receptacleType {name} {kind}Type)"
        yield f"(receptacleAtLocation {name} {pddl_name(location)})"
        if kind in facts.openable:
            yield f"(openable {name})"
    for kind in sorted({kind_of(receptacle) for receptacle in room.locations}):
        for contained in facts.holds[kind]:
            yield f"(canContain {kind}Type {contained}Type)"
    for full_name, receptacle in room.receptacle_of.items():
        name = pddl_name(full_name)
        yield from _object_facts(name, kind_of(full_name), facts)
        yield f"(inReceptacle {name} {pddl_name(receptacle)})"
        yield f"(objectAtLocation {name} {pddl_name(room.locations[receptacle])})"


def _object_facts(name: str, kind: str, facts: Affordances) -> Iterator[str]:
    yield f"(objectType {name} {kind}Type)"
    yield f"(toggleable {name})" if kind in facts.kinds_by_ability["Toggleable"] else f"(pickupable {name})"
    if kind in facts.movable_receptacles:
        yield f"(isReceptacleObject {name})"
    for ability, predicate in _ABILITIES.items():
        if kind in facts.kinds_by_ability[ability]:
            yield f"({predicate} {name})"
