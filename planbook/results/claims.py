"""What the agent claimed of whole tasks, against the environment's verdict: read from what was recorded, never guessed.

Methods that say nothing of the whole task make no claim: stored procedures, given code, AutoManual (it plans again as
long as it may), AgentKit (its steps run out), ProgPrompt and Code as Policies (a program that ended may have found that
it can do nothing), random actions. In environments where an action delivers the answer, giving it is a claim for every
method.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from planbook.planner import Ending

Said = Literal["solved", "not solved", "nothing"]
NOTHING: Said = "nothing"
IN_WORDS: dict[bool | None, Said] = {True: "solved", False: "not solved", None: NOTHING}
ANSWERED = "an answer was delivered"


class TaskClaim(BaseModel):
    """What was claimed of a task in the end, who claims it, and the environment's verdict.

    ``played`` is False for an episode that was broken or not played: its verdict says nothing of the claim.
    """

    model_config = ConfigDict(frozen=True)

    task: str
    repeat: int
    claim: Said
    by: str = ""
    solved: bool
    played: bool = True

    @classmethod
    def of(cls, task: str, repeat: int, by: str, said: bool | None, ending: Ending) -> "TaskClaim":
        """Return the claim that somebody makes of a task that ended so; ``said`` is None where nothing is claimed."""
        return cls(
            task=task,
            repeat=repeat,
            claim=IN_WORDS[said],
            by=by if said is not None else "",
            solved=ending.outcome.solved,
            played=ending.outcome.played,
        )

    @property
    def is_false(self) -> bool:
        """Whether the environment says the opposite of what was claimed."""
        return self.played and self.claim != NOTHING and (self.claim == "solved") != self.solved


class ClaimCounts(BaseModel):
    """Counts of episodes by claim and verdict; ``--json`` has them as ``claims``."""

    claimed_and_solved: int
    claimed_and_not: int
    denied_and_solved: int
    """Claimed not to be solved, or given up, and solved all the same."""
    denied_and_not: int
    unclaimed_and_solved: int
    unclaimed_and_not: int
    unplayed: int
    """Broken or not played; claims about these do not count."""
    false: tuple[TaskClaim, ...]
    """Claims that the environment contradicts."""
    rows: tuple[TaskClaim, ...] = Field(exclude=True, repr=False)
    """All of them, in the order of the run; not part of the JSON."""


def count_claims(rows: Sequence[TaskClaim]) -> ClaimCounts | None:
    """Count the claims of a run; None where nothing was claimed of any task."""
    return None if all(row.claim == NOTHING for row in rows) else all_claims(rows)


def all_claims(rows: Sequence[TaskClaim]) -> ClaimCounts:
    """Count these claims, even if there is none among them."""
    counts = Counter((row.claim, row.solved) for row in rows if row.played)
    return ClaimCounts(
        claimed_and_solved=counts["solved", True],
        claimed_and_not=counts["solved", False],
        denied_and_solved=counts["not solved", True],
        denied_and_not=counts["not solved", False],
        unclaimed_and_solved=counts[NOTHING, True],
        unclaimed_and_not=counts[NOTHING, False],
        unplayed=sum(not row.played for row in rows),
        false=tuple(row for row in rows if row.is_false),
        rows=tuple(rows),
    )
