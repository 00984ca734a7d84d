"""Preconditions of household actions, derived from the domain in the game's file.

They use only what an agent may know beforehand: the receptacles of the room, which of them open and which share a
location, and what can be done with each kind of object. Where objects are is left for the agent to find out.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from planbook.envs.alfworld.engine import AlfworldGame
from planbook.envs.alfworld.scene import GameScene, read_scene
from planbook.envs.alfworld.wording import EMPTY_HANDED, ID, START
from planbook.envs.preconditions import UNKNOWN, Change, Deed, Fact, Given, Need, Preconditions

_COMMENT = re.compile(r";[^\n]*")
_TOKEN = re.compile(r"[()]|[^\s()]+")


class DomainAction(NamedTuple):
    """One action of the domain: the parts of its precondition and of its effect, each normalized.

    In lower case, with single spaces: ``(not (opened ?r))``.
    """

    needs: tuple[str, ...]
    changes: tuple[str, ...]


@lru_cache(maxsize=4)
def read_rules(domain: str) -> Mapping[str, DomainAction]:
    """Return the actions of a domain by name, in lower case."""
    tree = _parsed(iter(_TOKEN.findall(_COMMENT.sub("", domain).lower())))
    found = {}
    for part in tree[0]:
        if isinstance(part, list) and part and part[0] == ":action":
            sections = dict(zip(part[2::2], part[3::2], strict=True))
            found[str(part[1])] = DomainAction(_parts(sections[":precondition"]), _parts(sections[":effect"]))
    return found


def _parsed(tokens: Iterator[str]) -> list[Any]:
    """Return nested lists of words, up to the next closing bracket."""
    tree: list[Any] = []
    for token in tokens:
        if token == ")":
            return tree
        tree.append(_parsed(tokens) if token == "(" else token)
    return tree


def _parts(tree: list[Any]) -> tuple[str, ...]:
    """Return the parts joined by ``and``, or the only part."""
    if not tree:
        return ()
    return tuple(map(_text, tree[1:])) if tree[0] == "and" else (_text(tree),)


def _text(tree: object) -> str:
    return f"({' '.join(map(_text, tree))})" if isinstance(tree, list) else str(tree)


HOLDING, LOCATION = Fact("holding"), Fact("location")
_KIND = re.compile(r"(\w+)type - otype")
_MARKS = {
    "pickupable": "taken",
    "cleanable": "cleaned",
    "heatable": "heated",
    "coolable": "cooled",
    "toggleable": "turned on",
}
"""Predicate of objects to the word for the treatment."""


@dataclass(frozen=True)
class KnownRoom:
    """What an agent may know of a game before it looks around."""

    scene: GameScene
    receptacles: Mapping[str, str]
    """Our id to the game's."""
    kinds: frozenset[str]
    """Every kind of object that the game knows, whether it has one or not."""
    objects: Mapping[str, tuple[str, ...]]
    """Kind to the objects of that kind in the game."""

    def place(self, receptacle: str) -> str:
        """Return the place of an agent that is at a receptacle, or has not moved yet."""
        return self.scene.start.at if receptacle == START else self.scene.places[self.receptacles[receptacle]]

    def can_be_opened(self, receptacle: str) -> bool:
        """Return whether the receptacle has a door or a lid."""
        return self.receptacles[receptacle] in self.scene.has("openable")


def room_of(game: AlfworldGame) -> KnownRoom:
    """Read a game."""
    problem = str(game.data["pddl_problem"])
    scene = read_scene(problem)
    ours = {scene.names[entity].replace(" ", "_"): entity for entity in scene.places if entity in scene.names}
    objects: dict[str, list[str]] = defaultdict(list)
    for entity, name in scene.names.items():
        if entity not in scene.places:
            objects[name.partition(" ")[0]].append(entity)
    kinds = frozenset(_KIND.findall(problem.lower())) | objects.keys()
    return KnownRoom(scene, ours, kinds, {kind: tuple(found) for kind, found in objects.items()})


