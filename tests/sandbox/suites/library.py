"""The test suites of standard modules, run in the sandbox. A test that fails only there has a documented reason.

``python -m tests.sandbox.suites.library`` prints the numbers and rewrites the reasons.
"""

import ast
import contextlib
import io
import json
import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from planbook.sandbox import Limits, Sandbox
from planbook.sandbox.policy.compiler import find_problems

MODULES = "json re dataclasses enum functools itertools collections textwrap statistics fractions heapq string".split()
HERE = Path(__file__).parent
STAND_IN = (HERE / "stand_in.txt").read_text(encoding="utf-8")
REASONS = HERE / f"reasons-{sys.version_info[0]}.{sys.version_info[1]}.txt"
SUITES = Path(sysconfig.get_path("stdlib"), "test")
LIMITS = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=1024, output_chars=1_000_000)
MOST_TESTS = 25
"""Maximum tests of one class in one cell, because the size of cells is limited."""
Results = dict[str, str]
"""Maps class and method to "ok", "skipped", or the reason of a failure."""


class Cell(NamedTuple):
    """Code, with the class and the methods that it tests ("*": all). Without code, the policy refuses the methods."""

    source: str
    tested: str = ""
    methods: tuple[str, ...] = ()


def files(module: str) -> list[Path]:
    """Return the files of a module's suite."""
    whole = SUITES / f"test_{module}.py"
    folder = sorted((SUITES / f"test_{module}").glob("*.py"))
    return [whole] if whole.exists() else [each for each in folder if each.name != "__main__.py"]


def cells(module: str) -> Iterator[Cell]:
    """Yield the cells of a module's suite."""
    yield Cell(STAND_IN)
    yield Cell(f"import {module}\nimported[{module!r}] = {module}")
    for path in files(module):
        yield from _cells_of(path)


def _cells_of(path: Path) -> Iterator[Cell]:
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield from map(Cell, _imports(statement))
        elif isinstance(statement, ast.ClassDef):
            yield from _class(statement)
        elif not (isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test)):
            yield Cell(ast.unparse(statement))


def _imports(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield an import for each name. A stand-in replaces modules that plans do not have."""
    module = getattr(statement, "module", None) or ""
    if module.startswith(("test", "unittest")) or "unittest" in ast.unparse(statement):
        return
    for alias in statement.names:
        name = alias.asname or alias.name.partition(".")[0]
        one = ast.unparse(
            ast.Import([alias]) if isinstance(statement, ast.Import) else ast.ImportFrom(module, [alias], 0)
        )
        kept = f"\nimported[{alias.name!r}] = {name}" if isinstance(statement, ast.Import) else ""
        missing = "" if name == "*" else f"\nexcept ImportError:\n    {name} = Missing({module or alias.name!r})"
        yield f"try:\n    {one}{missing}{kept}" if missing else one


def _class(statement: ast.ClassDef) -> Iterator[Cell]:
    """Yield a class without its tests, and classes derived from it with some of them each."""
    tests = [each for each in statement.body if isinstance(each, ast.FunctionDef) and each.name.startswith("test")]
    refused = [each for each in tests if find_problems(ast.unparse(each))]
    statement.body = [each for each in statement.body if each not in tests] or [ast.Pass()]
    name, inherited = statement.name, ("*",) if not tests else ()
    yield Cell(ast.unparse(statement), name, inherited)
    if refused:
        yield Cell("", name, tuple(each.name for each in refused))
    allowed = [each for each in tests if each not in refused]
    for start in range(0, len(allowed), MOST_TESTS):
        part = allowed[start : start + MOST_TESTS]
        code = "\n".join(ast.unparse(each) for each in part)
        yield Cell(f"class {name}({name}):\n{textwrap.indent(code, '    ')}", name, tuple(each.name for each in part))


RUN = "run_tests({tested}, {methods!r})"


def in_sandbox(module: str) -> Results:
    """Return the result of every test in the sandbox."""
    results: Results = {}
    with Sandbox() as sandbox, sandbox.session({}, limits=LIMITS) as session:
        for cell in cells(module):
            if not cell.source:
                results |= {f"{cell.tested}.{name}": "refused" for name in cell.methods}
                continue
            fault = session.run(cell.source).fault
            if cell.methods:
                ran = session.run(RUN.format(tested=cell.tested, methods=cell.methods)) if fault is None else None
                reason = str(fault or (ran and ran.fault)).splitlines()[0]
                found = ran.value if ran and isinstance(ran.value, dict) else dict.fromkeys(cell.methods, reason)
                results |= {f"{cell.tested}.{name}": str(each) for name, each in found.items()}
    return results


def in_plain_python(module: str) -> Results:
    """Return the result of every test in plain Python. For a process of its own."""
    results: Results = {}
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(module):
        source = cell.source or _only(module, cell)
        with contextlib.suppress(BaseException), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, "<suite>", "exec", dont_inherit=True), names)
            if cell.methods:
                found = eval(RUN.format(tested=cell.tested, methods=cell.methods), names)
                results |= {f"{cell.tested}.{name}": each for name, each in found.items()}
    return results


def _only(module: str, cell: Cell) -> str:
    """Return the class with the tests that the policy refuses."""
    for path in files(module):
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.ClassDef) and statement.name == cell.tested:
                code = [ast.unparse(each) for each in statement.body if getattr(each, "name", "") in cell.methods]
                return f"class {cell.tested}({cell.tested}):\n{textwrap.indent(chr(10).join(code), '    ')}"
    raise LookupError(cell.tested)


def compared(module: str) -> tuple[int, Results]:
    """Return the number of tests that pass in plain Python, and those that fail in the sandbox, with the reason."""
    command = [sys.executable, "-m", "tests.sandbox.suites.library", module]
    plain = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    passed = [name for name, each in plain.items() if each == "ok"]
    found = in_sandbox(module)
    return len(passed), {name: reason for name in passed if (reason := found.get(name, "not run")) != "ok"}


def main(module: str | None = None) -> None:
    """Print a table and write the reasons. With a module, print its results in plain Python."""
    if module is not None:
        print(json.dumps(in_plain_python(module)))
        return
    lines = list[str]()
    for each in MODULES:
        passed, others = compared(each)
        print(f"{each:12} {passed:5} {passed - len(others):5} {(passed - len(others)) / passed:7.1%}")
        lines += [f"{each} {name}: {reason}" for name, reason in sorted(others.items())]
    REASONS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
