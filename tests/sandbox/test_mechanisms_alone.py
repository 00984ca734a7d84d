"""Each mechanism of the kernel alone stops the kinds of attacks that the table of the threat model names.

This is measured by the effects of attacks that are plain Python. A kernel that grants only a part of a mechanism is
not compared with the table.
"""

import ctypes
import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from planbook.sandbox import Sandbox
from planbook.sandbox.worker.lockdown import LANDLOCK_VERSION, SYS_LANDLOCK_CREATE_RULESET
from tests.command import ROOT
from tests.sandbox.attack_tables import attacks, outcome_of
from tests.sandbox.machine import EFFECT_KINDS, Machine
from tests.sandbox.mechanism_effects import COLUMNS, Effects
from tests.sandbox.test_lesser_hosts import DOCKER, FULL, OLD, USERS, Host, launch

PAGE = (ROOT / "sandbox" / "THREAT_MODEL.md").read_text(encoding="utf-8")
TABLE = "| attack |" + PAGE.partition("\n| attack |")[2].partition("\n\n")[0]
NO_LANDLOCK = Host({"landlock_create_ruleset": OLD.denied["landlock_create_ruleset"]}, frozenset({"landlock"}))
LESSER = (
    (DOCKER, {"namespaces", "all but seccomp"}),
    (NO_LANDLOCK, {"Landlock", "all but seccomp"}),
    (OLD, {"namespaces", "Landlock", "all but seccomp"}),
)
SCOPED = 6
"""The first version of Landlock's ABI that covers sockets and signals."""
Measured = Mapping[str, Effects | None]


def measure(host: Host, user: str, *folders: str) -> Measured:
    """Return the effects of the attacks for each set of active mechanisms, on a host and as a user."""
    done = launch(USERS[user], host, ROOT, "-m", "tests.sandbox.mechanism_effects", *folders)
    assert done.returncode == 0, done.stderr
    measured: Measured = json.loads(done.stdout)
    return measured


@pytest.fixture(
    scope="module",
    params=[pytest.param(user, marks=[pytest.mark.deep] * (user == "ordinary")) for user in USERS],
)
def user(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def measured(user: str) -> Measured:
    """Return the effects on this machine."""
    return measure(FULL, user, "machine", "effects")


def effects_in(measured: Measured, mechanisms: str) -> Effects:
    effects = measured[mechanisms]
    assert effects is not None
    return effects


def verdict(measured: Measured, kind: str, mechanism: str) -> str:
    """Return whether a mechanism alone stops all ("yes"), some or none ("no") of the attacks of a kind."""
    attempts = {name for name, kinds in effects_in(measured, "none").items() if kind in kinds}
    left = {name for name in attempts if kind in effects_in(measured, mechanism).get(name, ())}
    return "some" if left and left < attempts else "no" if left else "yes"


def table(user: str) -> dict[tuple[str, str], str]:
    """Return the table as a dict that maps each kind of attack and mechanism to the text of its cell."""
    header, _, *rows = [row.strip("| ").split(" | ") for row in TABLE.splitlines()]
    index = 0 if user == "as it is" and os.geteuid() == 0 else -1
    return {
        (kind, mechanism): cell.split(" / ")[index]
        for kind, *cells in rows
        for mechanism, cell in zip(header[1:], cells, strict=True)
    }


def test_the_table_shows_every_kind_of_attack_and_mechanism(user: str) -> None:
    assert {kind for kind, _ in table(user)} == set(EFFECT_KINDS)
    assert {mechanism for _, mechanism in table(user)} == set(COLUMNS)


def test_attacks_have_every_kind_of_effect_and_none_against_all_mechanisms_or_seccomp(measured: Measured) -> None:
    assert {kind for kinds in effects_in(measured, "none").values() for kind in kinds} == set(EFFECT_KINDS)
    assert effects_in(measured, "all") == effects_in(measured, "seccomp") == {}


@pytest.mark.parametrize("mechanism", COLUMNS)
def test_the_table_shows_what_each_mechanism_stops_alone(measured: Measured, user: str, mechanism: str) -> None:
    if measured[mechanism] is None or (mechanism == "Landlock" and landlock() < SCOPED):
        pytest.skip("this kernel does not grant the whole mechanism")
    expected = {kind: cell for (kind, name), cell in table(user).items() if name == mechanism}
    assert {kind: verdict(measured, kind, mechanism) for kind in EFFECT_KINDS} == expected


@pytest.mark.deep
def test_the_remaining_mechanisms_stop_the_same_attacks(measured: Measured, user: str) -> None:
    with ThreadPoolExecutor() as pool:
        lesser = list(pool.map(lambda row: measure(row[0], user, "effects"), LESSER))
    for found, (_, missing) in zip(lesser, LESSER, strict=True):
        assert effects_in(found, "all") == {}
        assert {name for name in COLUMNS if found[name] is None} >= missing
        for name in (name for name in COLUMNS if found[name] is not None):
            assert effects_in(found, name) == {
                attack: kinds for attack, kinds in effects_in(measured, name).items() if attack.startswith("effects: ")
            }


def landlock() -> int:
    """Return the version of Landlock's ABI, or -1 if the kernel does not have Landlock."""
    return int(ctypes.CDLL(None).syscall(SYS_LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION))


def test_the_policy_refuses_the_same_attacks_before_they_run(sandbox: Sandbox) -> None:
    with Machine() as machine:
        for attack in attacks("effects"):
            result, effects = machine.run(attack, sandbox)
            assert (outcome_of(result), effects) == (attack.outcome, set()), attack.name
