"""Run programs in a sandbox and in plain Python, and read tables of snippets.

A line ``### TITLE`` begins a section of a table.
"""

import atexit
import contextlib
import io
import linecache
import marshal
import re
import sys
from binascii import a2b_base64
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from planbook.sandbox import Fault, Limits, Sandbox, Session
from planbook.sandbox.policy.compiler import compile_for_worker


def sections(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the title of each section and the lines below it."""
    _, *parts = re.split(r"^### ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert parts, f"{file} has no section"
    for section in parts:
        title, _, body = section.partition("\n")
        yield title, body


HERE = Path(__file__).parent
GOOD_PLANS = dict(sections(HERE / "tables" / "good_plans.txt"))
"""Plans like those that models write. They must pass the check."""


@dataclass(frozen=True)
class ProgramResult:
    """The output of a program, and the type, message and innermost line of the exception that ended it, if any."""

    output: str
    type: str = ""
    message: str = ""
    line: int | None = None


def fault_of(session: Session, code: str) -> Fault:
    """Run a cell that must end with a fault, and return the fault."""
    fault = session.run(code).fault
    assert fault is not None, code[:200]
    return fault


@cache
def shared_sandbox() -> Sandbox:
    """Return the sandbox that all programs of this test process share."""
    sandbox = Sandbox()
    atexit.register(sandbox.close)
    return sandbox


def run_in_sandbox(source: str, limits: Limits | None = None) -> ProgramResult:
    """Run a program in a session of its own, in the shared sandbox."""
    return run_in(shared_sandbox(), source, limits)


def run_in(sandbox: Sandbox, source: str, limits: Limits | None = None) -> ProgramResult:
    """Run a program in a new session of this sandbox."""
    with sandbox.session({}, limits=limits or Limits()) as session:
        result = session.run(source)
    fault = result.fault
    return (
        ProgramResult(result.output, fault.type, fault.message, fault.line) if fault else ProgramResult(result.output)
    )


def run_plain(source: str) -> ProgramResult:
    """Run a program in this process, as plain Python."""
    main = ModuleType("__main__")
    names = vars(main)
    code, tail = marshal.loads(a2b_base64(compile_for_worker(source, "<plan>", language_layer=False).code))
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as output:
        patch.setitem(sys.modules, "__main__", main)
        patch.setitem(linecache.cache, "<plan>", (len(source), None, source.splitlines(keepends=True), "<plan>"))
        try:
            exec(code, names)
            if tail is not None:
                eval(tail, names)
        except BaseException as error:
            return ProgramResult(output.getvalue(), type(error).__name__, str(error), _line(error))
    return ProgramResult(output.getvalue())


def _line(error: BaseException) -> int | None:
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<plan>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def snippets(folder: str) -> Iterator[Any]:
    """Yield each section of the tables in a folder as a test parameter."""
    for file in sorted((HERE / folder).glob("*.txt")):
        for name, source in sections(file):
            yield pytest.param(source, id=f"{file.stem}: {name}")
