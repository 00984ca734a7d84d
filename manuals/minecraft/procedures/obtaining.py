"""Procedures that obtain items: plan backwards from the wanted items, then gather and craft.

world: minecraft
source: written by hand
"""


def obtain_item(agent, task):
    """Obtain one item.

    type: MT1_basic - Obtain a wooden item: gather the logs that it needs, and craft it.
    type: MT2_tool_simple - Obtain a simple tool: gather wood first, then stone if the tool is made of it.
    type: MT3_hunt_and_food - Obtain what animals drop, cooked or crafted into something if the goal asks for it.
    type: MT4_dig_down - Obtain an item of stone or coal, which needs a pickaxe.
    type: MT6_tool_complex - Obtain an iron tool.
    type: MT7_iron_stage - Obtain an iron item.
    type: MT8_challenge - Obtain a diamond.
    """
    obtain(agent, {task.params["object"]: task.params["count"]})


def obtain_and_equip(agent, task):
    """Craft a piece of equipment and put it on.

    type: MT5_equipment
    """
    obtain(agent, {task.params["object"]: task.params["count"]})
    agent.equip(task.params["object"])


def obtain_in_any_order(agent, task):
    """Obtain items whose order does not matter, always the nearest visible one next.

    type: parallel_2 - Obtain two items whose order does not matter, always the nearest visible one next.
    type: parallel_3 - Obtain three items whose order does not matter, always the nearest visible one next.
    type: parallel_4 - Obtain four items whose order does not matter, always the nearest visible one next.
    """
    obtain_all(agent, task.params["goals"])


