"""Procedures for the household: find things by looking where they are likeliest, and bring them where they are wanted.

world: alfworld
source: written by hand
"""

import re


def pick_and_place(agent, task):
    """Find a thing, take it, and put it in or on a receptacle of the kind that is asked for.

    type: pick_and_place
    """
    thing, target = task.params["object"], task.params["target"]
    places = places_in(task.observation)
    targets = [place for place in places if kind_of(place) == target]
    # [Step 1] Find the thing. One that lies in a target already would have ended the task.
    unseen = [place for place in search_order(places, thing) if place not in targets]
    seen = {}
    found = find(agent, thing, unseen, seen, [thing])
    # [Step 2] Take it and put it away.
    fetch(agent, found, seen)
    put_away(agent, found, targets)


def pick_two_obj(agent, task):
    """Find two things of a kind and put both in or on the same receptacle of the kind that is asked for.

    type: pick_two_obj
    """
    thing, target = task.params["object"], task.params["target"]
    places = places_in(task.observation)
    targets = [place for place in places if kind_of(place) == target]
    unseen = search_order(places, thing)
    seen = {}
    home = None
    for turn in range(task.params["count"]):
        # [Step] Find the next thing and take it. What lies in the chosen target already stays there.
        found = find(agent, thing, unseen, seen, [thing])
        if home is None and seen[found] in targets:
            home = seen.pop(found)
            continue
        while seen[found] == home:
            seen.pop(found)
            found = find(agent, thing, unseen, seen, [thing])
        fetch(agent, found, seen)
        # [Step] Put it where the first one is, or in the first target that takes it.
        home = put_away(agent, found, [home] if home else targets)


def look_at_obj(agent, task):
    """Find a thing and a lamp, bring the thing to the lamp, and turn the lamp on.

    type: look_at_obj
    """
    thing, lamp = task.params["object"], task.params["lamp"]
    places = places_in(task.observation)
    kinds = [thing, lamp]
    # [Step 1] Find and take the thing, noting lamps on the way.
    seen = {}
    unseen = search_order(places, thing)
    found = find(agent, thing, unseen, seen, kinds)
    fetch(agent, found, seen)
    # [Step 2] Find the lamp, go there with the thing in hand, and turn it on.
    light = find(agent, lamp, search_order(unseen, lamp), seen, kinds)
    if agent.location != seen[light]:
        agent.go_to(seen[light])
    agent.use(light)


def pick_clean_then_place(agent, task):
    """Find a thing, clean it in a sink, and put it in or on a receptacle of the kind that is asked for.

    type: pick_clean_then_place
    """
    change_and_place(agent, task, "sinkbasin", agent.clean_with)


def pick_heat_then_place(agent, task):
    """Find a thing, heat it with a microwave, and put it in or on a receptacle of the kind that is asked for.

    type: pick_heat_then_place
    """
    change_and_place(agent, task, "microwave", agent.heat_with)


def pick_cool_then_place(agent, task):
    """Find a thing, cool it with a fridge, and put it in or on a receptacle of the kind that is asked for.

    type: pick_cool_then_place
    """
    change_and_place(agent, task, "fridge", agent.cool_with)


def change_and_place(agent, task, machine_kind, change):
    """Find a thing, change it, and put it away; ``change`` is the action, such as ``agent.heat_with``."""
    thing, target = task.params["object"], task.params["target"]
    places = places_in(task.observation)
    # [Step 1] Find the thing; it may lie in a target already, so every place counts.
    seen = {}
    found = find(agent, thing, search_order(places, thing), seen, [thing])
    fetch(agent, found, seen)
    # [Step 2] Change it. Nothing needs to be opened for that.
    machine = [place for place in places if kind_of(place) == machine_kind][0]
    agent.go_to(machine)
    done = change(found, machine)
    assert "Nothing happens" not in done, f"{found} could not be changed with {machine}: {done}"
    # [Step 3] Put it away.
    put_away(agent, found, [place for place in places if kind_of(place) == target])


# Where things lie, likeliest first, when nothing better is known: what is wide and open, then small, then closed places.
PLACES = (
    "diningtable countertop desk coffeetable sidetable dresser bed sofa armchair tvstand toilet cart ottoman shelf "
    "sinkbasin bathtubbasin garbagecan fridge microwave drawer cabinet safe laundryhamper "
    "coffeemachine stoveburner toaster toiletpaperhanger handtowelholder towelholder"
).split()

# Places that are worth a look before all others, for some kinds of things.
HOMES = {
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

# Kitchenware and bottles stand in cabinets, small flat things lie in drawers; the other of the two is hardly worth opening.
IN_CABINETS = "bowl box cup glassbottle kettle mug pan plate plunger pot vase winebottle".split()
IN_DRAWERS = "butterknife cellphone creditcard fork keychain knife pen pencil remotecontrol spatula spoon watch".split()


def kind_of(name):
    """The kind that an id names: drawer of drawer_3."""
    return name.rsplit("_", 1)[0]


def places_in(observation):
    """The receptacles that the first observation lists, lowest number first."""
    names = re.findall(r"[a-z]+_[0-9]+", observation.split("Your task is to")[0])
    return sorted(names, key=lambda name: (kind_of(name), int(name.rsplit("_", 1)[1])))


def search_order(places, thing):
    """The places to look for a kind of thing, likeliest first."""
    homes = HOMES.get(thing, "").split()
    order = homes + [kind for kind in PLACES if kind not in homes]
    last = "drawer" if thing in IN_CABINETS else "cabinet" if thing in IN_DRAWERS else ""

    def rank(place):
        kind = kind_of(place)
        return (kind == last, order.index(kind) if kind in order else len(order))

    return sorted(places, key=rank)


def look_into(agent, place):
    """Go to a place, open it if it is closed, and return what is seen there."""
    observation = agent.go_to(place)
    if "Nothing happens" in observation:
        # The agent stands there already, or at a neighbour in the same spot.
        examine = getattr(agent, "examine", None)
        observation = examine(place) if examine else come_back(agent, place)
    if place + " is closed" in observation:
        observation = agent.open(place)
    return observation


def come_back(agent, place):
    """Go elsewhere, then to the place: without `examine`, only arriving shows what is there."""
    for kind in PLACES:
        if "Nothing happens" not in agent.go_to(kind + "_1"):
            break
    return agent.go_to(place)


def note(seen, place, observation, kinds):
    """Remember the things of these kinds that are seen at a place."""
    for kind in kinds:
        for thing in get_object_with_id(observation, kind):
            seen[thing] = place


def find(agent, kind, unseen, seen, kinds):
    """Look into one unseen place after another until a thing of a kind is known; return its id.

    `unseen` loses the places that were looked into, `seen` maps things of `kinds` to the places where they are.
    """
    while True:
        known = [thing for thing in seen if kind_of(thing) == kind]
        if known:
            return known[0]
        assert unseen, f"There is no {kind} in any of the places."
        place = unseen.pop(0)
        note(seen, place, look_into(agent, place), kinds)


def fetch(agent, thing, seen):
    """Go where a thing was seen and take it."""
    place = seen.pop(thing)
    if agent.location != place:
        look_into(agent, place)
    agent.take_from(thing, place)
    assert agent.holding == thing, f"{thing} could not be taken from {place}."


def put_away(agent, thing, targets):
    """Put the held thing in or on the first target that takes it; return that target."""
    for target in targets:
        look_into(agent, target)
        agent.put_in_or_on(thing, target)
        if agent.holding != thing:
            return target
    raise AssertionError(f"None of {targets} takes {thing}.")
