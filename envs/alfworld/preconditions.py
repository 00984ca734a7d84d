"""Preconditions of household actions, as stated by the domain that all games share.

They use only what an agent may know in advance: the receptacles of the room, which of them can be opened or
share a location, and what can be done with each kind of object. The places of objects are unknown.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from planbook.envs.alfworld.direct import ABLE
from planbook.envs.alfworld.engine import AlfworldGame
from planbook.envs.alfworld.scene import read_scene
from planbook.envs.alfworld.wording import EMPTY_HANDED, ID, START, read_dialect
from planbook.envs.preconditions import UNKNOWN, Change, Deed, Fact, Given, Need, Preconditions

HOLDING, LOCATION = Fact("holding"), Fact("location")
DeedFunction = Callable[..., Deed]
_KIND = re.compile(r"(\w+)type - otype")
_DONE = {"heat": "heated", "cool": "cooled", "clean": "cleaned"}


class KnownRoom:
    """The knowledge that an agent may have of a game before it looks around, and the deed of each action."""

    def __init__(self, game: AlfworldGame, *, shared_open: bool) -> None:
        """``shared_open`` tells whether the option ``shared_locations`` is "open"."""
        problem = str(game.data["pddl_problem"])
        self.scene, self._shared_open = read_scene(problem), shared_open
        self._machines = read_dialect(str(game.data["pddl_domain"]), str(game.data["grammar"])).machines
        names = self.scene.names
        self._receptacles = {names[entity].replace(" ", "_"): entity for entity in self.scene.places if entity in names}
        self._objects: dict[str, list[str]] = defaultdict(list)
        for entity, name in names.items():
            if entity not in self.scene.places:
                self._objects[name.partition(" ")[0]].append(entity)
        self._kinds = {*_KIND.findall(problem.lower()), *self._objects}
        """Every kind of object that the game knows, even if the room has none."""

    def deeds(self) -> Mapping[str, DeedFunction]:
        """Return, by action, the functions that return deeds: of all actions with arguments except ``examine``."""
        on_places: dict[str, DeedFunction] = {"go_to": self._go_to, "open": self._open, "close": self._close}
        on_things: dict[str, DeedFunction] = {"use": self._use, "take_from": self._take_from, "put_in_or_on": self._put}
        on_things |= {f"{verb}_with": partial(self._treat, verb) for verb in ABLE}
        deeds: dict[str, DeedFunction] = {}
        deeds |= {name: partial(self._deed, deed, ("receptacle",)) for name, deed in on_places.items()}
        return deeds | {name: partial(self._deed, deed, ("object", "receptacle")) for name, deed in on_things.items()}

    def examine(self, thing: Given) -> Deed:
        """Return the deed of examining a receptacle, or the object in hand."""
        if thing in self._receptacles:
            return Deed([self._at(thing)])
        receptacle_kind = thing is UNKNOWN or _kind(thing) in map(_kind, self._receptacles)
        held = Need.equal(HOLDING, thing, f"{thing} is no receptacle of this room, and not held then")
        return Deed([held], impossible="" if receptacle_kind else self._name_fault(thing, "object"))

    def _deed(self, deed: DeedFunction, nouns: Sequence[str], *args: Given) -> Deed:
        """Return the deed, or an impossible one if an argument is not a possible name."""
        faults = [self._name_fault(thing, noun) for thing, noun in zip(args, nouns, strict=False)]
        why = next(filter(None, faults), "")
        return Deed(impossible=why) if why else deed(*args)

    def _name_fault(self, thing: Given, noun: str) -> str:
        if thing is UNKNOWN:
            return ""
        if not ID.fullmatch(thing):
            return f"{thing!r} is no id, such as desk_1"
        if noun == "receptacle":
            return "" if thing in self._receptacles else f"there is no receptacle {thing} in this room"
        known = _kind(thing) in self._kinds
        return "" if known else f"nothing is called {thing}: there is no such kind of object"

    # Actions.

    def _go_to(self, receptacle: Given) -> Deed:
        """Return the deed of going somewhere. The domain allows any destination, the game only a different place."""

        def elsewhere(now: str) -> bool:
            return now != receptacle if self._shared_open else self._place(now) != self._place(receptacle)

        there = f"the agent is at {{now}} then, and {receptacle} is there"
        needs = [] if receptacle is UNKNOWN else [Need.that(LOCATION, elsewhere, there)]
        return Deed(needs, [Change(LOCATION, receptacle)], sure=True)

    def _open(self, receptacle: Given, opened: bool = False) -> Deed:
        why = "" if self._can_be_opened(receptacle) else f"{receptacle} is nothing that can be opened"
        change = Change(Fact("opened", (receptacle,)), not opened)
        return Deed([*self._here(receptacle), _opened_need(receptacle, opened)], [change], why, sure=True)

    def _close(self, receptacle: Given) -> Deed:
        return self._open(receptacle, opened=True)

    def _take_from(self, thing: Given, receptacle: Given) -> Deed:
        inside = Fact("inside", (thing, receptacle))
        there = Need.equal(inside, True, f"{thing} is not in or on {receptacle} then")
        empty = Need.equal(HOLDING, EMPTY_HANDED, "{now} is held then")
        needs = [*self._here(receptacle), there, empty, *self._accessible(receptacle)]
        why, sure = self._able(thing, "pickupable", "taken")
        return Deed(needs, [Change(inside, False), Change(HOLDING, thing)], why, sure)

    def _put(self, thing: Given, receptacle: Given) -> Deed:
        needs = [*_held_needs(thing), *self._here(receptacle), *self._accessible(receptacle)]
        changes = [Change(Fact("inside", (thing, receptacle)), True), Change(HOLDING, EMPTY_HANDED)]
        if receptacle is UNKNOWN:
            return Deed(needs, changes, sure=True)
        scene, kind = self.scene, self.scene.kinds[self._receptacles[receptacle]]
        fitting = [(kind, scene.kinds.get(entity, "")) in scene.can_contain for entity in self._same_kind(thing)]
        why = f"no {str(thing).rpartition('_')[0]} goes in or on {receptacle}" if fitting and not any(fitting) else ""
        return Deed(needs, changes, why, sure=bool(fitting) and all(fitting))

    def _use(self, thing: Given) -> Deed:
        return Deed(impossible=self._able(thing, "toggleable", "turned on")[0])

    def _treat(self, verb: str, thing: Given, receptacle: Given) -> Deed:
        why, sure = self._able(thing, ABLE[verb], _DONE[verb])
        kinds = sorted(self._machines[verb])
        if receptacle is not UNKNOWN and self.scene.kinds[self._receptacles[receptacle]] not in kinds:
            machines = " or ".join(kind.removesuffix("type") for kind in kinds)
            why = why or f"{receptacle} is no {machines}"
        return Deed([*self._here(receptacle), *_held_needs(thing)], impossible=why, sure=sure)

    # Needs.

    def _place(self, receptacle: str) -> str:
        """Return the location of a receptacle; for START, the one where the agent begins."""
        return self.scene.start.at if receptacle == START else self.scene.places[self._receptacles[receptacle]]

    def _at(self, receptacle: str) -> Need:
        place, why = self._place(receptacle), f"the agent is at {{now}} then, not at {receptacle}"
        return Need.that(LOCATION, lambda now: self._place(now) == place, why)

    def _here(self, receptacle: Given) -> list[Need]:
        return [] if receptacle is UNKNOWN else [self._at(receptacle)]

    def _accessible(self, receptacle: Given) -> list[Need]:
        has_door = receptacle is not UNKNOWN and self._can_be_opened(receptacle)
        return [_opened_need(receptacle, True)] if has_door else []

    def _can_be_opened(self, receptacle: Given) -> bool:
        return receptacle is UNKNOWN or self._receptacles[receptacle] in self.scene.has("openable")

    def _same_kind(self, thing: Given) -> Sequence[str]:
        return () if thing is UNKNOWN else self._objects.get(_kind(thing), ())

    def _able(self, thing: Given, mark: str, done: str) -> tuple[str, bool]:
        """Return why no object of a thing's kind has the predicate ``mark``, or "", and whether all have it."""
        marked = [entity in self.scene.has(mark) for entity in self._same_kind(thing)]
        why = f"{thing} is nothing that can be {done}" if marked and not any(marked) else ""
        return why, bool(marked) and all(marked)


def _opened_need(receptacle: Given, is_open: bool) -> Need:
    why = f"{receptacle} is {'closed' if is_open else 'open'} then"
    return Need.equal(Fact("opened", (receptacle,)), is_open, why)


def _held_needs(thing: Given) -> list[Need]:
    some = Need.that(HOLDING, lambda now: now != EMPTY_HANDED, "nothing is held then")
    return [some, Need.equal(HOLDING, thing, "{now} is held then")]


def _kind(thing: str) -> str:
    return thing.rpartition("_")[0]


def preconditions(game: AlfworldGame, *, shared_open: bool) -> Preconditions:
    """Return the preconditions of a game."""
    room = KnownRoom(game, shared_open=shared_open)
    looking = {name: lambda: Deed(sure=True) for name in ("look", "inventory")}
    return Preconditions(
        {**room.deeds(), **looking, "examine": room.examine},
        start={HOLDING: EMPTY_HANDED, LOCATION: START},
        defaults={"opened": False},
        attributes={"holding": HOLDING, "location": LOCATION},
    )
