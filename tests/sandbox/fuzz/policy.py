"""What must hold of the policy for every text, and of the language layer for every program that it lets through."""

import ast
import re
import time
from collections.abc import Iterator
from contextlib import suppress

from sandbox import check as static
from sandbox import precompile
from sandbox.policy import PolicyRefused, check, compile_cell
from sandbox.policy.rules import SYNTAX
from tests.sandbox.attacked import HostAgent, found_loot, host_act
from tests.sandbox.fuzz.bounded import bounded, may_run
from tests.sandbox.fuzz.programs import program
from tests.sandbox.given import ATTRIBUTES, FUNCTIONS
from tests.sandbox.host_state import state_of
from tests.sandbox.plans import Session

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
"""What the grammar's names mean, so that its programs get somewhere."""
SLOW = 20.0
"""Seconds that no check of one program may take, on however busy a machine."""


def test_one(data: bytes) -> None:
    """One program: judged, and run if it may be."""
    source = program(data)
    if judged(source) and may_run(source):
        harmless(source)


def judged(source: str) -> bool:
    """Whether the policy lets the source through; all who ask it must agree, and none may raise or take long.

    The compiler alone may let through what Python refuses in what the policy drops, as in ``x: (await y) = 1``.
    """
    started = time.monotonic()
    problems = check(source)
    passed = problems == []
    compiled = _compiles(source)
    assert compiled >= passed
    assert compiled == passed or {problem.name for problem in problems} == {SYNTAX}
    assert (precompile.compiled(source, "<plan>") is not None) == compiled
    faults = static.check(source, FUNCTIONS, attributes=ATTRIBUTES)
    assert passed or faults
    assert time.monotonic() - started < SLOW
    return passed


def _compiles(source: str) -> bool:
    try:
        compile_cell(source, "<plan>")
    except PolicyRefused:
        return False
    return True


def harmless(source: str) -> None:
    """Run the program statement by statement, whatever each raises: nothing of the host is held or changed."""
    agent = HostAgent("desk 1")
    session = Session(agent=agent, host_act=host_act)
    before = state_of(agent)
    assert session.run(PRELUDE).error is None
    values: list[object] = []
    for text in statements(source):
        with bounded(), suppress(PolicyRefused):
            values.append(session.run(text).value)
    assert found_loot(session.names | {"of the statements": values}) == [], source
    assert state_of(agent) == before, source


def statements(source: str) -> Iterator[str]:
    """The lines of each statement, decorators and all."""
    lines = re.split("\r\n|\r|\n", source)
    for statement in ast.parse(source).body:
        first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])
        yield "\n".join(lines[first - 1 : statement.end_lineno])
