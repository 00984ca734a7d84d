"""Find a planning method by its name.

The methods of one family, such as ADaPT and its baselines, share a module. Its ``METHODS`` maps the name of each method
to a ``Method``. A family is imported when one of its methods is first looked up. An external method is named
FILE.py:NAME, or another package registers it in the entry point group ``planbook.planners``.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module

from planbook.envs import is_loaded
from planbook.planner.errors import UnknownStrategy
from planbook.planner.strategies.base import Figures, Method, load_from_file, load_registered, registered_methods
from planbook.sandbox import did_you_mean

_FAMILIES = {
    "adapt": "adapt plan-and-execute react reflexion try-again",
    "advocate": "devils-advocate lats plan-act",
    "agentkit": "agentkit random",
    "automanual": "automanual code naive procedures",
    "deps": "chain-of-thought code-as-policies dep deps inner-monologue progprompt zero-shot zero-shot-replan",
}
_MODULES = {name: family for family, names in _FAMILIES.items() for name in names.split()}


class _ShippedMethods(Mapping[str, Method]):
    def __getitem__(self, name: str) -> Method:
        shipped: Method = import_module(f"{__name__}.{_MODULES[name]}").METHODS[name]
        return shipped

    def __contains__(self, name: object) -> bool:
        return name in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(_MODULES))

    def __len__(self) -> int:
        return len(_MODULES)


METHODS: Mapping[str, Method] = _ShippedMethods()
"""Maps the name of each method that comes with planbook to the method."""


def method(name: str) -> Method:
    """Return the planning method with that name, which may be of the form FILE.py:NAME.

    Raises UnknownStrategy if there is no such method, or if it cannot be loaded.
    """
    if is_method_file(name):
        return load_from_file(name)
    if name in METHODS:  # first, since another package may not replace a method that comes with planbook
        return METHODS[name]
    registered = registered_methods()
    if name not in registered:
        raise UnknownStrategy(
            f"no planner is called {name!r}{did_you_mean(name, [*METHODS, *registered])}; or give FILE.py:NAME"
        )
    return load_registered(registered[name])


def known_method(name: str) -> Method:
    """Return the planning method with that name, like ``method``, but do not execute a file.

    Raises UnknownStrategy in the same cases as ``method``, and also if the name contains a FILE.py that this process
    has not loaded yet.
    """
    if is_method_file(name) and not is_loaded(name):
        raise UnknownStrategy(f"{name} is not loaded by this process")
    return method(name)


def _possible_methods(name: str) -> tuple[Method, ...]:
    """Return the methods that may have played the episodes of a run whose planner has this name.

    For a method that comes with planbook, this is the method itself. A run with an external planner, or without a
    planner, may have been imported, so any method may have played its episodes.
    """
    if name in METHODS:
        return (METHODS[name],)
    with suppress(UnknownStrategy):
        return (known_method(name), *METHODS.values())
    return tuple(METHODS.values())


def figures_of(name: str = "") -> tuple[type[Figures], ...]:
    """Return the ``Figures`` classes (statistics of a method) that apply to a run whose planner has this name.

    No file is executed to find the planner (see ``known_method``).
    """
    return tuple(dict.fromkeys(figures for method in _possible_methods(name) for figures in method.figures))


def bulky_fields(name: str = "") -> Mapping[str, frozenset[str]]:
    """Return a dict that maps the name of each span to those of its large fields that no ``Figures`` class needs.

    ``name`` is the planner of the run. If it is an external planner that uses the same span name as a method that comes
    with planbook, the fields of the external planner apply.
    """
    return {payload.span: payload.bulky for method in reversed(_possible_methods(name)) for payload in method.spans}


def is_method_file(name: str) -> bool:
    """Return True if a method's name has the form FILE.py or FILE.py:NAME."""
    return name.partition(":")[0].endswith(".py")
