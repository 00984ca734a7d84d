"""Our own versions of library names that would let a plan change or read what is not its own."""

import abc
import calendar
import collections
import contextlib
import copy
import dataclasses
import functools
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from sandbox.worker import typing_names
from sandbox.worker.enums import ENUMS
from sandbox.worker.guards import PLAN_NAME, is_own_class, is_own_function, match_by_keyword, write
from sandbox.worker.naming import identifier, names_of

_FIELDS = "__dataclass_fields__"
_COPIED = ("__module__", "__name__", "__qualname__", "__doc__")


def namedtuple(
    typename: str,
    field_names: str | Iterable[str],
    *,
    rename: bool = False,
    defaults: Iterable[object] | None = None,
) -> type:
    """``collections.namedtuple``; it checks the names itself, and only exact strings reach it."""
    names, rename = names_of(field_names), bool(rename)
    checked = [name if rename and type(name) is str else identifier(name) for name in names]
    make: Any = collections.namedtuple
    made: type = make(identifier(typename), checked, rename=rename, defaults=defaults, module=PLAN_NAME)
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


MODULES: dict[str, dict[str, Any]] = {
    "abc": {"abstractmethod": abstractmethod},
    "collections": {"namedtuple": namedtuple},
    "contextlib": {"contextmanager": contextmanager},
    "copy": {"copy": copy.copy},
    "dataclasses": {"dataclass": dataclass},
    "enum": ENUMS,
    "functools": {"total_ordering": total_ordering, "wraps": wraps},
    "typing": typing_names.NAMES | {"NamedTuple": NamedTupleMaker()},
}
"""Module to its names that are ours."""
