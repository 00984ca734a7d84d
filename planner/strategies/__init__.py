"""The planning methods, by name. Each family is a package here and lists its methods in ``METHODS``.

Methods from outside are given as FILE.py:NAME, or registered by other packages under the entry point group
``planbook.planners``.
"""

from collections.abc import Mapping

from planbook.planner.errors import UnknownStrategy
from planbook.planner.strategies import adapt, advocate, agentkit, automanual, code, deps
from planbook.planner.strategies.automanual import AutoManualOptions
from planbook.planner.strategies.base import (
    Figures,
    Grid,
    Method,
    Options,
    Played,
    Strategy,
    in_file,
    of_entry_point,
    registered_methods,
)
from planbook.planner.strategies.code import GivenCode, code_of
from planbook.sandbox import did_you_mean

_FAMILIES = (adapt, advocate, agentkit, automanual, code, deps)

METHODS: Mapping[str, Method] = dict(sorted(entry for family in _FAMILIES for entry in family.METHODS.items()))
"""The methods that ship, by name."""


FIGURES: tuple[type[Figures], ...] = tuple(
    dict.fromkeys(figures for each in METHODS.values() for figures in each.figures)
)
"""Figures that the shipped methods count of their own."""


def method(name: str) -> Method:
    """Return the planning method of that name, or of FILE.py:NAME. Raises UnknownStrategy, saying which there are."""
    if is_method_file(name):
        return in_file(name)
    if name in METHODS:  # other packages may not replace a shipped one
        return METHODS[name]
    others = registered_methods()
    if name not in others:
        raise UnknownStrategy(
            f"no planner is called {name!r}{did_you_mean(name, [*METHODS, *others])}, or FILE.py:NAME"
        )
    return of_entry_point(others[name])


def figures_of(name: str) -> tuple[type[Figures], ...]:
    """Return what a run of a method counts of its own, and what the shipped methods do: an imported run is mixed."""
    try:
        own = method(name).figures
    except UnknownStrategy:
        own = ()
    return tuple(dict.fromkeys((*own, *FIGURES)))


def left_out_of_figures() -> Mapping[str, frozenset[str]]:
    """Return the fields of spans that figures need not have, by name of span."""
    return {held.span: held.bulky for each in METHODS.values() for held in each.spans}


def is_method_file(name: str) -> bool:
    """Return whether a method is named by the file that it stands in."""
    return name.partition(":")[0].endswith(".py")


__all__ = [
    "FIGURES",
    "METHODS",
    "AutoManualOptions",
    "Figures",
    "GivenCode",
    "Grid",
    "Method",
    "Options",
    "Played",
    "Strategy",
    "code_of",
    "figures_of",
    "is_method_file",
    "left_out_of_figures",
    "method",
    "registered_methods",
]
