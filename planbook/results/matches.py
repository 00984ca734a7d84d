"""How goals were matched with found task types: coverage, abstentions, and matches that were wrong, with intervals."""

from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from planbook.planner import Grid, Match
from planbook.results.rows import Result
from planbook.results.statistics import wilson
from planbook.rules import FoundType
from planbook.wording import counted


class Share(BaseModel):
    """A number of tasks, of how many, and the 95 % interval of the share, in percent."""

    model_config = ConfigDict(frozen=True)

    count: int
    of: int
    low: float
    high: float

    def __str__(self) -> str:
        return f"95 % interval {self.low:.1f}% to {self.high:.1f}%"


class MatchCounts(BaseModel):
    """Counts of episodes by how their goals were matched; ``--json`` has them as ``matches``.

    ``wrong`` are tasks that were matched and not solved by the procedure of their type: a wrong type, wrong parameters,
    or a procedure that fails. ``wrong_type`` counts those of them whose own type, where the environment has one, is
    another than most of their found type have; None where tasks have no types.
    """

    model_config = ConfigDict(frozen=True)

    matched: Share
    abstained: Share
    wrong: Share
    solved_after: Share
    """Wrong ones that the planner solved afterwards."""
    wrong_type: Share | None
    by: dict[str, int]
    """Matches by what decided: pattern, words, model."""


def count_matches(rows: Sequence[Result]) -> MatchCounts | None:
    """Count the matches of a run; None if no goal was to be matched."""
    every = [(row, found) for row in rows if (found := row.match) is not None]
    if not every:
        return None
    matched = [(row, found) for row, found in every if found.type]
    wrong = [(row, found) for row, found in matched if found.failed or not row.solved]
    several = len({row.entry.task.type for row, _ in every}) > 1
    return MatchCounts(
        matched=share(len(matched), len(every)),
        abstained=share(len(every) - len(matched), len(every)),
        wrong=share(len(wrong), len(matched)),
        solved_after=share(sum(row.solved for row, _ in wrong), len(wrong)),
        wrong_type=share(_of_other_types(matched, wrong), len(matched)) if several else None,
        by=dict(Counter(found.by for _, found in matched)),
    )


def share(count: int, of: int) -> Share:
    """Return a share with its Wilson interval."""
    low, high = wilson(count, of)
    return Share(count=count, of=of, low=round(100 * low, 1), high=round(100 * high, 1))


def matches_table(counts: MatchCounts) -> Grid:
    """Return the counts as a table."""
    rows = [("matched with a type", counts.matched), ("abstained", counts.abstained), ("wrong matches", counts.wrong)]
    rows += [("wrong, and of another type", counts.wrong_type)] if counts.wrong_type else []
    rows += [("solved by the planner after a wrong match", counts.solved_after)] if counts.wrong.count else []
    told = [(name, str(each.count), str(each.of), f"{each.low:.1f}% to {each.high:.1f}%") for name, each in rows]
    return Grid("goals and found types", "", ("tasks", "of", "95 % interval"), told)


def versions_line(found: Sequence[FoundType]) -> str:
    """Return how many procedures were published for found types, and how many of them were repairs."""
    published, repairs = sum(each.version for each in found), sum(each.repairs for each in found)
    versions = f"{counted(len(found), 'found type')}; {counted(published, 'version')} of procedures published"
    return f"{versions}, {repairs} of them repairs ({share(repairs, published)})."


def _of_other_types(matched: Sequence[tuple[Result, Match]], wrong: Sequence[tuple[Result, Match]]) -> int:
    """Count the wrong matches whose own type most tasks of the found type do not have."""
    own = Counter((found.type, row.type) for row, found in matched)
    usual = {found: kind for (found, kind), _ in reversed(own.most_common())}
    return sum(usual[found.type] != row.type for row, found in wrong)
