"""What attacks are made on: an object and a function of the host, and how to tell that something of theirs leaked.

Stands on Python alone: the tests also run its source inside a worker without any layer, to see the attacks succeed.
"""

import builtins
import types
from collections.abc import Iterator
from typing import Any, NoReturn

CANARY = "the host's secret"
INSIDES = (types.FrameType, types.CodeType, types.TracebackType, types.CellType)
REAL = [
    vars(builtins)[name] for name in "open eval exec compile globals locals vars input __import__ type getattr".split()
]


class HostAgent:
    """Stands for the object with a world's actions; what it must not give away is under ``_link_``."""

    __slots__ = ("__dict__",)

    def __init__(self, name: str) -> None:
        vars(self).update(location=name, go_to=self._go_to_, _link_=[CANARY])

    def _go_to_(self, place: str) -> str:
        try:
            return "at " + place
        except TypeError as error:
            raise ValueError(CANARY) from error

    def __copy__(self) -> "HostAgent":
        return self

    def __deepcopy__(self, _memo: object) -> "HostAgent":
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name} is read-only")


def host_act(place: str = "") -> str:
    """A function of the host, in whose globals the canary sits."""
    return f"done {place}"


def is_inside(value: object) -> bool:
    """Whether the value is something no plan may hold."""
    if isinstance(value, types.ModuleType):
        return type(value).__name__ != "Facade"
    if isinstance(value, INSIDES) or any(value is real for real in REAL):
        return True
    if isinstance(value, dict) and ("__builtins__" in value or "CANARY" in value or "_link_" in value):
        return True
    return (isinstance(value, str) and CANARY in value) or (
        isinstance(value, type) and issubclass(value, (type, HostAgent))
    )


def _held(value: object, depth: int = 4) -> Iterator[object]:
    """The value and what its containers hold."""
    yield value
    if depth and isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _held(item, depth - 1)
    elif depth and isinstance(value, dict):
        for item in value.values():
            yield from _held(item, depth - 1)


def found_loot(names: dict[str, Any]) -> list[object]:
    """What a plan's variables hold of the insides, but for what the plan was handed."""
    own = {name: value for name, value in names.items() if name not in ("__builtins__", "__name__", "agent")}
    return [inside for inside in _held(own) if inside is not own and is_inside(inside)]
