"""The interface of both engines, and the reference engine: textworld as alfworld ships it, slow but authoritative."""

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


@dataclass(frozen=True, slots=True)
class AlfworldGame:
    """A game as alfworld stores it: ``data`` has the texts pddl_domain, pddl_problem and grammar."""

    id: str
    data: Mapping[str, Any]
    goal: str = ""
    """The goal sentence of a generated game; empty for others."""

    @property
    def uses_put(self) -> bool:
        """True if objects are ``put`` (alfworld before 0.4), False if they are ``move``d."""
        return "put {o} in/on {r}" in str(self.data["grammar"])


@dataclass(frozen=True, slots=True)
class GameReply:
    """The answer to a command: the game's text, and whether its goal holds now."""

    text: str
    won: bool


class GameEngine(ABC):
    """An engine that plays one game at a time. Commands and texts are the game's (``go to desk 1``)."""

    @abstractmethod
    def load(self, game: AlfworldGame) -> None:
        """Load a game. Raises EnvironmentBroken for one that cannot be played."""

    @abstractmethod
    def reset(self) -> GameReply:
        """Start the loaded game from the beginning, and return its first text."""

    @abstractmethod
    def step(self, command: str) -> GameReply:
        """Carry out one command and return the reply; an inadmissible one is answered with NOTHING."""

    @abstractmethod
    def admissible(self) -> list[str]:
        """Return the commands that are admissible now, sorted."""

    def save(self) -> object:
        """Return a copy of the current state, or None if the engine has no cheap one."""
        return None

    def restore(self, saved: object) -> None:
        """Restore a saved state of the same game."""

    def close(self) -> None:
        """Release what the engine holds. Closing twice is harmless."""


_LOCK = RLock()
"""Serializes all textworld calls in this process, since textworld loads games in a way that is not thread-safe."""
_IDLE: list[Any] = []
"""textworld's environments, for reuse, since each new one leaks about a megabyte."""


@contextmanager
def _exclusive() -> Iterator[None]:
    """Hold the lock, and restore ``sys.argv``, which loading overwrites."""
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
    """textworld behind our interface. It cannot save its state. Many instances may be open; their calls take turns."""

    def __init__(self) -> None:
        self._environment: Any = None
        self._state: Any = None

    def load(self, game: AlfworldGame) -> None:
        """Translate the game's rules, which takes more than a second."""
        with _exclusive():
            self._environment = self._environment or _environment()
            try:
                self._environment.load(dict(game.data))
            except (Exception, SystemExit) as error:  # its translator exits on failure
                raise EnvironmentBroken(
                    f"alfworld: textworld cannot load {game.id}: {type(error).__name__}: {error}"
                ) from error

    def reset(self) -> GameReply:
        """Start from the beginning, which translates the rules again."""
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
        """Keep the environment for reuse."""
        with _LOCK:
            if self._environment is not None:
                _IDLE.append(self._environment)
                self._environment = None
