"""Our own versions of enum's classes."""

import enum
from collections.abc import Callable, Mapping
from typing import Any

from sandbox.worker.guards import PLAN_NAME, is_own_class
from sandbox.worker.naming import identifier, names_of


def _member(name: object, value: object) -> tuple[str, object]:
    return identifier(name), value


def _own_members(make: Any) -> Callable[..., object]:
    function = make.__func__ if isinstance(make, staticmethod) else make

    def __new__(cls: type, *args: object, **kwargs: object) -> object:  # noqa: N807
        made = function(cls, *args, **kwargs)
        if cls not in type(made).__mro__:
            raise TypeError(f"{cls.__name__}.__new__ must return a member, not a value of type {type(made).__name__}")
        return made

    return __new__


class PlanEnumMeta(enum.EnumMeta):
    """Checks the names of enums that are made by a call, and what the members of all are made of.

    Python gives a meaning to some names, and sets attributes of whatever a ``__new__`` returns.
    """

    def __new__(metacls, name: str, bases: tuple[type, ...], members: Any, **options: Any) -> Any:
        """Make an enum of a class statement or a call."""
        mixed_in = {each for base in bases for each in base.__mro__ if is_own_class(each)}
        if any("__new__" in vars(each) for each in mixed_in if not isinstance(each, PlanEnumMeta)):
            raise TypeError("a class mixed into an enum takes no __new__ in plans; define it in the enum")
        if "__new__" in members:
            dict.__setitem__(members, "__new__", _own_members(members["__new__"]))
        return super().__new__(metacls, name, bases, members, **options)

    def __call__(cls, value: Any, names: Any = None, *rest: Any, **options: Any) -> Any:
        """Look a member up, or make an enum."""
        if names is None:
            return super().__call__(value, *rest, **options)
        if rest or options.keys() - {"start"}:
            raise TypeError("Enum(name, members) takes no more than start= in plans; write a class statement")
        given = names_of(names.items() if isinstance(names, Mapping) else names)
        members = [identifier(each) if isinstance(each, str) else _member(*each) for each in given]
        return super().__call__(identifier(value), members, module=PLAN_NAME, **options)

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

_missing: Any = vars(enum.Flag)["_missing_"].__func__


@classmethod  # type: ignore[misc]
def _missing_exactly(cls: Any, value: Any) -> Any:
    """``Flag._missing_``: a library's flags keep what they make of a value for all, so it is to be no plan's object."""
    exact = isinstance(value, int) and not is_own_class(cls)
    return _missing(cls, int.__int__(value) if exact else value)


def guard_flags() -> None:
    """From now on a library's flags are made of exact numbers, in the whole process."""
    enum.Flag._missing_ = _missing_exactly  # type: ignore[assignment]


ENUMS: dict[str, Any] = {each.__name__: each for each in (Enum, IntEnum, StrEnum, Flag, IntFlag)}
