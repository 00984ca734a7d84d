"""Keeping ``copy`` from setting attributes of anything but its copies.

It fills in whatever a class's ``__new__``, or an instance's own ``__reduce_ex__``, hands it: any object at all.
"""

import copy
from collections.abc import Callable
from typing import Any

_reconstruct: Callable[..., object] = copy._reconstruct  # type: ignore[attr-defined]


def guard_copies() -> None:
    """From now on what ``copy.copy`` and ``copy.deepcopy`` fill in must be of the very class of the original."""
    copy._reconstruct = _checked  # type: ignore[attr-defined]


def _checked(original: object, memo: object, make: Any, arguments: Any, state: object = None, *rest: object) -> object:
    def fresh(*given: object) -> object:
        made = make(*given)
        if state is not None and type(made) is not type(original):
            kind = type(original).__name__
            raise TypeError(f"{kind} object can't be copied: its copy would be of type {type(made).__name__}")
        return made

    return _reconstruct(original, memo, fresh, arguments, state, *rest)
