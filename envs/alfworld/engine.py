"""The interface of both engines, and the reference engine: textworld as alfworld uses it, which is slow."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any

from planbook.envs.errors import EnvironmentBroken, MissingRequirement
from planbook.envs.resources import install_command

NOTHING = "Nothing happens."
"""The reply to a command that is not admissible."""


@dataclass(frozen=True, slots=True)
class AlfworldGame:
    """A game in the form in which alfworld stores it."""

    id: str
    data: Mapping[str, Any]
    """Maps ``pddl_domain``, ``pddl_problem`` and ``grammar`` to their texts. The direct engine ignores other keys."""
    goal: str = ""
    """The sentence that states the goal of a generated game. Empty for other games."""

    @property
    def uses_put(self) -> bool:
        """True if the game's verb for putting things down is ``put`` (alfworld before 0.4), False if it is ``move``."""
        return "put {o} in/on {r}" in str(self.data["grammar"])


@dataclass(frozen=True, slots=True)
class GameReply:
    """The reply to a command."""

    text: str
    won: bool
    """True if the goal of the game now holds."""


class GameEngine(ABC):
    """An engine that plays one game at a time. It takes the commands of the game, such as ``go to desk 1``."""

    @abstractmethod
    def load(self, game: AlfworldGame) -> None:
        """Load a game. Raises EnvironmentBroken if it cannot be played."""

    @abstractmethod
    def reset(self) -> GameReply:
        """Start the loaded game from the beginning, and return its first text."""

    @abstractmethod
    def step(self, command: str) -> GameReply:
        """Carry out a command and return the reply. If it is not admissible, the text of the reply is NOTHING."""

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


_LOCK = RLock()
"""Held during every call of textworld in this process, since textworld does not load games in a thread-safe way."""
_IDLE: list[Any] = []
"""Environments of textworld that are free for reuse. A new one leaks about a megabyte."""


@contextmanager
def _exclusive() -> Iterator[None]:
    """Hold the lock. Restore ``sys.argv`` afterwards, since loading a game overwrites it."""
    with _LOCK:
        arguments = sys.argv
        try:
            yield
        finally:
            sys.argv = arguments


def _environment() -> Any:
    if _IDLE:
        return _IDLE.pop()
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
    """The engine that calls textworld. It cannot save its state. Calls of several instances wait for each other."""

    def __init__(self) -> None:
        self._environment: Any = None
        self._state: Any = None

    def load(self, game: AlfworldGame) -> None:
        """Load a game. It takes more than a second, since textworld translates the rules."""
        with _exclusive():
            self._environment = self._environment or _environment()
            try:
                self._environment.load(dict(game.data))
            except (Exception, SystemExit) as error:  # its translator exits on failure
                raise EnvironmentBroken(
                    f"alfworld: textworld cannot load {game.id}: {type(error).__name__}: {error}"
                ) from error

    def reset(self) -> GameReply:
        """Start the game from the beginning. textworld translates the rules again."""
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
        """Keep textworld's environment for reuse."""
        with _LOCK:
            if self._environment is not None:
                _IDLE.append(self._environment)
                self._environment = None
