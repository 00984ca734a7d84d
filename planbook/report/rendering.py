"""How the templates of a page are rendered.

What models and worlds said is hostile until shown otherwise: everything is escaped, and characters that cannot be seen
are written out.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from planbook.outcomes import in_words, outcome_of, score_of
from planbook.wording import counted, harmless

TEMPLATES = Path(__file__).parent / "templates"
NOTHING = "–"
LONG_TEXT = 400
"""Texts from this length on can be kept elsewhere than where they are shown."""
Keep = Callable[[str], int]
"""Takes a text to where the page keeps its texts, each once; the number that it has there."""


def templates(keep: Keep | None = None) -> Environment:
    """The templates. With ``keep``, a long text is left out of what they render: its place bears its number."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        finalize=visible,
    )
    environment.filters.update(FILTERS)
    environment.globals.update(pre=_kept_by(keep) if keep else in_place)
    return environment


@cache
def plain() -> Environment:
    """The templates, with every text in its place."""
    return templates()


def in_place(text: str, kind: str = "") -> Markup:
    """A text as it stands, in an element of a class."""
    return Markup("<pre{}>\n{}</pre>").format(_class(kind), visible(text))


def _kept_by(keep: Keep) -> Callable[[str, str], Markup]:
    def place_of(text: str, kind: str = "") -> Markup:
        if len(text) < LONG_TEXT:
            return in_place(text, kind)
        return Markup('<pre{} data-text="{}"></pre>').format(_class(kind), keep(str(visible(text))))

    return place_of


def _class(kind: str) -> Markup:
    return Markup(' class="{}"').format(kind) if kind else Markup()


def visible(value: object) -> object:
    """Text without characters that cannot be seen; what is markup already is ours."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return value if value.replace("\n", "").replace("\t", "").isprintable() else harmless(value)


def percent(share: float | None) -> str:
    """A share with one digit."""
    return NOTHING if share is None else f"{share:.1%}"


def decimal(number: float | None) -> str:
    """A mean."""
    return NOTHING if number is None else f"{number:.1f}"


def hundredths(number: float | None) -> str:
    """A mean whose second digit counts."""
    return NOTHING if number is None else f"{number:.2f}"


def figure(number: float | None) -> str:
    """A figure of any size."""
    return NOTHING if number is None else f"{number:.4g}"


def whole(number: float) -> str:
    """A count, with its thousands set apart."""
    return f"{number:,.0f}"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def moment(at: float | None) -> str:
    """A point in time, in UTC."""
    return NOTHING if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"


FILTERS: dict[str, Callable[..., str]] = {
    "percent": percent,
    "decimal": decimal,
    "hundredths": hundredths,
    "figure": figure,
    "whole": whole,
    "counted": counted,
    "in_words": in_words,
    "outcome": outcome_of,
    "score": score_of,
    "duration": duration,
    "moment": moment,
}
