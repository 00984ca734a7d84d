"""What planners may know about a game: the preconditions of actions, and the goals for the method DEPS.

With the preconditions, a dry run can check a plan before it runs. They follow from the PDDL domain, which states the
same rules in all games. They use only what an agent may know in advance: the receptacles of the room, which of them can
be opened, which of them share a location, and what can be done with each kind of object. They do not use the places of
objects.

DEPS chooses one of several goals. Then a controller, which is a model, chooses the actions that reach this goal. The
goals are those in appendix A.1 of the DEPS paper.
"""

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

from planbook.envs.alfworld.engines import TREATABLE, AlfworldGame
from planbook.envs.alfworld.generated import MACHINES
from planbook.envs.alfworld.scene import read_scene
from planbook.envs.alfworld.wording import EMPTY_HANDED, ID, START, read_dialect
from planbook.envs.optional import Goals
from planbook.envs.preconditions import UNKNOWN, ArgValue, Change, Contract, Fact, Need, Preconditions
from planbook.envs.types import Action, ActionSpec

HOLDING, LOCATION = Fact("holding"), Fact("location")
MakeContract = Callable[..., Contract]
_KIND = re.compile(r"(\w+)type - otype")
_PARTICIPLES = {"heat": "heated", "cool": "cooled", "clean": "cleaned"}


def preconditions(game: AlfworldGame, *, shared_open: bool) -> Preconditions:
    """Return the preconditions of a game's actions.

    ``shared_open`` is True if the option ``shared_locations`` is "open".
    """
    room = KnownRoom(game, shared_open=shared_open)
    looking = {name: lambda: Contract(sure=True) for name in ("look", "inventory")}
    return Preconditions(
        {**room.contracts(), **looking, "examine": room.examine},
        start={HOLDING: EMPTY_HANDED, LOCATION: START},
        defaults={"opened": False},
        attributes={"holding": HOLDING, "location": LOCATION},
    )


