"""Attacks on the language layer alone, without a process around it.

Each is refused or raises as its table says; those that end are harmless and give what the table says. In no case does a
plan's variable hold an inside of the host, and in no case has anything of the host changed.
"""

import inspect
import json
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import localcontext
from typing import Any

import pytest

from sandbox import Limits, Sandbox
from sandbox.policy import PolicyRefused
from sandbox.policy.tables import MODULES
from sandbox.worker import methods as methods_module
from sandbox.worker.values import MAX_REPR, shown
from tests.sandbox import attacked
from tests.sandbox.attack_tables import Attack, attacks, outcome_of, side_by_side
from tests.sandbox.attacked import HostAgent, found_loot, host_act, is_inside
from tests.sandbox.host_state import state_of
from tests.sandbox.plans import Session

ATTACKS = attacks(".")


@pytest.fixture
def session() -> Iterator[Session]:
    with localcontext():  # a plan may set its process's, which here is the tests'
        yield Session(agent=HostAgent("desk 1"), host_act=host_act)


def _outcome(attack: Attack, session: Session) -> str:
    """What happened, in the words of the tables."""
    value: object = None
    for cell in attack.cells:
        try:
            ran = session.run(cell)
        except PolicyRefused as refused:
            return f"refused {refused.problems[0].name}"
        if ran.error is not None:
            return f"raises {type(ran.error).__name__}"
        value = ran.value
    return f"gives {json.dumps(shown(value, MAX_REPR))}"


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_attack_gets_nothing(attack: Attack, session: Session) -> None:
    agent = session.names["agent"]
    before = state_of(agent)
    assert _outcome(attack, session) in (attack.outcome, attack.outcome.replace("<function host_act>", repr(host_act)))
    assert found_loot(session.names) == []
    assert state_of(agent) == before


LAID_OUT = f"""
import types
attacked = types.ModuleType("attacked")
exec({inspect.getsource(attacked)!r}, vars(attacked))
agent, host_act, found_loot_ = attacked.HostAgent("desk 1"), attacked.host_act, attacked.found_loot
given_ = {{**globals()}}
del types, attacked
"""
"""What the attacks are made on, within a worker."""
SEARCH = "len(found_loot_({k: v for k, v in globals().items() if v is not given_.get(k) and k != 'given_'}))"


def test_without_the_layer_the_attacks_go_through() -> None:
    """In plain Python: so that each test above fails for no other reason than the layer."""

    def look(attack: Attack) -> list[tuple[Attack, str, bool]]:
        with loose.session({}, limits=Limits(wall_seconds=20)) as session:
            assert session.run(LAID_OUT).fault is None
            result = attack.run_in(session)
            fails = result.fault is not None or outcome_of(result) == attack.outcome
            told = "as told" if fails is attack.fails_plainly else outcome_of(result)
            return [(attack, told, session.run(SEARCH).value not in (0, None))]

    with Sandbox(language_layer=False, process_layer=False, accept_risk=True) as loose:
        looks = side_by_side(look, ATTACKS)
    assert [(attack.name, told) for attack, told, _ in looks if told != "as told"] == []
    assert sum(looted for _, _, looted in looks) >= 150


def test_there_are_enough_attacks() -> None:
    assert len(ATTACKS) >= 650
    assert sum(not attack.fails_plainly for attack in ATTACKS) >= 400
    twice = [name for name, count in Counter(attack.name for attack in ATTACKS).items() if count > 1]
    assert twice == []


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
    "a field called format": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    format: str\n    obj: int = 2\nA('x').format",
        "x",
    ),
    "positional pattern": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int\n"
        "match P(1, 2):\n    case P(a, b):\n        c = a + b\nc",
        3,
    ),
    "positional pattern of a named tuple": (
        "from typing import NamedTuple\nclass P(NamedTuple):\n    x: int\n    y: int = 2\n"
        "match P(1):\n    case P(a, b):\n        c = a + b\nc",
        3,
    ),
    "typed named tuple by a call": ("from typing import NamedTuple\nNamedTuple('P', [('x', int)])(4).x", 4),
    "fields of a dataclass": (
        "from dataclasses import asdict, dataclass, fields, replace\n"
        "@dataclass(slots=True, order=True)\nclass A:\n    x: int = 1\n"
        "[asdict(replace(A(), x=2)), [f.name for f in fields(A)], A(1) < A(2)]",
        [{"x": 2}, ["x"], True],
    ),
    "derived dataclass": (
        "from dataclasses import asdict, dataclass\n@dataclass\nclass A:\n    x: int = 1\n"
        "@dataclass\nclass B(A):\n    y: int = 2\nasdict(B())",
        {"x": 1, "y": 2},
    ),
    "copies": (
        "import copy\nclass A:\n    __slots__ = ('x',)\nclass B(list):\n    pass\na, b = A(), B([[1]])\n"
        "a.x, b.n = [1], 2\nc, d = copy.deepcopy(a), copy.deepcopy(b)\n"
        "d[0].append(2)\n[c.x, c.x is a.x, list(b), d.n]",
        [[1], False, [[1]], 2],
    ),
    "copy of an error": ("import copy\ncopy.copy(KeyError('a')).args", ("a",)),
    "default factory": (
        "from collections import defaultdict\nd = defaultdict(list)\nd.default_factory = None\nlen(d)",
        0,
    ),
    "base class's init": (
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass A:\n    x: int\nclass B(A):\n"
        "    def __init__(self): A.__init__(self, 3)\nclass C(A):\n    def __init__(self): super().__init__(4)\n"
        "[B().x, C().x]",
        [3, 4],
    ),
    "library base class's init": (
        "import json\nclass E(json.JSONEncoder):\n    def __init__(self, **k): json.JSONEncoder.__init__(self, **k)\n"
        "class F(json.JSONEncoder):\n    def __init__(self, **k): super().__init__(**k)\n"
        "class K(KeyError):\n    def __init__(self): KeyError.__init__(self, 'a')\n"
        "[json.dumps([1], cls=E), json.dumps([1], cls=F), K().args]",
        ["[1]", "[1]", ("a",)],
    ),
    "error attribute": ("e = ValueError()\ne.place = 3\ne.place", 3),
    "subscripted class": ("class A(list): pass\nclass B(A[int]): pass\n[len(A[int]([1])), len(B([2, 3]))]", [1, 2]),
    "returns through finally": (
        "def f():\n    for i in range(3):\n        try:\n            try:\n                if i == 1: return i\n"
        "            finally:\n                n.append(i)\n        finally:\n            n.append(-i)\n"
        "n = []\n[f(), n]",
        [1, [0, 0, 1, -1]],
    ),
    "function attribute": ("def f(): f.n += 1\nf.n = 0\nf()\nf.n", 1),
}


