"""The rules of the original ``crafter`` package: its tables, the player's actions, and why actions would fail.

The tables show in advance whether an action would fail. The reason names the missing materials, but not how many are
missing, since the player has to find that out.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from planbook.envs.requirements import RequiredPackage

if TYPE_CHECKING:
    from planbook.envs.crafter.game import CrafterGame


PACKAGE = RequiredPackage("crafter", "crafter")
VITALS = ("health", "food", "drink", "energy")
"""The items of the game that describe the player's condition. They cannot be carried."""


def tables() -> Any:
    """Return the module with the game's tables. It is imported only here, since the import takes half a second."""
    from crafter import constants

    return constants


def max_count(item: str) -> int:
    """Return the maximum count of an item. Vitals are items, too."""
    return int(tables().items[item]["max"])


def portable_items() -> list[str]:
    """Return the items that can be carried, in the game's order."""
    return [item for item in tables().items if item not in VITALS]


Direction = Literal["north", "south", "east", "west"]
Placeable = Literal["stone", "table", "furnace", "plant"]
Tool = Literal["wood_pickaxe", "stone_pickaxe", "iron_pickaxe", "wood_sword", "stone_sword", "iron_sword"]
STEPS = {"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)}
"""Maps a direction to the offset (east, south) of one step in this direction."""
MOVES = {"north": "up", "south": "down", "east": "right", "west": "left"}
"""Maps our name of a direction to the game's name."""
EDGE = "edge"
"""The name of squares beyond the edge of the map."""
CREATURES = ("cow", "zombie", "skeleton")
SENTENCES = {"collect_drink": "You drink", "eat_cow": "You eat the cow", "eat_plant": "You eat the plant's fruit"}
"""Maps an achievement to the sentence that reports it, if this sentence cannot be made from the achievement's name."""


class CrafterAction(NamedTuple):
    """An action of the environment: its name, and its argument if it has one."""

    verb: str
    thing: str = ""

    @property
    def game_name(self) -> str:
        """The game's name for the action."""
        thing = MOVES.get(self.thing, "") if self.verb == "move" else self.thing
        return f"{self.verb}_{thing}" if thing else self.verb


def refusal(game: "CrafterGame", action: CrafterAction) -> str:
    """Return the reason why an action would fail now, or "" if it would succeed.

    If the player cannot carry more of a material, collecting it counts as a failure here, although the game removes the
    material from the map and counts the achievement once more.
    """
    fast_asleep = game.player.sleeping and game.player.inventory["energy"] < max_count("energy")
    if fast_asleep and action.verb not in ("sleep", "noop"):
        return "you are asleep, and sleep on"
    checks = {"move": _check_move, "do": _check_do, "sleep": _check_sleep, "place": _check_place, "make": _check_make}
    return checks[action.verb](game, action.thing) if action.verb in checks else ""


def describe_outcome(game: "CrafterGame", action: CrafterAction, target: str, before: Mapping[str, int]) -> str:
    """Return a sentence, without a full stop, that says what an action did.

    ``target`` is the kind of thing that the player faced. ``before`` maps each achievement to its count before the
    action. If the action collected nothing, return "": some materials yield items only by chance.
    """
    for name, count in game.player.achievements.items():
        if count > before[name] and name != "wake_up":
            verb, _, thing = name.partition("_")
            return SENTENCES.get(name) or f"You {verb} {'the ' if verb == 'defeat' else ''}{thing}"
    if action.verb == "do":
        return "" if target in tables().collect else f"You hit the {target}"
    return {"move": f"You move {action.thing}", "sleep": "You sleep", "noop": "You wait"}[action.verb]


def kind_at(game: "CrafterGame", x: int, y: int) -> str:
    """Return the kind of thing on a square.

    This is the creature, plant (``ripe_plant`` if it can be eaten) or arrow on the square or, if there is none, the
    material of the square.
    """
    material, thing = game.land[x, y]
    if thing is None:
        return material or EDGE
    name = type(thing).__name__.lower()
    return "ripe_plant" if name == "plant" and thing.ripe else name


def faced_kind(game: "CrafterGame") -> str:
    """Return the kind of thing that the player faces."""
    (x, y), (dx, dy) = map(int, game.player.pos), game.player.facing
    return kind_at(game, x + dx, y + dy)


def _check_move(game: "CrafterGame", direction: str) -> str:
    (x, y), (dx, dy) = map(int, game.player.pos), STEPS[direction]
    target = x + dx, y + dy
    if game.player.is_free(target):
        return ""
    return f"{kind_at(game, *target)} is in the way; you now face {direction}"


def _check_do(game: "CrafterGame", _: str) -> str:
    kind, held = faced_kind(game), game.player.inventory
    if kind in CREATURES or kind == "ripe_plant":
        return ""
    if kind == "plant":
        return "the plant is not ripe"
    recipe = tables().collect.get(kind)
    if recipe is None:
        return f"there is nothing to be done with {kind}"
    if _missing(game, recipe["require"]):
        return f"you have no tool for {kind}"
    full = [name for name in recipe["receive"] if name in portable_items() and held[name] >= max_count(name)]
    return f"you cannot carry more {' and '.join(full)}" if full else ""


def _check_sleep(game: "CrafterGame", _: str) -> str:
    return "" if game.player.inventory["energy"] < max_count("energy") else "you are not tired"


def _check_place(game: "CrafterGame", thing: str) -> str:
    recipe, kind = tables().place[thing], faced_kind(game)
    if kind not in recipe["where"]:
        return f"{thing} cannot be placed on {kind}" if kind != EDGE else "the world ends there"
    return _shortage(game, recipe["uses"])


def _check_make(game: "CrafterGame", tool: str) -> str:
    recipe, near = tables().make[tool], game.land.nearby(game.player.pos, 1)[0]
    if absent := [station for station in recipe["nearby"] if station not in near]:
        return f"there is no {' and no '.join(absent)} right beside you"
    return _shortage(game, recipe["uses"])


def _shortage(game: "CrafterGame", uses: Mapping[str, int]) -> str:
    missing = _missing(game, uses)
    return f"you do not have enough {' and '.join(missing)}" if missing else ""


def _missing(game: "CrafterGame", needs: Mapping[str, int]) -> list[str]:
    return [name for name, count in needs.items() if game.player.inventory[name] < count]