@dataclass
class BoundRule:
    """One action with its arguments, by the domain's names, and the needs and changes found for it."""

    room: KnownRoom
    given: Mapping[str, Given]
    needs: list[Need] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    impossible: str = ""
    sure: bool = True

    def value(self, name: str) -> Given:
        """Return an argument; UNKNOWN if the action has none of that name."""
        return self.given.get(name, UNKNOWN)

    def of_kind(self, holds: Callable[[str], bool], why: str) -> None:
        """Apply a condition to an object known only by kind: impossible if no object of that kind meets it."""
        thing = self.value("?o")
        there = self.room.objects.get(thing.rpartition("_")[0], ()) if thing is not UNKNOWN else ()
        if there and not any(map(holds, there)):
            self.impossible = self.impossible or why
        self.sure = self.sure and bool(there) and all(map(holds, there))


def at(room: KnownRoom, receptacle: str) -> Need:
    """Return the need that the agent is at the receptacle."""
    place = room.place(receptacle)
    return Need.that(
        LOCATION, lambda now: room.place(now) == place, f"the agent is at {{now}} then, not at {receptacle}"
    )


def _here(case: BoundRule) -> None:
    if (receptacle := case.value("?r")) is not UNKNOWN:
        case.needs.append(at(case.room, receptacle))


def _marked(mark: str) -> Callable[[BoundRule], None]:
    def need(case: BoundRule) -> None:
        has = case.room.scene.has(mark)
        case.of_kind(lambda thing: thing in has, f"{case.value('?o')} is nothing that can be {_MARKS[mark]}")

    return need


def _kinds_of_machine(*types: str) -> Callable[[BoundRule], None]:
    def need(case: BoundRule) -> None:
        receptacle = case.value("?r")
        if receptacle is not UNKNOWN and case.room.scene.kinds[case.room.receptacles[receptacle]] not in types:
            listed = " or ".join(kind.removesuffix("type") for kind in types)
            case.impossible = case.impossible or f"{receptacle} is no {listed}"

    return need


def _openable(case: BoundRule) -> None:
    receptacle = case.value("?r")
    if receptacle is not UNKNOWN and not case.room.can_be_opened(receptacle):
        case.impossible = f"{receptacle} is nothing that can be opened"


def _opened(case: BoundRule) -> None:
    case.needs.append(Need.equal(Fact("opened", (case.value("?r"),)), True, f"{case.value('?r')} is closed then"))


def _closed(case: BoundRule) -> None:
    case.needs.append(Need.equal(Fact("opened", (case.value("?r"),)), False, f"{case.value('?r')} is open then"))


def _accessible(case: BoundRule) -> None:
    receptacle = case.value("?r")
    if receptacle is not UNKNOWN and case.room.can_be_opened(receptacle):
        _opened(case)


def _inside(case: BoundRule) -> None:
    thing, receptacle = case.value("?o"), case.value("?r")
    why = f"{thing} is not in or on {receptacle} then"
    case.needs.append(Need.equal(Fact("inside", (thing, receptacle)), True, why))


def _held(case: BoundRule) -> None:
    case.needs.append(Need.that(HOLDING, lambda now: now != EMPTY_HANDED, "nothing is held then"))
    case.needs.append(Need.equal(HOLDING, case.value("?o"), "{now} is held then"))


def _empty_handed(case: BoundRule) -> None:
    case.needs.append(Need.equal(HOLDING, EMPTY_HANDED, "{now} is held then"))


def _can_contain(case: BoundRule) -> None:
    thing, receptacle = case.value("?o"), case.value("?r")
    if receptacle is UNKNOWN:
        return
    scene = case.room.scene
    kind = scene.kinds[case.room.receptacles[receptacle]]
    why = f"no {str(thing).rpartition('_')[0]} goes in or on {receptacle}"
    case.of_kind(lambda each: (kind, scene.kinds.get(each, "")) in scene.can_contain, why)


def _nothing(case: BoundRule) -> None:
    """Do nothing: other conditions imply this one."""


