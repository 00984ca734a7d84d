"""Finding things in a household: where to look first, how to look, and what was seen on the way."""

import re

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
        observation = agent.examine(place)
    if place + " is closed" in observation:
        observation = agent.open(place)
    return observation


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
