"""What the player sees: a window of the map with the player in the middle, and what can be read off it."""

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from planbook.envs.crafter.game import Game

WIDE, HIGH = 9, 7
EAST, SOUTH = WIDE // 2, HIGH // 2
"""The player's own column and row in the window, from 0."""
STEPS = {"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)}
"""Each direction as steps east and steps south."""
YOU, EDGE = "you", "edge"
"""Where the player is, and what lies beyond the world."""
NEAREST_FIRST = sorted(
    ((dx, dy) for dy in range(-SOUTH, SOUTH + 1) for dx in range(-EAST, EAST + 1) if dx or dy),
    key=lambda place: abs(place[0]) + abs(place[1]),
)
"""Every square of the window but the player's own, by steps east and south."""
Rows = tuple[tuple[str, ...], ...]
"""The window, rows from north to south, each from west to east."""


class Found(NamedTuple):
    """Something in the window, by steps east and south of the player."""

    kind: str
    dx: int
    dy: int

    @property
    def steps(self) -> int:
        """How many steps away; there are no diagonal ones."""
        return abs(self.dx) + abs(self.dy)

    @property
    def direction(self) -> str:
        """As in ``north-west``."""
        parts = (
            ["north"] * (self.dy < 0) + ["south"] * (self.dy > 0) + ["west"] * (self.dx < 0) + ["east"] * (self.dx > 0)
        )
        return "-".join(parts)

    @property
    def short(self) -> str:
        """As in ``2N 1W``."""
        parts = [f"{abs(self.dy)}{'N' if self.dy < 0 else 'S'}"] * bool(self.dy)
        return " ".join(parts + [f"{abs(self.dx)}{'W' if self.dx < 0 else 'E'}"] * bool(self.dx))


def kind_of(thing: Any) -> str:
    """What a creature, plant or arrow is called; whether a plant is ripe can be seen."""
    name = type(thing).__name__.lower()
    return "ripe_plant" if name == "plant" and thing.ripe else name


def kind_at(game: "Game", x: int, y: int) -> str:
    """What is at a place: a creature, plant or arrow, or else the material."""
    material, thing = game.land[x, y]
    return kind_of(thing) if thing is not None else material or EDGE


def look(game: "Game") -> Rows:
    """The window as it is now."""
    x, y = map(int, game.player.pos)
    west, north = x - EAST, y - SOUTH
    rows = [[EDGE] * WIDE for _ in range(HIGH)]
    names = game.land.names
    left, top = max(west, 0), max(north, 0)
    for column, numbers in enumerate(
        game.land.materials[left : x + EAST + 1, top : y + SOUTH + 1].tolist(), left - west
    ):
        for row, number in enumerate(numbers, top - north):
            rows[row][column] = names[number]
    for thing in game.land.objects:
        column, row = int(thing.pos[0]) - west, int(thing.pos[1]) - north
        if 0 <= column < WIDE and 0 <= row < HIGH:
            rows[row][column] = kind_of(thing)
    rows[SOUTH][EAST] = YOU
    return tuple(map(tuple, rows))


def beside(rows: Rows, direction: str) -> str:
    """What is one step away."""
    dx, dy = STEPS[direction]
    return rows[SOUTH + dy][EAST + dx]


def found_in(rows: Rows, kinds: Collection[str]) -> Iterator[Found]:
    """Everything of these kinds in the window, the nearest first; of equal ones the more northern, the more western."""
    for dx, dy in NEAREST_FIRST:
        if (kind := rows[SOUTH + dy][EAST + dx]) in kinds:
            yield Found(kind, dx, dy)


def further(rows: Rows, direction: str) -> Counter[str]:
    """How many of each kind there are in the part of the window that lies in a direction."""
    parts = {"north": rows[:SOUTH], "south": rows[SOUTH + 1 :]}
    columns = slice(EAST) if direction == "west" else slice(EAST + 1, WIDE)
    return Counter(chain.from_iterable(parts.get(direction) or [row[columns] for row in rows]))
