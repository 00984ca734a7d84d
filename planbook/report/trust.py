"""What a reader has to know to trust the figures: what is counted, what broke, what was claimed, what it is made of."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planbook.outcomes import TYPE_SOLVED
from planbook.planner import Outcome
from planbook.planner.ending import NOT_JUDGED
from planbook.report.provenance import Provenance, provenance
from planbook.results import ClaimCounts, Result, RunResults, Said, all_claims, count_claims

MEANINGS: Mapping[Outcome, str] = {
    Outcome.DIRECT_SUCCESS: "solved, and no cell ended in an error",
    Outcome.INDIRECT_SUCCESS: "solved, after at least one error",
    Outcome.FAILURE: "played to the end of what its method does, and not solved",
    Outcome.OUT_OF_BUDGET: "not solved when its actions, or what else an episode may use, were used up",
    Outcome.BROKEN: "ended through a fault that is not the agent's: ours, the world's or the model server's",
    Outcome.NOT_RUN: "not played, or not to its end: the run was stopped, or what it may spend was spent",
}
"""What the outcomes mean, in words."""
FALSE: Mapping[str, Said] = {
    "Claimed to be solved, and not solved": "solved",
    "Claimed not to be solved, or given up, and solved": "not solved",
}
"""False claims, by what was claimed."""


@dataclass(frozen=True)
class Audit:
    """What was claimed of whole tasks: counts by task type, those of all last, and what the world contradicts."""

    rows: Sequence[tuple[str, ClaimCounts]]
    false: Sequence[tuple[str, Sequence[Result]]]
    """The episodes by what was claimed of them."""


@dataclass(frozen=True)
class Trust:
    """``outcomes`` are all that there can be, with how many episodes ended so: together they are all tasks."""

    outcomes: Sequence[tuple[Outcome, int, str]]
    tasks: int
    solved: int
    left_out: int
    """Building episodes that were left out on purpose, as their type had been solved often enough: not counted."""
    unjudgeable: Mapping[str, int]
    """Tasks of the selection that were not played, as the world cannot judge them, by reason: not counted either."""
    unsafe_no_sandbox: bool
    broken: Sequence[Result]
    not_run: Sequence[Result]
    not_judged: Sequence[Result]
    audit: Audit | None
    """None where nothing was claimed of any task."""
    provenance: Provenance


def trust(run: RunResults) -> Trust:
    """What is to be told of a run."""
    every = list(run.episodes.values())
    counted = [each for each in every if each.ending.cause != TYPE_SOLVED]
    counts = Counter(each.ending.outcome for each in counted)
    return Trust(
        outcomes=[(outcome, counts[outcome], meaning) for outcome, meaning in MEANINGS.items()],
        tasks=len(counted),
        solved=sum(count for outcome, count in counts.items() if outcome.solved),
        left_out=len(every) - len(counted),
        unjudgeable=run.run.unjudgeable,
        unsafe_no_sandbox=run.run.unsafe_no_sandbox,
        broken=_with_outcome(counted, Outcome.BROKEN),
        not_run=_with_outcome(counted, Outcome.NOT_RUN),
        not_judged=[each for each in counted if each.ending.cause == NOT_JUDGED],
        audit=audit(run, counted),
        provenance=provenance(run),
    )


def _with_outcome(played: Sequence[Result], outcome: Outcome) -> list[Result]:
    return [each for each in played if each.ending.outcome is outcome]


def audit(run: RunResults, played: Sequence[Result]) -> Audit | None:
    """The claims in these episodes, held against the world's verdict."""
    found = count_claims([each.claim for each in played])
    if found is None:
        return None
    pairs = list(zip(played, found.rows, strict=True))
    types = sorted({each.entry.task.type for each in played})
    by_type = [(kind, all_claims([row for each, row in pairs if each.entry.task.type == kind])) for kind in types]
    return Audit(
        rows=[*(by_type if len(types) > 1 else []), ("all", found)],
        false=[
            (told, [each for each, row in pairs if row.is_false and row.claim == said]) for told, said in FALSE.items()
        ],
    )
