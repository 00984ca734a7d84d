"""Attacks on the language layer alone, without a process around it.

Each is refused when it is compiled or raises when it runs; those marked [harmless] may end, but get nothing. In no case
does a plan's variable hold an inside of the host, and in no case has anything of the host changed.
"""

import builtins
import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn

import pytest

from sandbox.policy import PolicyRefused
from sandbox.policy.tables import MODULES
from sandbox.worker import facades, guards, language, stand_ins, typing_names
from tests.sandbox.plans import Session, snippets

CANARY = "the host's secret"
ATTACKS = list(snippets("attacks"))
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

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name} is read-only")


def host_act(place: str = "") -> str:
    """A function of the host, in whose globals the canary sits."""
    return f"done {place}"


language.protect(HostAgent)
SHARED = [
    *facades.FIXED.values(),
    *(value for facade in facades.FIXED.values() for value in vars(facade).values() if isinstance(value, type)),
    *(value for value in typing_names.NAMES.values() if isinstance(value, type)),
    HostAgent,
    host_act,
    stand_ins.PlanEnumMeta,
    guards.PlanType,
]


def _state(agent: HostAgent) -> list[dict[str, object]]:
    """Everything that an attack might change."""
    hidden = ("__abstractmethods__", "_abc_impl", "__slotnames__", "__doc__")
    shared = [{k: v for k, v in vars(item).items() if k not in hidden} for item in SHARED]
    return [dict(vars(agent)), dict(vars(builtins)), *shared]


def _is_inside(value: object) -> bool:
    """Whether the value is something no plan may hold."""
    if isinstance(value, types.ModuleType):
        return not isinstance(value, facades.Facade)
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


def _loot(names: dict[str, Any]) -> list[object]:
    own = {name: value for name, value in names.items() if name not in ("__builtins__", "__name__", "agent")}
    return [inside for inside in _held(own) if inside is not own and _is_inside(inside)]


@pytest.fixture
def session() -> Session:
    return Session(agent=HostAgent("desk 1"), host_act=host_act)


@pytest.mark.parametrize("source", ATTACKS)
def test_attack_gets_nothing(source: str, session: Session, request: pytest.FixtureRequest) -> None:
    agent = session.names["agent"]
    before = _state(agent)
    stopped = True
    with contextlib.suppress(PolicyRefused):
        stopped = session.run(source).error is not None
    assert stopped or "[harmless]" in request.node.name
    assert _loot(session.names) == []
    assert _state(agent) == before


def test_the_attacks_are_real(session: Session) -> None:
    """Without the language layer, plain Python gives the loot away: the tests above can fail."""
    names: dict[str, Any] = {"agent": HostAgent("desk 1"), "host_act": host_act}
    for source in ("loot = host_act.__globals__", "import os\nloot = os", "loot = vars(agent)", "loot = type(type(1))"):
        exec(language.compile_plain(source, "<plan>").code, names)
        assert _loot(names), source


def test_there_are_enough_attacks() -> None:
    assert len(ATTACKS) >= 200


LOOK_ALIKES = {
    "class name": ("type(agent.location).__name__ + type(ValueError()).__name__", "strValueError"),
    "own format method": ("class A:\n    def format(self, x): return x\nA().format(3)", 3),
    "own attribute called now": ("class A: now = 4\nA().now", 4),
    "own method called register": ("class A:\n    def register(self, x): return x\nA().register(2)", 2),
    "own attribute called obj": ("class A: pass\na = A()\na.obj = 5\na.obj", 5),
    "A* names": ("class N: pass\nn = N()\nn.f_score = 1\nn.g_score = 2\nn.f_score + n.g_score", 3),
    "own eval": ("def eval(x): return x + 1\neval(2)", 3),
    "own input": ("input = 'text'\ninput", "text"),
    "parameter called open": ("def f(open): return open\nf(7)", 7),
    "format with attributes": ("class A: x = 3\n'{0.x}{1[a]}'.format(A(), {'a': 1})", "31"),
    "braces in a template": ("'{{0.__class__}}'.format()", "{0.__class__}"),
    "dunder in a text": ("'__globals__'.strip('_')", "globals"),
    "dunder as a key": ("{'__class__': 1}['__class__']", 1),
    "action as a value": ("list(map(agent.go_to, ['a', 'b']))", ["at a", "at b"]),
    "action in partial": ("from functools import partial\npartial(agent.go_to, 'x')()", "at x"),
    "action in a table": ("{'go': agent.go_to}['go']('y')", "at y"),
    "own class counter": ("class A: n = 0\nA.n += 1\nsetattr(A, 'n', A.n + 1)\nA.n", 2),
    "own abstract registration": (
        "from abc import ABC\nclass A(ABC): pass\nclass B: pass\nA.register(B)\nisinstance(B(), A)",
        True,
    ),
    "hasattr of a dunder": ("hasattr(agent, '__dict__')", False),
    "missing attribute": ("getattr(agent, 'nothing', 'none')", "none"),
    "a private method": ("class A:\n    def _go(self): return 1\n    def run(self): return self._go()\nA().run()", 1),
    "function attribute": ("def f(): f.n += 1\nf.n = 0\nf()\nf.n", 1),
}


@pytest.mark.parametrize(("source", "value"), LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_harmless_look_alikes_work(source: str, value: object, session: Session) -> None:
    ran = session.run(source)
    assert (ran.error, ran.value) == (None, value)


METHODS = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)


def _reachable(start: dict[str, Any], read: Callable[[Any, str], Any]) -> Iterator[tuple[str, object]]:
    """What a plan can read, attribute by attribute, from the given names, without calling anything."""
    seen: dict[object, object] = {}
    todo = list(start.items())
    while todo:
        path, value = todo.pop()
        key = (type(value), value.__name__) if isinstance(value, METHODS) else id(value)
        if key in seen or path.count(".") > 5:
            continue
        seen[key] = value
        yield path, value
        for name in () if isinstance(value, partial) else dir(value):
            try:
                todo.append((f"{path}.{name}", read(value, name)))
            except Exception:
                continue


def test_nothing_inside_can_be_read_from_what_a_session_offers(session: Session) -> None:
    named = dict(session.names["__builtins__"])
    load = named.pop("__import__")
    named.pop("__build_class__")
    start = named | {name: load(name) for name in MODULES} | {"agent": session.names["agent"], "host_act": host_act}
    found = list(_reachable(start, named["getattr"]))
    assert len(found) > 1_000
    assert [path for path, value in found if _is_inside(value) and type(value) is not str] == []
    shared = [path for path, value in found if isinstance(value, (list, dict, set, bytearray))]
    assert shared == []


def test_attacks_hold_beside_a_plan_that_was_cut_short(session: Session) -> None:
    """A cell that failed half way leaves no weaker namespace behind."""
    session.run("def f(): pass\nimport math\nraise ValueError")
    assert isinstance(session.run("setattr(math, 'pi', 3)").error, AttributeError)
    assert sys.modules["math"].pi != 3
