"""Dry run: find the actions of a plan that cannot succeed, and its endless loops, before it takes any action.

A dry run is an abstract interpretation. It walks over the plan's syntax tree (it *follows* the plan) and computes with
known values. The result of an action is unknown. So if a condition depends on such a result, both branches are followed
and their states are merged. A call is reported only if it cannot succeed on any path that reaches it. A path ends where
the plan certainly raises an exception, which is reported if no other path gets past that line.

Some code cannot be followed, such as a call to an unknown function. Values that are passed to such code *escape*: they
may change, so they become unknown. If the code may also *act*, that is, call actions, the walk is *blind* from then on:
it assumes nothing about the environment, and reports only calls whose arguments can never be right.

- ``walk`` is the base class of the walk: its state, branches and variables.
- ``expressions``, ``calls`` and ``statements`` each add one part of the language to it.
- ``values`` defines the values that a dry run computes with, and the state at one point of a plan.
- ``effects`` finds facts about code without following it.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass

from planbook.sandbox.checks.api import Function, sort_faults
from planbook.sandbox.dry import effects
from planbook.sandbox.dry.statements import DryWalk
from planbook.sandbox.dry.values import (
    UNKNOWN,
    HostRef,
    Impossible,
    KnownObject,
    PathEnded,
    SessionKnowledge,
    WalkState,
)
from planbook.sandbox.dry.walk import MODULE, NotFollowed
from planbook.sandbox.policy.compiler import code_lines, shown_line
from planbook.sandbox.reading.syntax import parse_or_message
from planbook.sandbox.types import Fault, FaultKind

__all__ = ["CANNOT_SUCCEED", "ENDLESS", "UNKNOWN", "DryRun", "Impossible", "SessionKnowledge", "dry_run"]

CANNOT_SUCCEED = "cannot-succeed"
"""Fault type of a call that cannot succeed, and of a line that raises an exception."""
ENDLESS = "endless"
"""Fault type of an endless loop."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """The faults that a dry run found, and the number of calls that it followed.

    ``calls`` counts the calls to the session's functions that were followed. ``unfollowed`` counts those in the plan
    that were not, because no path reached them, or because code that cannot be followed makes them, such as a method,
    ``map`` or ``getattr``.

    ``followed`` is False if the dry run gave up and reports nothing. It gives up if a plan is too large, takes too many
    steps, is nested too deeply, may bind names that it does not mention (``globals()``, a star import), or has a
    ``with`` or ``match`` statement that contains ``return``, ``break`` or ``continue``.
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
    """Follow a plan and return its faults. Never raises. The plan must have passed the static check.

    - ``code`` is a cell: a piece of plan code that runs as a unit.
    - ``functions`` maps names, such as ``agent.go_to``, to the session's functions. ``attributes`` are the dotted names
      of the session's attributes.
    - ``knowledge`` contains the known facts about the environment before the cell runs.
    - ``values`` maps names to plain values. An object such as ``task`` is represented by a mapping of its attributes.
    - ``helpers`` is code that defines functions for the plan.
    - ``earlier`` is the code of the cells before this one, any part of which may have run. ``knowledge`` already
      includes its actions.
    """
    descriptions = {name: Function.of(name, function) for name, function in functions.items()}
    walk = follow(code, descriptions, knowledge, attributes, values or {}, helpers, earlier)
    followed_calls = {place[-1] for place in walk.visited_calls}
    if not walk.is_complete:
        return DryRun((), len(followed_calls), followed=False)
    lines = code_lines(code)
    faults = sort_faults(
        Fault(FaultKind.CHECK, kind, message, line or None, column, shown_line(lines, line))
        for kind, message, line, column in _faults(walk)
    )
    all_calls = set(effects.call_sites(walk.plan_nodes, walk.functions, walk.roots, walk.escaped_paths))
    return DryRun(faults, len(followed_calls), len(all_calls - followed_calls))


