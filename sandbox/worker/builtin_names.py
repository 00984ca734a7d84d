"""The builtins of a plan: the harmless ones as they are, guards in place of the others."""

import abc
import builtins
import dataclasses
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sandbox.policy.tables import HOOKS, PLAIN_ANNOTATIONS
from sandbox.worker import classes, guards

_AS_THEY_ARE = """abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate
filter float format frozenset hash hex id int isinstance issubclass iter len list map max min next object oct ord pow
property range repr reversed round set slice sorted staticmethod str sum super tuple zip Ellipsis NotImplemented"""


def _exceptions() -> Mapping[str, type[BaseException]]:
    return {
        name: member
        for name, member in vars(builtins).items()
        if isinstance(member, type) and issubclass(member, BaseException)
    }


F = TypeVar("F", bound=Callable[..., Any])

FIXED: dict[str, Any] = {
    **{name: getattr(builtins, name) for name in _AS_THEY_ARE.split()},
    **_exceptions(),
    "__build_class__": classes.build_class,
    "__debug__": True,
    "delattr": guards.guarded_delattr,
    "dir": guards.guarded_dir,
    "setattr": guards.guarded_setattr,
    "type": guards.PlanType,
    "vars": guards.own_dict,
    **{HOOKS[name]: getattr(builtins, name) for name in PLAIN_ANNOTATIONS},
    HOOKS["write"]: guards.write,
    HOOKS["__class__"]: guards.type_of,
    HOOKS["__dict__"]: guards.own_dict,
    HOOKS["ClassVar"]: typing.ClassVar,
    HOOKS["InitVar"]: dataclasses.InitVar,
    HOOKS["KW_ONLY"]: dataclasses.KW_ONLY,
    HOOKS["ABCMeta"]: abc.ABC,
    HOOKS["__getattr__"]: guards.missing_name,
    HOOKS["__init_subclass__"]: classes.announced,
    HOOKS["__set_name__"]: classes.announced,
}
"""The same for every session."""


def printer(write: Callable[[str], None]) -> Callable[..., None]:
    """A ``print`` that hands its text to ``write``."""

    def print(
        *values: object, sep: str | None = None, end: str | None = None, file: None = None, flush: bool = False
    ) -> None:
        """Print the values, as Python's own print does."""
        for name, text in (("sep", sep), ("end", end)):
            if text is not None and not isinstance(text, str):
                raise TypeError(f"{name} must be None or a string, not {type(text).__name__}")
        if file is not None:
            raise TypeError("print takes no file= in plans: what is printed is the cell's output")
        between, texts = " " if sep is None else sep, list[str]()
        try:
            texts.extend(map(str, values))
        except BaseException:
            if texts:
                write(str.join(between, [*texts, ""]))  # what came before the value without a text was written
            raise
        ending = "\n" if end is None else end
        write("".join((str.join(between, texts), ending)))  # an exact str, whatever the plan's classes make of theirs

    return as_builtin(print, "print")


def as_builtin(function: F, name: str) -> F:
    """The function, called in messages what the plan calls it."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = "builtins"
    return function
