"""What the policy could not decide when it compiled: writes, types, classes, and what is the plan's own."""

import copyreg
import types
from collections import defaultdict
from collections.abc import Callable
from dataclasses import Field
from decimal import Context
from random import Random
from typing import Any, NoReturn

from sandbox.policy.rules import (
    attribute_hint,
    is_dunder,
    is_hidden,
    is_plain,
    may_read,
    may_write,
)

PLAN_NAME = "".join(("__main", "__"))
"""The plan's ``__name__``. Classes and functions are the plan's own if theirs is this very object: no other string
is it, however equal, and plans can assign neither ``__name__`` nor ``__module__``."""
_HIDDEN_TYPES = (
    types.ModuleType,
    types.FrameType,
    types.CodeType,
    types.TracebackType,
    types.CellType,
    Random,  # its methods, called with another object, set attributes of that
    types.GenericAlias,  # called, it sets an attribute of whatever it makes
    Field,  # the library compiles code out of the names that one derived from it gives
)
_SETTABLE = (BaseException, defaultdict, Context)
"""Library classes whose instances' attributes plans may set: an exception's own, ``default_factory``, ``prec``."""
_BOUND = (types.MethodType, types.MethodWrapperType)
_protected: set[type] = set()
_KEEP = "keep the value in a variable or an object of your own"


class Forbidden(AttributeError):
    """A plan reached for an attribute that no plan may use."""


def protect(cls: type) -> None:
    """Make the instances of a class read-only, not copyable and closed to ``type()``.

    Its own attributes must have names that the policy hides (``_x_``), or that plans may see. Raises ValueError if not.
    """
    shown = [name for name in dir(cls) if name.startswith("_") and is_plain(name) and not is_dunder(name)]
    settable = [name for name in ("__setitem__", "__delitem__") if hasattr(cls, name)]
    if shown or settable:
        raise ValueError(
            f"{cls.__name__} shows plans {', '.join(shown + settable)}; call attributes _x_, drop the others"
        )
    _protected.add(cls)
    copyreg.pickle(cls, _refuse_copy)


def _refuse_copy(value: object) -> NoReturn:
    raise TypeError(f"{value!r} can't be copied; use it as it is")


def bound(function: Callable[..., Any], *first: object) -> Callable[..., Any]:
    """The function with its first arguments given, which nobody can read from it as from a ``partial``."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*first, *args, **kwargs)

    return call


def is_host(value: object) -> bool:
    """Whether the value is the host's or a module: neither may be made anew or changed."""
    return type(value) in _protected or isinstance(value, types.ModuleType)


def is_closed(cls: type) -> bool:
    """Whether no class may be derived from it: its instances are the host's, or the library trusts them."""
    return cls in _protected or issubclass(cls, (type, Field))


def is_own_class(cls: object) -> bool:
    """Whether a plan made the class."""
    return isinstance(cls, type) and type.__getattribute__(cls, "__module__") is PLAN_NAME


def is_own_function(value: object) -> bool:
    """Whether a plan made the function."""
    return type(value) is types.FunctionType and value.__globals__.get("__name__") is PLAN_NAME


def name_of(name: object) -> str:
    """The attribute name, if it is an exact string: a subclass could answer the policy one thing and Python another."""
    if type(name) is not str:
        raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
    return name


def refuse(name: str, verb: str = "read") -> NoReturn:
    """Raise, with what to write instead."""
    raise Forbidden(f"plans may not {verb} the attribute `{name}`: {attribute_hint(name)}", name=name)


def write(target: Any) -> Any:
    """The object itself, if its attributes may be set: it is an instance, a class or a function of the plan's own."""
    cls = type(target)
    if cls.__module__ is PLAN_NAME or cls is types.SimpleNamespace or is_own_class(target) or is_own_function(target):
        return target
    if isinstance(target, type):
        what = f"cannot set attributes of the class '{target.__name__}': it is not the plan's own"
        raise TypeError(f"{what}; derive a class from it and set them there")
    if is_host(target):
        raise AttributeError(f"{target!r} is read-only; {_KEEP}")
    bare = cls.__module__ == "builtins" and not hasattr(target, "__dict__")
    if bare or isinstance(target, _SETTABLE):
        return target  # where a value has no room for attributes, Python's own message says so
    raise AttributeError(f"'{cls.__name__}' object is read-only in plans; {_KEEP}")


