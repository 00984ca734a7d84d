"""Read pages from the browser, number their elements, and render them as text."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from planbook.envs.devtools import Answer, CommandRefused
from planbook.envs.web import accessibility
from planbook.envs.web.accessibility import AccessibilityNode, Rect, quote
from planbook.envs.web.context import VIEW, BrowserContext, TabGone, TabTarget
from planbook.envs.web.sites import BLANK

WINDOW = Rect(0, 0, float(str(VIEW["width"])), float(str(VIEW["height"])))
SCRIPT = f"({Path(__file__).with_name('page.js').read_text(encoding='utf-8').strip()})"
"""A JavaScript expression for the object with the functions of ``page.js``."""
MAX_READS = 4
"""Maximum number of attempts to read a page that keeps changing while it is read."""
LARGE_PAGE = 8_000
"""If a page has more elements than this, only its visible part is read."""
MAX_NODES = 1_500
"""Maximum number of visible nodes that are read from a large page."""


@dataclass
class TabHistory:
    """The history of a tab: the addresses of its pages, and the index of the current page."""

    urls: list[str]
    index: int

    @classmethod
    def from_devtools(cls, answer: Answer) -> "TabHistory":
        """Return the history that the browser reports, without the empty page with which every tab begins."""
        urls, index = [entry["url"] for entry in answer["entries"]], answer["currentIndex"]
        if len(urls) > 1 and urls[0] == BLANK:
            urls, index = urls[1:], max(0, index - 1)
        return cls(urls, index)


@dataclass
class Page:
    """The content of a tab at one moment."""

    url: str
    title: str
    document: str
    """The id of the document. Each time that a page is loaded, its document gets a new id."""
    browser_history: TabHistory
    """The tab's history in the browser."""
    root: AccessibilityNode
    pixels_above: int
    """Height of the part of the page above the window, in pixels."""
    pixels_below: int
    """Height of the part of the page below the window, in pixels."""
    is_partial: bool = False
    """True if the page is large and only its visible part was read."""

    @cached_property
    def nodes_by_backend_id(self) -> Mapping[int, AccessibilityNode]:
        """Maps the backend id of a DOM node (the browser's number for it) to our node."""
        return {node.backend_id: node for node in self.root.walk()}


def read_page(context: BrowserContext, target: TabTarget) -> Page:
    """Return the tab's current page.

    Reading takes several commands. If the tab begins to navigate between two of them, the address and the elements
    could belong to different pages. In this case, the page is read again after the tab has settled.

    Raises TabGone if the tab cannot be read, or EnvironmentBroken if the browser is gone.
    """
    page = None
    for _ in range(MAX_READS):
        document, navigating = target.document, target.navigating
        try:
            page = _read(context, target)
        except CommandRefused:  # a frame disappeared while the page was read
            page = None
        if page is not None and target.document == document and (navigating or not target.navigating):
            return page
        context.settle(target)
    if page is None:
        raise TabGone("the page changes faster than it can be read")
    return page


def _read(context: BrowserContext, target: TabTarget) -> Page:
    navigation, metrics, size = context.call_all(
        target,
        [
            ("Page.getNavigationHistory", {}),
            ("Page.getLayoutMetrics", {}),
            ("Runtime.evaluate", {"expression": "document.getElementsByTagName('*').length", "returnByValue": True}),
        ],
    )
    entry, history = navigation["entries"][navigation["currentIndex"]], TabHistory.from_devtools(navigation)
    is_large = (size["result"].get("value") or 0) > LARGE_PAGE
    root = _read_visible_part(context, target) if is_large else _read_everything(context, target)
    view, content = metrics["cssVisualViewport"], metrics["cssContentSize"]
    above = round(view["pageY"])
    below = max(0, round(content["height"] - view["pageY"] - view["clientHeight"]))
    mark_visible(root)
    number_duplicates(root)
    return Page(entry["url"], entry["title"], target.document, history, root, above, below, is_large)


