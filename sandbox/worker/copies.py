"""Keeping the library from setting attributes of anything but its copies.

It fills in whatever a class's ``__new__``, or an instance's own ``__reduce_ex__``, hands it: any object at all.
"""

import copy
import types
from collections import UserDict, UserList
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from sandbox.worker.guards import is_own_class, is_own_instance

_reconstruct: Callable[..., object] = copy._reconstruct  # type: ignore[attr-defined]


def guard_copies() -> None:
    """From now on what ``copy``, and classes that copy themselves, fill in must be of the very class of the original.

    The whole process is changed, for ``dataclasses`` and ``collections`` copy too.
    """
    copy._reconstruct = _checked  # type: ignore[attr-defined]
    copy._deepcopy_dispatch[types.MethodType] = _method  # type: ignore[attr-defined]
    for cls in (UserDict, UserList):
        cls.__copy__ = _copy_of_data  # type: ignore[method-assign]
    ExitStack.pop_all = _pop_all  # type: ignore[method-assign]


def _checked(original: object, memo: object, make: Any, arguments: Any, state: object = None, *rest: object) -> object:
    def fresh(*given: object) -> object:
        made = make(*given)
        if state is not None and type(made) is not type(original):
            kind = type(original).__name__
            raise TypeError(
                f"{kind} object can't be copied: its copy would be of type {type(made).__name__}; define __copy__"
            )
        return made

    if type(state) is dict and not is_own_instance(original):
        state = dict(state)  # what it is a copy of is kept in the memo, which plans see
    return _reconstruct(original, memo, fresh, arguments, state, *rest)


def deepcopy(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """``copy.deepcopy``; what keeps its memo is shown more than the values."""
    if memo is not None and type(memo) is not dict:
        raise TypeError(f"the memo must be a dict, not {type(memo).__name__}")
    return copy.deepcopy(value, memo)


def _method(method: types.MethodType, memo: dict[int, Any]) -> object:
    """A method's deep copy: of an object that is not the plan's own, itself, for the memo would show that object."""
    if not (is_own_instance(method.__self__) or is_own_class(method.__self__)):
        return method
    return types.MethodType(method.__func__, copy.deepcopy(method.__self__, memo))


def _copy_of_data(self: Any) -> Any:
    """Of a ``UserDict`` or a ``UserList``."""
    if not isinstance(self, UserDict | UserList):
        raise TypeError(f"cannot copy {type(self).__name__}")
    made: Any = object.__new__(type(self))
    vars(made).update(vars(self), data=copy.copy(self.data))
    return made


def _pop_all(self: Any) -> Any:
    """``ExitStack.pop_all``."""
    made = type(self)()
    if type(made) is not type(self):
        raise TypeError(f"{type(self).__name__}() is no {type(self).__name__}")
    made._exit_callbacks, self._exit_callbacks = self._exit_callbacks, type(self._exit_callbacks)()
    return made
