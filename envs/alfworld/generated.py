"""The split ``generated``: games made from seeds and from files in the package alfworld, without any download.

A game depends only on its type and its seed. Every game can be won: a search that knows the whole state has won it.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from random import Random

from planbook.envs.alfworld import rooms
from planbook.envs.alfworld.direct import TREATABLE, DirectEngine
from planbook.envs.alfworld.engine import NOTHING, AlfworldGame
from planbook.envs.alfworld.goals import GAME_TYPES, MACHINES, params_of
from planbook.envs.alfworld.rooms import LAMP, FurnishedRoom, furnish, kind_of, pddl_name, place_objects, problem_text
from planbook.envs.errors import EnvironmentBroken


@dataclass(frozen=True, slots=True)
class SearchGoal:
    """The goal of a game, as the search needs it. Kinds of objects are spelled as in goal sentences (``mug``)."""

    object: str
    target: str = ""
    lamp: str = ""
    change: str = ""
    """The treatment: clean, heat, cool or empty."""
    count: int = 1
    """Number of objects."""


class _RefusedError(Exception):
    """The game refused a command for the chosen objects and receptacles."""


def find_plan(engine: DirectEngine, goal: SearchGoal) -> list[str] | None:
    """Return commands that win the game in the engine, or None if the search finds none.

    Tries every choice of objects and receptacles. Afterwards the engine is at the start of the game.
    """
    try:
        for things, places in _candidates(engine, goal):
            solution = _Solution(engine)
            with suppress(_RefusedError):
                solution.solve(goal, things, places)
                if solution.won:
                    return solution.commands
        return None
    finally:
        engine.reset()


def _candidates(engine: DirectEngine, goal: SearchGoal) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield each choice of objects, in the order in which to fetch them, and of places where to use them.

    The places are the machine, if the goal has a treatment, and then the target or the lamp.
    """
    scene = engine.scene
    things = sorted(thing for thing, _ in scene.start.inside if scene.kinds[thing] == f"{goal.object}type")
    kinds = [f"{MACHINES[goal.change].lower()}type"] if goal.change else []
    kinds.append(f"{goal.lamp or goal.target}type")
    places = [sorted(name for name, kind in scene.kinds.items() if kind == needed) for needed in kinds]
    yield from product(permutations(things, goal.count), product(*places))


class _Solution:
    """One attempt to win a game from its start. The methods raise _RefusedError if the game refuses a command."""

    def __init__(self, engine: DirectEngine) -> None:
        self._engine = engine
        self.won = engine.reset().won
        self.commands: list[str] = []

    def solve(self, goal: SearchGoal, things: tuple[str, ...], places: tuple[str, ...]) -> None:
        """Fetch each thing, treat it if needed, and put it in or on the target or look at it under the lamp."""
        names = self._engine.scene.names
        for thing in things:
            self._fetch(thing)
            if goal.change:
                self._reach(places[0])
                self._send(f"{goal.change} {names[thing]} with {names[places[0]]}")
            if goal.lamp:
                self._reach(self._receptacle_of(places[-1]))
                self._send(f"use {names[places[-1]]}")
            else:
                self._reach(places[-1], open_up=True)
                dialect = self._engine.dialect
                self._send(f"{dialect.put} {names[thing]} {dialect.to} {names[places[-1]]}")

    def _receptacle_of(self, thing: str) -> str:
        holders = sorted(holder for name, holder in self._engine.state.inside if name == thing)
        if not holders:
            raise _RefusedError
        return holders[0]

    def _fetch(self, thing: str) -> None:
        holder, names = self._receptacle_of(thing), self._engine.scene.names
        self._reach(holder, open_up=True)
        self._send(f"take {names[thing]} from {names[holder]}")

    def _reach(self, receptacle: str, *, open_up: bool = False) -> None:
        scene, state = self._engine.scene, self._engine.state
        if state.at != scene.places[receptacle]:
            self._send(f"go to {scene.names[receptacle]}")
        if open_up and receptacle in scene.has("openable") - state.opened:
            self._send(f"open {scene.names[receptacle]}")

    def _send(self, command: str) -> None:
        reply = self._engine.step(command)
        if reply.text == NOTHING:
            raise _RefusedError
        self.commands.append(command)
        self.won = reply.won


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
        game = _attempt(kind, seed, rng)
        if game is not None and _is_worth_playing(kind, game):
            return game
    raise EnvironmentBroken(f"alfworld: seed {seed} makes no solvable game of type {kind!r}; choose another seed")


