"""Plans that get past the policy, in the default configuration, and then try the machine: they leave no effect on it.

The escapes are those that an outside examiner found. They may succeed, inside of their own worker.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from planbook.sandbox import Sandbox
from planbook.sandbox.host import ALL_MECHANISMS
from tests.sandbox.attack_tables import Attack, attacks, outcome_of
from tests.sandbox.machine import HIDDEN, KINDS, Machine

ESCAPES, DEEDS = [each for each in attacks(".") if each.name.startswith("escapes: ")], attacks("deeds")
OUT = 'gives "out"'
NOT_TRIED = {"others seen", "others' limits and priority", "mounts and shared memory"}


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HIDDEN", HIDDEN)
        with Machine() as made:
            yield made


def deeds_after(escape: Attack, machine: Machine, sandbox: Sandbox) -> Iterator[tuple[Attack, str, set[str]]]:
    """Do every deed after an escape that gets out; yield it with its outcome and its effects on the machine."""
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
    with Sandbox(without=ALL_MECHANISMS, unsafe_no_sandbox=True) as loose:
        found = [effects for escape in ESCAPES for _, _, effects in deeds_after(escape, machine, loose)]
    assert set().union(*found) == set(KINDS) - NOT_TRIED
    assert len(found) >= len(DEEDS)
