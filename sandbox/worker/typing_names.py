"""``typing`` in plans: names that may be written, subscripted and derived from, and mean nothing.

The real ones keep strings as expressions and evaluate them without any policy.
"""

import collections
import functools
import operator
import types
from typing import Any, NoReturn

from sandbox.policy.tables import MODULES
from sandbox.worker import protocols
from sandbox.worker.protocols import Generic


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


class TypedDict(dict[str, Any]):
    """A base class for dicts with known keys."""

    def __init_subclass__(cls, *, total: bool = True) -> None:
        """Whether all keys must be there means nothing when the plan runs."""


class Choice(Hint):
    """``Union`` and ``Optional``: of types, what isinstance understands."""

    __slots__ = ()

    def __getitem__(self, item: object) -> Any:
        kinds = item if isinstance(item, tuple) else (item,)
        if all(isinstance(kind, (type, types.UnionType)) or kind is None for kind in kinds):
            return functools.reduce(operator.or_, (*kinds, None) if self._title_ == "Optional" else kinds)
        return self


def cast(_type: object, value: object) -> object:
    """The value."""
    return value


def same(value: object) -> object:
    """What decorators that only inform a type checker return."""
    return value


def assert_never(value: object) -> NoReturn:
    """What must not be reached."""
    raise AssertionError(f"Expected code to be unreachable, but got: {value!r}")


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
    "Optional": Choice("Optional"),
    "Protocol": protocols.Protocol,
    "TYPE_CHECKING": False,
    "TypeVar": type_variable,
    "TypedDict": TypedDict,
    "Union": Choice("Union"),
    "assert_never": assert_never,
    "cast": cast,
    "final": same,
    "overload": same,
    "runtime_checkable": protocols.runtime_checkable,
}
"""``typing.List`` is list itself, and so on: subscripts and isinstance work."""
