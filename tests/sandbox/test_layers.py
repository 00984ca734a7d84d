"""The attacks once more, through real workers: with both layers, and with each layer alone."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox import CellResult, FaultKind, Limits, Sandbox
from tests.sandbox.attack_tables import attacks, outcome_of

CANARY = "the host's secret"
ATTACKS = attacks(".")
LAYERS = {
    "both": (True, True),
    "language alone": (True, False),
    "process alone": (False, True),
    "none": (False, False),
}
LIMITS = Limits(wall_seconds=20, memory_mb=256)


@pytest.fixture(scope="module", params=["both", "language alone", "process alone"])
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


REACHES = {
    "read a file": "open({secret!r}).read()",
    "write a file": "open({new!r}, 'w').write('here')",
    "list a folder": "import os\nos.listdir({folder!r})",
    "read the host's environment": "import os\nopen(f'/proc/{{os.getppid()}}/environ').read(1)",
    "open a socket": "import socket\nsocket.socket()",
    "start a process": "import subprocess\nsubprocess.run(['/bin/true'])",
    "signal its parent": "import os\nos.kill(os.getppid(), 0)",
    "a module in sys": "import sys\nsys.modules['posix'].listdir({folder!r})",
    "through a class": (
        "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0]"
        ".__init__.__globals__['listdir']({folder!r})"
    ),
}


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[dict[str, Sandbox]]:
    opened = {name: Sandbox(language_layer=a, process_layer=b) for name, (a, b) in LAYERS.items()}
    yield opened
    for each in opened.values():
        each.close()


@pytest.mark.parametrize("reach", REACHES.values(), ids=REACHES)
def test_each_layer_alone_keeps_a_plan_from_the_machine(
    sandboxes: dict[str, Sandbox], tmp_path: Path, reach: str
) -> None:
    """Without any layer it is reached: so that the test fails for no other reason than a layer."""
    secret, new = tmp_path / "secret", tmp_path / "new"
    secret.write_text(CANARY)
    code = reach.format(secret=str(secret), new=str(new), folder=str(tmp_path))
    results: dict[str, CellResult] = {}
    for name, opened in sandboxes.items():
        with opened.session({}, limits=LIMITS) as session:
            results[name] = session.run(code)
        assert name == "none" or not new.exists(), name
    assert [name for name, result in results.items() if result.fault is None] == ["none"], results
    kinds = {name: result.fault.kind for name, result in results.items() if result.fault is not None}
    assert FaultKind.LIMIT not in kinds.values(), kinds
