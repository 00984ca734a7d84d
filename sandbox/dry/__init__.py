"""A dry run: what a plan would do, followed before any action is taken, as far as it is certain.

The plan's syntax tree is walked with what is known of the values; what an action returns is not known, so both ways
of a branch on it are followed and brought together. Only what holds on every path is told: a call is reported if it
cannot succeed whenever it is reached. What cannot be followed (code that something unknown may call, exceptions that
are caught) makes less known, never more.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sandbox.dry.base import MODULE, Ended, TooLong, Visits
from sandbox.dry.knowledge import Impossible, Knowledge
from sandbox.dry.state import State
from sandbox.dry.statements import DryWalk
from sandbox.dry.values import UNKNOWN, Record, Value
from sandbox.reading.syntax import code_lines, parse
from sandbox.types import Fault, FaultKind

__all__ = ["CANNOT_SUCCEED", "UNKNOWN", "DryRun", "Impossible", "Knowledge", "dry_run"]

CANNOT_SUCCEED = "cannot-succeed"
"""The type of the faults that a dry run finds."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What came of a dry run: the calls that cannot succeed, and how many were looked at.

    ``followed`` is False where the plan has more ways to go than are followed: then no call is told of.
    """

    faults: tuple[Fault, ...]
    calls: int
    followed: bool = True


def dry_run(
    code: str,
    functions: Mapping[str, Callable[..., object]],
    knowledge: Knowledge,
    *,
    attributes: Iterable[str] = (),
    values: Mapping[str, object] | None = None,
    helpers: Iterable[str] = (),
) -> DryRun:
    """Follow a plan that passes the static check, from what is known at its start. Never raises for a plan's sake.

    ``values`` are names with plain values, or with mappings of attributes for objects such as ``task``; ``helpers``
    are codes that ran before.
    """
    trees = [tree for tree in map(parse, (*helpers, code)) if isinstance(tree, ast.Module)]
    walk = DryWalk(State(knowledge), functions, attributes, trees)
    given = {name: _value(walk, value) for name, value in (values or {}).items()}
    walk.state.frames[MODULE].update(given)
    try:
        _follow(walk, trees)
    except (TooLong, RecursionError):
        return DryRun((), len(walk.visits), followed=False)
    lines = code_lines(code)
    found = [_fault(visits, lines) for visits in walk.visits.values() if visits.impossible is not None]
    ordered = sorted(dict.fromkeys(found), key=lambda fault: (fault.line or 0, fault.column or 0))
    return DryRun(tuple(ordered), len(walk.visits))


def _follow(walk: DryWalk, trees: list[ast.Module]) -> None:
    try:
        for tree in trees:
            walk.body(tree.body)
    except Ended:
        pass
    walk.visit_unseen()


def _value(walk: DryWalk, value: object) -> Value:
    if isinstance(value, Mapping):
        return Record({str(name): walk.taken_in(each) for name, each in value.items()})
    return walk.taken_in(value)


def _fault(visits: Visits, lines: list[str]) -> Fault:
    """A call that is impossible whenever it is reached, told with the lines that make it so."""
    assert visits.impossible is not None
    action, why, since = visits.impossible.action, visits.impossible.why, visits.impossible.since
    at = f" since line{'s' if len(since) > 1 else ''} {' and '.join(map(str, since))}" if since else ""
    inside = f", called in {visits.through[-1]}()," if visits.through else ""
    source = lines[visits.line - 1] if 0 < visits.line <= len(lines) else ""
    own = visits.node.lineno == visits.line
    column = visits.node.col_offset if own else None
    message = f"{action}{inside} cannot succeed: {why}{at}"
    return Fault(FaultKind.CHECK, CANNOT_SUCCEED, message, visits.line or None, column, source)
