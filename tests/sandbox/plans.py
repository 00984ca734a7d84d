"""Running plan code in process, with and without the language layer, and reading tables of snippets."""

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sandbox.policy import CompiledCell
from sandbox.worker import language
from tests.sandbox.sections import sections

HERE = Path(__file__).parent
language.preload()
language.guard_library()


class StillClock:
    """Starts at a moment of 2023 and moves only by sleeping."""

    def __init__(self) -> None:
        self.seconds = 1_700_000_000.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class Ran:
    """What running a plan gave; ``error`` is the exception itself, which comparisons leave to its type and message."""

    output: str
    names: dict[str, Any]
    value: object = None
    error: BaseException | None = None

    @property
    def told(self) -> tuple[str, str, str]:
        return self.output, type(self.error).__name__, str(self.error)

    @property
    def line(self) -> int | None:
        """The innermost line of the plan that the error came through."""
        line, trace = None, self.error.__traceback__ if self.error else None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == "<plan>":
                line = trace.tb_lineno
            trace = trace.tb_next
        return line


class Session:
    """A namespace and its output; several cells may run in it."""

    def __init__(self, **names: object) -> None:
        self.written: list[str] = []
        self.clock = StillClock()
        self.names: dict[str, Any] = language.namespace(Random(5), self.clock, self.written.append) | names

    def run(self, source: str) -> Ran:
        """Run a cell; raises PolicyRefused if it does not compile."""
        start = len(self.written)
        value, error = execute(language.compile_cell(source, "<plan>"), self.names)
        return Ran("".join(self.written[start:]), self.names, value, error)


def execute(cell: CompiledCell, names: dict[str, Any]) -> tuple[object, BaseException | None]:
    try:
        exec(cell.code, names)
        return (None if cell.tail is None else eval(cell.tail, names)), None
    except BaseException as error:
        return None, error


def run_guarded(source: str, **names: object) -> Ran:
    return Session(**names).run(source)


def run_plain(source: str) -> Ran:
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()) as output:
        value, error = execute(language.compile_plain(source, "<plan>"), names)
    return Ran(output.getvalue(), names, value, error)


def snippets(folder: str) -> Iterator[Any]:
    """The sections of the folder's tables."""
    for file in sorted((HERE / folder).glob("*.txt")):
        for name, source in sections(file):
            yield pytest.param(source, id=f"{file.stem}: {name}")
