"""Our own versions of library names that would let a plan change or read what is not its own."""

import abc
import calendar
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from sandbox.policy.rules import may_write
from sandbox.worker import typing_names
from sandbox.worker.guards import PLAN_NAME, is_own_class, is_own_function, match_by_keyword, write

_FIELDS = "__dataclass_fields__"
_COPIED = ("__module__", "__name__", "__qualname__", "__doc__")


def _names(names: Any) -> list[Any]:
    """The names, looked at once: a plan's own iterable could give others the next time."""
    return str.replace(names, ",", " ").split() if isinstance(names, str) else list(names)


def _identifier(name: object) -> str:
    """The name, if it is one that a class of the plan may have."""
    if type(name) is not str:
        raise TypeError("names must be strings")
    if not may_write(name):
        raise ValueError(f"the name {name!r} is not available in plans")
    return name


def namedtuple(
    typename: str,
    field_names: str | Iterable[str],
    *,
    rename: bool = False,
    defaults: Iterable[object] | None = None,
) -> type:
    """``collections.namedtuple``; it checks the names itself, and only exact strings reach it."""
    names, rename = _names(field_names), bool(rename)
    checked = [name if rename and type(name) is str else _identifier(name) for name in names]
    make: Any = collections.namedtuple
    made: type = make(_identifier(typename), checked, rename=rename, defaults=defaults, module=PLAN_NAME)
    match_by_keyword(made)
    return made


class NamedTupleMaker:
    """``typing.NamedTuple``: a base class, or called with a name and pairs of a field and its type."""

    def __call__(self, typename: str, fields: Iterable[tuple[str, object]] = (), /) -> type:
        """Make a class."""
        return namedtuple(typename, [name for name, _ in fields])

    def __mro_entries__(self, _bases: object) -> tuple[type, ...]:
        entries: tuple[type, ...] = typing.NamedTuple.__mro_entries__((typing.NamedTuple,))  # type: ignore[attr-defined]
        return entries

    def __repr__(self) -> str:
        return "typing.NamedTuple"


class Fields:
    """A dataclass's fields where an instance's own attributes cannot hide them: the library reads what they name."""

    __slots__ = ("_fields_",)

    def __init__(self, fields: object) -> None:
        self._fields_ = fields

    def __get__(self, _instance: object, _owner: object = None) -> object:
        return self._fields_

    def __set__(self, _instance: object, _value: object) -> NoReturn:
        raise AttributeError("the fields of a dataclass are read-only")


def dataclass(cls: type | None = None, /, **options: Any) -> Any:
    """``dataclasses.dataclass`` for the plan's own classes."""
    if cls is None:
        return functools.partial(dataclass, **options)
    exact = {name: bool(value) for name, value in options.items()}
    made: type | None = None
    try:
        made = dataclasses.dataclass(**exact)(_own_class(cls))
    finally:
        for each in (cls, made):  # with slots=True it is another class; where it failed, half of the work is done
            if is_own_class(each):
                _close_fields(each)
    return made


def _close_fields(cls: Any) -> None:
    fields = vars(cls).get(_FIELDS)
    if isinstance(fields, dict):
        type.__setattr__(cls, _FIELDS, Fields(fields))
    match_by_keyword(cls)


def total_ordering(cls: type) -> type:
    """``functools.total_ordering`` for the plan's own classes."""
    return functools.total_ordering(_own_class(cls))


def _own_class(cls: object) -> Any:
    if not is_own_class(cls):
        raise TypeError(f"{cls!r} is not a class of the plan's own")
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


def _member(name: object, value: object) -> tuple[str, object]:
    return _identifier(name), value


class PlanEnumMeta(enum.EnumMeta):
    """Checks the names of enums that are made by a call: Python gives a meaning to some."""

    def __call__(cls, value: Any, names: Any = None, *rest: Any, **options: Any) -> Any:
        """Look a member up, or make an enum."""
        if names is None:
            return super().__call__(value, *rest, **options)
        if rest or options.keys() - {"start"}:
            raise TypeError("Enum(name, members) takes no more than start= in plans")
        given = _names(names.items() if isinstance(names, Mapping) else names)
        members = [_identifier(each) if isinstance(each, str) else _member(*each) for each in given]
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
    "abc": {"abstractmethod": abstractmethod},
    "collections": {"namedtuple": namedtuple},
    "contextlib": {"contextmanager": contextmanager},
    "copy": {"copy": copy.copy},
    "dataclasses": {"dataclass": dataclass},
    "enum": {"Enum": Enum, "Flag": Flag, "IntEnum": IntEnum, "IntFlag": IntFlag, "StrEnum": StrEnum},
    "functools": {"total_ordering": total_ordering, "wraps": wraps},
    "typing": typing_names.NAMES | {"NamedTuple": NamedTupleMaker()},
}
"""Module to its names that are ours."""