def _read_everything(context: BrowserContext, target: TabTarget) -> AccessibilityNode:
    snapshot = context.call(target, "DOMSnapshot.captureSnapshot", computedStyles=list(accessibility.STYLE_PROPERTIES))
    layout = accessibility.PageLayout(snapshot)
    commands = [("Accessibility.getFullAXTree", {"frameId": frame}) for frame in layout.frames]
    answers = context.call_all(target, commands)
    frames = {frame: answer["nodes"] for frame, answer in zip(layout.frames, answers, strict=True)}
    return accessibility.AccessibilityTree(frames, layout.owners, layout.boxes).root(target.id)


def isolated_world(context: BrowserContext, target: TabTarget, frame: str) -> int:
    """Return the id of a JavaScript context in which the page's own scripts cannot see or change ours."""
    world = context.call(target, "Page.createIsolatedWorld", frameId=frame, worldName="planbook")
    return int(world["executionContextId"])


def _read_visible_part(context: BrowserContext, target: TabTarget) -> AccessibilityNode:
    """Return the visible part of a large page. A script lists the nodes in view, and only these are read."""
    frame = target.id
    world = isolated_world(context, target, frame)
    view = context.call(target, "Runtime.evaluate", expression=f"{SCRIPT}.inView({MAX_NODES})", contextId=world)
    view_id = view["result"]["objectId"]
    properties = context.call(target, "Runtime.getProperties", objectId=view_id, ownProperties=True)["result"]
    parts = {part["name"]: part["value"] for part in properties if "value" in part}
    ids = context.call(target, "Runtime.getProperties", objectId=parts["nodes"]["objectId"], ownProperties=True)
    layout = json.loads(parts["layout"]["value"])
    commands = [
        ("Accessibility.getPartialAXTree", {"objectId": entry["value"]["objectId"], "fetchRelatives": False})
        for entry in ids["result"]
        if entry["name"].isdecimal()
    ]
    answers = context.call_all(target, commands)
    ax_nodes = [dict(answer["nodes"][0]) for answer in answers]
    boxes = {}
    for number, (node, (parent, *edges)) in enumerate(zip(ax_nodes, layout, strict=True)):
        node.update(nodeId=str(number), childIds=[])
        boxes[node.get("backendDOMNodeId", 0)] = Rect(*edges)
        if parent >= 0:
            ax_nodes[parent]["childIds"].append(str(number))
    return accessibility.AccessibilityTree({frame: ax_nodes}, {}, boxes).root(frame)


def mark_visible(root: AccessibilityNode) -> None:
    """Mark the innermost nodes with a box in the window, and their ancestors, as visible.

    If a marked node has no marked children, the nodes inside it that have no box are marked, too.
    """
    nodes = list(root.walk())
    has_box: dict[int, bool] = {}
    for node in reversed(nodes):
        child_has_box = any(has_box[id(child)] for child in node.children)
        has_box[id(node)] = child_has_box or node.box is not None
        inside = node.box is not None and not node.box.intersection(WINDOW).is_empty
        node.visible = (inside and not child_has_box) or any(child.visible for child in node.children)
    for node in nodes:
        if node.visible and not any(child.visible for child in node.children):
            for inner in node.walk():
                inner.visible = inner.visible or inner.box is None


def number_duplicates(root: AccessibilityNode) -> None:
    """Set ``ordinal`` of each node. Nodes with the same role and the same name are numbered from 0."""
    counts = Counter[tuple[str, str]]()
    for node in root.walk():
        node.ordinal = counts[node.role, node.name]
        counts[node.role, node.name] += 1


Signature = tuple[str, str, str, int]
"""Identifies an element across loads of its page: the page's address, the element's role and name, and its ordinal."""


class ElementRef(NamedTuple):
    """A reference to an element of a loaded document: the ids of the document, of the frame and of the DOM node."""

    document: str
    frame: str
    backend_id: int


