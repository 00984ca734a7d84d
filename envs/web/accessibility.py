"""The accessibility tree of a page with the boxes of its nodes, and safe quoting of page texts."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import JsonValue

MAX_NAME = 200
"""Maximum characters of a name that are shown."""


def one_line(text: str) -> str:
    """Return the visible text on one line."""
    return " ".join(visible(text).split())


def visible(text: str) -> str:
    """Return the text without invisible characters and those that change the writing direction; white space stays."""
    if text.isascii() and text.isprintable():
        return text
    invisible = ("Cf", "Cc", "Co", "Cs")
    return "".join(letter for letter in text if letter.isspace() or unicodedata.category(letter) not in invisible)


def quoted(text: str, most: int = MAX_NAME) -> str:
    """Return the text in quotes on one line, cut to ``most`` characters, so that it cannot pass for a line of ours."""
    line = one_line(text)
    return repr(line if len(line) <= most else f"{line[:most].rstrip()}... (+{len(line) - most} characters)")


Snapshot = Mapping[str, Any]

STYLES = ("overflow-x", "overflow-y", "position")
UNCLIPPED = "fixed"
"""The position of elements that no element around them clips."""


class Rect(NamedTuple):
    """Edges in pixels; right and bottom are exclusive."""

    left: float
    top: float
    right: float
    bottom: float

    def within(self, other: "Rect") -> "Rect":
        """Return the intersection with the other rectangle."""
        return Rect(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )

    def moved(self, x: float, y: float) -> "Rect":
        """Return the rectangle moved ``x`` pixels to the right and ``y`` down."""
        return Rect(self.left + x, self.top + y, self.right + x, self.bottom + y)

    @property
    def empty(self) -> bool:
        """True if it has no area."""
        return self.right <= self.left or self.bottom <= self.top


ENDLESS = Rect(float("-inf"), float("-inf"), float("inf"), float("inf"))


class PageLayout:
    """The box of each element in the tab's window, and the frame of each frame element, by backend id."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.boxes: dict[int, Rect] = {}
        self.owners: dict[int, str] = {}
        self.frames: list[str] = []
        self._strings: Sequence[str] = snapshot["strings"]
        self._documents: Sequence[Mapping[str, Any]] = snapshot["documents"]
        pending = [(0, 0.0, 0.0, ENDLESS)] if self._documents else []
        while pending:
            pending.extend(self._add_document(*pending.pop()))

    def _add_document(self, number: int, x: float, y: float, clip: Rect) -> list[tuple[int, float, float, Rect]]:
        """Add the boxes of one document, whose upper left corner is at (x, y); return the documents in its frames."""
        document = self._documents[number]
        nodes, layout = document["nodes"], document["layout"]
        self.frames.append(self._strings[document["frameId"]])
        x, y = x - document.get("scrollOffsetX", 0), y - document.get("scrollOffsetY", 0)
        backends, parents = nodes["backendNodeId"], nodes["parentIndex"]
        inner = dict(zip(nodes["contentDocumentIndex"]["index"], nodes["contentDocumentIndex"]["value"], strict=True))
        clips: dict[int, Rect] = {}
        frames = []
        for index, bounds, styles in zip(layout["nodeIndex"], layout["bounds"], layout["styles"], strict=True):
            outer_clip = clip
            if self._style(styles, 2) != UNCLIPPED:
                outer_clip = self._clip_around(index, parents, clips, clip)
            box = Rect(bounds[0], bounds[1], bounds[0] + bounds[2], bounds[1] + bounds[3]).moved(x, y)
            self.boxes[backends[index]] = visible_box = box.within(outer_clip)
            scrolls = any(self._style(styles, axis) not in ("visible", "") for axis in (0, 1))
            root = parents[index] < 0 or parents[parents[index]] < 0 or parents[parents[parents[index]]] < 0
            clips[index] = visible_box if scrolls and not root else outer_clip
            if index in inner:
                self.owners[backends[index]] = self._strings[self._documents[inner[index]]["frameId"]]
                frames.append((inner[index], box.left, box.top, visible_box))
        return frames

    @staticmethod
    def _clip_around(index: int, parents: Sequence[int], clips: Mapping[int, Rect], clip: Rect) -> Rect:
        """Return the rectangle that clips a node: that of the nearest ancestor with a layout."""
        parent = parents[index]
        while parent >= 0:
            if parent in clips:
                return clips[parent]
            parent = parents[parent]
        return clip

    def _style(self, styles: Sequence[int], number: int) -> str:
        return self._strings[styles[number]] if number < len(styles) and styles[number] >= 0 else ""


