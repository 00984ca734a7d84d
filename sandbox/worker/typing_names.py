"""``typing`` in plans: names that may be written, subscripted and derived from, and mean nothing.

The real ones keep strings as expressions and evaluate them without any policy.
"""

import collections
from typing import Any

from sandbox.policy.tables import MODULES


class Hint:
    """A name that stands in an annotation or an alias."""

    __slots__ = ("_title_",)

    def __init__(self, title: str) -> None:
        self._title_ = title

    def __getitem__(self, _item: object) -> "Hint":
        return self

    def __or__(self, _other: object) -> "Hint":
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"typing.{self._title_}"


class Generic:
    """A base class with type parameters that mean nothing."""

    __slots__ = ()

    def __class_getitem__(cls, _item: object) -> type:
        return cls


class Protocol(Generic):
    """A base class that describes; deriving from it checks nothing."""

    __slots__ = ()


class TypedDict(dict[str, Any]):
    """A base class for dicts with known keys."""


def cast(_type: object, value: object) -> object:
    """The value."""
    return value


def same(value: object) -> object:
    """What decorators that only inform a type checker return."""
    return value


def new_type(_name: str, base: Any) -> Any:
    """``NewType``: calling the result returns its argument, as Python's does."""
    return same


def type_variable(name: str, *_constraints: object, **_options: object) -> Hint:
    """``TypeVar`` and ``ParamSpec``."""
    return Hint(str(name))


def _classes() -> dict[str, Any]:
    """Names that plans also use in isinstance."""
    pairs = {"List": list, "Dict": dict, "Set": set, "FrozenSet": frozenset, "Tuple": tuple, "Text": str}
    abstract = "Callable Collection Container Hashable Iterable Iterator Mapping MutableMapping Sequence Sized"
    return pairs | {name: getattr(collections.abc, name) for name in abstract.split()}


NAMES: dict[str, Any] = {
    **{name: Hint(name) for name in MODULES["typing"]},
    **_classes(),
    "Any": object,
    "Generic": Generic,
    "NewType": new_type,
    "ParamSpec": type_variable,
    "Protocol": Protocol,
    "TYPE_CHECKING": False,
    "TypeVar": type_variable,
    "TypedDict": TypedDict,
    "cast": cast,
    "final": same,
    "overload": same,
    "runtime_checkable": same,
}
"""``typing.List`` is list itself, and so on: subscripts and isinstance work."""