def call_script(
    context: BrowserContext, target: TabTarget, ref: ElementRef | None, function: str, *arguments: JsonValue
) -> dict[str, Any]:
    """Call a function of ``page.js`` on an element, or on null if ``ref`` is None, and return the function's answer."""
    try:
        world = isolated_world(context, target, ref.frame if ref else target.id)
        receiver: dict[str, JsonValue] = {"executionContextId": world}
        if ref:
            node = context.call(target, "DOM.resolveNode", backendNodeId=ref.backend_id, executionContextId=world)
            receiver = {"objectId": node["object"]["objectId"]}
    except CommandRefused:
        return {"refused": "is no longer on the page"}
    element = "this" if ref else "null"
    answer = context.call(
        target,
        "Runtime.callFunctionOn",
        functionDeclaration=f"function (...args) {{ return {SCRIPT}.{function}({element}, ...args); }}",
        arguments=[{"value": argument} for argument in arguments],
        returnByValue=True,
        **receiver,
    )
    if problem := answer.get("exceptionDetails"):
        reason = str(problem.get("exception", {}).get("description", problem.get("text")))
        raise CommandRefused(f"one of planbook's scripts failed in the page: {reason}")
    return dict(answer["result"].get("value") or {})


class ElementNumbers:
    """The numbers by which the agent refers to elements during one episode.

    If a page is loaded again, its elements keep their numbers. No two elements that exist at the same time have the
    same number.
    """

    def __init__(self) -> None:
        self._next = count(1)
        self._numbers: dict[tuple[str, int], int] = {}
        self.refs: dict[int, ElementRef] = {}
        """Maps each number to the latest reference to the element with this number."""
        self._by_signature: dict[Signature, int] = {}

    def number(self, page: Page, node: AccessibilityNode, is_open_elsewhere: Callable[[str], bool]) -> int:
        """Return the node's number. ``is_open_elsewhere`` returns True if another tab shows a document with this id."""
        key = (page.document, node.backend_id)
        if key in self._numbers:
            return self._numbers[key]
        signature = (page.url.partition("#")[0], node.role, node.name, node.ordinal)
        number = self._by_signature.get(signature)
        if number is None or self._in_use(number, page, is_open_elsewhere):
            number = next(self._next)
        self._by_signature[signature] = number
        self._numbers[key] = number
        self.refs[number] = ElementRef(page.document, node.frame, node.backend_id)
        return number

    def _in_use(self, number: int, page: Page, is_open_elsewhere: Callable[[str], bool]) -> bool:
        ref = self.refs[number]
        if ref.document == page.document:
            return ref.backend_id in page.nodes_by_backend_id
        return is_open_elsewhere(ref.document)


MAX_TEXT = 1_000
"""Maximum number of characters shown for a node whose role is in TEXT_ROLES."""
MAX_OPTIONS = 40
"""Maximum number of options shown for a select box."""
TEXT_ROLES = ("text", "paragraph", "listitem", "cell", "gridcell", "blockquote", "code", "definition", "term")
"""Roles of nodes whose names are whole texts. MAX_TEXT limits these names, MAX_NAME the names of other nodes."""
MAX_CHANGE = 600
"""Maximum number of characters in the description of how an action changed the page."""
INDENT = "  "
ADDRESS, TITLE, TABS, IN_VIEW = "Address: ", "Title: ", "Tabs: ", "In view ("
"""The beginnings of the lines of an observation that describe the tab, and of the line that introduces the page."""

Numbering = Callable[[AccessibilityNode], int]
"""A function that returns the number of a node."""


def render_page(page: Page, tabs: Sequence[str], number: Numbering, limit: int) -> str:
    """Return the page as the agent sees it: the tabs (if there are several), address, title, and visible nodes.

    ``limit`` is the maximum total number of characters in the lines about nodes.
    """
    head = [f"{TABS}{', '.join(tabs)}"] if len(tabs) > 1 else []
    head += [f"{ADDRESS}{quote(page.url, 500)[1:-1]}", f"{TITLE}{quote(page.title)}"]
    return "\n".join([*head, *_page_lines(page, number, limit)])


