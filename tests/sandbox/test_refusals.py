"""Whatever plans are refused, they are told what to write instead."""

import ast
import importlib
import inspect

import pytest

from sandbox.policy import check
from sandbox.policy.hints import ATTRIBUTE_HINTS, MEMBER_HINTS, MODULE_HINTS, NAME_HINTS, STATEMENT_HINTS
from sandbox.policy.tables import HIDDEN_ATTRIBUTES, HOOKS, LITERAL_NAMES, MODULES
from sandbox.policy.transformer import PlanPolicy
from tests.sandbox.plans import run_guarded


def hints(source: str) -> list[str]:
    """The hints of all faults that the policy finds."""
    return [problem.hint for problem in check(source)]


@pytest.mark.parametrize("name", NAME_HINTS)
def test_a_builtin_that_is_missing(name: str) -> None:
    assert hints(f"x = {name}") == [NAME_HINTS[name]]


@pytest.mark.parametrize("name", MODULE_HINTS)
def test_a_module_that_is_missing(name: str) -> None:
    assert hints(f"import {name}") == [MODULE_HINTS[name]]
    assert hints(f"from {name} import x") == [MODULE_HINTS[name]]
    assert hints(f"import {name}.inside") == [MODULE_HINTS[name.partition(".")[0]]]


@pytest.mark.parametrize("module", ["jason", "somewhere", "agent"])
def test_a_module_nobody_has(module: str) -> None:
    (hint,) = hints(f"import {module}")
    assert hint == "did you mean `json`?" if module == "jason" else "needs no import" in hint


@pytest.mark.parametrize("dotted", MEMBER_HINTS)
def test_a_name_that_a_module_lacks(dotted: str) -> None:
    module, _, name = dotted.rpartition(".")
    assert hints(f"from {module} import {name}") == [MEMBER_HINTS[dotted]]
    assert hints(f"import {module} as m\nm.{name}") == [MEMBER_HINTS[dotted]]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_other_name_of_a_real_module(module: str) -> None:
    real = importlib.import_module(module)
    missing = [n for n in dir(real) if not n.startswith("_") and n not in MODULES[module] and not inspect.ismodule(n)]
    told = [problem for name in missing for problem in check(f"from {module} import {name}")]
    assert len(told) == len(missing)
    assert [problem.message for problem in told if not problem.hint] == []


@pytest.mark.parametrize("name", sorted({*ATTRIBUTE_HINTS, *HIDDEN_ATTRIBUTES, *HOOKS.values(), "_inside_"}))
def test_a_special_attribute(name: str) -> None:
    written = hints(f"x.{name} = 1")
    assert written
    assert all(written)
    assert all(hints(f"x.{name}"))
    assert all(hints(f"{name} = 1"))
    assert all(hints(f"getattr(x, {name!r})"))
    assert all(hints(f"def {name}(self): pass"))
    assert all(hints(f"match x:\n    case object({name}=1): pass"))


STATEMENTS = {
    "AsyncFunctionDef": "async def f(): pass",
    "AsyncFor": "async def f():\n    async for x in y: pass",
    "AsyncWith": "async def f():\n    async with x: pass",
    "Await": "async def f():\n    await x",
    "TryStar": "try: pass\nexcept* ValueError: pass",
}
OTHERS = {
    "metaclass": "class A(metaclass=B): pass",
    "file": "print(1, file=x)",
    "type": "type('A', (), {})",
    "async comprehension": "async def f(): return [x async for x in y]",
    "special keyword": "f(__class__=1)",
    "computed slots": "class A:\n    __slots__ = names",
    "special slots": "class A:\n    __slots__ = ('__class__',)",
    "computed match args": "class A:\n    __match_args__ = names",
    "two targets": "class A:\n    x = __slots__ = ()",
    "too many nodes": "x=1\n" * 24_900,
    "too deep": "x = " + "-" * 3000 + "1",
    "augmented": "x.format += 1",
    "a surrogate": "x = '\ud800'",
}


@pytest.mark.parametrize("source", [*STATEMENTS.values(), *OTHERS.values()], ids=[*STATEMENTS, *OTHERS])
def test_a_statement(source: str) -> None:
    told = hints(source)
    assert told
    assert all(told)


def test_every_kind_of_statement_that_is_refused_has_its_own_words() -> None:
    """Nodes without a visitor of their own are refused; the rest of the tree consists of nodes that have one."""
    kinds = {kind for base in (ast.stmt, ast.expr, ast.pattern) for kind in base.__subclasses__()}
    refused = set()
    for kind in kinds:
        policy = PlanPolicy()
        visitor = getattr(policy, f"visit_{kind.__name__}", policy.generic_visit)
        if visitor == policy.generic_visit or "not_allowed" in inspect.getsource(visitor):
            refused.add(kind.__name__)
    assert refused <= STATEMENT_HINTS.keys() | {"Index", "ExtSlice"}


RAISED = {
    "class of Python's": ("int.x = 1", "derive a class"),
    "library's object": ("import functools\nfunctools.partial(len).x = 1", "of your own"),
    "module": ("import math\nsetattr(math, 'pi', 3)", "of your own"),
    "vars": ("vars(3)", "name the attributes"),
    "vars without an object": ("vars()", "name the attributes"),
    "type by another name": ("t = type\nt('A', (), {})", "class statement"),
    "metaclass by keywords": ("class A(**{'metaclass': 1}): pass", "derive from ABC"),
    "base": ("class A(type): pass", "in an attribute"),
    "print by another name": ("p = print\np(1, **{'file': 3})", "is the cell's output"),
    "pprint": ("from pprint import pprint\npprint(1, 3)", "is the cell's output"),
    "named tuple": ("from collections import namedtuple\nnamedtuple('A', ['__class__'])", "begin and end"),
    "enum": ("from enum import Enum\nEnum('A', 'x', module='y')", "class statement"),
    "dataclass": ("from dataclasses import dataclass\ndataclass(int)", "derive one"),
    "getattr": ("n = '__code__'\ngetattr(len, n)", "beside it"),
    "format": ("t = '{0.__class__}'\nt.format(1)", "beforehand"),
    "dispatch": ("from functools import singledispatch\nsingledispatch(len).register(3)", "@register(int)"),
    "copy": (
        "import copy\nclass A:\n    def __new__(cls): return ValueError() if made else object.__new__(cls)\n"
        "made = []\na = A()\na.x = 1\nmade.append(1)\ncopy.copy(a)",
        "define __copy__",
    ),
}


@pytest.mark.parametrize(("source", "remedy"), RAISED.values(), ids=RAISED)
def test_what_only_the_running_plan_is_refused(source: str, remedy: str) -> None:
    assert check(source) == []
    error = run_guarded(source).error
    assert error is not None
    assert remedy in str(error)


def test_names_whose_texts_are_judged_have_a_hint() -> None:
    assert set(ATTRIBUTE_HINTS) >= LITERAL_NAMES
