"""Read pages from the browser, number their elements, and render them as text."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from planbook.envs.browser.devtools import Answer, CommandRefused
from planbook.envs.web import accessibility
from planbook.envs.web.accessibility import AccessibilityNode, Rect, quoted
from planbook.envs.web.addresses import BLANK
from planbook.envs.web.context import VIEW, Context, TabGone, TabTarget

WINDOW = Rect(0, 0, float(str(VIEW["width"])), float(str(VIEW["height"])))
PAGE = f"({Path(__file__).with_name('page.js').read_text(encoding='utf-8').strip()})"
"""The functions of page.js, as one expression."""
MAX_READS = 4
"""Maximum number of attempts to read a page that changes meanwhile."""
LARGE_PAGE = 8_000
"""Number of elements above which only the visible part of a page is read."""
MAX_NODES = 1_500
"""Maximum number of visible nodes that are read from a large page."""


@dataclass
class Trail:
    """The history of a tab: addresses, and the index of the current one."""

    urls: list[str]
    at: int


def trail_of(history: Answer) -> Trail:
    """Return the browser's history of a tab, without the empty page that every tab begins with."""
    urls, at = [entry["url"] for entry in history["entries"]], history["currentIndex"]
    blank = len(urls) > 1 and urls[0] == BLANK
    return Trail(urls[blank:], max(0, at - blank))


@dataclass
class Page:
    """The content of a tab. ``above`` and ``below``: pixels out of view. ``part``: only the visible part was read."""

    url: str
    title: str
    document: str
    trail: Trail
    root: AccessibilityNode
    above: int
    below: int
    part: bool = False

    @cached_property
    def by_backend(self) -> Mapping[int, AccessibilityNode]:
        """The nodes, by their ids in the browser."""
        return {node.backend: node for node in self.root.walk()}


def read(context: Context, target: TabTarget) -> Page:
    """Return the tab's current page. Raises TabGone, EnvironmentBroken.

    Reading takes several commands. If the tab begins to navigate between two of them, it is read again after it has
    settled; otherwise the address and the elements could belong to different pages.
    """
    traffic, page = target.traffic, None
    for _ in range(MAX_READS):
        document, moving = traffic.document, traffic.moving
        try:
            page = _read(context, target)
        except CommandRefused:  # a frame disappeared meanwhile
            page = None
        if page is not None and traffic.document == document and (moving or not traffic.moving):
            return page
        context.settle(target)
    if page is None:
        raise TabGone("the page changes faster than it can be read")
    return page


def _read(context: Context, target: TabTarget) -> Page:
    history, metrics, size = context.call_all(
        target,
        [
            ("Page.getNavigationHistory", {}),
            ("Page.getLayoutMetrics", {}),
            ("Runtime.evaluate", {"expression": "document.getElementsByTagName('*').length", "returnByValue": True}),
        ],
    )
    entry = history["entries"][history["currentIndex"]]
    large = (size["result"].get("value") or 0) > LARGE_PAGE
    root = _read_view(context, target) if large else _read_whole(context, target)
    view, content = metrics["cssVisualViewport"], metrics["cssContentSize"]
    above = round(view["pageY"])
    below = max(0, round(content["height"] - view["pageY"] - view["clientHeight"]))
    mark_visible(root)
    number_duplicates(root)
    document = target.traffic.document
    return Page(entry["url"], entry["title"], document, trail_of(history), root, above, below, large)


def _read_whole(context: Context, target: TabTarget) -> AccessibilityNode:
    (snapshot,) = context.call_all(
        target, [("DOMSnapshot.captureSnapshot", {"computedStyles": list(accessibility.STYLES)})]
    )
    layout = accessibility.PageLayout(snapshot)
    commands = [("Accessibility.getFullAXTree", {"frameId": frame}) for frame in layout.frames]
    answers = context.call_all(target, commands)
    frames = {frame: answer["nodes"] for frame, answer in zip(layout.frames, answers, strict=True)}
    return accessibility.AccessibilityTree(frames, layout.owners, layout.boxes).root(target.traffic.frame)


