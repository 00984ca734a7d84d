"""Generated ALFWorld games, and a search for the commands that win them. The search knows the whole state."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations, product

from planbook.envs import Action
from planbook.envs.alfworld import Alfworld, DirectEngine, generated
from planbook.envs.alfworld.generated import MACHINES
from planbook.envs.alfworld.tasks import params_of
from planbook.envs.alfworld.wording import NOTHING, as_action
from tests.envs.playing import started


@dataclass(frozen=True, slots=True)
class SearchGoal:
    """The goal of a game, as the search needs it. Kinds of objects are spelled as in goal sentences (``mug``)."""

    object: str
    target: str = ""
    lamp: str = ""
    treatment: str = ""
    """clean, heat, cool or empty."""
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
    kinds = [f"{MACHINES[goal.treatment].lower()}type"] if goal.treatment else []
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
            if goal.treatment:
                self._reach(places[0])
                self._send(f"{goal.treatment} {names[thing]} with {names[places[0]]}")
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
        if state.at != scene.locations[receptacle]:
            self._send(f"go to {scene.names[receptacle]}")
        if open_up and receptacle in scene.entities_with("openable") - state.opened:
            self._send(f"open {scene.names[receptacle]}")

    def _send(self, command: str) -> None:
        reply = self._engine.step(command)
        if reply.text == NOTHING:
            raise _RefusedError
        self.commands.append(command)
        self.won = reply.won


def search_goal(task_type: str, goal: str) -> SearchGoal:
    """Return the goal that a sentence states, as the search needs it."""
    treatment = next((treatment for treatment in MACHINES if f"_{treatment}_" in task_type), "")
    return SearchGoal(treatment=treatment, **params_of(goal))  # type: ignore[arg-type]


def game(task_type: str, seed: int, **options: object) -> Alfworld:
    """Return an environment at the start of a generated game."""
    return started(Alfworld, f"generated/{task_type}/{seed}", **options)


def loaded(task_type: str, seed: int) -> DirectEngine:
    """Return the direct engine at the start of a generated game."""
    engine = DirectEngine()
    engine.load(generated.make_game(task_type, seed))
    engine.reset()
    return engine


def winning_commands(task_type: str, seed: int) -> list[str]:
    """Return the commands that win a generated game."""
    plan = find_plan(loaded(task_type, seed), search_goal(task_type, generated.make_game(task_type, seed).goal))
    assert plan
    return list(plan)


def winning_actions(task_type: str, seed: int) -> list[Action]:
    """Return the actions that win a generated game."""
    actions = map(as_action, winning_commands(task_type, seed))
    return [action for action in actions if action]
