"""A procedure that crafts an item, for each depth of recipes.

world: textcraft
source: written by hand
"""

import copy
import re


def craft_item(agent, task):
    """Craft an item: plan backwards from it, get the raw materials, then craft in order.

    type: depth_2 - Craft an item whose recipes go 2 deep: plan backwards from it, get the raw materials, then craft in order.
    type: depth_3 - Craft an item whose recipes go 3 deep: plan backwards from it, get the raw materials, then craft in order.
    type: depth_4 - Craft an item whose recipes go 4 deep: plan backwards from it, get the raw materials, then craft in order.
    """
    craft_target(agent, task)


# Words in commands that stand for any item of a kind: "planks" for "oak planks", "wool" for "red wool". Each maps to the
# items that are not accepted although their names end with the word: the other wools are dyed from white wool.
KINDS = {"planks": [], "wool": ["white wool"]}


def counted(text):
    """Split "4 oak planks" into (4, "oak planks")."""
    count, name = text.strip().split(" ", 1)
    return (int(count), name)


def commands_in(observation):
    """Return the crafting commands in the first observation: the product, its count, and the ingredients of each."""
    commands = []
    for made, needs in re.findall(r"^craft (.+) using (.+)$", observation, re.MULTILINE):
        count, item = counted(made)
        commands.append({"item": item, "count": count, "needs": [counted(need) for need in needs.split(",")]})
    return commands


def ways_to(commands, name):
    """Return the commands that make an item, or any item of a kind."""
    if name in KINDS:
        of_kind = [command for command in commands if command["item"].endswith(" " + name)]
        return [command for command in of_kind if command["item"] not in KINDS[name]]
    return [command for command in commands if command["item"] == name]


def actions_of(plan):
    """Return the number of actions in a plan."""
    return len(plan["gets"]) + len(plan["crafts"])


def with_item(commands, plan, name, count, above):
    """Extend a plan by the shortest way found to obtain an item; return the longer plan and the item's full name.

    `plan` holds the items carried after it (`stock`), the items to get (`gets`) and the crafting commands in order
    (`crafts`). `above` lists the items that this one is an ingredient of, since no item is made from itself. Return
    None if there is no way.
    """
    ways = [way for way in ways_to(commands, name) if way["item"] not in above]
    if not ways:
        return None if ways_to(commands, name) else (got(plan, name, count), name)
    found = []
    for way in ways:
        longer = crafted(commands, plan, way, count, above)
        if longer:
            found.append((longer, way["item"]))
    return min(found, key=lambda each: actions_of(each[0])) if found else None


def got(plan, name, count):
    """Extend a plan to get the missing pieces of an item; return the longer plan."""
    missing = count - plan["stock"].get(name, 0)
    if missing <= 0:
        return plan
    plan = copy.deepcopy(plan)
    plan["gets"][name] = plan["gets"].get(name, 0) + missing
    plan["stock"][name] = count
    return plan


def crafted(commands, plan, way, count, above):
    """Repeat a command until there are ``count`` of its item. Return the longer plan, or None if an ingredient is missing."""
    item = way["item"]
    missing = count - plan["stock"].get(item, 0)
    times = -(-missing // way["count"])
    if times <= 0:
        return plan
    plan, using = copy.deepcopy(plan), []
    for number, name in way["needs"]:
        longer = with_item(commands, plan, name, number * times, above + [item])
        if longer is None:
            return None
        plan, own_name = longer
        # Reserve it now, so that the next ingredient is not made from it.
        plan = copy.deepcopy(plan)
        plan["stock"][own_name] = plan["stock"][own_name] - number * times
        using.append(f"{number} {own_name}")
    plan["stock"][item] = plan["stock"].get(item, 0) + way["count"] * times
    plan["crafts"] = plan["crafts"] + [(f"{way['count']} {item}", ", ".join(using))] * times
    return plan


def done(observation):
    """Stop with the reason if an action was refused."""
    assert "Nothing happens" not in observation, observation


def craft_target(agent, task):
    """Craft the item that the task names."""
    # [Step 1] Read the commands and plan backwards from the target. One piece is enough.
    commands, empty = commands_in(task.observation), {"stock": {}, "gets": {}, "crafts": []}
    found = with_item(commands, empty, task.params["target"], 1, [])
    assert found, f"The commands do not lead to {task.params['target']}."
    plan = found[0]
    # [Step 2] Get the raw materials, with one action for each item.
    for name, count in plan["gets"].items():
        done(agent.get(f"{count} {name}"))
    # [Step 3] Craft the ingredients first, then what is made from them.
    for item, using in plan["crafts"]:
        done(agent.craft(item, using))
