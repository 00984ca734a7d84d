"""The namespace of plans: the built-ins of Python that are not refused, and the modules that plans may import.

Functions called *guards* replace built-ins such as ``getattr``. At run time, they refuse the attributes that the policy
refuses in source code. The guards do not stop a hostile plan; only the locked-down process does.
"""

import builtins
import importlib.machinery
import importlib.util
import io
import operator
import string
import sys
import traceback
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import takewhile
from typing import Any, NoReturn

from planbook.sandbox.policy.rules import (
    FORMAT_METHODS,
    GUARD,
    MODULES,
    PARTIAL_MODULES,
    PRELOADED,
    REFUSED_ATTRIBUTES,
    REFUSED_BUILTINS,
    attribute_hint,
    refused_in_template,
)
from planbook.sandbox.worker.determinism import as_builtin, builtin_function, set_in_class

# Some modules are preloaded in the zygote, the process that workers are forked from. The host, the process that opened
# the session, sends the source of the others when a plan imports them.

SourceProvider = Callable[[str], tuple[str, bool] | None]
"""Asks the host for the module with this name. Returns its source and True if it is a package, or None if the host does
not send it.
"""


class PlanModule(types.ModuleType):
    """A module whose attributes plans cannot set or delete. This class replaces the class of loaded modules."""

    def __setattr__(self, name: str, *value: object) -> NoReturn:
        raise AttributeError(f"module {self.__name__!r} is read-only; keep the value in a variable of your own")

    __delattr__ = __setattr__


as_builtin(PlanModule, "module")

MAIN = "__main__"
_ATTRIBUTE_READERS = frozenset({__name__, "functools", "logging"})
"""Modules with functions that read attributes that a plan names: the guards here, ``wraps``, and log formatters."""
_real_dict: Callable[[types.ModuleType], dict[str, Any]] = vars(types.ModuleType)["__dict__"].__get__
"""Returns the ``__dict__`` of a module."""


def _module_dict(module: types.ModuleType) -> dict[str, Any]:
    """Return the ``__dict__`` of a module to the standard library. For plans, modules have no such attribute."""
    caller = sys._getframe(1).f_globals
    if caller is _real_dict(sys.modules[MAIN]) or caller.get("__name__", __name__) in _ATTRIBUTE_READERS:
        raise AttributeError
    return _real_dict(module)


def _module_dir(module: types.ModuleType) -> list[str]:
    """Return the names in a module, as ``dir`` does."""
    names = _real_dict(module)
    return list(names["__dir__"]()) if "__dir__" in names else list(names)


class HostFinder:
    """Imports modules that the host sends as source, for plans and for code of the standard library."""

    def __init__(self) -> None:
        self.request_source: SourceProvider = lambda name: None
        self._sources: dict[str, tuple[str, bool]] = {}

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module, or None if the host does not send it."""
        source = self.request_source(name)
        if source is None:
            return None
        self._sources[name] = source
        loader: Any = self
        return importlib.machinery.ModuleSpec(name, loader, origin=f"<{name}>", is_package=source[1])

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Return None, so that Python itself creates the module object."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the source of a module."""
        source, _ = self._sources.pop(module.__name__)
        exec(compile(source, f"<{module.__name__}>", "exec", dont_inherit=True), _real_dict(module))
        if module.__name__ in MODULES:
            module.__class__ = PlanModule


FINDER = HostFinder()


def preload(modules: Collection[str], *, language_layer: bool) -> None:
    """Import the modules that plans may import, including ``modules``, and make the standard library read-only.

    If not ``language_layer`` (for tests), also import modules that give access to the machine, such as its sockets.
    """
    if importlib.util.find_spec("_md5"):
        sys.modules["_hashlib"] = None  # type: ignore[assignment]  # OpenSSL would add 4 MB to the mappings of every worker
    for name in sorted((PRELOADED | _INTERNAL_MODULES) - PARTIAL_MODULES.keys()):
        importlib.import_module(name)
    for name in PRELOADED - PARTIAL_MODULES.keys() - _WRITABLE_MODULES:
        sys.modules[name].__class__ = PlanModule
    for name in modules:
        package = importlib.import_module(name)
        for member in getattr(package, "__all__", ()):
            getattr(package, member, None)  # some packages import members only on access
    _ALLOWED_PACKAGES.update(modules)
    for name in () if language_layer else _MACHINE_MODULES:
        importlib.import_module(name)


