"""What the store needs of a database."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection

from planbook.store.tables import Row


class Database(Protocol):
    """The tables of one run, open. Any thread may call anything; other processes may have the same tables open."""

    def add(self, rows: Sequence[Row], texts: Mapping[str, str], *, once: bool = False) -> None:
        """Write events, and texts that may be there already, in one transaction, and commit it.

        ``once`` leaves out events that are there; else they raise BadRun, and nothing is written.
        """

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection to read by."""

    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction by which anything but events is written; committed at its end. Raises BadRun."""

    def settled_after(self, number: int) -> int:
        """The last id there is, if it is past this number: no event will turn up later with an id up to it."""

    def hold(self, index: int) -> AbstractContextManager[bool]:
        """Keep other threads and processes from holding the number until this one dies; False if one holds it."""

    def claim(self) -> None:
        """Make the run this process's to play, until it ends. Raises BadRun if another one plays it."""

    def is_claimed(self) -> bool:
        """Whether a process on any machine plays the run, as far as the database knows."""

    def close(self) -> None:
        """Give back what is open."""
