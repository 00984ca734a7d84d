"""Proof that a game can be won: a search with full knowledge of the game.

It is not how a plan goes about it, which has to look for things; so it can judge games that plans are tested on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

from planbook.envs.alfworld.direct import Direct
from planbook.envs.alfworld.engine import NOTHING

_MACHINES = {"clean": "sinkbasintype", "heat": "microwavetype", "cool": "fridgetype"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a task asks for; kinds as in sentences (``mug``)."""

    object: str
    target: str = ""
    lamp: str = ""
    change: str = ""
    """clean, heat or cool, or empty."""
    count: int = 1


class _RefusedError(Exception):
    """The choice at hand does not lead to the goal."""


def find_plan(engine: Direct, wanted: Wanted) -> list[str] | None:
    """Commands that win the engine's loaded game, or None if no choice of objects and receptacles does.

    The engine is left at the start of the game.
    """
    for things, places in _choices(engine, wanted):
        walk = _Walk(engine)
        try:
            walk.fulfil(wanted, things, places)
        except _RefusedError:
            continue
        finally:
            engine.reset()
        if walk.won:
            return walk.commands
    return None


def _choices(engine: Direct, wanted: Wanted) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Objects to fetch, in order, and the places needed: machine and target, or the lamp."""
    scene = engine.scene
    things = sorted(thing for thing, _ in scene.start.inside if scene.kinds[thing] == f"{wanted.object}type")
    needed = [_MACHINES[wanted.change]] if wanted.change else []
    needed.append(f"{wanted.lamp or wanted.target}type")
    stands = [sorted(name for name, kind in scene.kinds.items() if kind == need) for need in needed]
    yield from product(permutations(things, wanted.count), product(*stands))


class _Walk:
    """One way through a game from its start. Raises _RefusedError at the first refused command."""

    def __init__(self, engine: Direct) -> None:
        self._engine = engine
        self.won = engine.reset().won
        self.commands: list[str] = []

    def fulfil(self, wanted: Wanted, things: tuple[str, ...], places: tuple[str, ...]) -> None:
        """Fetch each thing, change it at the machine, put it where it belongs; or bring it under the lamp."""
        names = self._engine.scene.names
        for thing in things:
            self._fetch(thing)
            if wanted.change:
                self._reach(places[0])
                self._do(f"{wanted.change} {names[thing]} with {names[places[0]]}")
            if wanted.lamp:
                self._reach(self._holder(places[-1]))
                self._do(f"use {names[places[-1]]}")
            else:
                self._reach(places[-1], open_up=True)
                dialect = self._engine.dialect
                self._do(f"{dialect.put} {names[thing]} {dialect.to} {names[places[-1]]}")

    def _holder(self, thing: str) -> str:
        holders = sorted(where for what, where in self._engine.state.inside if what == thing)
        if not holders:
            raise _RefusedError
        return holders[0]

    def _fetch(self, thing: str) -> None:
        holder, names = self._holder(thing), self._engine.scene.names
        self._reach(holder, open_up=True)
        self._do(f"take {names[thing]} from {names[holder]}")

    def _reach(self, receptacle: str, *, open_up: bool = False) -> None:
        scene, state = self._engine.scene, self._engine.state
        if state.at != scene.places[receptacle]:
            self._do(f"go to {scene.names[receptacle]}")
        if open_up and receptacle in scene.has("openable") - state.opened:
            self._do(f"open {scene.names[receptacle]}")

    def _do(self, command: str) -> None:
        reply = self._engine.step(command)
        if reply.text == NOTHING:
            raise _RefusedError
        self.commands.append(command)
        self.won = reply.won
