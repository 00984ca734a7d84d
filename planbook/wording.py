"""Format counts, numbers, money, times, outcomes and events as text, and escape control characters."""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from planbook.planner import NOT_JUDGED, Cell, Ending, FeedbackKind, Step, format_call

NO_FIGURE = "-"
"""Shown in place of a missing figure."""
PRICE_UNKNOWN = "price unknown"
"""Shown in place of an unknown cost."""
ESTIMATED = " (estimated)"
"""Shown after a count of tokens that is partly estimated, since a server did not report all of them."""


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: "1 action", "2 actions". Give ``plural`` if it is not the singular with an s."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def tally(counts: Mapping[str, int]) -> str:
    """Return the counts that are not zero, with their names: "3 same, 1 different"."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def listed(names: Iterable[str], limit: int) -> str:
    """Return the first ``limit`` names, and the number of names left out: "a, b and 3 more"."""
    all_names = list(names)
    left_out = len(all_names) - limit
    return f"{', '.join(all_names[:limit])}{f' and {left_out} more' if left_out > 0 else ''}"


def fixed(figure: float | None, digits: int) -> str:
    """Return a number with a fixed number of digits after the decimal point, or "-" for None."""
    return NO_FIGURE if figure is None else f"{figure:.{digits}f}"


def format_number(number: float | None, digits: int = 4) -> str:
    """Format a number with ``digits`` significant digits, and None as "-".

    A number with at least that many digits before the point is rounded to an integer with commas, such as 12,346.
    """
    if number is None:
        return NO_FIGURE
    return f"{number:,.0f}" if abs(number) >= 10 ** (digits - 1) else f"{number:.{digits}g}"


def format_money(money: float | None, unknown: str = PRICE_UNKNOWN) -> str:
    """Return a sum of money in US dollars, with four decimal places below one dollar. Return ``unknown`` for None."""
    if money is None:
        return unknown
    return f"${money:,.2f}" if money >= 1 or not money else f"${money:.4f}"


def interval(low: float, high: float) -> str:
    """Return an interval in percent: "12.5% to 30.0%" for the fractions 0.125 and 0.3."""
    return f"{low:.1%} to {high:.1%}"


def format_clock(seconds: float) -> str:
    """Return a time as hours (if there are any), minutes and seconds: "1:02:03" or "2:03"."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def utc_time(timestamp: float | None) -> str:
    """Return the date and time in UTC for a timestamp in seconds since 1970, or "-" for None."""
    return NO_FIGURE if timestamp is None else f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d %H:%M:%S} UTC"


_CONTROL = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
)


def escape_control(text: str) -> str:
    """Return the text with its control characters escaped, including those that change the direction of writing.

    The escaped text cannot change the state of a terminal.
    """
    return text if text.isprintable() else _CONTROL.sub(lambda char: repr(char[0])[1:-1], text)


UNJUDGED = "not judged here"
TYPE_SOLVED = "type_solved"
"""Cause of a task that `planbook build` skipped because its type had been solved often enough in a row."""
IN_WORDS: Mapping[str, str] = {FeedbackKind.DONE.value: "the episode ended unsolved", NOT_JUDGED: UNJUDGED}


def in_words(cause: str) -> str:
    """Return a recorded cause or outcome, such as ``no_plan``, in words."""
    return IN_WORDS.get(cause, cause.replace("_", " "))


def outcome_text(ending: Ending) -> str:
    """Return the outcome in a few words. A task that was not judged or was skipped is not called "failed"."""
    return {NOT_JUDGED: UNJUDGED, TYPE_SOLVED: "skipped"}.get(ending.cause) or in_words(ending.outcome.value)


def cause_text(ending: Ending) -> str:
    """Return the cause of an ending in words, or "" if the task was solved or the outcome already says the same."""
    cause = in_words(ending.cause)
    return "" if cause == outcome_text(ending) else cause


def first_line(message: str) -> str:
    """Return a message without the traceback that may follow it."""
    return message.partition("\n")[0]


def reason_text(ending: Ending) -> str:
    """Return the reason for a failure (its message or else its cause) in parentheses, or "" if there is no cause."""
    reason = first_line(ending.message) or cause_text(ending)
    return f" ({reason})" if ending.cause and reason else ""


def score_text(ending: Ending) -> str:
    """Return a score between 0 and 1 with a comma before it, as in ", score 0.5". Return "" for the scores 0 and 1."""
    score = ending.verdict.score
    return f", score {score:.2g}" if 0 < score < 1 else ""


def describe_event(kind: str, body: Any) -> str:
    """Describe an event in words. If ``DESCRIBE_BY_KIND`` lacks its kind, return the body as text."""
    if body is None:
        return "nothing (there is no such event)"
    return DESCRIBE_BY_KIND[kind](body) if kind in DESCRIBE_BY_KIND else str(body)


def _describe_task(body: Any) -> str:
    return f"{body['task']['id']}: {body['task']['goal']}\n{body['observation']['text']}"


def _describe_action(body: Any) -> str:
    step = Step.model_validate(body)
    return f"  line {step.line}: {format_call(step.action)} -> {step.observation.text}"


def _describe_cell(body: Any) -> str:
    cell = Cell.model_validate(body)
    faults = "".join(f"\n  {fault}" for fault in cell.feedback.faults)
    return f"{cell.source}: {cell.feedback.kind}{faults}"


def _describe_outcome(body: Any) -> str:
    ending = Ending.model_validate(body)
    after = f"after {counted(ending.actions, 'action')}{score_text(ending)}"
    if ending.cause == NOT_JUDGED:
        return f"{outcome_text(ending)}; {ending.message} ({after})"
    return f"{outcome_text(ending)}{reason_text(ending)} {after}"


DESCRIBE_BY_KIND: Mapping[str, Callable[[Any], str]] = {
    "task": _describe_task,
    "act": _describe_action,
    "cell": _describe_cell,
    "outcome": _describe_outcome,
}
"""Maps kinds of events to functions that describe the bodies of these events in words."""
