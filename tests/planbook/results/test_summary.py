"""The summary of a run: every task counts in the denominator, and reasons for failure are described in words."""

import pytest
from hypothesis import given, strategies as st

from planbook.envs import Task, Verdict
from planbook.planner import Ending, Feedback, FeedbackKind, Outcome, Spending
from planbook.planner.types import NOT_JUDGED, Judgement
from planbook.results.statistics import wilson
from planbook.results.summary import Summary, failure_lines, results_table, spending_lines, summarise
from planbook.runs import EpisodeEntry
from planbook.terminal.episode import ending_text
from planbook.wording import cause_text, describe_event, reason_text
from tests.rows import results, summed

SOLVED = Ending(outcome=Outcome.DIRECT_SUCCESS, verdict=Verdict(True, 1.0), actions=4)
FAILED = Ending(outcome=Outcome.FAILURE, cause="raised", actions=10)
BROKEN = Ending(outcome=Outcome.BROKEN, cause="broken", message="the browser died")


def ended(types: str, *endings: Ending, repeats: int = 1, spent: Spending | None = None) -> Summary:
    """Summarise episodes, of which the first have these endings, and the others were not run."""
    return summed(types, dict(enumerate(endings)), repeats=repeats, spent=spent)


def columns_of(summary: Summary) -> dict[str, list[str]]:
    """Map each column of the table of results to its figures."""
    table = results_table(summary, "t")
    return {name: [row[place] for row in table.rows] for place, name in enumerate(table.columns, 1)}


def test_broken_and_unplayed_episodes_count_as_not_solved() -> None:
    summary = ended("aabb", SOLVED, FAILED, BROKEN)
    assert (summary.tasks, summary.solved) == (4, 1)
    assert summary.by_type == {"a": (1, 2), "b": (0, 2)}
    assert summary.failures == {"raised": 1, "broken": 1, "not_run": 1}
    assert summary.mean_actions_by_type == {"a": 7.0, "b": None}
    assert summary.broken == 1
    assert summary.broken_messages == {"b/2": "the browser died"}
    assert summary.unplayed_by_type == {"b": (1, 1)}
    columns = columns_of(summary)
    assert columns["broken"] == columns["not run"] == ["0", "1", "1"]
    assert columns["tasks"] == ["2", "2", "4"]
    assert columns["95 % interval"] == ["9.5% to 90.5%", "-", "-"], "none over tasks that were not played"
    line = (
        "Broken (a fault of the environment, the method, its files or planbook) and unplayed episodes count as not "
        "solved: 2 of 4."
    )
    assert line in list(failure_lines(summary))


def test_a_completely_played_run_has_no_columns_for_unplayed_episodes() -> None:
    summary = ended("aa", SOLVED, FAILED)
    assert {"broken", "not run"}.isdisjoint(columns_of(summary))
    assert not any("Broken" in line for line in failure_lines(summary))


def test_repeats_have_a_spread() -> None:
    summary = ended("aaaa", SOLVED, SOLVED, SOLVED, FAILED, repeats=2)
    assert summary.solved_by_repeat == (2, 1)
    assert summary.solved_sd == pytest.approx(0.35355, abs=1e-5)


def test_repeats_that_were_not_all_played_have_no_spread() -> None:
    assert not any("standard deviation" in line for line in failure_lines(ended("aaaa", SOLVED, SOLVED, repeats=2)))


def test_the_spread_compares_success_rates_if_repeats_differ_in_size() -> None:
    tasks = [Task(id=f"a/{n}", env="toy", split="all", type="a", goal="g") for n in range(4)]
    entries = [EpisodeEntry(index=n, task=task, repeat=n // 3) for n, task in enumerate(tasks)]
    summary = summarise(results(entries, dict.fromkeys(range(4), SOLVED)), 1.0, "run")
    assert (summary.solved_by_repeat, summary.solved_sd) == ((3, 1), 0.0)


def test_means_are_rounded_only_once() -> None:
    moves = [SOLVED.model_copy(update={"actions": 1 + (n < 8)}) for n in range(23)]
    assert columns_of(ended("a" * 23, *moves))["mean actions"] == ["1.35", "1.35"]


def test_costs_per_task_are_divided_by_the_tasks_that_were_run() -> None:
    spent = Spending(calls=1, prompt=10, completion=2)
    line, *_ = spending_lines(ended("aaaa", SOLVED, BROKEN, spent=spent))
    assert line == "1 model call; 10 prompt and 2 completion tokens; $0.00; 0.5 calls and 6 tokens per task."
    line, *_ = spending_lines(ended("aaaa", spent=spent))
    assert line == "1 model call; 10 prompt and 2 completion tokens; $0.00."
    recorded = spent.model_copy(update={"replayed": 1, "reworded": 1})
    line, reworded = spending_lines(ended("aaaa", spent=recorded))
    assert line.startswith("1 model call, from a recording; ")
    assert reworded.startswith("1 recorded reply answered a prompt whose wording has changed since; ")


def test_costs_of_a_run_with_repeats_are_given_per_episode() -> None:
    spent = Spending(calls=6, prompt=60, completion=12)
    line, *_ = spending_lines(ended("aaa", SOLVED, SOLVED, SOLVED, repeats=3, spent=spent))
    assert line.endswith("; 2.0 calls and 24 tokens per episode.")


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (140, 140, 0.9733, 1.0), (0, 0, 0.0, 1.0)],
)
def test_wilson_intervals_agree_with_published_tables(successes: int, total: int, low: float, high: float) -> None:
    assert wilson(successes, total) == pytest.approx((low, high), abs=1e-4)


