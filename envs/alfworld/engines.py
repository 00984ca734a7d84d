"""The engines that play a game: the fast ``DirectEngine``, and ``ReferenceEngine``, which calls textworld and is slow.

The direct engine implements the rules of all known games in plain Python. A test plays games in both engines and
compares every reply. The direct engine lacks the commands ``slice`` and ``help``, which our actions never send.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any, cast

from planbook.envs.alfworld import wording
from planbook.envs.alfworld.scene import GameScene, GameState, GoalTest, read_scene
from planbook.envs.alfworld.wording import NOTHING, Dialect, read_dialect
from planbook.envs.errors import EnvironmentBroken, MissingRequirement
from planbook.envs.requirements import install_command

TREATABLE = {"heat": "heatable", "cool": "coolable", "clean": "cleanable"}
"""Maps each treatment to the predicate of objects that can be treated in this way."""


@dataclass(frozen=True, slots=True)
class AlfworldGame:
    """A game, as alfworld stores it."""

    id: str
    data: Mapping[str, Any]
    """The JSON of the game's file. The direct engine reads only ``pddl_domain``, ``pddl_problem`` and ``grammar``."""
    goal: str = ""
    """The sentence that states the goal of a generated game. Empty for other games."""

    @property
    def uses_put(self) -> bool:
        """True if the game's verb for putting something down is ``put`` (before alfworld 0.4) rather than ``move``."""
        return "put {o} in/on {r}" in self.text("grammar")

    def text(self, key: str) -> str:
        """Return the text with this key in ``data``. Raises EnvironmentBroken if ``data`` does not have the key."""
        if key not in self.data:
            raise EnvironmentBroken(f"alfworld: the game {self.id} has no {key!r}; the file is damaged")
        return str(self.data[key])


@dataclass(frozen=True, slots=True)
class GameReply:
    """The reply to a command."""

    text: str
    won: bool
    """True if the goal of the game is now reached."""


class GameEngine(ABC):
    """An engine that plays one game at a time. It accepts the game's own commands, such as ``go to desk 1``."""

    @abstractmethod
    def load(self, game: AlfworldGame) -> None:
        """Load a game. Raises EnvironmentBroken if the engine cannot play it."""

    @abstractmethod
    def reset(self) -> GameReply:
        """Start the loaded game from the beginning, and return its first text."""

    @abstractmethod
    def step(self, command: str) -> GameReply:
        """Carry out a command, and return the reply. If the command is not admissible, the reply's text is NOTHING."""

    @abstractmethod
    def admissible(self) -> list[str]:
        """Return the commands that are admissible now, sorted."""

    def save(self) -> object:
        """Return a copy of the current state, or None if the engine cannot copy it cheaply."""
        return None

    def restore(self, saved: object) -> None:
        """Restore a saved state of the same game."""

    def close(self) -> None:
        """Release the resources of the engine. Closing twice is harmless."""


CommandResult = tuple[GameState, str] | None
"""The state after a command, and the text of the reply. None if the command is not admissible."""
_PATTERNS = {verb: form for form, (verb, _) in wording.COMMAND_PATTERNS.items()}
"""Maps the verb of each command to the regular expression that matches the command."""