def follow(
    code: str,
    functions: Mapping[str, Function],
    knowledge: SessionKnowledge,
    attributes: Iterable[str],
    values: Mapping[str, object],
    helpers: Iterable[str],
    earlier: Iterable[str],
) -> DryWalk:
    """Follow a plan, and return the walk. If it gave up, its ``is_complete`` is False.

    The arguments are those of ``dry_run``, except that ``functions`` maps names to descriptions.
    """
    helper_trees, earlier_trees, trees = (
        [tree for tree in map(parse_or_message, codes) if isinstance(tree, ast.Module)]
        for codes in (helpers, earlier, [code])
    )
    all_trees = [*helper_trees, *earlier_trees, *(trees or [ast.Module([], [])])]
    walk = DryWalk(WalkState(knowledge), functions, frozenset(attributes), all_trees)
    try:
        with suppress(PathEnded):
            _bind_values(walk, values)
            for tree in helper_trees:
                walk.follow_body(tree.body)
            if earlier_trees:
                _assume_earlier_ran(walk, helper_trees, earlier_trees, values.keys())
                used = set().union(*map(effects.names_in, (*helper_trees, *earlier_trees)))
                _bind_values(walk, {name: value for name, value in values.items() if name not in used})
            walk.follow_body(walk.plan.body)
    except (NotFollowed, RecursionError):
        walk.is_complete = False
    return walk


def _bind_values(walk: DryWalk, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        fields = value.items() if isinstance(value, Mapping) else ()
        known_object = KnownObject({str(name): walk.from_python(field) for name, field in fields})
        walk.assign(name, known_object if isinstance(value, Mapping) else walk.from_python(value), MODULE)


def _assume_earlier_ran(walk: DryWalk, helpers: list[ast.Module], trees: list[ast.Module], values: Set[str]) -> None:
    """Assume that any part of the earlier cells may have run. ``values`` are the names of the plan's values.

    If these cells may have left functions that act, any name that they bind may refer to such a function. If a helper,
    an attribute or one of the plan's values may refer to one too, the walk is blind from the start.
    """
    knowledge = walk.state.knowledge
    walk.assume_any_effects(trees)
    walk.state.knowledge = knowledge
    nodes = [node for tree in trees for node in ast.walk(tree)]
    may_leave = effects.leaves_acting_values(nodes, walk.roots, walk.acting_names)
    if may_leave:
        for name in effects.bound_names(trees):
            walk.assign(name, HostRef(name), MODULE)
    helper_names = [effects.names_in(node) for tree in helpers for node in tree.body if not effects.is_constant(node)]
    walk.blind = (
        walk.blind
        or any(isinstance(node, ast.ClassDef) for node in nodes)
        or any(names & walk.acting_names or (names and may_leave) for names in helper_names)
        or bool(effects.rebound_names(node for tree in helpers for node in ast.walk(tree)))
        or (may_leave and any(effects.names_in(tree) & values or effects.sets_attributes(tree) for tree in trees))
    )


def _faults(walk: DryWalk) -> Iterator[tuple[str, str, int, int | None]]:
    """Yield the type, message, line and column of each fault of a complete walk.

    A fault in a helper is reported at the innermost call in the plan itself that led to it.
    """
    plan_nodes = {*walk.plan_nodes}
    for place, impossible in walk.visited_calls.items():
        if impossible is not None:
            node, caller = place[-1], f", called in {ast.unparse(place[-2].func)}()," if place[:-1] else ""
            line = next((call.lineno for call in reversed(place) if call in plan_nodes), 0)
            column = node.col_offset if node.lineno == line else None
            yield CANNOT_SUCCEED, f"{impossible.action}{caller} cannot succeed: {impossible.reason}", line, column
    for loop in walk.endless_loops & plan_nodes:
        message = "this loop never ends: it has no break or return, and takes no action"
        yield ENDLESS, message, loop.lineno, loop.col_offset
    error_place, error = walk.error or ((), None)
    if line := next((node.lineno for node in reversed(error_place) if node in plan_nodes), 0):
        yield CANNOT_SUCCEED, f"this line cannot succeed: it raises {error}", line, None
