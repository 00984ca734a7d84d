"""Dry run: follow a plan before any action is taken, as far as its course is certain.

The walk over the plan's syntax tree computes with known values. The result of an action is unknown, so both
branches of a condition on it are followed and merged. A call is reported only if it cannot succeed on any path that
reaches it. Code that cannot be followed (called by something unknown, or behind a caught exception) only reduces what
is known.

``walk`` holds the state and merges branches. ``expressions``, ``calls``, ``loops`` and ``statements`` follow one part
of the language each. ``values`` defines the values, ``effects`` finds facts about code that is not followed.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from planbook.sandbox.dry.effects import call_sites
from planbook.sandbox.dry.statements import DryWalk
from planbook.sandbox.dry.values import UNKNOWN, Impossible, KnownObject, SessionKnowledge, Value
from planbook.sandbox.dry.walk import MODULE, CallVisits, PathEnded, TooManyPaths, WalkState
from planbook.sandbox.policy.compiler import code_lines, shown_line
from planbook.sandbox.reading.syntax import parse
from planbook.sandbox.types import Fault, FaultKind

__all__ = ["CANNOT_SUCCEED", "ENDLESS", "UNKNOWN", "DryRun", "Impossible", "SessionKnowledge", "dry_run"]

CANNOT_SUCCEED = "cannot-succeed"
"""Type of the fault of a call that cannot succeed."""
ENDLESS = "endless"
"""Type of the fault of an endless loop."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result of a dry run: calls that cannot succeed, endless loops, and the number of examined calls.

    ``unfollowed`` counts the plan's calls that no followed path reached, or that something unknown makes, such as a
    method, ``map`` or ``getattr``. If the plan has too many paths, ``followed`` is False and no call is reported.
    """

    faults: tuple[Fault, ...]
    calls: int
    unfollowed: int = 0
    followed: bool = True


def dry_run(
    code: str,
    functions: Mapping[str, Callable[..., object]],
    knowledge: SessionKnowledge,
    *,
    attributes: Iterable[str] = (),
    values: Mapping[str, object] | None = None,
    helpers: Iterable[str] = (),
) -> DryRun:
    """Return the faults found by following a plan that passes the static check. Never raises because of the plan.

    ``knowledge`` is what is known at the start. ``values`` maps names to plain values, or to mappings of attributes for
    objects such as ``task``. ``helpers`` is the code that ran before.
    """
    trees = [tree for tree in map(parse, (*helpers, code)) if isinstance(tree, ast.Module)]
    walk = DryWalk(WalkState(knowledge), frozenset(functions), frozenset(attributes), trees)
    names = {name: _value(walk, value) for name, value in (values or {}).items()}
    walk.state.frames[MODULE].update(names)
    try:
        reached = _follow(walk, trees)
    except (TooManyPaths, RecursionError):
        return DryRun((), len({id(visits.node) for visits in walk.visits.values()}), followed=False)
    lines = code_lines(code)
    impossible = _impossible_calls(walk)
    loops = [_endless_fault(node, lines) for node in ast.walk(trees[-1]) if id(node) in walk.endless]
    ordered = sorted(
        dict.fromkeys([*(_call_fault(visits, lines) for visits in impossible), *loops]),
        key=lambda fault: (fault.line or 0, fault.column or 0),
    )
    followed = reached | {id(visits.node) for visits in impossible}
    all_sites = set(call_sites(trees[-1], walk.functions, walk.acting, walk.handed_on))
    return DryRun(tuple(ordered), len(followed), len(all_sites - followed))


def _follow(walk: DryWalk, trees: list[ast.Module]) -> set[int]:
    """Follow all code. Return the ids of the reached calls, except those that only something unknown makes."""
    with suppress(PathEnded):
        for tree in trees:
            walk.body(tree.body)
    reached = {id(visits.node) for visits in walk.visits.values()}
    walk.visit_unseen()
    return reached


def _impossible_calls(walk: DryWalk) -> list[CallVisits]:
    """Return the calls to report. A call that is impossible for every caller is reported once."""
    impossible = [visits for visits in walk.visits.values() if visits.impossible is not None]
    unconditional = {id(visits.node) for visits in impossible if not visits.through}
    return [visits for visits in impossible if not visits.through or id(visits.node) not in unconditional]


def _value(walk: DryWalk, value: object) -> Value:
    if isinstance(value, Mapping):
        return KnownObject({str(name): walk.from_python(field) for name, field in value.items()})
    return walk.from_python(value)


def _endless_fault(node: ast.AST, lines: list[str]) -> Fault:
    assert isinstance(node, ast.While)
    message = "this loop never ends: it has no break or return, and takes no action"
    return Fault(FaultKind.CHECK, ENDLESS, message, node.lineno, node.col_offset, shown_line(lines, node.lineno))


def _call_fault(visits: CallVisits, lines: list[str]) -> Fault:
    """Return the fault of an impossible call, with the lines that make it impossible."""
    assert visits.impossible is not None
    action, why, since = visits.impossible.action, visits.impossible.why, visits.impossible.since
    at = f" since line{'s' if len(since) > 1 else ''} {' and '.join(map(str, since))}" if since else ""
    inside = f", called in {visits.through[-1]}()," if visits.through else ""
    is_own_line = visits.node.lineno == visits.line
    column = visits.node.col_offset if is_own_line else None
    message = f"{action}{inside} cannot succeed: {why}{at}"
    return Fault(FaultKind.CHECK, CANNOT_SUCCEED, message, visits.line or None, column, shown_line(lines, visits.line))
