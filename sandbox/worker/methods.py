"""Keeping the library's classes to objects of their own: in Python, a method takes any object as its ``self``.

Handed a class, ``self.__class__(...)`` calls ``type`` itself; handed what sessions share, ``self.x = ...`` sets that.
"""

import dis
import functools
import importlib
import types
from abc import ABCMeta
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from sandbox.policy.rules import may_read
from sandbox.policy.tables import MODULES
from sandbox.worker import facades
from sandbox.worker.guards import is_host, is_own_class

_NOT_OFFERED = frozenset({"queue", "random", "typing"})
"""Modules of whose classes plans have others, or none."""
_GUARDED_WHERE_READ = frozenset({"__init__", "__new__", "__get__", "__set__", "__delete__", "__set_name__"})
_READS = ("LOAD_ATTR", "LOAD_METHOD")
_WRITES = frozenset({dis.opmap["STORE_ATTR"], dis.opmap["DELETE_ATTR"]})
_NAMES_ONLY = frozenset({"__name__", "__qualname__"})


def guard_methods() -> None:
    """From now on what a library's method makes of, or sets in, its object is of the method's own class.

    The whole process is changed, for the methods have plain names, whose reading nothing guards. And from now on shared
    abstract classes ask no plan's class what is derived from them: they would keep the answer for everybody.
    """
    functools.cached_property.__get__ = _cached  # type: ignore[method-assign]
    for cls in _classes():
        if "_field_defaults" in vars(cls):
            type.__setattr__(cls, "_field_defaults", _NoDefaults())
        for name, member in list(vars(cls).items()):
            if may_read(name) and name not in _GUARDED_WHERE_READ and (guarded := _guarded(cls, member)) is not member:
                type.__setattr__(cls, name, guarded)
        if isinstance(cls, ABCMeta):
            type.__setattr__(cls, "__subclasses__", _SUBCLASSES)


def _classes() -> set[type]:
    """Those of the modules that plans have, and of what stands in for them, with all that they derive from."""
    modules = [importlib.import_module(name) for name in sorted(MODULES.keys() - _NOT_OFFERED)]
    found = [each for module in (*modules, *facades.FIXED.values()) for each in vars(module).values()]
    bases = {base for each in found if isinstance(each, type) for base in each.__mro__}
    return {each for each in bases if not is_own_class(each)}


def _guarded(cls: type, member: Any) -> Any:
    """The method or property, for objects of the class; itself where it does nothing that asks for that."""
    if type(member) is types.FunctionType and uses_its_object(member.__code__):
        return _of(cls, member)
    if type(member) is property:
        read, write, delete = (each and _guarded(cls, each) for each in (member.fget, member.fset, member.fdel))
        return property(read, write, delete, member.__doc__)
    return member


def uses_its_object(code: types.CodeType) -> bool:
    """Whether the code calls an object's class or sets attributes; to read the class's name is harmless."""
    if not _WRITES.isdisjoint(code.co_code[::2]):
        return True
    if "__class__" not in code.co_names:
        return False  # taking the rest apart takes its time
    steps = list(dis.get_instructions(code))
    return any(
        step.opname in _READS and step.argval == "__class__" and after.argval not in _NAMES_ONLY
        for step, after in pairwise(steps)
    )


def _of(cls: type, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def method(self: object, /, *args: Any, **kwargs: Any) -> Any:
        if cls not in type(self).__mro__:
            name, kind = function.__name__, type(self).__name__
            raise TypeError(f"descriptor '{name}' requires a '{cls.__name__}' object but received a '{kind}'")
        return function(self, *args, **kwargs)

    return method


_read_cached: Callable[..., Any] = functools.cached_property.__get__


def _cached(self: Any, instance: object, owner: type | None = None) -> Any:
    """What a cached property gives, of a plan's object: of others, and of classes, it would read any variable."""
    if isinstance(instance, type) or is_host(instance):
        raise TypeError("a cached property keeps its value in an object's variables, not in a class")
    return _read_cached(self, instance, owner)


class _NoDefaults:
    """The defaults of a library's named tuple, none of which has any: a dict for each who asks, not one for all."""

    def __get__(self, _instance: object, _owner: object = None) -> dict[str, object]:
        return {}


def _not_the_plans(cls: type) -> list[type]:
    found: list[type] = type.__subclasses__(cls)
    return found if is_own_class(cls) else [each for each in found if not is_own_class(each)]


_SUBCLASSES: Any = classmethod(_not_the_plans)
