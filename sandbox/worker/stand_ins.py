"""Our own versions of library names that would let a plan change or read what is not its own."""

import abc
import calendar
import collections
import dataclasses
import functools
import random
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from sandbox.worker import queues, typing_names
from sandbox.worker.classes import check_fields, field, settle
from sandbox.worker.enums import ENUMS
from sandbox.worker.guards import PLAN_NAME, is_own_class, is_own_function, write
from sandbox.worker.naming import identifier, names_of

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
    settle(made)
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


def dataclass(cls: type | None = None, /, **options: Any) -> Any:
    """``dataclasses.dataclass`` for the plan's own classes."""
    if cls is None:
        return lambda cls: dataclass(cls, **options)
    exact = {name: bool(value) for name, value in options.items()}
    check_fields(_own_class(cls).__mro__)
    described = cls.__doc__
    cls.__doc__ = described or "undescribed"  # else the library describes it, with the texts of the plan's own objects
    made: type | None = None
    try:
        made = dataclasses.dataclass(**exact)(cls)
    finally:
        for each in (cls, made):  # with slots=True it is another class; where it failed, half of the work is done
            if is_own_class(each):
                settle(each)
                each.__doc__ = described
    return made


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

    choose = dispatch.dispatch

    def dispatched(cls: Any) -> Any:
        if not isinstance(cls, type):
            raise TypeError("dispatch takes a class")  # what poses as one is handed others, to compare
        return choose(cls)

    dispatch.register, dispatch.dispatch = registered, dispatched  # type: ignore[method-assign]
    return dispatch


def abstractmethod(function: Any) -> Any:
    """``abc.abstractmethod`` for what the plan may change."""
    return abc.abstractmethod(write(function))


class SessionRandom(random.Random):
    """``random.Random``, whose ``seed()`` takes a number that ``draw`` gives, for 64 bits, not the machine's."""

    def __new__(cls, *_given: Any) -> "SessionRandom":
        """A generator, seeded in a moment."""
        return super().__new__(cls, 0)  # type: ignore[call-arg]

    def __init__(self, draw: Callable[[int], int], x: Any = None) -> None:
        self._draw_ = draw
        super().__init__(x)

    def seed(self, a: Any = None, version: int = 2) -> None:
        """As Python's own, but for what it does without a number."""
        super().seed(self._draw_(64) if a is None else a, version)

    def __reduce__(self) -> tuple[Any, ...]:
        return SessionRandom, (self._draw_, 0), self.getstate()


SessionRandom.__module__, SessionRandom.__name__, SessionRandom.__qualname__ = "random", "Random", "Random"


class RandomMaker:
    """``random.Random``; without a seed it starts from a number that ``draw`` gives, for 64 bits."""

    __slots__ = ("_draw_",)

    def __init__(self, draw: Callable[[int], int]) -> None:
        self._draw_ = draw

    def __call__(self, x: Any = None) -> random.Random:
        """A generator of its own."""
        return SessionRandom(self._draw_, x)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, random.Random)

    def __mro_entries__(self, _bases: object) -> NoReturn:
        raise TypeError("random.Random cannot be a base class in plans; keep one in an attribute of your own class")

    def __repr__(self) -> str:
        return repr(random.Random)


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
    "abc": {"ABCMeta": abc.ABC, "abstractmethod": abstractmethod},
    "calendar": {name: tuple(getattr(calendar, name)) for name in ("day_abbr", "day_name", "month_abbr", "month_name")},
    "collections": {"namedtuple": namedtuple},
    "dataclasses": {"dataclass": dataclass, "field": field},
    "enum": ENUMS,
    "functools": {"singledispatch": singledispatch, "total_ordering": total_ordering, "wraps": wraps},
    "queue": queues.NAMES,
    "typing": typing_names.NAMES | {"NamedTuple": NamedTupleMaker()},
}
"""Module to its names that are ours."""
