"""Procedures for household tasks: look for objects in the most likely places, and bring them where the task wants them.

world: alfworld
source: written by hand
"""

import re


def pick_and_place(agent, task):
    """Find an object, take it, and put it in or on a receptacle of the requested kind.

    type: pick_and_place
    """
    thing, target = task.params["object"], task.params["target"]
    places = places_in(task.observation)
    targets = [place for place in places if kind_of(place) == target]
    # [Step 1] Find the object. Skip the targets: if an object were in one, the task would already be solved.
    unsearched = [place for place in search_order(places, thing) if place not in targets]
    seen = {}
    found = find(agent, thing, unsearched, seen, [thing])
    # [Step 2] Take it and put it away.
    fetch(agent, found, seen)
    put_away(agent, found, targets)


def pick_two_obj(agent, task):
    """Find two objects of a kind and put both in or on the same receptacle of the requested kind.

    type: pick_two_obj
    """
    thing, target = task.params["object"], task.params["target"]
    places = places_in(task.observation)
    targets = [place for place in places if kind_of(place) == target]
    unsearched = search_order(places, thing)
    seen = {}
    first_target = None
    for turn in range(task.params["count"]):
        # [Step] Find the next object and take it, unless it is already in the chosen target.
        found = find(agent, thing, unsearched, seen, [thing])
        if first_target is None and seen[found] in targets:
            first_target = seen.pop(found)
            continue
        while seen[found] == first_target:
            seen.pop(found)
            found = find(agent, thing, unsearched, seen, [thing])
        fetch(agent, found, seen)
        # [Step] Put it where the first one is, or in the first target that accepts it.
        first_target = put_away(agent, found, [first_target] if first_target else targets)


def look_at_obj(agent, task):
    """Find an object and a lamp, bring the object to the lamp, and turn the lamp on.

    type: look_at_obj
    """
    thing, lamp = task.params["object"], task.params["lamp"]
    places = places_in(task.observation)
    kinds = [thing, lamp]
    # [Step 1] Find and take the object, and remember the lamps seen while searching.
    seen = {}
    unsearched = search_order(places, thing)
    found = find(agent, thing, unsearched, seen, kinds)
    fetch(agent, found, seen)
    # [Step 2] Find the lamp, go there with the object in hand, and turn the lamp on.
    light = find(agent, lamp, search_order(unsearched, lamp), seen, kinds)
    if agent.location != seen[light]:
        agent.go_to(seen[light])
    agent.use(light)


def pick_clean_then_place(agent, task):
    """Find an object, clean it in a sink, and put it in or on a receptacle of the requested kind.

    type: pick_clean_then_place
    """
    change_and_place(agent, task, "sinkbasin", agent.clean_with)


def pick_heat_then_place(agent, task):
    """Find an object, heat it with a microwave, and put it in or on a receptacle of the requested kind.

    type: pick_heat_then_place
    """
    change_and_place(agent, task, "microwave", agent.heat_with)


def pick_cool_then_place(agent, task):
    """Find an object, cool it with a fridge, and put it in or on a receptacle of the requested kind.

    type: pick_cool_then_place
    """
    change_and_place(agent, task, "fridge", agent.cool_with)


def change_and_place(agent, task, machine_kind, change):
    """Find an object, apply the action ``change`` to it (such as ``agent.heat_with``), and put it away."""
    thing, target = task.params["object"], task.params["target"]
    places = places_in(task.observation)
    # [Step 1] Find the object. It may already be in a target, so search every place.
    seen = {}
    found = find(agent, thing, search_order(places, thing), seen, [thing])
    fetch(agent, found, seen)
    # [Step 2] Clean, heat or cool it. The machine need not be opened for that.
    machine = [place for place in places if kind_of(place) == machine_kind][0]
    agent.go_to(machine)
    observation = change(found, machine)
    assert "Nothing happens" not in observation, f"{found} could not be changed with {machine}: {observation}"
    # [Step 3] Put it away.
    put_away(agent, found, [place for place in places if kind_of(place) == target])


