"""The sentences of games, and their translation into the sentences of the AutoManual paper.

All known games have the same rules, but alfworld 0.4 changed some words. So there are two dialects, one of older games
and one of newer games. The direct engine plays only games written in one or the other.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from planbook.envs.alfworld.scene import GameScene, GameState
from planbook.envs.errors import EnvironmentBroken
from planbook.envs.types import Action, Offer

NOTHING = "Nothing happens."
"""The reply to a command that is not admissible."""
TASK_LINE = re.compile(r"Your task is to: [^\"]*")
"""Matches the sentence in a game's grammar that states the task."""
_HELP_GRAMMAR = re.compile(r"\naction help \{.*", re.DOTALL)
_HELP_DOMAIN = re.compile(r"\(:action help\b.*", re.DOTALL)
_COMMENT = re.compile(r";[^\n]*")
_SINK = "(receptacleType ?r SinkType)"
_OLD_WORDS = {
    "You arrive at {lend.name}.": "You arrive at {r.name}.",
    "put {o} in/on {r}": "move {o} to {r}",
    "You put the {o.name} in/on the {r.name}.": "You move the {o.name} to the {r.name}.",
}
"""Maps wordings of alfworld before 0.4 to the wordings that have replaced them."""
_KNOWN_DOMAIN_DIGEST = "909b1bfcb6f3ae07a245371c49bd286cd643baca5c265b7104531840e8b141b5"
_KNOWN_GRAMMAR_DIGEST = "5102a0330767c5540fc1ad32e1a2dda5db689a67020c1c5a8af80dac74c70840"
"""Digests of the rules and of the grammar that the direct engine implements.

The digests ignore the differences between the dialects.
"""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The differences between games: some words, and the kinds of receptacles in which things can be cleaned."""

    put: str
    """The verb for putting things down: "put" (before alfworld 0.4) or "move"."""
    to: str
    """The word between the object and its new place: "in/on" (before alfworld 0.4) or "to"."""
    arrives_at_location: bool
    """True if the reply to ``go to`` names the location. False if it names the receptacle."""
    receptacle_kinds: dict[str, frozenset[str]]
    """Maps a treatment, such as ``heat``, to the kinds of receptacles with which it is done."""


def _digest(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


@lru_cache(maxsize=8)
def _domain_digest(domain: str) -> str:
    plain = _COMMENT.sub("", domain).replace(_SINK, "")
    return _digest(_HELP_DOMAIN.sub("", plain).rstrip(") \n"))


@lru_cache(maxsize=8)
def _grammar_digest(grammar: str) -> str:
    plain = _HELP_GRAMMAR.sub("", grammar)
    for old, new in _OLD_WORDS.items():
        plain = plain.replace(old, new)
    return _digest(plain)


def read_dialect(domain: str, grammar: str) -> Dialect:
    """Return the dialect of a game with this PDDL domain and this grammar.

    Raises EnvironmentBroken if the direct engine does not implement this domain and this grammar.
    """
    grammar = TASK_LINE.sub("", grammar, count=1)
    if _domain_digest(domain) != _KNOWN_DOMAIN_DIGEST or _grammar_digest(grammar) != _KNOWN_GRAMMAR_DIGEST:
        raise EnvironmentBroken(
            "alfworld: this game's domain or grammar is not the one that the direct engine plays; "
            "choose the engine 'textworld' for it"
        )
    uses_put = "put {o} in/on {r}" in grammar
    return Dialect(
        put="put" if uses_put else "move",
        to="in/on" if uses_put else "to",
        arrives_at_location="{lend.name}" in grammar,
        receptacle_kinds={
            "heat": frozenset({"microwavetype"}),
            "cool": frozenset({"fridgetype"}),
            "clean": frozenset({"sinkbasintype", *(["sinktype"] if _SINK in _COMMENT.sub("", domain) else [])}),
        },
    )


_ROOM = "You are in the middle of a room. Looking quickly around you, you see "


def enumeration(items: Sequence[str]) -> str:
    """Join items as ``a``, ``a, and b`` or ``a, b, and c``. Return ``nothing`` if there are no items."""
    if len(items) < 2:
        return items[0] if items else "nothing"
    return f"{', '.join(items[:-1])}, and {items[-1]}"


def intro_text(scene: GameScene, state: GameState, task_line: str) -> str:
    """Return the text with which a game starts."""
    seen = enumeration([f"a {scene.names[receptacle]}" for receptacle in sorted(scene.locations)])
    room = surroundings_text(scene, state) if state.at in scene.receptacles_at else f"{_ROOM}{seen}."
    return f"-= Welcome to TextWorld, ALFRED! =-\n\n{room}\n\n{task_line}"


def contents_text(scene: GameScene, state: GameState, receptacle: str) -> str:
    """Return the reply to ``examine`` for a receptacle."""
    name = scene.names[receptacle]
    openable = receptacle in scene.entities_with("openable")
    if openable and receptacle not in state.opened:
        return f"The {name} is closed."
    things = [thing for thing, holder in state.inside if holder == receptacle]
    seen = enumeration([f"a {scene.names[thing]}" for thing in sorted(things)])
    return f"The {name} is open. In it, you see {seen}." if openable else f"On the {name}, you see {seen}."


def surroundings_text(scene: GameScene, state: GameState) -> str:
    """Return the reply to ``look``. It lists the receptacles at the agent's location, if there are any."""
    receptacles = scene.receptacles_at.get(state.at, ())
    if not receptacles:
        return f"{_ROOM}nothing."
    nearby = sorted(
        thing for thing, holder in state.taken if holder in receptacles and (thing, state.at) in state.object_locations
    )
    things = enumeration([f"a {scene.names[thing]}" for thing in nearby])
    facing = enumeration([scene.names[receptacle] for receptacle in receptacles])
    return f"You are facing the {facing}. Next to it, you see {things}."


