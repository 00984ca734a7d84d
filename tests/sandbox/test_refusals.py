"""Every refusal of a plan says what to write instead."""

import ast
import importlib
import inspect

import pytest

from planbook.sandbox import REFUSED_BUILTINS
from planbook.sandbox.policy.compiler import find_problems
from planbook.sandbox.policy.rules import (
    ATTRIBUTE_HINTS,
    MEMBER_HINTS,
    MODULE_HINTS,
    MODULES,
    NAME_HINTS,
    REFUSED_ATTRIBUTES,
    REFUSED_NAMES,
    STATEMENT_HINTS,
    members,
)
from planbook.sandbox.policy.transformer import PlanPolicy
from tests.sandbox.plans import run_in_sandbox


def hints(source: str) -> list[str]:
    """Return the hints of all faults that the policy finds."""
    return [problem.hint for problem in find_problems(source)]


@pytest.mark.parametrize("name", sorted(MODULE_HINTS.keys() - MODULES))
def test_a_missing_module_has_its_own_hint(name: str) -> None:
    assert hints(f"import {name}") == [MODULE_HINTS[name]]
    assert hints(f"from {name} import x") == [MODULE_HINTS[name]]
    assert hints(f"import {name}.inside") == [MODULE_HINTS[name.partition(".")[0]]]


@pytest.mark.parametrize("module", ["jason", "somewhere", "agent"])
def test_an_unknown_module_has_a_hint(module: str) -> None:
    (hint,) = hints(f"import {module}")
    assert hint == "did you mean `json`?" if module == "jason" else "needs no import" in hint


@pytest.mark.parametrize("dotted", MEMBER_HINTS)
def test_a_missing_member_has_its_own_hint(dotted: str) -> None:
    module, _, name = dotted.rpartition(".")
    assert hints(f"from {module} import {name}") == [MEMBER_HINTS[dotted]]
    assert hints(f"import {module} as m\nm.{name}") == [MEMBER_HINTS[dotted]]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_inside_another_has_a_hint(module: str) -> None:
    real = importlib.import_module(module)
    foreign = {name for name, value in vars(real).items() if inspect.ismodule(value)} - members(module)
    found = [problem for name in foreign for problem in find_problems(f"from {module} import {name}")]
    assert len(found) == len({name for name in foreign if f"{module}.{name}" not in MODULES})
    assert [problem.message for problem in found if not problem.hint] == []


@pytest.mark.parametrize("name", sorted({*ATTRIBUTE_HINTS, *REFUSED_ATTRIBUTES} - {"__import__", "__build_class__"}))
def test_a_special_attribute_has_a_hint(name: str) -> None:
    assert all(hints(f"x.{name} = 1"))
    assert all(hints(f"{name} = 1"))


def test_every_refused_name_has_a_hint() -> None:
    assert {*NAME_HINTS, "copyright", "credits", "license"} == REFUSED_BUILTINS
    assert set(ATTRIBUTE_HINTS) <= REFUSED_NAMES


def test_every_refused_kind_of_statement_has_its_own_hint() -> None:
    """The policy refuses the kinds of nodes for which it has no visitor."""
    kinds = {kind for base in (ast.stmt, ast.expr, ast.pattern) for kind in base.__subclasses__()}
    refused = set()
    for kind in kinds:
        policy = PlanPolicy()
        visitor = getattr(policy, f"visit_{kind.__name__}", policy.generic_visit)
        if visitor == policy.generic_visit or "not_allowed" in inspect.getsource(visitor):
            refused.add(kind.__name__)
    assert refused <= STATEMENT_HINTS.keys() | {"Index", "ExtSlice"}


RAISED = {
    "module": ("import math\nsetattr(math, 'pi', 3)", "of your own"),
    "module by a statement": ("import math\nmath.pi = 3", "of your own"),
    "part of a module": ("import math\ndel math.pi", "of your own"),
    "getattr": ("n = '__code__'\ngetattr(len, n)", "in a dict"),
    "setattr": ("n = '__code__'\ndef f(): pass\nsetattr(f, n, 1)", "in a dict"),
    "format": ("t = '{0.__globals__}'\nt.format(print)", "use the variables by name"),
    "nested format": ("t = '{0:{1.__globals__}}'\nt.format(1, print)", "use the variables by name"),
    "format of a class": ("f = str.format\nf('{0.__globals__}', print)", "use the variables by name"),
    "format by a name": ("n = 'format'\ngetattr('{0.__globals__}', n)(print)", "use the variables by name"),
    "format_map": ("'{x.__globals__}'.format_map({'x': print})", "use the variables by name"),
    "formatter": ("import string\nstring.Formatter().format('{0.__globals__}', print)", "use the variables by name"),
    "attrgetter": ("import operator\noperator.attrgetter('real.__globals__')", "use the variables by name"),
    "subclass of text": ("class S(str):\n    def __eq__(self, x): return 0\ngetattr(len, S('__code__'))", "in a dict"),
}


@pytest.mark.parametrize(("source", "remedy"), RAISED.values(), ids=RAISED)
def test_a_refusal_at_run_time_says_what_to_write_instead(source: str, remedy: str) -> None:
    assert find_problems(source) == []
    ran = run_in_sandbox(source)
    assert ran.type == "AttributeError"
    assert remedy in ran.message
