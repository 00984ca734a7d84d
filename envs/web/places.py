"""Where the nodes of a page are, out of the browser's snapshot of its layout."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Snapshot = Mapping[str, Any]

STYLES = ("overflow-x", "overflow-y", "position")
FREE = "fixed"
"""The position of what no part around it clips."""


class Box(NamedTuple):
    """Edges in pixels; right and bottom lie outside."""

    left: float
    top: float
    right: float
    bottom: float

    def within(self, other: "Box") -> "Box":
        """The part of it that lies in the other."""
        return Box(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )

    def moved(self, x: float, y: float) -> "Box":
        """The box, so far to the right and down."""
        return Box(self.left + x, self.top + y, self.right + x, self.bottom + y)

    @property
    def empty(self) -> bool:
        """Whether nothing of it is left."""
        return self.right <= self.left or self.bottom <= self.top


ENDLESS = Box(float("-inf"), float("-inf"), float("inf"), float("inf"))


class Places:
    """Boxes by backend id, in the tab's window, and which frame is in which element."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.boxes: dict[int, Box] = {}
        self.owners: dict[int, str] = {}
        self.frames: list[str] = []
        self._strings: Sequence[str] = snapshot["strings"]
        self._documents: Sequence[Mapping[str, Any]] = snapshot["documents"]
        pending = [(0, 0.0, 0.0, ENDLESS)] if self._documents else []
        while pending:
            pending.extend(self._document(*pending.pop()))

    def _document(self, number: int, x: float, y: float, clip: Box) -> list[tuple[int, float, float, Box]]:
        """Place one document, whose upper left corner is at (x, y); returns the documents in its frames."""
        document = self._documents[number]
        nodes, layout = document["nodes"], document["layout"]
        self.frames.append(self._strings[document["frameId"]])
        x, y = x - document.get("scrollOffsetX", 0), y - document.get("scrollOffsetY", 0)
        backends, parents = nodes["backendNodeId"], nodes["parentIndex"]
        inner = dict(zip(nodes["contentDocumentIndex"]["index"], nodes["contentDocumentIndex"]["value"], strict=True))
        clips: dict[int, Box] = {}
        found = []
        for index, bounds, styles in zip(layout["nodeIndex"], layout["bounds"], layout["styles"], strict=True):
            around = clip
            if self._style(styles, 2) != FREE:
                around = self._around(index, parents, clips, clip)
            box = Box(bounds[0], bounds[1], bounds[0] + bounds[2], bounds[1] + bounds[3]).moved(x, y)
            self.boxes[backends[index]] = seen = box.within(around)
            rolls = any(self._style(styles, each) not in ("visible", "") for each in (0, 1))
            root = parents[index] < 0 or parents[parents[index]] < 0 or parents[parents[parents[index]]] < 0
            clips[index] = seen if rolls and not root else around
            if index in inner:
                self.owners[backends[index]] = self._strings[self._documents[inner[index]]["frameId"]]
                found.append((inner[index], box.left, box.top, seen))
        return found

    @staticmethod
    def _around(index: int, parents: Sequence[int], clips: Mapping[int, Box], clip: Box) -> Box:
        """What clips a node: the nearest part around it that has a layout."""
        parent = parents[index]
        while parent >= 0:
            if parent in clips:
                return clips[parent]
            parent = parents[parent]
        return clip

    def _style(self, styles: Sequence[int], number: int) -> str:
        return self._strings[styles[number]] if number < len(styles) and styles[number] >= 0 else ""
