"""Find a thing, cool it with a fridge, and put it in or on a receptacle of the kind that is asked for.

world: alfworld
type: pick_cool_then_place
source: written by hand
uses: search
"""


def solve(agent, task):
    thing, target = task.params["object"], task.params["target"]
    places = places_in(task.observation)
    # [Step 1] Find the thing; it may lie in a target already, so every place counts.
    seen = {}
    found = find(agent, thing, search_order(places, thing), seen, [thing])
    fetch(agent, found, seen)
    # [Step 2] Cool it. Nothing needs to be opened for that.
    machine = [place for place in places if kind_of(place) == "fridge"][0]
    agent.go_to(machine)
    done = agent.cool_with(found, machine)
    assert "Nothing happens" not in done, f"{found} could not be cooled with {machine}: {done}"
    # [Step 3] Put it away.
    put_away(agent, found, [place for place in places if kind_of(place) == target])