def _page_lines(page: Page, number: Numbering, limit: int) -> list[str]:
    """Return a line that says how much of the page is out of view, followed by the lines of the visible nodes."""
    above, below = page.pixels_above, page.pixels_below
    extent = f"{above} px above, {below} px below" if above or below else "all of it"
    if page.is_partial:
        extent += "; the page is so large that find sees only what is in view"
    lines, remaining, left_out = [f"{IN_VIEW}{extent}):"], limit, 0
    for line in _node_lines(page.root, number):
        if len(line) >= remaining:
            left_out += 1
            remaining = 0  # also leave out all later lines
        else:
            lines.append(line)
            remaining -= len(line) + 1
    if left_out:
        lines.append(f"({left_out} more lines in view are left out: the limit is {limit} characters)")
    if len(lines) == 1:
        lines.append("(nothing)")
    return lines


def _node_lines(root: AccessibilityNode, number: Numbering) -> Iterator[str]:
    pending = [(node, 0) for node in reversed(root.children) if node.visible]
    while pending:
        node, depth = pending.pop()
        while node.is_wrapper:
            node = node.children[0]
        yield f"{INDENT * depth}{format_node(node, number(node))}"
        pending.extend((child, depth + 1) for child in reversed(node.children) if child.visible)


def format_node(node: AccessibilityNode, number: int) -> str:
    """Return a line such as ``[12] textbox 'Name' value='Ada' required``."""
    parts = [f"[{number}]", node.role]
    if node.name:
        parts.append(quote(node.name, MAX_TEXT if node.role in TEXT_ROLES else accessibility.MAX_NAME))
    if node.value and node.value != node.name:
        parts.append(f"value={quote(node.value)}")
    if node.options:
        parts.append(f"options={_format_options(node.options)}")
    return " ".join([*parts, *(_format_property(name, value) for name, value in node.properties.items())])


def _format_property(name: str, value: JsonValue) -> str:
    if name not in accessibility.SHOWN_IF_FALSE and (value is True or value == "true"):
        return name
    return f"{name}={str(value).lower()}"


def _format_options(options: Sequence[str]) -> str:
    shown = " | ".join(quote(option, 80) for option in options[:MAX_OPTIONS])
    return shown if len(options) <= MAX_OPTIONS else f"{shown} | ({len(options) - MAX_OPTIONS} more)"


def describe_change(before: str, after: str) -> str:
    """Return a short description of how the observation ``after`` differs from the observation ``before``."""
    (old_head, old), (head, new) = _split_head(before), _split_head(after)
    if _after_prefix(head, ADDRESS) != _after_prefix(old_head, ADDRESS):
        return "; ".join([*_event_lines(head), f"now at {_after_prefix(head, ADDRESS)}, {_after_prefix(head, TITLE)}"])
    appeared, gone = Counter(new) - Counter(old), Counter(old) - Counter(new)
    lines = [_summary("new: ", new, appeared), _summary("gone: ", old, gone)]
    return "; ".join([*_event_lines(head), *filter(None, lines)]) or "nothing changed in view"


def _split_head(text: str) -> tuple[list[str], list[str]]:
    """Split an observation into the lines about the tab and events, and the lines of the page."""
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if line.startswith(IN_VIEW)), len(lines))
    return lines[:start], [line.strip().removesuffix(" focused") for line in lines[start:]]


def _after_prefix(head: Sequence[str], prefix: str) -> str:
    return next((line.removeprefix(prefix) for line in head if line.startswith(prefix)), "")


def _event_lines(head: Sequence[str]) -> list[str]:
    """Return the lines of an observation's head that report events."""
    return [line.rstrip(".") for line in head if not line.startswith((ADDRESS, TITLE, TABS))]


def _summary(title: str, lines: Sequence[str], counts: Counter[str]) -> str:
    text, half = " | ".join(line for line in lines if counts[line] > 0), MAX_CHANGE // 2
    return f"{title}{text[:half]}{' ...' if len(text) > half else ''}" if text else ""
