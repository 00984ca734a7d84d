"""A graph as Mermaid text and as SVG: both stand for themselves, with nothing loaded and everything escaped."""

from collections.abc import Callable, Iterator, Mapping
from html import escape
from itertools import pairwise

from planbook.planner.graph.file import GraphFile
from planbook.planner.graph.layout import Layout, lay_out
from planbook.planner.graph.picture import Arrow, Box, Picture, picture, short

LINE, TITLE, PADDING, BETWEEN, MARGIN, HEADING = 15.0, 18.0, 9.0, 54.0, 24.0, 40.0
"""Pixels: a line in a box, its name, the space around them, between layers, around all, and above for the title."""
NARROWEST, LETTER, BOLD_LETTER = 84.0, 6.3, 7.9
ARROWS = {"told": "-->", "order": "-.->", "branch": "==>"}
SHAPES = {"node": ('["', '"]'), "code": ('[["', '"]]'), "branch": ('(["', '"])'), "loop": ('[/"', '"/]')}

STYLE = """
svg{background:#fff;font-family:system-ui,-apple-system,"Segoe UI",sans-serif}
text{fill:#1f2933;font-size:11.5px;text-anchor:middle}.name{font-size:13px;font-weight:600}
.title{font-size:15px;text-anchor:start;fill:#52606d}.layer{text-anchor:end;fill:#9aa5b1}
.box rect{fill:#f5f7fa;stroke:#7b8794;stroke-width:1.2}.about{fill:#52606d}
.code rect{fill:#e3f8ee;stroke:#199473;stroke-width:2}.branch rect{fill:#fff8e6;stroke:#b7791f;stroke-dasharray:5 3}
.loop rect{fill:#eef2ff;stroke:#5a67d8}
path{fill:none;stroke:#52606d;stroke-width:1.4}path.implied{stroke:#cbd2d9;stroke-width:1}
path.order{stroke-dasharray:2 4}path.branch{stroke:#b7791f;stroke-dasharray:5 3}
.label{fill:#8d5b12;font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:4px}
.head{fill:#52606d;stroke:none}.head.faint{fill:#cbd2d9}.head.warm{fill:#b7791f}
@media (prefers-color-scheme:dark){svg{background:#14181d}text{fill:#e4e7eb}.title,.about{fill:#9aa5b1}
.layer{fill:#616e7c}.box rect{fill:#1f2933;stroke:#7b8794}.code rect{fill:#0c3a2e;stroke:#3ebd93}
.branch rect{fill:#33270d;stroke:#d69e2e}.loop rect{fill:#23294f;stroke:#8da2fb}path{stroke:#9aa5b1}
path.implied{stroke:#3e4c59}path.branch{stroke:#d69e2e}.label{fill:#f0c566;stroke:#14181d}
.head{fill:#9aa5b1}.head.faint{fill:#3e4c59}.head.warm{fill:#d69e2e}}
"""


def mermaid(file: GraphFile) -> str:
    """A flowchart for Mermaid, top down: double walls are the code, rounded a branch, slanted a loop."""
    shown = picture(file)
    ids = {box.name: f"n{number}" for number, box in enumerate(shown.boxes)}
    lines = ["flowchart TD"]
    for box in shown.boxes:
        opening, closing = SHAPES[box.kind]
        text = "<br/>".join(_for_mermaid(line) for line in (box.name, *box.lines))
        lines.append(f"  {ids[box.name]}{opening}{text}{closing}")
    for arrow in shown.arrows:
        label = f'|"{_for_mermaid(arrow.label)}"|' if arrow.label else ""
        lines.append(f"  {ids[arrow.source]} {ARROWS[arrow.kind]}{label} {ids[arrow.target]}")
    return "\n".join(lines) + "\n"


def _for_mermaid(text: str) -> str:
    """Entities as Mermaid writes them; in quotes nothing else has a meaning."""
    return "".join(each if each.isalnum() or each in " .,:_-/()?" else f"#{ord(each)};" for each in text)


