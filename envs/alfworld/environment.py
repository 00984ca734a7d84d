"""ALFWorld: household tasks in text, with the action names and sentences of the AutoManual paper (its listing 3)."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field, JsonValue

from planbook.envs.alfworld import generated, tasks, wording
from planbook.envs.alfworld.engines import AlfworldGame, DirectEngine, GameEngine, GameReply, ReferenceEngine
from planbook.envs.alfworld.generated import MACHINES, TYPES
from planbook.envs.alfworld.preconditions import preconditions
from planbook.envs.alfworld.tasks import PAPER_SPLITS, checksums
from planbook.envs.alfworld.wording import (
    EMPTY_HANDED,
    HELPERS,
    ID,
    NOTHING,
    START,
    as_action,
    first_text,
    name_in_game,
    paper_text,
)
from planbook.envs.base import Environment, action
from planbook.envs.optional_members import Goals
from planbook.envs.preconditions import Preconditions
from planbook.envs.requirements import package_version
from planbook.envs.types import (
    Action,
    ActionSpec,
    EnvironmentOptions,
    Observation,
    Offer,
    Requirement,
    Selection,
    Task,
    Verdict,
)

_ENGINES: dict[str, type[GameEngine]] = {"direct": DirectEngine, "textworld": ReferenceEngine}


class AlfworldOptions(EnvironmentOptions):
    """Options of ALFWorld, recorded with every result."""

    engine: Literal["direct", "textworld"] = Field(
        default="direct", description="direct: our fast engine. textworld: the original, which takes seconds per game."
    )
    shared_locations: Literal["hidden", "open"] = Field(
        default="hidden",
        description="Some receptacles share a location. In the game, go_to from one of them to the other is refused "
        '("Nothing happens."), so the content of the other stays hidden unless it is examined. open: go_to shows it.',
    )
    paper_actions: bool = Field(
        default=False, description="Offer only the nine actions of AutoManual, without look, inventory and examine."
    )
    paper_docs: bool = Field(
        default=False, description="Describe actions as briefly as AutoManual, which leaves out most preconditions."
    )
    paper_goals: bool = Field(
        default=False,
        description="Offer only the goals of DEPS (prompt 9): without find and open, and pick has a place.",
    )


class Alfworld(Environment):
    """An environment that plays one household game at a time.

    ``task.params`` has ``object`` and ``target``, which are kinds such as ``mug``. For pick_two_obj, it also has
    ``count``, which is 2; for look_at_obj, it has ``lamp`` instead of ``target``. Only one thread at a time runs the
    textworld engine.
    """

    name = "alfworld"
    about = (
        "A household described in text. The agent is a robot in a room with receptacles (furniture, appliances and "
        "other things that can hold objects) and objects in or on them. Each has an id that consists of its kind and "
        "a number, such as desk_1 or mug_2. The first observation lists the receptacles of the room and states the "
        "task, which names kinds: anything of that kind will do. The observation of every action ends with where the "
        "agent is and what it holds. An action that is not possible changes nothing, and its observation begins with "
        "'Nothing happens.' The episode ends by itself once the task is done."
    )
    types = TYPES
    splits = (*tasks.DATA_SPLITS, generated.SPLIT, *PAPER_SPLITS)
    combined_splits = dict.fromkeys(PAPER_SPLITS, tasks.DATA_SPLITS)
    attributes = {
        "location": f"the receptacle that the agent is at, or {START!r} before the first go_to",
        "holding": f"the object that the agent holds, or {EMPTY_HANDED!r}",
    }
    helpers = HELPERS
    paper_actions = tuple(wording.PAPER_DOCS)
    Options = AlfworldOptions
    options: AlfworldOptions

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._engine = _ENGINES[self.options.engine]()
        self._uses_put = False
        self._location, self._holding = START, EMPTY_HANDED
        self._won = False

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """Return the selected games as tasks, up to the limit, taken from each type in turn."""
        return tasks.select(selection, cls.splits)

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """Return the digests of the files of downloaded games, and of the files from which games are generated."""
        return checksums(tasks)

    @classmethod
    def offered(cls, options: BaseModel | None = None) -> Offer:
        """Return the actions with our documentation, or with AutoManual's if the option ``paper_docs`` is set."""
        offer = super().offered(options)
        return wording.with_paper_docs(offer) if AlfworldOptions.read(options).paper_docs else offer

    @classmethod
    def takes_seeds(cls, split: str, options: BaseModel | None = None) -> bool:
        """Return whether the tasks of a split are made from seeds. This is true only of the split ``generated``."""
        return split == "generated"

    @classmethod
    def requirements(cls) -> Sequence[Requirement]:
        """Return the requirements: the games of each downloadable split, and the package for generated games."""
        return [*tasks.requirements(), generated.PACKAGE.requirement(f"alfworld {generated.SPLIT}")]

    @classmethod
    def preconditions(cls, task: Task, options: BaseModel | None = None) -> Preconditions:
        """Return the preconditions of the game's actions."""
        shared_locations = AlfworldOptions.read(options).shared_locations
        return preconditions(_game(task), shared_open=shared_locations == "open")

    def versions(self) -> Mapping[str, str]:
        """Return the versions of packages, and the game's verb for putting things down."""
        packages = {package: package_version(package) for package in ("alfworld", "textworld")}
        return {**packages, "grammar": "put" if self._uses_put else "move"}

    def begin(self, task: Task) -> Observation:
        """Load and start the game, and return the first observation."""
        game = _game(task)
        self._uses_put = game.uses_put
        self._location, self._holding = START, EMPTY_HANDED
        self._engine.load(game)
        reply = self._engine.reset()
        self._won = reply.won
        return Observation(first_text(reply.text, task.goal), terminated=reply.won)

    def verdict(self) -> Verdict:
        """Return the verdict: solved if the game is won."""
        return Verdict(self._won, float(self._won))

    def state(self) -> str:
        """Return the sentence at the end of every action's observation: where the agent is, and what it holds."""
        return f"You are at {self._location} and holding {self._holding}."

    def scene(self) -> str:
        """Return the description of the room: the first observation without its last line, which states the task."""
        return self._first_observation.text.rpartition("\n")[0]

    @property
    def goals(self) -> "AlfworldGoals":
        """The goals that plans may name."""
        return AlfworldGoals(self)

    def possible_actions(self) -> list[Action]:
        """Return all actions that the game accepts now.

        If the option ``shared_locations`` is "open", they include going to other receptacles at the same location.
        """
        actions = list(filter(None, map(as_action, self._engine.admissible())))
        examined = [action.args for action in actions if action.name == "examine"]
        return actions + [Action("go_to", args) for args in examined if self._may_look_into(str(args[0]))]

    def attribute_values(self) -> Mapping[str, JsonValue]:
        """Return the agent's location and what it holds."""
        return {"location": self._location, "holding": self._holding}

    def close(self) -> None:
        """Release the engine."""
        self._engine.close()

    def _save(self) -> object:
        engine_state = self._engine.save()
        return None if engine_state is None else (engine_state, self._location, self._holding, self._won)

    def _load(self, saved: Any) -> None:
        engine_state, self._location, self._holding, self._won = saved
        self._engine.restore(engine_state)

    def _send(self, command: str, *things: str, location: str = "", holding: str = "") -> Observation:
        """Send a command to the engine, and return the observation. ``command`` contains ``{}`` for each of ``things``.

        If the command succeeds, ``location`` and ``holding``, unless empty, replace the agent's location and what it
        holds. If one of the things is not an id, no command is sent, and the observation says that nothing happens.
        """
        names = [name_in_game(thing) for thing in things]
        reply = GameReply(NOTHING, self._won) if None in names else self._engine.step(command.format(*names))
        self._won = reply.won
        accepted = reply.text != NOTHING
        if accepted:
            self._location, self._holding = location or self._location, holding or self._holding
        return Observation(f"{paper_text(reply.text)} {self.state()}", accepted=accepted, terminated=reply.won)

    @action(
        "agent.go_to('shelf_2') -> 'On shelf_2, you see pen_1, and vase_3. You are at shelf_2 and holding nothing.'"
    )
    def go_to(self, receptacle: str) -> Observation:
        """Go to a receptacle and see what is in or on it, or that it is closed. The agent must not be there already."""
        observation = self._send("go to {}", receptacle, location=receptacle)
        if not observation.accepted and self._may_look_into(receptacle):
            observation = self._send("examine {}", receptacle, location=receptacle)
        return observation

    def _may_look_into(self, receptacle: str) -> bool:
        """Return whether ``examine`` may be sent for a receptacle in place of a refused ``go to``.

        The game refuses ``go to`` if the agent is already at the receptacle's location.
        """
        return self.options.shared_locations == "open" and receptacle not in (self._location, self._holding)

    @action("agent.open('drawer_4') -> 'You open drawer_4. In drawer_4, you see keychain_1. ...'")
    def open(self, receptacle: str) -> Observation:
        """Open a closed receptacle where the agent is, and see what is in it."""
        return self._send("open {}", receptacle)

    @action("agent.close('drawer_4') -> 'You close drawer_4. ...'", name="close")
    def shut(self, receptacle: str) -> Observation:
        """Close an open receptacle where the agent is."""
        return self._send("close {}", receptacle)

    @action(
        "agent.take_from('pen_1', 'shelf_2') -> 'You take pen_1 from shelf_2. You are at shelf_2 and holding pen_1.'"
    )
    def take_from(self, object: str, receptacle: str) -> Observation:
        """Take an object from a receptacle where the agent is, unless it is closed. The hands must be empty."""
        return self._send("take {} from {}", object, receptacle, holding=object)

    @action("agent.put_in_or_on('pen_1', 'drawer_4') -> 'You put pen_1 in/on drawer_4. ...'")
    def put_in_or_on(self, object: str, receptacle: str) -> Observation:
        """Put the object in hand in or on a receptacle where the agent is. The receptacle must not be closed."""
        command = "put {} in/on {}" if self._uses_put else "move {} to {}"
        return self._send(command, object, receptacle, holding=EMPTY_HANDED)

    @action("agent.use('floorlamp_1') -> 'You turn on floorlamp_1. ...'")
    def use(self, object: str) -> Observation:
        """Turn on a lamp where the agent is."""
        return self._send("use {}", object)

    @action("agent.clean_with('fork_2', 'sinkbasin_1') -> 'You clean fork_2 using sinkbasin_1. ...'")
    def clean_with(self, object: str, receptacle: str) -> Observation:
        """Clean the object in hand with a sink where the agent is."""
        return self._send("clean {} with {}", object, receptacle)

    @action("agent.heat_with('egg_1', 'microwave_1') -> 'You heat egg_1 using microwave_1. ...'")
    def heat_with(self, object: str, receptacle: str) -> Observation:
        """Heat the object in hand with a microwave where the agent is."""
        return self._send("heat {} with {}", object, receptacle)

    @action("agent.cool_with('bowl_3', 'fridge_1') -> 'You cool bowl_3 using fridge_1. ...'")
    def cool_with(self, object: str, receptacle: str) -> Observation:
        """Cool the object in hand with a fridge where the agent is."""
        return self._send("cool {} with {}", object, receptacle)

    @action("agent.look() -> 'You are facing shelf_2. Next to it, you see nothing. ...'")
    def look(self) -> Observation:
        """See which receptacles the agent faces, but not what is in or on them."""
        return self._send("look")

    @action("agent.inventory() -> 'You are carrying: pen_1. ...'")
    def inventory(self) -> Observation:
        """See what the agent holds."""
        return self._send("inventory")

    @action("agent.examine('shelf_2') -> 'On shelf_2, you see vase_3. ...'")
    def examine(self, thing: str) -> Observation:
        """See what is in or on a receptacle where the agent is, or what is special about the object in hand."""
        return self._send("examine {}", thing)


