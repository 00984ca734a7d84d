"""Class statements, and what keeps the classes that they make from reading or setting what is not the plan's own."""

import dataclasses
import types
from collections.abc import Callable, Iterable
from dataclasses import Field
from functools import wraps
from typing import Any, NoReturn

from sandbox.policy.rules import is_plain, may_write
from sandbox.worker.guards import PlanType, is_closed, is_host, is_own_class, refuse

FIELDS = "__dataclass_fields__"
_ITSELF = classmethod(lambda cls, _item: cls)
"""Subscripting a class of the plan's gives that class: Python's alias sets an attribute of whatever its call makes."""
_BUILD_CLASS = __build_class__
_FIELD = dataclasses.field


class Fields:
    """A dataclass's fields where an instance's own attributes cannot hide them: the library reads what they name."""

    __slots__ = ("_fields_",)

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields_ = fields

    def __get__(self, _instance: object, _owner: object = None) -> object:
        if any(type(field) is not Field or field.name is not name for name, field in self._fields_.items()):
            raise TypeError("a field of this dataclass was given to another one; write field(...) for each")
        return self._fields_

    def __set__(self, _instance: object, _value: object) -> NoReturn:
        raise AttributeError("the fields of a dataclass are read-only")


def build_class(body: Any, name: str, /, *bases: Any, **keywords: Any) -> type:
    """What a class statement calls. Refuses bases that would make a metaclass or open a host object."""
    for keyword in keywords:
        if keyword == "metaclass" or keyword.startswith("_"):
            raise TypeError(f"class statements take no {keyword}= in plans; derive from ABC, or use a class decorator")
    kinds: tuple[Any, ...] = tuple(types.resolve_bases(bases))  # once: an object's own variables may name its bases
    for base in kinds:
        if not isinstance(base, type) or is_host(base) or base is PlanType or is_closed(base):
            raise TypeError(f"{base!r} cannot be a base class in plans; keep the object in an attribute instead")
    check_fields({each for base in kinds for each in base.__mro__})
    made: type = _BUILD_CLASS(body, name, *kinds, **keywords)
    if isinstance(made, type):
        check_fields(made.__mro__)
        settle(made)
    return made


def announced(found: Any) -> Callable[..., Any]:
    """A class's own ``__init_subclass__`` or ``__set_name__``: Python calls it before the class statement is done."""
    function = found.__func__ if isinstance(found, classmethod) else found

    @wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        for each in (self, *args[:1]):
            if is_own_class(each):
                settle(each)
        return function(self, *args, **kwargs)

    return call


def settle(cls: Any) -> None:
    """Make a class of the plan's harmless, however far the making of it has come. Twice does no more than once."""
    for slot, member in vars(cls).items():
        if type(member) is types.MemberDescriptorType and not may_write(slot):
            refuse(slot, "set")
    first = next((each for each in cls.__mro__ if "__class_getitem__" in vars(each)), cls)
    if not is_own_class(first):
        type.__setattr__(cls, "__class_getitem__", _ITSELF)
    if isinstance(fields := vars(cls).get(FIELDS), dict):
        type.__setattr__(cls, FIELDS, Fields(fields))
    if not all(map(is_plain, vars(cls).get("__match_args__", ()))):
        type.__setattr__(cls, "__match_args__", ())  # a positional pattern reads what is but a virtual instance, too


def field(**options: Any) -> Any:
    """``dataclasses.field``, with a mapping of its own for the one that all share: comparing shows its inside."""
    made: Any = _FIELD(**options)
    if not made.metadata:
        made.metadata = types.MappingProxyType({})
    return made


def guard_fields() -> None:
    """From now on those that the library makes by itself are made so too: plan code runs before it is done."""
    dataclasses.field = field


def check_fields(classes: Iterable[type]) -> None:
    """Refuse annotated names that ``dataclasses`` would read, without any guard, from what is not the plan's own.

    ``classes`` are all those that one is derived from, with itself where it is made already.
    """
    every = list(classes)
    ours = [each for each in every if is_own_class(each)]
    for name in {name for each in ours for name in each.__annotations__}:
        if not may_write(name) or (not is_plain(name) and any(name in vars(c) for c in every if c not in ours)):
            refuse(name, "set")
