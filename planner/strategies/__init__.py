"""The planning methods, by name."""

from collections.abc import Mapping

from planner.errors import UnknownStrategy
from planner.strategies.automanual import PLANNER, AutoManualOptions, automanual
from planner.strategies.base import Method, Options, Strategy
from planner.strategies.code import GivenCode, code_of, given_code, procedures

METHODS: Mapping[str, Method] = {
    "automanual": Method(automanual, AutoManualOptions, "free-form code, with rules, skills and feedback", (PLANNER,)),
    "code": Method(given_code, GivenCode, "one given plan; no model"),
    "procedures": Method(procedures, Options, "stored plan code with parameters, by task type; no model"),
}


def method(name: str) -> Method:
    """The planning method of that name. Raises UnknownStrategy, saying which there are."""
    if name not in METHODS:
        raise UnknownStrategy(f"no planner is called {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]


__all__ = ["METHODS", "AutoManualOptions", "GivenCode", "Method", "Options", "Strategy", "code_of", "method"]
