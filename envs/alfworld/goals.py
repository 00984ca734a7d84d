"""The six task types, the sentences that state their goals, and the goals that plans of DEPS name.

The goals are those in appendix A.1 of the DEPS paper. A controller, which is a model, chooses actions to reach a goal.
"""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from pydantic import JsonValue

from planbook.envs.optional import Goals
from planbook.envs.types import Action, ActionSpec

FOLDER_TYPES = {
    "pick_and_place_simple": "pick_and_place",
    "pick_clean_then_place_in_recep": "pick_clean_then_place",
    "pick_heat_then_place_in_recep": "pick_heat_then_place",
    "pick_cool_then_place_in_recep": "pick_cool_then_place",
    "look_at_obj_in_light": "look_at_obj",
    "pick_two_obj_and_place": "pick_two_obj",
}
"""Maps alfworld's name of a task type to our name. The name of a game's folder starts with alfworld's name."""
GAME_TYPES = {ours: theirs for theirs, ours in FOLDER_TYPES.items()}
"""Maps our name of a task type to alfworld's name."""
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
    """Return the parameters in a goal sentence.

    All types have ``object``. look_at_obj has ``lamp``; the other types have ``target``, a kind of receptacle.
    pick_two_obj also has ``count``, which is 2. The result is empty if the sentence has an unknown form, as in games
    that were written by hand.
    """
    for form in _FORMS:
        if match := form.fullmatch(goal):
            params: dict[str, JsonValue] = dict(match.groupdict())
            return params | {"count": 2} if " two " in goal else params
    return {}


def paper_goal(goal: str) -> str:
    """Return the game's goal sentence in the paper's words."""
    return goal.replace("put a clean ", "put a cleaned ")


_ID = re.compile(r"\b[a-z]+_\d+\b")
MACHINES = {"clean": "SinkBasin", "heat": "Microwave", "cool": "Fridge"}
"""Maps each treatment to the kind of receptacle where it is done."""


class Household(Protocol):
    """The signatures of the goals. ``object`` is a kind, such as mug, or the id of an object, such as mug_2.

    The docstrings of the methods are part of prompts.
    """

    def find(self, object: str) -> str:
        """Look into one receptacle after another until an object of that kind is seen."""

    def pick(self, object: str, place: str = "") -> str:
        """Take an object of that kind from a receptacle such as fridge_1, or if none is given, from where it was seen.

        The hands must be empty.
        """

    def put(self, object: str, place: str) -> str:
        """Put the object in hand in or on the receptacle."""

    def clean(self, object: str, place: str) -> str:
        """Clean the object in hand with a sinkbasin."""

    def heat(self, object: str, place: str) -> str:
        """Heat the object in hand with a microwave."""

    def cool(self, object: str, place: str) -> str:
        """Cool the object in hand with a fridge."""

    def use(self, object: str, place: str) -> str:
        """Turn on a lamp at the receptacle. The object in hand stays in hand, and is looked at under the lamp."""

    def open(self, place: str) -> str:
        """Open the receptacle, and see what is in it."""


_EXAMPLES = {
    "find": "agent.find('mug')",
    "pick": "agent.pick('mug', 'shelf_1'), or agent.pick('mug') after agent.find('mug')",
    "put": "agent.put('mug', 'cabinet_2')",
    "clean": "agent.clean('mug', 'sinkbasin_1')",
    "heat": "agent.heat('mug', 'microwave_1')",
    "cool": "agent.cool('mug', 'fridge_1')",
    "use": "agent.use('desklamp', 'desk_1')",
    "open": "agent.open('drawer_3')",
}


def _spec(name: str) -> ActionSpec:
    function = vars(Household)[name]
    return ActionSpec(name, function, inspect.getdoc(function) or "", _EXAMPLES[name])


SPECS: Mapping[str, ActionSpec] = {name: _spec(name) for name in _EXAMPLES}


class AlfworldGoals(Goals):
    """The goals of ALFWorld. Each takes several actions, which a controller chooses."""

    direct = False

    @property
    def specs(self) -> Mapping[str, ActionSpec]:
        """Maps the name of each goal to its specification. The environment's actions are not goals."""
        return SPECS

    def known(self) -> Sequence[Action]:
        """Return the goals for all receptacles of the room and all kinds of objects that the task names."""
        task = self.environment.task
        params = self.environment.public_params(task) if task else {}
        kinds = [str(params[name]) for name in ("object", "lamp") if name in params]
        places = list(dict.fromkeys(_ID.findall(self.environment.scene())))
        return [*(Action("find", (kind,)) for kind in kinds), *_at_places(kinds, places)]


def _at_places(kinds: Sequence[str], places: Sequence[str]) -> Iterator[Action]:
    for place in places:
        yield Action("open", (place,))
        for kind in kinds:
            yield from (Action(name, (kind, place)) for name in ("pick", "put", "use"))
            treatments = [name for name, machine in MACHINES.items() if place.startswith(f"{machine.lower()}_")]
            yield from (Action(name, (kind, place)) for name in treatments)
