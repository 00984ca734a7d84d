"""Find a thing and a lamp, bring the thing to the lamp, and turn the lamp on.

world: alfworld
type: look_at_obj
source: written by hand
uses: search
"""


def solve(agent, task):
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
