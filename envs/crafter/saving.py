"""Copies of a game as it stands, and the way back: exact, and without walking anything again."""

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from planbook.envs.crafter.game import Game

SHARED = ("world", "random", "player")
"""What every object refers to of the game around it."""
KEPT_APART = ("inventory", "achievements")
"""The attributes that the game changes in place; all others it replaces."""


class Saved(NamedTuple):
    """Everything that what comes next depends on. Nothing in it is shared with a game that goes on."""

    steps: int
    tenths: int
    last_health: int
    unlocked: tuple[str, ...]
    daylight: float
    materials: Any
    latest: int
    objects: tuple[tuple[int, type[Any], dict[str, Any]], ...]
    """Number, class and own attributes; the player is the first."""
    chunks: tuple[tuple[Any, tuple[int, ...]], ...]
    """The regions in the order in which the game goes through them."""
    random: Any


def save(game: "Game") -> Saved:
    """A copy of a game."""
    land = game.land
    numbers = {each: land.number(each) for each in land.objects}
    return Saved(
        game.steps,
        game.tenths,
        game.last_health,
        tuple(game.unlocked),
        land.daylight,
        land.materials.copy(),
        land.latest,
        tuple((number, type(each), _own(vars(each))) for each, number in numbers.items()),
        tuple((key, tuple(sorted(map(numbers.__getitem__, there)))) for key, there in land.chunks.items()),
        land.random.get_state(legacy=False),
    )


def load(game: "Game", saved: Saved) -> None:
    """Set a game to a copy, of itself or of another."""
    land = game.land
    land.random.set_state(saved.random)
    land.materials[:] = saved.materials
    made = {number: (object.__new__(kind), own) for number, kind, own in saved.objects}
    player = next(iter(made.values()))[0]
    around = {"world": land, "random": land.random, "player": player}
    for each, own in made.values():
        vars(each).update(_own(own))
        vars(each).update((name, around[name]) for name in SHARED if name in own)
    land.put({number: each for number, (each, _) in made.items()}, saved.latest)
    land.regroup((key, [made[number][0] for number in numbers]) for key, numbers in saved.chunks)
    land.daylight = saved.daylight
    game.go_on(player, saved.steps, saved.tenths, saved.last_health, list(saved.unlocked))


def _own(attributes: dict[str, Any]) -> dict[str, Any]:
    """A copy in which nothing that the game changes in place is shared; what is around is marked, not kept."""
    own = attributes.copy()
    for name in KEPT_APART:
        if name in own:
            own[name] = own[name].copy()
    for name in SHARED:
        if name in own:
            own[name] = None
    return own
