"""A dry run: what a plan would do, followed before any action is taken, as far as it is certain.

The plan's syntax tree is walked with what is known of the values; what an action returns is not known, so both ways
of a branch on it are followed and brought together. Only what holds on every path is told: a call is reported if it
cannot succeed whenever it is reached. What cannot be followed (code that something unknown may call, exceptions that
are caught) makes less known, never more.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from planbook.sandbox.dry.bodies import sites
from planbook.sandbox.dry.statements import DryWalk
from planbook.sandbox.dry.values import UNKNOWN, Impossible, KnownObject, Value, WorldKnowledge
from planbook.sandbox.dry.walk import MODULE, CallVisits, PathEnded, TooManyPaths, WalkState
from planbook.sandbox.policy.compiler import code_lines, shown_line
from planbook.sandbox.reading.syntax import parse
from planbook.sandbox.types import Fault, FaultKind

__all__ = ["CANNOT_SUCCEED", "ENDLESS", "UNKNOWN", "DryRun", "Impossible", "Knowledge", "dry_run"]

CANNOT_SUCCEED = "cannot-succeed"
"""The type of the faults that calls are."""
ENDLESS = "endless"
"""The type of the faults that loops are."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What came of a dry run: the calls that cannot succeed, the loops without an end, and how many calls it looked at.

    ``unfollowed`` are those of the plan that no followed path came to, or that something unknown makes: in a method,
    by ``map`` or ``getattr``. ``followed`` is False where the plan has more ways to go than are followed: then no call
    is told of.
    """

    faults: tuple[Fault, ...]
    calls: int
    unfollowed: int = 0
    followed: bool = True


def dry_run(
    code: str,
    functions: Mapping[str, Callable[..., object]],
    knowledge: WorldKnowledge,
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
    walk = DryWalk(WalkState(knowledge), frozenset(functions), frozenset(attributes), trees)
    given = {name: _value(walk, value) for name, value in (values or {}).items()}
    walk.state.frames[MODULE].update(given)
    try:
        reached = _follow(walk, trees)
    except (TooManyPaths, RecursionError):
        return DryRun((), len({id(visits.node) for visits in walk.visits.values()}), followed=False)
    lines = code_lines(code)
    found = _impossible(walk)
    loops = [_endless(node, lines) for node in ast.walk(trees[-1]) if id(node) in walk.endless]
    ordered = sorted(
        dict.fromkeys([*(_fault(visits, lines) for visits in found), *loops]),
        key=lambda each: (each.line or 0, each.column or 0),
    )
    followed = reached | {id(visits.node) for visits in found}
    every = set(sites(trees[-1], walk.functions, walk.acting, walk.handed_on))
    return DryRun(tuple(ordered), len(followed), len(every - followed))


def _follow(walk: DryWalk, trees: list[ast.Module]) -> set[int]:
    """Follow all code; the ids of the calls that were reached, without those that only something unknown may make."""
    try:
        for tree in trees:
            walk.body(tree.body)
    except PathEnded:
        pass
    reached = {id(visits.node) for visits in walk.visits.values()}
    walk.visit_unseen()
    return reached


def _impossible(walk: DryWalk) -> list[CallVisits]:
    """The calls to tell of: one that is impossible whoever calls its function is not told for each caller again."""
    found = [visits for visits in walk.visits.values() if visits.impossible is not None]
    anyhow = {id(visits.node) for visits in found if not visits.through}
    return [visits for visits in found if not visits.through or id(visits.node) not in anyhow]


def _value(walk: DryWalk, value: object) -> Value:
    if isinstance(value, Mapping):
        return KnownObject({str(name): walk.taken_in(each) for name, each in value.items()})
    return walk.taken_in(value)


def _endless(node: ast.AST, lines: list[str]) -> Fault:
    assert isinstance(node, ast.While)
    message = "this loop never ends: it has no break or return, and takes no action"
    return Fault(FaultKind.CHECK, ENDLESS, message, node.lineno, node.col_offset, shown_line(lines, node.lineno))


def _fault(visits: CallVisits, lines: list[str]) -> Fault:
    """A call that is impossible whenever it is reached, told with the lines that make it so."""
    assert visits.impossible is not None
    action, why, since = visits.impossible.action, visits.impossible.why, visits.impossible.since
    at = f" since line{'s' if len(since) > 1 else ''} {' and '.join(map(str, since))}" if since else ""
    inside = f", called in {visits.through[-1]}()," if visits.through else ""
    own = visits.node.lineno == visits.line
    column = visits.node.col_offset if own else None
    message = f"{action}{inside} cannot succeed: {why}{at}"
    return Fault(FaultKind.CHECK, CANNOT_SUCCEED, message, visits.line or None, column, shown_line(lines, visits.line))
