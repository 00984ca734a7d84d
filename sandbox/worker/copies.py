"""Keeping the library from setting attributes of anything but its copies, and from showing what it copies them from.

It fills in whatever a class's ``__new__``, or an instance's own ``__reduce_ex__``, hands it: any object at all. And a
plan can hold the memo of a deep copy: it reads there what was copied, and writes there what is to stand for it.
"""

import builtins
import copy
import types
from collections import UserDict, UserList
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

from sandbox.worker.guards import is_own_function, is_own_instance

_reconstruct: Callable[..., object] = copy._reconstruct  # type: ignore[attr-defined]
_dispatch: dict[type, Callable[..., Any]] = copy._deepcopy_dispatch  # type: ignore[attr-defined]
_AS_THEY_ARE = {kind for kind, how in _dispatch.items() if how is _dispatch[int]}


def guard_copies() -> None:
    """From now on what ``copy``, and classes that copy themselves, fill in must be of the very class of the original.

    The whole process is changed, for ``dataclasses`` and ``collections`` copy too.
    """
    copy._reconstruct = _checked  # type: ignore[attr-defined]
    copy.deepcopy.__defaults__ = (None, object())  # a memo is handed the last one, which was a list that all share
    _dispatch[types.MethodType] = _method
    for cls in (UserDict, UserList):
        cls.__copy__ = _copy_of_data  # type: ignore[method-assign]
    ExitStack.pop_all = _pop_all  # type: ignore[method-assign]
    ExitStack.callback = _callback  # type: ignore[method-assign,assignment]


def _checked(
    original: object,
    memo: dict[int, object] | None,
    make: Any,
    arguments: Any,
    state: Any = None,
    items: Iterable[Any] | None = None,
    pairs: Iterable[Any] | None = None,
) -> object:
    if memo is not None:
        arguments = [_part(each, memo, exact=make is builtins.getattr) for each in arguments]
    made = make(*arguments)
    if state is not None and type(made) is not type(original):
        kind = type(original).__name__
        raise TypeError(
            f"{kind} object can't be copied: its copy would be of type {type(made).__name__}; define __copy__"
        )
    if memo is not None:
        memo[id(original)] = made
        state = copy.deepcopy(_loose(state), memo)
        items = items and (copy.deepcopy(item, memo) for item in items)
        pairs = pairs and ((copy.deepcopy(key, memo), copy.deepcopy(value, memo)) for key, value in pairs)
    return _reconstruct(original, None, lambda: made, (), state, items, pairs)


def _part(part: Any, memo: dict[int, object], exact: bool) -> Any:
    """The deep copy of what an object is made of, of its own type where ``exact``: a memo may put others in its place.

    What is its own copy is not looked up there: it says which class to make, or which attribute to read.
    """
    if type(part) in _AS_THEY_ARE or isinstance(part, type):
        return part
    made = copy.deepcopy(part, memo)
    if exact and type(made) is not type(part):
        raise TypeError(f"a copy of a method of {type(part).__name__} cannot be one of {type(made).__name__}")
    return made


def _loose(state: Any) -> Any:
    """A state whose dicts are not the object's own variables: a memo is shown what is copied."""
    if type(state) is tuple:
        return tuple(_loose(each) for each in state)
    return dict(state) if type(state) is dict else state


def _method(method: types.MethodType, memo: dict[int, object]) -> object:
    """A bound method's copy: of the copy of its object. A library's stays, as C's do: a memo shows objects."""
    own = is_own_function(method.__func__)
    if not own and not is_own_instance(method.__self__):
        return method
    return types.MethodType(method.__func__, _part(method.__self__, memo, exact=not own))


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


def _callback(self: Any, callback: Callable[..., object], /, *args: Any, **kwargs: Any) -> Callable[..., object]:
    """``ExitStack.callback`` without ``__wrapped__``, which it sets on what another of its methods gives."""

    def call(*_error: object) -> None:
        callback(*args, **kwargs)

    self._push_exit_callback(call)
    return callback