NEEDS: Mapping[str, Callable[[BoundRule], None]] = {
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
"""Condition, as the domain writes it, to its meaning for an action with its arguments."""


def _change(name: str, *of: str, to: Hashable = UNKNOWN) -> Callable[[BoundRule], None]:
    """Return the change of a fact about some arguments, to a value or to the last of them."""
    facts = of if to is not UNKNOWN else of[:-1]

    def change(case: BoundRule) -> None:
        fact = Fact(name, tuple(map(case.value, facts)))
        case.changes.append(Change(fact, case.value(of[-1]) if to is UNKNOWN else to))

    return change


CHANGES: Mapping[str, Callable[[BoundRule], None]] = {
    "(atlocation ?a ?lend)": _change("location", "?r"),
    "(holds ?a ?o)": _change("holding", "?o"),
    "(not (holds ?a ?o))": _change("holding", to=EMPTY_HANDED),
    "(opened ?r)": _change("opened", "?r", to=True),
    "(not (opened ?r))": _change("opened", "?r", to=False),
    "(inreceptacle ?o ?r)": _change("inside", "?o", "?r", to=True),
    "(not (inreceptacle ?o ?r))": _change("inside", "?o", "?r", to=False),
}
"""Effects that other actions depend on; nothing depends on the rest (clean, hot, looked at)."""


ACTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "go_to": ("gotolocation", ("?r",)),
    "open": ("openobject", ("?r",)),
    "close": ("closeobject", ("?r",)),
    "take_from": ("pickupobject", ("?o", "?r")),
    "put_in_or_on": ("putobject", ("?o", "?r")),
    "use": ("toggleobject", ("?o",)),
    "clean_with": ("cleanobject", ("?o", "?r")),
    "heat_with": ("heatobject", ("?o", "?r")),
    "cool_with": ("coolobject", ("?o", "?r")),
}
"""Our actions to the domain's, and the domain's names of their arguments."""


def preconditions(game: AlfworldGame, *, shared_open: bool) -> Preconditions:
    """Return the preconditions of a game. ``shared_open`` is the option ``shared_locations``."""
    room, rules = room_of(game), read_rules(str(game.data["pddl_domain"]))
    deeds = {name: _deed_of(name, room, rules[theirs], names) for name, (theirs, names) in ACTIONS.items()}
    looking = {"look": lambda: Deed(sure=True), "inventory": lambda: Deed(sure=True)}

    def go_to(receptacle: Given) -> Deed:
        return _not_there_yet(room, deeds["go_to"](receptacle), receptacle, shared_open)

    def examine(thing: Given) -> Deed:
        if thing is UNKNOWN or thing not in room.receptacles:
            named = {} if thing is UNKNOWN or _kind(thing) in map(_kind, room.receptacles) else {"?o": thing}
            not_here = Need.equal(HOLDING, thing, f"{thing} is no receptacle of this room, and not held then")
            return Deed([not_here], impossible=next(_misnamed(BoundRule(room, named)), ""))
        return Deed([at(room, thing)])

    return Preconditions(
        {**deeds, **looking, "go_to": go_to, "examine": examine},
        start={HOLDING: EMPTY_HANDED, LOCATION: START},
        usual={"opened": False},
        attributes={"holding": HOLDING, "location": LOCATION},
    )


def _not_there_yet(room: KnownRoom, deed: Deed, receptacle: Given, shared_open: bool) -> Deed:
    """Add the need to be elsewhere: the domain allows going anywhere, the game only where something changes."""
    if receptacle is UNKNOWN or deed.impossible:
        return deed

    def elsewhere(now: str) -> bool:
        return now != receptacle if shared_open else room.place(now) != room.place(receptacle)

    there = f"the agent is at {{now}} then, and {receptacle} is there"
    return Deed([*deed.needs, Need.that(LOCATION, elsewhere, there)], deed.changes, sure=deed.sure)


def _deed_of(name: str, room: KnownRoom, rule: DomainAction, names: tuple[str, ...]) -> Callable[..., Deed]:
    def deed(*args: Given) -> Deed:
        case = BoundRule(room, dict(zip(names, args, strict=True)))
        case.impossible = next(_misnamed(case), "")
        if case.impossible:
            return Deed(impossible=case.impossible)
        for part in rule.needs:
            NEEDS[part](case)
        for part in rule.changes:
            if part in CHANGES:
                CHANGES[part](case)
        return Deed(case.needs, case.changes, case.impossible, case.sure)

    return deed


def _kind(thing: str) -> str:
    return thing.rpartition("_")[0]


def _misnamed(case: BoundRule) -> Iterator[str]:
    """Yield the faults of names, whatever the action does with them."""
    for name, thing in case.given.items():
        if thing is UNKNOWN:
            continue
        if not ID.fullmatch(thing):
            yield f"{thing!r} is no id, such as desk_1"
        elif name == "?r" and thing not in case.room.receptacles:
            yield f"there is no receptacle {thing} in this room"
        elif name == "?o" and _kind(thing) not in case.room.kinds:
            yield f"nothing is called {thing}: there is no such kind of object"
