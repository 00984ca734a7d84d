"""The window of the map that the player sees, and its description in words."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from planbook.envs.crafter.rules import VITALS, rules

if TYPE_CHECKING:
    from planbook.envs.crafter.game import CrafterGame


WIDE, HIGH = 9, 7
EAST, SOUTH = WIDE // 2, HIGH // 2
"""The player's column and row in the window, from 0."""
STEPS = {"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)}
"""Maps a direction to steps east and steps south."""
YOU, EDGE = "you", "edge"
"""Names for the player's place, and for places beyond the map."""
NEAREST_FIRST = sorted(
    ((dx, dy) for dy in range(-SOUTH, SOUTH + 1) for dx in range(-EAST, EAST + 1) if dx or dy),
    key=lambda place: abs(place[0]) + abs(place[1]),
)
"""Every square of the window except the player's, by steps east and south."""
Rows = tuple[tuple[str, ...], ...]
"""The window, rows from north to south, each from west to east."""


class Sighting(NamedTuple):
    """Something in the window, by steps east and south of the player."""

    kind: str
    dx: int
    dy: int

    @property
    def steps(self) -> int:
        """Distance in steps; there are no diagonal ones."""
        return abs(self.dx) + abs(self.dy)

    @property
    def direction(self) -> str:
        """Direction such as ``north-west``."""
        parts = (
            ["north"] * (self.dy < 0) + ["south"] * (self.dy > 0) + ["west"] * (self.dx < 0) + ["east"] * (self.dx > 0)
        )
        return "-".join(parts)

    @property
    def short(self) -> str:
        """Steps such as ``2N 1W``."""
        parts = [f"{abs(self.dy)}{'N' if self.dy < 0 else 'S'}"] * bool(self.dy)
        return " ".join(parts + [f"{abs(self.dx)}{'W' if self.dx < 0 else 'E'}"] * bool(self.dx))


def kind_at(game: "CrafterGame", x: int, y: int) -> str:
    """Return the kind of thing at a place: a creature, plant (also ``ripe_plant``) or arrow, else the material."""
    material, thing = game.land[x, y]
    if thing is None:
        return material or EDGE
    name = type(thing).__name__.lower()
    return "ripe_plant" if name == "plant" and thing.ripe else name


def visible_rows(game: "CrafterGame") -> Rows:
    """Return the window as it is now."""
    x, y = map(int, game.player.pos)
    squares = range(x - EAST, x + EAST + 1)
    rows = [[kind_at(game, column, row) for column in squares] for row in range(y - SOUTH, y + SOUTH + 1)]
    rows[SOUTH][EAST] = YOU
    return tuple(map(tuple, rows))


def beside(rows: Rows, direction: str) -> str:
    """Return the kind of thing one step away."""
    dx, dy = STEPS[direction]
    return rows[SOUTH + dy][EAST + dx]


def find_sightings(rows: Rows, kinds: Collection[str]) -> Iterator[Sighting]:
    """Yield everything of these kinds in the window, the nearest first, then the northernmost, then the westernmost."""
    for dx, dy in NEAREST_FIRST:
        if (kind := rows[SOUTH + dy][EAST + dx]) in kinds:
            yield Sighting(kind, dx, dy)


def further(rows: Rows, direction: str) -> Counter[str]:
    """Return how often each kind occurs in the part of the window that lies in a direction."""
    parts = {"north": rows[:SOUTH], "south": rows[SOUTH + 1 :]}
    columns = slice(EAST) if direction == "west" else slice(EAST + 1, WIDE)
    return Counter(chain.from_iterable(parts.get(direction) or [row[columns] for row in rows]))


SHOWN = 2
"""Number of things of each kind that are listed."""


class PlayerView(NamedTuple):
    """Everything that the player knows at one time."""

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
        inventory={name: inventory[name] for name in rules().things if inventory[name]},
        sleeping=game.player.sleeping,
        remaining=tuple(name for name in rules().achievements if name not in game.unlocked),
    )


def description(player: PlayerView) -> str:
    """Return the player's view in words, with condition, inventory and remaining achievements."""
    faced = {player.facing: " (you face it)"}
    around = ", ".join(f"{name} {beside(player.view, name)}{faced.get(name, '')}" for name in STEPS)
    ahead = ", ".join(f"{count} {kind}" for kind, count in further(player.view, player.facing).most_common())
    return "\n".join(
        [
            f"Beside you: {around}.",
            f"In view ({WIDE} wide, {HIGH} high, you in the middle; the closest {SHOWN} of a kind):",
            *(_nearest(player.view) or ["- nothing but open ground"]),
            f"Further {player.facing}: {ahead}.",
            status(player),
            f"Remaining achievements: {', '.join(player.remaining) or 'none'}.",
        ]
    )


def status(player: PlayerView) -> str:
    """Return the player's condition and inventory."""
    vitals = ", ".join(f"{name} {value}/{rules().limits[name]}" for name, value in player.vitals.items())
    items = ", ".join(f"{count} {name}" for name, count in player.inventory.items()) or "nothing"
    return f"Vitals: {vitals}. Inventory: {items}. You are {'asleep' if player.sleeping else 'awake'}."


def changes(before: PlayerView, now: PlayerView) -> str:
    """Return the differences in one line; empty if there are none."""
    changed = [f"unlocked {name}" for name in before.remaining if name not in now.remaining]
    changed += [
        f"{name} {before.vitals[name]} -> {value}" for name, value in now.vitals.items() if value != before.vitals[name]
    ]
    for name in rules().things:
        if (old := before.inventory.get(name, 0)) != (new := now.inventory.get(name, 0)):
            changed.append(f"{name} {old} -> {new}")
    if before.sleeping != now.sleeping:
        changed.append("you fell asleep" if now.sleeping else "you woke up")
    seen, gone = _kinds(now.view) - _kinds(before.view), _kinds(before.view) - _kinds(now.view)
    changed += [f"now in view: {', '.join(sorted(seen))}"] * bool(seen)
    changed += [f"out of view: {', '.join(sorted(gone))}"] * bool(gone)
    return "; ".join(changed)


def _nearest(rows: Rows) -> Sequence[str]:
    """Return one line for each kind of thing in view, with the closest ones; open ground is left out."""
    places_by_kind: dict[str, list[str]] = {}
    for sighting in find_sightings(rows, _kinds(rows)):
        if len(places := places_by_kind.setdefault(sighting.kind, [])) < SHOWN:
            places.append(f"{sighting.steps} step{'s' * (sighting.steps > 1)} {sighting.direction} ({sighting.short})")
    return [f"- {kind}: {'; '.join(places)}" for kind, places in places_by_kind.items()]


def _kinds(rows: Rows) -> set[str]:
    return set().union(*rows) - {YOU, EDGE, *rules().walkable}
