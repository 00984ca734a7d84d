"""Digests of the code that a user's environment or method consists of beside its own file."""

import ast
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from planbook.envs import file_digest, folder_digest


def of_modules_beside(file: Path, what: str) -> dict[str, str]:
    """Return the digest of every module or package beside the file that it imports, also through others."""
    found: dict[str, str] = {}
    open_files = [file.resolve()]
    while open_files:
        for name in _imported(open_files.pop()):
            path = _beside(file.resolve().parent, name)
            if path is None or (key := f"the {what}'s module {name}") in found:
                continue
            found[key] = folder_digest(path, ("*.py",)) if path.is_dir() else file_digest(path)
            open_files += path.rglob("*.py") if path.is_dir() else [path]
    return found


def of_registered(value: str, what: str) -> dict[str, str]:
    """Return the digest of the module or whole package that an entry point ``module:name`` stands in."""
    name = value.partition(":")[0].strip().partition(".")[0]
    spec = None if name == "planbook" else find_spec(name)
    if spec is None or not spec.origin:
        return {}
    path = Path(spec.origin)
    digest = folder_digest(path.parent, ("*.py",)) if spec.submodule_search_locations else file_digest(path)
    return {f"the {what}'s package {name}": digest}


def _beside(folder: Path, name: str) -> Path | None:
    """Return the module's file or the package's folder; nothing where Python finds an installed one first."""
    if name == "planbook" or name in sys.stdlib_module_names:
        return None
    for path in (folder / name / "__init__.py", folder / f"{name}.py", folder / name):
        if path.exists():
            there = find_spec(name)
            origin = Path(there.origin).resolve() if there and there.origin else path
            return (path.parent if path.name == "__init__.py" else path) if origin == path else None
    return None


def _imported(file: Path) -> Iterator[str]:
    """Yield the top-level names that a file imports."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