@pytest.mark.parametrize(("source", "value"), LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_harmless_look_alikes_work(source: str, value: object, session: Session) -> None:
    ran = session.run(source)
    assert (ran.error, ran.value) == (None, value)


METHODS = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)


def _reachable(start: dict[str, Any], read: Callable[[Any, str], Any]) -> Iterator[tuple[str, object]]:
    """What a plan can read from the given names, attribute by attribute and item by item, without calling anything."""
    seen: dict[object, object] = {}
    todo = list(start.items())
    while todo:
        path, value = todo.pop()
        key = (type(value), value.__name__) if isinstance(value, METHODS) else id(value)
        if key in seen or path.count(".") > 5:
            continue
        seen[key] = value
        yield path, value
        if isinstance(value, tuple):
            todo += [(f"{path}[{n}]", item) for n, item in enumerate(value)]
        for name in dir(value):
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
    assert [path for path, value in found if is_inside(value) and type(value) is not str] == []
    shared = [path for path, value in found if isinstance(value, (list, dict, set, bytearray))]
    assert shared == []


def test_no_method_that_can_be_read_makes_anything_of_an_object_that_is_not_its_own(session: Session) -> None:
    """``Counter.copy(int)`` would be ``type(int)``, and so on: each was told its class."""
    load = session.names["__builtins__"]["__import__"]
    start = {name: load(name, fromlist=MODULES[name]) for name in MODULES}
    read = session.names["__builtins__"]["getattr"]
    found = dict(_reachable(start, read))
    found |= {f"{path}.fget": each.fget for path, each in found.items() if type(each) is property}
    methods = {
        path: each for path, each in found.items() if type(each) is types.FunctionType and "." in each.__qualname__
    }
    assert len(methods) > 200
    kept = [
        path
        for path, each in methods.items()
        if each.__name__ != "__new__" and methods_module.uses_its_object(each.__code__)
    ]
    assert kept == []


DERIVED = """
class Derived(base):
    def look(self):
        return super()
    @classmethod
    def look_from_class(cls):
        return super()
seen.append(Derived.look_from_class())
""" + "".join(
    f"""
try:
    seen.append(Derived({arguments}).look())
except Exception:
    pass
"""
    for arguments in ("", "1", "len", "'a'", "[1]", "2020, 1, 1", "'a', 'b', 0, 0", "None, ()")
)


def test_nothing_inside_can_be_read_by_super_in_a_class_derived_from_what_is_offered(session: Session) -> None:
    """By super() a plan reads more of an object than from outside: a class's own special methods go on to those."""
    named = session.names["__builtins__"]
    load = named["__import__"]
    offered = {name: value for name, value in named.items() if isinstance(value, type)}
    for module in MODULES:
        members = vars(load(module, fromlist=MODULES[module]))
        offered |= {f"{module}.{name}": value for name, value in members.items() if isinstance(value, type)}
    start: dict[str, Any] = {}
    for title, base in offered.items():
        session.names.update(base=base, seen=[])
        with suppress(PolicyRefused):
            session.run(DERIVED)
        start |= {f"{title} {n}": each for n, each in enumerate(session.names["seen"])}
    assert len(start) > 100
    found = list(_reachable(start, named["getattr"]))
    assert len(found) > 1_000
    assert [path for path, value in found if is_inside(value) and type(value) is not str] == []
    raw = ("__get__", "__set__", "__setattr__", "__delattr__")
    assert [path for path, value in found if getattr(value, "__name__", "") in raw] == []
    unbound = (types.WrapperDescriptorType, types.FunctionType)
    ours = [value for _, value in found if isinstance(value, unbound) and value.__name__ == "__init__"]
    assert ours == []


def test_attacks_hold_beside_a_plan_that_was_cut_short(session: Session) -> None:
    """A cell that failed half way leaves no weaker namespace behind."""
    session.run("def f(): pass\nimport math\nraise ValueError")
    assert isinstance(session.run("setattr(math, 'pi', 3)").error, AttributeError)
    assert sys.modules["math"].pi != 3
