"""The attacks once more, through real workers: with both layers, and with each layer alone."""

import os
from collections.abc import Callable, Iterator

import pytest

from sandbox import CellResult, Limits, Sandbox
from tests.sandbox.attack_tables import attacks, outcome_of

CANARY = "the host's secret"
ATTACKS = attacks(".", "calls")
LAYERS = {
    "both": (True, True),
    "language alone": (True, False),
    "process alone": (False, True),
}
LIMITS = Limits(wall_seconds=20, memory_mb=256)


@pytest.fixture(scope="module", params=LAYERS)
def held(request: pytest.FixtureRequest) -> Iterator[tuple[Sandbox, bool]]:
    """A sandbox that at least one layer holds, and whether the language layer is one of them."""
    language, process = LAYERS[request.param]
    with Sandbox(language_layer=language, process_layer=process) as opened:
        yield opened, language


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

    def functions(self) -> dict[str, Callable[..., object]]:
        return {"agent.go_to": self.go_to, "host_act": self.act}


def told(result: CellResult) -> str:
    return f"{result.output} {result.value} {result.faults}"


def test_no_attack_gets_through_a_real_worker(held: tuple[Sandbox, bool]) -> None:
    """One session for each attack; the workers that come after it behave as ever."""
    opened, guarded = held
    through: list[tuple[str, object]] = []
    for attack in ATTACKS:
        host = Host()
        before = dict(vars(host)), dict(os.environ)
        with opened.session(host.functions(), attributes=lambda: {"agent.location": "desk"}, limits=LIMITS) as session:
            if session.run("[agent.go_to('x'), len('ab')]").value != ["at x", 2]:
                through.append((attack.name, "the attack before it spoilt this session"))
            result = attack.run_in(session)
            after = session.run("[agent.location, agent.go_to('x'), host_act('y')]")
        if CANARY in told(result) + told(after) or (dict(vars(host)), dict(os.environ)) != before:
            through.append((attack.name, "reached the host"))
        if not all(isinstance(call, str) for call in host.calls):
            through.append((attack.name, host.calls))
        if guarded and outcome_of(result) != attack.outcome:
            through.append((attack.name, outcome_of(result)))
        if guarded and result.fault is not None and after.value not in (["desk", "at x", "done y"], None):
            through.append((attack.name, after))
    assert through == []
