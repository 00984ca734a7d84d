"""Read the tables of attacks in ``attacks`` and its subfolders. Each section of a table is one attack.

A line ``---`` separates the cells of an attack: pieces of code that one session runs one after the other. In the
subfolders, a section begins with a line ``### NAME -> OUTCOME``. The outcome is that of the first cell that does not
finish, or of the last cell:

    refused FAULT       the policy refuses the cell for this fault (sandbox.policy.rules)
    raises EXCEPTION    the cell raises an exception of exactly this type
    limit NAME          this limit, one of sandbox.types.LIMIT_MESSAGES, ends the cell
    gives JSON          the cell is harmless, and its last expression has this value

``(plain Python too)`` after the outcome means that the attack fails even without any layer, because of Python or the
host. The attacks outside the subfolders are directed at their own worker, which they may damage. They have no
outcome, but must have no effect on the host. The ``escapes`` among them get around the language layer and define a
variable ``modules``; ``deeds`` are what a plan does after such an escape.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from planbook.sandbox import CellResult, FaultKind, Limits, Sandbox, Session
from tests.sandbox.plans import sections

CANARY = "the host's secret"
LIMITS = Limits(wall_seconds=20, memory_mb=256)


class Host:
    """A host with two functions for plans. Its module and its instance hold a secret that no plan may see."""

    def __init__(self) -> None:
        self.secret, self.calls = CANARY, list[object]()

    def go_to(self, place: str) -> str:
        self.calls.append(place)
        return f"at {place}"

    def act(self, place: str = "") -> str:
        self.calls.append(place)
        return f"done {place}"

    def open_in(self, sandbox: Sandbox, limits: Limits = LIMITS) -> Session:
        functions: dict[str, Callable[..., object]] = {"agent.go_to": self.go_to, "host_act": self.act}
        return sandbox.session(functions, attributes=lambda: {"agent.location": "desk"}, limits=limits)

    def reached(self, *results: CellResult) -> str:
        """Return how an attack affected the host, or an empty text if it did not."""
        shown = " ".join(f"{result.output} {result.value} {result.faults}" for result in results)
        if CANARY in shown or self.secret != CANARY or vars(self).keys() != {"secret", "calls"}:
            return "reached the host"
        return "" if all(type(call) is str for call in self.calls) else f"gave an action {self.calls}"


HERE = Path(__file__).parent / "attacks"
REMARK = " (plain Python too)"
PARALLEL_WORKERS = 4
"""Number of workers that run at the same time, which is possible because they mostly wait."""
T = TypeVar("T")
WORDS = {FaultKind.CHECK: "refused", FaultKind.RAISED: "raises", FaultKind.LIMIT: "limit"}


@dataclass(frozen=True)
class Attack:
    """One section of a table."""

    name: str
    cells: tuple[str, ...]
    outcome: str
    fails_in_plain_python: bool
    """Whether the title ends with the remark ``(plain Python too)``."""

    def run_in(self, session: Session) -> CellResult:
        """Return the result of the first cell that does not finish, or of the last cell."""
        result = CellResult()
        for cell in self.cells:
            result = session.run(cell)
            if result.fault is not None:
                break
        return result


def attacks(*folders: str) -> list[Attack]:
    """Return the attacks in the tables of these folders: ``.`` for those on the language, or a subfolder."""
    files = [file for folder in folders for file in sorted((HERE / folder).glob("*.txt"))]
    return [attack for file in files for attack in _attacks_of(file)]


def _attacks_of(file: Path) -> Iterator[Attack]:
    for title, source in sections(file):
        name, arrow, outcome = title.partition(" -> ")
        assert arrow or file.parent == HERE, f"{file.name}: {name}: has no outcome"
        cells = tuple(source.rstrip("\n").split("\n---\n"))
        yield Attack(f"{file.stem}: {name}", cells, outcome.removesuffix(REMARK), outcome.endswith(REMARK))


def examine_all(examine: Callable[[Attack], Iterable[T]], found: Iterable[Attack]) -> list[T]:
    """Examine several attacks at a time. Return everything that ``examine`` yields, in the order of the attacks."""
    with ThreadPoolExecutor(PARALLEL_WORKERS) as pool:
        return [result for results in pool.map(examine, found) for result in results]


def outcome_of(result: CellResult) -> str:
    """Return the outcome of a cell in the notation of the tables."""
    if result.fault is None:
        return f"gives {json.dumps(result.value)}"
    return f"{WORDS[result.fault.kind]} {result.fault.type}"
