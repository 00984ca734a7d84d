"""Finding a world by name: those that ship, those that other packages register, and a class in a file of yours."""

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

from envs.base import Environment
from envs.errors import UnknownWorld

ENTRY_POINT_GROUP = "planbook.environments"
SHIPPED: Mapping[str, str] = {
    "alfworld": "envs.alfworld:Alfworld",
    "miniwob": "envs.miniwob:Miniwob",
    "toy": "envs.toy:Toy",
}


def known_worlds() -> dict[str, str]:
    """Name to "module:class" of every world that loads by name; other packages may not replace a shipped one."""
    registered = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {**registered, **SHIPPED}


def load_world(name: str) -> type[Environment]:
    """The class of a world, by its name or as ``FILE.py:Class``. Raises UnknownWorld, saying what exists."""
    path, _, class_name = name.partition(":")
    if path.endswith(".py"):
        return _from_file(Path(path), class_name)
    known = known_worlds()
    if name not in known:
        raise UnknownWorld(f"no world is called {name!r}; there are {', '.join(sorted(known))}, or FILE.py:Class")
    module_name, _, class_name = known[name].partition(":")
    return _checked(getattr(importlib.import_module(module_name), class_name, None), name)


def _from_file(path: Path, class_name: str) -> type[Environment]:
    if not path.is_file():
        raise UnknownWorld(f"no file {path}; a world of yours is named FILE.py:Class")
    module_name = f"planbook_world_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise UnknownWorld(f"{path} cannot be imported as a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UnknownWorld(f"{path} failed while it was imported: {type(error).__name__}: {error}") from error
    worlds = [name for name, member in vars(module).items() if _is_world(member) and member.__module__ == module_name]
    if not class_name and len(worlds) == 1:
        class_name = worlds[0]
    if class_name not in worlds:
        raise UnknownWorld(f"{path} has no world {class_name!r}; it has {', '.join(worlds) or 'none'}")
    return _checked(getattr(module, class_name), f"{path}:{class_name}")


def _is_world(member: object) -> bool:
    return isinstance(member, type) and issubclass(member, Environment) and member is not Environment


def _checked(member: object, name: str) -> type[Environment]:
    if not (isinstance(member, type) and issubclass(member, Environment)):
        raise UnknownWorld(f"{name} does not name a class derived from envs.Environment")
    return member
