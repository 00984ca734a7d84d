"""Reasons for failure are described in words instead of short names."""

from planbook.envs import Task, Verdict
from planbook.planner import Ending, Feedback, FeedbackKind, Outcome
from planbook.planner.types import NOT_JUDGED, Judgement
from planbook.results.summary import Summary, failure_lines, summarise
from planbook.runs import EpisodeEntry
from planbook.terminal.episode import ending_text
from planbook.wording import cause_text, describe_event, reason_text
from tests.rows import results

DONE = (Feedback(kind=FeedbackKind.DONE, text=""),)
ANSWERED = Judgement(unjudged_result="answer: 42")


def described(ending: Ending) -> str:
    return describe_event("outcome", ending.model_dump(mode="json"))


def summary(ending: Ending) -> Summary:
    entry = EpisodeEntry(index=0, task=Task(id="t0", env="w", split="s", type="k", goal="g"))
    return summarise(results([entry], {0: ending}), 1.0, "run")


def test_an_episode_that_cannot_be_judged_is_reported_with_its_answer_and_not_counted() -> None:
    ending = ANSWERED.ending(DONE, 3, used_up=False)
    assert (ending.outcome, ending.cause) == (Outcome.FAILURE, NOT_JUDGED)
    assert described(ending) == "not judged here; answer: 42 (after 3 actions)"
    assert (summary(ending).solved, summary(ending).failures) == (0, {NOT_JUDGED: 1})
    assert list(failure_lines(summary(ending))) == [
        "Not solved, by cause: not judged here 1.",
        "Not judged here, so not counted as solved: t0; answer: 42",
    ]


def test_an_episode_that_was_cut_off_has_failed_even_if_it_cannot_be_judged() -> None:
    stopped = (Feedback(kind=FeedbackKind.RAISED, text=""),)
    assert ANSWERED.ending(stopped, 3, used_up=False).cause == "raised"
    assert ANSWERED.ending(DONE, 3, used_up=True).cause == "out_of_budget"


def test_an_episode_that_ended_unsolved_is_described_with_its_score() -> None:
    ending = Judgement(Verdict(False, 0.75)).ending(DONE, 3, used_up=False)
    assert ending.cause == "done"
    assert described(ending) == "failure (the episode ended unsolved) after 3 actions, score 0.75"
    assert list(failure_lines(summary(ending))) == ["Not solved, by cause: the episode ended unsolved 1."]
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
