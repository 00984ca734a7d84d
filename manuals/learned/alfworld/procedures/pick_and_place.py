"""Do a task of type pick_and_place.

world: alfworld
type: pick_and_place
source: learnt from train/pick_and_place_simple-Pencil-None-Desk-310/trial_T20190909_142857_563593 by exchange/planner
"""


import re

FOOD = {"apple", "bread", "egg", "lettuce", "potato", "tomato"}
COOKWARE = {"pan", "pot", "kettle"}
# things that lie in drawers rather than in cabinets
SMALL = {
    "pen", "pencil", "keychain", "creditcard", "cd", "cellphone", "watch", "remotecontrol", "book", "newspaper",
    "fork", "spoon", "knife", "butterknife", "ladle", "spatula", "candle", "cloth", "handtowel", "soapbar", "tissuebox",
}
# kinds of receptacles that are usually open and hold things, the likeliest first; a look costs one action only
SURFACES = [
    "countertop", "diningtable", "sidetable", "desk", "coffeetable", "dresser", "shelf", "sinkbasin", "bed", "sofa",
    "armchair", "ottoman", "tvstand", "bathtubbasin", "toilet", "garbagecan",
]
# kinds that are often closed, or seldom hold anything
LATER = ["fridge", "microwave", "cabinet", "drawer", "safe", "coffeemachine", "stoveburner", "toaster"]


def get_object_with_id(observation, object_name):
    """The ids of all objects of that name in an observation; its last sentence does not count."""
    seen = observation.split(" You are at ")[0]
    for mark in ".,:;()[]'\"":
        seen = seen.replace(mark, " ")
    name = object_name.strip().lower()
    found = []
    for word in seen.split():
        kind, line, number = word.rpartition("_")
        if (kind == name or word == name) and number.isdigit() and word not in found:
            found.append(word)
    return found


def kind_of(thing):
    return thing.rpartition("_")[0]


def receptacles_of(first_observation):
    """The ids of the receptacles that the first observation lists, without those of the task sentence."""
    listed = first_observation.split("Your task is to")[0]
    found = []
    for word in re.findall(r"[a-z]+_\d+", listed.lower()):
        if word not in found:
            found.append(word)
    return found


def of_kind(receptacles, kind):
    ids = [r for r in receptacles if kind_of(r) == kind]
    return sorted(ids, key=lambda r: int(r.rpartition("_")[2]))


def in_search_order(receptacles, object_name, targets):
    """All receptacles, those where such an object is likeliest first, the targets last."""
    order = SURFACES + ["?"] + LATER  # "?" stands for kinds that are not known
    if object_name in FOOD:
        order = ["fridge"] + [kind for kind in order if kind != "fridge"]
    elif object_name in COOKWARE:
        order = ["stoveburner"] + [kind for kind in order if kind != "stoveburner"]
    elif object_name in SMALL:
        order = [kind for kind in order if kind != "drawer"]
        order.insert(order.index("?") + 1, "drawer")
    else:
        order = [kind for kind in order if kind != "cabinet"]
        order.insert(order.index("?") + 1, "cabinet")

    def rank(receptacle):
        kind, number = kind_of(receptacle), int(receptacle.rpartition("_")[2])
        return (receptacle in targets, order.index(kind if kind in order else "?"), number)

    return sorted(receptacles, key=rank)


def be_at(agent, receptacle):
    """Go to a receptacle unless the agent is there already."""
    if agent.location != receptacle:
        return agent.go_to(receptacle)
    return ""


def see_into(agent, receptacle):
    """Be at a receptacle, open if it was closed; returns what is seen there."""
    if agent.location == receptacle:
        observation = agent.examine(receptacle)
    else:
        observation = agent.go_to(receptacle)
    if f"{receptacle} is closed" in observation:
        observation = agent.open(receptacle)
    return observation


def search_and_take(agent, receptacles, object_name):
    """Look into one receptacle after another; take the first object of that name. Its id, or None if there is none."""
    for receptacle in receptacles:
        for object_id in get_object_with_id(see_into(agent, receptacle), object_name):
            agent.take_from(object_id, receptacle)
            if agent.holding == object_id:
                return object_id
    return None


def place_held(agent, targets):
    """Put what the agent holds in or on the first target that takes it; returns the last observation."""
    held = agent.holding
    observation = "there is no target"
    for target in targets:
        seen = be_at(agent, target)
        if f"{target} is closed" in seen:
            agent.open(target)
        observation = agent.put_in_or_on(held, target)
        if agent.holding == held:  # perhaps closed without having been seen so
            if not agent.open(target).startswith("Nothing happens"):
                observation = agent.put_in_or_on(held, target)
        if agent.holding != held:
            return observation
    return observation


def solve(agent, task):
    object_name = task.params["object"].strip().lower()
    target_name = task.params["target"].strip().lower()
    receptacles = receptacles_of(task.observation)
    targets = of_kind(receptacles, target_name)
    assert targets, f"Start: expected a {target_name} among {receptacles}."

    # [Step 1] Find such an object and take it; the targets are searched last
    if kind_of(agent.holding) == object_name:
        held = agent.holding
    else:
        held = search_and_take(agent, in_search_order(receptacles, object_name, targets), object_name)
    assert held and agent.holding == held, (
        f"Step 1: expected to hold a {object_name} after looking into {receptacles}, but holding {agent.holding}."
    )

    # [Step 2] Put it in or on a target
    observation = place_held(agent, targets)
    assert agent.holding == "nothing", f"Step 2: expected {held} to be put in/on one of {targets}, got: {observation}"
