"""Moving things on a table: clearing what lies on them first."""


def put(agent, thing, target):
    """Put a thing in or on a target, which must succeed."""
    done = agent.pick_place(thing, target)
    assert "Nothing happens" not in done, f"{thing} could not be put on {target}: {done}"


def set_aside(agent, thing):
    """Put a thing on a free spot of the table."""
    put(agent, thing, agent.free_spots()[0])


def uncover(agent, thing):
    """Set aside whatever lies on a thing, uppermost first."""
    for above in agent.look_at(thing)["carries"]:
        uncover(agent, above)
        set_aside(agent, above)


def things_of(agent, kind):
    """The names of all things of a kind."""
    return [thing for thing in agent.things() if agent.look_at(thing)["kind"] == kind]
