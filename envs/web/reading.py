"""Reading a page: its tree, its place in the window, its address and title."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from planbook.envs.browser.devtools import Answer, CommandRefused
from planbook.envs.web.addresses import BLANK
from planbook.envs.web.context import Context, TabGone
from planbook.envs.web.hearing import VIEW, Target
from planbook.envs.web.nodes import Node, Tree
from planbook.envs.web.places import STYLES, Box, Places

WINDOW = Box(0, 0, float(str(VIEW["width"])), float(str(VIEW["height"])))
PAGE = f"({Path(__file__).with_name('page.js').read_text(encoding='utf-8').strip()})"
"""Functions of ours for the page, as one expression."""
READS = 4
"""How often a page that changes while it is read is read again."""
LARGE = 8_000
"""Elements of a page beyond which only what is in view is read."""
MOST_PARTS = 1_500
"""Nodes in view that are read of a large page."""


@dataclass
class Trail:
    """Where a tab has been and can go again: addresses, and which of them it shows."""

    urls: list[str]
    at: int


def trail_of(history: Answer) -> Trail:
    """The browser's history of a tab, without the empty page that every tab begins with."""
    urls, at = [entry["url"] for entry in history["entries"]], history["currentIndex"]
    blank = len(urls) > 1 and urls[0] == BLANK
    return Trail(urls[blank:], max(0, at - blank))


@dataclass
class Page:
    """What a tab shows. ``above`` and ``below``: pixels of the page beyond the window. ``part``: not all was read."""

    url: str
    title: str
    document: str
    trail: Trail
    root: Node
    above: int
    below: int
    part: bool = False
    backends: frozenset[int] = field(default=frozenset())

    @cached_property
    def by_backend(self) -> Mapping[int, Node]:
        """The nodes by their ids in the browser."""
        return {node.backend: node for node in self.root.walk()}


def read(context: Context, target: Target) -> Page:
    """The tab's page as it is now. Raises TabGone, WorldBroken."""
    for _ in range(READS):
        try:
            return _read(context, target)
        except CommandRefused:  # a frame went away in between
            context.settle(target)
    raise TabGone("the page changes faster than it can be read")


def _read(context: Context, target: Target) -> Page:
    history, metrics, size = context.call_all(
        target,
        [
            ("Page.getNavigationHistory", {}),
            ("Page.getLayoutMetrics", {}),
            ("Runtime.evaluate", {"expression": "document.getElementsByTagName('*').length", "returnByValue": True}),
        ],
    )
    entry = history["entries"][history["currentIndex"]]
    large = (size["result"].get("value") or 0) > LARGE
    root = _in_view(context, target) if large else _whole(context, target)
    seen, content = metrics["cssVisualViewport"], metrics["cssContentSize"]
    above = round(seen["pageY"])
    below = max(0, round(content["height"] - seen["pageY"] - seen["clientHeight"]))
    mark_visible(root)
    backends = frozenset(node.backend for node in number_turns(root))
    trail = trail_of(history)
    return Page(entry["url"], entry["title"], target.traffic.document, trail, root, above, below, large, backends)


def _whole(context: Context, target: Target) -> Node:
    (snapshot,) = context.call_all(target, [("DOMSnapshot.captureSnapshot", {"computedStyles": list(STYLES)})])
    places = Places(snapshot)
    asked = [("Accessibility.getFullAXTree", {"frameId": frame}) for frame in places.frames]
    answers = context.call_all(target, asked)
    frames = {frame: answer["nodes"] for frame, answer in zip(places.frames, answers, strict=True)}
    return Tree(frames, places.owners, places.boxes).root(target.traffic.frame)


def _in_view(context: Context, target: Target) -> Node:
    """A large page without what is out of view: the nodes in view are found first and asked for one by one."""
    frame = target.traffic.frame
    world = context.call(target, "Page.createIsolatedWorld", frameId=frame, worldName="planbook")["executionContextId"]
    found = context.call(target, "Runtime.evaluate", expression=f"{PAGE}.inView({MOST_PARTS})", contextId=world)
    held = found["result"]["objectId"]
    listed = context.call(target, "Runtime.getProperties", objectId=held, ownProperties=True)["result"]
    parts = {each["name"]: each["value"] for each in listed if "value" in each}
    ids = context.call(target, "Runtime.getProperties", objectId=parts["nodes"]["objectId"], ownProperties=True)
    shape = json.loads(parts["shape"]["value"])
    asked = [
        ("Accessibility.getPartialAXTree", {"objectId": each["value"]["objectId"], "fetchRelatives": False})
        for each in ids["result"]
        if each["name"].isdecimal()
    ]
    answers = context.call_all(target, asked)
    raw = [dict(answer["nodes"][0]) for answer in answers]
    boxes = {}
    for number, (node, (parent, *edges)) in enumerate(zip(raw, shape, strict=True)):
        node.update(nodeId=str(number), childIds=[])
        boxes[node.get("backendDOMNodeId", 0)] = Box(*edges)
        if parent >= 0:
            raw[parent]["childIds"].append(str(number))
    return Tree({frame: raw}, {}, boxes).root(frame)


def mark_visible(root: Node) -> None:
    """Mark what is in the window, and what holds such a node. What has no box is seen with what it is in."""
    nodes = list(root.walk())
    boxed: dict[int, bool] = {}
    for node in reversed(nodes):
        below = any(boxed[id(child)] for child in node.children)
        boxed[id(node)] = below or node.box is not None
        inside = node.box is not None and not node.box.within(WINDOW).empty
        node.visible = (inside and not below) or any(child.visible for child in node.children)
    for node in nodes:
        if node.visible and not any(child.visible for child in node.children):
            for inner in node.walk():
                inner.visible = inner.visible or inner.box is None


def number_turns(root: Node) -> Sequence[Node]:
    """Count the nodes of each role and name, and return all."""
    turns: dict[tuple[str, str], int] = {}
    nodes = list(root.walk())
    for node in nodes:
        node.turn = turns.get((node.role, node.name), 0)
        turns[node.role, node.name] = node.turn + 1
    return nodes
