"""What ADaPT and the methods on its executor did, from the store: calls, depths, and claims held against verdicts."""

from collections import Counter
from collections.abc import Iterable, Sequence

from pydantic import BaseModel
from rich.table import Table

from planbook.figures.causes import UNPLAYED
from planbook.figures.methods.plays import Deeds
from planbook.figures.methods.records import Subtask
from planbook.figures.statistics import Episodes, mean_of
from planbook.planner import Ending
from planbook.terminal.tables import right_aligned

EXECUTOR, PLANNER = "executor", "planner"
TOP = 1
"""The depth of the whole task."""
Played = Sequence[tuple[Ending, Sequence[Subtask]]]


class Claims(BaseModel):
    """How often something was said to be done, to have failed, or nothing was said, as the episode ended first."""

    done: int = 0
    failed: int = 0
    none: int = 0


class Audit(BaseModel):
    """Episodes by what was claimed of the whole task in the end (columns), and by the world's verdict (rows)."""

    solved: Claims
    not_solved: Claims
    unplayed: int
    """Episodes that were broken or not played; they are not solved, whatever was claimed."""


class Decomposition(BaseModel):
    """What ``--json`` has as ``subtasks``. Means are over the episodes that were played; rates over all tasks.

    ``claimed_rate`` counts what was claimed to be done, and what the world ended as solved before anybody could claim
    anything; ``judged_rate`` is the world's (figure 10 of ADaPT holds these two against each other). ``k_max`` is the
    deepest depth at which an executor tried something, over the episodes that were solved; None if none was.
    """

    executor_calls: int
    planner_calls: int
    mean_executor_calls: float
    mean_planner_calls: float
    mean_calls_by_type: dict[str, tuple[float, float]]
    """Of the executor and of the planner."""
    k_max: float | None
    k_max_by_type: dict[str, float | None]
    audit: Audit
    claimed_rate: float
    judged_rate: float
    executor_claims: Claims
    """Of everything that executors were given, whole tasks included."""
    planner_claims: Claims
    """Of everything that was taken apart: whether its parts were enough."""


def decomposition(deeds: Deeds, episodes: Episodes) -> Decomposition | None:
    """The figures of a run; None for one in which nobody was given a sub-task."""
    given = [(entry, ending, deeds.play(entry.path).subtasks) for entry, ending in episodes]
    every = [subtask for _, _, subtasks in given for subtask in subtasks]
    if not every:
        return None
    of_type = {
        kind: [(ending, subtasks) for entry, ending, subtasks in given if entry.task.type == kind]
        for kind in sorted({entry.task.type for entry, _ in episodes})
    }
    all_played = [(ending, subtasks) for _, ending, subtasks in given]
    calls = Counter(each.by for each in every)
    executor, planner = _calls(all_played)
    audit = _audit(all_played)
    return Decomposition(
        executor_calls=calls[EXECUTOR],
        planner_calls=calls[PLANNER],
        mean_executor_calls=executor,
        mean_planner_calls=planner,
        mean_calls_by_type={kind: _calls(played) for kind, played in of_type.items()},
        k_max=_deepest(all_played),
        k_max_by_type={kind: _deepest(played) for kind, played in of_type.items()},
        audit=audit,
        claimed_rate=(audit.solved.done + audit.not_solved.done + audit.solved.none) / len(episodes),
        judged_rate=sum(audit.solved.model_dump().values()) / len(episodes),
        executor_claims=_claims(each.done for each in every if each.by == EXECUTOR),
        planner_claims=_claims(each.done for each in every if each.by == PLANNER),
    )


def top_claim(subtasks: Sequence[Subtask]) -> bool | None:
    """What was said of the whole task last: of several rounds the last one counts."""
    return next((each.done for each in reversed(subtasks) if each.depth == TOP), None)


def _calls(played: Played) -> tuple[float, float]:
    """How often the executor and the planner were called, a mean over the episodes that were played."""
    calls = Counter(each.by for _, subtasks in played for each in subtasks)
    episodes = max(1, sum(ending.outcome not in UNPLAYED for ending, _ in played))
    return round(calls[EXECUTOR] / episodes, 2), round(calls[PLANNER] / episodes, 2)


def _deepest(played: Played) -> float | None:
    depths = [
        max((each.depth for each in subtasks if each.by == EXECUTOR), default=TOP)
        for ending, subtasks in played
        if ending.outcome.solved
    ]
    return mean_of(depths)


def _audit(played: Played) -> Audit:
    said: dict[bool, list[bool | None]] = {True: [], False: []}
    for ending, subtasks in played:
        if ending.outcome not in UNPLAYED:
            said[ending.outcome.solved].append(top_claim(subtasks))
    unplayed = len(played) - sum(map(len, said.values()))
    return Audit(solved=_claims(said[True]), not_solved=_claims(said[False]), unplayed=unplayed)


def _claims(said: Iterable[bool | None]) -> Claims:
    counts = Counter(said)
    return Claims(done=counts[True], failed=counts[False], none=counts[None])


def audit_table(figures: Decomposition) -> Table:
    """What was claimed of whole tasks, against what the world says."""
    columns = ("claimed done", "claimed failed", "no claim: the episode ended first")
    title = "Whole tasks: what was claimed in the end, and the world's verdict"
    table = right_aligned("verdict", columns, title=title, long="whole")
    for name, claims in (("solved", figures.audit.solved), ("not solved", figures.audit.not_solved)):
        table.add_row(name, str(claims.done), str(claims.failed), str(claims.none))
    if figures.audit.unplayed:
        table.add_row("broken or not played", "", "", str(figures.audit.unplayed))
    return table


def decomposition_lines(figures: Decomposition) -> Iterable[str]:
    """Calls and depths, the two rates, and the claims of sub-tasks."""
    by_type = ", ".join(f"{kind} {told(depth)}" for kind, depth in figures.k_max_by_type.items())
    yield (
        f"A task gave the executor {figures.mean_executor_calls:.1f} pieces of work and the planner "
        f"{figures.mean_planner_calls:.1f}; deepest level of a solved one (k_max): {told(figures.k_max)}, "
        f"by type {by_type}."
    )
    yield (
        f"Solved as claimed {figures.claimed_rate:.1%}, as the world judges {figures.judged_rate:.1%}; what the world "
        "ended as solved before anybody claimed it counts in both."
    )
    executor, planner = figures.executor_claims, figures.planner_claims
    yield (
        f"Executors said done {executor.done}, failed {executor.failed}, nothing {executor.none}; of what was taken "
        f"apart, the parts were enough {planner.done}, not enough {planner.failed}, cut short {planner.none}."
    )


def told(depth: float | None) -> str:
    """A mean depth; nothing for none."""
    return "-" if depth is None else f"{depth:.1f}"
