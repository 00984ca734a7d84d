"""The split ``generated``: games made from seeds and from files in the package alfworld, without any download.

A game depends only on its type and its seed. Every game can be won: its objects lie in receptacles of the room, and it
has the machine, the target or the lamp that its goal needs. A test wins games with a search that knows the whole state.
"""

from functools import lru_cache
from random import Random

from planbook.envs.alfworld import rooms
from planbook.envs.alfworld.direct import TREATABLE
from planbook.envs.alfworld.engine import AlfworldGame
from planbook.envs.alfworld.goals import GAME_TYPES, MACHINES
from planbook.envs.alfworld.rooms import LAMP, FurnishedRoom, furnish, kind_of, pddl_name, place_objects, problem_text
from planbook.envs.errors import EnvironmentBroken

SPLIT = "generated"
SEEDS = 100
"""Number of games of each type, if the selection does not name seeds or a limit."""
MOST_RECEPTACLES = 24
"""Maximum number of receptacles in a room. To look into more would take more than the paper's 50 actions."""
_ATTEMPTS = 200
"""Maximum number of rooms that are tried for one seed."""
_ROOMS = {
    "pick_and_place": ("Kitchen", "LivingRoom", "Bathroom", "Bedroom"),
    "pick_clean_then_place": ("Kitchen", "Bathroom"),
    "pick_heat_then_place": ("Kitchen",),
    "pick_cool_then_place": ("Kitchen",),
    "look_at_obj": ("LivingRoom", "Bedroom"),
    "pick_two_obj": ("Kitchen", "LivingRoom", "Bathroom", "Bedroom"),
}
"""Maps each task type to the types of rooms in which alfworld sets such tasks."""
_TREATMENTS = {"pick_clean_then_place": "clean", "pick_heat_then_place": "heat", "pick_cool_then_place": "cool"}


def game_id(kind: str, seed: int) -> str:
    """Return an id such as ``generated/pick_two_obj/7``."""
    return f"{SPLIT}/{kind}/{seed}"


@lru_cache(maxsize=16)
def make(kind: str, seed: int) -> AlfworldGame:
    """Return the game of a type and a seed. It is the same in every process."""
    rng = Random(game_id(kind, seed))
    for _ in range(_ATTEMPTS):
        if game := _attempt(kind, seed, rng):
            return game
    raise EnvironmentBroken(f"alfworld: seed {seed} makes no solvable game of type {kind!r}; choose another seed")


def _attempt(kind: str, seed: int, rng: Random) -> AlfworldGame | None:
    """Return a random game, or None if the task is not possible in the room that was drawn."""
    room = furnish(rng.randrange(*rooms.ROOMS[rng.choice(_ROOMS[kind])]), rng)
    choices = _choices(kind, room)
    if not choices or len(room.places) > MOST_RECEPTACLES:
        return None
    thing, target = rng.choice(choices)
    _place_task_objects(kind, room, thing, target, rng)
    template = rng.choice(rooms.goals()[GAME_TYPES[kind]]["templates"])
    has_object = room.objects(thing)  # there is none if only the target can hold it
    return _game(kind, seed, room, thing, target, template) if has_object else None


def _choices(kind: str, room: FurnishedRoom) -> list[tuple[str, str]]:
    """Return the possible tasks in a room, as pairs of the kind of object and the target or lamp."""
    facts = rooms.affordances()
    things = sorted({kind_of(thing) for thing in room.inside} - {*facts.kinds_by_ability["Toggleable"]})
    if kind == "look_at_obj":
        return [(thing, LAMP) for thing in things] if room.objects(LAMP) else []
    if treatment := _TREATMENTS.get(kind):
        treatable = facts.kinds_by_ability[TREATABLE[treatment].capitalize()]
        things = [thing for thing in things if thing in treatable and room.of_kind(MACHINES[treatment])]
    targets = sorted({kind_of(receptacle) for receptacle in room.places})
    return [(thing, target) for thing in things for target in targets if thing in facts.holds[target]]


def _place_task_objects(kind: str, room: FurnishedRoom, thing: str, target: str, rng: Random) -> None:
    """Place the task's objects at random, but not in receptacles of the target's kind: something has to be done."""
    if kind == "look_at_obj":
        return
    count = max(len(room.objects(thing)), 2 if kind == "pick_two_obj" else 1)
    for name in room.objects(thing):
        del room.inside[name]
    place_objects(room, thing, count, rng, excluded=target)


def _game(kind: str, seed: int, room: FurnishedRoom, thing: str, target: str, template: str) -> AlfworldGame:
    goals = rooms.goals()[GAME_TYPES[kind]]
    sentence = template.format(obj=thing.lower(), recep=target.lower(), toggle=target.lower(), mrecep="")
    pddl_goal = goals["pddl"].replace("#", "-").format(obj=thing, recep=target, toggle=target, mrecep="")
    name = pddl_name(f"{room.plan}_{kind}_{seed}")
    data = {
        "pddl_domain": rooms.wheel_text(rooms.DOMAIN),
        "grammar": rooms.wheel_text(rooms.GRAMMAR).replace("UNKNOWN GOAL", sentence),
        "pddl_problem": problem_text(name, room, pddl_goal),
        "solvable": True,
    }
    return AlfworldGame(game_id(kind, seed), data, sentence)
