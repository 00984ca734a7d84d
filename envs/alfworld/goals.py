"""The goals of ALFWorld for the planning method DEPS: those in appendix A.1 of the DEPS paper.

DEPS chooses one of several goals. Then a controller, which is a model, chooses the actions that reach this goal.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from planbook.envs.alfworld.generated import MACHINES
from planbook.envs.alfworld.wording import ID
from planbook.envs.optional_members import Goals
from planbook.envs.types import Action, ActionSpec


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
    """The goals of ALFWorld. Each of them takes several actions, which a controller chooses."""

    direct = False

    @property
    def specs(self) -> Mapping[str, ActionSpec]:
        """Maps the name of each goal to its specification. Plans name these goals, not the environment's actions."""
        return SPECS

    def known(self) -> Sequence[Action]:
        """Return the goals for each kind of object that the task names, and for each receptacle of the room."""
        task = self.environment.task
        params = self.environment.public_params(task) if task else {}
        kinds = [str(params[name]) for name in ("object", "lamp") if name in params]
        places = list(dict.fromkeys(ID.findall(self.environment.scene())))
        return [*(Action("find", (kind,)) for kind in kinds), *_at_places(kinds, places)]


def _at_places(kinds: Sequence[str], places: Sequence[str]) -> Iterator[Action]:
    for place in places:
        yield Action("open", (place,))
        for kind in kinds:
            yield from (Action(name, (kind, place)) for name in ("pick", "put", "use"))
            treatments = [name for name, machine in MACHINES.items() if place.startswith(f"{machine.lower()}_")]
            yield from (Action(name, (kind, place)) for name in treatments)
