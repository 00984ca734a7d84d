"""Planning methods of an author, as README.md describes them."""

from planbook.planner import Method, Options


def once(episode, options):
    """Press every lamp."""
    episode.run("for lamp in (1, 2, 3):\n    agent.press(lamp)", source="planner")


def fails(episode, options):
    """Fail by a fault of its own."""
    raise ZeroDivisionError("a fault of the method")


once = Method(once, Options, "press every lamp", ())
broken = Method(fails, Options, "fail", ())
