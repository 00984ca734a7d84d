"""Our own versions of library names that would let a plan change or read what is not its own."""

import abc
import calendar
import collections
import contextlib
import dataclasses
import enum
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sandbox.policy.hints import NAME_HINT
from sandbox.policy.rules import may_write
from sandbox.worker import copying, queues, typing_names
from sandbox.worker.guards import PLAN_NAME, is_own_class, is_own_function, write

_COPIED = ("__module__", "__name__", "__qualname__", "__doc__")


def _identifier(name: object) -> str:
    """The name, if it is one that a class of the plan may have."""
    if type(name) is not str:
        raise TypeError("names must be strings")
    if not may_write(name):
        raise ValueError(f"the name {name!r} is not available in plans; {NAME_HINT}")
    return name


def namedtuple(
    typename: str,
    field_names: str | Iterable[str],
    *,
    rename: bool = False,
    defaults: Iterable[object] | None = None,
) -> type:
    """``collections.namedtuple``; it checks the names itself, and only exact strings reach it."""
    names = field_names.replace(",", " ").split() if type(field_names) is str else field_names
    checked = [name if rename and type(name) is str else _identifier(name) for name in names]
    return collections.namedtuple(_identifier(typename), checked, rename=rename, defaults=defaults, module=PLAN_NAME)


def dataclass(cls: type | None = None, /, **options: Any) -> Any:
    """``dataclasses.dataclass`` for the plan's own classes."""
    if cls is None:
        return functools.partial(dataclass, **options)
    return dataclasses.dataclass(**options)(_own_class(cls))


def total_ordering(cls: type) -> type:
    """``functools.total_ordering`` for the plan's own classes."""
    return functools.total_ordering(_own_class(cls))


def _own_class(cls: object) -> Any:
    if not is_own_class(cls):
        raise TypeError(f"{cls!r} is not a class of the plan's own; derive one from it")
    return cls


def wraps(wrapped: Any, assigned: object = None, updated: object = None) -> Callable[[Any], Any]:
    """``functools.wraps`` without ``__wrapped__``, for the plan's own functions."""

    def decorate(wrapper: Any) -> Any:
        if is_own_function(wrapper):
            for name in _COPIED:
                if is_own_function(wrapped) or name != "__module__":
                    setattr(wrapper, name, getattr(wrapped, name, getattr(wrapper, name)))
        return wrapper

    return decorate


def singledispatch(function: Any) -> Any:
    """``functools.singledispatch``; its ``register`` is told the type, as annotations are not kept."""
    dispatch = functools.singledispatch(function)
    register = dispatch.register

    def registered(cls: Any, func: Any = None) -> Any:
        if not isinstance(cls, type):
            raise TypeError("register takes the type in plans, as in @register(int): annotations are not kept")
        return register(cls, func)

    dispatch.register = registered  # type: ignore[method-assign]
    return dispatch


def abstractmethod(function: Any) -> Any:
    """``abc.abstractmethod`` for what the plan may change."""
    return abc.abstractmethod(write(function))


def contextmanager(function: Callable[..., Any]) -> Callable[..., Any]:
    """``contextlib.contextmanager`` whose result carries the plan's function name."""
    return contextlib.contextmanager(function)


def attrgetter(read: Callable[[Any, str], Any], *names: str) -> Callable[[Any], Any]:
    """``operator.attrgetter`` through the session's guarded ``getattr``."""
    paths = [_text(name).split(".") for name in names]

    def get(target: Any) -> Any:
        found = tuple(functools.reduce(read, path, target) for path in paths)
        return found if len(found) > 1 else found[0]

    return get


def methodcaller(read: Callable[[Any, str], Any], name: str, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """``operator.methodcaller`` through the session's guarded ``getattr``."""
    method = _text(name)
    return lambda target: read(target, method)(*args, **kwargs)


def _text(name: object) -> str:
    if type(name) is not str:
        raise TypeError("attribute name must be a string")
    return name


def utc_seconds(moment: Sequence[int]) -> float:
    """``time.mktime`` in plans, whose time zone is UTC."""
    return float(calendar.timegm(tuple(moment)))


class PlanEnumMeta(enum.EnumMeta):
    """Checks the names of enums that are made by a call: Python gives a meaning to some."""

    def __call__(cls, value: Any, names: Any = None, *rest: Any, **options: Any) -> Any:
        """Look a member up, or make an enum."""
        if names is None:
            return super().__call__(value, *rest, **options)
        if rest or options.keys() - {"start"}:
            raise TypeError("Enum(name, members) takes no more than start= in plans; write a class statement")
        members = list(names.items()) if isinstance(names, Mapping) else names
        members = members.replace(",", " ").split() if isinstance(members, str) else list(members)
        for member in members:
            _identifier(member if isinstance(member, str) else member[0])
        return super().__call__(_identifier(value), members, module=PLAN_NAME, **options)

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or isinstance(instance, _REAL.get(cls, ()))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return super().__subclasscheck__(subclass) or issubclass(subclass, _REAL.get(cls, ()))


class Enum(enum.Enum, metaclass=PlanEnumMeta):
    """enum.Enum."""


class IntEnum(enum.IntEnum, metaclass=PlanEnumMeta):
    """enum.IntEnum."""


class StrEnum(enum.StrEnum, metaclass=PlanEnumMeta):
    """enum.StrEnum."""


class Flag(enum.Flag, metaclass=PlanEnumMeta):
    """enum.Flag."""


class IntFlag(enum.IntFlag, metaclass=PlanEnumMeta):
    """enum.IntFlag."""


_REAL: dict[type, Any] = {Enum: enum.Enum, Flag: enum.Flag}
"""Each of ours derives from its real counterpart only, and is told to include the others that count as one."""

MODULES: dict[str, dict[str, Any]] = {
    "abc": {"ABCMeta": abc.ABC, "abstractmethod": abstractmethod},
    "calendar": {name: tuple(getattr(calendar, name)) for name in ("day_abbr", "day_name", "month_abbr", "month_name")},
    "collections": {"namedtuple": namedtuple},
    "contextlib": {"contextmanager": contextmanager},
    "copy": copying.NAMES,
    "dataclasses": {"dataclass": dataclass},
    "enum": {"Enum": Enum, "Flag": Flag, "IntEnum": IntEnum, "IntFlag": IntFlag, "StrEnum": StrEnum},
    "functools": {"singledispatch": singledispatch, "total_ordering": total_ordering, "wraps": wraps},
    "queue": queues.NAMES,
    "typing": typing_names.NAMES,
}
"""Module to its names that are ours."""
