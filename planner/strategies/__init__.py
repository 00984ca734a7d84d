"""The planning methods, by name. A family of them is a package here, and says in ``METHODS`` which it has."""

from collections.abc import Mapping

from envs.nearest import instead
from planner.errors import UnknownStrategy
from planner.strategies import adapt, advocate, agentkit, automanual, code, deps
from planner.strategies.automanual import AutoManualOptions
from planner.strategies.base import Method, Options, Strategy
from planner.strategies.code import GivenCode, code_of

_FAMILIES = (adapt, advocate, agentkit, automanual, code, deps)

METHODS: Mapping[str, Method] = dict(sorted(entry for family in _FAMILIES for entry in family.METHODS.items()))


def method(name: str) -> Method:
    """The planning method of that name. Raises UnknownStrategy, saying which there are."""
    if name not in METHODS:
        raise UnknownStrategy(f"no planner is called {name!r}{instead(name, METHODS)}")
    return METHODS[name]


__all__ = ["METHODS", "AutoManualOptions", "GivenCode", "Method", "Options", "Strategy", "code_of", "method"]
