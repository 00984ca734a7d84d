"""What a plan sees of the host: plain functions, objects with functions and read-only attributes, records."""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn, Self

Call = Callable[[tuple[object, ...], dict[str, object]], object]


class HostFunction:
    """A function that the host carries out; a value like any other, so it can be mapped, wrapped and passed on.

    ``name`` may be dotted: as of a method, ``__name__`` is its last part and ``__qualname__`` the whole.
    """

    __slots__ = ("__name__", "__qualname__", "_call_")
    __name__: str
    __qualname__: str
    _call_: Call

    def __init__(self, name: str, call: Call) -> None:
        object.__setattr__(self, "__name__", name.rpartition(".")[2])
        object.__setattr__(self, "__qualname__", name)
        object.__setattr__(self, "_call_", call)

    def __copy__(self) -> Self:
        """Itself, as copies of Python's functions are."""
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __call__(self, /, *args: object, **kwargs: object) -> object:
        """Ask the host."""
        return self._call_(args, kwargs)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self.__qualname__} is read-only; keep the value in a variable of your own")

    def __repr__(self) -> str:
        return f"<function {self.__qualname__}>"


HostFunction.__doc__ = None
"""What a plan reads as the doc of one of its functions; what they do is in its prompt."""


class ReadOnly:
    """An object whose attributes only the host sets."""

    __slots__ = ("__dict__", "_title_")
    _title_: str

    def __init__(self, name: str, members: Mapping[str, object]) -> None:
        object.__setattr__(self, "_title_", name)
        vars(self).update(members)

    def __getattr__(self, name: str) -> NoReturn:
        """Python comes here only for what is missing."""
        raise AttributeError(f"{self._title_} has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self._title_}.{name} cannot be set: {self._title_} is read-only")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self._title_}.{name} cannot be deleted: {self._title_} is read-only")

    def __dir__(self) -> list[str]:
        return sorted(vars(self))

    def __repr__(self) -> str:
        return f"<{self._title_}: {', '.join(dir(self))}>"


class HostObject(ReadOnly):
    """The object behind dotted names: ``agent`` with ``agent.go_to`` and ``agent.location``."""

    __slots__ = ()

    def __copy__(self) -> Self:
        """Itself: there is one, and a plan that copies its own objects may hold it in them."""
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self


class Record(ReadOnly):
    """A dict given to the plan: its keys are attributes; ``record["key"]`` works too."""

    __slots__ = ()

    def __getitem__(self, key: str) -> object:
        return vars(self)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(vars(self))

    def __len__(self) -> int:
        return len(vars(self))

    def __contains__(self, key: object) -> bool:
        return key in vars(self)

    def __eq__(self, other: object) -> bool:
        return type(other) is Record and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict[int, object]) -> "Record":
        return Record(self._title_, copy.deepcopy({**vars(self)}, memo))  # the memo is shown what is copied


def refresh(objects: Mapping[str, object], changed: Mapping[str, object]) -> None:
    """Set attributes anew: dotted name to value."""
    for dotted, value in changed.items():
        name, _, attribute = dotted.partition(".")
        vars(objects[name])[attribute] = value
