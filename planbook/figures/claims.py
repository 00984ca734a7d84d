"""What the agent claimed of whole tasks, against the world's verdict: read from what was recorded, never guessed.

A method that says nothing of the whole task makes no claim: stored procedures, given code, AutoManual (it plans again
as long as it may), AgentKit (its steps run out), ProgPrompt and Code as Policies (a program that came to its end may
have found that it can do nothing), actions by chance. In worlds where an action delivers the answer, giving it is a
claim, whatever plays.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from planbook.envs import EnvsError, load_environment
from planbook.figures.plays import Play, Plays
from planbook.figures.statistics import Episodes
from planbook.planner import Ending
from planbook.run import Entry
from planbook.wording import listed

Said = Literal["solved", "not solved", "nothing"]
NOTHING: Said = "nothing"
IN_WORDS: dict[bool | None, Said] = {True: "solved", False: "not solved", None: NOTHING}
ANSWERED = "an answer was delivered"
TOLD_FALSE = 3
"""False claims that the terminal names."""


class Claim(BaseModel):
    """What was claimed of one task in the end, ``by`` what was recorded, and the world's verdict.

    ``played`` is False for one that was broken or not played: its verdict says nothing of what was claimed.
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
        """Whether the world says the opposite of what was claimed."""
        return self.played and self.claim != NOTHING and (self.claim == "solved") != self.solved


class Claims(BaseModel):
    """What ``--json`` has as ``claims``: episodes by what was claimed of the task in the end and by the verdict."""

    claimed_and_solved: int
    claimed_and_not: int
    denied_and_solved: int
    """Said not to be solved, or given up, and solved all the same."""
    denied_and_not: int
    unclaimed_and_solved: int
    unclaimed_and_not: int
    unplayed: int
    """Broken or not played; whatever was claimed of these does not count."""
    false: tuple[Claim, ...]
    """Those that the world contradicts."""
    rows: tuple[Claim, ...] = Field(exclude=True, repr=False)
    """All of them, in the order of the run; not a part of the JSON."""


def claims(plays: Plays, episodes: Episodes) -> Claims | None:
    """The audit of a run; None for one in which nothing was claimed of any task."""
    rows = tuple(_claim(entry, ending, plays.play(entry.path), plays.env) for entry, ending in episodes)
    return None if all(row.claim == NOTHING for row in rows) else audited(rows)


def audited(rows: tuple[Claim, ...]) -> Claims:
    """The audit of these."""
    counts = Counter((row.claim, row.solved) for row in rows if row.played)
    return Claims(
        claimed_and_solved=counts["solved", True],
        claimed_and_not=counts["solved", False],
        denied_and_solved=counts["not solved", True],
        denied_and_not=counts["not solved", False],
        unclaimed_and_solved=counts[NOTHING, True],
        unclaimed_and_not=counts[NOTHING, False],
        unplayed=sum(not row.played for row in rows),
        false=tuple(row for row in rows if row.is_false),
        rows=rows,
    )


def _claim(entry: Entry, ending: Ending, play: Play, env: str) -> Claim:
    by, said = _said(play, env or entry.task.env)
    return Claim(
        task=entry.task.id,
        repeat=entry.repeat,
        claim=IN_WORDS[said],
        by=by if said is not None else "",
        solved=ending.outcome.solved,
        played=ending.outcome.played,
    )


def _said(play: Play, env: str) -> tuple[str, bool | None]:
    """Return who claims what. An answer that was delivered counts first: its giver holds the task to be done."""
    act = play.last_act
    if act is not None and act["action"]["name"] == _answering(env) and act["observation"]["accepted"]:
        return ANSWERED, True
    return (play.claim.by, play.claim.done) if play.claim else ("", None)


@cache
def _answering(env: str) -> str | None:
    """The action of a world that delivers answers; None where it has none, or is not at hand."""
    try:
        return load_environment(env).answering or None
    except EnvsError:
        return None


def claim_lines(figures: Claims) -> Iterable[str]:
    """The counts, and the first claims that are false."""
    right = figures.claimed_and_solved + figures.denied_and_not
    made = right + len(figures.false)
    none = figures.unclaimed_and_solved + figures.unclaimed_and_not
    unplayed = f"; broken or not played {figures.unplayed}" if figures.unplayed else ""
    yield (
        f"Claims of whole tasks against the world's verdict: {made} made, {right} right; claimed solved and not "
        f"{figures.claimed_and_not}, claimed not solved and solved {figures.denied_and_solved}; no claim {none}"
        f"{unplayed}."
    )
    if figures.false:
        named = (f"{claim.task} (claimed {claim.claim})" for claim in figures.false)
        yield f"False claims: {listed(named, TOLD_FALSE)}."