RECIPES = {
    "armor_stand": ("craft", 1, {"stick": 6, "stone_slab": 1}, "crafting_table"),
    "bed": ("craft", 1, {"wool": 3, "planks": 3}, "crafting_table"),
    "boat": ("craft", 1, {"planks": 5}, "crafting_table"),
    "bowl": ("craft", 4, {"planks": 3}, "crafting_table"),
    "bucket": ("craft", 1, {"iron_ingot": 3}, "crafting_table"),
    "carpet": ("craft", 3, {"wool": 2}, None),
    "cauldron": ("craft", 1, {"iron_ingot": 7}, "crafting_table"),
    "chest": ("craft", 1, {"planks": 8}, "crafting_table"),
    "chest_minecart": ("craft", 1, {"chest": 1, "minecart": 1}, None),
    "cobblestone_wall": ("craft", 6, {"cobblestone": 6}, "crafting_table"),
    "cooked_beef": ("smelt", 1, {"beef": 1}, "furnace"),
    "cooked_mutton": ("smelt", 1, {"mutton": 1}, "furnace"),
    "cooked_porkchop": ("smelt", 1, {"porkchop": 1}, "furnace"),
    "crafting_table": ("craft", 1, {"planks": 4}, None),
    "fence": ("craft", 3, {"planks": 4, "stick": 2}, "crafting_table"),
    "fence_gate": ("craft", 1, {"stick": 4, "planks": 2}, "crafting_table"),
    "furnace": ("craft", 1, {"cobblestone": 8}, "crafting_table"),
    "furnace_minecart": ("craft", 1, {"furnace": 1, "minecart": 1}, None),
    "heavy_weighted_pressure_plate": ("craft", 1, {"iron_ingot": 2}, None),
    "hopper": ("craft", 1, {"iron_ingot": 5, "chest": 1}, "crafting_table"),
    "hopper_minecart": ("craft", 1, {"hopper": 1, "minecart": 1}, None),
    "iron_axe": ("craft", 1, {"iron_ingot": 3, "stick": 2}, "crafting_table"),
    "iron_bars": ("craft", 16, {"iron_ingot": 6}, "crafting_table"),
    "iron_boots": ("craft", 1, {"iron_ingot": 4}, "crafting_table"),
    "iron_chestplate": ("craft", 1, {"iron_ingot": 8}, "crafting_table"),
    "iron_door": ("craft", 3, {"iron_ingot": 6}, "crafting_table"),
    "iron_helmet": ("craft", 1, {"iron_ingot": 5}, "crafting_table"),
    "iron_hoe": ("craft", 1, {"iron_ingot": 2, "stick": 2}, "crafting_table"),
    "iron_ingot": ("smelt", 1, {"iron_ore": 1}, "furnace"),
    "iron_leggings": ("craft", 1, {"iron_ingot": 7}, "crafting_table"),
    "iron_nugget": ("craft", 9, {"iron_ingot": 1}, None),
    "iron_pickaxe": ("craft", 1, {"iron_ingot": 3, "stick": 2}, "crafting_table"),
    "iron_shovel": ("craft", 1, {"iron_ingot": 1, "stick": 2}, "crafting_table"),
    "iron_sword": ("craft", 1, {"iron_ingot": 2, "stick": 1}, "crafting_table"),
    "iron_trapdoor": ("craft", 1, {"iron_ingot": 4}, None),
    "item_frame": ("craft", 1, {"stick": 8, "leather": 1}, "crafting_table"),
    "leather_boots": ("craft", 1, {"leather": 4}, "crafting_table"),
    "leather_chestplate": ("craft", 1, {"leather": 8}, "crafting_table"),
    "leather_helmet": ("craft", 1, {"leather": 5}, "crafting_table"),
    "leather_leggings": ("craft", 1, {"leather": 7}, "crafting_table"),
    "lever": ("craft", 1, {"stick": 1, "cobblestone": 1}, None),
    "minecart": ("craft", 1, {"iron_ingot": 5}, "crafting_table"),
    "oak_stairs": ("craft", 4, {"planks": 6}, "crafting_table"),
    "painting": ("craft", 1, {"stick": 8, "wool": 1}, "crafting_table"),
    "planks": ("craft", 4, {"log": 1}, None),
    "quartz_block": ("craft", 1, {"quartz": 4}, None),
    "rail": ("craft", 16, {"iron_ingot": 6, "stick": 1}, "crafting_table"),
    "shears": ("craft", 1, {"iron_ingot": 2}, None),
    "shield": ("craft", 1, {"planks": 6, "iron_ingot": 1}, "crafting_table"),
    "sign": ("craft", 3, {"planks": 6, "stick": 1}, "crafting_table"),
    "stick": ("craft", 4, {"planks": 2}, None),
    "stone": ("smelt", 1, {"cobblestone": 1}, "furnace"),
    "stone_axe": ("craft", 1, {"cobblestone": 3, "stick": 2}, "crafting_table"),
    "stone_brick_stairs": ("craft", 4, {"stonebrick": 6}, "crafting_table"),
    "stone_button": ("craft", 1, {"stone": 1}, None),
    "stone_hoe": ("craft", 1, {"cobblestone": 2, "stick": 2}, "crafting_table"),
    "stone_pickaxe": ("craft", 1, {"cobblestone": 3, "stick": 2}, "crafting_table"),
    "stone_pressure_plate": ("craft", 1, {"stone": 2}, None),
    "stone_shovel": ("craft", 1, {"cobblestone": 1, "stick": 2}, "crafting_table"),
    "stone_slab": ("craft", 6, {"cobblestone": 3}, "crafting_table"),
    "stone_stairs": ("craft", 4, {"cobblestone": 6}, "crafting_table"),
    "stone_sword": ("craft", 1, {"cobblestone": 2, "stick": 1}, "crafting_table"),
    "stonebrick": ("craft", 4, {"stone": 4}, None),
    "torch": ("craft", 4, {"coal": 1, "stick": 1}, None),
    "trapdoor": ("craft", 2, {"planks": 6}, "crafting_table"),
    "tripwire_hook": ("craft", 2, {"iron_ingot": 1, "stick": 1, "planks": 1}, "crafting_table"),
    "wooden_axe": ("craft", 1, {"planks": 3, "stick": 2}, "crafting_table"),
    "wooden_button": ("craft", 1, {"planks": 1}, None),
    "wooden_door": ("craft", 3, {"planks": 6}, "crafting_table"),
    "wooden_hoe": ("craft", 1, {"planks": 2, "stick": 2}, "crafting_table"),
    "wooden_pickaxe": ("craft", 1, {"planks": 3, "stick": 2}, "crafting_table"),
    "wooden_pressure_plate": ("craft", 1, {"planks": 2}, None),
    "wooden_shovel": ("craft", 1, {"planks": 1, "stick": 2}, "crafting_table"),
    "wooden_slab": ("craft", 6, {"planks": 3}, "crafting_table"),
    "wooden_sword": ("craft", 1, {"planks": 2, "stick": 1}, "crafting_table"),
}