def inventory_text(scene: GameScene, state: GameState) -> str:
    """Return the reply to ``inventory``."""
    return f"You are carrying: a {scene.names[state.holding]}." if state.holding else "You are not carrying anything."


def object_text(scene: GameScene, state: GameState, thing: str) -> str:
    """Return the reply to ``examine`` for an object."""
    name = scene.names[thing]
    if thing in scene.entities_with("isreceptacleobject"):
        inside = enumeration([f"a {scene.names[inner]}" for inner, outer in sorted(scene.contained) if outer == thing])
        return f"This is a normal {name}. In it, you see {inside}."
    clean, hot, cool = (thing in things for things in (state.clean, state.hot, state.cool))
    warmth = "hot" if hot else "cool" if cool else ""
    if clean or warmth:
        adjectives = " and ".join(filter(None, (warmth, "clean" if clean else "")))
        return f"This is a {'cold' if adjectives == 'cool' else adjectives} {name}."
    if thing in scene.entities_with("toggleable") and thing in state.toggled:
        return f"This {name} is on."
    return f"There's nothing special about {name}."


START = "middle_of_room"
"""The agent's location before its first ``go_to``."""
EMPTY_HANDED = "nothing"

ID = re.compile(r"[a-z]+_\d+")
"""Matches an id, such as ``desk_1``."""
_NAME_IN_GAME = re.compile(r"\b(?:[Tt]he |[Aa]n? )?([a-z]+) (\d+)\b")
_REWORDINGS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"^You arrive at \w+\. ", ""),
        (r"^You open (\w+)\. \1 is open\. In it,", r"You open \1. In \1,"),
        (r"^(\w+) is open\. In it,", r"\1 is open. In \1,"),
        (r"^You pick up (\w+) from", r"You take \1 from"),
        (r"^You (?:move|put) (\w+) (?:to|in/on) (\w+)\.", r"You put \1 in/on \2."),
    )
)

HELPERS = '''
def get_object_with_id(observation, object_name):
    """Return the ids in an observation that have this name, in order: get_object_with_id(observation, "mug").

    "pan" does not match "pancake_1". The last sentence (where the agent is and what it holds) is ignored.
    """
    seen = observation.split(" You are at ")[0]
    for mark in ".,:;()[]'\\"":
        seen = seen.replace(mark, " ")
    name = object_name.strip().lower()
    found = []
    for word in seen.split():
        kind, line, number = word.rpartition("_")
        if (kind == name or word == name) and number.isdigit() and word not in found:
            found.append(word)
    return found
'''


def name_in_game(thing: object) -> str | None:
    """Return the game's name for an id, such as ``desk 1`` for ``desk_1``, or None if ``thing`` is not an id."""
    return thing.replace("_", " ") if isinstance(thing, str) and ID.fullmatch(thing) else None


def paper_text(text: str) -> str:
    """Return a reply of a game in the words of the paper. The reply NOTHING is returned unchanged."""
    if text == NOTHING:
        return text
    text = _NAME_IN_GAME.sub(r"\1_\2", text)
    for pattern, replacement in _REWORDINGS:
        text = pattern.sub(replacement, text)
    return text


def first_text(intro: str, goal: str) -> str:
    """Return the first observation: the room and the task. ``intro`` is the text with which the game starts."""
    room = next((part for part in intro.split("\n\n") if part.startswith("You are ")), "")
    return f"{paper_text(room)}\nYour task is to: {goal}."


_COMMANDS = {
    "go to * *": "go_to",
    "open * *": "open",
    "close * *": "close",
    "take * * from * *": "take_from",
    "move * * to * *": "put_in_or_on",
    "put * * in/on * *": "put_in_or_on",
    "use * *": "use",
    "clean * * with * *": "clean_with",
    "heat * * with * *": "heat_with",
    "cool * * with * *": "cool_with",
    "look": "look",
    "inventory": "inventory",
    "examine * *": "examine",
}
"""Maps the form of each command to its action. ``* *`` matches a kind and a number, such as ``desk 1``.

There are no actions for the commands ``slice`` and ``help``.
"""
COMMAND_PATTERNS = {
    re.compile(form.replace("* *", r"([a-z]+ \d+)")): (form.split()[0], name) for form, name in _COMMANDS.items()
}
"""Maps the regular expression of each command to the command's verb and action."""


def as_action(command: str) -> Action | None:
    """Return the action that sends a command, or None if no action sends it."""
    for form, (_, name) in COMMAND_PATTERNS.items():
        if match := form.fullmatch(command):
            return Action(name, tuple(thing.replace(" ", "_") for thing in match.groups()))
    return None


PAPER_DOCS = {
    "go_to": "Go to a receptacle. The agent's location is then this receptacle.",
    "open": "Open a receptacle, and see what it contains.",
    "close": "Close a receptacle that is open.",
    "take_from": "Take an object from a receptacle. The agent must hold nothing.",
    "put_in_or_on": "Put the object that the agent holds in or on a receptacle.",
    "use": "Use a lamp.",
    "clean_with": "Clean an object with a receptacle.",
    "heat_with": "Heat an object with a receptacle.",
    "cool_with": "Cool an object with a receptacle.",
}
"""Maps each action of the AutoManual paper to documentation that states no more than the paper's does (listing 3).

It leaves out most preconditions, such as where the agent has to be, so the agent has to learn them.
"""


def with_paper_docs(offer: Offer) -> Offer:
    """Return the offer with the paper's documentation of all actions that the paper has."""
    actions = {name: replace(spec, doc=PAPER_DOCS.get(name, spec.doc)) for name, spec in offer.actions.items()}
    return Offer(actions, offer.queries)