AXNode = Mapping[str, Any]

SHOWN = ("checked", "pressed", "expanded", "selected", "disabled", "required", "readonly", "level", "focused")
"""Properties that are shown, in this order."""
SHOWN_IF_FALSE = ("checked", "pressed", "expanded")
"""Properties that are shown even if false."""
INLINE = ("InlineTextBox", "LineBreak")
INSIGNIFICANT = ("generic", "none", "LabelText", "LayoutTable", "LayoutTableRow", "LayoutTableCell", "Section", "form",
                 "rowgroup", "Legend", "ListMarker")  # fmt: skip
"""Roles without meaning: nodes with them are replaced by their children, unless they have a name or the focus."""
SEPARATORS = ("|", "•", "·")
"""Texts that only separate others."""
MENU_POPUP = "MenuListPopup"
"""The role of the list that a select box opens; its options are shown with the box."""
CONTAINERS = ("row", "cell", "gridcell", "listitem")
"""Roles whose name repeats their content."""
ROLES: Mapping[str, str] = {"StaticText": "text", "RootWebArea": "page", "Iframe": "iframe", MENU_POPUP: "popup"}
ATOMIC = ("link", "button", "tab", "menuitem", "option", "checkbox", "radio", "switch", "treeitem", "image", "textbox",
          "searchbox", "spinbutton", "slider", "combobox", "progressbar", "meter", "menuitemcheckbox", "menuitemradio",
          "date", "inputtime", "datetime", "colorwell")  # fmt: skip
"""Roles whose name includes all their text."""
COMPOSITE_FIELDS = ("date", "inputtime", "datetime", "colorwell", "spinbutton", "slider")
"""Roles of fields that the browser builds from parts, but that are filled in as a whole."""
INTERACTIVE = (*(role for role in ATOMIC if role not in ("image", "progressbar", "meter")), "listbox")
"""Roles of elements that can be clicked or filled in."""