def _game(task: Task) -> AlfworldGame:
    return generated.make_game(task.type, task.seed) if task.split == generated.SPLIT else tasks.read_game(task.id)


# The goals for the planning method DEPS, as in appendix A.1 of its paper. DEPS chooses a goal; then a controller (a
# model) chooses the actions that reach it.


class GoalSignatures(Protocol):
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


class PaperGoalSignatures(Protocol):
    """The signature that ``pick`` has if the option ``paper_goals`` is set."""

    def pick(self, object: str, place: str) -> str:
        """Take an object of that kind from the receptacle. The hands must be empty."""


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


def _spec(name: str, example: str, signatures: type = GoalSignatures) -> ActionSpec:
    function = vars(signatures)[name]
    return ActionSpec(name, function, inspect.getdoc(function) or "", example)


GOAL_SPECS: Mapping[str, ActionSpec] = {name: _spec(name, example) for name, example in _EXAMPLES.items()}
PAPER_GOAL_SPECS: Mapping[str, ActionSpec] = {
    **{name: spec for name, spec in GOAL_SPECS.items() if name not in ("find", "open")},
    "pick": _spec("pick", "agent.pick('mug', 'shelf_1')", PaperGoalSignatures),
}


class AlfworldGoals(Goals):
    """The goals of ALFWorld. Each of them takes several actions, which a controller chooses."""

    environment: Alfworld
    direct = False

    @property
    def specs(self) -> Mapping[str, ActionSpec]:
        """Maps the name of each goal to its specification. Plans name these goals, not the environment's actions."""
        return PAPER_GOAL_SPECS if self.environment.options.paper_goals else GOAL_SPECS

    def list_goals(self) -> Sequence[Action]:
        """Return the goals for each kind of object that the task names, and for each receptacle of the room."""
        task = self.environment.task
        params = self.environment.public_params(task) if task else {}
        kinds = [str(params[name]) for name in ("object", "lamp") if name in params]
        places = list(dict.fromkeys(ID.findall(self.environment.scene())))
        goals = [*(Action("find", (kind,)) for kind in kinds), *_at_places(kinds, places)]
        return [goal for goal in goals if goal.name in self.specs]


def _at_places(kinds: Sequence[str], places: Sequence[str]) -> Iterator[Action]:
    for place in places:
        yield Action("open", (place,))
        for kind in kinds:
            yield from (Action(name, (kind, place)) for name in ("pick", "put", "use"))
            treatments = [name for name, machine in MACHINES.items() if place.startswith(f"{machine.lower()}_")]
            yield from (Action(name, (kind, place)) for name in treatments)
