"""The namespace of plans: Python's built-ins without what is refused, and the modules that they may import."""

import builtins
import importlib.machinery
import importlib.util
import io
import sys
import types
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NoReturn

from planbook.sandbox.policy.rules import (
    MODULES,
    PARTS,
    PRELOADED,
    REFUSED_BUILTINS,
)
from planbook.sandbox.worker.determinism import as_builtin

# Modules: preloaded in the zygote, or sent as source by the host.

Ask = Callable[[str], tuple[str, bool] | None]
"""From the name of a module to its source, and whether it is a package; None if the host sends none."""


class PlanModule(types.ModuleType):
    """A module that plans cannot write to. Loaded modules are turned into one."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"module {self.__name__!r} is read-only; keep the value in a variable of your own")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"module {self.__name__!r} is read-only; keep the value in a variable of your own")


PlanModule.__name__ = PlanModule.__qualname__ = "module"
PlanModule.__module__ = "builtins"


class HostFinder:
    """Imports modules that the host sends as source, for plans and for the library's own code."""

    def __init__(self) -> None:
        self.ask: Ask = lambda name: None
        self._found: dict[str, tuple[str, bool]] = {}

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Ask the host for a module."""
        found = self.ask(name)
        if found is None:
            return None
        self._found[name] = found
        loader: Any = self
        return importlib.machinery.ModuleSpec(name, loader, origin=f"<{name}>", is_package=found[1])

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Use Python's default."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the source of a module."""
        source, _ = self._found.pop(module.__name__)
        exec(compile(source, f"<{module.__name__}>", "exec", dont_inherit=True), vars(module))
        if module.__name__ in MODULES:
            _make_plan_module(module)


FINDER = HostFinder()


def preload(modules: Collection[str], *, guarded: bool) -> None:
    """Import what plans may import, including the given modules, and make the standard library read-only.

    Without guards, for tests, modules that reach the machine are imported, too.
    """
    if importlib.util.find_spec("_md5"):
        sys.modules["_hashlib"] = None  # type: ignore[assignment]  # OpenSSL is 4 MB more for every worker to map
    for name in sorted((PRELOADED | _INTERNAL) - PARTS.keys()):
        importlib.import_module(name)
    for name in PRELOADED - PARTS.keys() - _WRITTEN:
        _make_plan_module(sys.modules[name])
    for name in modules:
        more = importlib.import_module(name)
        for member in getattr(more, "__all__", ()):
            getattr(more, member, None)  # some packages import their parts only on access
    _ALLOWED.update(modules)
    for name in () if guarded else _OF_THE_MACHINE:
        importlib.import_module(name)


_ALLOWED: set[str] = set()
"""Modules beyond the standard library that plans may import, with their submodules."""
_WRITTEN = {"warnings"}
"""Modules whose attributes the library's own code sets."""
_OF_THE_MACHINE = ("_ctypes", "_posixshmem", "_posixsubprocess", "_socket", "_sqlite3", "fcntl", "mmap", "resource")
"""Modules written in C with which the tests attack the kernel."""


def close_imports(*, confined: bool) -> None:
    """Import further modules from the host, and if the worker is confined, none from files: it cannot read any."""
    sys.meta_path.insert(1, FINDER)
    if confined:
        del sys.meta_path[2:]
    vars(sys.modules["zoneinfo._common"])["load_tzdata"] = _zone


def _zone(key: str) -> io.BytesIO:
    """Return the data of a time zone."""
    if found := FINDER.ask(f"zoneinfo:{key}"):
        return io.BytesIO(found[0].encode("latin-1"))
    error: type[KeyError] = vars(sys.modules["zoneinfo"])["ZoneInfoNotFoundError"]
    raise error(f"No time zone found with key {key}")


def _make_plan_module(module: types.ModuleType) -> None:
    object.__setattr__(module, "__class__", PlanModule)


def _part_of(name: str) -> PlanModule:
    """Return a module with only the listed names of the real one."""
    made, real = PlanModule(name), sys.modules[name]
    vars(made).update({each: getattr(real, each) for each in PARTS[name] if hasattr(real, each)})
    return made


class Output(io.TextIOBase):
    """``sys.stdout`` and ``sys.stderr`` of a plan."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    encoding = "utf-8"

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str, /) -> int:
        """Send the text to the host at once."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._write(text)
        return len(text)


def importer() -> Callable[..., object]:
    """Return the ``__import__`` of plans. Call it once the output is in place."""
    parts = {name: _part_of(name) for name in PARTS}

    def load_for_plan(
        name: str, globals: object = None, locals: object = None, fromlist: Sequence[str] | None = (), level: int = 0
    ) -> object:
        if name in parts:
            _require(parts[name], fromlist or ())
            return parts[name]
        if level or (name not in MODULES and name not in _INTERNAL and name.partition(".")[0] not in _ALLOWED):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return builtins.__import__(name, None, None, fromlist or (), 0)

    return load_for_plan


_INTERNAL = frozenset({"__future__", "_strptime"})
"""Imported by a statement without effect, or by C code that a plan calls."""


def _require(module: PlanModule, names: Iterable[str]) -> None:
    for name in names:
        if name not in vars(module) and name != "*":
            raise ImportError(f"cannot import name {name!r} from {module.__name__!r}", name=module.__name__)


# Built-ins.

MAIN = "__main__"
_KEPT = frozenset({"__build_class__", "__debug__", "__import__"})
"""Special names among the built-ins that running code needs."""


def _print(*values: Any, file: Any = None, **options: Any) -> None:
    """Print as Python does, but write everything at once: each write is a message to the host."""
    text = io.StringIO()
    try:
        _PRINT(*values, file=text, **options)
    finally:
        (sys.stdout if file is None else file).write(text.getvalue())


_PRINT = print
as_builtin(_print, "print")


def namespace(*, guarded: bool) -> dict[str, Any]:
    """Return the namespace of a session, that of the module ``__main__``. Without guards it has all built-ins."""
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
    return real | {"print": _print, "__import__": importer()}
