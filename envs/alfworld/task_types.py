"""The six task types, the sentences that state them, and what a sentence says."""

import re

from pydantic import JsonValue

FOLDER_TYPES = {
    "pick_and_place_simple": "pick_and_place",
    "pick_clean_then_place_in_recep": "pick_clean_then_place",
    "pick_heat_then_place_in_recep": "pick_heat_then_place",
    "pick_cool_then_place_in_recep": "pick_cool_then_place",
    "look_at_obj_in_light": "look_at_obj",
    "pick_two_obj_and_place": "pick_two_obj",
}
"""The game's own name of each task type (a folder's name starts with it), and ours."""
GAME_TYPES = {ours: theirs for theirs, ours in FOLDER_TYPES.items()}
TYPES = tuple(GAME_TYPES)

_OBJECT, _TARGET = r"(?P<object>\w+)", r"(?:in|on) (?P<target>\w+)"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"put two {_OBJECT} {_TARGET}",
        rf"find two {_OBJECT} and put them {_TARGET}",
        rf"put a (?:clean|cleaned|hot|cool) {_OBJECT} {_TARGET}",
        rf"(?:clean|heat|cool) some {_OBJECT} and put it {_TARGET}",
        rf"look at {_OBJECT} under the (?P<lamp>\w+)",
        rf"examine the {_OBJECT} with the (?P<lamp>\w+)",
        rf"put (?:a|some) {_OBJECT} {_TARGET}",
    )
)


def params_of(goal: str) -> dict[str, JsonValue]:
    """What a goal sentence says.

    ``object`` always; ``target`` (a kind of receptacle) for all types but look_at_obj, which has ``lamp``; ``count`` is
    2 for pick_two_obj. Empty for a sentence of no known form (games written by hand may carry any).
    """
    for form in _FORMS:
        if match := form.fullmatch(goal):
            params: dict[str, JsonValue] = dict(match.groupdict())
            return params | {"count": 2} if " two " in goal else params
    return {}


def paper_goal(goal: str) -> str:
    """The game's goal sentence in the paper's words."""
    return goal.replace("put a clean ", "put a cleaned ")
