"""How counts, figures and texts of others are written, wherever they are told."""

from collections.abc import Iterable, Mapping

from planbook.planner import NOT_JUDGED, Ending, FeedbackKind, Outcome

NO_FIGURE = "-"
"""Stands for a figure that there is not."""
PRICE_UNKNOWN = "price unknown"
"""Stands for money of which nobody knows how much it was."""


def counted(number: int, thing: str, things: str = "") -> str:
    """A count of things: 1 action, 2 actions; ``things`` where an s is not enough."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def listed(names: Iterable[str], most: int) -> str:
    """The first names, and how many more there are."""
    every = list(names)
    more = len(every) - most
    return f"{', '.join(every[:most])}{f' and {more} more' if more > 0 else ''}"


def fixed(figure: float | None, digits: int) -> str:
    """A figure with so many digits after the point."""
    return NO_FIGURE if figure is None else f"{figure:.{digits}f}"


def interval(low: float, high: float) -> str:
    """The bounds of a share, in percent."""
    return f"{low:.1%} to {high:.1%}"


def clock(seconds: float) -> str:
    """Hours (if there are any), minutes and seconds: 1:02:03, 2:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def harmless(text: str) -> str:
    """The text without what would steer a terminal: control characters are shown as they are written."""
    return "".join(each if each.isprintable() or each in "\n\t" else repr(each)[1:-1] for each in text)


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
    """The environment's score, after a comma, where it is a part of what could be had; else nothing."""
    score = ending.verdict.score
    return f", score {score:.2g}" if 0 < score < 1 else ""