_ALLOWED_PACKAGES: set[str] = set()
"""Packages beyond the standard library that plans may import, including their submodules."""
_WRITABLE_MODULES = {"warnings"}
"""Modules that stay writable, since code of the standard library sets their attributes at run time."""
_MACHINE_MODULES = ("_ctypes", "_posixshmem", "_posixsubprocess", "_socket", "_sqlite3", "fcntl", "mmap", "resource")
"""C modules that give access to the machine. The attacks in the tests use them."""


def restrict_imports(*, host_only: bool) -> None:
    """From now on, ask the host for every module that is neither loaded nor built in.

    If the host does not send a module, look for it in files, unless ``host_only``.
    """
    sys.meta_path.insert(1, FINDER)
    if host_only:
        del sys.meta_path[2:]
    _real_dict(sys.modules["zoneinfo._common"])["load_tzdata"] = _load_zone


def _load_zone(key: str) -> io.BytesIO:
    """Return the data of a time zone. Raises ZoneInfoNotFoundError if the host does not send it."""
    if data := FINDER.request_source(f"zoneinfo:{key}"):
        return io.BytesIO(data[0].encode("latin-1"))
    raise sys.modules["zoneinfo"].ZoneInfoNotFoundError(f"No time zone found with key {key}")


class SysModule(PlanModule):
    """The ``sys`` of plans. Its streams are the current ones, so that ``contextlib.redirect_stdout`` works."""

    stdout = property(lambda self: sys.stdout)
    stderr = property(lambda self: sys.stderr)


as_builtin(SysModule, "module")


def _partial_module(name: str) -> PlanModule:
    """Return a copy of a module with only the names that PARTIAL_MODULES lists."""
    module, real = (SysModule if name == "sys" else PlanModule)(name), _real_dict(sys.modules[name])
    _real_dict(module).update({member: real[member] for member in PARTIAL_MODULES[name] if member in real})
    return module


class Output(io.TextIOBase):
    """``sys.stdout`` and ``sys.stderr`` of a plan."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self.running_prints: list[io.StringIO] = []
        """The texts of the running calls of ``print``, outermost first. They nest if a ``__str__`` prints."""

    encoding = "utf-8"

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str, /) -> int:
        """Send the text to the host immediately, and return its length."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        for text_so_far in self.running_prints:
            if text_so_far.tell():
                self._write(text_so_far.getvalue())
                text_so_far.seek(0)
                text_so_far.truncate()
        self._write(text)
        return len(text)


def make_importer() -> Callable[..., object]:
    """Return the ``__import__`` of plans. It uses a copy of ``sys``, so ``sys.stdout`` must already be replaced."""
    partial = {name: _partial_module(name) for name in PARTIAL_MODULES}

    def load_for_plan(
        name: str, globals: object = None, locals: object = None, fromlist: Sequence[str] | None = (), level: int = 0
    ) -> object:
        if name in partial:
            return partial[name]
        top = name.partition(".")[0]
        if level or (name not in MODULES and name not in _INTERNAL_MODULES and top not in _ALLOWED_PACKAGES):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return builtins.__import__(name, None, None, fromlist or (), 0)

    return load_for_plan


_INTERNAL_MODULES = frozenset({"__future__", "_strptime"})
"""Modules that MODULES does not list, but the importer of plans accepts. Python itself imports ``__future__`` when a
plan has ``from __future__ import ...``, and the C code of ``strptime`` imports ``_strptime``.
"""


_SPECIAL_BUILTINS = frozenset({"__build_class__", "__debug__", "__import__"})
"""Built-ins with underscores that plans keep, since Python cannot run code without them."""


def _check_attribute(name: Any) -> Any:
    """Return ``name`` unchanged. Raises AttributeError if it is the name of an attribute that plans may not use."""
    if isinstance(name, str) and (plain := str.__str__(name)) in REFUSED_ATTRIBUTES:
        raise AttributeError(f"plans may not use the attribute `{plain}`: {attribute_hint(plain)}", name=plain)
    return name