class KnownRoom:
    """What an agent may know about a game before it looks around, and the contracts of actions that follow from this.

    A contract says what an action needs, and what it changes.
    """

    def __init__(self, game: AlfworldGame, *, shared_open: bool) -> None:
        """``shared_open`` is True if the option ``shared_locations`` is "open"."""
        problem = game.text("pddl_problem")
        self.scene, self._shared_open = read_scene(problem), shared_open
        self._machines = read_dialect(game.text("pddl_domain"), game.text("grammar")).machines
        names = self.scene.names
        self._receptacles = {names[entity].replace(" ", "_"): entity for entity in self.scene.places if entity in names}
        self._objects: dict[str, list[str]] = defaultdict(list)
        for entity, name in names.items():
            if entity not in self.scene.places:
                self._objects[name.partition(" ")[0]].append(entity)
        self._kinds = {*_KIND.findall(problem.lower()), *self._objects}
        """All kinds of objects in the game's rules, including kinds of which the room has no object."""

    def contracts(self) -> Mapping[str, MakeContract]:
        """Return a dict that maps each action with arguments, except ``examine``, to a function for its contract."""
        on_places: dict[str, MakeContract] = {"go_to": self._go_to, "open": self._open, "close": self._close}
        on_things: dict[str, MakeContract] = {"use": self._use, "take_from": self._take_from, "put_in_or_on": self._put}
        on_things |= {f"{verb}_with": partial(self._treat, verb) for verb in TREATABLE}
        nouns = ("object", "receptacle")
        contracts = {name: partial(self._checked, make, nouns[1:]) for name, make in on_places.items()}
        return contracts | {name: partial(self._checked, make, nouns) for name, make in on_things.items()}

    def examine(self, thing: ArgValue) -> Contract:
        """Return the contract of examining a receptacle or the object in hand."""
        if thing in self._receptacles:
            return Contract([self._at_need(thing)])
        receptacle_kind = thing is UNKNOWN or _kind(thing) in map(_kind, self._receptacles)
        held = Need.equal(HOLDING, thing, f"{thing} is neither a receptacle in this room nor held")
        return Contract([held], impossible="" if receptacle_kind else self._name_fault(thing, "object"))

    def _checked(self, make: MakeContract, nouns: Sequence[str], *args: ArgValue) -> Contract:
        """Return the contract of a call. If an argument names something that cannot exist, the call is impossible.

        ``nouns`` says for each argument whether it must be a "receptacle" or an "object".
        """
        faults = [self._name_fault(thing, noun) for thing, noun in zip(args, nouns, strict=False)]
        fault = next(filter(None, faults), "")
        return Contract(impossible=fault) if fault else make(*args)

    def _name_fault(self, thing: ArgValue, noun: str) -> str:
        if thing is UNKNOWN:
            return ""
        if not ID.fullmatch(thing):
            return f"{thing!r} is not an id such as desk_1"
        if noun == "receptacle":
            return "" if thing in self._receptacles else f"there is no receptacle {thing} in this room"
        known = _kind(thing) in self._kinds
        return "" if known else f"nothing is called {thing}: there is no such kind of object"

    # Actions.

    def _go_to(self, receptacle: ArgValue) -> Contract:
        """Return the contract of going to a receptacle.

        In the PDDL domain, the agent can go to any receptacle. The game refuses receptacles at the current location.
        """

        def is_elsewhere(now: str) -> bool:
            return now != receptacle if self._shared_open else self._location(now) != self._location(receptacle)

        reason = f"the agent is at {{now}}, and {receptacle} is there"
        needs = [] if receptacle is UNKNOWN else [Need.satisfies(LOCATION, is_elsewhere, reason)]
        return Contract(needs, [Change(LOCATION, receptacle)], sure=True)

    def _open(self, receptacle: ArgValue, opened: bool = False) -> Contract:
        reason = "" if self._can_be_opened(receptacle) else f"{receptacle} cannot be opened"
        change = Change(Fact("opened", (receptacle,)), not opened)
        return Contract([*self._here_needs(receptacle), _opened_need(receptacle, opened)], [change], reason, sure=True)

    def _close(self, receptacle: ArgValue) -> Contract:
        return self._open(receptacle, opened=True)

    def _take_from(self, thing: ArgValue, receptacle: ArgValue) -> Contract:
        inside = Fact("inside", (thing, receptacle))
        is_inside = Need.equal(inside, True, f"{thing} is not in or on {receptacle}")
        empty_handed = Need.equal(HOLDING, EMPTY_HANDED, "{now} is held")
        needs = [*self._here_needs(receptacle), is_inside, empty_handed, *self._accessible_needs(receptacle)]
        reason, sure = self._check_ability(thing, "pickupable", "taken")
        return Contract(needs, [Change(inside, False), Change(HOLDING, thing)], reason, sure)

    def _put(self, thing: ArgValue, receptacle: ArgValue) -> Contract:
        needs = [*_held_needs(thing), *self._here_needs(receptacle), *self._accessible_needs(receptacle)]
        changes = [Change(Fact("inside", (thing, receptacle)), True), Change(HOLDING, EMPTY_HANDED)]
        if receptacle is UNKNOWN:
            return Contract(needs, changes, sure=True)
        scene, kind = self.scene, self.scene.kinds[self._receptacles[receptacle]]
        fits = [(kind, scene.kinds.get(entity, "")) in scene.can_contain for entity in self._same_kind(thing)]
        reason = f"no {str(thing).rpartition('_')[0]} fits in or on {receptacle}" if fits and not any(fits) else ""
        return Contract(needs, changes, reason, sure=bool(fits) and all(fits))

    def _use(self, thing: ArgValue) -> Contract:
        return Contract(impossible=self._check_ability(thing, "toggleable", "turned on")[0])

    def _treat(self, verb: str, thing: ArgValue, receptacle: ArgValue) -> Contract:
        reason, sure = self._check_ability(thing, TREATABLE[verb], _PARTICIPLES[verb])
        kinds = sorted(self._machines[verb])
        if receptacle is not UNKNOWN and self.scene.kinds[self._receptacles[receptacle]] not in kinds:
            machines = " or ".join(kind.removesuffix("type") for kind in kinds)
            reason = reason or f"{receptacle} is not a {machines}"
        return Contract([*self._here_needs(receptacle), *_held_needs(thing)], impossible=reason, sure=sure)

    # Needs.

    def _location(self, receptacle: str) -> str:
        """Return the location of a receptacle or, for START, the location at which the agent begins."""
        return self.scene.start.at if receptacle == START else self.scene.places[self._receptacles[receptacle]]

    def _at_need(self, receptacle: str) -> Need:
        location, reason = self._location(receptacle), f"the agent is at {{now}}, not at {receptacle}"
        return Need.satisfies(LOCATION, lambda now: self._location(now) == location, reason)

    def _here_needs(self, receptacle: ArgValue) -> list[Need]:
        return [] if receptacle is UNKNOWN else [self._at_need(receptacle)]

    def _accessible_needs(self, receptacle: ArgValue) -> list[Need]:
        has_door = receptacle is not UNKNOWN and self._can_be_opened(receptacle)
        return [_opened_need(receptacle, True)] if has_door else []

    def _can_be_opened(self, receptacle: ArgValue) -> bool:
        return receptacle is UNKNOWN or self._receptacles[receptacle] in self.scene.entities_with("openable")

    def _same_kind(self, thing: ArgValue) -> Sequence[str]:
        return () if thing is UNKNOWN else self._objects.get(_kind(thing), ())

    def _check_ability(self, thing: ArgValue, predicate: str, participle: str) -> tuple[str, bool]:
        """Check whether the objects of a thing's kind have a predicate, and return a reason and a flag.

        If no object of the kind has the predicate, the reason says so. Otherwise it is "". The flag is True if all
        objects of the kind have the predicate.
        """
        able = [entity in self.scene.entities_with(predicate) for entity in self._same_kind(thing)]
        reason = f"{thing} cannot be {participle}" if able and not any(able) else ""
        return reason, bool(able) and all(able)


