"""Do a task of type look_at_obj.

world: alfworld
type: look_at_obj
source: learnt from train/look_at_obj_in_light-Newspaper-None-DeskLamp-210/trial_T20190906_234500_634705 by exchange/planner
"""


import re

# kinds of receptacles that are usually open and hold such things, the likeliest first; a look costs one action only
SURFACES = [
    "desk", "sidetable", "dresser", "coffeetable", "diningtable", "bed", "sofa", "armchair", "tvstand", "shelf",
    "ottoman", "countertop", "garbagecan",
]
# kinds that are often closed, or seldom hold anything
LATER = ["drawer", "cabinet", "safe", "laundryhamper"]


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


def in_search_order(receptacles):
    """All receptacles, the likeliest ones first; kinds that are not known come between open and closed ones."""
    order = SURFACES + ["?"] + LATER

    def rank(receptacle):
        kind, number = kind_of(receptacle), int(receptacle.rpartition("_")[2])
        return (order.index(kind if kind in order else "?"), number)

    return sorted(receptacles, key=rank)


def be_at(agent, receptacle):
    """Go to a receptacle unless the agent is there already."""
    if agent.location != receptacle:
        return agent.go_to(receptacle)
    return ""


def look_into(agent, receptacle):
    """What is in or on a receptacle: goes there if need be, and opens it if it is closed."""
    if agent.location == receptacle:
        observation = agent.examine(receptacle)
    else:
        observation = agent.go_to(receptacle)
    if f"{receptacle} is closed" in observation:
        observation = agent.open(receptacle)
    return observation


def note_all(agent, receptacles, object_names, missing):
    """Look into receptacles until none of the missing names is missing any more.

    Returns a dict: name -> list of (id, receptacle), of all that were seen on the way.
    """
    found = {name: [] for name in object_names}
    for receptacle in receptacles:
        if all(found[name] for name in missing):
            break
        observation = look_into(agent, receptacle)
        for name in object_names:
            for object_id in get_object_with_id(observation, name):
                found[name].append((object_id, receptacle))
    return found


def solve(agent, task):
    object_name = task.params["object"].strip().lower()
    lamp_name = task.params["lamp"].strip().lower()
    receptacles = receptacles_of(task.observation)
    assert receptacles, f"Start: expected receptacles in: {task.observation}"

    # [Step 1] Find such an object and such a lamp; remember both on the way
    held = agent.holding if kind_of(agent.holding) == object_name else None
    missing = [lamp_name] if held else [object_name, lamp_name]
    found = note_all(agent, in_search_order(receptacles), [object_name, lamp_name], missing)
    assert held or found[object_name], f"Step 1: expected a {object_name} in or on {receptacles}, saw {found}."
    assert found[lamp_name], f"Step 1: expected a {lamp_name} in or on {receptacles}, saw {found}."

    # [Step 2] Take the object: best one that is with a lamp, or where the agent stands
    lamp_places = [place for lamp, place in found[lamp_name]]
    choices = sorted(found[object_name], key=lambda seen: (seen[1] != agent.location, seen[1] not in lamp_places))
    observation = ""
    for object_id, place in choices:
        if held:
            break
        be_at(agent, place)
        observation = agent.take_from(object_id, place)
        if agent.holding == object_id:
            held = object_id
    assert held, f"Step 2: expected to take one of {choices}, got: {observation}"

    # [Step 3] Turn on a lamp with the object in hand; that ends the task
    lamps = sorted(found[lamp_name], key=lambda seen: seen[1] != agent.location)
    answers = []
    for lamp, place in lamps:
        be_at(agent, place)
        answers.append(agent.use(lamp))
        # only reached if that did not end the task, for example because the lamp was on before
        answers.append(agent.examine(held))
    assert any("You turn on" in answer for answer in answers), (
        f"Step 3: expected one of {lamps} to be turned on while holding {held}, got: {answers}"
    )