# Kinds of places to search, most likely first: large open places, then small ones, then closed ones.
PLACES = (
    "diningtable countertop desk coffeetable sidetable dresser bed sofa armchair tvstand toilet cart ottoman shelf "
    "sinkbasin bathtubbasin garbagecan fridge microwave drawer cabinet safe laundryhamper "
    "coffeemachine stoveburner toaster toiletpaperhanger handtowelholder towelholder"
).split()

# Kinds of places to search before all others, for some kinds of objects.
USUAL_PLACES = {
    "mug": "coffeemachine",
    "kettle": "stoveburner",
    "pan": "stoveburner",
    "pot": "stoveburner",
    "handtowel": "handtowelholder",
    "towel": "towelholder",
    "toiletpaper": "toilet toiletpaperhanger",
    "toiletpaperroll": "toilet toiletpaperhanger",
    "pillow": "bed sofa armchair",
    "laptop": "bed sofa",
    "statue": "shelf",
    "vase": "shelf",
}

# Kitchenware and bottles are usually in cabinets, so drawers are searched last. For small flat objects, it is the other way round.
IN_CABINETS = "bowl box cup glassbottle kettle mug pan plate plunger pot vase winebottle".split()
IN_DRAWERS = "butterknife cellphone creditcard fork keychain knife pen pencil remotecontrol spatula spoon watch".split()


def kind_of(name):
    """Return the kind of object or place that an id names: "drawer" for "drawer_3"."""
    return name.rsplit("_", 1)[0]


def places_in(observation):
    """Return the receptacles that the first observation lists, sorted by kind and number."""
    names = re.findall(r"[a-z]+_[0-9]+", observation.split("Your task is to")[0])
    return sorted(names, key=lambda name: (kind_of(name), int(name.rsplit("_", 1)[1])))


def search_order(places, thing):
    """Return the places in the order in which to search them for a kind of object."""
    usual = USUAL_PLACES.get(thing, "").split()
    kinds = usual + [kind for kind in PLACES if kind not in usual]
    last = "drawer" if thing in IN_CABINETS else "cabinet" if thing in IN_DRAWERS else ""

    def rank(place):
        kind = kind_of(place)
        return (kind == last, kinds.index(kind) if kind in kinds else len(kinds))

    return sorted(places, key=rank)


def look_into(agent, place):
    """Go to a place, open it if it is closed, and return the observation."""
    observation = agent.go_to(place)
    if "Nothing happens" in observation:
        # The agent is already there, or at another place in the same spot.
        examine = getattr(agent, "examine", None)
        observation = examine(place) if examine else come_back(agent, place)
    if place + " is closed" in observation:
        observation = agent.open(place)
    return observation


def come_back(agent, place):
    """Leave the place and come back. Without the action `examine`, only arriving shows the objects at a place."""
    for kind in PLACES:
        if "Nothing happens" not in agent.go_to(kind + "_1"):
            break
    return agent.go_to(place)


def remember(seen, place, observation, kinds):
    """Add the objects of these kinds in an observation to ``seen``, which maps each object to its place."""
    for kind in kinds:
        for thing in get_object_with_id(observation, kind):
            seen[thing] = place


def find(agent, kind, unsearched, seen, kinds):
    """Search places until an object of a kind is found; return its id.

    Searched places are removed from `unsearched`. Objects of `kinds` that are seen are added to `seen` with their places.
    """
    while True:
        known = [thing for thing in seen if kind_of(thing) == kind]
        if known:
            return known[0]
        assert unsearched, f"No place contains a {kind}."
        place = unsearched.pop(0)
        remember(seen, place, look_into(agent, place), kinds)


def fetch(agent, thing, seen):
    """Go where an object was seen and take it."""
    place = seen.pop(thing)
    if agent.location != place:
        look_into(agent, place)
    agent.take_from(thing, place)
    assert agent.holding == thing, f"{thing} could not be taken from {place}."


def put_away(agent, thing, targets):
    """Put the held object in or on the first target that accepts it; return that target."""
    for target in targets:
        look_into(agent, target)
        agent.put_in_or_on(thing, target)
        if agent.holding != thing:
            return target
    raise AssertionError(f"None of {targets} accepts {thing}.")
