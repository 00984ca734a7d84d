"""The direct engine's sentences: what textworld derives from the game's grammar, written out."""

from collections.abc import Sequence

from planbook.envs.alfworld.scene import Scene, State

HELP = """Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""
_ROOM = "You are in the middle of a room. Looking quickly around you, you see "


def listed(items: Sequence[str]) -> str:
    """``a``, ``a, and b``, ``a, b, and c``, or ``nothing``."""
    if len(items) < 2:
        return items[0] if items else "nothing"
    return f"{', '.join(items[:-1])}, and {items[-1]}"


def intro(scene: Scene, state: State, task_line: str) -> str:
    """The first text of a game."""
    seen = listed([f"a {scene.names[receptacle]}" for receptacle in sorted(scene.places)])
    room = around(scene, state) if state.at in scene.neighbours else f"{_ROOM}{seen}."
    return f"-= Welcome to TextWorld, ALFRED! =-\n\n{room}\n\n{task_line}"


def contents(scene: Scene, state: State, receptacle: str) -> str:
    """What examining a receptacle shows."""
    name = scene.names[receptacle]
    openable = receptacle in scene.has("openable")
    if openable and receptacle not in state.opened:
        return f"The {name} is closed."
    there = [thing for thing, where in state.inside if where == receptacle]
    seen = listed([f"a {scene.names[thing]}" for thing in sorted(there)])
    return f"The {name} is open. In it, you see {seen}." if openable else f"On the {name}, you see {seen}."


def around(scene: Scene, state: State) -> str:
    """What looking around shows: what one stands before. In the middle of the room the game shows nothing."""
    here = scene.neighbours.get(state.at, ())
    if not here:
        return f"{_ROOM}nothing."
    lying = sorted(
        thing for thing, receptacle in state.removed if receptacle in here and (thing, state.at) in state.lying
    )
    beside = [f"a {scene.names[thing]}" for thing in lying]
    facing = listed([scene.names[receptacle] for receptacle in here])
    return f"You are facing the {facing}. Next to it, you see {listed(beside)}."


def carried(scene: Scene, state: State) -> str:
    """The inventory."""
    return f"You are carrying: a {scene.names[state.holding]}." if state.holding else "You are not carrying anything."


def looked_at(scene: Scene, state: State, thing: str) -> str:
    """What examining an object shows."""
    name = scene.names[thing]
    if thing in scene.has("isreceptacleobject"):
        within = listed([f"a {scene.names[inner]}" for inner, outer in sorted(scene.contained) if outer == thing])
        return f"This is a normal {name}. In it, you see {within}."
    clean, hot, cool, sliced = (thing in marked for marked in (state.clean, state.hot, state.cool, state.sliced))
    warmth = "hot" if hot else "cool" if cool else ""
    if sliced and (clean or warmth):
        return f"This is a {_joined(warmth, clean)} sliced {name}."
    if clean or warmth:
        alone = "cold" if warmth == "cool" and not clean else _joined(warmth, clean)
        return f"This is a {alone} {name}."
    if thing in scene.has("toggleable") and thing in state.toggled:
        return f"This {name} is on."
    if sliced and thing in scene.has("sliceable"):
        return f"This is a sliced {name}."
    return f"There's nothing special about {name}."


def _joined(warmth: str, clean: bool) -> str:
    return f"{warmth} and clean" if warmth and clean else warmth or "clean"
