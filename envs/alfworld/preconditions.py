"""The preconditions of ALFWorld's actions, against which a dry run checks a plan.

They follow from the PDDL domain, which states the same rules in all games. They use only what an agent may know in
advance: the receptacles of the room, which of them can be opened, which of them share a location, and what can be done
with each kind of object. They do not use the places of objects.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from planbook.envs.alfworld.engines import TREATABLE, AlfworldGame
from planbook.envs.alfworld.scene import read_scene
from planbook.envs.alfworld.wording import EMPTY_HANDED, ID, START, read_dialect
from planbook.envs.preconditions import UNKNOWN, ArgValue, Change, Contract, Fact, Need, Preconditions

HOLDING, LOCATION = Fact("holding"), Fact("location")
MakeContract = Callable[..., Contract]
_KIND = re.compile(r"(\w+)type - otype")
_PARTICIPLES = {"heat": "heated", "cool": "cooled", "clean": "cleaned"}


def preconditions(game: AlfworldGame, *, shared_open: bool) -> Preconditions:
    """Return the preconditions of a game's actions.

    ``shared_open`` is True if the option ``shared_locations`` is "open".
    """
    room = KnownRoom(game, shared_open=shared_open)
    observing = {name: lambda *_: Contract(needs_suffice=True) for name in ("look", "inventory", "examine")}
    return Preconditions(
        {**room.contracts(), **observing},
        start={HOLDING: EMPTY_HANDED, LOCATION: START},
        defaults={"opened": False},
        attributes={"holding": HOLDING, "location": LOCATION},
    )


class KnownRoom:
    """The facts about a game that an agent may know in advance, and the contracts of actions that follow from them."""

    def __init__(self, game: AlfworldGame, *, shared_open: bool) -> None:
        problem = game.text("pddl_problem")
        self.scene = scene = read_scene(problem)
        self._shared_open = shared_open
        self._receptacle_kinds = read_dialect(game.text("pddl_domain"), game.text("grammar")).receptacle_kinds
        names = scene.names
        self._receptacles = {names[entity].replace(" ", "_"): entity for entity in scene.locations if entity in names}
        self._objects: dict[str, list[str]] = defaultdict(list)
        for entity, name in names.items():
            if entity not in scene.locations:
                self._objects[name.partition(" ")[0]].append(entity)
        self._kinds = {*_KIND.findall(problem.lower()), *self._objects}
        """All kinds of objects in the game's rules, including kinds of which the room has no object."""

    def contracts(self) -> Mapping[str, MakeContract]:
        """Return a dict that maps each action that needs or changes a fact to the function that makes its contract."""
        close = partial(self._open, opened=True)
        on_places: dict[str, MakeContract] = {"go_to": self._go_to, "open": self._open, "close": close}
        on_things: dict[str, MakeContract] = {"use": self._use, "take_from": self._take_from, "put_in_or_on": self._put}
        on_things |= {f"{verb}_with": partial(self._treat, verb) for verb in TREATABLE}
        nouns = ("object", "receptacle")
        contracts = {name: partial(self._checked, make, nouns[1:]) for name, make in on_places.items()}
        return contracts | {name: partial(self._checked, make, nouns) for name, make in on_things.items()}

    def _checked(self, make: MakeContract, nouns: Sequence[str], *args: ArgValue) -> Contract:
        """Return the contract of a call. If an argument names something that cannot exist, the call is impossible.

        ``nouns`` says for each argument whether it must be a "receptacle" or an "object".
        """
        faults = [self._name_fault(thing, noun) for thing, noun in zip(args, nouns, strict=False)]
        fault = next(filter(None, faults), "")
        return Contract(impossible_reason=fault) if fault else make(*args)

    def _name_fault(self, thing: ArgValue, noun: str) -> str:
        if thing is UNKNOWN:
            return ""
        if not ID.fullmatch(thing):
            return f"{thing!r} is not an id such as desk_1"
        if noun == "receptacle":
            return "" if thing in self._receptacles else f"there is no receptacle {thing} in this room"
        known = _kind(thing) in self._kinds
        return "" if known else f"nothing is called {thing}: there is no such kind of object"

    def _go_to(self, receptacle: ArgValue) -> Contract:
        """Return the contract of going to a receptacle.

        The PDDL domain lets the agent go to any receptacle, but the game refuses those at the agent's location.
        """

        def is_elsewhere(now: str) -> bool:
            return now != receptacle if self._shared_open else self._location(now) != self._location(receptacle)

        reason = f"the agent is at {{now}}, and {receptacle} is there"
        needs = [] if receptacle is UNKNOWN else [Need.satisfies(LOCATION, is_elsewhere, reason)]
        return Contract(needs, [Change(LOCATION, receptacle)], needs_suffice=True)

    def _open(self, receptacle: ArgValue, opened: bool = False) -> Contract:
        reason = "" if self._can_be_opened(receptacle) else f"{receptacle} cannot be opened"
        change = Change(Fact("opened", (receptacle,)), not opened)
        needs = [*self._here_needs(receptacle), _opened_need(receptacle, opened)]
        return Contract(needs, [change], reason, needs_suffice=True)

    def _take_from(self, thing: ArgValue, receptacle: ArgValue) -> Contract:
        inside = Fact("inside", (thing, receptacle))
        is_inside = Need.equal(inside, True, f"{thing} is not in or on {receptacle}")
        empty_handed = Need.equal(HOLDING, EMPTY_HANDED, "{now} is held")
        needs = [*self._here_needs(receptacle), is_inside, empty_handed, *self._accessible_needs(receptacle)]
        reason, always = self._check_ability(thing, "pickupable", "taken")
        return Contract(needs, [Change(inside, False), Change(HOLDING, thing)], reason, always)

    def _put(self, thing: ArgValue, receptacle: ArgValue) -> Contract:
        needs = [*_held_needs(thing), *self._here_needs(receptacle), *self._accessible_needs(receptacle)]
        changes = [Change(Fact("inside", (thing, receptacle)), True), Change(HOLDING, EMPTY_HANDED)]
        if receptacle is UNKNOWN:
            return Contract(needs, changes, needs_suffice=True)
        scene, kind = self.scene, self.scene.kinds[self._receptacles[receptacle]]
        fits = [(kind, scene.kinds.get(entity, "")) in scene.can_contain for entity in self._objects_like(thing)]
        reason = f"no {str(thing).rpartition('_')[0]} fits in or on {receptacle}" if fits and not any(fits) else ""
        return Contract(needs, changes, reason, needs_suffice=bool(fits) and all(fits))

    def _use(self, thing: ArgValue) -> Contract:
        return Contract(impossible_reason=self._check_ability(thing, "toggleable", "turned on")[0])

    def _treat(self, verb: str, thing: ArgValue, receptacle: ArgValue) -> Contract:
        reason, always = self._check_ability(thing, TREATABLE[verb], _PARTICIPLES[verb])
        kinds = sorted(self._receptacle_kinds[verb])
        if receptacle is not UNKNOWN and self.scene.kinds[self._receptacles[receptacle]] not in kinds:
            machines = " or ".join(kind.removesuffix("type") for kind in kinds)
            reason = reason or f"{receptacle} is not a {machines}"
        needs = [*self._here_needs(receptacle), *_held_needs(thing)]
        return Contract(needs, impossible_reason=reason, needs_suffice=always)

    def _location(self, receptacle: str) -> str:
        """Return the location of a receptacle or, for START, the location at which the agent begins."""
        return self.scene.start.at if receptacle == START else self.scene.locations[self._receptacles[receptacle]]

    def _here_needs(self, receptacle: ArgValue) -> list[Need]:
        if receptacle is UNKNOWN:
            return []
        location, reason = self._location(receptacle), f"the agent is at {{now}}, not at {receptacle}"
        return [Need.satisfies(LOCATION, lambda now: self._location(now) == location, reason)]

    def _accessible_needs(self, receptacle: ArgValue) -> list[Need]:
        has_door = receptacle is not UNKNOWN and self._can_be_opened(receptacle)
        return [_opened_need(receptacle, True)] if has_door else []

    def _can_be_opened(self, receptacle: ArgValue) -> bool:
        return receptacle is UNKNOWN or self._receptacles[receptacle] in self.scene.entities_with("openable")

    def _objects_like(self, thing: ArgValue) -> Sequence[str]:
        return () if thing is UNKNOWN else self._objects.get(_kind(thing), ())

    def _check_ability(self, thing: ArgValue, predicate: str, participle: str) -> tuple[str, bool]:
        """Return the reason why a predicate cannot be true of a thing, or "", and whether it must be true.

        Both are judged by the room's objects of the same kind. If the room has none, return "" and False.
        """
        abilities = [entity in self.scene.entities_with(predicate) for entity in self._objects_like(thing)]
        reason = f"{thing} cannot be {participle}" if abilities and not any(abilities) else ""
        return reason, bool(abilities) and all(abilities)


def _opened_need(receptacle: ArgValue, is_open: bool) -> Need:
    reason = f"{receptacle} is {'closed' if is_open else 'open'}"
    return Need.equal(Fact("opened", (receptacle,)), is_open, reason)


def _held_needs(thing: ArgValue) -> list[Need]:
    holding = Need.satisfies(HOLDING, lambda now: now != EMPTY_HANDED, "nothing is held")
    return [holding, Need.equal(HOLDING, thing, "{now} is held")]


def _kind(thing: str) -> str:
    return thing.rpartition("_")[0]
