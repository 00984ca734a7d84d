"""Figures of ADaPT and the methods on its executor: calls, depths, and claims against verdicts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

from pydantic import BaseModel

from planbook.planner.roles import PLANNER_ROLE
from planbook.planner.strategies.adapt.executor import EXECUTOR, TOP, Subtask
from planbook.planner.strategies.base import Figures, Grid, Played, mean_of, told
from planbook.planner.types import Ending

Given = Sequence[tuple[Ending, Sequence[Subtask]]]


class Claims(BaseModel):
    """Number of subtasks claimed done, claimed failed, or without a claim because the episode ended first."""

    done: int = 0
    failed: int = 0
    none: int = 0


class Audit(BaseModel):
    """Episodes by the claim about the whole task (columns) and by the environment's verdict (rows)."""

    solved: Claims
    not_solved: Claims
    unplayed: int
    """Episodes that were broken or not played. They count as not solved, whatever was claimed."""


class DecompositionFigures(Figures):
    """The figures under ``subtasks`` in ``--json``. Means are over played episodes, rates over all tasks.

    ``claimed_rate`` counts claims of success, and episodes that ended as solved before any claim; ``judged_rate`` is
    the environment's (figure 10 of ADaPT compares the two). ``k_max`` is the deepest depth at which an executor worked,
    over the solved episodes; None if there are none.
    """

    key = "subtasks"

    executor_calls: int
    planner_calls: int
    mean_executor_calls: float
    mean_planner_calls: float
    mean_calls_by_type: dict[str, tuple[float, float]]
    """Mean calls of the executor and of the planner."""
    k_max: float | None
    k_max_by_type: dict[str, float | None]
    audit: Audit
    claimed_rate: float
    judged_rate: float
    executor_claims: Claims
    """Claims about everything given to executors, whole tasks included."""
    planner_claims: Claims
    """Claims about decomposed tasks: whether the parts were enough."""

    @classmethod
    def count(cls, episodes: Sequence[Played]) -> Self | None:
        """Count over a run; None if no subtask was given."""
        all_played = [(played.ending, played.held(Subtask)) for played in episodes]
        every = [subtask for _, subtasks in all_played for subtask in subtasks]
        if not every:
            return None
        of_type = {
            kind: [each for played, each in zip(episodes, all_played, strict=True) if played.kind == kind]
            for kind in sorted({played.kind for played in episodes})
        }
        calls = Counter(each.by for each in every)
        executor, planner = _calls(all_played)
        audit = _audit(all_played)
        return cls(
            executor_calls=calls[EXECUTOR],
            planner_calls=calls[PLANNER_ROLE],
            mean_executor_calls=executor,
            mean_planner_calls=planner,
            mean_calls_by_type={kind: _calls(played) for kind, played in of_type.items()},
            k_max=_deepest(all_played),
            k_max_by_type={kind: _deepest(played) for kind, played in of_type.items()},
            audit=audit,
            claimed_rate=(audit.solved.done + audit.not_solved.done + audit.solved.none) / len(episodes),
            judged_rate=sum(audit.solved.model_dump().values()) / len(episodes),
            executor_claims=_claims(each.done for each in every if each.by == EXECUTOR),
            planner_claims=_claims(each.done for each in every if each.by == PLANNER_ROLE),
        )

    def tell(self) -> Iterable[str | Grid]:
        """Return claims about whole tasks against verdicts, then calls and depths, then claims about subtasks."""
        audit = self.audit
        claims = [("solved", audit.solved), ("not solved", audit.not_solved)]
        rows = [(name, str(said.done), str(said.failed), str(said.none)) for name, said in claims]
        if audit.unplayed:
            rows.append(("broken or not played", "", "", str(audit.unplayed)))
        columns = ("claimed done", "claimed failed", "no claim: the episode ended first")
        yield Grid("Whole tasks: the last claim, and the environment's verdict", "verdict", columns, rows)
        by_type = ", ".join(f"{kind} {told(depth)}" for kind, depth in self.k_max_by_type.items())
        yield (
            f"Sub-tasks per task: executor {self.mean_executor_calls:.1f}, planner "
            f"{self.mean_planner_calls:.1f}; deepest level of a solved task (k_max): {told(self.k_max)}, "
            f"by type {by_type}."
        )
        yield (
            f"Solved as claimed {self.claimed_rate:.1%}, as judged {self.judged_rate:.1%}; tasks that the environment "
            "ended as solved before any claim count in both."
        )
        executor, planner = self.executor_claims, self.planner_claims
        yield (
            f"Executors said done {executor.done}, failed {executor.failed}, nothing {executor.none}; of what was "
            f"taken apart, the parts were enough {planner.done}, not enough {planner.failed}, cut short {planner.none}."
        )


def _top_claim(subtasks: Sequence[Subtask]) -> bool | None:
    """Return what was said of the whole task last: of several rounds the last one counts."""
    return next((each.done for each in reversed(subtasks) if each.depth == TOP), None)


def _calls(played: Given) -> tuple[float, float]:
    """Return the mean number of calls of executor and planner over the played episodes."""
    calls = Counter(each.by for _, subtasks in played for each in subtasks)
    episodes = max(1, sum(ending.outcome.played for ending, _ in played))
    return round(calls[EXECUTOR] / episodes, 2), round(calls[PLANNER_ROLE] / episodes, 2)


def _deepest(played: Given) -> float | None:
    depths = [
        max((each.depth for each in subtasks if each.by == EXECUTOR), default=TOP)
        for ending, subtasks in played
        if ending.outcome.solved
    ]
    return mean_of(depths)


def _audit(played: Given) -> Audit:
    said: dict[bool, list[bool | None]] = {True: [], False: []}
    for ending, subtasks in played:
        if ending.outcome.played:
            said[ending.outcome.solved].append(_top_claim(subtasks))
    unplayed = len(played) - sum(map(len, said.values()))
    return Audit(solved=_claims(said[True]), not_solved=_claims(said[False]), unplayed=unplayed)


def _claims(said: Iterable[bool | None]) -> Claims:
    counts = Counter(said)
    return Claims(done=counts[True], failed=counts[False], none=counts[None])
