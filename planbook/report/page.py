"""The page: one HTML file that needs nothing else, and forbids any script but its own."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from planbook.envs import install_command
from planbook.report import tables
from planbook.report.charts.chosen import charts
from planbook.report.charts.library import library
from planbook.report.costs import costs
from planbook.report.episodes import Packing, episode_html, head_rows
from planbook.report.learnt import learnt
from planbook.report.rendering import TEMPLATES, plain
from planbook.report.trust import trust
from planbook.results import RunResults
from planbook.writing import whole

__all__ = ["SCRIPTS", "STYLES", "episode_html", "figures_of", "head_rows", "joined", "script_hash", "write_page"]

PAGE = "report.html.j2"
STYLES = ("report.css", "report_episodes.css", "report_charts.css", "report_rules.css")
SCRIPTS = (
    "report_packing.js",
    "report_episodes.js",
    "report_filter.js",
    "report_search.js",
    "report_keys.js",
    "report.js",
    "report_charts.js",
)
"""Files that make up the page's one script, in this order."""
BUFFERED = 500
"""Pieces of the page that are written together."""


def write_page(runs: Sequence[RunResults], out: Path, which: str | None) -> None:
    """Write the page, whole or not at all. Raises BadArgument for a choice of episodes that cannot be read."""
    packing = Packing()
    views = [_view(number, run, packing, which) for number, run in enumerate(runs)]
    script, drawing = joined(SCRIPTS), library()
    page = (
        plain()
        .get_template(PAGE)
        .stream(
            runs=views,
            packing=packing,
            charts=charts(runs) if len(runs) > 1 else [],
            types=tables.types(runs),
            measured=tables.measured(runs),
            style=Markup(joined(STYLES)),
            script=Markup(script),
            script_hash=script_hash(script),
            library=drawing.packed if drawing else "",
            library_hash=script_hash(drawing.script) if drawing else "",
            charts_command=install_command("charts").partition(" -m ")[2],
        )
    )
    page.enable_buffering(BUFFERED)
    with whole(out) as file:
        page.dump(file, encoding="utf-8", errors="backslashreplace")


def joined(names: Sequence[str]) -> str:
    """Files of the templates' folder, one after the other."""
    return "\n".join((TEMPLATES / name).read_text(encoding="utf-8").strip() for name in names)


def script_hash(script: str) -> str:
    """What a content security policy names a script by, without its quotes."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _view(number: int, run: RunResults, packing: Packing, which: str | None) -> dict[str, Any]:
    """What the template shows of a run."""
    anchor = f"run-{number}"
    return {
        **figures_of(run, anchor),
        "number": number,
        "charts": charts([run], number),
        "costs": costs(run),
        "settings": list(tables.settings(tables.asked(run.run.config))),
        "packed": packing.pack(run, anchor, which),
        "learnt": learnt(run.run),
        "trust": trust(run),
    }


def figures_of(run: RunResults, anchor: str) -> dict[str, Any]:
    """What a run came to, as report_results.html.j2 tells it; ``anchor`` begins the names of its episodes."""
    summary = run.summary()
    return {
        "anchor": anchor,
        "run": run,
        "rows": tables.rows(run),
        "failures": tables.failures(run),
        "subtasks": summary.methods.get("subtasks"),
        "goals": summary.methods.get("goals"),
        "search": summary.methods.get("search"),
        "graph": summary.methods.get("graph"),
        "measures": summary.measures,
        "milestones": summary.milestones,
        "unlock_score": summary.unlock_score,
        "so_far": 0,
    }
