"""Load an environment by name, from another package's entry point, or from a Python file."""

import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import ClassVar, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from planbook import PACKAGES
from planbook.envs.base import Environment
from planbook.envs.errors import UnknownEnvironment
from planbook.sandbox import did_you_mean


class ModuleLoadError(Exception):
    """A Python file that the user named does not exist, or its code raises an error while it is imported."""


_LOADED: dict[Path, ModuleType] = {}
"""Maps the path of each file that this process has loaded to its module."""


def load_module(path: Path) -> ModuleType:
    """Load a Python file, once per process, and return its module.

    Raises ModuleLoadError if the file cannot be loaded.
    """
    if path not in _LOADED:
        _LOADED[path] = execute_module(path)
    return _LOADED[path]


def is_loaded(name: str) -> bool:
    """Return whether this process has loaded the file that ``name`` begins with, as in ``FILE.py:NAME``."""
    return Path(name.partition(":")[0]).resolve() in _LOADED


def execute_module(path: Path) -> ModuleType:
    """Execute a Python file, and return it as a new module. The file may import modules from its own folder.

    Raises ModuleLoadError if the file does not exist, or if its code raises an error.
    """
    if not path.is_file():
        raise ModuleLoadError(f"{path} is a folder, not a file" if path.is_dir() else f"there is no file {path}")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # at the end, so that installed packages take precedence
    module = ModuleType(f"planbook_own_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:  # compiled here, so that no bytecode is cached: the file may be edited at any time
        exec(compile(path.read_bytes(), path, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        raise ModuleLoadError(f"{path} failed while it was imported: {import_error(error)}") from error
    return module


def import_error(error: BaseException) -> str:
    """Return an import error as one line.

    Version 0.2 of planbook renamed its packages. If an old name caused the error, the line gives the new name.
    """
    name = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    renamed = f". Since 0.2, planbook's {name} is imported as planbook.{name}" if name in PACKAGES else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{renamed}"


ENTRY_POINT_GROUP = "planbook.environments"
"""The group of entry points under which an installed package lists its environments."""
TOOL_KINDS = ("gym", "mcp", "module")
"""The kinds of tools from which ``planbook.envs.tools`` makes environments, written before the colon in ``gym:...``."""
_SHIPPED_NAMES = ("alfworld", "crafter", "minecraft", "miniwob", "shopping", "tabletop", "textcraft", "toy", "web")
SHIPPED: Mapping[str, str] = {name: f"planbook.envs.{name}:{name.capitalize()}" for name in _SHIPPED_NAMES}
"""Maps the name of each shipped environment to its module and class."""


OBJECT_PREFIX = "object:"
"""Prefix of the names of classes that exist only in this process, since no file defines them."""
_OBJECTS: dict[str, type[Environment]] = {}
"""Maps names to the classes that ``register_class`` has stored under them."""


def register_class(environment: type[Environment]) -> str:
    """Register a class in this process, and return the name under which ``load_environment`` finds it.

    A shipped or installed environment keeps the name by which it is known. For another class, the name is
    ``FILE.py:Class``, or ``object:Class`` if the class is not defined at the top level of a file.
    """
    for name, value in known_environments().items():
        if value == f"{environment.__module__}:{environment.__qualname__}":
            return name
    try:
        path = Path(inspect.getfile(environment)).resolve()
    except (OSError, TypeError):  # the class was defined interactively
        path = Path()
    is_in_file = path.is_file() and "." not in environment.__qualname__
    name = f"{path}:{environment.__name__}" if is_in_file else f"{OBJECT_PREFIX}{environment.__name__}"
    _OBJECTS[name] = _check_class(environment, name)
    return name


@cache
def known_environments() -> Mapping[str, str]:
    """Return a dict that maps the name of every shipped or installed environment to its ``module:class``.

    An installed environment with the name of a shipped one is ignored. The result is cached, since reading the entry
    points of all packages takes about 20 ms.
    """
    installed = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {**installed, **SHIPPED}


def known_environment(name: str) -> type[Environment]:
    """Return the class of an environment that is shipped, installed with a package, or already loaded.

    Use it for names that were read from a run or an export. They may refer to files, which must not be executed.
    Raises UnknownEnvironment for any other name.
    """
    if name in _OBJECTS or name in known_environments() or is_loaded(name):
        return load_environment(name)
    raise UnknownEnvironment(f"{name} is neither installed nor loaded by this process")


def load_environment(name: str) -> type[Environment]:
    """Return the class of an environment. If necessary, load it from a file or make it from tools.

    ``name`` is a shipped, installed or registered name, ``FILE.py:Class``, ``module:...``, ``mcp:...`` or ``gym:...``.
    Raises UnknownEnvironment if there is no such environment or if it cannot be loaded. Raises MissingRequirement if
    the tools need packages that are not installed.
    """
    if name in _OBJECTS:
        return _OBJECTS[name]
    if name.startswith(OBJECT_PREFIX):
        raise UnknownEnvironment(
            f"{name} was a class of the Python process that began the run; pass it again as env=, or put it into a file"
        )
    path, _, target = name.partition(":")
    if path in TOOL_KINDS:
        tools = importlib.import_module("planbook.envs.tools")  # imported only here, since it imports this module
        return _check_class(tools.load_tools(path, target), name)
    if path.endswith(".py"):
        return _load_from_file(Path(path).resolve(), target)
    environments = known_environments()
    if name not in environments:
        raise UnknownEnvironment(
            f"no environment is called {name!r}{did_you_mean(name, sorted(environments))}; or give FILE.py:Class"
        )
    module_name, _, class_name = environments[name].partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise UnknownEnvironment(
            f"the environment {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    return _check_class(getattr(module, class_name, None), name)


def _load_from_file(path: Path, class_name: str) -> type[Environment]:
    """Return an environment class from a file. The file is loaded once, so that a name always means the same class.

    ``class_name`` may be empty if the file defines only one environment.
    """
    try:
        module = load_module(path)
    except ModuleLoadError as error:
        advice = "" if path.is_file() else "; for an environment in a file, write FILE.py:Class"
        raise UnknownEnvironment(f"{error}{advice}") from error
    classes = [
        name
        for name, member in vars(module).items()
        if isinstance(member, type) and issubclass(member, Environment) and member.__module__ == module.__name__
    ]
    if not classes:
        raise UnknownEnvironment(
            f"{path} defines no class derived from planbook.envs.Environment; "
            "if its functions or methods are the actions, write module: before the name"
        )
    if not class_name and len(classes) == 1:
        class_name = classes[0]
    if class_name not in classes:
        choices = " or ".join(f"{path.name}:{name}" for name in classes)
        fault = f"has no environment {class_name!r}" if class_name else f"has {len(classes)} environments"
        raise UnknownEnvironment(f"{path} {fault}: name {choices}")
    return _check_class(getattr(module, class_name), f"{path}:{class_name}")


@cache
def _check_class(member: object, name: str) -> type[Environment]:
    """Return ``member``. Raises UnknownEnvironment if it is not an environment class, or its declarations are wrong.

    ``name`` is the name under which it was found.
    """
    if not (isinstance(member, type) and issubclass(member, Environment)):
        raise UnknownEnvironment(f"{name} does not name a class derived from planbook.envs.Environment")
    if not hasattr(member, "name"):
        raise UnknownEnvironment(f'{name}: give the class a name, such as name = "{member.__name__.lower()}"')
    if faults := "; ".join(_attribute_faults(member)):
        raise UnknownEnvironment(f"{name}: {faults}")
    for spec in (*member.actions.values(), *member.queries.values()):
        try:
            _ = spec.signature
        except Exception as error:  # annotations are the author's code, so they may raise any error
            fault = f"{name}: the types of {spec.name} cannot be read: {error}"
            advice = "; define or import it outside `if TYPE_CHECKING:`" if isinstance(error, NameError) else ""
            raise UnknownEnvironment(f"{fault}{advice}") from error
    return member


def _attribute_faults(environment: type[Environment]) -> Iterator[str]:
    """Yield a fault for each class attribute that does not have the type that ``Environment`` declares for it.

    A list is accepted in place of a tuple. An attribute that ``Environment`` does not declare as a ClassVar, such as
    ``about``, may be a property.
    """
    for name, declared in get_type_hints(Environment, include_extras=True).items():
        value, is_class_variable = getattr(environment, name, None), get_origin(declared) is ClassVar
        if value is getattr(Environment, name, None) or (not is_class_variable and hasattr(value, "__get__")):
            continue
        kind = get_args(declared)[0] if is_class_variable else declared
        try:
            TypeAdapter(kind).validate_python(_with_tuples(value), strict=True)
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, (name, *fault["loc"])))
            advice = f"; write {name} = ({value!r},)" if isinstance(value, str) and get_origin(kind) is tuple else ""
            yield f"{place}: {fault['msg']}, not {fault['input']!r:.80}{advice}"


def _with_tuples(value: object) -> object:
    """Return a value with its lists turned into tuples and its mappings into dicts, as strict validation requires."""
    if isinstance(value, Mapping):
        return {key: _with_tuples(item) for key, item in value.items()}
    return tuple(value) if isinstance(value, list) else value
