"""Compiling a cell on the host, once: the same procedure runs in thousands of sessions.

A worker takes compiled code from nobody else, and compiles nothing.
"""

import marshal
from base64 import b64encode
from collections.abc import Sequence
from typing import NamedTuple

from planbook.sandbox.caching import cached_up_to
from planbook.sandbox.policy.compiler import NOTHING, Before, PolicyRefused, compile_cell, compile_plain
from planbook.sandbox.policy.rules import TOO_LARGE, Problem
from planbook.sandbox.protocol import MAX_FAULT_TEXT, MAX_FAULTS
from planbook.sandbox.reading.syntax import code_lines, shown_line
from planbook.sandbox.types import Fault, FaultKind

MOST_KEPT = 16 << 20
"""Characters of sources and bytes of compiled code that are kept: those of the cells that were run last."""
MAX_CODE = 1 << 20
"""Bytes of compiled code. Python works out constants when it compiles: ``"ab" * 2000`` a thousand times is 4 MB."""
MAX_TEXT = 300
"""Characters of a source line, or of the message of one fault among many."""


class Request(NamedTuple):
    """What is to be compiled: a cell, or a part of one, under the policy where ``guarded``."""

    source: str
    file: str
    guarded: bool
    is_part: bool = False
    before: Before = NOTHING


class Compiled(NamedTuple):
    """The code and the final expression, marshalled, in base64; or why there is none."""

    code: str = ""
    leaves: Before = NOTHING
    faults: tuple[Fault, ...] = ()


@cached_up_to(MOST_KEPT)
def precompile(request: Request) -> Compiled:
    """Do as ``compiled``; a cell that was compiled lately is not compiled again."""
    return compiled(request)


def compiled(request: Request) -> Compiled:
    """Compile a cell. Never raises."""
    source, file, guarded, is_part, before = request
    try:
        cell = (compile_cell if guarded else compile_plain)(source, file, before, is_part=is_part)
    except PolicyRefused as refused:
        return Compiled(faults=faults_of(source, refused.problems))
    code = marshal.dumps((cell.code, cell.tail))
    if len(code) > MAX_CODE:
        message = f"the code takes {len(code):,} bytes when it is compiled; the limit is {MAX_CODE:,}"
        problem = Problem(1, 0, TOO_LARGE, message, "make long constants when the plan runs")
        return Compiled(faults=faults_of(source, [problem]))
    return Compiled(b64encode(code).decode(), cell.leaves)


def faults_of(source: str, problems: Sequence[Problem]) -> tuple[Fault, ...]:
    """Return what the policy found as faults."""
    lines = code_lines(source)

    def fault(problem: Problem) -> Fault:
        line = shown_line(lines, problem.line)
        message, hint = problem.message[:MAX_TEXT], problem.hint[:MAX_FAULT_TEXT]
        return Fault(FaultKind.CHECK, problem.name, message, problem.line, problem.column, line, hint)

    return tuple(map(fault, problems[:MAX_FAULTS]))
