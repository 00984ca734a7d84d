"""What an episode is played by, and what its verbs hand to a strategy."""

from dataclasses import dataclass, field
from typing import NamedTuple

from planbook.envs import Snapshot
from planbook.planner.models.types import Message
from planbook.planner.types import Feedback
from planbook.sandbox import Limits


@dataclass(frozen=True)
class Mark:
    """A moment to come back to: the world, the namespace, and how many steps had been taken by then."""

    path: str
    number: int
    world: Snapshot
    session: int
    names: frozenset[str]
    steps: int


@dataclass(frozen=True)
class Terms:
    """What an episode may use, its seed, and how it plays. ``actions`` are those of the world, over all rounds."""

    actions: int
    limits: Limits = field(default_factory=Limits)
    seed: str = "0"
    stream: bool = False
    """Whether plans run while the model still writes them."""
    dry_run: bool = False
    """Whether a plan is refused before its first action if the dry run finds actions that cannot succeed.

    What has begun to run while it was written is not dry-run.
    """


class Told(NamedTuple):
    """What came of a plan that was asked for and run. ``history`` is the conversation with the reply at its end."""

    feedback: Feedback
    history: tuple[Message, ...]
