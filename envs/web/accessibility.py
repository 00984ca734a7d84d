"""Build the accessibility tree of a page with the position of each node, and quote the page's texts safely.

The tree contains what a screen reader would read. A *backend id* is the browser's number for a DOM node. A page may
contain frames, each with its own document.
"""

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import JsonValue

MAX_NAME = 200
"""Maximum number of characters of a name that are shown."""


def one_line(text: str) -> str:
    """Return the text on one line, without invisible characters."""
    return " ".join(strip_invisible(text).split())


def strip_invisible(text: str) -> str:
    """Return the text without invisible characters, such as direction marks. White space is kept."""
    if text.isascii() and text.isprintable():
        return text
    invisible = ("Cf", "Cc", "Co", "Cs")
    return "".join(char for char in text if char.isspace() or unicodedata.category(char) not in invisible)


def quote(text: str, limit: int = MAX_NAME) -> str:
    """Return the text in quotes, on one line, and cut to ``limit`` characters.

    The quotes prevent a page from imitating lines that the environment itself writes.
    """
    line = one_line(text)
    return repr(line if len(line) <= limit else f"{line[:limit].rstrip()}... (+{len(line) - limit} characters)")


Snapshot = Mapping[str, Any]
"""DevTools' answer to ``DOMSnapshot.captureSnapshot``."""

STYLE_PROPERTIES = ("overflow-x", "overflow-y", "position")
"""The CSS properties that a snapshot contains for each element, in this order."""


class Rect(NamedTuple):
    """A rectangle, given by its edges in pixels. ``right`` and ``bottom`` are exclusive."""

    left: float
    top: float
    right: float
    bottom: float

    def intersection(self, other: "Rect") -> "Rect":
        """Return the rectangle that this and the other rectangle share."""
        return Rect(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )

    @property
    def is_empty(self) -> bool:
        """True if the rectangle has no area."""
        return self.right <= self.left or self.bottom <= self.top


UNBOUNDED = Rect(float("-inf"), float("-inf"), float("inf"), float("inf"))


class PageLayout:
    """The frames of a page, and the positions of its elements in the tab's window."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.boxes: dict[int, Rect] = {}
        """Maps the backend id of an element to the rectangle of its visible part."""
        self.owners: dict[int, str] = {}
        """Maps the backend id of a frame element, such as ``<iframe>``, to the id of the frame inside the element."""
        self.frames: list[str] = []
        """The ids of all frames whose documents the snapshot contains."""
        self._strings: Sequence[str] = snapshot["strings"]
        self._documents: Sequence[Mapping[str, Any]] = snapshot["documents"]
        pending = [(0, 0.0, 0.0, UNBOUNDED)] if self._documents else []
        while pending:
            pending.extend(self._add_document(*pending.pop()))

    def _add_document(self, number: int, x: float, y: float, clip: Rect) -> list[tuple[int, float, float, Rect]]:
        """Add the boxes of one document, and return the documents inside its frames.

        The document's upper left corner is at (x, y), and ``clip`` is the visible part of its frame. Each returned
        tuple contains the arguments with which this method adds an inner document.
        """
        document = self._documents[number]
        nodes, layout = document["nodes"], document["layout"]
        self.frames.append(self._strings[document["frameId"]])
        x, y = x - document.get("scrollOffsetX", 0), y - document.get("scrollOffsetY", 0)
        backend_ids, parents = nodes["backendNodeId"], nodes["parentIndex"]
        contents = nodes["contentDocumentIndex"]
        inner_documents = dict(zip(contents["index"], contents["value"], strict=True))
        clips: dict[int, Rect] = {}
        frames = []
        for index, bounds, styles in zip(layout["nodeIndex"], layout["bounds"], layout["styles"], strict=True):
            outer_clip = clip
            if self._style(styles, 2) != "fixed":  # a fixed element is not clipped by the elements around it
                outer_clip = self._clip_around(index, parents, clips, clip)
            left, top, width, height = bounds
            box = Rect(left + x, top + y, left + width + x, top + height + y)
            self.boxes[backend_ids[index]] = visible_box = box.intersection(outer_clip)
            scrolls = any(self._style(styles, axis) not in ("visible", "") for axis in (0, 1))
            is_root = parents[index] < 0 or parents[parents[index]] < 0 or parents[parents[parents[index]]] < 0
            clips[index] = visible_box if scrolls and not is_root else outer_clip
            if index in inner_documents:
                inner = inner_documents[index]
                self.owners[backend_ids[index]] = self._strings[self._documents[inner]["frameId"]]
                frames.append((inner, box.left, box.top, visible_box))
        return frames

    @staticmethod
    def _clip_around(index: int, parents: Sequence[int], clips: Mapping[int, Rect], clip: Rect) -> Rect:
        """Return the clip of a node's nearest ancestor with a layout, or ``clip`` if no ancestor has a layout."""
        parent = parents[index]
        while parent >= 0:
            if parent in clips:
                return clips[parent]
            parent = parents[parent]
        return clip

    def _style(self, styles: Sequence[int], number: int) -> str:
        return self._strings[styles[number]] if number < len(styles) and styles[number] >= 0 else ""


