"""What becomes of the player when a goal is reached, or when time passes in vain."""

from planbook.envs.minecraft.body import Body
from planbook.envs.minecraft.deeds import Deed
from planbook.envs.minecraft.layout import Layout


def wait(layout: Layout, body: Body, ticks: int) -> None:
    """Time passes, and nothing comes of it; the agent is back where it was."""
    body.spot = body.spot._replace(tick=body.spot.tick + ticks)
    body.look(layout)


def carry_out(layout: Layout, body: Body, deed: Deed, durability: bool) -> str:
    """Let a deed happen; what else there is to tell of it."""
    spot = deed.trip.spot if deed.trip else body.spot
    body.spot = spot._replace(tick=body.spot.tick + deed.ticks)
    body.exchange(deed.losses, deed.gains)
    if deed.worn and deed.worn not in body.worn:
        body.worn = (*body.worn, deed.worn)
    if deed.trip is None:
        return ""
    for number, count in deed.trip.taken.items():
        body.gone[number] = body.gone.get(number, 0) + count
    body.look(layout)
    return f" Your {deed.tool} broke." if durability and body.wear_out(deed.tool, deed.trip.dug) else ""
