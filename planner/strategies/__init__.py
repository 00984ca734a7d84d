"""The planning methods, by name."""

from collections.abc import Mapping

from planner.errors import UnknownStrategy
from planner.strategies.adapt import PLANNING, PLANNING_DETAILED, AdaptOptions, adapt, plan_and_execute
from planner.strategies.automanual import PLANNER, AutoManualOptions, automanual
from planner.strategies.base import Method, Options, Strategy
from planner.strategies.code import GivenCode, code_of, given_code, procedures
from planner.strategies.executor import DEMONSTRATIONS, EXECUTOR
from planner.strategies.react import REFLECTOR, react, reflexion, try_again

_PLANNED = (*DEMONSTRATIONS, PLANNING, PLANNING_DETAILED)

METHODS: Mapping[str, Method] = {
    "adapt": Method(
        adapt, AdaptOptions, "execute first, take apart only what fails (ADaPT)", (EXECUTOR, PLANNER), _PLANNED
    ),
    "automanual": Method(automanual, AutoManualOptions, "free-form code, with rules, skills and feedback", (PLANNER,)),
    "code": Method(given_code, GivenCode, "one given plan; no model"),
    "plan-and-execute": Method(
        plan_and_execute, AdaptOptions, "one detailed plan, each step executed", (PLANNER, EXECUTOR), _PLANNED
    ),
    "procedures": Method(procedures, Options, "stored plan code with parameters, by task type; no model"),
    "react": Method(react, AdaptOptions, "ADaPT's executor alone, on the whole task", (EXECUTOR,), DEMONSTRATIONS),
    "reflexion": Method(
        reflexion, AdaptOptions, "rounds with a reflection in between", (EXECUTOR, REFLECTOR), DEMONSTRATIONS
    ),
    "try-again": Method(try_again, AdaptOptions, "separate rounds, the best counts", (EXECUTOR,), DEMONSTRATIONS),
}


def method(name: str) -> Method:
    """The planning method of that name. Raises UnknownStrategy, saying which there are."""
    if name not in METHODS:
        raise UnknownStrategy(f"no planner is called {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]


__all__ = ["METHODS", "AutoManualOptions", "GivenCode", "Method", "Options", "Strategy", "code_of", "method"]
