"""A procedure that crafts an item, for each depth of its recipes.

world: textcraft
source: written by hand
"""

import copy
import re


def craft_item(agent, task):
    """Craft an item: plan back from it on paper, get what is not crafted, then craft in order.

    type: depth_2 - Craft an item whose recipes go 2 deep: plan back from it on paper, get what is not crafted, then craft in order.
    type: depth_3 - Craft an item whose recipes go 3 deep: plan back from it on paper, get what is not crafted, then craft in order.
    type: depth_4 - Craft an item whose recipes go 4 deep: plan back from it on paper, get what is not crafted, then craft in order.
    """
    craft_target(agent, task)


# Words in commands that stand for any one item of a kind: the items are called "oak planks", "red wool". With each, the
# items that are called so and yet are not taken: white wool is what the others are dyed from.
KINDS = {"planks": [], "wool": ["white wool"]}


def counted(text):
    """"4 oak planks" as (4, "oak planks")."""
    count, name = text.strip().split(" ", 1)
    return (int(count), name)


def commands_in(observation):
    """The crafting commands that the first observation lists: what each makes, how many, and of what."""
    commands = []
    for made, needs in re.findall(r"^craft (.+) using (.+)$", observation, re.MULTILINE):
        count, item = counted(made)
        commands.append({"item": item, "count": count, "needs": [counted(need) for need in needs.split(",")]})
    return commands


def ways_to(commands, name):
    """The commands that make an item, or any item of a kind."""
    if name in KINDS:
        named_so = [command for command in commands if command["item"].endswith(" " + name)]
        return [command for command in named_so if command["item"] not in KINDS[name]]
    return [command for command in commands if command["item"] == name]


def actions_of(plan):
    """How many actions a plan takes."""
    return len(plan["gets"]) + len(plan["crafts"])


def with_item(commands, plan, name, count, above):
    """The shortest way found to have so many of an item, after a plan: the longer plan, and the item's own name.

    `plan` has what would be carried after it (`stock`), what is got (`gets`) and the crafting, in order (`crafts`).
    `above` are the items that this one is for: nothing is made of itself. None if there is no way.
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
    """The plan, with so many of an item got that enough are there."""
    missing = count - plan["stock"].get(name, 0)
    if missing <= 0:
        return plan
    plan = copy.deepcopy(plan)
    plan["gets"][name] = plan["gets"].get(name, 0) + missing
    plan["stock"][name] = count
    return plan


def crafted(commands, plan, way, count, above):
    """The plan, with a command followed until so many of its item are there. None if something for it cannot be had."""
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
        # Set it aside at once, so that the next ingredient is not made of it.
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
    # [Step 1] Read the commands and plan back from the target; more of it than one is of no use.
    commands, empty = commands_in(task.observation), {"stock": {}, "gets": {}, "crafts": []}
    found = with_item(commands, empty, task.params["target"], 1, [])
    assert found, f"The commands do not tell how {task.params['target']} is crafted."
    plan = found[0]
    # [Step 2] Get everything that is not crafted, each item once.
    for name, count in plan["gets"].items():
        done(agent.get(f"{count} {name}"))
    # [Step 3] Craft, ingredients before what they are for.
    for item, using in plan["crafts"]:
        done(agent.craft(item, using))
