"""The terminal's input and output: consoles, the log, tables of numbers, and JSON results.

Output for people goes to a console (``console()`` or ``ERRORS``), which escapes control characters. ``relayed_input``
makes it possible to stop waiting for standard input.
"""

import json
import logging
import os
import re
import socket
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from copy import deepcopy
from typing import Any, TextIO

import click
from pydantic import BaseModel
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from planbook.planner import Grid
from planbook.wording import escape_control

PLAIN_WIDTH = 110
"""Width, in columns, of output that does not go to a terminal."""
ALL = "all"
"""Name of the row that holds the totals of the other rows."""


class FigureTable(Table):
    """A table that never cuts off a number, however narrow the terminal is.

    If the table does not fit, it is printed without borders and with wrapped headings. If that does not fit either, it
    is printed as a list.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the widest form that fits the terminal."""
        unlimited = options.update(max_width=1_000)
        narrow = self._narrow(options)
        if Measurement.get(console, unlimited, self).maximum <= options.max_width:
            yield from Table.__rich_console__(self, console, options)
        elif Measurement.get(console, unlimited, narrow).minimum <= options.max_width:
            yield from Table.__rich_console__(narrow, console, options)
        else:
            yield from self._list()

    def _list(self) -> Iterator[str]:
        """Yield the title, and a line for each row."""
        if self.title:
            yield str(self.title)
        first, *others = ([" ".join(str(column.header).split()), *map(str, column.cells)] for column in self.columns)
        for number, name in enumerate(first[1:], start=1):
            figures = "; ".join(f"{column[0].rstrip(':')} {column[number]}" for column in others)
            yield f"{first[0]} {name}: {figures}"

    def _narrow(self, options: ConsoleOptions) -> "FigureTable":
        narrow = deepcopy(self)
        narrow.box, narrow.collapse_padding, narrow.pad_edge = box.SIMPLE_HEAD, True, False
        dash = "-" if options.ascii_only else "\N{EN DASH}"
        for column in narrow.columns:
            has_figures = column.justify == "right"
            column.header = re.sub(r" (?!%)", "\n", str(column.header))
            column.no_wrap, column.overflow = has_figures, "fold"
            if has_figures:
                column._cells = [str(cell).replace("% to ", dash) for cell in column._cells]
        return narrow


def right_aligned(name: str, columns: Iterable[str], *, title: str | None = None) -> Table:
    """Return an empty table with a first column for the names of its rows, and right-aligned ``columns`` for numbers.

    ``name`` is the heading of the first column. Long names are wrapped in a narrow terminal.
    """
    table = FigureTable(title=title, title_justify="left")
    table.add_column(name, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def table_of(grid: Grid) -> Table:
    """Return a grid as a table. A line separates the row ``all``, which holds the totals, from the rows above it."""
    table = right_aligned(grid.name, grid.columns, title=grid.title)
    for row in grid.rows:
        is_total = row[0] == ALL and len(grid.rows) > 1
        if is_total:
            table.add_section()
        table.add_row(*row, style="bold" if is_total else None)
    return table


def _width(stream: TextIO) -> int | None:
    return None if stream.isatty() else PLAIN_WIDTH


_QUIET = ContextVar("quiet", default=False)
_JSON = ContextVar("json", default=False)


class SafeConsole(Console):
    """A console that escapes control characters, and prints nothing while the current thread is inside ``quiet``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, emoji=False, markup=False, **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects. By default, a string is not wrapped, so that commands and paths in it can be copied."""
        is_line = bool(objects) and isinstance(objects[0], str)
        super().print(*objects, **{"soft_wrap": is_line, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """Render a string with its control characters escaped."""
        return super().render_str(escape_control(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render an object, with control characters in its text escaped. Control codes of rich itself are kept."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=escape_control(segment.text))

    @property
    def quiet(self) -> bool:
        """True while the current thread is inside ``quiet``, so that nothing is printed."""
        return _QUIET.get()

    @quiet.setter
    def quiet(self, value: bool) -> None:
        pass  # rich assigns this attribute, but only the function ``quiet`` silences the console


ERRORS = SafeConsole(stderr=True, width=_width(sys.stderr))


def console() -> Console:
    """Return the console for results: standard output, or standard error inside ``json_output``."""
    if is_json_output():
        return ERRORS
    return SafeConsole(width=_width(sys.stdout))


@contextmanager
def _switched_on(switch: ContextVar[bool]) -> Iterator[None]:
    token = switch.set(True)
    try:
        yield
    finally:
        switch.reset(token)


def quiet() -> AbstractContextManager[None]:
    """Print nothing from this thread until the block ends."""
    return _switched_on(_QUIET)


@contextmanager
def json_output() -> Iterator[None]:
    """Keep standard output free for one JSON object: until the block ends, all other output goes to standard error.

    This includes what is printed by the user's own code, such as tools and judges.
    """
    with _switched_on(_JSON), redirect_stdout(sys.stderr):
        yield


def is_json_output() -> bool:
    """Return True inside ``json_output``."""
    return _JSON.get()


def print_json(result: BaseModel | Mapping[str, Any]) -> None:
    """Print a result as one line of JSON."""
    value = json.loads(result.model_dump_json()) if isinstance(result, BaseModel) else result
    click.echo(json.dumps(value, separators=(",", ":")))  # ASCII, which every terminal can show


@contextmanager
def relayed_input() -> Iterator[None]:
    """Relay standard input through a socket, which is shut down when the block ends.

    A thread that is still waiting for input then reads end-of-file. After the block, nothing more can be read from
    standard input.
    """
    source, (sender, receiver) = os.dup(0), socket.socketpair()

    def relay() -> None:
        with suppress(OSError):  # the input cannot be read, or the block has ended
            while data := os.read(source, 65_536):
                sender.sendall(data)
        with suppress(OSError):
            sender.shutdown(socket.SHUT_WR)

    with sender, receiver:
        os.dup2(receiver.fileno(), 0)
        threading.Thread(target=relay, daemon=True).start()
        try:
            yield
        finally:
            sender.shutdown(socket.SHUT_WR)


class LogHandler(logging.Handler):
    """Prints log records on standard error, above the progress bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        style = "yellow" if record.levelno >= logging.WARNING else "dim"
        ERRORS.print(self.format(record), style=style)


LOG_HANDLER = LogHandler()


def show_log(package: str) -> None:
    """Print the log of a package on standard error."""
    log = logging.getLogger(package)
    log.addHandler(LOG_HANDLER)  # has no effect if the handler was added before
    log.setLevel(logging.INFO)