class DirectEngine(GameEngine):
    """The fast engine. It plays one game at a time. Instances share no state."""

    def __init__(self) -> None:
        self.scene: GameScene
        self.state: GameState
        """The complete current state."""
        self.dialect: Dialect
        self._goal: GoalTest
        self._task_line = ""
        self._won = False

    def load(self, game: AlfworldGame) -> None:
        """Load a game.

        Raises EnvironmentBroken if a text of the game is missing, or if this engine does not implement its rules.
        """
        self.dialect = read_dialect(game.text("pddl_domain"), game.text("grammar"))
        self.scene = read_scene(game.text("pddl_problem"))
        self._goal = GoalTest(self.scene)
        task = wording.TASK_LINE.search(game.text("grammar"))
        self._task_line = task.group() if task else ""

    def reset(self) -> GameReply:
        """Start the loaded game from the beginning."""
        self.state = self.scene.start
        self._won = self._goal.holds(self.state)
        return GameReply(wording.intro_text(self.scene, self.state, self._task_line), self._won)

    def step(self, command: str) -> GameReply:
        """Carry out one command, if it is admissible."""
        result = self._carry_out(command.strip())
        if result is None:
            return GameReply(NOTHING, self._won)
        state, text = result
        if state is not self.state:
            self.state, self._won = state, self._goal.holds(state)
        return GameReply(text, self._won)

    def save(self) -> object:
        """Return the current state itself. The state is immutable, so no copy is needed."""
        return self.state, self._won

    def restore(self, saved: object) -> None:
        """Return to a saved state."""
        self.state, self._won = cast(tuple[GameState, bool], saved)

    def admissible(self) -> list[str]:
        """Return the commands that are admissible now, sorted."""
        commands = {"inventory", "look", *self._commands_here(), *self._commands_with_held_object()}
        commands.update(command for command, location in self.scene.go_commands if location != self.state.at)
        return sorted(commands)

    def _commands_here(self) -> Iterator[str]:
        scene, state = self.scene, self.state
        for receptacle in scene.receptacles_at.get(state.at, ()):
            name = scene.names[receptacle]
            yield f"examine {name}"
            if receptacle in scene.entities_with("openable"):
                yield f"{'close' if receptacle in state.opened else 'open'} {name}"
            things = [thing for thing, holder in state.inside if holder == receptacle]
            yield from (f"use {scene.names[thing]}" for thing in things if thing in scene.entities_with("toggleable"))
            if state.holding is None and self._is_accessible(receptacle):
                movable = scene.entities_with("pickupable")
                yield from (f"take {scene.names[thing]} from {name}" for thing in things if thing in movable)

    def _commands_with_held_object(self) -> Iterator[str]:
        scene, dialect = self.scene, self.dialect
        if not (thing := self.state.holding):
            return
        name = scene.names[thing]
        yield f"examine {name}"
        for receptacle in scene.receptacles_at.get(self.state.at, ()):
            if self._fits(thing, receptacle):
                yield f"{dialect.put} {name} {dialect.to} {scene.names[receptacle]}"
            for verb, kinds in dialect.receptacle_kinds.items():
                if scene.kinds[receptacle] in kinds and thing in scene.entities_with(TREATABLE[verb]):
                    yield f"{verb} {name} with {scene.names[receptacle]}"

    def _is_here(self, receptacle: str) -> bool:
        return self.scene.locations.get(receptacle) == self.state.at

    def _is_accessible(self, receptacle: str) -> bool:
        """Return whether the agent can reach what is in a receptacle: it is here, and not closed."""
        is_open = receptacle in self.state.opened or receptacle not in self.scene.entities_with("openable")
        return is_open and self._is_here(receptacle)

    def _fits(self, thing: str, receptacle: str) -> bool:
        """Return whether the agent could put a thing in or on a receptacle now if it held the thing."""
        kinds = self.scene.kinds
        return self._is_accessible(receptacle) and (kinds.get(receptacle), kinds.get(thing)) in self.scene.can_contain

    # The commands. Each of these methods returns the result of one command.

    def _carry_out(self, command: str) -> CommandResult:
        verb = command.split(" ", 1)[0]
        is_other_dialect = verb in ("put", "move") and verb != self.dialect.put
        match = _PATTERNS[verb].fullmatch(command) if verb in _PATTERNS else None
        if match is None or is_other_dialect:
            return None
        things = [self.scene.ids.get(name) for name in match.groups()]
        if None in things:
            return None
        return _ACTIONS[verb](self, *things)

    def _look(self) -> CommandResult:
        return self.state, wording.surroundings_text(self.scene, self.state)

    def _inventory(self) -> CommandResult:
        return self.state, wording.inventory_text(self.scene, self.state)

    def _go(self, receptacle: str) -> CommandResult:
        location = self.scene.locations.get(receptacle)
        if location is None or location == self.state.at:
            return None
        destination = location if self.dialect.arrives_at_location else receptacle
        text = wording.contents_text(self.scene, self.state, receptacle)
        return self.state._replace(at=location), f"You arrive at {self.scene.names[destination]}. {text}"

    def _open(self, receptacle: str) -> CommandResult:
        is_closed = receptacle in self.scene.entities_with("openable") - self.state.opened
        if not is_closed or not self._is_here(receptacle):
            return None
        state = self.state._replace(opened=self.state.opened | {receptacle})
        text = wording.contents_text(self.scene, state, receptacle)
        return state, f"You open the {self.scene.names[receptacle]}. {text}"

    def _close(self, receptacle: str) -> CommandResult:
        if not self._is_here(receptacle) or receptacle not in self.state.opened:
            return None
        state = self.state._replace(opened=self.state.opened - {receptacle})
        return state, f"You close the {self.scene.names[receptacle]}."

    def _take(self, thing: str, receptacle: str) -> CommandResult:
        state, pair = self.state, (thing, receptacle)
        can_take = state.holding is None and pair in state.inside and thing in self.scene.entities_with("pickupable")
        if not can_take or not self._is_accessible(receptacle):
            return None
        after = state._replace(
            holding=thing,
            inside=state.inside - {pair},
            taken=state.taken | {pair},
            object_locations=state.object_locations - {(thing, state.at)},
        )
        return after, f"You pick up the {self.scene.names[thing]} from the {self.scene.names[receptacle]}."

    def _put(self, thing: str, receptacle: str) -> CommandResult:
        state, pair, names = self.state, (thing, receptacle), self.scene.names
        if state.holding != thing or not self._fits(thing, receptacle):
            return None
        after = state._replace(
            holding=None,
            inside=state.inside | {pair},
            taken=state.taken - {pair},
            object_locations=state.object_locations | {(thing, state.at)},
        )
        return after, f"You {self.dialect.put} the {names[thing]} {self.dialect.to} the {names[receptacle]}."

    def _use(self, thing: str) -> CommandResult:
        here = self.scene.receptacles_at.get(self.state.at, ())
        is_here = any((thing, receptacle) in self.state.inside for receptacle in here)
        if not is_here or thing not in self.scene.entities_with("toggleable"):
            return None
        return self.state._replace(toggled=self.state.toggled | {thing}), f"You turn on the {self.scene.names[thing]}."

    def _examine(self, thing: str) -> CommandResult:
        if self._is_here(thing):
            return self.state, wording.contents_text(self.scene, self.state, thing)
        return (self.state, wording.object_text(self.scene, self.state, thing)) if thing == self.state.holding else None

    def _heat(self, thing: str, machine: str) -> CommandResult:
        after = self.state._replace(hot=self.state.hot | {thing}, cool=self.state.cool - {thing})
        return self._treat("heat", thing, machine, after)

    def _cool(self, thing: str, machine: str) -> CommandResult:
        after = self.state._replace(hot=self.state.hot - {thing}, cool=self.state.cool | {thing})
        return self._treat("cool", thing, machine, after)

    def _clean(self, thing: str, machine: str) -> CommandResult:
        return self._treat("clean", thing, machine, self.state._replace(clean=self.state.clean | {thing}))

    def _treat(self, verb: str, thing: str, machine: str, after: GameState) -> CommandResult:
        scene = self.scene
        can_treat = self.state.holding == thing and thing in scene.entities_with(TREATABLE[verb])
        is_usable = scene.kinds.get(machine) in self.dialect.receptacle_kinds[verb] and self._is_here(machine)
        if not can_treat or not is_usable:
            return None
        return after, f"You {verb} the {scene.names[thing]} using the {scene.names[machine]}."


