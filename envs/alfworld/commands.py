"""The game's commands as our actions."""

import re

from planbook.envs.types import Action

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
"""Form of a command to the action that means it; ``slice`` and ``help`` are no actions of ours."""
_FORMS = {re.compile(form.replace("* *", r"([a-z]+ \d+)")): name for form, name in _COMMANDS.items()}


def as_action(command: str) -> Action | None:
    """The action that a command means, or None for one that plans cannot give."""
    for form, name in _FORMS.items():
        if match := form.fullmatch(command):
            return Action(name, tuple(thing.replace(" ", "_") for thing in match.groups()))
    return None
