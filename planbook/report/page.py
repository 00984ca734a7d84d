"""The page: one HTML file that needs nothing else.

What models and worlds said is hostile until shown otherwise: everything is escaped, characters that cannot be seen are
written out, and the page itself forbids any script but its own.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from planbook.figures.causes import in_words, outcome_of, score_of
from planbook.printing import counted, harmless
from planbook.report import tables
from planbook.report.costs import costs
from planbook.report.gallery import charts
from planbook.report.learnt import learnt_texts
from planbook.report.places import Place, grown
from planbook.report.plotting import checksum, library
from planbook.report.reading import Played, RunRead
from planbook.report.scopes import told

TEMPLATES = Path(__file__).parent / "templates"
PAGE = "report.html.j2"
STYLES, SCRIPTS = ("report.css", "report_charts.css"), ("report.js", "report_charts.js")
NOTHING = "–"
BUFFERED = 500
"""Pieces of the page that are written together."""


def write_page(runs: Sequence[RunRead], out: Path, which: str | None) -> None:
    """Write the page, whole or not at all. Raises BadArgument for a choice of episodes that cannot be read."""
    views = [_view(number, run, which) for number, run in enumerate(runs)]
    script = _together(SCRIPTS)
    page = (
        _templates()
        .get_template(PAGE)
        .stream(
            runs=views,
            charts=charts(runs) if len(runs) > 1 else [],
            library=library(),
            types=tables.types(runs),
            measured=tables.measured(runs),
            style=Markup(_together(STYLES)),
            script=Markup(script),
            script_checksum=checksum(script.encode()),
        )
    )
    page.enable_buffering(BUFFERED)
    beside = out.with_name(f"{out.name}.new")
    with beside.open("wb") as file:
        page.dump(file, encoding="utf-8", errors="backslashreplace")
    beside.replace(out)


def _together(names: Sequence[str]) -> str:
    return "\n".join((TEMPLATES / name).read_text(encoding="utf-8").strip() for name in names)


def _view(number: int, run: RunRead, which: str | None) -> dict[str, Any]:
    """What the template shows of a run."""
    shown, choice = tables.chosen(run, which)
    anchor, summary = f"run-{number}", run.summary()

    def read(played: Played) -> Place | None:
        """An episode cell by cell: read when its turn comes, and not kept."""
        if played.index not in shown:
            return None
        return grown(told(played.entry.path, run.events(played), f"{anchor}-{played.index}"))

    return {
        "anchor": anchor,
        "number": number,
        "run": run,
        "rows": tables.rows(run),
        "failures": tables.failures(run),
        "charts": charts([run], number),
        "costs": costs(run),
        "settings": list(tables.settings(tables.asked(run.run.config))),
        "choice": choice,
        "subtasks": summary.subtasks,
        "otherwise": tables.claimed_otherwise(run),
        "goals": summary.goals,
        "search": summary.search,
        "graph": summary.graph,
        "measures": summary.measures,
        "milestones": summary.milestones,
        "unlock_score": summary.unlock_score,
        "read": read,
        "learnt": learnt_texts(run.run),
        "outside": grown(told("", run.outside, f"{anchor}-outside")),
    }


def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        finalize=_visible,
    )
    environment.filters.update(FILTERS)
    return environment


def _visible(value: object) -> object:
    """Text without characters that cannot be seen; what is markup already is ours."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return value if value.replace("\n", "").replace("\t", "").isprintable() else harmless(value)


def percent(share: float | None) -> str:
    """A share with one digit."""
    return NOTHING if share is None else f"{share:.1%}"


def interval(bounds: tuple[float, float]) -> str:
    """Two shares."""
    low, high = bounds
    return f"{100 * low:.1f} to {100 * high:.1f}%"


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
    "interval": interval,
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
