"""Cleaning, heating and cooling differ only in the action and in the kind of receptacle that does it."""


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