AXNode = Mapping[str, Any]
"""A node of the browser's accessibility tree, as DevTools returns it."""

PROPERTIES = ("checked", "pressed", "expanded", "selected", "disabled", "required", "readonly", "level", "focused")
"""The properties of a node that are shown, in this order."""
SHOWN_IF_FALSE = ("checked", "pressed", "expanded")
"""The properties that are shown even if they are false."""
INLINE_ROLES = ("InlineTextBox", "LineBreak")
"""Roles of nodes that only repeat part of their parent's text."""
INSIGNIFICANT_ROLES = ("generic", "none", "LabelText", "LayoutTable", "LayoutTableRow", "LayoutTableCell", "Section",
                       "form", "rowgroup", "Legend", "ListMarker")  # fmt: skip
"""Roles that tell the agent nothing. Children replace a node that has one of these roles, no name and no focus."""
SEPARATORS = ("|", "•", "·")
"""Texts that only separate other texts, and are therefore left out."""
CONTAINER_ROLES = ("row", "cell", "gridcell", "listitem")
"""Roles of nodes whose names may repeat their content."""
ROLE_NAMES = {"StaticText": "text", "RootWebArea": "page", "Iframe": "iframe", "MenuListPopup": "popup"}
"""Maps the browser's name for a role to the name that we show. Roles that are not listed are shown in lower case."""
ATOMIC_ROLES = ("link", "button", "tab", "menuitem", "option", "checkbox", "radio", "switch", "treeitem", "image",
                "textbox", "searchbox", "spinbutton", "slider", "combobox", "progressbar", "meter", "menuitemcheckbox",
                "menuitemradio", "date", "inputtime", "datetime", "colorwell")  # fmt: skip
"""Roles of nodes whose names already include all the text inside the nodes."""
COMPOSITE_ROLES = ("date", "inputtime", "datetime", "colorwell", "spinbutton", "slider")
"""Roles of fields that the browser divides into several parts, but that the agent fills in as a whole."""
INTERACTIVE_ROLES = (*(role for role in ATOMIC_ROLES if role not in ("image", "progressbar", "meter")), "listbox")
"""Roles of elements that can be clicked or filled in."""


@dataclass
class AccessibilityNode:
    """One node of a page, usually an element."""

    role: str
    name: str
    backend_id: int
    """The backend id of the DOM node, or 0 if there is none."""
    frame: str
    """The id of the frame that contains the node."""
    value: str = ""
    link: str = ""
    """The address to which a link leads, or "" for other nodes."""
    options: list[str] = field(default_factory=list)
    """The options of a select box."""
    properties: dict[str, JsonValue] = field(default_factory=dict)
    box: Rect | None = None
    """The visible part of the node, in pixels of the tab's window, or None if the node has no layout."""
    children: list["AccessibilityNode"] = field(default_factory=list)
    ordinal: int = 0
    """The node's index among the page's nodes with the same role and name."""
    visible: bool = False
    """True if a part of the node is in the tab's window."""

    def walk(self, enters: Callable[["AccessibilityNode"], bool] = lambda node: True) -> Iterator["AccessibilityNode"]:
        """Yield the node and its descendants, in document order, except those in nodes that ``enters`` refuses.

        A loop is used instead of recursion, since pages may be nested deeply.
        """
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            if enters(node):
                pending.extend(reversed(node.children))

    @property
    def is_wrapper(self) -> bool:
        """True if the node has exactly one child, and adds no information to it."""
        adds_nothing = self.role in ("cell", "gridcell", "listitem") and not (self.name or self.properties)
        return adds_nothing and len(self.children) == 1

    def text(self) -> str:
        """Return the node's name or, if it has none, the text inside it."""
        outermost = self.walk(lambda node: not node.name)
        return " ".join(node.name for node in outermost if node.name)

    def describe(self, number: int) -> dict[str, JsonValue]:
        """Return the description of the node that the agent's query ``find`` returns. ``number`` is the node's id."""
        return {
            "id": number,
            "role": self.role,
            "name": self.text(),
            "value": self.value,
            "in_view": self.visible,
            **({"options": list[JsonValue](self.options)} if self.options else {}),
            **self.properties,
            **({"url": self.link} if self.link else {}),
        }


