"""Do a task of type pick_two_obj.

world: alfworld
type: pick_two_obj
source: learnt from train/pick_two_obj_and_place-AlarmClock-None-SideTable-312/trial_T20190908_024701_173974 by exchange/planner
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
    "countertop", "diningtable", "sidetable", "desk", "coffeetable", "dresser", "sofa", "armchair", "bed", "shelf",
    "sinkbasin", "ottoman", "tvstand", "bathtubbasin", "toilet", "garbagecan",
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
    first = "fridge" if object_name in FOOD else "stoveburner" if object_name in COOKWARE else None
    if first:
        order = [first] + [kind for kind in order if kind != first]
    else:
        early = "drawer" if object_name in SMALL else "cabinet"
        order = [kind for kind in order if kind != early]
        order.insert(order.index("?") + 1, early)

    def rank(receptacle):
        kind, number = kind_of(receptacle), int(receptacle.rpartition("_")[2])
        return (receptacle in targets, order.index(kind if kind in order else "?"), number)

    return sorted(receptacles, key=rank)


def go_and_note(agent, receptacle, object_name, known, visited):
    """Be at a receptacle, open if it was closed, and remember which wanted objects are there and which not any more."""
    if agent.location == receptacle and receptacle in visited:
        return
    if agent.location == receptacle:
        observation = agent.examine(receptacle)
    else:
        observation = agent.go_to(receptacle)
    if f"{receptacle} is closed" in observation:
        observation = agent.open(receptacle)
    visited.add(receptacle)
    for object_id in [o for o, place in known.items() if place == receptacle]:
        del known[object_id]
    for object_id in get_object_with_id(observation, object_name):
        known[object_id] = receptacle


def solve(agent, task):
    object_name = task.params["object"].strip().lower()
    target_name = task.params["target"].strip().lower()
    count = int(task.params.get("count", 2))
    receptacles = receptacles_of(task.observation)
    targets = of_kind(receptacles, target_name)
    assert targets, f"Start: expected a {target_name} among {receptacles}."
    to_visit = in_search_order(receptacles, object_name, targets)
    known = {}  # where wanted objects were seen: id -> receptacle
    visited = set()
    refused = {}  # targets that did not take an object, and what was said
    stuck = set()  # objects that could not be taken

    def at(place):
        return [o for o, p in known.items() if p == place]

    def best_target():
        """The target that holds most of the wanted objects already; the first if none does."""
        usable = [t for t in targets if t not in refused]
        assert usable, f"Step 2: expected a {target_name} to take a {object_name}: {refused}"
        return max(usable, key=lambda t: (len(at(t)), -targets.index(t)))

    while True:
        target = best_target()
        # [Step 2] Carry what is held to the target; all of them into the same one
        if kind_of(agent.holding) == object_name:
            held = agent.holding
            go_and_note(agent, target, object_name, known, visited)
            observation = agent.put_in_or_on(held, target)
            if agent.holding == held and not agent.open(target).startswith("Nothing happens"):
                observation = agent.put_in_or_on(held, target)
            if agent.holding == held:
                refused[target] = observation
            else:
                known[held] = target
            continue
        if len(at(target)) >= count:
            break
        # [Step 1] Take one that is known of, best of all here; else look into the next place
        others = [o for o, place in known.items() if place != target and o not in stuck]
        if others:
            others.sort(key=lambda o: known[o] != agent.location)
            chosen = others[0]
            place = known[chosen]
            go_and_note(agent, place, object_name, known, visited)
            agent.take_from(chosen, place)
            if agent.holding == chosen:
                known.pop(chosen, None)
            else:
                stuck.add(chosen)
            continue
        unseen = [r for r in to_visit if r not in visited]
        if not unseen:
            break
        go_and_note(agent, unseen[0], object_name, known, visited)

    target = best_target()
    assert len(at(target)) >= count, (
        f"End: expected {count} {object_name} at {target}, but saw {known} after looking into {sorted(visited)}."
    )
