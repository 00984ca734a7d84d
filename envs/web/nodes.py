"""The accessibility tree of a page as the browser computes it, made into nodes that know where they are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from planbook.envs.web.places import Box
from planbook.envs.web.writing import plain, seen

AXNode = Mapping[str, Any]

TELLING = ("checked", "pressed", "expanded", "selected", "disabled", "required", "readonly", "level", "focused")
"""Properties that are told, in this order."""
STATED = ("checked", "pressed", "expanded")
"""Properties of which also the contrary is told."""
INLINE = ("InlineTextBox", "LineBreak")
TEXT = ("StaticText",)
PASSED_THROUGH = ("generic", "none", "LabelText", "LayoutTable", "LayoutTableRow", "LayoutTableCell", "Section", "form",
                  "rowgroup", "Legend", "ListMarker")  # fmt: skip
"""Roles that say nothing by themselves: their children take their place, unless they have a name or the focus."""
BETWEEN = ("|", "•", "·")
"""Texts that only stand between others."""
DRAWN = "MenuListPopup"
"""The role of the list that a select box opens: its options are told with the box."""
AROUND = ("row", "cell", "gridcell", "listitem")
"""Roles whose name is what is inside."""
ROLES: Mapping[str, str] = {"StaticText": "text", "RootWebArea": "page", "Iframe": "iframe", DRAWN: "popup"}
WHOLE = ("link", "button", "tab", "menuitem", "option", "checkbox", "radio", "switch", "treeitem", "image", "textbox",
         "searchbox", "spinbutton", "slider", "combobox", "progressbar", "meter", "menuitemcheckbox", "menuitemradio",
         "date", "inputtime", "datetime", "colorwell")  # fmt: skip
"""Roles whose name says all that their text does."""
MADE_OF_PARTS = ("date", "inputtime", "datetime", "colorwell", "spinbutton", "slider")
"""Roles of fields whose parts the browser makes: they are filled in as a whole."""
ACTED_ON = (*(role for role in WHOLE if role not in ("image", "progressbar", "meter")), "listbox")
"""Roles of what can be clicked on or filled in."""


@dataclass
class Node:
    """One node. ``box`` is in pixels of the tab's window, clipped to what can be seen; None where it has none."""

    role: str
    name: str
    backend: int
    frame: str
    value: str = ""
    link: str = ""
    options: list[str] = field(default_factory=list)
    """What a select box offers."""
    said: dict[str, JsonValue] = field(default_factory=dict)
    box: Box | None = None
    children: list["Node"] = field(default_factory=list)
    turn: int = 0
    """Which of the page's nodes with this role and name it is, counted from 0."""
    visible: bool = False

    def walk(self) -> Iterator["Node"]:
        """The node and all below it, in the order of the page."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))

    @property
    def shell(self) -> bool:
        """Whether it says no more than the one thing that is in it."""
        return (
            self.role in ("cell", "gridcell", "listitem") and not (self.name or self.said) and len(self.children) == 1
        )

    def text(self) -> str:
        """Name, or where there is none what is written inside."""
        return self.name or " ".join(filter(None, (child.text() for child in self.children)))


class Tree:
    """Nodes from the browser's lists, one list for each frame."""

    def __init__(
        self, frames: Mapping[str, Sequence[AXNode]], owners: Mapping[int, str], boxes: Mapping[int, Box]
    ) -> None:
        """``owners``: which frame is in an element, by the element's backend id."""
        self._frames, self._owners, self._boxes = frames, owners, boxes

    def root(self, frame: str) -> Node:
        """The page in a frame, with the pages of the frames in it. Nodes are counted and folded."""
        raw = self._frames.get(frame, ())
        by_id = {node["nodeId"]: node for node in raw}
        made = self._made(raw[0], by_id, frame) if raw else []
        root = made[0] if len(made) == 1 and made[0].role == "page" else Node("page", "", 0, frame, children=made)
        _fold(root)
        return root

    def _made(self, first: AXNode, by_id: Mapping[str, AXNode], frame: str) -> list[Node]:
        """The node as one, or as the nodes that take its place. Written without recursion: pages may be deep."""
        result: list[Node] = []
        pending: list[tuple[AXNode, list[Node]]] = [(first, result)]
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

    def _node(self, raw: AXNode, role: str, frame: str) -> Node:
        said = {each["name"]: each["value"].get("value") for each in raw.get("properties", ())}
        backend = raw.get("backendDOMNodeId", 0)
        value = raw.get("value", {}).get("value", "")
        return Node(
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


def _passed(node: Node, role: str) -> bool:
    """Whether only the node's children are told."""
    if node.role == "text":
        return node.name in ("", *BETWEEN)
    if role == "ListMarker":
        return not any(each.isalnum() for each in node.name)
    return role in PASSED_THROUGH and not node.name and "focused" not in node.said


def _fold(root: Node) -> None:
    """Leave out what repeats: text that a name says already, names that are only what is inside."""
    for node in reversed(list(root.walk())):
        if node.role == "combobox" and any(child.role == "popup" for child in node.children):
            node.options = [each.name for each in node.walk() if each.role == "option" and each.name]
            node.children = []
        elif node.role in WHOLE:
            _fold_whole(node)
        else:
            _fold_around(node)


def _fold_whole(node: Node) -> None:
    """Of what has a name that says all there is, only what can be acted on is left inside."""
    if node.role in MADE_OF_PARTS:
        node.children = []
    keep = ACTED_ON if node.name or node.value else (*ACTED_ON, "text", "image")
    found: list[Node] = []
    pending = list(reversed(node.children))
    while pending:
        inner = pending.pop()
        if inner.role in keep:
            found.append(inner)
        else:
            pending.extend(reversed(inner.children))
    node.children = found


def _fold_around(node: Node) -> None:
    texts = [child for child in node.children if child.role == "text"]
    if node.children and len(texts) == len(node.children):
        together = plain(" ".join(text.name for text in texts))
        if len(texts) == 1 or node.name.replace(" ", "") == together.replace(" ", ""):
            node.name, node.children = node.name or together, []
            node.box = node.box or texts[0].box
    elif node.name and node.children and node.role in AROUND:
        node.name = ""