def _read_view(context: Context, target: TabTarget) -> AccessibilityNode:
    """Return the visible part of a large page: list the nodes in view, and read each."""
    frame = target.traffic.frame
    world = context.call(target, "Page.createIsolatedWorld", frameId=frame, worldName="planbook")["executionContextId"]
    view = context.call(target, "Runtime.evaluate", expression=f"{PAGE}.inView({MAX_NODES})", contextId=world)
    view_id = view["result"]["objectId"]
    properties = context.call(target, "Runtime.getProperties", objectId=view_id, ownProperties=True)["result"]
    parts = {part["name"]: part["value"] for part in properties if "value" in part}
    ids = context.call(target, "Runtime.getProperties", objectId=parts["nodes"]["objectId"], ownProperties=True)
    shape = json.loads(parts["shape"]["value"])
    commands = [
        ("Accessibility.getPartialAXTree", {"objectId": each["value"]["objectId"], "fetchRelatives": False})
        for each in ids["result"]
        if each["name"].isdecimal()
    ]
    answers = context.call_all(target, commands)
    raw = [dict(answer["nodes"][0]) for answer in answers]
    boxes = {}
    for number, (node, (parent, *edges)) in enumerate(zip(raw, shape, strict=True)):
        node.update(nodeId=str(number), childIds=[])
        boxes[node.get("backendDOMNodeId", 0)] = Rect(*edges)
        if parent >= 0:
            raw[parent]["childIds"].append(str(number))
    return accessibility.AccessibilityTree({frame: raw}, {}, boxes).root(frame)


def mark_visible(root: AccessibilityNode) -> None:
    """Mark the nodes in the window and their ancestors. A node without a box is visible if its parent is."""
    nodes = list(root.walk())
    has_box: dict[int, bool] = {}
    for node in reversed(nodes):
        below = any(has_box[id(child)] for child in node.children)
        has_box[id(node)] = below or node.box is not None
        inside = node.box is not None and not node.box.within(WINDOW).empty
        node.visible = (inside and not below) or any(child.visible for child in node.children)
    for node in nodes:
        if node.visible and not any(child.visible for child in node.children):
            for inner in node.walk():
                inner.visible = inner.visible or inner.box is None


def number_duplicates(root: AccessibilityNode) -> None:
    """Number the nodes that have the same role and name, from 0."""
    counts = Counter[tuple[str, str]]()
    for node in root.walk():
        node.ordinal = counts[node.role, node.name]
        counts[node.role, node.name] += 1


Signature = tuple[str, str, str, int]
"""Identifies an element when its page is loaded again: address, role, name, and index among nodes with these."""


class ElementRef(NamedTuple):
    """An element of a document that a tab has loaded."""

    document: str
    frame: str
    backend: int


class ElementNumbers:
    """The element numbers of one episode. No two elements that exist at the same time have the same number."""

    def __init__(self) -> None:
        self._next = count(1)
        self._numbers: dict[tuple[str, int], int] = {}
        self._places: dict[int, ElementRef] = {}
        self._by_signature: dict[Signature, int] = {}

    def number(self, page: Page, node: AccessibilityNode, open_elsewhere: Callable[[str], bool]) -> int:
        """Return the node's number. ``open_elsewhere`` returns True if another tab shows the document."""
        key = (page.document, node.backend)
        if key in self._numbers:
            return self._numbers[key]
        signature = (page.url.partition("#")[0], node.role, node.name, node.ordinal)
        number = self._by_signature.get(signature)
        if number is None or self._in_use(number, page, open_elsewhere):
            number = next(self._next)
        self._by_signature[signature] = number
        self._numbers[key] = number
        self._places[number] = ElementRef(page.document, node.frame, node.backend)
        return number

    def place(self, number: int) -> ElementRef | None:
        """Return the last known place of the element with that number."""
        return self._places.get(number)

    def _in_use(self, number: int, page: Page, open_elsewhere: Callable[[str], bool]) -> bool:
        place = self._places[number]
        if place.document == page.document:
            return place.backend in page.by_backend
        return open_elsewhere(place.document)


MAX_TEXT = 1_000
"""Maximum characters of a text that are shown."""
MAX_OPTIONS = 40
"""Maximum number of a select box's options that are shown."""
TEXTS = ("text", "paragraph", "listitem", "cell", "gridcell", "blockquote", "code", "definition", "term")
MAX_CHANGE = 600
"""Maximum characters of a page's change in feedback on one action."""
INDENT = "  "
ADDRESS, TITLE, TABS, IN_VIEW = "Address: ", "Title: ", "Tabs: ", "In view ("
"""Prefixes of the lines of an observation that are not the page's own."""

Number = Callable[[AccessibilityNode], int]


