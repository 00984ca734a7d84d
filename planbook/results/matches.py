"""Count how many goals were matched with a found type, how many of these matches were wrong, and the abstentions.

A found type is a task type that planbook found by itself while it learned.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel

from planbook.planner import Grid, Match
from planbook.results.rows import Result
from planbook.results.statistics import wilson
from planbook.wording import counted

if TYPE_CHECKING:
    from planbook.rules import FoundType


class Share(BaseModel):
    """The share ``count`` out of ``of`` tasks. Its 95 % interval is from ``low`` to ``high``, in percent."""

    count: int
    of: int
    low: float
    high: float

    def __str__(self) -> str:
        return f"95 % interval {self.low:.1f}% to {self.high:.1f}%"


class MatchCounts(BaseModel):
    """Counts of played episodes by how their goals were matched; the value of ``matches`` in the output of ``--json``.

    ``wrong`` counts tasks that were matched, but not solved by the procedure of the found type: the type or the
    parameters are wrong, or the procedure fails. ``wrong_type`` counts the wrong matches of tasks whose type in the
    environment differs from that of most tasks with the same found type. It is None if all tasks have the same type in
    the environment.
    """

    matched: Share
    abstained: Share
    wrong: Share
    solved_after: Share
    """Wrong matches after which the planner solved the task."""
    wrong_type: Share | None
    by: dict[str, int]
    """Maps the sources of matches (pattern, words, model) to the number of matches."""


def count_matches(rows: Sequence[Result]) -> MatchCounts | None:
    """Count the matches of the played episodes, including abstentions. Return None if there are neither."""
    matches = [(row, match) for row in rows if row.outcome.played and (match := row.match) is not None]
    if not matches:
        return None
    matched = [(row, match) for row, match in matches if match.type]
    wrong = [(row, match) for row, match in matched if match.failed or not row.solved]
    has_several_types = len({row.entry.task.type for row, _ in matches}) > 1
    return MatchCounts(
        matched=share(len(matched), len(matches)),
        abstained=share(len(matches) - len(matched), len(matches)),
        wrong=share(len(wrong), len(matched)),
        solved_after=share(sum(row.solved for row, _ in wrong), len(wrong)),
        wrong_type=share(_count_wrong_types(matched, wrong), len(matched)) if has_several_types else None,
        by=dict(Counter(match.by for _, match in matched)),
    )


def share(count: int, total: int) -> Share:
    """Return a share with its Wilson interval."""
    low, high = wilson(count, total)
    return Share(count=count, of=total, low=round(100 * low, 1), high=round(100 * high, 1))


def matches_table(counts: MatchCounts) -> Grid:
    """Return the counts as a table."""
    rows = [("matched with a type", counts.matched), ("abstained", counts.abstained), ("wrong matches", counts.wrong)]
    rows += [("wrong, and of another type", counts.wrong_type)] if counts.wrong_type else []
    rows += [("solved by the planner after a wrong match", counts.solved_after)] if counts.wrong.count else []
    cells = [(name, str(part.count), str(part.of), f"{part.low:.1f}% to {part.high:.1f}%") for name, part in rows]
    return Grid("goals and found types", "", ("tasks", "of", "95 % interval"), cells)


def versions_line(found: "Sequence[FoundType]", library: "Sequence[FoundType]") -> str:
    """Return a line with the number of procedures published for found types, and how many of them are repairs.

    Procedures that were already in the ``library`` that the run began with are not counted.
    """
    published = sum(kind.version for kind in found) - sum(kind.version for kind in library)
    repairs = sum(kind.repairs for kind in found) - sum(kind.repairs for kind in library)
    versions = f"{counted(len(found), 'found type')}; {counted(published, 'version')} of procedures published"
    return f"{versions}, {repairs} of them repairs ({share(repairs, published)})."


def _count_wrong_types(matched: Sequence[tuple[Result, Match]], wrong: Sequence[tuple[Result, Match]]) -> int:
    """Count the wrong matches whose task has another type than most tasks of the same found type."""
    counts = Counter((match.type, row.type) for row, match in matched)
    most_common = {found: kind for (found, kind), _ in reversed(counts.most_common())}
    return sum(most_common[match.type] != row.type for row, match in wrong)