def _getattr(*args: Any) -> Any:
    value = _guarded(getattr)(*args)
    return _formatter(value) if args[1] in FORMAT_METHODS else value


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a built-in that takes an object and the name of an attribute. The wrapper checks the name first."""
    return lambda *args, **options: function(*args[:1], *map(_check_attribute, args[1:2]), *args[2:], **options)


def _formatter(method: Any) -> Any:
    """Return a checked version of ``method``, an attribute named ``format`` or ``format_map``.

    If it is bound to a string, as in ``"{}".format``, check the string as a template immediately. For ``str.format``,
    return a function that checks its first argument when it is called. Return any other method unchanged.
    """
    if method is str.format or method is str.format_map:
        return lambda *args, **kwargs: method(*map(_check_template, args[:1]), *args[1:], **kwargs)
    if isinstance(method, types.BuiltinMethodType) and isinstance(method.__self__, str):
        _check_template(method.__self__)
    return method


def _check_template(template: Any) -> Any:
    """Return ``template`` unchanged. Raises AttributeError if it would read an attribute that plans may not use."""
    name = refused_in_template(str.__str__(template)) if isinstance(template, str) else None
    return template if name is None else _check_attribute(name)


def _attrgetter(*names: str) -> Any:
    for name in names:
        for part in name.split(".") if isinstance(name, str) else ():
            _check_attribute(part)
    return _ATTRGETTER(*names)


def _print(*values: Any, file: Any = None, **options: Any) -> None:
    """Print as Python does, but with a single write to Output, since each write is a message to the host."""
    target = sys.stdout if file is None else file
    if not isinstance(target, Output):
        return _PRINT(*values, file=target, **options)
    text = io.StringIO()
    target.running_prints.append(text)
    try:
        _PRINT(*values, file=text, **options)
    finally:
        del target.running_prints[-1]
        target.write(text.getvalue())


_ATTRGETTER, _PRINT = operator.attrgetter, print
_GUARDS: dict[str, Callable[..., Any]] = {
    "getattr": _getattr,
    "hasattr": _guarded(hasattr),
    "setattr": _guarded(setattr),
    "delattr": _guarded(delattr),
    "print": _print,
}


def _imitation(real: Any, guard: Any) -> Any:
    """Return a guard that has the name and documentation of the function that it replaces."""
    guard.__doc__ = real.__doc__
    return builtin_function(guard, real.__name__, real.__module__)


def _walk_stack(f: types.FrameType | None) -> Iterator[tuple[types.FrameType, int]]:
    """Replace ``traceback.walk_stack``. The stack of a plan ends where the worker runs the plan.

    This is not a generator, since an additional frame would change the result of ``walk_stack(None)``.
    """
    return takewhile(lambda entry: entry[0].f_globals.get("__name__") != _SERVE_MODULE, _WALK_STACK(f))


_WALK_STACK, _SERVE_MODULE = traceback.walk_stack, "planbook.sandbox.worker.serve"


def guard_library() -> None:
    """Guard ``operator.attrgetter`` and ``string.Formatter``, which read attributes by name, as ``getattr`` does.

    Also hide the ``__dict__`` of modules from plans, and the worker's own part of the stack, whose file names differ
    from machine to machine. This affects all code of the process.
    """
    traceback.walk_stack = _walk_stack
    operator.attrgetter = _imitation(_ATTRGETTER, _attrgetter)  # type: ignore[misc]
    vars(string)["getattr"] = _getattr  # used by string.Formatter
    set_in_class(types.ModuleType, "__dict__", property(_module_dict))
    set_in_class(types.ModuleType, "__dir__", _module_dir)


def new_namespace(*, language_layer: bool) -> dict[str, Any]:
    """Create a new module ``__main__`` and return its namespace. If not ``language_layer``, no built-in is left out."""
    main = types.ModuleType(MAIN)
    sys.modules[MAIN] = main
    names = _real_dict(main)
    names["__builtins__"] = _builtins() if language_layer else {**_real_dict(builtins), "print": _print}
    return names


def _builtins() -> dict[str, Any]:
    real = {
        name: value
        for name, value in _real_dict(builtins).items()
        if name not in REFUSED_BUILTINS and (name in _SPECIAL_BUILTINS or not name.startswith("_"))
    }
    guards = {name: _imitation(real[name], guard) for name, guard in _GUARDS.items()}
    return real | guards | {"__import__": make_importer(), GUARD: _getattr}
