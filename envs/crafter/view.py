"""The player's view: the part of the map around the player (the window), and its description in words."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from planbook.envs.crafter.rules import EDGE, STEPS, VITALS, kind_at, max_count, portable_items, tables

if TYPE_CHECKING:
    from planbook.envs.crafter.game import CrafterGame


WIDTH, HEIGHT = 9, 7
COLUMN, ROW = WIDTH // 2, HEIGHT // 2
"""The player's column and row in the window, counted from 0."""
YOU = "you"
"""The name of the square on which the player is."""
NEAREST_FIRST = sorted(
    ((dx, dy) for dy in range(-ROW, ROW + 1) for dx in range(-COLUMN, COLUMN + 1) if dx or dy),
    key=lambda offset: abs(offset[0]) + abs(offset[1]),
)
"""The offsets (east, south) from the player to all other squares of the window, sorted by distance."""
Rows = tuple[tuple[str, ...], ...]
"""The kinds of things in the window: the rows from north to south, and in each row the squares from west to east."""


class Sighting(NamedTuple):
    """A thing in the window. It is ``dx`` steps east and ``dy`` steps south of the player."""

    kind: str
    dx: int
    dy: int

    @property
    def steps(self) -> int:
        """The distance in steps. There are no diagonal steps."""
        return abs(self.dx) + abs(self.dy)

    @property
    def direction(self) -> str:
        """The direction from the player to the thing, such as ``north-west``."""
        parts = (
            ["north"] * (self.dy < 0) + ["south"] * (self.dy > 0) + ["west"] * (self.dx < 0) + ["east"] * (self.dx > 0)
        )
        return "-".join(parts)

    @property
    def offset(self) -> str:
        """The steps from the player to the thing, as a string such as ``2N 1W``."""
        parts = [f"{abs(self.dy)}{'N' if self.dy < 0 else 'S'}"] * bool(self.dy)
        return " ".join(parts + [f"{abs(self.dx)}{'W' if self.dx < 0 else 'E'}"] * bool(self.dx))


def visible_rows(game: "CrafterGame") -> Rows:
    """Return the kinds of things that are in the window now."""
    x, y = map(int, game.player.pos)
    squares = range(x - COLUMN, x + COLUMN + 1)
    rows = [[kind_at(game, column, row) for column in squares] for row in range(y - ROW, y + ROW + 1)]
    rows[ROW][COLUMN] = YOU
    return tuple(map(tuple, rows))


def kind_beside(rows: Rows, direction: str) -> str:
    """Return the kind of thing on the square next to the player in a direction."""
    dx, dy = STEPS[direction]
    return rows[ROW + dy][COLUMN + dx]


def find_sightings(rows: Rows, kinds: Collection[str]) -> Iterator[Sighting]:
    """Yield all things of these kinds in the window, the nearest first.

    Things at the same distance are sorted from north to south, then from west to east.
    """
    for dx, dy in NEAREST_FIRST:
        if (kind := rows[ROW + dy][COLUMN + dx]) in kinds:
            yield Sighting(kind, dx, dy)


def count_kinds_ahead(rows: Rows, direction: str) -> Counter[str]:
    """Return how often each kind occurs in the half of the window that lies in this direction from the player."""
    parts = {"north": rows[:ROW], "south": rows[ROW + 1 :]}
    columns = slice(COLUMN) if direction == "west" else slice(COLUMN + 1, WIDTH)
    return Counter(chain.from_iterable(parts.get(direction) or [row[columns] for row in rows]))


MAX_LISTED = 2
"""Maximum number of things of the same kind that a description lists."""


class PlayerView(NamedTuple):
    """Everything that the player sees and knows at one moment."""

    step: int
    view: Rows
    facing: str
    vitals: Mapping[str, int]
    inventory: Mapping[str, int]
    sleeping: bool
    remaining: tuple[str, ...]


def player_view(game: "CrafterGame") -> PlayerView:
    """Return the player's current view."""
    inventory, facing = game.player.inventory, tuple(map(int, game.player.facing))
    return PlayerView(
        step=game.steps,
        view=visible_rows(game),
        facing=next(name for name, step in STEPS.items() if step == facing),
        vitals={name: inventory[name] for name in VITALS},
        inventory={name: inventory[name] for name in portable_items() if inventory[name]},
        sleeping=game.player.sleeping,
        remaining=tuple(name for name in tables().achievements if name not in game.unlocked),
    )


def describe_view(player: PlayerView) -> str:
    """Describe what the player sees, followed by the player's condition, inventory and remaining achievements."""
    faced = {player.facing: " (you face it)"}
    around = ", ".join(f"{name} {kind_beside(player.view, name)}{faced.get(name, '')}" for name in STEPS)
    ahead = ", ".join(f"{count} {kind}" for kind, count in count_kinds_ahead(player.view, player.facing).most_common())
    return "\n".join(
        [
            f"Beside you: {around}.",
            f"In view ({WIDTH} wide, {HEIGHT} high, you in the middle; the closest {MAX_LISTED} of a kind):",
            *(_lines_of_nearest(player.view) or ["- nothing but open ground"]),
            f"Further {player.facing}: {ahead}.",
            describe_status(player),
            f"Remaining achievements: {', '.join(player.remaining) or 'none'}.",
        ]
    )


def describe_status(player: PlayerView) -> str:
    """Describe the player's condition and inventory."""
    vitals = ", ".join(f"{name} {value}/{max_count(name)}" for name, value in player.vitals.items())
    items = ", ".join(f"{count} {name}" for name, count in player.inventory.items()) or "nothing"
    return f"Vitals: {vitals}. Inventory: {items}. You are {'asleep' if player.sleeping else 'awake'}."


def describe_changes(before: PlayerView, after: PlayerView) -> str:
    """Return a line that lists all changes, or "" if nothing has changed."""
    changed = [f"unlocked {name}" for name in before.remaining if name not in after.remaining]
    changed += [
        f"{name} {before.vitals[name]} -> {new}" for name, new in after.vitals.items() if new != before.vitals[name]
    ]
    for name in portable_items():
        if (old := before.inventory.get(name, 0)) != (new := after.inventory.get(name, 0)):
            changed.append(f"{name} {old} -> {new}")
    if before.sleeping != after.sleeping:
        changed.append("you fell asleep" if after.sleeping else "you woke up")
    kinds_before, kinds_after = _notable_kinds(before.view), _notable_kinds(after.view)
    appeared, vanished = kinds_after - kinds_before, kinds_before - kinds_after
    changed += [f"now in view: {', '.join(sorted(appeared))}"] * bool(appeared)
    changed += [f"out of view: {', '.join(sorted(vanished))}"] * bool(vanished)
    return "; ".join(changed)


def _lines_of_nearest(rows: Rows) -> Sequence[str]:
    """Return a line for each kind of thing in view except open ground. Each line lists the nearest things."""
    places_by_kind: dict[str, list[str]] = {}
    for sighting in find_sightings(rows, _notable_kinds(rows)):
        if len(places := places_by_kind.setdefault(sighting.kind, [])) < MAX_LISTED:
            places.append(f"{sighting.steps} step{'s' * (sighting.steps > 1)} {sighting.direction} ({sighting.offset})")
    return [f"- {kind}: {'; '.join(places)}" for kind, places in places_by_kind.items()]


def _notable_kinds(rows: Rows) -> set[str]:
    return set().union(*rows) - {YOU, EDGE, *tables().walkable}
