"""The attacks once more, through real workers: with both layers, and with each layer alone."""

import os
from collections.abc import Callable, Iterator

import pytest

from sandbox import CellResult, Limits, Sandbox, Session
from tests.sandbox.attack_tables import Attack, attacks, outcome_of, side_by_side
from tests.sandbox.attacked import CANARY

ATTACKS = attacks(".", "calls")
SAMPLE = 5
"""One attack of so many is made on the language layer alone: test_attacks makes them all on it, without a worker."""
LAYERS = {
    "both": (True, True),
    "language alone": (True, False),
    "process alone": (False, True),
}
LIMITS = Limits(wall_seconds=20, memory_mb=256)


@pytest.fixture(scope="module", params=LAYERS)
def held(request: pytest.FixtureRequest) -> Iterator[tuple[Sandbox, str]]:
    """A sandbox that at least one layer holds, and which they are."""
    language, process = LAYERS[request.param]
    with Sandbox(language_layer=language, process_layer=process, accept_risk=True) as opened:
        yield opened, request.param


class Host:
    """What is attacked: actions and a function of the host, whose module and instance hold the canary."""

    def __init__(self) -> None:
        self.secret, self.calls = CANARY, list[object]()

    def go_to(self, place: str) -> str:
        self.calls.append(place)
        return f"at {place}"

    def act(self, place: str = "") -> str:
        self.calls.append(place)
        return f"done {place}"

    def open_in(self, sandbox: Sandbox) -> Session:
        functions: dict[str, Callable[..., object]] = {"agent.go_to": self.go_to, "host_act": self.act}
        return sandbox.session(functions, attributes=lambda: {"agent.location": "desk"}, limits=LIMITS)


def told(result: CellResult) -> str:
    return f"{result.output} {result.value} {result.faults}"


def test_no_attack_gets_through_a_real_worker(held: tuple[Sandbox, str]) -> None:
    """One session for each attack that runs; the workers that come after it behave as ever."""
    opened, layers = held
    guarded = layers != "process alone"
    environment = dict(os.environ)

    def look(attack: Attack) -> Iterator[tuple[str, object]]:
        host = Host()
        with host.open_in(opened) as session:
            if session.run("[agent.go_to('x'), len('ab')]").value != ["at x", 2]:
                yield attack.name, "the attack before it spoilt this session"
            result = attack.run_in(session)
            after = session.run("[agent.location, agent.go_to('x'), host_act('y')]")
        if CANARY in told(result) + told(after) or host.secret != CANARY or vars(host).keys() != {"secret", "calls"}:
            yield attack.name, "reached the host"
        if not all(isinstance(call, str) for call in host.calls):
            yield attack.name, host.calls
        if guarded and outcome_of(result) != attack.outcome:
            yield attack.name, outcome_of(result)
        if guarded and result.fault is not None and after.value not in (["desk", "at x", "done y"], None):
            yield attack.name, after

    ran = [attack for attack in ATTACKS if not (guarded and attack.is_refused)]
    assert side_by_side(look, ran[:: SAMPLE if layers == "language alone" else 1]) == []
    assert dict(os.environ) == environment


def test_what_is_refused_reaches_no_worker(sandbox: Sandbox) -> None:
    host = Host()
    refused = [attack for attack in ATTACKS if attack.is_refused]
    with host.open_in(sandbox) as session:
        assert [each.name for each in refused if outcome_of(each.run_in(session)) != each.outcome] == []
        assert host.calls == []
        assert session.run("[agent.location, agent.go_to('x'), host_act('y')]").value == ["desk", "at x", "done y"]
    assert len(refused) >= 250
