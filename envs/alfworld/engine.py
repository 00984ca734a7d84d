"""The interface of both engines, and the reference engine: textworld as alfworld ships it, slow but right."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any, Protocol

from planbook.envs.errors import EnvironmentBroken, MissingRequirement
from planbook.envs.resources import install_command

NOTHING = "Nothing happens."


@dataclass(frozen=True, slots=True)
class AlfworldGame:
    """A game as alfworld stores it: pddl_domain, pddl_problem and grammar are texts."""

    id: str
    data: Mapping[str, Any]

    @property
    def puts(self) -> bool:
        """Whether objects are ``put`` in the game's grammar (alfworld before 0.4) or ``move``d."""
        return "put {o} in/on {r}" in str(self.data["grammar"])


@dataclass(frozen=True, slots=True)
class GameReply:
    """What a command gave: the game's own text, and whether its goal holds now."""

    text: str
    won: bool


class GameEngine(Protocol):
    """One game at a time. Commands and texts are the game's own (``go to desk 1``)."""

    def load(self, game: AlfworldGame) -> None:
        """Take a game in. Raises EnvironmentBroken for one that cannot be played."""

    def reset(self) -> GameReply:
        """Start the loaded game from its beginning."""

    def step(self, command: str) -> GameReply:
        """Carry out one command; an inadmissible one is answered NOTHING."""

    def admissible(self) -> list[str]:
        """The commands that do something now, sorted."""

    def save(self) -> object:
        """A copy of the current state, or None if the engine has no cheap one."""

    def restore(self, saved: object) -> None:
        """Go back to a copy of the same game."""

    def close(self) -> None:
        """Give back what the engine holds; closing twice is harmless."""


_LOCK = RLock()
"""textworld's loading is not safe between threads: all its calls in this process take turns."""
_IDLE: list[Any] = []
"""Environments given back. Each new one costs about a megabyte for good, so they are used again."""


@contextmanager
def _alone() -> Iterator[None]:
    """One caller at a time; loading overwrites ``sys.argv``, which is put back."""
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
    except (ImportError, OSError) as error:  # importing alfworld also makes its data folder
        raise MissingRequirement(
            f"alfworld: the engine 'textworld' cannot be imported ({error}); add it with: {install_command('alfworld')}"
        ) from error
    return AlfredDemangler(PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True)), shuffle=False)


class Reference:
    """textworld behind our protocol. Many may be open; their calls take turns."""

    def __init__(self) -> None:
        self._environment: Any = None
        self._game = ""
        self._state: Any = None

    def load(self, game: AlfworldGame) -> None:
        """Translate the game's rules: more than a second."""
        with _alone():
            self._environment = self._environment or _environment()
            self._game = game.id
            try:
                self._environment.load(dict(game.data))
            except (Exception, SystemExit) as error:  # its translator gives up by exiting
                raise EnvironmentBroken(
                    f"alfworld: textworld cannot load {game.id}: {type(error).__name__}: {error}"
                ) from error

    def reset(self) -> GameReply:
        """Start from the beginning: another translation."""
        with _alone():
            self._state = self._environment.reset()
        return GameReply(self._state.feedback, bool(self._state["won"]))

    def step(self, command: str) -> GameReply:
        """Carry out one command."""
        with _alone():
            self._state, _, _ = self._environment.step(command)
        return GameReply(self._state.feedback, bool(self._state["won"]))

    def admissible(self) -> list[str]:
        """The commands that do something now."""
        return list(self._state["admissible_commands"])

    def save(self) -> object:
        """textworld has no copies: the world walks its actions again instead."""
        return None

    def restore(self, saved: object) -> None:
        """Never called: ``save`` gives nothing."""
        raise EnvironmentBroken(f"alfworld: textworld cannot go back to a saved state of {self._game}")

    def close(self) -> None:
        """Keep the environment for the next user."""
        with _LOCK:
            if self._environment is not None:
                _IDLE.append(self._environment)
                self._environment = None
