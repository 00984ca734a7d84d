"""From a thing back to what is found in the world, and forward again: every goal that it takes, in an order that works."""

# What is found in the world, and the tool that it takes, if any.
MINED = {
    "log": None,
    "sand": None,
    "reeds": None,
    "pumpkin": None,
    "cobblestone": "wooden_pickaxe",
    "coal": "wooden_pickaxe",
    "quartz": "wooden_pickaxe",
    "iron_ore": "stone_pickaxe",
    "diamond": "iron_pickaxe",
}
KILLED = "wool mutton beef leather porkchop chicken string".split()
TREES = "oak birch acacia spruce jungle dark_oak".split()
PICKAXES = "wooden_pickaxe stone_pickaxe iron_pickaxe".split()
FARNESS = ["next to you", "near", "far"]


def plan_for(wanted, held):
    """The goals that lead from what is held to what is wanted: (verb, item, count) each; gathering is done at once."""
    goals, stock = [], dict(held)
    for item in wanted:
        take(item, wanted[item], stock, goals)
    return together(goals)


def take(item, count, stock, goals):
    """Have so many of an item and count them as used, with every goal that this takes."""
    have(item, count, stock, goals)
    stock[item] = stock[item] - count


def have(item, count, stock, goals):
    """Have so many of an item at one time; what is missing is made or gathered."""
    missing = count - stock.get(item, 0)
    if missing <= 0:
        return
    if item not in RECIPES:
        verb = "kill" if item in KILLED else "mine"
        tool = MINED.get(item)
        if tool:
            have(tool, 1, stock, goals)
        goals.append((verb, item, missing))
        stock[item] = stock.get(item, 0) + missing
        return
    verb, makes, ingredients, station = RECIPES[item]
    if station:
        have(station, 1, stock, goals)
    times = -(-missing // makes)
    for name in ingredients:
        take(name, ingredients[name] * times, stock, goals)
    goals.append((verb, item, missing))
    stock[item] = stock.get(item, 0) + makes * times


def together(goals):
    """Gather each thing once, all of it where it is needed first: the way there is the longest part."""
    totals, order = {}, []
    for verb, item, count in goals:
        if verb in ("craft", "smelt"):
            order.append((verb, item, count))
        elif item in totals:
            totals[item] = totals[item] + count
        else:
            totals[item] = count
            order.append((verb, item, 0))
    return [(verb, item, count or totals[item]) for verb, item, count in order]


def nearest_log(agent):
    """The kind of log whose tree stands nearest, as far as can be seen; a bare log where there is none in sight."""
    seen = agent.sees()
    kinds = [wood for wood in TREES if wood + "_tree" in seen]
    kinds = sorted(kinds, key=lambda wood: FARNESS.index(seen[wood + "_tree"]))
    return kinds[0] + "_log" if kinds else "log"


def pickaxe_for(agent, item):
    """The best pickaxe held, where the item takes one."""
    if not MINED.get(item):
        return None
    held = agent.inventory()
    return [name for name in PICKAXES if name in held][-1]


def reach(agent, verb, item, count):
    """Do one goal, and see that it was done."""
    if verb == "kill":
        done = agent.kill({item: count})
    elif verb == "mine":
        name = nearest_log(agent) if item == "log" else item
        done = agent.mine({name: count}, pickaxe_for(agent, item))
        if item == "log" and "You mine" not in done:
            done = agent.mine({"log": count}, None)
    else:
        makes, ingredients, station = RECIPES[item][1:]
        times = -(-count // makes)
        materials = {name: ingredients[name] * times for name in ingredients}
        make = agent.craft if verb == "craft" else agent.smelt
        done = make({item: count}, materials, station)
    assert done.startswith("You "), f"{verb} {count} {item}: {done}"


def obtain(agent, wanted):
    """Have all that is wanted, by name and count, at one time."""
    for verb, item, count in plan_for(wanted, agent.inventory()):
        reach(agent, verb, item, count)
