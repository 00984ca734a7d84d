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


def split_count(text):
    """Split "4 oak planks" into (4, "oak planks")."""
    count, name = text.strip().split(" ", 1)
    return (int(count), name)


def commands_in(observation):
    """Return the crafting commands in the first observation: the product, its count, and the ingredients of each."""
    commands = []
    for made, needs in re.findall(r"^craft (.+) using (.+)$", observation, re.MULTILINE):
        count, item = split_count(made)
        commands.append({"item": item, "count": count, "needs": [split_count(need) for need in needs.split(",")]})
    return commands


def commands_for(commands, name):
    """Return the commands that make an item, or any item of a kind."""
    if name in KINDS:
        of_kind = [command for command in commands if command["item"].endswith(" " + name)]
        return [command for command in of_kind if command["item"] not in KINDS[name]]
    return [command for command in commands if command["item"] == name]


def actions_of(plan):
    """Return the number of actions in a plan."""
    return len(plan["gets"]) + len(plan["crafts"])


def plan_item(commands, plan, name, count, products):
    """Extend a plan by the shortest way found to obtain an item; return the extended plan and the item's full name.

    `plan` holds the items carried after it (`stock`), the items to get (`gets`) and the crafting commands in order
    (`crafts`). `products` lists the items that this one is an ingredient of, since no item is made from itself. Return
    None if there is no way.
    """
    usable = [command for command in commands_for(commands, name) if command["item"] not in products]
    if not usable:
        return None if commands_for(commands, name) else (plan_getting(plan, name, count), name)
    found = []
    for command in usable:
        extended = plan_crafting(commands, plan, command, count, products)
        if extended:
            found.append((extended, command["item"]))
    return min(found, key=lambda each: actions_of(each[0])) if found else None


def plan_getting(plan, name, count):
    """Extend a plan to get the missing pieces of an item; return the extended plan."""
    missing = count - plan["stock"].get(name, 0)
    if missing <= 0:
        return plan
    plan = copy.deepcopy(plan)
    plan["gets"][name] = plan["gets"].get(name, 0) + missing
    plan["stock"][name] = count
    return plan


def plan_crafting(commands, plan, command, count, products):
    """Repeat a command until there are ``count`` of its item. Return the extended plan, or None if an ingredient is missing."""
    item = command["item"]
    missing = count - plan["stock"].get(item, 0)
    times = -(-missing // command["count"])
    if times <= 0:
        return plan
    plan, using = copy.deepcopy(plan), []
    for number, name in command["needs"]:
        extended = plan_item(commands, plan, name, number * times, products + [item])
        if extended is None:
            return None
        plan, own_name = extended
        # Reserve it now, so that the next ingredient is not made from it.
        plan = copy.deepcopy(plan)
        plan["stock"][own_name] = plan["stock"][own_name] - number * times
        using.append(f"{number} {own_name}")
    plan["stock"][item] = plan["stock"].get(item, 0) + command["count"] * times
    plan["crafts"] = plan["crafts"] + [(f"{command['count']} {item}", ", ".join(using))] * times
    return plan


def check_done(observation):
    """Stop with the reason if an action was refused."""
    assert "Nothing happens" not in observation, observation


def craft_target(agent, task):
    """Craft the item that the task names."""
    # [Step 1] Read the commands and plan backwards from the target. One piece is enough.
    commands, empty = commands_in(task.observation), {"stock": {}, "gets": {}, "crafts": []}
    found = plan_item(commands, empty, task.params["target"], 1, [])
    assert found, f"The commands do not lead to {task.params['target']}."
    plan = found[0]
    # [Step 2] Get the raw materials, with one action for each item.
    for name, count in plan["gets"].items():
        check_done(agent.get(f"{count} {name}"))
    # [Step 3] Craft the ingredients first, then what is made from them.
    for item, using in plan["crafts"]:
        check_done(agent.craft(item, using))