@given(total=st.integers(1, 10_000), data=st.data())
def test_a_wilson_interval_contains_the_share(total: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, total))
    low, high = wilson(successes, total)
    assert 0.0 <= low <= successes / total + 1e-9
    assert successes / total - 1e-9 <= high <= 1.0


def test_large_counts_have_a_separator() -> None:
    assert columns_of(ended("a" * 1000, SOLVED))["tasks"] == ["1,000", "1,000"]


DONE = (Feedback(kind=FeedbackKind.DONE, text=""),)
ANSWERED = Judgement(unjudged_result="answer: 42")


def described(ending: Ending) -> str:
    return describe_event("outcome", ending.model_dump(mode="json"))


def test_an_episode_that_cannot_be_judged_is_reported_with_its_answer_and_not_counted() -> None:
    ending = ANSWERED.ending(DONE, 3, used_up=False)
    assert (ending.outcome, ending.cause) == (Outcome.FAILURE, NOT_JUDGED)
    assert described(ending) == "not judged here; answer: 42 (after 3 actions)"
    assert (summed("k", {0: ending}).solved, summed("k", {0: ending}).failures) == (0, {NOT_JUDGED: 1})
    assert list(failure_lines(summed("k", {0: ending}))) == [
        "Not solved, by cause: not judged here 1.",
        "Not judged here, so not counted as solved: k/0; answer: 42",
    ]


def test_an_episode_that_was_cut_off_has_failed_even_if_it_cannot_be_judged() -> None:
    stopped = (Feedback(kind=FeedbackKind.RAISED, text=""),)
    assert ANSWERED.ending(stopped, 3, used_up=False).cause == "raised"
    assert ANSWERED.ending(DONE, 3, used_up=True).cause == "out_of_budget"


def test_an_episode_that_ended_unsolved_is_described_with_its_score() -> None:
    ending = Judgement(Verdict(False, 0.75)).ending(DONE, 3, used_up=False)
    assert ending.cause == "done"
    assert described(ending) == "failure (the episode ended unsolved) after 3 actions, score 0.75"
    assert list(failure_lines(summed("k", {0: ending}))) == ["Not solved, by cause: the episode ended unsolved 1."]
    assert "score" not in described(Judgement().ending(DONE, 3, used_up=False))


def test_the_error_of_a_judge_is_the_reason_and_is_not_stored_with_the_verdict() -> None:
    ending = Judgement(Verdict(False, 0.0, "j.yaml:2: the assertion raised")).ending(DONE, 3, used_up=False)
    assert described(ending) == "failure (j.yaml:2: the assertion raised) after 3 actions"
    assert ending.model_dump(mode="json")["verdict"] == {"solved": False, "score": 0.0}
    unfinished = (Feedback(kind=FeedbackKind.UNFINISHED, text=""),)
    assert Judgement(Verdict(False, 0.0, "why")).ending(unfinished, 3, used_up=False).message == "why"
    limited = Judgement(ending.verdict).ending(DONE, 3, used_up=True)
    assert (limited.cause, limited.message) == ("out_of_budget", "")


def test_a_cause_that_says_the_same_as_the_outcome_is_not_repeated() -> None:
    unjudged = ANSWERED.ending(DONE, 3, used_up=False)
    assert ending_text(unjudged).plain == "not judged here after 3 actions, 0 error steps: answer: 42"
    limited = Judgement().ending(DONE, 3, used_up=True)
    assert described(limited) == "out of budget after 3 actions"
    assert [(cause_text(ending), reason_text(ending)) for ending in (unjudged, limited)] == [
        ("", " (answer: 42)"),
        ("", ""),
    ]
    assert ANSWERED.ending((), 3, used_up=False).cause != unjudged.cause
    unsolved = Judgement().ending(DONE, 3, used_up=False)
    assert cause_text(unsolved) == "the episode ended unsolved"
    assert reason_text(unsolved) == " (the episode ended unsolved)"