def _attempt(kind: str, seed: int, rng: Random) -> AlfworldGame | None:
    """Return a random game, or None if the task is not possible in the room that was drawn."""
    facts = rooms.affordances()
    start, stop = rooms.ROOMS[rng.choice(_ROOMS[kind])]
    room = furnish(rooms.floor_plan(rng.randrange(start, stop)), facts, rng)
    choices = _choices(kind, room, facts)
    if not choices or len(room.places) > MOST_RECEPTACLES:
        return None
    thing, target = rng.choice(choices)
    _place_task_objects(kind, room, thing, target, facts, rng)
    return _game(kind, seed, room, thing, target, rng.choice(rooms.goals()[GAME_TYPES[kind]]["templates"]))


def _choices(kind: str, room: FurnishedRoom, facts: rooms.Affordances) -> list[tuple[str, str]]:
    """Return the possible tasks in a room, as pairs of the kind of object and the target or lamp."""
    things = sorted({kind_of(thing) for thing in room.inside} - {*facts.kinds_by_ability["Toggleable"]})
    if kind == "look_at_obj":
        return [(thing, LAMP) for thing in things] if room.objects(LAMP) else []
    if treatment := _TREATMENTS.get(kind):
        things = [
            thing
            for thing in things
            if thing in facts.kinds_by_ability[TREATABLE[treatment].capitalize()] and room.of_kind(MACHINES[treatment])
        ]
    targets = sorted({kind_of(receptacle) for receptacle in room.places})
    return [(thing, target) for thing in things for target in targets if thing in facts.holds[target]]


def _place_task_objects(
    kind: str, room: FurnishedRoom, thing: str, target: str, facts: rooms.Affordances, rng: Random
) -> None:
    """Place the task's objects at random, but not in receptacles of the target's kind: something has to be done."""
    if kind == "look_at_obj":
        return
    count = max(len(room.objects(thing)), 2 if kind == "pick_two_obj" else 1)
    for name in room.objects(thing):
        del room.inside[name]
    place_objects(room, thing, count, facts, rng, excluded=target)


def _game(kind: str, seed: int, room: FurnishedRoom, thing: str, target: str, template: str) -> AlfworldGame:
    goals = rooms.goals()[GAME_TYPES[kind]]
    sentence = template.format(obj=thing.lower(), recep=target.lower(), toggle=target.lower(), mrecep="")
    pddl_goal = goals["pddl"].replace("#", "-").format(obj=thing, recep=target, toggle=target, mrecep="")
    name = pddl_name(f"{room.plan}_{kind}_{seed}")
    data = {
        "pddl_domain": rooms.wheel_text(rooms.DOMAIN),
        "grammar": rooms.wheel_text(rooms.GRAMMAR).replace("UNKNOWN GOAL", sentence),
        "pddl_problem": problem_text(name, room, rooms.affordances(), pddl_goal),
        "solvable": True,
    }
    return AlfworldGame(game_id(kind, seed), data, sentence)


def search_goal(kind: str, goal: str) -> SearchGoal:
    """Return the goal that a sentence states, as the search needs it."""
    return SearchGoal(change=_TREATMENTS.get(kind, ""), **params_of(goal))  # type: ignore[arg-type]


def _is_worth_playing(kind: str, game: AlfworldGame) -> bool:
    """Return whether a game is not won at the start, and can be won."""
    engine = DirectEngine()
    engine.load(game)
    return not engine.reset().won and find_plan(engine, search_goal(kind, game.goal)) is not None