# Items found in the world, with the tool that each needs, if any.
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
DISTANCES = ["next to you", "near", "far"]


def plan_for(wanted, held):
    """Return the goals (verb, item, count) that lead from the held items to the wanted ones. Gather each item only once."""
    goals, stock = [], dict(held)
    for item in wanted:
        use_up(item, wanted[item], stock, goals)
    return merge_gathering(goals)


def use_up(item, count, stock, goals):
    """Add the goals that provide ``count`` pieces of an item, and take these pieces out of the stock."""
    ensure(item, count, stock, goals)
    stock[item] = stock[item] - count


def ensure(item, count, stock, goals):
    """Add the goals that bring the stock of an item to ``count``: gather or craft what is missing."""
    missing = count - stock.get(item, 0)
    if missing <= 0:
        return
    if item not in RECIPES:
        verb = "kill" if item in KILLED else "mine"
        tool = MINED.get(item)
        if tool:
            ensure(tool, 1, stock, goals)
        goals.append((verb, item, missing))
        stock[item] = stock.get(item, 0) + missing
        return
    verb, makes, ingredients, station = RECIPES[item]
    if station:
        ensure(station, 1, stock, goals)
    times = -(-missing // makes)
    for name in ingredients:
        use_up(name, ingredients[name] * times, stock, goals)
    goals.append((verb, item, missing))
    stock[item] = stock.get(item, 0) + makes * times


def merge_gathering(goals):
    """Merge the goals that gather the same item into the first of them, since the walk there takes longest."""
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
    """Return the kind of log of the nearest visible tree, or "log" if no tree is visible."""
    seen = agent.sees()
    kinds = [wood for wood in TREES if wood + "_tree" in seen]
    kinds = sorted(kinds, key=lambda wood: DISTANCES.index(seen[wood + "_tree"]))
    return kinds[0] + "_log" if kinds else "log"


def pickaxe_for(agent, item):
    """Return the best pickaxe held, or None if the item needs no pickaxe."""
    if not MINED.get(item):
        return None
    held = agent.inventory()
    return [name for name in PICKAXES if name in held][-1]


def execute(agent, verb, item, count):
    """Execute one goal; stop if it fails."""
    if verb == "kill":
        message = agent.kill({item: count})
    elif verb == "mine":
        name = nearest_log(agent) if item == "log" else item
        message = agent.mine({name: count}, pickaxe_for(agent, item))
        if item == "log" and "You mine" not in message:
            message = agent.mine({"log": count}, None)
    else:
        makes, ingredients, station = RECIPES[item][1:]
        times = -(-count // makes)
        materials = {name: ingredients[name] * times for name in ingredients}
        make = agent.craft if verb == "craft" else agent.smelt
        message = make({item: count}, materials, station)
    assert message.startswith("You "), f"{verb} {count} {item}: {message}"


def obtain(agent, wanted):
    """Obtain all wanted items; ``wanted`` maps each name to its count."""
    for verb, item, count in plan_for(wanted, agent.inventory()):
        execute(agent, verb, item, count)


# What to look for in the world to find each item.
SEEN_AS = {
    "sand": ["sand"],
    "reeds": ["reeds"],
    "pumpkin": ["pumpkin"],
    "log": [wood + "_tree" for wood in TREES],
    "wool": ["sheep"],
    "beef": ["cow"],
    "porkchop": ["pig"],
    "chicken": ["chicken"],
    "string": ["spider"],
}


def distance_rank(seen, item):
    """Return a rank by distance. Items that are not visible, such as ores, come last."""
    return min([DISTANCES.index(seen[name]) for name in SEEN_AS.get(item, []) if name in seen] or [len(DISTANCES)])


def obtain_all(agent, goals):
    """Execute the goals, such as {"wool": 2}, always the nearest visible one next."""
    remaining = [(item, goal[item]) for goal in goals for item in goal]
    while remaining:
        seen = agent.sees()
        remaining = sorted(remaining, key=lambda goal: distance_rank(seen, goal[0]))
        item, count = remaining.pop(0)
        execute(agent, "kill" if item in KILLED else "mine", item, count)
