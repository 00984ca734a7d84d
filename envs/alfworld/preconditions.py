"""What the actions of a household need, derived from the domain in the game's file.

Of the game itself this tells what an agent may know beforehand: the receptacles of the room, which of them can be
opened and which stand in one place, and what can be done with each kind of object. Where objects are is for the agent
to find out.
"""

from collections.abc import Callable, Iterator, Mapping

from planbook.envs.alfworld.conditions import CHANGES, HOLDING, LOCATION, NEEDS, Case, Room, at, room_of
from planbook.envs.alfworld.engine import Game
from planbook.envs.alfworld.rules import Rule, read_rules
from planbook.envs.alfworld.text import EMPTY_HANDED, ID, START
from planbook.envs.preconditions import UNKNOWN, Deed, Given, Need, Preconditions

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
"""Our actions to the domain's, and what the domain calls their arguments."""


def preconditions(game: Game, *, shared_open: bool) -> Preconditions:
    """What a game's actions need. ``shared_open`` lets go_to look into what else stands where the agent is."""
    room, rules = room_of(game), read_rules(str(game.data["pddl_domain"]))
    deeds = {name: _deed_of(name, room, rules[theirs], names) for name, (theirs, names) in ACTIONS.items()}
    looking = {"look": lambda: Deed(sure=True), "inventory": lambda: Deed(sure=True)}

    def go_to(receptacle: Given) -> Deed:
        return _not_there_yet(room, deeds["go_to"](receptacle), receptacle, shared_open)

    def examine(thing: Given) -> Deed:
        if thing is UNKNOWN or thing not in room.receptacles:
            named = {} if thing is UNKNOWN or _kind(thing) in map(_kind, room.receptacles) else {"?o": thing}
            not_here = Need.equal(HOLDING, thing, f"{thing} is no receptacle of this room, and not held then")
            return Deed([not_here], impossible=next(_misnamed(Case(room, named)), ""))
        return Deed([at(room, thing)])

    return Preconditions(
        {**deeds, **looking, "go_to": go_to, "examine": examine},
        start={HOLDING: EMPTY_HANDED, LOCATION: START},
        usual={"opened": False},
        attributes={"holding": HOLDING, "location": LOCATION},
    )


def _not_there_yet(room: Room, deed: Deed, receptacle: Given, shared_open: bool) -> Deed:
    """Going is what the domain lets one do anywhere; the game does not admit it where nothing would change."""
    if receptacle is UNKNOWN or deed.impossible:
        return deed

    def elsewhere(now: str) -> bool:
        return now != receptacle if shared_open else room.place(now) != room.place(receptacle)

    there = f"the agent is at {{now}} then, and {receptacle} is there"
    return Deed([*deed.needs, Need.that(LOCATION, elsewhere, there)], deed.changes, sure=deed.sure)


def _deed_of(name: str, room: Room, rule: Rule, names: tuple[str, ...]) -> Callable[..., Deed]:
    def deed(*args: Given) -> Deed:
        case = Case(room, dict(zip(names, args, strict=True)))
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


def _misnamed(case: Case) -> Iterator[str]:
    """What is wrong with names, whatever is done with them."""
    for name, thing in case.given.items():
        if thing is UNKNOWN:
            continue
        if not ID.fullmatch(thing):
            yield f"{thing!r} is no id, such as desk_1"
        elif name == "?r" and thing not in case.room.receptacles:
            yield f"there is no receptacle {thing} in this room"
        elif name == "?o" and _kind(thing) not in case.room.kinds:
            yield f"nothing is called {thing}: there is no such kind of object"
