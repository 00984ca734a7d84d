"""The split 'generated': games made from what the alfworld wheel ships, without any download.

A game follows from its type and seed alone. Each is won by a search with full knowledge before it is given out.
"""

from functools import lru_cache
from random import Random
from typing import NamedTuple

from planbook.envs.alfworld import wheel
from planbook.envs.alfworld.direct import Direct
from planbook.envs.alfworld.engine import Game
from planbook.envs.alfworld.problem import mangled, problem_text
from planbook.envs.alfworld.room import LAMP, Room, furnish, kind_of, strew
from planbook.envs.alfworld.search import Wanted, find_plan
from planbook.envs.alfworld.task_types import GAME_TYPES, params_of
from planbook.envs.errors import WorldBroken

SPLIT = "generated"
SEEDS = 100
"""How many games a type has unless a selection says otherwise."""
MOST_RECEPTACLES = 24
"""Rooms with more are not used: looking into each would take more than the paper's 50 actions."""
_ATTEMPTS = 200
_ROOMS = {
    "pick_and_place": ("Kitchen", "LivingRoom", "Bathroom", "Bedroom"),
    "pick_clean_then_place": ("Kitchen", "Bathroom"),
    "pick_heat_then_place": ("Kitchen",),
    "pick_cool_then_place": ("Kitchen",),
    "look_at_obj": ("LivingRoom", "Bedroom"),
    "pick_two_obj": ("Kitchen", "LivingRoom", "Bathroom", "Bedroom"),
}
"""Where tasks of a type are set, as in alfworld."""
_CHANGES = {"pick_clean_then_place": "clean", "pick_heat_then_place": "heat", "pick_cool_then_place": "cool"}
_ABILITIES = {"clean": "Cleanable", "heat": "Heatable", "cool": "Coolable"}
_MACHINES = {"clean": "SinkBasin", "heat": "Microwave", "cool": "Fridge"}


class Made(NamedTuple):
    """A game and its goal sentence."""

    goal: str
    game: Game


def game_id(kind: str, seed: int) -> str:
    """``generated/pick_two_obj/7``."""
    return f"{SPLIT}/{kind}/{seed}"


def goal_of(kind: str, seed: int) -> str:
    """The goal sentence of a game."""
    return _made(kind, seed).goal


def make(kind: str, seed: int) -> Game:
    """The game of a type and a seed: the same in every process."""
    return _made(kind, seed).game


@lru_cache(maxsize=16)
def _made(kind: str, seed: int) -> Made:
    rng = Random(game_id(kind, seed))
    for _ in range(_ATTEMPTS):
        made = _attempt(kind, seed, rng)
        if made is not None and _is_worth_playing(kind, made):
            return made
    raise WorldBroken(f"alfworld: no solvable game of type {kind!r} came out of seed {seed}; choose another seed")


def _attempt(kind: str, seed: int, rng: Random) -> Made | None:
    facts = wheel.facts()
    first, stop = wheel.ROOMS[rng.choice(_ROOMS[kind])]
    room = furnish(wheel.floor_plan(rng.randrange(first, stop)), facts, rng)
    choices = _choices(kind, room, facts)
    if not choices or len(room.places) > MOST_RECEPTACLES:
        return None
    thing, target = rng.choice(choices)
    _make_room_for_task(kind, room, thing, target, facts, rng)
    return _game(kind, seed, room, thing, target, rng.choice(wheel.goals()[GAME_TYPES[kind]]["templates"]))


def _choices(kind: str, room: Room, facts: wheel.Facts) -> list[tuple[str, str]]:
    """The pairs of object kind and target (or lamp) that the task could be about in this room."""
    things = sorted({kind_of(thing) for thing in room.inside} - {*facts.able["Toggleable"]})
    if kind == "look_at_obj":
        return [(thing, LAMP) for thing in things] if room.objects(LAMP) else []
    if change := _CHANGES.get(kind):
        things = [
            thing for thing in things if thing in facts.able[_ABILITIES[change]] and room.of_kind(_MACHINES[change])
        ]
    targets = sorted({kind_of(receptacle) for receptacle in room.places})
    return [(thing, target) for thing in things for target in targets if thing in facts.holds[target]]


def _make_room_for_task(kind: str, room: Room, thing: str, target: str, facts: wheel.Facts, rng: Random) -> None:
    """Strew the objects that the task is about anew, so that none is where it is to go."""
    if kind == "look_at_obj":
        return
    count = max(len(room.objects(thing)), 2 if kind == "pick_two_obj" else 1)
    for old in room.objects(thing):
        del room.inside[old]
    strew(room, thing, count, facts, rng, without=target)


def _game(kind: str, seed: int, room: Room, thing: str, target: str, template: str) -> Made:
    goals = wheel.goals()[GAME_TYPES[kind]]
    sentence = template.format(obj=thing.lower(), recep=target.lower(), toggle=target.lower(), mrecep="")
    formal = goals["pddl"].replace("#", "-").format(obj=thing, recep=target, toggle=target, mrecep="")
    name = mangled(f"{room.plan}_{kind}_{seed}")
    data = {
        "pddl_domain": wheel.domain(),
        "grammar": wheel.grammar().replace("UNKNOWN GOAL", sentence),
        "pddl_problem": problem_text(name, room, wheel.facts(), formal),
        "solvable": True,
    }
    return Made(sentence, Game(game_id(kind, seed), data))


def wanted(kind: str, goal: str) -> Wanted:
    """What the search is to look for."""
    said = {key: str(value) for key, value in params_of(goal).items()}
    return Wanted(
        object=said["object"],
        target=said.get("target", ""),
        lamp=said.get("lamp", ""),
        change=_CHANGES.get(kind, ""),
        count=int(said.get("count", "1")),
    )


def _is_worth_playing(kind: str, made: Made) -> bool:
    engine = Direct()
    engine.load(made.game)
    return not engine.reset().won and find_plan(engine, wanted(kind, made.goal)) is not None
