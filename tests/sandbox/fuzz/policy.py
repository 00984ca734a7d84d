"""Properties of the policy for every text, and of the host for every program that passes the policy."""

import ast
import re
import time
from collections.abc import Iterator

from planbook.sandbox import Limits, checks
from planbook.sandbox.policy.compiler import compile_for_worker, find_problems
from tests.sandbox.attack_tables import Host
from tests.sandbox.fuzz.programs import program
from tests.sandbox.host_functions import ATTRIBUTES, FUNCTIONS
from tests.sandbox.plans import shared_sandbox

PRELUDE = """
import abc, collections, contextlib, copy, dataclasses, datetime, enum, functools, itertools, json, math, operator
import random, re, string, time, typing
class C:
    x = 1
    def f(self, *a, **b): return a
    def __call__(self, *a): return self
@dataclasses.dataclass
class D:
    x: int = 0
def g(*a, **b):
    yield a
def f(*a, **b): return a or b
self, cls, T, e = C(), C, D(), ValueError("e")
x, y, z, _x, __x = C(), [1, "a", D], {"a": C(), 1: f}, "{0.x}", g(1)
"""
"""Defines the names of the grammar, so that its programs do something."""
SHORT = Limits(wall_seconds=0.5, memory_mb=64)
SLOW = 20.0
"""Maximum seconds for the check of one program, even on a busy machine."""


def test_one(data: bytes) -> None:
    """Check one program, and run it if it passes."""
    source = program(data)
    if passes(source):
        check_harmless(source)


def passes(source: str) -> bool:
    """Return whether a program passes the policy. All functions that ask the policy must agree, and be quick."""
    started = time.monotonic()
    problems = find_problems(source)
    passed = problems == []
    assert (compile_for_worker(source, "<plan>", True).faults == ()) == passed
    faults = checks.check(source, FUNCTIONS, attributes=ATTRIBUTES)
    assert passed or faults
    assert time.monotonic() - started < SLOW
    return passed


def check_harmless(source: str) -> None:
    """Run a program statement by statement, ignore exceptions, and check that it reaches nothing of the host."""
    host = Host()
    with host.open_in(shared_sandbox(), SHORT) as session:
        assert session.run(PRELUDE).fault is None
        results = [session.run(text) for text in statements(source)]
    assert host.reached(*results) == "", source


def statements(source: str) -> Iterator[str]:
    """Yield the lines of each statement, with its decorators."""
    lines = re.split("\r\n|\r|\n", source)
    for statement in ast.parse(source).body:
        first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])
        yield "\n".join(lines[first - 1 : statement.end_lineno])
