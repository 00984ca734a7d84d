"""Fill the generated parts of pages: ``<!-- generated: NAME -->`` becomes what the function of that name returns.

``<!-- include: FILE -->`` becomes a page of the repository, whose links are turned into those of the site, and
``<!-- code: FILE -->`` the code of a file.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from planbook.envs import known_environments, load_environment
from planbook.papers.settings import settings_of_papers
from planbook.planner import METHODS

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"
MARK = re.compile(r"<!-- (generated|include|code): (\S+) -->")
MOVED = {
    "docs/": "",
    "examples/README.md": "examples.md",
    "CHANGELOG.md": "changes.md",
    "sandbox/THREAT_MODEL.md": "threat-model.md",
    "sandbox/DIFFERENCES.md": "differences.md",
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill one page (an event of MkDocs)."""
    fill = {"generated": generated, "include": include, "code": code}
    return MARK.sub(lambda found: fill[found[1]](found[2]), markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Leave out defaults that click does not have (an event of MkDocs)."""
    return html.replace("<code>Sentinel.UNSET</code>", "")


def generated(name: str) -> str:
    """Return a generated part."""
    return GENERATED[name]()


def include(file: str) -> str:
    """Return a file of the repository, with links to pages of the site and to nothing else."""
    text = (ROOT / file).read_text(encoding="utf-8")
    for ours, site in MOVED.items():
        text = text.replace(f"]({ours}", f"]({site}").replace(f"](../{ours}", f"]({site}")
    return re.sub(r"\[([^]]+)\]\((?!https?:|[\w/-]+\.md|#)[^)]*\)", r"\1", text)


def code(file: str) -> str:
    """Return a file of the repository as a block of code."""
    return f'```python title="{file}"\n{(ROOT / file).read_text(encoding="utf-8")}```'


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    cells = [list(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(cells[0]), *lines[1:]])


def environments() -> str:
    """Return the table of the environments that come with planbook."""
    return table(("environment", "splits", "types of tasks", "actions"), map(environment, known_environments()))


def environment(name: str) -> list[str]:
    """Return the row of an environment in the table."""
    found = load_environment(name)
    actions = ", ".join(f"`{action}`" for action in found.actions)
    return [f"[`{name}`](#{name})", ", ".join(f"`{split}`" for split in found.splits), str(len(found.types)), actions]


def methods() -> str:
    """Return the table of the planning methods."""
    rows = ([f"`{name}`", each.summary, ", ".join(each.roles) or "none"] for name, each in METHODS.items())
    return table(("method", "what it does", "roles it asks"), rows)


def paper_settings() -> str:
    """Return the table of the settings that ``--paper`` uses."""
    settings = {name: settings_of_papers(name) for name in METHODS}
    rows = [
        [f"`{name}`", theirs.paper, f"`{env}`", f"`{split}`" if split else "", str(theirs)]
        for name, of_paper in settings.items()
        for (env, split), theirs in of_paper.items()
        if str(theirs)
    ]
    return table(("method", "paper", "environment", "split", "settings"), rows)


def kept(pattern: str) -> Iterator[dict[str, Any]]:
    """Yield the results that tools/figures.sh stored, in the order of their file names."""
    for file in sorted(FIGURES.glob(pattern)):
        yield json.loads(file.read_text(encoding="utf-8"))


def results() -> str:
    """Return the table of tasks that were solved without a model."""
    return table(
        ("planbook ...", "solved", "actions", "also"), [result(run) for run in kept("*.json") if "solved" in run]
    )


def result(run: dict[str, Any]) -> list[str]:
    """Return the row of a run in the table of results."""
    solved = f"{run['solved']:,} of {run['tasks']:,}"
    return [spans(run["command"].removeprefix("planbook ")), solved, f"{run['mean_actions']:,.1f}", others(run)]


def spans(command: str) -> str:
    """Return a command as a span of code for each option, so that lines break between them."""
    return " ".join(f"`{part}`" for part in re.split(r" (?=--)", command))


def others(run: dict[str, Any]) -> str:
    """Return the other figures of a run."""
    figures = [f"mean score {run['mean_score']:.3g}"] if 0 < run["mean_score"] < 1 else []
    figures += [f"unlock score {run['unlock_score']:.1f} %"] if run.get("unlock_score") is not None else []
    *_, measures = run["measures"].values() if run["measures"] else [{}]
    return ", ".join([*figures, *(f"{name} {each['mean']:.1f} ± {each['sd']:.1f}" for name, each in measures.items())])


def speed() -> str:
    """Return what the benchmarks measure, a table for each."""
    return "\n\n".join(map(benchmark, kept("bench-*.json")))


def benchmark(measured: dict[str, Any]) -> str:
    """Return one benchmark."""
    goals = {True: "met", False: "**missed**"}
    rows = [
        [
            row["name"],
            f"{row['value']:,.4g} {row.get('unit', '')}",
            f"{row['ratio']:.3g} times {row.get('against', '')}" if "ratio" in row else row.get("against", ""),
            f"{row['goal']}: {goals[row['met']]}" if "goal" in row else "",
        ]
        for row in measured["rows"]
        if "value" in row
    ]
    title = measured["command"].removeprefix("planbook bench ")
    return f"### {title}\n\n`{measured['command']}`, {measured['date']}, {measured['machine']}\n\n" + table(
        ("what", "measured", "against", "goal"), rows
    )


GENERATED: dict[str, Callable[[], str]] = {
    "environments": environments,
    "methods": methods,
    "paper-settings": paper_settings,
    "results": results,
    "speed": speed,
}
