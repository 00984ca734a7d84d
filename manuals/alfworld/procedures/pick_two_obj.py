"""Find two things of a kind and put both in or on the same receptacle of the kind that is asked for.

world: alfworld
type: pick_two_obj
source: written by hand
uses: search
"""


def solve(agent, task):
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