@dataclass
class AccessibilityNode:
    """One node. ``box`` is in pixels of the tab's window, clipped to its visible part; None without a layout."""

    role: str
    name: str
    backend: int
    frame: str
    value: str = ""
    link: str = ""
    options: list[str] = field(default_factory=list)
    """The options of a select box."""
    properties: dict[str, JsonValue] = field(default_factory=dict)
    box: Rect | None = None
    children: list["AccessibilityNode"] = field(default_factory=list)
    ordinal: int = 0
    """Index among the page's nodes with this role and name."""
    visible: bool = False

    def walk(self) -> Iterator["AccessibilityNode"]:
        """Yield the node and its descendants, in the order of the page."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))

    @property
    def is_wrapper(self) -> bool:
        """True if it adds nothing to its only child."""
        bare = self.role in ("cell", "gridcell", "listitem") and not (self.name or self.properties)
        return bare and len(self.children) == 1

    def text(self) -> str:
        """Return the name, or the text inside if there is none. Not recursive, since pages may be deep."""
        names: list[str] = []
        pending = [self]
        while pending:
            node = pending.pop()
            if node.name:
                names.append(node.name)
            else:
                pending.extend(reversed(node.children))
        return " ".join(names)


class AccessibilityTree:
    """Builds nodes from the browser's lists, one list for each frame."""

    def __init__(
        self, frames: Mapping[str, Sequence[AXNode]], owners: Mapping[int, str], boxes: Mapping[int, Rect]
    ) -> None:
        """``owners`` maps the backend id of a frame element to its frame."""
        self._frames, self._owners, self._boxes = frames, owners, boxes

    def root(self, frame: str) -> AccessibilityNode:
        """Return the page in a frame, including the pages of inner frames, without repetitions."""
        raw = self._frames.get(frame, ())
        by_id = {node["nodeId"]: node for node in raw}
        nodes = self._build(raw[0], by_id, frame) if raw else []
        is_page = len(nodes) == 1 and nodes[0].role == "page"
        root = nodes[0] if is_page else AccessibilityNode("page", "", 0, frame, children=nodes)
        _fold(root)
        return root

    def _build(self, first: AXNode, by_id: Mapping[str, AXNode], frame: str) -> list[AccessibilityNode]:
        """Return the node, or the nodes that replace it. Not recursive, since pages may be deep."""
        result: list[AccessibilityNode] = []
        pending: list[tuple[AXNode, list[AccessibilityNode]]] = [(first, result)]
        while pending:
            raw, into = pending.pop()
            role = raw.get("role", {}).get("value", "")
            if role in INLINE:
                continue
            children = into
            if not raw.get("ignored"):
                node = self._node(raw, role, frame)
                if not _is_replaced(node, role):
                    into.append(node)
                    children = node.children
                    if inner := self._owners.get(node.backend):
                        node.children.extend(self.root(inner).children)
                    elif node.role == "iframe":
                        node.properties["unread"] = True  # another site's frame is in another process of the browser
            pending.extend((by_id[number], children) for number in reversed(raw.get("childIds", ())) if number in by_id)
        return result

    def _node(self, raw: AXNode, role: str, frame: str) -> AccessibilityNode:
        values = {entry["name"]: entry["value"].get("value") for entry in raw.get("properties", ())}
        shown = {name: values[name] for name in SHOWN if name in values and _matters(role, name, values[name])}
        backend = raw.get("backendDOMNodeId", 0)
        value = raw.get("value", {}).get("value", "")
        return AccessibilityNode(
            role=ROLES.get(role, role.lower() if role.isascii() else "generic"),
            name=one_line(str(raw.get("name", {}).get("value", ""))),
            backend=backend,
            frame=frame,
            value=visible(str(value)),
            link=str(values.get("url", "")) if role == "link" else "",
            properties=shown,
            box=self._boxes.get(backend),
        )


def _matters(role: str, name: str, value: JsonValue) -> bool:
    if name == "level":
        return role in ("heading", "treeitem")
    return name in SHOWN_IF_FALSE or value not in (False, "false", None, "")


def _is_replaced(node: AccessibilityNode, role: str) -> bool:
    """Return True if the node's children replace it."""
    if node.role == "text":
        return node.name in ("", *SEPARATORS)
    if role == "ListMarker":
        return not any(map(str.isalnum, node.name))
    return role in INSIGNIFICANT and not node.name and "focused" not in node.properties


def _fold(root: AccessibilityNode) -> None:
    """Remove repetitions: text that a name includes, and names that repeat the content."""
    for node in reversed(list(root.walk())):
        if node.role == "combobox" and any(child.role == "popup" for child in node.children):
            node.options = [inner.name for inner in node.walk() if inner.role == "option" and inner.name]
            node.children = []
        elif node.role in ATOMIC:
            _fold_atomic(node)
        else:
            _fold_container(node)


def _fold_atomic(node: AccessibilityNode) -> None:
    """Keep only interactive nodes inside an atomic node; also texts and images if it has neither name nor value."""
    if node.role in COMPOSITE_FIELDS:
        node.children = []
    keep = INTERACTIVE if node.name or node.value else (*INTERACTIVE, "text", "image")
    kept: list[AccessibilityNode] = []
    pending = list(reversed(node.children))
    while pending:
        inner = pending.pop()
        if inner.role in keep:
            kept.append(inner)
        else:
            pending.extend(reversed(inner.children))
    node.children = kept


def _fold_container(node: AccessibilityNode) -> None:
    texts = [child for child in node.children if child.role == "text"]
    if node.role != "page" and node.children and len(texts) == len(node.children):
        text = one_line(" ".join(child.name for child in texts))
        if len(texts) == 1 or node.name.replace(" ", "") == text.replace(" ", ""):
            node.name, node.children = node.name or text, []
            node.box = node.box or texts[0].box
    elif node.name and node.children and node.role in CONTAINERS:
        node.name = ""
