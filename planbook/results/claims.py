"""Claims of agents about whole tasks, against the environment's verdict: read from the record, never guessed.

Methods that say nothing of the whole task make no claim: stored procedures, given code, AutoManual (it plans again as
long as it may), AgentKit (its steps run out), ProgPrompt and Code as Policies (a program that ended may have found that
it can do nothing), random actions. In environments where an action delivers the answer, giving it is a claim for every
method.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

Said = Literal["solved", "not solved", "nothing"]
NOTHING: Said = "nothing"
IN_WORDS: dict[bool | None, Said] = {True: "solved", False: "not solved", None: NOTHING}
ANSWERED = "an answer was delivered"


class TaskClaim(BaseModel):
    """The last claim about a task, who made it, and the environment's verdict.

    ``played`` is False for an episode that was broken or not played: its verdict says nothing of the claim.
    """

    model_config = ConfigDict(frozen=True)

    task: str
    repeat: int
    claim: Said
    by: str = ""
    solved: bool
    played: bool = True

    @property
    def is_false(self) -> bool:
        """True if the environment says the opposite of the claim."""
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


def count_claims(rows: Sequence[TaskClaim]) -> ClaimCounts | None:
    """Count the claims of a run; None where nothing was claimed of any task."""
    if all(row.claim == NOTHING for row in rows):
        return None
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
    )
