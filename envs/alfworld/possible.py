"""What the rules ask for, and so which commands do something in a state."""

from collections.abc import Iterator

from planbook.envs.alfworld.dialect import Dialect
from planbook.envs.alfworld.scene import Scene, State

ABLE = {"heat": "heatable", "cool": "coolable", "clean": "cleanable"}
"""Treatment to the mark of the objects that it works on."""
_KNIVES = frozenset({"knifetype", "butterknifetype"})


def is_here(scene: Scene, state: State, receptacle: str) -> bool:
    """Whether a receptacle is where the agent is."""
    return scene.places.get(receptacle) == state.at


def is_accessible(scene: Scene, state: State, receptacle: str) -> bool:
    """Whether things can be taken from a receptacle or put there."""
    is_open = receptacle in state.opened or receptacle not in scene.has("openable")
    return is_open and is_here(scene, state, receptacle)


def fits(scene: Scene, state: State, thing: str, receptacle: str) -> bool:
    """Whether a thing in hand can be put in or on a receptacle."""
    kinds = scene.kinds
    return is_accessible(scene, state, receptacle) and (kinds[receptacle], kinds[thing]) in scene.can_contain


def is_knife(scene: Scene, thing: str) -> bool:
    """Whether a thing cuts."""
    return scene.kinds.get(thing) in _KNIVES


def admissible(scene: Scene, state: State, dialect: Dialect) -> list[str]:
    """The commands that do something now, sorted."""
    found = {"inventory", "look", *_here(scene, state), *_in_hand(scene, state, dialect)}
    found.update(command for command, place in scene.ways if place != state.at)
    return sorted(found | {"help"} if dialect.helps else found)


def _here(scene: Scene, state: State) -> Iterator[str]:
    for receptacle in scene.neighbours.get(state.at, ()):
        name = scene.names[receptacle]
        yield f"examine {name}"
        if receptacle in scene.has("openable"):
            yield f"{'close' if receptacle in state.opened else 'open'} {name}"
        there = [thing for thing, where in state.inside if where == receptacle]
        yield from (f"use {scene.names[thing]}" for thing in there if thing in scene.has("toggleable"))
        if state.holding is None and is_accessible(scene, state, receptacle):
            able = scene.has("pickupable")
            yield from (f"take {scene.names[thing]} from {name}" for thing in there if thing in able)


def _in_hand(scene: Scene, state: State, dialect: Dialect) -> Iterator[str]:
    if not (held := state.holding):
        return
    name = scene.names[held]
    yield f"examine {name}"
    for receptacle in scene.neighbours.get(state.at, ()):
        if fits(scene, state, held, receptacle):
            yield f"{dialect.put} {name} {dialect.to} {scene.names[receptacle]}"
        for verb, kinds in dialect.machines.items():
            if scene.kinds[receptacle] in kinds and held in scene.has(ABLE[verb]):
                yield f"{verb} {name} with {scene.names[receptacle]}"
    if is_knife(scene, held):
        near = [thing for thing, where in state.lying if where == state.at]
        yield from (f"slice {scene.names[thing]} with {name}" for thing in near if thing in scene.has("sliceable"))
