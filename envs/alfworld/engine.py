"""What both engines do: play one game by text commands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

NOTHING = "Nothing happens."


@dataclass(frozen=True, slots=True)
class Game:
    """A game as alfworld stores it: pddl_domain, pddl_problem and grammar are texts."""

    id: str
    data: Mapping[str, Any]

    @property
    def puts(self) -> bool:
        """Whether objects are ``put`` in the game's grammar (alfworld before 0.4) or ``move``d."""
        return "put {o} in/on {r}" in str(self.data["grammar"])


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command gave: the game's own text, and whether its goal holds now."""

    text: str
    won: bool


class Engine(Protocol):
    """One game at a time. Commands and texts are the game's own (``go to desk 1``)."""

    def load(self, game: Game) -> None:
        """Take a game in. Raises WorldBroken for one that cannot be played."""

    def reset(self) -> Reply:
        """Start the loaded game from its beginning."""

    def step(self, command: str) -> Reply:
        """Carry out one command; an inadmissible one is answered NOTHING."""

    def admissible(self) -> list[str]:
        """The commands that do something now, sorted."""

    def save(self) -> object:
        """A copy of the current state, or None if the engine has no cheap one."""

    def restore(self, saved: object) -> None:
        """Go back to a copy of the same game."""

    def close(self) -> None:
        """Give back what the engine holds; closing twice is harmless."""