def _opened_need(receptacle: ArgValue, is_open: bool) -> Need:
    reason = f"{receptacle} is {'closed' if is_open else 'open'}"
    return Need.equal(Fact("opened", (receptacle,)), is_open, reason)


def _held_needs(thing: ArgValue) -> list[Need]:
    holding = Need.satisfies(HOLDING, lambda now: now != EMPTY_HANDED, "nothing is held")
    return [holding, Need.equal(HOLDING, thing, "{now} is held")]


def _kind(thing: str) -> str:
    return thing.rpartition("_")[0]


# The goals for DEPS.


class Household(Protocol):
    """The signatures of the goals. ``object`` is a kind, such as mug, or the id of an object, such as mug_2.

    The docstrings of the methods are part of prompts.
    """

    def find(self, object: str) -> str:
        """Look into one receptacle after another until an object of that kind is seen."""

    def pick(self, object: str, place: str = "") -> str:
        """Take an object of that kind from a receptacle such as fridge_1, or if none is given, from where it was seen.

        The hands must be empty.
        """

    def put(self, object: str, place: str) -> str:
        """Put the object in hand in or on the receptacle."""

    def clean(self, object: str, place: str) -> str:
        """Clean the object in hand with a sinkbasin."""

    def heat(self, object: str, place: str) -> str:
        """Heat the object in hand with a microwave."""

    def cool(self, object: str, place: str) -> str:
        """Cool the object in hand with a fridge."""

    def use(self, object: str, place: str) -> str:
        """Turn on a lamp at the receptacle. The object in hand stays in hand, and is looked at under the lamp."""

    def open(self, place: str) -> str:
        """Open the receptacle, and see what is in it."""


_EXAMPLES = {
    "find": "agent.find('mug')",
    "pick": "agent.pick('mug', 'shelf_1'), or agent.pick('mug') after agent.find('mug')",
    "put": "agent.put('mug', 'cabinet_2')",
    "clean": "agent.clean('mug', 'sinkbasin_1')",
    "heat": "agent.heat('mug', 'microwave_1')",
    "cool": "agent.cool('mug', 'fridge_1')",
    "use": "agent.use('desklamp', 'desk_1')",
    "open": "agent.open('drawer_3')",
}


def _spec(name: str) -> ActionSpec:
    function = vars(Household)[name]
    return ActionSpec(name, function, inspect.getdoc(function) or "", _EXAMPLES[name])


SPECS: Mapping[str, ActionSpec] = {name: _spec(name) for name in _EXAMPLES}


class AlfworldGoals(Goals):
    """The goals of ALFWorld. Each of them takes several actions, which a controller chooses."""

    direct = False

    @property
    def specs(self) -> Mapping[str, ActionSpec]:
        """Maps the name of each goal to its specification. Plans name these goals, not the environment's actions."""
        return SPECS

    def known(self) -> Sequence[Action]:
        """Return the goals for each kind of object that the task names, and for each receptacle of the room."""
        task = self.environment.task
        params = self.environment.public_params(task) if task else {}
        kinds = [str(params[name]) for name in ("object", "lamp") if name in params]
        places = list(dict.fromkeys(ID.findall(self.environment.scene())))
        return [*(Action("find", (kind,)) for kind in kinds), *_at_places(kinds, places)]


def _at_places(kinds: Sequence[str], places: Sequence[str]) -> Iterator[Action]:
    for place in places:
        yield Action("open", (place,))
        for kind in kinds:
            yield from (Action(name, (kind, place)) for name in ("pick", "put", "use"))
            treatments = [name for name, machine in MACHINES.items() if place.startswith(f"{machine.lower()}_")]
            yield from (Action(name, (kind, place)) for name in treatments)
