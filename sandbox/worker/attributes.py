"""Attributes by name, for one session: what is harmless on one kind of object and not on another, and formatting."""

import types
from collections import UserString
from collections.abc import Callable
from datetime import UTC, date, datetime, tzinfo
from typing import Any

from sandbox.policy.rules import harmless_template, is_dunder, is_plain, may_read, template_attributes
from sandbox.policy.tables import CHAIN, INHERITED
from sandbox.worker.clock import Clock
from sandbox.worker.guards import (
    Forbidden,
    PlanType,
    bound,
    check_writable,
    initialiser,
    is_host,
    is_own_class,
    is_own_instance,
    name_of,
    object_delattr,
    object_setattr,
    of_instances,
    own_dict,
    refuse,
    type_of,
)


def _checked(template: Any) -> str:
    """The exact text of a template whose fields reach only harmless attributes; a subclass could lie about its own."""
    text = str.__str__(template)
    if not harmless_template(text):
        name = next(name for name in template_attributes(text) if not is_plain(name))
        what = f"a format template cannot reach the attribute `{name}`"
        raise Forbidden(f"{what}: read the value beforehand, and give the template that", name=name)
    return text


def _is_harmless(template: str) -> bool:
    try:
        return harmless_template(template)
    except ValueError:  # Python's own format will say so
        return True


def _format(template: Any, *args: object, **kwargs: object) -> str:
    return str.format(_checked(template), *args, **kwargs)


def _format_map(template: Any, mapping: Any) -> str:
    return str.format_map(_checked(template), mapping)


def _format_held(template: Any, /, *args: object, **kwargs: object) -> str:
    return _format(template.data, *args, **kwargs)


def _format_map_held(template: Any, mapping: Any) -> str:
    return _format_map(template.data, mapping)


def guard_templates() -> None:
    """From now on a ``UserString`` formats under the policy: its methods are Python's, and use those of what it holds.

    The whole process is changed, for no attribute that is read tells them from a plan's own.
    """
    text: Any = UserString
    text.format, text.format_map = _format_held, _format_map_held


_CLOCKS = frozenset({"now", "today", "utcnow"})
_BUILTIN = types.BuiltinFunctionType
_UNBOUND = (types.FunctionType, types.WrapperDescriptorType)
"""What ``super()`` of a class, not of an object, gives: it takes any object at all as its first argument."""
_OBJ = vars(AttributeError)["obj"]
"""As a class gives it: a class of the plan's own could hold it by another name."""
_BY_NAME: dict[str, Callable[..., None]] = {"__setattr__": object_setattr, "__delattr__": object_delattr}


def _inherited(target: object, name: str, found: Any) -> Any:
    """What a class's own special method goes on to: through super(), or through object."""
    by_name = _BY_NAME.get(name)
    if target is object and by_name is not None:
        return by_name
    if type(target) is not super or isinstance(found, _UNBOUND):
        refuse(name)
    if by_name is not None and isinstance(found, types.MethodWrapperType):
        return bound(by_name, found.__self__)
    if name in ("__get__", "__set__"):
        return bound(_described, found)
    return found if by_name is None else bound(_named, found, name[2:5])


def _is_library(target: object) -> bool:
    """Whether it is a class, and none of the plan's own."""
    return isinstance(target, type) and not is_own_class(target)


def _described(found: Callable[..., Any], instance: Any, *rest: Any) -> Any:
    """Call an inherited descriptor's method: a library's may read and set variables of the object, whatever it is."""
    if not (is_own_instance(instance) if instance is not None else all(map(is_own_class, rest))):
        raise TypeError("a descriptor is asked for an object of one of the plan's own classes")
    return found(instance, *rest)


def _named(found: Callable[..., Any], verb: str, name: str, *value: object) -> Any:
    """Call an inherited method of a plan's class, or of a library's, that sets or deletes a name."""
    check_writable(name, verb)
    return found(name, *value)


class Attributes:
    """Reads attributes by name for one session: its clock stands in for the real one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def getattr(self, target: Any, name: str, *default: object) -> Any:
        """``getattr`` under the policy. What is forbidden raises even where there is a default."""
        if type(name) is str and is_plain(name):
            return getattr(target, name, *default)
        if not may_read(name_of(name)):
            if name in ("__class__", "__dict__"):
                return (type_of if name == "__class__" else own_dict)(target)
            refuse(name)
        if name == "format" and type(target) is str and _is_harmless(target):
            return getattr(target, name, *default)
        return self._special(target, name, getattr(target, name, *default))

    def hasattr(self, target: object, name: str) -> bool:
        """``hasattr`` under the policy: what is forbidden is not there."""
        return may_read(name_of(name)) and hasattr(target, name)

    def _special(self, target: Any, name: str, found: Any) -> Any:
        """What stands in for an attribute that is dangerous on some objects."""
        if name in INHERITED:
            return _inherited(target, name, found)
        if name in CHAIN:
            return found if isinstance(target, BaseException) else refuse(name)
        if name == "__new__" and isinstance(target, type) and issubclass(target, (type, PlanType)):
            refuse(name)
        if name in ("__init__", "__call__", "__setitem__") and is_host(target):
            return found if name == "__call__" else refuse(name)
        if name == "__init__":
            return initialiser(target, found)
        if type(found) is types.MappingProxyType:
            return types.MappingProxyType(dict(found))  # an operator would hand the plan what the proxy stands for
        if name == "obj" and (isinstance(target, (AttributeError, super)) or found is _OBJ):
            refuse(name)
        owner = getattr(found, "__self__", None)
        if name == "register" and isinstance(owner, type) and not is_own_class(owner):
            refuse(name)
        if type(found) is types.FunctionType and is_dunder(name) and name != "__new__" and not _is_library(target):
            return of_instances(target, name, found)
        if name in ("format", "format_map"):
            return self._formatter(found, owner, _format if name == "format" else _format_map)
        if name in _CLOCKS and isinstance(owner, type) and issubclass(owner, date) and type(found) is _BUILTIN:
            return bound(getattr(self, f"_{name}"), owner)
        return found

    @staticmethod
    def _formatter(found: Any, owner: object, safe: Callable[..., str]) -> Any:
        if found is str.format or found is str.format_map:
            return safe
        if isinstance(found, types.BuiltinFunctionType) and isinstance(owner, str):
            return bound(safe, owner)
        return found

    def _now(self, cls: type[datetime], tz: tzinfo | None = None) -> datetime:
        moment = cls.fromtimestamp(self._clock.now(), tz or UTC)
        return moment if tz else moment.replace(tzinfo=None)

    def _utcnow(self, cls: type[datetime]) -> datetime:
        return self._now(cls)

    def _today(self, cls: type[date]) -> date:
        moment = datetime.fromtimestamp(self._clock.now(), UTC).replace(tzinfo=None)
        if issubclass(cls, datetime):
            return self._now(cls)
        return cls(moment.year, moment.month, moment.day)
