"""What a searching method tried in a round, put together as a tree that can be read from above."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from planbook.planner.strategies.advocate.tree import NOT_TRIED, Fate
from planbook.planner.strategies.advocate.tree import BranchTried as Branch
from planbook.planner.strategies.advocate.tree import PlanMade as Planned
from planbook.report.inside.items import Asked, Ran

STAYED: tuple[Fate, ...] = ("kept", "over")
"""The fates of branches that were not gone back behind."""
LEFT: tuple[Fate, ...] = ("turned back", "failed", "abandoned")
"""The fates of branches that were gone back behind."""


@dataclass
class Limb:
    """A branch that was tried, with the cell that ran it, and the prompts between that and the cells beside it."""

    branch: Branch
    ran: Ran | None = None
    before: Sequence[Asked] = ()
    after: Sequence[Asked] = ()
    begins: bool = False
    """Whether a sub-task begins with it."""
    spare: list[Branch] = field(default_factory=list)
    """What was never needed, told after it: what could have been tried in its place where it was the last one tried
    there, and what could have been tried after it where nothing was."""
    inside: list["Limb"] = field(default_factory=list)
    """What was tried from there, of one that was left; what follows one that was kept stands beside it."""

    @property
    def left(self) -> bool:
        """Whether it was gone back behind."""
        return self.branch.fate in LEFT


@dataclass
class Searched:
    """A round: what was planned, and all that was tried."""

    kind: ClassVar[str] = "searched"
    round: int
    plans: list[Planned] = field(default_factory=list)
    limbs: list[Limb] = field(default_factory=list)

    @property
    def fates(self) -> dict[Fate, int]:
        """How many branches had each fate, in the order in which they came."""
        found: dict[Fate, int] = {}
        for limb in self.limbs:
            found[limb.branch.fate] = found.get(limb.branch.fate, 0) + 1
        return found

    @property
    def spare(self) -> list[Branch]:
        """What could have been tried first, where nothing was tried at all."""
        tried = any(limb.branch.fate != NOT_TRIED for limb in self.limbs)
        return [] if tried else _spare(self.limbs, None)

    @property
    def tree(self) -> list[Limb]:
        """The way that was taken, from the start of the round; what was left on it stands where it was tried."""
        return _way(self.limbs, None)


def _way(limbs: Sequence[Limb], start: int | None) -> list[Limb]:
    """What was tried from a state, then from the state that was gone on from, and so on."""
    way: list[Limb] = []
    seen: set[int | None] = set()
    here: int | None = start
    while here not in seen:
        seen.add(here)
        tried = [limb for limb in limbs if limb.branch.parent == here and limb.branch.fate != NOT_TRIED]
        on = _gone_on(tried)
        for limb in sorted(tried, key=lambda each: (each is on, each.branch.number)):
            limb.begins = not way or way[-1].branch.subtask != limb.branch.subtask
            limb.inside = [] if limb is on else _way(_below(limbs, limb), limb.branch.number)
            limb.spare = [] if limb is on or limb.inside else _spare(limbs, limb.branch.number)
            way.append(limb)
        if way:
            way[-1].spare += _spare(limbs, here)
        if on is not None:
            here = on.branch.number
    return way


def _gone_on(tried: Sequence[Limb]) -> Limb | None:
    """The branch from which things went on: one that stayed, or else one after which nothing else was tried."""
    stayed = [limb for limb in tried if limb.branch.fate in STAYED]
    last = [limb for limb in tried[-1:] if limb.branch.fate == "abandoned"]
    return next(iter([*stayed[::-1], *last]), None)


def _below(limbs: Sequence[Limb], top: Limb) -> list[Limb]:
    """What is built on a branch, which is not part of it itself: whatever was recorded, this comes to an end."""
    return [limb for limb in limbs if limb is not top]


def _spare(limbs: Sequence[Limb], parent: int | None) -> list[Branch]:
    branches = (limb.branch for limb in limbs if limb.branch.fate == NOT_TRIED)
    return sorted((branch for branch in branches if branch.parent == parent), key=lambda each: each.number)


def link(searched: Sequence[Searched], flow: Sequence[Asked | Ran]) -> None:
    """Say of every branch with a cell which prompts came between that and the cells beside it."""
    at = {id(item): number for number, item in enumerate(flow)}
    for limb in (limb for each in searched for limb in each.limbs):
        if limb.ran is not None:
            here = at[id(limb.ran)]
            limb.before = list(_asked(reversed(flow[:here])))[::-1]
            limb.after = list(_asked(flow[here + 1 :]))


def _asked(flow: Iterator[Asked | Ran] | Sequence[Asked | Ran]) -> Iterator[Asked]:
    for item in flow:
        if isinstance(item, Ran):
            return
        yield item
