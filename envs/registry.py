"""Load an environment by name, from another package's entry point, or from a Python file."""

import importlib
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from planbook import PACKAGES
from planbook.envs.base import Environment
from planbook.envs.errors import UnknownEnvironment
from planbook.sandbox import did_you_mean


class CannotLoad(Exception):
    """A named Python file does not exist, or fails while it is imported."""


_LOADED: dict[Path, ModuleType] = {}


def load_module(path: Path) -> ModuleType:
    """Return a file as a module, loaded once per process. Raises CannotLoad."""
    if path not in _LOADED:
        _LOADED[path] = execute_module(path)
    return _LOADED[path]


def is_loaded(name: str) -> bool:
    """Return True if this process has loaded the file of FILE.py:NAME."""
    return Path(name.partition(":")[0]).resolve() in _LOADED


def execute_module(path: Path) -> ModuleType:
    """Execute a file and return it as a new module. It may import modules from its folder. Raises CannotLoad."""
    if not path.is_file():
        raise CannotLoad(f"no file {path}")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # at the end, so that installed packages take precedence
    module = ModuleType(f"planbook_own_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:  # without a bytecode cache, as the file may be edited at any time
        exec(compile(path.read_bytes(), path, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        raise CannotLoad(f"{path} failed while it was imported: {import_error(error)}") from error
    return module


def import_error(error: BaseException) -> str:
    """Return an import error as one line, with the new name of a package that was renamed in 0.2."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    renamed = f". Since 0.2, planbook's {name} is imported as planbook.{name}" if name in PACKAGES else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{renamed}"


ENTRY_POINT_GROUP = "planbook.environments"
TOOLS = ("gym", "mcp", "module")
"""Kinds of tools that ``planbook.envs.tools`` turns into environments."""
SHIPPED: Mapping[str, str] = {
    "alfworld": "planbook.envs.alfworld:Alfworld",
    "crafter": "planbook.envs.crafter:Crafter",
    "minecraft": "planbook.envs.minecraft:Minecraft",
    "miniwob": "planbook.envs.miniwob:Miniwob",
    "shopping": "planbook.envs.shopping:Shopping",
    "tabletop": "planbook.envs.tabletop:Tabletop",
    "textcraft": "planbook.envs.textcraft:Textcraft",
    "toy": "planbook.envs.toy:Toy",
    "web": "planbook.envs.web:Web",
}


OBJECT = "object:"
"""Prefix of the name of an environment that exists only in this process."""
_OBJECTS: dict[str, type[Environment]] = {}


def register_class(environment: type[Environment]) -> str:
    """Return a name that loads a class in this process: a known one, FILE.py:Class, or ``object:Class``."""
    for name, value in known_environments().items():
        if value == f"{environment.__module__}:{environment.__qualname__}":
            return name
    try:
        path = Path(inspect.getfile(environment)).resolve()
    except (OSError, TypeError):  # defined interactively
        path = Path()
    in_a_file = path.is_file() and "." not in environment.__qualname__
    name = f"{path}:{environment.__name__}" if in_a_file else f"{OBJECT}{environment.__name__}"
    _OBJECTS[name] = _check_class(environment, name)
    return name


@cache
def known_environments() -> Mapping[str, str]:
    """Return "module:class" by name, for every shipped or registered environment. Shipped ones cannot be replaced.

    Reading the entry points of all installed packages takes about 20 ms, so this is cached.
    """
    registered = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {**registered, **SHIPPED}


def known_environment(name: str) -> type[Environment]:
    """Return the class of an environment that is shipped, registered by an installed package, or already loaded.

    Names read from a run or an export are looked up here, since their code must not be executed. Raises
    UnknownEnvironment for any other name.
    """
    if name in _OBJECTS or name in known_environments() or is_loaded(name):
        return load_environment(name)
    raise UnknownEnvironment(f"{name} is neither installed nor loaded by this process")


def load_environment(name: str) -> type[Environment]:
    """Return an environment's class by name, ``FILE.py:Class``, or tools: ``module:...``, ``mcp:...``, ``gym:...``.

    Raises UnknownEnvironment, and MissingRequirement if tools need packages that are not installed.
    """
    if name in _OBJECTS:
        return _OBJECTS[name]
    if name.startswith(OBJECT):
        raise UnknownEnvironment(
            f"{name} was a class of the Python process that began the run; pass it again as env=, or put it in a file"
        )
    path, _, rest = name.partition(":")
    if path in TOOLS:
        tools = importlib.import_module("planbook.envs.tools")  # imported here, since it imports this package
        return _check_class(tools.load_tools(path, rest), name)
    if path.endswith(".py"):
        return _from_file(Path(path).resolve(), rest)
    known = known_environments()
    if name not in known:
        raise UnknownEnvironment(
            f"no environment is called {name!r}{did_you_mean(name, sorted(known))}, or FILE.py:Class"
        )
    module_name, _, class_name = known[name].partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise UnknownEnvironment(
            f"the environment {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    return _check_class(getattr(module, class_name, None), name)


@cache
def _from_file(path: Path, class_name: str) -> type[Environment]:
    """Return the class from a file, loaded once per process, so that a name always means the same class."""
    try:
        module = load_module(path)
    except CannotLoad as error:
        advice = "" if path.is_file() else "; name an environment of your own as FILE.py:Class"
        raise UnknownEnvironment(f"{error}{advice}") from error
    classes = [
        name
        for name, member in vars(module).items()
        if isinstance(member, type) and issubclass(member, Environment) and member.__module__ == module.__name__
    ]
    if not classes:
        raise UnknownEnvironment(f"{path} defines no class derived from envs.Environment")
    if not class_name and len(classes) == 1:
        class_name = classes[0]
    if class_name not in classes:
        choices = " or ".join(f"{path.name}:{name}" for name in classes)
        fault = f"has no environment {class_name!r}" if class_name else f"has {len(classes)} environments"
        raise UnknownEnvironment(f"{path} {fault}: name {choices}")
    return _check_class(getattr(module, class_name), f"{path}:{class_name}")


def _check_class(member: object, name: str) -> type[Environment]:
    if not (isinstance(member, type) and issubclass(member, Environment)):
        raise UnknownEnvironment(f"{name} does not name a class derived from envs.Environment")
    if not isinstance(getattr(member, "name", None), str):
        raise UnknownEnvironment(f'{name}: give the class a name, such as name = "{member.__name__.lower()}"')
    for field in ("types", "splits"):
        if isinstance(getattr(member, field), str):
            raise UnknownEnvironment(
                f'{name}: {field} must be a tuple, such as {field} = ("{getattr(member, field)}",)'
            )
    if not isinstance(member.attributes, Mapping):
        raise UnknownEnvironment(f"{name}: attributes must map names to descriptions")
    return member
