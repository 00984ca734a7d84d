"""Makes the content of a page as JSON, which ``viewer/page.js`` draws.

A *node* is a text, or a list of an element and the nodes inside it, such as ``["p.note", "It ", ["b", "works"]]``. An
element is an HTML tag, which may be followed by a dot and the element's classes, or by the target of a link, as in
``["a#run-0-3", "fetch/3"]``. Two elements are not HTML: ``["plan", code]`` is plan code, which gets syntax colours, and
``["chart", data]`` is a chart.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from planbook.console import ALL
from planbook.planner import Grid

Node = str | Sequence[Any]
MAX_LINKS = 24
"""Default maximum number of links in a line."""
CODE = re.compile("`([^`]+)`")
"""Matches code in a sentence, such as the name of a command."""
SENTENCE = re.compile("[a-z]{3}.* .* ")
"""Matches a table cell that holds words rather than a figure."""


def links(pairs: Sequence[tuple[str, str]], limit: int = MAX_LINKS) -> list[Node]:
    """Return links, separated by commas, for pairs of a text and an anchor.

    If there are more than ``limit``, the number of the remaining links follows: " and 3 more".
    """
    nodes: list[Node] = []
    for text, anchor in pairs[:limit]:
        nodes += [", ", [f"a#{anchor}", text]] if nodes else [[f"a#{anchor}", text]]
    return nodes if len(pairs) <= limit else [*nodes, f" and {len(pairs) - limit:,} more"]


def details(css_class: str, summary: Node, *nodes: Node) -> Node:
    """Return nodes that are hidden until the summary above them is clicked, unless the last class is "open"."""
    return [f"details.{css_class}", ["summary", summary], *nodes]


def definitions(rows: Iterable[tuple[str, str]]) -> Node:
    """Return a list of names with their values."""
    return ["dl.settings", *(cell for name, value in rows for cell in (["dt", name], ["dd", value]))]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], css_class: str = "") -> Node:
    """Return a table. The first column names the rows; a last row named "all" holds their totals."""
    body = [
        ["tr", ["th", name], *([f"td{'.words' * bool(SENTENCE.search(cell))}", cell] for cell in cells)]
        for name, *cells in rows
    ]
    if rows and rows[-1][0] == ALL:
        body[-1][0] = "tr.all"
    heads = ["thead", ["tr", *(["th", name] for name in head)]]
    return ["div.wide", [f"table.{css_class}", heads, ["tbody", *body]]]


def nodes_of(parts: Iterable[str | Grid]) -> Iterator[Node]:
    """Yield nodes for sentences and tables that commands also print in the terminal."""
    for part in parts:
        if isinstance(part, str):
            yield ["p", *(["code", text] if n % 2 else text for n, text in enumerate(CODE.split(part)))]
            continue
        if part.title:
            yield ["h5", part.title]
        yield table([part.name, *part.columns], part.rows)
