"""The tables of attacks. Each section is an attack; a line ``---`` separates its cells.

In the folders a section begins with a line ``### NAME -> OUTCOME``. The outcome is that of the first cell that does not
finish, or of the last one:

    refused FAULT       it does not run, for this fault (sandbox.policy.rules)
    raises EXCEPTION    of exactly this type
    limit NAME          one of sandbox.types.MESSAGES ends it
    gives JSON          it is harmless, and the last expression has this value

``(plain Python too)`` after it means that the attack fails even without any layer, because of Python or the host. The
attacks outside of the folders are directed at their own worker, which they may spoil: they have no outcome, and must
have no effect on the host. ``deeds`` are what a plan does after one of the ``escapes``, which define ``modules``.
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
    """Actions and a function of the host, whose module and instance hold the secret."""

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
        """Return what an attack reached of the host; an empty text if it reached nothing."""
        shown = " ".join(f"{result.output} {result.value} {result.faults}" for result in results)
        if CANARY in shown or self.secret != CANARY or vars(self).keys() != {"secret", "calls"}:
            return "reached the host"
        return "" if all(type(call) is str for call in self.calls) else f"gave an action {self.calls}"


HERE = Path(__file__).parent / "attacks"
PLAINLY = " (plain Python too)"
AT_ONCE = 4
"""Number of workers that run at the same time. Most of the time they wait."""
T = TypeVar("T")
WORDS = {FaultKind.CHECK: "refused", FaultKind.RAISED: "raises", FaultKind.LIMIT: "limit"}


@dataclass(frozen=True)
class Attack:
    """One section; ``fails_plainly`` is what the remark says."""

    name: str
    cells: tuple[str, ...]
    outcome: str
    fails_plainly: bool

    def run_in(self, session: Session) -> CellResult:
        """The result of the first cell that does not finish, or of the last."""
        result = CellResult()
        for cell in self.cells:
            result = session.run(cell)
            if result.fault is not None:
                break
        return result


def attacks(*folders: str) -> list[Attack]:
    """Return the attacks of a folder's tables: ``.`` for those on the language, else a subfolder."""
    files = [file for folder in folders for file in sorted((HERE / folder).glob("*.txt"))]
    return [attack for file in files for attack in _attacks_of(file)]


def _attacks_of(file: Path) -> Iterator[Attack]:
    for title, source in sections(file):
        name, arrow, outcome = title.partition(" -> ")
        assert arrow or file.parent == HERE, f"{file.name}: {name}: has no outcome"
        cells = tuple(source.rstrip("\n").split("\n---\n"))
        yield Attack(f"{file.stem}: {name}", cells, outcome.removesuffix(PLAINLY), outcome.endswith(PLAINLY))


def side_by_side(look: Callable[[Attack], Iterable[T]], found: Iterable[Attack]) -> list[T]:
    """Return what ``look`` yields for each attack, in the order of the attacks. Several run at the same time."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [each for results in pool.map(look, found) for each in results]


def outcome_of(result: CellResult) -> str:
    """Return the outcome as the tables write it."""
    if result.fault is None:
        return f"gives {json.dumps(result.value)}"
    return f"{WORDS[result.fault.kind]} {result.fault.type}"
