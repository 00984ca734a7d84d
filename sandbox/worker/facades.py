"""Modules as plans see them: objects of listed names, with nothing of the real module behind them."""

import abc
import importlib
import pprint
import time as real_time
import types
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any, NoReturn

from sandbox.policy.tables import MODULES
from sandbox.worker import stand_ins
from sandbox.worker.attributes import Attributes
from sandbox.worker.clock import Clock
from sandbox.worker.guards import bound, is_own_class

PER_SESSION = frozenset({"operator", "pprint", "random", "time"})
"""Modules that hold a session's clock, random numbers, guards or output."""
_INTERNAL = frozenset({"_strptime", "copyreg"})
"""What C code imports on behalf of the plan that calls it; it then takes the module from sys.modules by itself."""


class Facade(types.ModuleType):
    """A module of chosen names that can't be changed."""

    def __init__(self, name: str, members: Mapping[str, object]) -> None:
        super().__init__(name)
        vars(self).update(members)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"module {self.__name__!r} is read-only; keep the value in a variable of your own")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"module {self.__name__!r} is read-only; keep the value in a variable of your own")


def _fixed(name: str, **submodules: Facade) -> Facade:
    """The facade of a module that all sessions share: our stand-ins first, then the real module's own."""
    ours = stand_ins.MODULES.get(name, {}) | submodules
    real = None if MODULES[name] <= ours.keys() else importlib.import_module(name)
    return Facade(name, {member: ours[member] if member in ours else getattr(real, member) for member in MODULES[name]})


def _all_fixed() -> dict[str, Facade]:
    made = {name: _fixed(name) for name in sorted(MODULES, reverse=True) if name not in PER_SESSION | {"collections"}}
    return made | {"collections": _fixed("collections", abc=made["collections.abc"])}


FIXED = _all_fixed()


def guard_abstract_classes() -> None:
    """From now on isinstance of a library's abstract class asks no class of a plan's: answers are kept for all."""
    offered = [each for facade in FIXED.values() for each in vars(facade).values() if type(each) is abc.ABCMeta]
    for cls in {base for each in offered for base in each.__mro__ if type(base) is abc.ABCMeta} - {abc.ABC}:
        cls.__subclasses__ = classmethod(_subclasses)  # type: ignore[assignment,method-assign]


def _subclasses(cls: type) -> list[type]:
    every: list[type] = type.__subclasses__(cls)
    return every if is_own_class(cls) else [each for each in every if not is_own_class(each)]


def _of_random(random: Random) -> dict[str, object]:
    members: dict[str, object] = {name: getattr(random, name) for name in MODULES["random"] - {"Random", "seed"}}

    def seed(a: Any = None, version: int = 2) -> None:
        random.seed(random.getrandbits(64) if a is None else a, version)

    return members | {"Random": stand_ins.RandomMaker(random.getrandbits), "seed": seed}


def _of_time(clock: Clock) -> dict[str, object]:
    def at(convert: Callable[[float], Any]) -> Callable[..., Any]:
        return lambda seconds=None: convert(clock.now() if seconds is None else seconds)

    def strftime(format: str, t: Any = None) -> str:
        return real_time.strftime(format, real_time.gmtime(clock.now()) if t is None else t)

    def strptime(string: str, format: str = "%a %b %d %H:%M:%S %Y") -> real_time.struct_time:
        return real_time.strptime(string, format)

    def nanoseconds() -> int:
        return int(clock.now() * 1e9)

    def text(t: Any = None) -> str:
        return real_time.asctime(real_time.gmtime(clock.now()) if t is None else t)

    seconds = dict.fromkeys(("time", "monotonic", "perf_counter", "process_time"), clock.now)
    nanos = dict.fromkeys(("time_ns", "monotonic_ns", "perf_counter_ns"), nanoseconds)
    return {
        **seconds,
        **nanos,
        "asctime": text,
        "ctime": at(lambda moment: real_time.asctime(real_time.gmtime(moment))),
        "gmtime": at(real_time.gmtime),
        "localtime": at(real_time.gmtime),
        "mktime": stand_ins.utc_seconds,
        "sleep": clock.sleep,
        "strftime": strftime,
        "strptime": strptime,
        "struct_time": real_time.struct_time,
    }


def _of_operator(attributes: Attributes) -> dict[str, object]:
    import operator

    return {name: getattr(operator, name) for name in MODULES["operator"] - {"attrgetter", "methodcaller"}} | {
        "attrgetter": bound(stand_ins.attrgetter, attributes.getattr),
        "methodcaller": bound(stand_ins.methodcaller, attributes.getattr),
    }


def _of_pprint(write: Callable[[str], None]) -> dict[str, object]:
    def show(object: object, stream: None = None, *args: Any, sort_dicts: bool = True, **options: Any) -> None:
        if stream is not None:
            raise TypeError("pprint takes no stream in plans: what is printed is the cell's output")
        write(pprint.pformat(object, *args, sort_dicts=sort_dicts, **options) + "\n")

    def show_unsorted(object: object, *args: Any, sort_dicts: bool = False, **options: Any) -> None:
        show(object, *args, sort_dicts=sort_dicts, **options)

    return {"pformat": pprint.pformat, "pp": show_unsorted, "pprint": show}


def importer(
    random: Random, clock: Clock, attributes: Attributes, write: Callable[[str], None]
) -> Callable[..., object]:
    """The session's ``__import__``; its own facades are made when they are first asked for."""
    made: dict[str, Facade] = {}
    makers: dict[str, Callable[[], dict[str, object]]] = {
        "operator": partial(_of_operator, attributes),
        "pprint": partial(_of_pprint, write),
        "random": partial(_of_random, random),
        "time": partial(_of_time, clock),
    }

    def load(name: str) -> Facade | None:
        if name in makers and name not in made:
            made[name] = Facade(name, makers[name]())
        return made.get(name) or FIXED.get(name)

    def load_for_plan(
        name: str, globals: object = None, locals: object = None, fromlist: Any = (), level: int = 0
    ) -> object:
        facade = load(name)
        if name in _INTERNAL:
            return None
        if facade is None or level:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        for member in fromlist or ():
            if member not in MODULES[name]:
                raise ImportError(f"cannot import name {member!r} from {name!r}", name=name)
        return facade if fromlist else load(name.partition(".")[0])

    return load_for_plan
