"""Find a thing, take it, and put it in or on a receptacle of the kind that is asked for.

world: alfworld
type: pick_and_place
source: written by hand
uses: search
"""


def solve(agent, task):
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
