"""The planning methods, by name."""

from collections.abc import Mapping

from planner.errors import UnknownStrategy
from planner.strategies.base import Method, NoStrategyOptions, Strategy
from planner.strategies.procedures import procedures

METHODS: Mapping[str, Method] = {
    "procedures": Method(procedures, NoStrategyOptions, "stored plan code with parameters; no model"),
}


def method(name: str) -> Method:
    """The planning method of that name. Raises UnknownStrategy, saying which there are."""
    if name not in METHODS:
        raise UnknownStrategy(f"no planner is called {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]


__all__ = ["METHODS", "Method", "NoStrategyOptions", "Strategy", "method"]
