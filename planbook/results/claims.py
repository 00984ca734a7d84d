"""Claims of agents about whole tasks, compared with the environment's verdict: read from the record, never guessed.

Some methods make no claim about the whole task: stored procedures, given code, AutoManual (it replans as long as it
may), AgentKit (its steps run out), ProgPrompt and Code as Policies (a program that ended may have found that it can do
nothing), random actions. A last action that delivers an answer is a claim of success, whatever the method.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel

ClaimKind = Literal["solved", "not solved", "nothing"]
NO_CLAIM: ClaimKind = "nothing"
CLAIMS: dict[bool | None, ClaimKind] = {True: "solved", False: "not solved", None: NO_CLAIM}
ANSWERED = "an answer was delivered"


class TaskClaim(BaseModel):
    """The last claim about a task, its author, and the environment's verdict.

    ``played`` is False for an episode that was broken, not played or not judged: no verdict contradicts the claim.
    """

    task: str
    repeat: int
    claim: ClaimKind
    by: str = ""
    solved: bool
    played: bool = True

    @property
    def is_false(self) -> bool:
        """True if the verdict contradicts the claim."""
        return self.played and self.claim != NO_CLAIM and (self.claim == "solved") != self.solved


class ClaimCounts(BaseModel):
    """Counts of episodes by claim and verdict; ``--json`` has them as ``claims``."""

    claimed_and_solved: int
    claimed_and_not: int
    denied_and_solved: int
    """Claimed as not solved, or given up, but solved."""
    denied_and_not: int
    unclaimed_and_solved: int
    unclaimed_and_not: int
    unplayed: int
    """Broken, not played or not judged; their claims do not count."""
    false: tuple[TaskClaim, ...]
    """Claims that the environment contradicts."""


def count_claims(rows: Sequence[TaskClaim]) -> ClaimCounts | None:
    """Count the claims of a run; None if there are none that a verdict could contradict."""
    if all(row.claim == NO_CLAIM or not row.played for row in rows):
        return None
    counts = Counter((row.claim, row.solved) for row in rows if row.played)
    return ClaimCounts(
        claimed_and_solved=counts["solved", True],
        claimed_and_not=counts["solved", False],
        denied_and_solved=counts["not solved", True],
        denied_and_not=counts["not solved", False],
        unclaimed_and_solved=counts[NO_CLAIM, True],
        unclaimed_and_not=counts[NO_CLAIM, False],
        unplayed=sum(not row.played for row in rows),
        false=tuple(row for row in rows if row.is_false),
    )
