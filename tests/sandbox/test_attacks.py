"""Attacks on the host, the machine, the limits and the arguments of calls.

None has an effect, even if one of the two layers is off.

An outside examiner found the attacks called ``escapes``. They may succeed inside their own worker.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from math import pi

import pytest

from planbook.sandbox import FaultKind, Limits, Sandbox
from planbook.sandbox.host import ALL_MECHANISMS
from tests.sandbox.attack_tables import Attack, Host, attacks, examine_all, outcome_of
from tests.sandbox.machine import EFFECT_KINDS, HIDDEN, Machine

ATTACKS, MACHINE, BOUNDED = attacks("."), attacks("machine"), attacks("limits")


@pytest.mark.parametrize("box", [pytest.param("sandbox", marks=pytest.mark.deep), "unguarded"])
def test_no_attack_has_an_effect_on_the_host(box: str, request: pytest.FixtureRequest) -> None:
    """Each attack has a session of its own, and must not affect later workers."""
    opened: Sandbox = request.getfixturevalue(box)
    environment = dict(os.environ)

    def look(attack: Attack) -> Iterator[tuple[str, object]]:
        host = Host()
        with host.open_in(opened) as session:
            if session.run("import math, json, copy\n[agent.go_to('x'), len('ab'), math.pi]").value != ["at x", 2, pi]:
                yield attack.name, "the attack before it damaged this session"
            result = attack.run_in(session)
            after = session.run("[agent.location, agent.go_to('x'), host_act('y')]")
        if reached := host.reached(result, after):
            yield attack.name, reached

    assert examine_all(look, ATTACKS) == []
    assert dict(os.environ) == environment


def test_invalid_arguments_reach_no_action(sandbox: Sandbox) -> None:
    def look(attack: Attack) -> Iterator[tuple[str, object]]:
        host = Host()
        with host.open_in(sandbox) as session:
            result = attack.run_in(session)
        if (outcome := outcome_of(result)) != attack.outcome or host.reached(result):
            yield attack.name, (outcome, host.calls)

    assert examine_all(look, attacks("calls")) == []


def test_the_tables_are_complete_and_names_are_unique() -> None:
    assert len(ATTACKS) >= 650
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert len(MACHINE) >= 50
    assert len(BOUNDED) >= 60
    assert len(attacks("calls")) >= 12


ESCAPES, DEEDS = [attack for attack in ATTACKS if attack.name.startswith("escapes: ")], attacks("deeds")
OUT = 'gives "out"'
NOT_TRIED = {"others seen", "others' limits and priority", "mounts and shared memory"}


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HIDDEN", HIDDEN)
        with Machine() as made:
            yield made


def deeds_after(escape: Attack, machine: Machine, sandbox: Sandbox) -> Iterator[tuple[Attack, str, set[str]]]:
    """If an escape succeeds, try every deed after it. Yield each with its outcome and its effects on the machine."""
    for deed in DEEDS if outcome_of(machine.run(escape, sandbox)[0]) == OUT else ():
        both = replace(deed, name=f"{escape.name}; {deed.name}", cells=(*escape.cells, *deed.cells))
        result, effects = machine.run(both, sandbox)
        yield both, outcome_of(result), effects


@pytest.mark.parametrize("escape", ESCAPES, ids=lambda escape: escape.name)
def test_a_plan_that_escapes_has_no_effect_on_the_machine(machine: Machine, sandbox: Sandbox, escape: Attack) -> None:
    assert machine.run(escape, sandbox)[1] == set()
    for deed, outcome, effects in deeds_after(escape, machine, sandbox):
        assert (outcome, effects) == (deed.outcome, set()), deed.name


def test_without_the_kernel_plans_that_escape_reach_the_machine(machine: Machine) -> None:
    with Sandbox(disabled_mechanisms=ALL_MECHANISMS, unsafe_no_sandbox=True) as loose:
        found = [effects for escape in ESCAPES for _, _, effects in deeds_after(escape, machine, loose)]
    assert set().union(*found) == set(EFFECT_KINDS) - NOT_TRIED
    assert len(found) >= len(DEEDS)


LAYERS: dict[str, tuple[bool, tuple[str, ...]]] = {
    "both": (True, ()),
    "language alone": (True, ALL_MECHANISMS),
    "process alone": (False, ()),
    "none": (False, ALL_MECHANISMS),
}
SMALL = Limits(wall_seconds=30, cpu_seconds=30, memory_mb=64, output_chars=1_000, host_calls=20)
SHORT = SMALL.model_copy(update={"wall_seconds": 0.35})


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[dict[str, Sandbox]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(Sandbox(language_layer=layer, disabled_mechanisms=absent, unsafe_no_sandbox=True))
            for name, (layer, absent) in LAYERS.items()
        }


@pytest.mark.parametrize("attack", MACHINE, ids=lambda attack: attack.name)
def test_each_layer_alone_keeps_a_plan_from_the_machine(
    sandboxes: dict[str, Sandbox], machine: Machine, attack: Attack
) -> None:
    """The attack succeeds without any layer, which shows that a layer stops it."""
    outcomes: dict[str, str] = {}
    for name, opened in sandboxes.items():
        result, effects = machine.run(attack, opened)
        outcomes[name] = outcome_of(result)
        if name != "none":
            assert effects == set(), name
            assert result.fault is not None, name
            assert result.fault.kind is not FaultKind.LIMIT, (name, result.fault)
    assert outcomes["both"] == outcomes["language alone"] == attack.outcome
    assert outcomes["process alone"].startswith("raises "), outcomes
    assert outcomes["none"].startswith("gives ") is not attack.fails_in_plain_python, outcomes


TRIES = 5


@pytest.mark.parametrize("layers", ["both", "process alone"])
def test_nothing_outlives_its_limits(sandboxes: dict[str, Sandbox], layers: str) -> None:
    """Each attack exceeds the limit that its table names, and the session continues to work.

    The host measures the time with and without the language layer, so only a third of the slow attacks is tried
    without it.
    """

    def look(attack: Attack) -> list[tuple[str, list[str]]]:
        limits = SHORT if attack.outcome == "limit wall" else SMALL
        with sandboxes[layers].session({"f": lambda x=0: x}, limits=limits) as session:
            wrong = [] if session.run("kept = [1, 2]").fault is None else ["could not start"]
            started = time.monotonic()
            result = attack.run_in(session)
            late = time.monotonic() - started > limits.wall_seconds + 10 or result.seconds > limits.wall_seconds + 5
            over = len(result.output) > limits.output_chars or result.host_calls > limits.host_calls
            tries = (session.run("kept + [f(3)]").value for _ in range(TRIES))  # the limit is short on a busy machine
            spoilt = all(value != [1, 2, 3] for value in tries)
        wrong += [outcome_of(result)] if outcome_of(result) != attack.outcome else []
        wrong += [word for word, holds in {"late": late, "over": over, "spoilt": spoilt}.items() if holds]
        return [(attack.name, wrong)] if wrong else []

    timed = [attack for attack in BOUNDED if attack.outcome == "limit wall"]
    others = [attack for attack in BOUNDED if attack.outcome != "limit wall"]
    assert examine_all(look, timed[:: 1 if layers == "both" else 3] + others) == []


BOMBS = {
    "brackets": ("(" * 99_999, "syntax"),
    "signs": ("-" * 99_998 + "1", "too-large"),
    "negations": ("not " * 24_000 + "1", "too-large"),
    "attributes": ("a." * 40_000 + "a", "too-large"),
    "items": ("a" + "[0]" * 30_000, "too-large"),
    "calls": ("a" + "()" * 45_000, "too-large"),
    "sums": ("1" + "+1" * 49_000, "too-large"),
    "lambdas": ("lambda:" * 14_000 + "1", "too-large"),
    "branches": ("if a:\n p\n" + "elif a:\n p\n" * 8_000, "too-large"),
    "decorators": ("@a\n" * 30_000 + "def f(): pass", "too-large"),
    "fields of a text": ('f"' + "{a}" * 30_100 + '"', "syntax" if sys.version_info < (3, 12) else "too-large"),
    "alternatives": ("match a:\n case " + "1|" * 30_100 + "1: pass", "too-large"),
    "digits": ("9" * 5_000, "syntax"),
    "indents": ("".join(" " * i + "if a:\n" for i in range(200)), "syntax"),
    "finally in finally": (
        "".join(f"{' ' * i}try:\n{' ' * i} pass\n{' ' * i}finally:\n" for i in range(19)) + " " * 19 + "pass",
        "too-large",
    ),
    "returns through finally": (
        "def f():\n try:\n" + "  return\n" * 6_000 + " finally:\n" + "  a\n" * 9_000,
        "too-large",
    ),
    "characters": ("#" * 100_001, "source"),
    "empty lines": ("\n" * 100_001, "source"),
    "half a character": ("x = '\ud800'", "syntax"),
    "a zero byte": ("x = 1\0", "syntax"),
}
"""Maps names to sources that are expensive to parse or compile, and to the type of fault that refuses each.

The host compiles them itself, where no limit applies.
"""


@pytest.mark.parametrize("layers", ["both", "process alone"])
@pytest.mark.parametrize(("source", "refusal"), BOMBS.values(), ids=BOMBS)
def test_parse_bombs_do_no_harm(sandboxes: dict[str, Sandbox], layers: str, source: str, refusal: str) -> None:
    with sandboxes[layers].session({}, limits=Limits(wall_seconds=5)) as session:
        assert session.run("kept = 1").fault is None
        started = time.process_time()
        result = session.run(source)
        assert time.process_time() - started < 5  # of the host's own processor time
        if layers == "both":
            assert [fault.type for fault in result.faults] == [refusal]
            assert result.fault is not None
            assert result.fault.kind is (FaultKind.LIMIT if refusal == "source" else FaultKind.CHECK)
        assert session.run("kept").value == 1
