"""The namespace of a session's plans: Python's builtins, but for what is refused, and a few with a guard.

The guards refuse by name what the check refuses in source. They hold no hostile plan: the process does.
"""

import builtins
import functools
import io
import operator
import string
import sys
import types
from collections import UserString
from collections.abc import Callable
from typing import Any

from planbook.sandbox.policy.rules import attribute_hint, refused_in_template
from planbook.sandbox.policy.tables import FORMATS, GUARD, REFUSED_ATTRIBUTES, REFUSED_BUILTINS
from planbook.sandbox.worker import imports
from planbook.sandbox.worker.clock import as_builtin

MAIN = "__main__"
_KEPT = frozenset({"__build_class__", "__debug__", "__import__"})
"""Special names among the builtins that running code needs."""


class RefusedAttribute(AttributeError):
    """A plan reached for an attribute that no plan may use."""


RefusedAttribute.__name__ = RefusedAttribute.__qualname__ = "AttributeError"
RefusedAttribute.__module__ = "builtins"


def _checked(name: Any) -> Any:
    """Return the name of an attribute. Raises RefusedAttribute."""
    if isinstance(name, str) and (plain := str.__str__(name)) in REFUSED_ATTRIBUTES:
        raise RefusedAttribute(f"plans may not use the attribute `{plain}`: {attribute_hint(plain)}", name=plain)
    return name


def _getattr(target: Any, name: str, /, *default: Any) -> Any:
    found = getattr(target, _checked(name), *default)
    if name == "__dict__" and isinstance(target, types.ModuleType):
        raise RefusedAttribute(f"plans may not use the attribute `__dict__` of {target!r}: use dir()", name=name)
    return _formatter(found) if name in FORMATS else found


def _vars(*target: Any) -> Any:
    return _getattr(target[0], "__dict__") if len(target) == 1 else sys._getframe(1).f_locals


def _hasattr(target: Any, name: str, /) -> bool:
    return hasattr(target, _checked(name))


def _setattr(target: Any, name: str, value: Any, /) -> None:
    setattr(target, _checked(name), value)


def _delattr(target: Any, name: str, /) -> None:
    delattr(target, _checked(name))


def _formatter(found: Any) -> Any:
    """Return a method ``format`` or ``format_map``; that of a text with a check of its template."""
    if found is str.format or found is str.format_map:
        return lambda template, *args, **kwargs: found(_template(template), *args, **kwargs)
    if isinstance(found, types.BuiltinMethodType) and isinstance(found.__self__, str):
        _template(found.__self__)
    return found


def _template(template: Any) -> Any:
    """Return a template that reads no refused attribute. Raises RefusedAttribute."""
    try:
        name = refused_in_template(str.__str__(template)) if isinstance(template, str) else None
    except ValueError:  # Python's own format will say so
        name = None
    return template if name is None else _checked(name)


def _attrgetter(*names: str) -> Any:
    for name in names:
        for part in name.split(".") if isinstance(name, str) else ():
            _checked(part)
    return _ATTRGETTER(*names)


def _methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Any:
    return _METHODCALLER(_checked(name), *args, **kwargs)


def _print(*values: Any, file: Any = None, **options: Any) -> None:
    """Print as Python does, but in one piece: each piece is a message to the host."""
    text = io.StringIO()
    try:
        _PRINT(*values, file=text, **options)
    finally:
        (sys.stdout if file is None else file).write(text.getvalue())


_ATTRGETTER, _METHODCALLER, _PRINT = operator.attrgetter, operator.methodcaller, print
_GUARDED: dict[str, Callable[..., Any]] = {
    "getattr": _getattr,
    "hasattr": _hasattr,
    "setattr": _setattr,
    "delattr": _delattr,
    "print": _print,
    "vars": _vars,
}


def guard_library() -> None:
    """Have the library's functions that take names of attributes refuse the same ones, in the whole process."""
    operator.attrgetter = functools.wraps(_ATTRGETTER, updated=())(_attrgetter)  # type: ignore[misc, assignment]
    operator.methodcaller = functools.wraps(_METHODCALLER, updated=())(_methodcaller)  # type: ignore[misc, assignment]
    vars(string)["getattr"] = _getattr  # of string.Formatter
    for name in FORMATS:
        setattr(UserString, name, _of_data(getattr(UserString, name)))


def _of_data(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        _template(self.data)
        return method(self, *args, **kwargs)

    return checked


def namespace(*, guarded: bool) -> dict[str, Any]:
    """Return the namespace of a session: that of the module ``__main__``. Without guards it has Python's builtins."""
    main = types.ModuleType(MAIN)
    sys.modules[MAIN] = main
    names = vars(main)
    names["__builtins__"] = _builtins() if guarded else {**vars(builtins), "print": _print}
    return names


def _builtins() -> dict[str, Any]:
    real = {
        name: value
        for name, value in vars(builtins).items()
        if name not in REFUSED_BUILTINS and (name in _KEPT or not name.startswith("_"))
    }
    guards = {name: as_builtin(guard, name) for name, guard in _GUARDED.items()}
    return real | guards | {"__import__": imports.importer(), GUARD: _getattr}
