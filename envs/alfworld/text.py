"""From the game's words to the paper's: ids ``desk_1``, no articles, the sentences that plans are written against."""

import re

from planbook.envs.alfworld.engine import NOTHING

START = "middle_of_room"
"""The location before the first go_to."""
EMPTY_HANDED = "nothing"

ID = re.compile(r"[a-z]+_\d+")
"""How an id reads, such as desk_1."""
_NAMED = re.compile(r"\b(?:[Tt]he |[Aa]n? )?([a-z]+) (\d+)\b")
_REWORDED = tuple(
    (re.compile(pattern), ours)
    for pattern, ours in (
        (r"^You arrive at \w+\. ", ""),
        (r"^You open (\w+)\. \1 is open\. In it,", r"You open \1. In \1,"),
        (r"^(\w+) is open\. In it,", r"\1 is open. In \1,"),
        (r"^You pick up (\w+) from", r"You take \1 from"),
        (r"^You (?:move|put) (\w+) (?:to|in/on) (\w+)\.", r"You put \1 in/on \2."),
    )
)

HELPERS = '''
def get_object_with_id(observation, object_name):
    """The ids of all objects of that name in an observation, in order: get_object_with_id(observation, "mug").

    "pan" does not find "pancake_1". The observation's last sentence (where the agent is, what it holds) does not count.
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


def game_name(thing: object) -> str | None:
    """The game's name of an id (``desk_1`` is ``desk 1``), or None for what is no id."""
    return thing.replace("_", " ") if isinstance(thing, str) and ID.fullmatch(thing) else None


def paper_text(text: str) -> str:
    """A result in the paper's words, whatever the game's grammar; what the game refuses stays as it is."""
    if text == NOTHING:
        return text
    text = _NAMED.sub(r"\1_\2", text)
    for pattern, ours in _REWORDED:
        text = pattern.sub(ours, text)
    return text


def first_text(intro: str, goal: str) -> str:
    """The first observation: the room and the task. ``intro`` is the game's, with its welcome and task line."""
    room = next((part for part in intro.split("\n\n") if part.startswith("You are ")), "")
    return f"{paper_text(room)}\nYour task is to: {goal}."
