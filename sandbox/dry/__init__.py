"""Dry run: follow a plan before any action is taken, as far as its course is certain.

The walk over the plan's syntax tree computes with known values. The result of an action is unknown, so both
branches of a condition on it are followed and merged. A call is reported only if it cannot succeed on any path that
reaches it. Code that cannot be followed only reduces what is known: values passed to it become unknown. If it may act,
the walk is *blind* from then on, and only calls with impossible arguments are reported.

``walk`` holds the state and merges branches. ``expressions``, ``calls``, ``loops`` and ``statements`` follow one part
of the language each. ``values`` defines the values, ``effects`` finds facts about code without following it.
"""

import ast
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from planbook.sandbox.dry import effects
from planbook.sandbox.dry.statements import DryWalk
from planbook.sandbox.dry.values import UNKNOWN, HostRef, Impossible, KnownObject, SessionKnowledge
from planbook.sandbox.dry.walk import MODULE, CallVisits, NotFollowed, PathEnded, WalkState
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
    method, ``map`` or ``getattr``. If the plan has too many paths, or a ``with`` or ``match`` that may leave a loop or
    function, ``followed`` is False and no call is reported.
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
    earlier: Iterable[str] = (),
) -> DryRun:
    """Return the faults found by following a plan that passes the static check. Never raises because of the plan.

    ``knowledge`` is what is known at the start. ``values`` maps names to plain values, or to mappings of attributes for
    objects such as ``task``. ``helpers`` is code that defined functions before. ``earlier`` is the code of the cells
    before this one, any part of which may have run; ``knowledge`` includes its actions.
    """
    walk = follow(code, functions, knowledge, attributes, values or {}, helpers, earlier)
    followed = {id(visits.node) for visits in walk.visits.values()}
    if not walk.is_whole:
        return DryRun((), len(followed), followed=False)
    lines = code_lines(code)
    impossible = [visits for visits in walk.visits.values() if visits.impossible is not None]
    loops = [_endless_fault(node, lines) for node in ast.walk(walk.plan) if id(node) in walk.endless]
    ordered = sorted(
        dict.fromkeys([*(_call_fault(visits, lines) for visits in impossible), *loops]),
        key=lambda fault: (fault.line or 0, fault.column or 0),
    )
    all_sites = set(effects.call_sites(walk.plan, walk.functions, walk.roots, walk.handed_on))
    return DryRun(tuple(ordered), len(followed), len(all_sites - followed))


def follow(
    code: str,
    functions: Iterable[str],
    knowledge: SessionKnowledge,
    attributes: Iterable[str] = (),
    values: Mapping[str, object] = MappingProxyType({}),
    helpers: Iterable[str] = (),
    earlier: Iterable[str] = (),
) -> DryWalk:
    """Return the walk of a dry run: what it visited, and whether it is whole."""
    helper_trees, earlier_trees, trees = (
        [tree for tree in map(parse, codes) if isinstance(tree, ast.Module)] for codes in (helpers, earlier, [code])
    )
    all_trees = [*helper_trees, *earlier_trees, *trees]
    walk = DryWalk(WalkState(knowledge), frozenset(functions), frozenset(attributes), all_trees)
    walk.is_whole = not effects.binds_unnamed(all_trees)
    try:
        with suppress(PathEnded):
            _bind_values(walk, values)
            for tree in helper_trees:
                walk.body(tree.body)
            if earlier_trees:
                _assume_ran(walk, helper_trees, earlier_trees, values.keys())
                used = set().union(*map(effects.names_in, (*helper_trees, *earlier_trees)))
                _bind_values(walk, {name: value for name, value in values.items() if name not in used})
            walk.body(walk.plan.body)
    except (NotFollowed, RecursionError):
        walk.is_whole = False
    return walk


def _bind_values(walk: DryWalk, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        fields = value.items() if isinstance(value, Mapping) else ()
        known = KnownObject({str(name): walk.from_python(field) for name, field in fields})
        walk.assign(name, known if isinstance(value, Mapping) else walk.from_python(value), MODULE)


def _assume_ran(walk: DryWalk, helpers: list[ast.Module], trees: list[ast.Module], values: Set[str]) -> None:
    """Assume that any part of earlier cells ran. If these keep functions, every name of theirs may act.

    Where helpers, attributes or the plan's values may keep some, the walk is blind.
    """
    known = walk.state.knowledge
    walk.havoc(trees)
    walk.state.knowledge = known
    keeps = effects.keeps_functions(trees, walk.roots, walk.acting)
    if keeps:
        for name in effects.bound_names(trees):
            walk.assign(name, HostRef(name), MODULE)
    kept = [effects.names_in(node) for tree in helpers for node in tree.body if not effects.is_constant(node)]
    walk.blind = (
        walk.blind
        or any(isinstance(node, ast.ClassDef) for tree in trees for node in ast.walk(tree))
        or any(names & walk.acting or (names and keeps) for names in kept)
        or bool(effects.rebound_names(helpers))
        or (keeps and any(effects.names_in(tree) & values or effects.sets_attributes(tree) for tree in trees))
    )


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
