"""Do a task of type pick_cool_then_place.

world: alfworld
type: pick_cool_then_place
source: learnt from train/pick_cool_then_place_in_recep-Apple-None-Microwave-11/trial_T20190909_012201_694037, train/pick_cool_then_place_in_recep-Bowl-None-Microwave-25/trial_T20190906_180204_213411 by exchange/planner
"""


import re

FOOD = {"apple", "bread", "egg", "lettuce", "potato", "tomato"}
COOKWARE = {"pan", "pot", "kettle"}
# kinds of receptacles, the likeliest first; kinds named in neither list come in between
LIKELY_FOOD = ["countertop", "diningtable", "fridge", "sinkbasin", "microwave", "garbagecan", "sidetable"]
LIKELY_COOKWARE = ["stoveburner", "countertop", "diningtable", "sinkbasin", "sidetable", "fridge", "cabinet"]
LIKELY_OTHER = ["countertop", "diningtable", "sinkbasin", "coffeemachine", "sidetable", "shelf", "desk", "fridge", "microwave", "cabinet"]
UNLIKELY = ["stoveburner", "garbagecan", "toaster", "drawer", "safe"]


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


def in_search_order(receptacles, object_name):
    """All receptacles, those where such an object is likeliest first."""
    if object_name in FOOD:
        likely = LIKELY_FOOD
    elif object_name in COOKWARE:
        likely = LIKELY_COOKWARE
    else:
        likely = LIKELY_OTHER

    def rank(receptacle):
        kind, number = kind_of(receptacle), int(receptacle.rpartition("_")[2])
        if kind in likely:
            return (0, likely.index(kind), number)
        if kind in UNLIKELY:
            return (2, UNLIKELY.index(kind), number)
        return (1, 0, number)

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


def cool_held(agent, fridges):
    """Cool what the agent holds at one of the fridges; returns the last observation."""
    held = agent.holding
    observation = "there is no fridge"
    for fridge in fridges:
        be_at(agent, fridge)
        observation = agent.cool_with(held, fridge)
        if observation.startswith("Nothing happens"):
            if agent.open(fridge).startswith("Nothing happens"):
                agent.close(fridge)
            observation = agent.cool_with(held, fridge)
        if not observation.startswith("Nothing happens"):
            return observation
    return observation


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
    fridges = of_kind(receptacles, "fridge")
    assert targets, f"Start: expected a {target_name} among {receptacles}."
    assert fridges, f"Start: expected a fridge among {receptacles}."

    # [Step 1] Find such an object and take it; one that stands at the target already has to be cooled all the same
    if kind_of(agent.holding) == object_name:
        held = agent.holding
    else:
        held = search_and_take(agent, in_search_order(receptacles, object_name), object_name)
    assert held and agent.holding == held, (
        f"Step 1: expected to hold a {object_name} after looking into {receptacles}, but holding {agent.holding}."
    )

    # [Step 2] Cool it
    observation = cool_held(agent, fridges)
    assert "You cool" in observation, f"Step 2: expected {held} to be cooled at {fridges}, got: {observation}"

    # [Step 3] Put it in or on a target
    observation = place_held(agent, targets)
    assert agent.holding == "nothing", f"Step 3: expected {held} to be put in/on one of {targets}, got: {observation}"
