"""Where a command prints for people, and tables of figures: a column of names, figures that stand below each other."""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from typing import Literal, TextIO

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table

from planbook.planner import Grid

PLAIN_WIDTH = 110
"""Columns where the output is no terminal."""
GAP = 2
"""Spaces between the figures of a table whose names stand on lines of their own."""
ALL = "all"
"""Names the row of a table that sums up the others."""


class FigureTable(Table):
    """A table that never cuts a figure off, whatever the width of the terminal.

    Where there is no room, it gives up its lines and breaks its headings; then each name stands on a line above its
    figures; then the table becomes a list.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the widest form for which the terminal has room."""
        every = options.update(max_width=1_000)
        narrow = self._narrow(options)
        if Measurement.get(console, every, self).maximum <= options.max_width:
            yield from Table.__rich_console__(self, console, options)
        elif Measurement.get(console, every, narrow).minimum <= options.max_width:
            yield from Table.__rich_console__(narrow, console, options)
        else:
            yield from narrow._stacked(options.max_width) or self._list()

    def _stacked(self, width: int) -> list[str]:
        """Return a line for each name, and one for its figures below it; nothing if these have no room either."""
        names, *figures = ([str(each.header), *map(str, each.cells)] for each in self.columns)
        if self.columns[0].justify == "right" or not figures:
            return []
        widths = [max(len(line) for cell in column for line in cell.split("\n")) for column in figures]
        if sum(widths) + GAP * len(widths) > width:
            return []
        lines = [str(self.title)] if self.title else []
        head = len(lines)
        for name, *row in zip(names, *figures, strict=True):
            lines += [" ".join(name.split())] if len(lines) > head else []
            cells = [cell.split("\n") for cell in row]
            height = max(map(len, cells))
            for line in zip(*([""] * (height - len(cell)) + cell for cell in cells), strict=True):
                lines.append("".join(" " * GAP + text.rjust(wide) for text, wide in zip(line, widths, strict=True)))
        return lines

    def _list(self) -> Iterator[str]:
        """Return the title and a sentence for each row."""
        if self.title:
            yield str(self.title)
        first, *others = ([" ".join(str(each.header).split()), *map(str, each.cells)] for each in self.columns)
        for number, name in enumerate(first[1:], start=1):
            figures = "; ".join(f"{each[0].rstrip(':')} {each[number]}" for each in others)
            yield f"{first[0]} {name}: {figures}"

    def _narrow(self, options: ConsoleOptions) -> "FigureTable":
        narrow = deepcopy(self)
        narrow.box, narrow.collapse_padding, narrow.pad_edge = box.SIMPLE_HEAD, True, False
        dash = "-" if options.ascii_only else "\N{EN DASH}"
        for column in narrow.columns:
            figures = column.justify == "right"
            column.header = re.sub(r" (?!%)", "\n", str(column.header))
            column.no_wrap, column.overflow = figures, "fold"
            if figures:
                column._cells = [str(cell).replace("% to ", dash) for cell in column._cells]
        return narrow


def right_aligned(
    name: str | None,
    columns: Iterable[str],
    *,
    title: str | None = None,
    long: Literal["whole", "folded"] = "folded",
    unbroken: bool = False,
) -> Table:
    """An empty table of these columns, all right-aligned but for the names; without names where ``name`` is None.

    ``long`` names are folded where the terminal is narrow, or left whole; ``unbroken`` figures never go over two lines.
    """
    table = FigureTable(title=title, title_justify="left")
    if name is not None:
        table.add_column(name, overflow="fold" if long == "folded" else "ellipsis", no_wrap=long == "whole")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=unbroken)
    return table


def table_of(grid: Grid, *, long: Literal["whole", "folded"] = "whole") -> Table:
    """Draw a small table; its row ``all`` stands below a line."""
    table = right_aligned(grid.name, grid.columns, title=grid.title, long=long)
    for row in grid.rows:
        total = row[0] == ALL and len(grid.rows) > 1
        if total:
            table.add_section()
        table.add_row(*row, style="bold" if total else None)
    return table


def _width(stream: TextIO) -> int | None:
    return None if stream.isatty() else PLAIN_WIDTH


_QUIET = ContextVar("quiet", default=False)


class QuietableConsole(Console):
    """A console that prints nothing in a thread that is ``quiet`` at the moment."""

    @property
    def quiet(self) -> bool:
        """True while nothing is printed."""
        return _QUIET.get()

    @quiet.setter
    def quiet(self, value: bool) -> None:
        pass


ERRORS = QuietableConsole(stderr=True, highlight=False, emoji=False, markup=False, width=_width(sys.stderr))


def console(as_json: bool) -> Console:
    """Return where tables go: standard output, or standard error when JSON ends standard output."""
    if as_json:
        return ERRORS
    return QuietableConsole(highlight=False, emoji=False, markup=False, width=_width(sys.stdout))


@contextmanager
def quiet() -> Iterator[None]:
    """Print nothing from this thread until the block ends."""
    token = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(token)
