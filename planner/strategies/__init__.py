"""Find a planning method by its name.

The methods of one family, such as ADaPT and its baselines, share a module, whose ``METHODS`` maps the name of each
method to a ``Method``. A family is imported when one of its methods is first looked up. An external method is either in
a file and named FILE.py:NAME, or registered by another package in the entry point group ``planbook.planners``.

- ``base``: the class ``Method``, ``play``, and functions that several methods share, such as ``match_goal``.
- ``figures``: statistics of a method over a run.
- ``adapt``, ``advocate``, ``agentkit``, ``automanual``, ``deps``: the methods of the papers, each with its baselines.
- ``without_model``: methods that ask no model.
"""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from planbook.envs import ModuleLoadError, is_loaded, load_module
from planbook.planner.errors import UnknownStrategy
from planbook.planner.strategies.base import Method, Options
from planbook.planner.strategies.figures import Figures
from planbook.sandbox import did_you_mean

_FAMILIES = {
    "adapt": "adapt plan-and-execute react reflexion try-again",
    "advocate": "devils-advocate lats plan-act",
    "agentkit": "agentkit",
    "automanual": "automanual",
    "deps": "chain-of-thought code-as-policies dep deps inner-monologue progprompt zero-shot zero-shot-replan",
    "without_model": "code naive procedures random",
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
    """Return the planning method with that name. The name may be of the form FILE.py or FILE.py:NAME.

    Raises UnknownStrategy if there is no such method, or if it cannot be loaded.
    """
    if is_method_file(name):
        return load_from_file(name)
    if name in METHODS:  # first, so that no other package can replace a method that comes with planbook
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

    If the method comes with planbook, return it alone. Otherwise, the episodes may have been imported from other runs,
    so return all methods that come with planbook, too.
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
    """Return a dict that maps the name of each span to its large fields, which no ``Figures`` class needs.

    ``name`` is the planner of the run. If an external planner uses the same span name as a method that comes with
    planbook, the fields of the external planner apply.
    """
    return {payload.span: payload.bulky for method in reversed(_possible_methods(name)) for payload in method.spans}


# External methods.

ENTRY_POINT_GROUP = "planbook.planners"
METHOD_LINE = 'end the file with a line such as method = Method(FUNCTION, Options, "what it does", ("planner",))'


def is_method_file(name: str) -> bool:
    """Return True if a method's name has the form FILE.py or FILE.py:NAME."""
    return name.partition(":")[0].endswith(".py")


@cache
def registered_methods() -> Mapping[str, EntryPoint]:
    """Return a dict that maps the name of each registered method to its entry point. No method is imported."""
    return {point.name: point for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)}


def load_registered(point: EntryPoint) -> Method:
    """Import a registered method and return it.

    Raises UnknownStrategy if the import fails, or if the imported object is not a method.
    """
    try:
        member = point.load()
    except Exception as error:
        message = f"the planner {point.name!r} cannot be imported: {type(error).__name__}: {error}"
        raise UnknownStrategy(message) from error
    return _as_method(member, f"the planner {point.name!r} ({point.value})")


def load_from_file(spec: str) -> Method:
    """Return the method called NAME for ``FILE.py:NAME``, or the only method in the file for ``FILE.py``.

    Raises UnknownStrategy if the file cannot be loaded, if it has no such method, or if NAME is left out although the
    file has several methods.
    """
    file, _, name = spec.partition(":")
    try:
        members = vars(load_module(Path(file).resolve()))
    except ModuleLoadError as error:
        raise UnknownStrategy(str(error)) from error
    methods = [key for key, member in members.items() if isinstance(member, Method)]
    if not name and len(methods) == 1:
        name = methods[0]
    if not name:
        advice = f"name {' or '.join(f'{file}:{method}' for method in methods)}" if methods else METHOD_LINE
        raise UnknownStrategy(f"{file} has {len(methods) or 'no'} methods: {advice}")
    if name not in members:
        raise UnknownStrategy(f"{file} has no {name!r}; its methods: {', '.join(methods) or f'none. {METHOD_LINE}'}")
    return _as_method(members[name], f"{name} in {file}")


def _as_method(member: Any, where: str) -> Method:
    """Return the object if it is a valid ``Method``. Error messages begin with ``where``.

    Raises UnknownStrategy for any other object, and for a ``Method`` with a faulty function or faulty options.
    """
    if not isinstance(member, Method):
        raise UnknownStrategy(f"{where} is of type {type(member).__name__}, not a Method: {METHOD_LINE}")
    if (
        not callable(member.play)
        or inspect.iscoroutinefunction(member.play)
        or inspect.isgeneratorfunction(member.play)
    ):
        raise UnknownStrategy(f"{where}: the `play` of a Method must be a plain function (episode, options)")
    signature = inspect.signature(member.play)
    try:
        signature.bind(None, None)
    except TypeError as error:
        raise UnknownStrategy(f"{where} must take two arguments, (episode, options), not {signature}") from error
    if not (isinstance(member.options, type) and issubclass(member.options, Options)):
        raise UnknownStrategy(f"{where}: its options must be a class derived from planner.Options")
    return member
