"""Writes the page of `planbook report` and `planbook watch`: one HTML file without external resources.

The page's only script draws everything from JSON data, which the template in ``viewer/`` embeds. Without JavaScript,
the page shows only the sections about each run, without charts.

- ``sections`` makes the sections about each run, such as its results. A section is a list of nodes.
- ``elements`` defines nodes, and makes nodes such as tables. ``charts`` makes the data of charts.
- ``learned`` makes the nodes about what `planbook build` has learned.
- ``episodes`` makes a row for each episode, and a compressed document with everything that happened in the episode.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pydantic import BaseModel

from planbook import errors
from planbook.atomic_files import open_output
from planbook.console import ERRORS, console
from planbook.errors import BadArgument
from planbook.report.elements import Node
from planbook.report.episodes import DocumentPacker, episode_document, escape_json, outside_document, row
from planbook.report.sections import comparison, sections
from planbook.results import RunResults, read_run
from planbook.runs import Run, without_folders
from planbook.spending import load_pricing

DEFAULT_NAME = "report.html"
TITLE_END = "· planbook report"


class ReportResult(BaseModel):
    """Output of ``report --json``."""

    report: str
    bytes: int


def report_runs(folders: Sequence[Path], out: Path | None, prices: Path | None = None) -> tuple[int, ReportResult]:
    """Write a page about runs to the file ``out``, and return the exit code and the JSON output.

    By default, the page about one run is written into the run's folder, and a page about several runs into the current
    folder. ``prices`` is a file with a price table. By default, each run's own prices are used.

    Raises BadRun if a run cannot be read, BadArgument if the file cannot be written, or if ``out`` is None and the file
    is not a report, or BadPrices if the price table is invalid.
    """
    price = load_pricing(prices) if prices else None
    target = out or (folders[0] / DEFAULT_NAME if len(folders) == 1 else Path(DEFAULT_NAME))
    if out is None and target.is_file() and not _is_report(target):
        raise BadArgument(f"{target} exists and is not a report of planbook; name the file to write with --out")
    with ExitStack() as stack:
        runs = [stack.enter_context(closing(Run.open(folder, graphs=True))) for folder in folders]
        for run in runs:
            if run.is_running:
                note = f"Note: {run.folder} is still being played; the report shows its present state."
                ERRORS.print(note, style="yellow", soft_wrap=True)
        results = [read_run(run, name, price) for run, name in zip(runs, _distinct_names(folders), strict=True)]
        write_page(results, target)
    reported = ReportResult(report=str(target), bytes=target.stat().st_size)
    size = f"{reported.bytes / 1e6:.1f} MB" if reported.bytes >= 1e5 else f"{reported.bytes / 1e3:.0f} kB"
    console().print(f"{target} ({size})", soft_wrap=True)
    return errors.OK, reported


def _is_report(path: Path) -> bool:
    """Return True if a file has the title of a report near its beginning."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return f"{TITLE_END}</title>" in file.read(100_000)


def _distinct_names(folders: Sequence[Path]) -> list[str]:
    """Return the names of the folders, or their paths if two folders have the same name."""
    names = [folder.resolve().name for folder in folders]
    return names if len({*names}) == len(names) else [str(folder) for folder in folders]


VIEWER = Path(__file__).parent / "viewer"
SCRIPTS = ("page.js", "episode.js", "charts.js", "search.js", "runs.js", "live.js")
"""The files that make up the page's only script, in this order."""
PIECES_PER_BUFFER = 500
"""Number of pieces of the page that the template engine joins before it yields them as one text."""
RunData = dict[str, Any]
"""The page's data about one run."""


def write_page(runs: Sequence[RunResults], out: Path) -> None:
    """Write the page atomically. Raises BadArgument if the file cannot be written."""
    packer = DocumentPacker()
    all_run_data = [_packed_run_data(number, run, packer) for number, run in enumerate(runs)]
    compared = escape_json(list(comparison(runs))) if len(runs) > 1 else []
    title = f"{', '.join(run.name for run in runs)} {TITLE_END}"
    with open_output(out) as file:
        for piece in page_pieces(all_run_data, title, compared, packer.chunks()):
            file.write(piece.encode("utf-8", "backslashreplace"))


def page_pieces(
    all_run_data: Sequence[RunData],
    title: str,
    compared: Sequence[Node] = (),
    chunks: Iterable[Any] = (),
    live: Any = None,
) -> Iterator[str]:
    """Yield the text of the page in pieces.

    ``compared`` holds the nodes that compare several runs. ``chunks`` are the compressed documents of episodes.
    ``live`` is the state of the run if `planbook watch` shows it, or else None.
    """
    data = {"runs": list(all_run_data), "comparison": list(compared), "live": live}
    stream = _template().stream(
        runs=all_run_data, title=escape_json(title), chunks=chunks, data=Markup(json_for_script(data)),
        style=Markup((VIEWER / "viewer.css").read_text(encoding="utf-8")),
        script=Markup(script()), script_hash=script_hash(), live=live is not None,
    )  # fmt: skip
    stream.enable_buffering(PIECES_PER_BUFFER)
    return iter(stream)


def run_data(number: int, run: RunResults, *, live: bool = False) -> RunData:
    """Return the page's data about run ``number``, without the documents of its episodes."""
    anchor = f"run-{number}"
    config = without_folders(run.run.config)
    rows = [row(run, episode, anchor, live=live) for episode in run.episodes.values()]
    facts: RunData = {"id": anchor, "name": run.name, "title": f"{config.title} on {config.env}", "rows": rows}
    return {**escape_json({**facts, "sections": sections(run, anchor, live=live)}), "outside": None}


def _packed_run_data(number: int, run: RunResults, packer: DocumentPacker) -> RunData:
    data = run_data(number, run)
    for episode_row in data["rows"]:
        episode = run.episodes[episode_row["n"]]
        episode_row["document"] = packer.add(episode_document(run, episode)) if episode.events else None
    if outside := outside_document(run):
        data["outside"] = packer.add(outside)
    return data


def json_for_script(value: Any) -> str:
    """Return a value as JSON that is safe inside a ``<script>`` element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


@cache
def script() -> str:
    """Return the text of the page's only script."""
    return "\n".join((VIEWER / name).read_text(encoding="utf-8").strip() for name in SCRIPTS)


def script_hash() -> str:
    """Return the hash of the script, without quotes, for the header that allows only this script to run."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()}"


@cache
def _template() -> Any:
    loader = FileSystemLoader(VIEWER)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html")
