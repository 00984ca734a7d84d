"""The actions that AutoManual's planner had (listing 3), with docs that say no more than the paper's did."""

from dataclasses import replace

from planbook.envs.types import Offered

DOCS = {
    "go_to": "Go to a receptacle.",
    "open": "Open a receptacle.",
    "close": "Close a receptacle.",
    "take_from": "Take an object from a receptacle.",
    "put_in_or_on": "Put an object in or on a receptacle.",
    "use": "Use an object.",
    "clean_with": "Clean an object with a receptacle.",
    "heat_with": "Heat an object with a receptacle.",
    "cool_with": "Cool an object with a receptacle.",
}
"""By name: no preconditions, which are what the agent has to learn."""


def told_briefly(offered: Offered) -> Offered:
    """Return what is offered, with the docs of the paper where it had the action."""
    actions = {name: replace(spec, doc=DOCS.get(name, spec.doc)) for name, spec in offered.actions.items()}
    return Offered(actions, offered.queries)
