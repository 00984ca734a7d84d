"""What stands on the table: things that the arm moves, and places that stay where they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

COLOURS = ("blue", "gray", "green", "orange", "pink", "purple", "red", "white", "yellow")
SHAPES = ("circle", "cross", "diamond", "flower", "heart", "hexagon", "moon", "pentagon", "star", "triangle")
SIZES = ("", "small", "medium", "large")
"""The word for a size, by its number."""

MOVABLE = ("block", "shape", "ring")
PLACES = ("spot", "bowl", "hole", "box", "peg", "base")
TAKES: Mapping[str, tuple[str, ...]] = {
    "spot": ("block", "shape"),
    "bowl": ("block",),
    "hole": ("shape",),
    "box": ("block", "shape"),
    "peg": ("ring",),
    "base": ("block",),
    "block": ("block", "shape"),
    "shape": ("block", "shape"),
    "ring": ("ring",),
}
"""Kind of support to the kinds of things that it takes."""
CONTAINERS = ("bowl", "hole", "box")
"""What lies in one of these carries nothing."""
JOINED = " and "
"""Between the names of the two blocks that carry a third."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing or a place. Only what counts for its kind is set.

    ``size`` is 1 to 3; ``room`` how much of size a box takes; ``x`` and ``y`` where a place is, in widths of a block.
    """

    name: str
    kind: str
    colour: str = ""
    shape: str = ""
    size: int = 1
    room: int = 1
    x: float = 0.0
    y: float = 0.0

    @property
    def told(self) -> str:
        """The name, with what cannot be seen from it and yet counts."""
        if self.kind == "box":
            return f"{self.name} (room for {self.room})"
        return f"{self.name} ({SIZES[self.size]})" if self.kind in ("ring", "shape") else self.name


def block(colour: str) -> Thing:
    """A block; all are of one size."""
    return Thing(f"{colour}_block", "block", colour)


def shape(colour: str, form: str, size: int = 1) -> Thing:
    """A flat thing such as a star; a large one takes room for three."""
    return Thing(f"{colour}_{form}", "shape", colour, form, size)


def ring(colour: str, size: int) -> Thing:
    """A ring for a peg."""
    return Thing(f"{colour}_ring", "ring", colour, size=size)


def row(kind: str, names: Iterable[str], colours: Iterable[str] = (), room: int = 1, gap: float = 2.0) -> list[Thing]:
    """Places side by side at the back of the table; what a name says first is the colour, or a hole's shape."""
    places = []
    for number, name in enumerate(names):
        first = name.split("_")[0]
        form, colour = (first, "") if kind == "hole" else ("", first)
        places.append(Thing(name, kind, colour, form, room=room, x=gap * number))
    return places


def spots() -> list[Thing]:
    """The twelve spots of the table, too far apart for a block to lie across two of them."""
    return [Thing(f"spot_{n + 1}", "spot", x=2.0 * (n % 4), y=2.0 + 2.0 * (n // 4)) for n in range(12)]
