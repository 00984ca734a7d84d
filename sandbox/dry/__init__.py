"""A dry run: follow a plan before any action is taken, as far as its course is certain.

The walk over the plan's syntax tree computes with the values that are known. What an action returns is unknown, so both
ways of a branch on it are followed and merged. A call is reported only if it cannot succeed on any path that reaches
it. What cannot be followed (code that something unknown may call, exceptions that are caught) makes less known, never
more.

``walk`` holds the state and the merging of branches, ``expressions``, ``calls``, ``loops`` and ``statements`` one part
of the language each; ``values`` are what is computed with, ``effects`` facts about code that is not followed.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from planbook.sandbox.dry.effects import sites
from planbook.sandbox.dry.statements import DryWalk
from planbook.sandbox.dry.values import UNKNOWN, Impossible, KnownObject, Value, WorldKnowledge
from planbook.sandbox.dry.walk import MODULE, CallVisits, PathEnded, TooManyPaths, WalkState
from planbook.sandbox.policy.compiler import code_lines, shown_line
from planbook.sandbox.reading.syntax import parse
from planbook.sandbox.types import Fault, FaultKind

__all__ = ["CANNOT_SUCCEED", "ENDLESS", "UNKNOWN", "DryRun", "Impossible", "Knowledge", "dry_run"]

CANNOT_SUCCEED = "cannot-succeed"
"""The type of faults for calls."""
ENDLESS = "endless"
"""The type of faults for loops."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of a dry run: calls that cannot succeed, endless loops, and the number of calls that were examined.

    ``unfollowed`` counts the plan's calls that no followed path reached, or that something unknown makes: in a method,
    by ``map`` or ``getattr``. ``followed`` is False if the plan has too many paths; then no call is reported.
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
    """Follow a plan that passes the static check, from what is known at its start. No plan makes it raise.

    ``values`` maps names to plain values, or to mappings of attributes for objects such as ``task``. ``helpers`` is
    code that ran before.
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
    """Follow all code. Return the ids of calls that were reached, without those that only something unknown makes."""
    with suppress(PathEnded):
        for tree in trees:
            walk.body(tree.body)
    reached = {id(visits.node) for visits in walk.visits.values()}
    walk.visit_unseen()
    return reached


def _impossible(walk: DryWalk) -> list[CallVisits]:
    """Return the calls to report. One that is impossible for every caller is not repeated for each of them."""
    found = [visits for visits in walk.visits.values() if visits.impossible is not None]
    unconditional = {id(visits.node) for visits in found if not visits.through}
    return [visits for visits in found if not visits.through or id(visits.node) not in unconditional]


def _value(walk: DryWalk, value: object) -> Value:
    if isinstance(value, Mapping):
        return KnownObject({str(name): walk.taken_in(each) for name, each in value.items()})
    return walk.taken_in(value)


def _endless(node: ast.AST, lines: list[str]) -> Fault:
    assert isinstance(node, ast.While)
    message = "this loop never ends: it has no break or return, and takes no action"
    return Fault(FaultKind.CHECK, ENDLESS, message, node.lineno, node.col_offset, shown_line(lines, node.lineno))


def _fault(visits: CallVisits, lines: list[str]) -> Fault:
    """Return the fault of an impossible call, with the lines that make it so."""
    assert visits.impossible is not None
    action, why, since = visits.impossible.action, visits.impossible.why, visits.impossible.since
    at = f" since line{'s' if len(since) > 1 else ''} {' and '.join(map(str, since))}" if since else ""
    inside = f", called in {visits.through[-1]}()," if visits.through else ""
    own = visits.node.lineno == visits.line
    column = visits.node.col_offset if own else None
    message = f"{action}{inside} cannot succeed: {why}{at}"
    return Fault(FaultKind.CHECK, CANNOT_SUCCEED, message, visits.line or None, column, shown_line(lines, visits.line))
