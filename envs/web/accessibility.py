"""The accessibility tree of a page, with the position of each node, and safe quoting of page texts."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import JsonValue

NAME = 200
"""Maximum characters shown of a name."""


def plain(text: str) -> str:
    """Return the text on one line, without invisible characters and those that change the direction of writing."""
    return " ".join(seen(text).split())


def seen(text: str) -> str:
    """Return the text with its lines and blanks, but without those characters: the content of a text area."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        each for each in text if each.isspace() or unicodedata.category(each) not in ("Cf", "Cc", "Co", "Cs")
    )


def cut(text: str, most: int) -> str:
    """Return the text, or its beginning with how much is left out."""
    return text if len(text) <= most else f"{text[:most].rstrip()}... (+{len(text) - most} characters)"


def quoted(text: str, most: int = NAME) -> str:
    """Return the text in quotes, on one line, at most this long, so that it cannot look like a line of its own."""
    return repr(cut(plain(text), most))


Snapshot = Mapping[str, Any]

STYLES = ("overflow-x", "overflow-y", "position")
FREE = "fixed"
"""The position of elements that no part around them clips."""


class Rect(NamedTuple):
    """Edges in pixels; right and bottom are exclusive."""

    left: float
    top: float
    right: float
    bottom: float

    def within(self, other: "Rect") -> "Rect":
        """Return the part of it that lies in the other."""
        return Rect(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )

    def moved(self, x: float, y: float) -> "Rect":
        """Return the rectangle moved to the right and down."""
        return Rect(self.left + x, self.top + y, self.right + x, self.bottom + y)

    @property
    def empty(self) -> bool:
        """True if nothing of it is left."""
        return self.right <= self.left or self.bottom <= self.top


ENDLESS = Rect(float("-inf"), float("-inf"), float("inf"), float("inf"))


class PageLayout:
    """Rectangles by backend id, in the tab's window, and the frame in each frame element."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.boxes: dict[int, Rect] = {}
        self.owners: dict[int, str] = {}
        self.frames: list[str] = []
        self._strings: Sequence[str] = snapshot["strings"]
        self._documents: Sequence[Mapping[str, Any]] = snapshot["documents"]
        pending = [(0, 0.0, 0.0, ENDLESS)] if self._documents else []
        while pending:
            pending.extend(self._document(*pending.pop()))

    def _document(self, number: int, x: float, y: float, clip: Rect) -> list[tuple[int, float, float, Rect]]:
        """Place one document, whose upper left corner is at (x, y); return the documents in its frames."""
        document = self._documents[number]
        nodes, layout = document["nodes"], document["layout"]
        self.frames.append(self._strings[document["frameId"]])
        x, y = x - document.get("scrollOffsetX", 0), y - document.get("scrollOffsetY", 0)
        backends, parents = nodes["backendNodeId"], nodes["parentIndex"]
        inner = dict(zip(nodes["contentDocumentIndex"]["index"], nodes["contentDocumentIndex"]["value"], strict=True))
        clips: dict[int, Rect] = {}
        found = []
        for index, bounds, styles in zip(layout["nodeIndex"], layout["bounds"], layout["styles"], strict=True):
            around = clip
            if self._style(styles, 2) != FREE:
                around = self._around(index, parents, clips, clip)
            box = Rect(bounds[0], bounds[1], bounds[0] + bounds[2], bounds[1] + bounds[3]).moved(x, y)
            self.boxes[backends[index]] = seen = box.within(around)
            rolls = any(self._style(styles, each) not in ("visible", "") for each in (0, 1))
            root = parents[index] < 0 or parents[parents[index]] < 0 or parents[parents[parents[index]]] < 0
            clips[index] = seen if rolls and not root else around
            if index in inner:
                self.owners[backends[index]] = self._strings[self._documents[inner[index]]["frameId"]]
                found.append((inner[index], box.left, box.top, seen))
        return found

    @staticmethod
    def _around(index: int, parents: Sequence[int], clips: Mapping[int, Rect], clip: Rect) -> Rect:
        """Return what clips a node: the nearest part around it that has a layout."""
        parent = parents[index]
        while parent >= 0:
            if parent in clips:
                return clips[parent]
            parent = parents[parent]
        return clip

    def _style(self, styles: Sequence[int], number: int) -> str:
        return self._strings[styles[number]] if number < len(styles) and styles[number] >= 0 else ""


AXNode = Mapping[str, Any]

TELLING = ("checked", "pressed", "expanded", "selected", "disabled", "required", "readonly", "level", "focused")
"""Properties that are shown, in this order."""
STATED = ("checked", "pressed", "expanded")
"""Properties that are shown even if false."""
INLINE = ("InlineTextBox", "LineBreak")
TEXT = ("StaticText",)
PASSED_THROUGH = ("generic", "none", "LabelText", "LayoutTable", "LayoutTableRow", "LayoutTableCell", "Section", "form",
                  "rowgroup", "Legend", "ListMarker")  # fmt: skip
"""Roles that say nothing by themselves: their children replace them, unless they have a name or the focus."""
BETWEEN = ("|", "•", "·")
"""Texts that only separate others."""
DRAWN = "MenuListPopup"
"""The role of the list that a select box opens; its options are shown with the box."""
AROUND = ("row", "cell", "gridcell", "listitem")
"""Roles whose name is their content."""
ROLES: Mapping[str, str] = {"StaticText": "text", "RootWebArea": "page", "Iframe": "iframe", DRAWN: "popup"}
WHOLE = ("link", "button", "tab", "menuitem", "option", "checkbox", "radio", "switch", "treeitem", "image", "textbox",
         "searchbox", "spinbutton", "slider", "combobox", "progressbar", "meter", "menuitemcheckbox", "menuitemradio",
         "date", "inputtime", "datetime", "colorwell")  # fmt: skip
"""Roles whose name says all that their text does."""
MADE_OF_PARTS = ("date", "inputtime", "datetime", "colorwell", "spinbutton", "slider")
"""Roles of fields whose parts the browser makes; they are filled in as a whole."""
ACTED_ON = (*(role for role in WHOLE if role not in ("image", "progressbar", "meter")), "listbox")
"""Roles of elements that can be clicked or filled in."""


@dataclass
class AccessibilityNode:
    """One node. ``box`` is in pixels of the tab's window, clipped to what is visible; None if it has none."""

    role: str
    name: str
    backend: int
    frame: str
    value: str = ""
    link: str = ""
    options: list[str] = field(default_factory=list)
    """The options of a select box."""
    said: dict[str, JsonValue] = field(default_factory=dict)
    box: Rect | None = None
    children: list["AccessibilityNode"] = field(default_factory=list)
    turn: int = 0
    """Index among the page's nodes with this role and name."""
    visible: bool = False

    def walk(self) -> Iterator["AccessibilityNode"]:
        """Yield the node and all below it, in the order of the page."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))

    @property
    def shell(self) -> bool:
        """True if it says no more than its only child."""
        return (
            self.role in ("cell", "gridcell", "listitem") and not (self.name or self.said) and len(self.children) == 1
        )

    def text(self) -> str:
        """Return the name, or the text inside if there is none."""
        return self.name or " ".join(filter(None, (child.text() for child in self.children)))


class AccessibilityTree:
    """Nodes from the browser's lists, one list for each frame."""

    def __init__(
        self, frames: Mapping[str, Sequence[AXNode]], owners: Mapping[int, str], boxes: Mapping[int, Rect]
    ) -> None:
        """``owners`` maps the backend id of a frame element to its frame."""
        self._frames, self._owners, self._boxes = frames, owners, boxes

    def root(self, frame: str) -> AccessibilityNode:
        """Return the page in a frame, with the pages of its frames. Nodes are folded."""
        raw = self._frames.get(frame, ())
        by_id = {node["nodeId"]: node for node in raw}
        made = self._made(raw[0], by_id, frame) if raw else []
        root = (
            made[0]
            if len(made) == 1 and made[0].role == "page"
            else AccessibilityNode("page", "", 0, frame, children=made)
        )
        _fold(root)
        return root

    def _made(self, first: AXNode, by_id: Mapping[str, AXNode], frame: str) -> list[AccessibilityNode]:
        """Return the node, or the nodes that replace it. Not recursive, as pages may be deep."""
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
                if not _passed(node, role):
                    into.append(node)
                    children = node.children
                    if inner := self._owners.get(node.backend):
                        node.children.extend(self.root(inner).children)
                    elif node.role == "iframe":
                        node.said["unread"] = True  # of another site: the browser has it in another process
            pending.extend((by_id[number], children) for number in reversed(raw.get("childIds", ())) if number in by_id)
        return result

    def _node(self, raw: AXNode, role: str, frame: str) -> AccessibilityNode:
        said = {each["name"]: each["value"].get("value") for each in raw.get("properties", ())}
        backend = raw.get("backendDOMNodeId", 0)
        value = raw.get("value", {}).get("value", "")
        return AccessibilityNode(
            role=ROLES.get(role, role.lower() if role.isascii() else "generic"),
            name=plain(str(raw.get("name", {}).get("value", ""))),
            backend=backend,
            frame=frame,
            value=seen(str(value)),
            link=str(said.get("url", "")) if role == "link" else "",
            said={name: said[name] for name in TELLING if name in said and _matters(role, name, said[name])},
            box=self._boxes.get(backend),
        )


