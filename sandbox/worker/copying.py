"""``copy`` in plans. Python's own asks an object how to rebuild it, and then writes to whatever it is told to.

A class of a plan can't define those special methods, but an object's own variables can have their names.
"""

import copy
import importlib.util
from types import ModuleType
from typing import Any

from sandbox.policy.rules import is_hidden


def _private_copy() -> ModuleType:
    """The module once more, so that changing it changes nothing for others."""
    spec = importlib.util.find_spec("copy")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.Error = copy.Error  # type: ignore[attr-defined]
    return module


def _reconstruct(x: Any, memo: Any, *how: Any, **options: Any) -> Any:
    special = next((name for name in getattr(x, "__dict__", ()) if type(name) is not str or is_hidden(name)), None)
    if special is not None:
        raise TypeError(f"an object with a variable called {special!r} can't be copied; choose another name")
    return _rebuild(x, memo, *how, **options)


_ours: Any = _private_copy()
_rebuild = _ours._reconstruct
_ours._reconstruct = _reconstruct
NAMES = {"Error": copy.Error, "copy": _ours.copy, "deepcopy": _ours.deepcopy}
