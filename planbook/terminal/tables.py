"""Tables of figures: a column of names, and figures that stand below each other."""

from collections.abc import Iterable
from typing import Literal

from rich.table import Table


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
    table = Table(title=title, title_justify="left")
    if name is not None:
        table.add_column(name, overflow="fold" if long == "folded" else "ellipsis", no_wrap=long == "whole")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=unbroken)
    return table
