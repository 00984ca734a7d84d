"""``typing.Protocol`` in plans: isinstance looks at the members, as Python's does, where the plan asks for it."""

import abc
from collections.abc import Iterator
from typing import Any

_MISSING = object()


class Generic:
    """A base class with type parameters that mean nothing."""

    __slots__ = ()

    def __class_getitem__(cls, _item: object) -> type:
        return cls


class ProtocolMeta(abc.ABCMeta):
    """Makes isinstance and issubclass ask for members."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an instance, but not of a protocol itself."""
        if _describes(cls):
            raise TypeError("Protocols cannot be instantiated")
        return super().__call__(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        if not _describes(cls):
            return super().__instancecheck__(instance)
        _require_runtime(cls)
        return cls in type(instance).__mro__ or all(_has(cls, instance, name) for name in _members(cls))

    def __subclasscheck__(cls, subclass: type) -> bool:
        if not _describes(cls) or not isinstance(subclass, type):
            return super().__subclasscheck__(subclass)
        _require_runtime(cls)
        if not all(callable(getattr(cls, name, None)) for name in _members(cls)):
            raise TypeError("Protocols with non-method members don't support issubclass()")
        return all(any(name in vars(base) for base in subclass.__mro__) for name in _members(cls))


class Protocol(Generic, metaclass=ProtocolMeta):
    """A base class that describes."""

    __slots__ = ()
    _at_run_time_ = False


def runtime_checkable(cls: Any) -> Any:
    """``typing.runtime_checkable``: isinstance may be asked of this protocol."""
    if not isinstance(cls, ProtocolMeta) or Protocol not in cls.__bases__:
        raise TypeError(f"@runtime_checkable can be only applied to protocol classes, got {cls!r}")
    cls._at_run_time_ = True  # type: ignore[attr-defined]
    return cls


def _describes(cls: type) -> bool:
    """Whether the class is a protocol itself, and does not just implement one."""
    return cls is Protocol or Protocol in cls.__bases__


def _require_runtime(cls: type) -> None:
    if not vars(cls).get("_at_run_time_", False):
        raise TypeError("Instance and class checks can only be used with @runtime_checkable protocols")


def _members(cls: type) -> Iterator[str]:
    for base in cls.__mro__:
        if base is not Protocol and _describes(base):
            for name in {**vars(base), **vars(base).get("__annotations__", {})}:
                if not name.startswith(("_abc_", "_at_run_time_")) and name not in _OF_EVERY_CLASS:
                    yield name


def _has(cls: type, instance: object, name: str) -> bool:
    """A method counts as missing where it was set to None."""
    found = getattr(instance, name, _MISSING)
    return found is not _MISSING and (found is not None or not callable(getattr(cls, name, None)))


_OF_EVERY_CLASS = frozenset(
    f"__{name}__"
    for name in "abstractmethods annotations class_getitem dict doc module slots weakref parameters match_args".split()
)
