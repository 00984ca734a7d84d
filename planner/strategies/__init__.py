"""The planning methods, by name. Each family is a package here and lists its methods in ``METHODS``.

A family is imported when one of its methods is first looked up. Methods from outside are given as FILE.py:NAME, or
registered by other packages under the entry point group ``planbook.planners``.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from planbook.planner.errors import UnknownStrategy
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
from planbook.sandbox import did_you_mean

_FAMILIES = {
    "adapt": "adapt plan-and-execute react reflexion try-again",
    "advocate": "devils-advocate lats plan-act",
    "agentkit": "agentkit random",
    "automanual": "automanual",
    "code": "code naive procedures",
    "deps": "chain-of-thought code-as-policies dep deps inner-monologue progprompt zero-shot zero-shot-replan",
}
_MODULES = {name: family for family, names in _FAMILIES.items() for name in names.split()}
FIGURE_KEYS = ("subtasks", "graph", "goals", "search")
"""The keys of the figures that the shipped methods count of their own."""
LEFT_OUT_OF_FIGURES = {"match": frozenset({"candidates"}), "node": frozenset({"answer", "stored"})}
"""The fields of spans that figures need not have, by name of span (``Payload.bulky``)."""


class _ShippedMethods(Mapping[str, Method]):
    def __getitem__(self, name: str) -> Method:
        found: Method = import_module(f"{__name__}.{_MODULES[name]}").METHODS[name]
        return found

    def __contains__(self, name: object) -> bool:
        return name in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(_MODULES))

    def __len__(self) -> int:
        return len(_MODULES)


METHODS: Mapping[str, Method] = _ShippedMethods()
"""The methods that ship, by name."""


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


@cache
def shipped_figures() -> tuple[type[Figures], ...]:
    """Return the figures that the shipped methods count of their own."""
    return tuple(dict.fromkeys(figures for each in METHODS.values() for figures in each.figures))


def figures_of(name: str) -> tuple[type[Figures], ...]:
    """Return what a run of a method counts of its own; of a method from outside, what the shipped methods do, too.

    So it is for the name of no method: an imported run is mixed.
    """
    if name in METHODS:
        return METHODS[name].figures
    try:
        own = method(name).figures
    except UnknownStrategy:
        own = ()
    return tuple(dict.fromkeys((*own, *shipped_figures())))


def is_method_file(name: str) -> bool:
    """Return whether a method is named by the file that it stands in."""
    return name.partition(":")[0].endswith(".py")


__all__ = [
    "FIGURE_KEYS",
    "LEFT_OUT_OF_FIGURES",
    "METHODS",
    "Figures",
    "Grid",
    "Method",
    "Options",
    "Played",
    "Strategy",
    "figures_of",
    "is_method_file",
    "method",
    "registered_methods",
    "shipped_figures",
]