_ACTIONS: dict[str, Callable[..., CommandResult]] = {
    verb: getattr(DirectEngine, "_put" if verb == "move" else f"_{verb}") for verb in _PATTERNS
}


_LOCK = RLock()
"""The lock that is held during every call to textworld, since loading games in textworld is not thread-safe."""
_IDLE_ENVIRONMENTS: list[Any] = []
"""Environments of textworld that can be reused. Creating a new environment leaks about a megabyte."""


@contextmanager
def _exclusive() -> Iterator[None]:
    """Hold the lock. At the end, restore ``sys.argv``, which textworld overwrites when it loads a game."""
    with _LOCK:
        arguments = sys.argv
        try:
            yield
        finally:
            sys.argv = arguments


def _environment() -> Any:
    if _IDLE_ENVIRONMENTS:
        return _IDLE_ENVIRONMENTS.pop()
    try:
        import textworld
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
        from textworld.envs.pddl import PddlEnv
    except (ImportError, OSError) as error:  # importing alfworld also creates its data folder
        raise MissingRequirement(
            f"alfworld: the engine 'textworld' cannot be imported ({error}); add it with: {install_command('alfworld')}"
        ) from error
    return AlfredDemangler(PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)), shuffle=False)


class ReferenceEngine(GameEngine):
    """The engine that calls textworld, as alfworld does. It cannot save its state.

    Only one of these engines runs at a time, even if several threads use them.
    """

    def __init__(self) -> None:
        self._environment: Any = None
        self._state: Any = None

    def load(self, game: AlfworldGame) -> None:
        """Load a game. This takes more than a second, since textworld translates the rules of the game."""
        with _exclusive():
            self._environment = self._environment or _environment()
            try:
                self._environment.load(dict(game.data))
            except (Exception, SystemExit) as error:  # textworld's translator calls sys.exit on failure
                raise EnvironmentBroken(
                    f"alfworld: textworld cannot load {game.id}: {type(error).__name__}: {error}"
                ) from error

    def reset(self) -> GameReply:
        """Start the game from the beginning. This is slow, too, since textworld translates the rules again."""
        with _exclusive():
            self._state = self._environment.reset()
        return GameReply(self._state.feedback, bool(self._state["won"]))

    def step(self, command: str) -> GameReply:
        """Carry out one command."""
        with _exclusive():
            self._state, _, _ = self._environment.step(command)
        return GameReply(self._state.feedback, bool(self._state["won"]))

    def admissible(self) -> list[str]:
        """Return the commands that are admissible now."""
        return list(self._state["admissible_commands"])

    def close(self) -> None:
        """Put textworld's environment aside, so that another engine can reuse it."""
        with _LOCK:
            if self._environment is not None:
                _IDLE_ENVIRONMENTS.append(self._environment)
                self._environment = None
