"""A program that runs the attacks on the machine against each mechanism of the kernel alone, and prints their effects.

Tests run it as several users and on hosts that grant less. Plans are plain Python here.
"""

import json
import sys
from collections.abc import Iterable, Mapping

from planbook.sandbox import Sandbox
from planbook.sandbox.host import ALL_MECHANISMS
from tests.sandbox.attack_tables import Attack, attacks
from tests.sandbox.machine import Machine

ALONE: Mapping[str, frozenset[str]] = {
    "seccomp": frozenset({"seccomp", "no_new_privs"}),
    "namespaces": frozenset(name for name in ALL_MECHANISMS if name.endswith(" namespace")),
    "Landlock": frozenset({"landlock", "no_new_privs"}),
    "user id": frozenset({"user id"}),
    "rlimits": frozenset({"rlimits"}),
    "capabilities": frozenset({"capabilities", "undumpable"}),
    "all but seccomp": frozenset(ALL_MECHANISMS) - {"seccomp"},
}
"""Names as in the threat model, with the mechanisms that stay active."""
SETS: Mapping[str, frozenset[str]] = {**ALONE, "all": frozenset(ALL_MECHANISMS)}
Effects = dict[str, list[str]]
"""Maps the names of attacks that had an effect to its kinds."""


def measure(machine: Machine, found: Iterable[Attack], kept: Iterable[str]) -> Effects | None:
    """Return the effects of attacks against these mechanisms; None if the kernel does not grant them."""
    disabled_mechanisms = [name for name in ALL_MECHANISMS if name not in kept]
    with Sandbox(language_layer=False, disabled_mechanisms=disabled_mechanisms, unsafe_no_sandbox=True) as opened:
        granted = {name for name, each in opened.mechanisms().items() if each.granted}
        if not granted.issuperset(kept) and len(disabled_mechanisms) > 0:
            return None
        effects = {attack.name: sorted(machine.run(attack, opened)[1]) for attack in found}
    return {name: kinds for name, kinds in effects.items() if kinds}


def main(folders: list[str]) -> None:
    """Print, as JSON, the effects of the attacks of these folders against each set of mechanisms."""
    with Machine() as machine:
        found = attacks(*folders)
        without_any = measure(machine, found, ()) or {}
        found = [attack for attack in found if attack.name in without_any]
        measured = {name: measure(machine, found, kept) for name, kept in SETS.items()}
    print(json.dumps({"none": without_any, **measured}))


if __name__ == "__main__":
    main(sys.argv[1:])
