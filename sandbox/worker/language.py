"""The language layer, as the worker uses it: compile under the policy, run in a namespace of guards and facades."""

import builtins
import gc
import importlib
from collections.abc import Callable
from random import Random

from sandbox.policy import CompiledCell, PolicyRefused, Problem, compile_cell, compile_plain
from sandbox.policy.tables import HOOKS
from sandbox.worker import builtin_names, facades
from sandbox.worker.attributes import Attributes, guard_templates
from sandbox.worker.classes import guard_fields
from sandbox.worker.clock import Clock
from sandbox.worker.copies import guard_copies
from sandbox.worker.guards import PLAN_NAME, protect
from sandbox.worker.methods import guard_methods
from sandbox.worker.shared import guard_shared

__all__ = [
    "CompiledCell",
    "PolicyRefused",
    "Problem",
    "compile_cell",
    "compile_plain",
    "guard_library",
    "namespace",
    "preload",
    "protect",
    "unguarded_namespace",
]

_LAZY = """_strptime calendar collections.abc copyreg decimal encodings.cp1252 encodings.idna encodings.latin_1
encodings.punycode encodings.unicode_escape encodings.utf_16 encodings.utf_16_be encodings.utf_16_le encodings.utf_32
encodings.utf_32_be encodings.utf_32_le encodings.utf_8_sig fractions heapq json.decoder json.encoder
keyword numbers reprlib stringprep weakref""".split()
"""Modules that the library imports only when they are needed: a locked worker could not."""
_WARM_UP = """
import collections, copy, dataclasses, datetime, enum, functools, json, random, re, statistics, string, textwrap, time
@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: int = 0
class Colour(enum.Enum):
    RED = enum.auto()
copy.deepcopy([Point(1)])
collections.Counter("aab").most_common(1)
collections.namedtuple("Pair", "a b")(1, 2)
datetime.datetime.strptime("2024-01-02", "%Y-%m-%d").strftime("%A")
time.strptime("2024-01-02", "%Y-%m-%d")
json.loads(json.dumps({"a": [1.5, None, "é"]}, indent=1))
try:
    json.loads("{")
except json.JSONDecodeError as error:
    str(error)
re.sub(r"(?i)(a)", r"<\\1>", "bab")
statistics.quantiles([statistics.mean([1, 2]), statistics.stdev([1.5, 2]), 3])
string.Template("$a").substitute(a=1)
textwrap.dedent(textwrap.fill("a b"))
random.gauss(0, 1), random.sample(range(9), 2), random.shuffle([1, 2])
"{0:>5}".format("a"), "é".encode("latin-1"), type(Colour.RED).__name__
"""


def preload() -> None:
    """Import and use once whatever is imported late, so that a worker that can open no file lacks nothing."""
    for name in _LAZY:
        importlib.import_module(name)

    class Still:
        def now(self) -> float:
            return 0.0

        def sleep(self, seconds: float) -> None:
            pass

    exec(compile_cell(_WARM_UP, "<preload>").code, namespace(Random(0), Still(), lambda text: None))
    gc.collect()


def guard_library() -> None:
    """From now on the library's own Python code keeps to the policy too, in the whole process."""
    guard_copies()
    guard_fields()
    guard_methods()
    guard_shared()
    guard_templates()


def namespace(random: Random, clock: Clock, write: Callable[[str], None]) -> dict[str, object]:
    """A fresh namespace for one session: guarded builtins, facades for modules; ``print`` goes to ``write``."""
    attributes = Attributes(clock)
    named = builtin_names.FIXED | {
        "__import__": facades.importer(random, clock, attributes, write),
        "getattr": attributes.getattr,
        "hasattr": attributes.hasattr,
        "print": builtin_names.printer(write),
        HOOKS["attribute"]: attributes.getattr,
    }
    return {"__name__": PLAN_NAME, "__doc__": None, "__builtins__": named}


def unguarded_namespace(random: Random, clock: Clock, write: Callable[[str], None]) -> dict[str, object]:
    """A namespace with the language layer off: Python's own builtins and modules, but for print, random and time."""
    ours = facades.importer(random, clock, Attributes(clock), write)

    def load(name: str, *args: object, **kwargs: object) -> object:
        return (ours if name in ("random", "time") else importlib.__import__)(name, *args, **kwargs)  # type: ignore[arg-type]

    named = vars(builtins) | {"print": builtin_names.printer(write), "__import__": load}
    return {"__name__": "__main__", "__doc__": None, "__builtins__": named}