def observation_text(page: Page, tabs: Sequence[str], number: Number, most: int) -> str:
    """Return the tabs if there are several, the address, the title, and up to ``most`` characters of the nodes."""
    head = [f"{TABS}{', '.join(tabs)}"] if len(tabs) > 1 else []
    head += [f"{ADDRESS}{quoted(page.url, 500)[1:-1]}", f"{TITLE}{quoted(page.title)}"]
    return "\n".join([*head, *_page_lines(page, number, most)])


def _page_lines(page: Page, number: Number, most: int) -> list[str]:
    """Return the lines of the nodes in view, after a line that says how much is out of view."""
    where = f"{page.above} px above, {page.below} px below" if page.above or page.below else "all of it"
    if page.part:
        where += "; the page is so large that find sees only what is in view"
    lines, room, left_out = [f"{IN_VIEW}{where}):"], most, 0
    for line in _lines(page.root, number):
        if len(line) >= room:
            left_out += 1
            room = 0
        else:
            lines.append(line)
            room -= len(line) + 1
    if left_out:
        lines.append(f"({left_out} more lines in view are left out: the limit is {most} characters)")
    if len(lines) == 1:
        lines.append("(nothing)")
    return lines


def _lines(root: AccessibilityNode, number: Number) -> Iterator[str]:
    pending = [(node, 0) for node in reversed(root.children) if node.visible]
    while pending:
        node, depth = pending.pop()
        while node.is_wrapper:
            node = node.children[0]
        yield f"{INDENT * depth}{line_of(node, number(node))}"
        pending.extend((child, depth + 1) for child in reversed(node.children) if child.visible)


def line_of(node: AccessibilityNode, number: int) -> str:
    """Return a line such as ``[12] textbox 'Name' value='Ada' required``."""
    parts = [f"[{number}]", node.role]
    if node.name:
        parts.append(quoted(node.name, MAX_TEXT if node.role in TEXTS else accessibility.MAX_NAME))
    if node.value and node.value != node.name:
        parts.append(f"value={quoted(node.value)}")
    if node.options:
        parts.append(f"options={_options(node.options)}")
    return " ".join([*parts, *(_property(name, value) for name, value in node.properties.items())])


def _property(name: str, value: JsonValue) -> str:
    if name not in accessibility.SHOWN_IF_FALSE and (value is True or value == "true"):
        return name
    return f"{name}={str(value).lower()}"


def _options(options: Sequence[str]) -> str:
    shown = " | ".join(quoted(option, 80) for option in options[:MAX_OPTIONS])
    return shown if len(options) <= MAX_OPTIONS else f"{shown} | ({len(options) - MAX_OPTIONS} more)"


def describe(node: AccessibilityNode, number: int) -> dict[str, JsonValue]:
    """Return the description of a node for ``find``."""
    link: dict[str, JsonValue] = {"url": node.link} if node.link else {}
    return {
        "id": number,
        "role": node.role,
        "name": node.text(),
        "value": node.value,
        "in_view": node.visible,
        **({"options": list[JsonValue](node.options)} if node.options else {}),
        **node.properties,
        **link,
    }


def change(before: str, after: str) -> str:
    """Return a short description of the difference between two observations."""
    (old_head, old), (head, new) = _split_head(before), _split_head(after)
    if _after_prefix(head, ADDRESS) != _after_prefix(old_head, ADDRESS):
        return "; ".join([*_news(head), f"now at {_after_prefix(head, ADDRESS)}, {_after_prefix(head, TITLE)}"])
    appeared, gone = Counter(new) - Counter(old), Counter(old) - Counter(new)
    lines = [_summary("new: ", new, appeared), _summary("gone: ", old, gone)]
    return "; ".join([*_news(head), *filter(None, lines)]) or "nothing changed in view"


def _split_head(text: str) -> tuple[list[str], list[str]]:
    """Return the lines about the tab, and the lines of its page."""
    lines = text.split("\n")
    at = next((number for number, line in enumerate(lines) if line.startswith(IN_VIEW)), len(lines))
    return lines[:at], [line.strip().removesuffix(" focused") for line in lines[at:]]


def _after_prefix(head: Sequence[str], prefix: str) -> str:
    return next((line.removeprefix(prefix) for line in head if line.startswith(prefix)), "")


def _news(head: Sequence[str]) -> list[str]:
    return [line.rstrip(".") for line in head if not line.startswith((ADDRESS, TITLE, TABS))]


def _summary(title: str, lines: Sequence[str], counts: Counter[str]) -> str:
    text, half = " | ".join(line for line in lines if counts[line] > 0), MAX_CHANGE // 2
    return f"{title}{text[:half]}{' ...' if len(text) > half else ''}" if text else ""