@dataclass(frozen=True)
class AccessibilityTree:
    """The accessibility tree of a page, built from the browser's nodes.

    ``owners`` and ``boxes`` come from a ``PageLayout``.
    """

    frames: Mapping[str, Sequence[AXNode]]
    """Maps the id of a frame to the browser's nodes in this frame."""
    owners: Mapping[int, str]
    boxes: Mapping[int, Rect]

    def root(self, frame: str) -> AccessibilityNode:
        """Return the root node of the page in a frame. It includes the pages in inner frames, but no repeated texts."""
        ax_nodes = self.frames.get(frame, ())
        by_id = {node["nodeId"]: node for node in ax_nodes}
        nodes = self._build(ax_nodes[0], by_id, frame) if ax_nodes else []
        is_page = len(nodes) == 1 and nodes[0].role == "page"
        root = nodes[0] if is_page else AccessibilityNode("page", "", 0, frame, children=nodes)
        _fold(root)
        return root

    def _build(self, first: AXNode, by_id: Mapping[str, AXNode], frame: str) -> list[AccessibilityNode]:
        """Return our node for a browser's node, or the nodes that replace it.

        A loop is used instead of recursion, since pages may be nested deeply.
        """
        result: list[AccessibilityNode] = []
        pending: list[tuple[AXNode, list[AccessibilityNode]]] = [(first, result)]
        while pending:
            ax_node, siblings = pending.pop()
            role = ax_node.get("role", {}).get("value", "")
            if role in INLINE_ROLES:
                continue
            children = siblings
            if not ax_node.get("ignored"):
                node = self._node(ax_node, role, frame)
                if not _is_replaced(node, role):
                    siblings.append(node)
                    children = node.children
                    if inner := self.owners.get(node.backend_id):
                        node.children.extend(self.root(inner).children)
                    elif node.role == "iframe":
                        node.properties["unread"] = True  # another site's frame, which runs in another process
            child_ids = reversed(ax_node.get("childIds", ()))
            pending.extend((by_id[child_id], children) for child_id in child_ids if child_id in by_id)
        return result

    def _node(self, ax_node: AXNode, role: str, frame: str) -> AccessibilityNode:
        values = {entry["name"]: entry["value"].get("value") for entry in ax_node.get("properties", ())}
        names = [name for name in PROPERTIES if name in values and _is_shown(role, name, values[name])]
        backend_id = ax_node.get("backendDOMNodeId", 0)
        value = ax_node.get("value", {}).get("value", "")
        return AccessibilityNode(
            role=ROLE_NAMES.get(role, role.lower() if role.isascii() else "generic"),
            name=one_line(str(ax_node.get("name", {}).get("value", ""))),
            backend_id=backend_id,
            frame=frame,
            value=strip_invisible(str(value)),
            link=str(values.get("url", "")) if role == "link" else "",
            properties={name: values[name] for name in names},
            box=self.boxes.get(backend_id),
        )


def _is_shown(role: str, name: str, value: JsonValue) -> bool:
    if name == "level":
        return role in ("heading", "treeitem")
    return name in SHOWN_IF_FALSE or value not in (False, "false", None, "")


def _is_replaced(node: AccessibilityNode, role: str) -> bool:
    """Return whether the node's children replace it. ``role`` is the browser's name for the node's role."""
    if node.role == "text":
        return node.name in ("", *SEPARATORS)
    if role == "ListMarker":
        return not any(map(str.isalnum, node.name))
    return role in INSIGNIFICANT_ROLES and not node.name and "focused" not in node.properties


def _fold(root: AccessibilityNode) -> None:
    """Remove repeated texts: children whose text is in their parent's name, and names that repeat child nodes."""
    for node in reversed(list(root.walk())):
        if node.role == "combobox" and any(child.role == "popup" for child in node.children):
            node.options = [inner.name for inner in node.walk() if inner.role == "option" and inner.name]
            node.children = []
        elif node.role in ATOMIC_ROLES:
            _fold_atomic(node)
        else:
            _fold_container(node)


def _fold_atomic(node: AccessibilityNode) -> None:
    """Remove all nodes inside an atomic node (one with a role in ATOMIC_ROLES), except interactive ones.

    If the atomic node has neither a name nor a value, the texts and images inside it are kept, too. A node with one of
    the COMPOSITE_ROLES keeps nothing.
    """
    if node.role in COMPOSITE_ROLES:
        node.children = []
    kept_roles = INTERACTIVE_ROLES if node.name or node.value else (*INTERACTIVE_ROLES, "text", "image")
    outermost = (inner for child in node.children for inner in child.walk(lambda node: node.role not in kept_roles))
    node.children = [inner for inner in outermost if inner.role in kept_roles]


def _fold_container(node: AccessibilityNode) -> None:
    """If a node contains only texts and its name can replace them, remove the texts.

    A name can replace a single text, or several texts that it repeats. A node without a name is named after its text.
    If a node in CONTAINER_ROLES contains anything but texts, its name is removed.
    """
    texts = [child for child in node.children if child.role == "text"]
    if node.role != "page" and node.children and len(texts) == len(node.children):
        text = one_line(" ".join(child.name for child in texts))
        if len(texts) == 1 or node.name.replace(" ", "") == text.replace(" ", ""):
            node.name, node.children = node.name or text, []
            node.box = node.box or texts[0].box
    elif node.name and node.children and node.role in CONTAINER_ROLES:
        node.name = ""