def svg(file: GraphFile) -> str:
    """One SVG image, top down, that follows the reader's light or dark; the prompts are in the tooltips."""
    shown = picture(file)
    boxes = {box.name: box for box in shown.boxes}
    widths = {name: _width(box) for name, box in boxes.items()}
    ends = [(arrow.source, arrow.target) for arrow in shown.arrows]
    layout = lay_out(shown.layers, ends, widths)
    tops, bottoms = _levels(shown, boxes)
    indent = MARGIN + LETTER * len(str(len(shown.layers)))
    width, height = (
        max(layout.width + indent + 2 * MARGIN, len(shown.title) * BOLD_LETTER + 2 * MARGIN),
        bottoms[-1] + MARGIN,
    )
    faint_first = sorted(shown.arrows, key=lambda each: not each.implied)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img">',
        f"<title>{_xml(shown.title)}</title><style>{STYLE}</style>",
        *_heads(),
        f'<text class="title" x="{MARGIN:.0f}" y="28">{_xml(shown.title)}</text>',
        *(
            f'<text class="layer" x="{indent:.1f}" y="{(top + bottom) / 2 + 4:.1f}">{number}</text>'
            for number, (top, bottom) in enumerate(zip(tops, bottoms, strict=True), 1)
        ),
        f'<g transform="translate({indent + MARGIN:.1f} 0)">',
        *(_arrow(arrow, layout, tops, bottoms, boxes) for arrow in faint_first),
        *(_box(boxes[name], layout.places[name], widths[name], tops[level], bottoms[level])
          for level, layer in enumerate(shown.layers) for name in layer),
        *(_label(arrow, layout, tops, bottoms) for arrow in shown.arrows if arrow.label),
        "</g></svg>",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def _width(box: Box) -> float:
    longest = max((len(line) * LETTER for line in box.lines), default=0.0)
    return max(NARROWEST, longest, len(short(box.name)) * BOLD_LETTER) + 2 * PADDING


def _height(box: Box) -> float:
    return TITLE + LINE * len(box.lines) + 2 * PADDING - 4


def _levels(shown: Picture, boxes: Mapping[str, Box]) -> tuple[list[float], list[float]]:
    """The upper and the lower edge of every layer."""
    tops, bottoms, at = [], [], HEADING + MARGIN / 2
    for layer in shown.layers:
        tops.append(at)
        bottoms.append(at + max(_height(boxes[name]) for name in layer))
        at = bottoms[-1] + BETWEEN
    return tops, bottoms


def _box(box: Box, middle: float, width: float, top: float, bottom: float) -> str:
    height = _height(box)
    upper = (top + bottom - height) / 2
    left, radius = middle - width / 2, 14 if box.kind == "branch" else 5
    behind = f'<rect x="{left + 4:.1f}" y="{upper + 4:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}"/>'
    lines = "".join(
        f'<text class="about" x="{middle:.1f}" y="{upper + PADDING + LINE * number + 12:.1f}">{_xml(line)}</text>'
        for number, line in enumerate(box.lines, 1)
    )
    return (
        f'<g class="box {box.kind}"><title>{_xml(box.tooltip)}</title>{behind if box.kind == "loop" else ""}'
        f'<rect x="{left:.1f}" y="{upper:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}"/>'
        f'<text class="name" x="{middle:.1f}" y="{upper + PADDING + 12:.1f}">{_xml(short(box.name))}</text>{lines}</g>'
    )


def _arrow(arrow: Arrow, layout: Layout, tops: list[float], bottoms: list[float], boxes: Mapping[str, Box]) -> str:
    """Straight through the layers that it passes, and curved between them."""
    route = layout.routes[arrow.source, arrow.target]
    begin, end = (
        (tops[level] + bottoms[level] + side * _height(boxes[name])) / 2
        for (level, _), name, side in ((route[0], arrow.source, 1), (route[-1], arrow.target, -1))
    )
    path = f"M{route[0][1]:.1f} {begin:.1f}"
    for (level, here), (_, there) in pairwise(route):
        upper, lower = bottoms[level], tops[level + 1]
        half = (upper + lower) / 2
        path += f"V{upper:.1f}C{here:.1f} {half:.1f} {there:.1f} {half:.1f} {there:.1f} {lower:.1f}"
    path += f"V{end:.1f}" if end > tops[route[-1][0]] + 0.5 else ""  # a line without length has no direction
    head = "warm" if arrow.kind == "branch" else "faint" if arrow.implied else "plain"
    kind = f"{arrow.kind} implied" if arrow.implied else arrow.kind
    return f'<path class="{kind}" d="{path}" marker-end="url(#{head})"/>'


def _label(arrow: Arrow, layout: Layout, tops: list[float], bottoms: list[float]) -> str:
    (level, here), (_, there) = layout.routes[arrow.source, arrow.target][-2:]
    x, y = here * 0.3 + there * 0.7, bottoms[level] * 0.35 + tops[level + 1] * 0.65
    return f'<text class="label" x="{x:.1f}" y="{y:.1f}">{_xml(short(arrow.label))}</text>'


def _heads() -> Iterator[str]:
    yield "<defs>"
    for name in ("plain", "faint", "warm"):
        yield (
            f'<marker id="{name}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path class="head {name}" d="M0 0.5L8 4L0 7.5z"/></marker>'
        )
    yield "</defs>"


def _xml(text: str) -> str:
    """Escaped, and without characters that XML cannot have."""
    return escape(
        "".join(each for each in text if each in "\n\t" or (each >= " " and not "\ud800" <= each <= "\udfff"))
    )


FORMATS: Mapping[str, Callable[[GraphFile], str]] = {"mermaid": mermaid, "svg": svg}
"""How a graph can be drawn."""
