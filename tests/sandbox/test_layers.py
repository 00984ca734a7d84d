"""Attacks of foreign and of our own attackers: none has an effect on the host or on the session that comes next."""

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from planbook.sandbox import Sandbox
from tests.sandbox.attack_tables import Attack, attacks, outcome_of, side_by_side
from tests.sandbox.attacked import Host

ATTACKS = attacks(".")
CALLS = attacks("calls")


@pytest.mark.parametrize("box", ["sandbox", "unguarded"])
def test_no_attack_has_an_effect_on_the_host(box: str, request: pytest.FixtureRequest) -> None:
    """One session for each attack; the workers that come after it behave as ever."""
    opened: Sandbox = request.getfixturevalue(box)
    environment = dict(os.environ)

    def look(attack: Attack) -> Iterator[tuple[str, object]]:
        host = Host()
        with host.open_in(opened) as session:
            if session.run("import math, json, copy\n[agent.go_to('x'), len('ab'), math.pi]").value != ["at x", 2, PI]:
                yield attack.name, "the attack before it spoilt this session"
            result = attack.run_in(session)
            after = session.run("[agent.location, agent.go_to('x'), host_act('y')]")
        if touched := host.touched(result, after):
            yield attack.name, touched

    assert side_by_side(look, ATTACKS) == []
    assert dict(os.environ) == environment


PI = 3.141592653589793


def test_odd_arguments_reach_no_action(sandbox: Sandbox) -> None:
    def look(attack: Attack) -> Iterator[tuple[str, object]]:
        host = Host()
        with host.open_in(sandbox) as session:
            result = attack.run_in(session)
        if (outcome := outcome_of(result)) != attack.outcome or host.touched(result):
            yield attack.name, (outcome, host.calls)

    assert side_by_side(look, CALLS) == []


def test_there_are_enough_attacks() -> None:
    assert len(ATTACKS) >= 650
    assert [name for name, count in Counter(attack.name for attack in ATTACKS).items() if count > 1] == []