def _matters(role: str, name: str, value: JsonValue) -> bool:
    if name == "level":
        return role in ("heading", "treeitem")
    return name in STATED or value not in (False, "false", None, "")


def _passed(node: AccessibilityNode, role: str) -> bool:
    """Return whether only the node's children are told."""
    if node.role == "text":
        return node.name in ("", *BETWEEN)
    if role == "ListMarker":
        return not any(each.isalnum() for each in node.name)
    return role in PASSED_THROUGH and not node.name and "focused" not in node.said


def _fold(root: AccessibilityNode) -> None:
    """Remove repetitions: text that a name already says, and names that are only the content."""
    for node in reversed(list(root.walk())):
        if node.role == "combobox" and any(child.role == "popup" for child in node.children):
            node.options = [each.name for each in node.walk() if each.role == "option" and each.name]
            node.children = []
        elif node.role in WHOLE:
            _fold_whole(node)
        else:
            _fold_around(node)


def _fold_whole(node: AccessibilityNode) -> None:
    """Keep only what can be acted on inside a node whose name says everything."""
    if node.role in MADE_OF_PARTS:
        node.children = []
    keep = ACTED_ON if node.name or node.value else (*ACTED_ON, "text", "image")
    found: list[AccessibilityNode] = []
    pending = list(reversed(node.children))
    while pending:
        inner = pending.pop()
        if inner.role in keep:
            found.append(inner)
        else:
            pending.extend(reversed(inner.children))
    node.children = found


def _fold_around(node: AccessibilityNode) -> None:
    texts = [child for child in node.children if child.role == "text"]
    if node.children and len(texts) == len(node.children):
        together = plain(" ".join(text.name for text in texts))
        if len(texts) == 1 or node.name.replace(" ", "") == together.replace(" ", ""):
            node.name, node.children = node.name or together, []
            node.box = node.box or texts[0].box
    elif node.name and node.children and node.role in AROUND:
        node.name = ""
