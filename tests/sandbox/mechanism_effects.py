"""Measure the effects of the attacks on the machine when only some of the kernel's mechanisms are active.

Tests run this program as different users, and on simulated hosts whose kernel grants fewer mechanisms. The language
layer is off, so attacks are plain Python.
"""

import json
import sys
from collections.abc import Iterable, Mapping

from planbook.sandbox import Sandbox
from planbook.sandbox.host import ALL_MECHANISMS
from tests.sandbox.attack_tables import Attack, attacks
from tests.sandbox.machine import Machine

COLUMNS: Mapping[str, frozenset[str]] = {
    "seccomp": frozenset({"seccomp", "no_new_privs"}),
    "namespaces": frozenset(name for name in ALL_MECHANISMS if name.endswith(" namespace")),
    "Landlock": frozenset({"landlock", "no_new_privs"}),
    "user id": frozenset({"user id"}),
    "rlimits": frozenset({"rlimits"}),
    "capabilities": frozenset({"capabilities", "undumpable"}),
    "all but seccomp": frozenset(ALL_MECHANISMS) - {"seccomp"},
}
"""Maps each column of the threat model's table to the mechanisms that stay active."""
MECHANISM_SETS: Mapping[str, frozenset[str]] = {**COLUMNS, "all": frozenset(ALL_MECHANISMS)}
Effects = dict[str, list[str]]
"""Maps each attack that had an effect to the kinds of its effects."""


def measure(machine: Machine, tested: Iterable[Attack], active: Iterable[str]) -> Effects | None:
    """Return the effects of attacks if only these mechanisms are active, or None if the kernel does not grant them."""
    disabled_mechanisms = [name for name in ALL_MECHANISMS if name not in active]
    with Sandbox(language_layer=False, disabled_mechanisms=disabled_mechanisms, unsafe_no_sandbox=True) as opened:
        granted = {name for name, mechanism in opened.mechanisms().items() if mechanism.granted}
        if not granted.issuperset(active) and len(disabled_mechanisms) > 0:
            return None
        effects = {attack.name: sorted(machine.run(attack, opened)[1]) for attack in tested}
    return {name: kinds for name, kinds in effects.items() if kinds}


def main(folders: list[str]) -> None:
    """Print the effects of the attacks in these folders as JSON, for each set of mechanisms."""
    with Machine() as machine:
        tested = attacks(*folders)
        unconfined = measure(machine, tested, ()) or {}
        tested = [attack for attack in tested if attack.name in unconfined]
        measured = {name: measure(machine, tested, active) for name, active in MECHANISM_SETS.items()}
    print(json.dumps({"none": unconfined, **measured}))


if __name__ == "__main__":
    main(sys.argv[1:])
