"""Planning methods from outside: a name in a Python file, and what other packages register."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, get_type_hints

from planbook.envs import CannotLoad, load_module
from planbook.planner.errors import UnknownStrategy
from planbook.planner.strategies.base import Method, Options

ENTRY_POINT_GROUP = "planbook.planners"


@cache
def registered_methods() -> Mapping[str, EntryPoint]:
    """Return the methods that other packages register, by name; none is imported."""
    return {point.name: point for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda each: each.name)}


def of_entry_point(point: EntryPoint) -> Method:
    """Return a registered method. Raises UnknownStrategy."""
    try:
        member = point.load()
    except Exception as error:
        told = f"the planner {point.name!r} cannot be imported: {type(error).__name__}: {error}"
        raise UnknownStrategy(told) from error
    return _checked(member, f"the planner {point.name!r} ({point.value})")


def in_file(spec: str) -> Method:
    """Return the method of ``FILE.py:NAME``, or the only one of ``FILE.py``. Raises UnknownStrategy."""
    file, _, name = spec.partition(":")
    try:
        members = vars(load_module(Path(file).resolve()))
    except CannotLoad as error:
        raise UnknownStrategy(str(error)) from error
    methods = [each for each, member in members.items() if isinstance(member, Method)] or _functions(members)
    if not name and len(methods) == 1:
        name = methods[0]
    if not name:
        there = f": name {' or '.join(f'{file}:{each}' for each in methods)}" if methods else ""
        raise UnknownStrategy(f"{file} has {len(methods) or 'no'} methods{there or '; name a function: FILE.py:NAME'}")
    if name not in members:
        raise UnknownStrategy(f"{file} has no {name!r}; it has {', '.join(_callables(members)) or 'no function'}")
    return _checked(members[name], f"{name} in {file}")


def _functions(members: Mapping[str, Any]) -> list[str]:
    """Return the public functions of a file that take what a method takes."""
    own = {name: member for name, member in members.items() if inspect.isfunction(member) and name[0] != "_"}
    here = members.get("__name__")
    return [
        name for name, each in own.items() if each.__module__ == here and len(inspect.signature(each).parameters) == 2
    ]


def _callables(members: Mapping[str, Any]) -> list[str]:
    return [name for name, member in members.items() if inspect.isfunction(member) or isinstance(member, Method)]


def _checked(member: Any, where: str) -> Method:
    """Return the method, or the function as a method without further statements. Raises UnknownStrategy."""
    method = member if isinstance(member, Method) else _of_function(member, where)
    if not callable(method.play):
        raise UnknownStrategy(f"{where}: the `play` of a Method must be a function (episode, options)")
    if inspect.iscoroutinefunction(method.play):
        raise UnknownStrategy(f"{where} is a coroutine; a method is a plain function (episode, options)")
    try:
        inspect.signature(method.play).bind(None, None)
    except TypeError as error:
        raise UnknownStrategy(f"{where} must take two arguments, (episode, options): {error}") from error
    if not (isinstance(method.options, type) and issubclass(method.options, Options)):
        raise UnknownStrategy(f"{where}: its options must be a class derived from planner.Options")
    return method


def _of_function(member: Any, where: str) -> Method:
    if isinstance(member, type) or not callable(member):
        raise UnknownStrategy(
            f"{where} is of type {type(member).__name__}; name a function (episode, options), or a Method"
        )
    summary = (inspect.getdoc(member) or "").partition("\n")[0]
    return Method(member, _options_of(member), summary)


def _options_of(play: Callable[..., Any]) -> type[Options]:
    """Return the class that annotates the function's options, if it is one of options."""
    try:
        hints = get_type_hints(play)
    except (NameError, TypeError):
        return Options
    named = [each for each in hints.values() if isinstance(each, type) and issubclass(each, Options)]
    return named[0] if named else Options
