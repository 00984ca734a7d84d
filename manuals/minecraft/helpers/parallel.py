"""Several things at once, each of which can be had by one goal: what is seen nearest comes first."""

# What is seen of each thing in the world.
SEEN_AS = {
    "sand": ["sand"],
    "reeds": ["reeds"],
    "pumpkin": ["pumpkin"],
    "log": [wood + "_tree" for wood in TREES],
    "wool": ["sheep"],
    "beef": ["cow"],
    "porkchop": ["pig"],
    "chicken": ["chicken"],
    "string": ["spider"],
}


def farness(seen, item):
    """How far a thing is, in steps of what is seen; ores, never seen from above, after what is in sight."""
    return min([FARNESS.index(seen[name]) for name in SEEN_AS.get(item, []) if name in seen] or [len(FARNESS)])


def obtain_all(agent, goals):
    """Reach each goal, as in {"wool": 2}, in the order of what is seen nearest each time."""
    left = [(item, goal[item]) for goal in goals for item in goal]
    while left:
        seen = agent.sees()
        left = sorted(left, key=lambda goal: farness(seen, goal[0]))
        item, count = left.pop(0)
        reach(agent, "kill" if item in KILLED else "mine", item, count)
