"""No call that a dry run reports as impossible succeeds in a real run, whatever the unknown actions answer.

And no plan runs to its end if the dry run reports that one of its lines raises an exception.

PLANBOOK_DRY_RUNS=5000 tries more generated plans than usual.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from types import FrameType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from planbook.sandbox import UNKNOWN, Impossible
from planbook.sandbox.checks.api import Function
from planbook.sandbox.dry import follow
from planbook.sandbox.dry.values import UnknownType
from tests.sandbox.plans import HERE, sections
from tests.sandbox.programs import expand, read_grammar

PLANS = int(os.environ.get("PLANBOOK_DRY_RUNS", "100"))
GRAMMAR = read_grammar("dry_runs.txt", "\n\n")
PLACES = ("start", "ok1", "ok2")
ANSWERS: Sequence[object] = ("", "ok1", "bad", 0, 1, None, [], ["ok1"], ["bad", "ok2"], [["ok2"]], {"a": "ok1"}, "ab")
METHODS = ("go", "use", "on", "off", "dim", "glow", "look", "cart.on")
FUNCTIONS = (*(f"agent.{name}" for name in METHODS), "more", "fail")
FUEL, SECONDS = 30, 0.2
HELPERS = "from contextlib import suppress"
TASK = {"goal": "ok1", "items": ["ok2"]}

Chain = tuple[tuple[int, int], ...]
"""The lines and columns of the calls in the plan that led to an action, and last those of the action itself."""
THE_END: Chain = ((0, 0),)


@dataclass(frozen=True)
class Lamp:
    """What a dry run knows: where the agent may be, and whether the lamp may be lit."""

    at: frozenset[str] = frozenset({"start"})
    lit: frozenset[bool] = frozenset({False})

    def act(self, path: str, args: Sequence[object], kwargs: Mapping[str, object]) -> "tuple[Lamp, Impossible | None]":
        """Return the state after an action, and the reason if the action is impossible."""
        name, place = path.removeprefix("agent."), args[0] if len(args) == 1 and not kwargs else None
        if name in ("go", "use") and (len(args) != 1 or not isinstance(place, str | UnknownType)):
            return self, None
        if name == "go" and place in PLACES:
            return replace(self, at=frozenset({place})), None
        if name == "go" and place is UNKNOWN:
            return replace(self, at=frozenset(PLACES)), None
        if name in ("on", "cart.on", "off"):
            return replace(self, lit=frozenset({name != "off"})), None
        wrong = name == "go" or (name == "use" and place is not UNKNOWN and place not in self.at)
        wrong = wrong or (name == "dim" and True not in self.lit) or (name == "glow" and False not in self.lit)
        return self, Impossible(path, "wrong") if wrong else None

    def merged_with(self, other: "Lamp") -> "Lamp":
        """Return a state in which everything that is possible in either state is possible."""
        return Lamp(self.at | other.at, self.lit | other.lit)

    def after_unknown_actions(self) -> "Lamp":
        """Return a state in which anything is possible."""
        return Lamp(frozenset(PLACES), frozenset({True, False}))

    def attribute(self, path: str) -> object:
        """Return the place if it is known."""
        return next(iter(self.at)) if len(self.at) == 1 else UNKNOWN


class World:
    """The actions of a plan that is run in this process. ``look`` answers at random."""

    def __init__(self, seed: int) -> None:
        self.state, self.rng, self.fuel = Lamp(), Random(seed), FUEL
        self.succeeded = set[Chain]()
        self.cart = SimpleNamespace(on=lambda: self._act("cart.on"))

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(name)
        return lambda *args, **kwargs: self._act(name, *args, **kwargs)

    @property
    def at(self) -> object:
        return self.state.attribute("agent.at")

    def _act(self, name: str, *args: object, **kwargs: object) -> object:
        self.more()
        fits = not kwargs and (len(args) == 1 and isinstance(args[0], str) if name in ("go", "use") else True)
        self.state, refused = self.state.act(f"agent.{name}", args, kwargs)
        if fits and refused is None:
            self.succeeded.add(_chain(sys._getframe(2)))
        return deepcopy(self.rng.choice(ANSWERS))

    def more(self, *_: object) -> bool:
        """Return a random answer. Raises SystemExit after ``FUEL`` answers."""
        self.fuel -= 1
        if self.fuel < 0:
            raise SystemExit
        return self.rng.random() < 0.7

    def fail(self, *_: object) -> None:
        """Raise ValueError half of the time."""
        if self.rng.random() < 0.5:
            raise ValueError


def _chain(frame: FrameType | None) -> Chain:
    """Return the calls of the plan that led to this frame. A comprehension counts as a part of the code around it."""
    positions, in_comprehension = list[tuple[int, int]](), False
    while frame is not None:
        if frame.f_code.co_filename == "<plan>":
            line, _, column, _ = list(frame.f_code.co_positions())[frame.f_lasti // 2]
            if not in_comprehension:
                positions.insert(0, (line or 0, column or 0))
            in_comprehension = frame.f_code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
        frame = frame.f_back
    return tuple(positions)


@lru_cache(20)
def reported(plan: str, earlier: str, state: Lamp, helpers: str) -> set[Chain]:
    """Return the calls that a dry run reports as impossible. ``THE_END`` stands for the end of the plan."""
    walk = follow(
        plan,
        {name: Function(name) for name in FUNCTIONS},
        state,
        attributes=["agent.at"],
        values={"task": TASK},
        helpers=[HELPERS, helpers],
        earlier=[earlier] if earlier else [],
    )
    impossible = [place for place, reason in walk.visited_calls.items() if reason and walk.is_complete]
    return {tuple((node.lineno, node.col_offset) for node in place) for place in impossible} | (
        {THE_END} if walk.error else set()
    )


def wrongly_reported(earlier: str, plan: str, seed: int, helpers: str = "") -> set[Chain]:
    """Run a plan and return the reported calls that succeeded, and ``THE_END`` if it was not expected to be reached."""
    world = World(seed)
    names = {"agent": world, "more": world.more, "fail": world.fail, "task": SimpleNamespace(**deepcopy(TASK))}
    exec(f"{HELPERS}\n{helpers}", names)
    run(earlier, "<earlier>", names)
    found = reported(plan, earlier, world.state, helpers)
    world.fuel = FUEL
    finished = run(plan, "<plan>", names)
    return found & (world.succeeded | ({THE_END} if finished else set()))


def run(code: str, file: str, names: dict[str, object]) -> bool:
    """Run code until it ends, raises an error or has used its time. Return whether it ended by itself."""

    def stop(*_: object) -> None:
        raise SystemExit

    before, finished = signal.signal(signal.SIGVTALRM, stop), False
    with suppress(Exception, SystemExit):
        try:
            # The signal is repeated, since a finalizer may swallow the first one.
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, SECONDS / 10)
            exec(compile(code, file, "exec"), names)
            finished = True
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)
    return finished


def generated(random: Random) -> tuple[str, str]:
    """Return the code of an earlier cell, and a plan."""
    cells: tuple[list[str], list[str]] = ([], [])
    moved = random.choice([0, 0, 0.3])
    for line in GRAMMAR["prelude"][0].split("\n"):
        cells[random.random() >= moved].append(line)
    return "\n".join(cells[0]), "\n".join([*cells[1], expand("plan", random, 1, GRAMMAR)]) + "\n"


@given(st.randoms(use_true_random=False).map(generated))
@settings(max_examples=PLANS, deadline=None)
def test_no_reported_call_of_a_generated_plan_succeeds(cells: tuple[str, str]) -> None:
    for seed in range(6):
        assert not wrongly_reported(*cells, seed)


@pytest.mark.deep
@given(st.integers(0, 2**32))
@settings(max_examples=30 * PLANS, deadline=None)
def test_no_reported_call_of_many_generated_plans_succeeds(number: int) -> None:
    cells = generated(Random(number))
    for seed in range(6):
        assert not wrongly_reported(*cells, seed), "\n# then\n".join(cells)


@pytest.mark.parametrize(("name", "cells"), [*sections(HERE / "tables" / "dry_sound.txt")])
def test_no_reported_call_of_a_plan_succeeds(name: str, cells: str) -> None:
    before, _, plan = cells.partition("# then\n")
    helpers, _, earlier = before.rpartition("# helpers\n")
    for seed in range(20):
        assert not wrongly_reported(earlier, plan, seed, helpers)
