"""How a moment of the game is told, and what changed between two of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from planbook.envs.crafter.package import VITALS, rules
from planbook.envs.crafter.sight import EDGE, HIGH, STEPS, WIDE, YOU, Rows, beside, found_in, further, look

if TYPE_CHECKING:
    from planbook.envs.crafter.game import Game

SHOWN = 2
"""How many of each kind are listed."""


class Moment(NamedTuple):
    """All that the player knows at one time."""

    step: int
    view: Rows
    facing: str
    vitals: Mapping[str, int]
    inventory: Mapping[str, int]
    sleeping: bool
    remaining: tuple[str, ...]


def moment_of(game: "Game") -> Moment:
    """What the player knows now."""
    held, facing = game.player.inventory, tuple(map(int, game.player.facing))
    return Moment(
        step=game.steps,
        view=look(game),
        facing=next(name for name, step in STEPS.items() if step == facing),
        vitals={name: held[name] for name in VITALS},
        inventory={name: held[name] for name in rules().things if held[name]},
        sleeping=game.player.sleeping,
        remaining=tuple(name for name in rules().achievements if name not in game.unlocked),
    )


def description(moment: Moment) -> str:
    """Everything that is to be seen."""
    faced = {moment.facing: " (you face it)"}
    around = ", ".join(f"{name} {beside(moment.view, name)}{faced.get(name, '')}" for name in STEPS)
    ahead = ", ".join(f"{count} {kind}" for kind, count in further(moment.view, moment.facing).most_common())
    return "\n".join(
        [
            f"Beside you: {around}.",
            f"In view ({WIDE} wide, {HIGH} high, you in the middle; the closest {SHOWN} of a kind):",
            *(_nearest(moment.view) or ["- nothing but open ground"]),
            f"Further {moment.facing}: {ahead}.",
            status(moment),
            f"Remaining achievements: {', '.join(moment.remaining) or 'none'}.",
        ]
    )


def status(moment: Moment) -> str:
    """How the player is, and what it has."""
    vitals = ", ".join(f"{name} {value}/{rules().most[name]}" for name, value in moment.vitals.items())
    held = ", ".join(f"{count} {name}" for name, count in moment.inventory.items()) or "nothing"
    return f"Vitals: {vitals}. Inventory: {held}. You are {'asleep' if moment.sleeping else 'awake'}."


def changes(before: Moment, now: Moment) -> str:
    """What is different, in a line; empty if nothing is."""
    told = [f"unlocked {name}" for name in before.remaining if name not in now.remaining]
    told += [
        f"{name} {before.vitals[name]} -> {value}" for name, value in now.vitals.items() if value != before.vitals[name]
    ]
    for name in rules().things:
        if (had := before.inventory.get(name, 0)) != (has := now.inventory.get(name, 0)):
            told.append(f"{name} {had} -> {has}")
    if before.sleeping != now.sleeping:
        told.append("you fell asleep" if now.sleeping else "you woke up")
    seen, gone = _kinds(now.view) - _kinds(before.view), _kinds(before.view) - _kinds(now.view)
    told += [f"now in view: {', '.join(sorted(seen))}"] * bool(seen)
    told += [f"out of view: {', '.join(sorted(gone))}"] * bool(gone)
    return "; ".join(told)


def _nearest(rows: Rows) -> Sequence[str]:
    """The closest of each kind, a line a kind; open ground is no kind of thing."""
    listed: dict[str, list[str]] = {}
    for each in found_in(rows, _kinds(rows)):
        if len(places := listed.setdefault(each.kind, [])) < SHOWN:
            places.append(f"{each.steps} step{'s' * (each.steps > 1)} {each.direction} ({each.short})")
    return [f"- {kind}: {'; '.join(places)}" for kind, places in listed.items()]


def _kinds(rows: Rows) -> set[str]:
    return set().union(*rows) - {YOU, EDGE, *rules().walkable}
