"""How an episode ended and why it was not solved, in words for people; records and JSON keep the short names."""

from collections.abc import Mapping

from planbook.planner import NOT_JUDGED, Ending, FeedbackKind, Outcome

UNPLAYED = (Outcome.BROKEN, Outcome.NOT_RUN)
"""Outcomes of episodes that say nothing of what played."""
UNJUDGED = "not judged here"
TYPE_SOLVED = "type_solved"
"""The cause of a building task that was left out, since its type had been solved often enough in a row."""
SKIPPED = "skipped"
IN_WORDS: Mapping[str, str] = {
    FeedbackKind.DONE.value: "the episode ended unsolved",
    NOT_JUDGED: UNJUDGED,
}


def in_words(cause: str) -> str:
    """A cause or an outcome."""
    return IN_WORDS.get(cause, cause.replace("_", " "))


def outcome_of(ending: Ending) -> str:
    """How it ended, in a word or two: one that was not judged is no failure, and one left out was skipped."""
    return {NOT_JUDGED: UNJUDGED, TYPE_SOLVED: SKIPPED}.get(ending.cause) or in_words(ending.outcome.value)


def first_line(message: str) -> str:
    """Return a message without the traceback that may follow it."""
    return message.partition("\n")[0]


def why(ending: Ending) -> str:
    """Why it was not solved, in brackets: what was said of that, else the cause. Nothing for what was solved."""
    return f" ({first_line(ending.message) or in_words(ending.cause)})" if ending.cause else ""


def score_of(ending: Ending) -> str:
    """The world's score, after a comma, where it is a part of what could be had; else nothing."""
    score = ending.verdict.score
    return f", score {score:.2g}" if 0 < score < 1 else ""
