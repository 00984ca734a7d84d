"""A pass of a prompt graph: its nodes in layers, and what they changed in the database."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import ClassVar

from pydantic import JsonValue

from planbook.planner.graph import NodeAnswered as Node
from planbook.report.inside.items import Asked

IN_FULL = 20
"""Passes at either end of an episode whose prompts are shown."""


@dataclass(frozen=True)
class Stored:
    """A value written to the database; ``before`` is empty where there was none, ``same`` where it was that already."""

    path: str
    before: str
    now: str
    same: bool


@dataclass(frozen=True)
class Evaluated:
    """A node, the prompts that it took, what it stored, and, if it was skipped, where it was answered last."""

    node: Node
    anchor: str
    asked: tuple[Asked, ...] = ()
    stored: tuple[Stored, ...] = ()
    last: str = ""
    last_pass: int = 0

    @property
    def answer(self) -> str:
        """As text."""
        return as_text(self.node.answer)


@dataclass
class Passed:
    """One pass."""

    kind: ClassVar[str] = "passed"
    number: int
    nodes: list[Evaluated] = field(default_factory=list)
    in_full: bool = True
    """Whether its prompts are shown."""

    @property
    def layers(self) -> list[tuple[int, list[Evaluated]]]:
        """The nodes by layer, in the order in which they were evaluated."""
        ordered = sorted(self.nodes, key=lambda each: each.node.layer)
        return [(layer, list(nodes)) for layer, nodes in groupby(ordered, key=lambda each: each.node.layer)]

    @property
    def reused(self) -> int:
        """How many were skipped and kept the answer that they had."""
        return sum(each.node.skipped and bool(each.last) for each in self.nodes)

    @property
    def skipped(self) -> int:
        """How many were skipped and had none yet."""
        return sum(each.node.skipped and not each.last for each in self.nodes)

    @property
    def changes(self) -> list[Stored]:
        """What is otherwise in the database than before, in the order in which it was written."""
        return [stored for each in self.nodes for stored in each.stored if not stored.same]


def shorten(passes: Sequence[Passed]) -> None:
    """Leave out the prompts of the passes in the middle of a long game.

    Of 400 passes of AgentKit's graph of Crafter, a page with all of them has 26 MB for that game alone, not 6, and the
    game takes a browser 9 seconds to open, not 4.
    """
    for each in passes[IN_FULL:-IN_FULL]:
        each.in_full = False


class Graphs:
    """Puts the passes of an episode together, which know of the ones before."""

    def __init__(self, anchor: str) -> None:
        self._anchor, self._count = anchor, 0
        self._database: dict[str, dict[str, JsonValue]] = {}
        self._answered: dict[tuple[str, str], tuple[str, int]] = {}

    def evaluated(self, play: str, node: Node, asked: tuple[Asked, ...]) -> Evaluated:
        """A node with the prompts that it took. ``play`` is what shares a database."""
        anchor, self._count = f"{self._anchor}-node-{self._count}", self._count + 1
        last, last_pass = self._answered.get((play, node.node), ("", 0)) if node.skipped else ("", 0)
        if not node.skipped:
            self._answered[play, node.node] = anchor, node.number
        stored = self._stored(self._database.setdefault(play, {}), node.stored)
        return Evaluated(node, anchor, asked, stored, last, last_pass)

    def _stored(self, database: dict[str, JsonValue], written: Mapping[str, JsonValue]) -> tuple[Stored, ...]:
        found = []
        for path, now in written.items():
            before = as_text(database[path]) if path in database else ""
            found.append(Stored(path, before, as_text(now), path in database and database[path] == now))
            database[path] = now
        return tuple(found)


def as_text(value: JsonValue) -> str:
    """Text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
