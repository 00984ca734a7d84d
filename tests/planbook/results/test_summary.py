"""Counting: every task in the denominator."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbook.envs import Task, Verdict
from planbook.planner import Ending, Outcome
from planbook.results.statistics import wilson
from planbook.results.summary import Summary, summarise
from planbook.results.telling import failure_lines, results_table
from planbook.runs import Entry
from tests.rows import results


def entry(index: int, kind: str = "a", repeat: int = 0) -> Entry:
    return Entry(
        index=index, task=Task(id=f"{kind}/{index}", env="toy", split="all", type=kind, goal="g"), repeat=repeat
    )


SOLVED = Ending(outcome=Outcome.DIRECT_SUCCESS, verdict=Verdict(True, 1.0), actions=4)
FAILED = Ending(outcome=Outcome.FAILURE, cause="raised", actions=10)
BROKEN = Ending(outcome=Outcome.BROKEN, cause="broken", message="the browser died")


def test_what_was_not_played_counts_too() -> None:
    entries = [entry(0), entry(1), entry(2, "b"), entry(3, "b")]
    summary = summarise(results(entries, {0: SOLVED, 1: FAILED, 2: BROKEN}), 1.0, "run")
    assert (summary.tasks, summary.solved) == (4, 1)
    assert summary.by_type == {"a": (1, 2), "b": (0, 2)}
    assert summary.failures == {"raised": 1, "broken": 1, "not_run": 1}
    assert summary.mean_actions_by_type == {"a": 7.0, "b": 0.0}
    assert summary.broken == 1
    assert summary.broken_messages == {"b/2": "the browser died"}


def columns_of(summary: Summary) -> dict[str, list[str]]:
    """The figures of the table of results, by column."""
    table = results_table(summary, "t")
    return {name: [row[place] for row in table.rows] for place, name in enumerate(table.columns, 1)}


def test_what_broke_or_was_not_run_is_distinguished_in_the_table_and_in_words() -> None:
    entries = [entry(0), entry(1), entry(2, "b"), entry(3, "b")]
    summary = summarise(results(entries, {0: SOLVED, 1: FAILED, 2: BROKEN}), 1.0, "run")
    assert summary.unplayed_by_type == {"b": (1, 1)}
    columns = columns_of(summary)
    assert columns["broken"] == ["0", "1", "1"]
    assert columns["not run"] == ["0", "1", "1"]
    assert columns["tasks"] == ["2", "2", "4"]
    assert (
        "Broken (a fault of planbook or of the environment) and not run count as not solved: 2 of 4; of the 2 that "
        "were played 1 were solved (50.0%, 95 % interval 9.5% to 90.5%)."
    ) in list(failure_lines(summary))
    assert columns["95 % interval"] == ["9.5% to 90.5%", "-", "-"], "none over tasks that were not played"


def test_where_everything_was_played_the_table_has_no_columns_for_what_was_not() -> None:
    summary = summarise(results([entry(0), entry(1)], {0: SOLVED, 1: FAILED}), 1.0, "run")
    assert {"broken", "not run"}.isdisjoint(columns_of(summary))
    assert not any("Broken" in line for line in failure_lines(summary))


def test_a_run_in_which_nothing_was_played_says_so() -> None:
    lines = list(failure_lines(summarise(results([entry(0)], {0: BROKEN}), 1.0, "run")))
    assert any(line.endswith("1 of 1; none was played to its end.") for line in lines)


def test_repeats_have_a_spread() -> None:
    entries = [entry(0), entry(1), entry(2, repeat=1), entry(3, repeat=1)]
    summary = summarise(results(entries, {0: SOLVED, 1: SOLVED, 2: SOLVED, 3: FAILED}), 1.0, "run")
    assert summary.solved_by_repeat == (2, 1)
    assert summary.spread == pytest.approx(0.35355, abs=1e-5)


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (140, 140, 0.9733, 1.0), (0, 0, 0.0, 1.0)],
)
def test_wilson_intervals_as_published(successes: int, total: int, low: float, high: float) -> None:
    assert wilson(successes, total) == pytest.approx((low, high), abs=1e-4)


@given(total=st.integers(1, 10_000), data=st.data())
def test_a_wilson_interval_holds_the_share(total: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, total))
    low, high = wilson(successes, total)
    assert 0.0 <= low <= successes / total + 1e-9
    assert successes / total - 1e-9 <= high <= 1.0