def check_writable(name: str, verb: str) -> None:
    """Raise unless plans may set and delete attributes of that name; ``verb`` says what this one does."""
    if not may_write(name_of(name)):
        refuse(name, verb)


def guarded_setattr(target: object, name: str, value: object) -> None:
    """``setattr`` under the policy."""
    check_writable(name, "set")
    setattr(write(target), name, value)


def guarded_delattr(target: object, name: str) -> None:
    """``delattr`` under the policy."""
    check_writable(name, "delete")
    delattr(write(target), name)


def object_setattr(target: object, name: str, value: object) -> None:
    """``object.__setattr__`` under the policy: how a frozen dataclass sets its own fields."""
    check_writable(name, "set")
    object.__setattr__(write(target), name, value)


def object_delattr(target: object, name: str) -> None:
    """``object.__delattr__`` under the policy."""
    check_writable(name, "delete")
    object.__delattr__(write(target), name)


def own_dict(*target: object) -> dict[str, object]:
    """``vars(x)``, for instances of the plan's own classes."""
    if len(target) != 1 or not is_own_instance(target[0]):
        raise TypeError("vars() takes an object of one of the plan's own classes; of others, name the attributes")
    return vars(target[0])


def is_own_instance(target: object) -> bool:
    """Whether the value is of a class of the plan's, or a namespace: its variables are the plan's own."""
    cls = type(target)
    return cls is types.SimpleNamespace or (cls.__module__ is PLAN_NAME and not isinstance(target, type))


def missing_name(found: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """A class's own ``__getattr__``, asked for ordinary names only.

    Libraries ask objects for special ones, and trust what they get: typing evaluates the texts of ``__annotations__``.
    """

    def ask(self: Any, name: str) -> Any:
        if is_hidden(name):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)
        return found(self, name)

    return ask


def guarded_dir(target: object) -> list[str]:
    """``dir(x)``, without the names that plans can't use."""
    return [name for name in dir(target) if may_read(name)]


def initialiser(target: object, found: Any) -> Any:
    """A class's or an object's ``__init__``, which sets insides of the plan's own objects and of no others.

    Written in C too: a ``property`` that all sessions share would be made anew. Written by the plan, its stores are
    guarded.
    """
    if isinstance(found, _BOUND) and not is_own_function(getattr(found, "__func__", None)):
        return found if type(found.__self__).__module__ is PLAN_NAME else refuse("__init__")
    if not isinstance(found, types.WrapperDescriptorType):
        return of_instances(target, "__init__", found)
    return _of(target, "__init__", found)


def of_instances(target: Any, name: str, found: Any) -> Any:
    """A library's special method as a class, or ``super()`` of a class, gives it: for the plan's own instances.

    Called with any other object, it would read or set that one's attributes without a guard.
    """
    if type(found) is not types.FunctionType or is_own_function(found):
        return found
    return _of(target, name, found)


def _of(target: Any, name: str, found: Callable[..., Any]) -> Any:
    if not isinstance(target, (type, super)):
        refuse(name)  # an alias such as list[int] has the attributes of its class
    kind: Any = target if isinstance(target, type) else vars(super)["__thisclass__"].__get__(target)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not args or kind not in type(args[0]).__mro__ or not is_own_instance(args[0]):
            raise TypeError(f"{kind.__name__}.{name}() takes an object of a class of the plan's own")
        return found(*args, **kwargs)

    return call


class TypeMeta(type):
    """Makes ``type`` in plans what it is for one argument, and in isinstance, and no more."""

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        """``type(x)``; making classes by calling is refused."""
        if len(args) == 3:
            raise TypeError("type() takes one argument in plans; write a class statement")
        if len(args) != 1 or kwargs:
            raise TypeError("type() takes 1 or 3 arguments")
        return type_of(args[0])

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, type)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, type)

    def __repr__(cls) -> str:
        return repr(type)


class PlanType(metaclass=TypeMeta):
    """Plans know it as ``type``."""


PlanType.__name__ = PlanType.__qualname__ = "type"


def type_of(value: object) -> Any:
    """The type of a value, unless it opens the host's insides; of a class, it is the plans' own ``type``."""
    cls = type(value)
    if issubclass(cls, type):
        return PlanType
    if cls in _protected or issubclass(cls, _HIDDEN_TYPES):
        raise TypeError(f"the type of {value!r} is not available in plans; repr(x) and callable(x) tell what it is")
    return cls
