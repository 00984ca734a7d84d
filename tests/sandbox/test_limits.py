"""The messages and effects of limits, with and without the language layer. ``attacks/limits`` has more cases."""

import time
import tracemalloc

import pytest

from planbook.sandbox import CellResult, FaultKind, Limits, Sandbox, Session
from planbook.sandbox.session import MAX_CELL_CRASHES
from planbook.sandbox.types import LIMIT_MESSAGES, limit_fault
from tests.sandbox.plans import fault_of

SMALL = Limits(wall_seconds=30, cpu_seconds=30, memory_mb=64, output_chars=1_000, host_calls=20, source_chars=10_000)
SHORT = Limits(wall_seconds=0.5, memory_mb=64)
BUSY = Limits(wall_seconds=30, cpu_seconds=0.3)
CHANNEL = (
    "import socket\nfrom planbook.sandbox.protocol import pack\n"
    "send = socket.socket(fileno=3, family=1, type=1, proto=0).send\n"
)
"""Plain Python that takes over the channel between its worker and the host."""
EVASIONS = [
    "",
    *(
        f"import signal\ntry:\n    signal.{call}\nexcept OSError:\n    pass\n"
        for call in ("pthread_sigmask(signal.SIG_BLOCK, [signal.SIGXCPU])", "signal(signal.SIGXCPU, signal.SIG_IGN)")
    ),
]
"""Plain Python that tries to block or ignore the signal by which the kernel limits processor time."""


@pytest.fixture(params=["guarded", "unguarded"])
def any_sandbox(request: pytest.FixtureRequest, sandbox: Sandbox, unguarded: Sandbox) -> Sandbox:
    return sandbox if request.param == "guarded" else unguarded


def run_to_limit(sandbox: Sandbox, code: str, limits: Limits, name: str, message: str) -> CellResult:
    """Run a cell that must end by exceeding a limit. The session must continue to work."""
    with sandbox.session({"f": lambda x=0: x}, limits=limits) as session:
        assert session.run("kept = [1, 2]").fault is None
        result = session.run(code)
        assert result.fault is not None, result
        assert (result.fault.kind, result.fault.type) == (FaultKind.LIMIT, name), result.fault
        assert message in result.fault.message
        assert session.mark() == 1
        after = session.run("kept + [f(3)]")
        assert after.value == [1, 2, 3], after
        return result


def test_wall_clock_is_limited_and_earlier_output_is_kept(any_sandbox: Sandbox) -> None:
    started = time.monotonic()
    code = "print('so far')\nwhile True:\n    pass"
    result = run_to_limit(any_sandbox, code, SHORT, "wall", "more than 0.5 s of wall clock")
    assert 0.5 < result.seconds < 5
    assert result.output == "so far\n"
    assert time.monotonic() - started < 20


def test_processor_time_is_limited(any_sandbox: Sandbox) -> None:
    result = run_to_limit(any_sandbox, "while True:\n    pass", BUSY, "cpu", "more than 0.3 s of processor time")
    assert result.seconds < 20
    run_to_limit(any_sandbox, "while True:\n    print('', end='')", BUSY, "cpu", "processor time")


def test_processor_time_is_counted_for_each_cell(sandbox: Sandbox) -> None:
    with sandbox.session({}, limits=BUSY) as session:
        assert session.run("1").fault is None
        worker = session._worker
        assert worker is not None
        while worker.cpu_seconds() < 2 * BUSY.cpu_seconds:
            assert session.run("for i in range(1_000_000):\n    pass").fault is None


LIMITED = {
    "memory": ("'a' * 10 ** 10", "more than 64 MB of memory"),
    "sleep": ("import time\nfor _ in range(9):\n    time.sleep(6)", "slept for more than 30 s in all"),
    "source": ("#" * 10_001, "more than 10000 characters"),
    "output": ("while True:\n    print('x' * 99)", "printed more than 1000 characters"),
    "host_calls": ("while True:\n    f(1)", "more than 20 calls"),
}


@pytest.mark.parametrize("name", LIMITED)
def test_other_resources_are_limited(any_sandbox: Sandbox, name: str) -> None:
    code, message = LIMITED[name]
    result = run_to_limit(any_sandbox, code, SMALL, name, message)
    assert len(result.output) == (1_000 if name == "output" else 0)
    assert result.host_calls == (20 if name == "host_calls" else 0)


def test_a_plan_can_catch_a_memory_error_and_make_short_calls_without_free_memory(sandbox: Sandbox) -> None:
    fill = "x = []\ntry:\n    while True:\n        x.append(bytes(500))\nexcept MemoryError:\n    pass\n"
    with sandbox.session({"f": lambda: "text"}, limits=SMALL) as session:
        assert session.run("try:\n    'a' * 10 ** 10\nexcept MemoryError:\n    x = 1\nx").value == 1
        assert session.run(f"{fill}for _ in range(20):\n    y = f()\ny").value == "text"


def test_output_within_the_limit_is_complete(session: Session) -> None:
    assert session.run("print('é' * 99_999)").output == "é" * 99_999 + "\n"
    assert session.run("print('a', '\\ud800', sep='\\x00', end='')").output == "a\x00\\ud800"


def test_the_memory_of_recorded_cells_is_limited(sandbox: Sandbox) -> None:
    """Each cell passes 14 MB of text to a function that returns its argument."""
    limits = Limits(wall_seconds=30, cpu_seconds=30)
    with sandbox.session({"f": lambda x=0: x}, limits=limits) as session:
        faults = [session.run("for _ in range(145): f('x' * 99_000)").fault for _ in range(3)]
        assert faults == [None, None, limit_fault("kept", limits)]
        assert session.mark() == 2
        assert session.run("f(1)").value == 1
        session.rewind(0)
        assert session.run("for _ in range(145): f('x' * 99_000)").fault is None


def test_the_value_of_a_cell_is_recorded_as_it_was_sent(session: Session) -> None:
    """As a list of Python objects, this value would take 5 MB."""
    tracemalloc.start()
    length = len(session.run("[[] for _ in range(80_000)]").value or ())  # type: ignore[arg-type]
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert length == 80_000
    assert kept < 1 << 20


def test_every_limit_that_a_plan_can_respect_has_a_hint() -> None:
    assert {name for name in LIMIT_MESSAGES if not limit_fault(name, SMALL).hint} == {"crashed", "protocol"}


def test_an_unknown_limit_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ValueError, match=r"there is no limit `wall_second`; did you mean `wall_seconds`\?") as refusal:
        Limits.model_validate({"wall_second": 2})
    assert "http" not in str(refusal.value)
    with pytest.raises(ValueError, match="there is no limit `x`; the limits are wall_seconds, cpu_seconds, "):
        Limits.model_validate({"x": 2})


def test_the_clock_of_a_plan_stops_while_the_host_pauses(sandbox: Sandbox) -> None:
    pauses: list[float] = []

    def pause_once() -> None:
        if not pauses:
            pauses.append(1.5)
            time.sleep(1.5)

    with sandbox.session({}, limits=Limits(wall_seconds=1), on_wait=pause_once) as session:
        result = session.run("total = 0\nfor number in range(300_000):\n    total += number\ntotal")
        assert pauses
        assert result.faults == ()


def test_a_crash_of_the_worker_is_a_limit(unguarded: Sandbox) -> None:
    run_to_limit(unguarded, "import os\nos._exit(3)", SMALL, "crashed", "the worker ended by itself")
    run_to_limit(unguarded, "import ctypes\nctypes.string_at(0)", SMALL, "crashed", "crashed the interpreter")


CRASHES_LATER_EACH_TIME = """
import ctypes
class Spec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("n", ctypes.c_long)]
spec = Spec()
def now():
    ctypes.CDLL(None).clock_gettime(0, ctypes.byref(spec))
    return spec.s + spec.n / 1e9
begin = now()
for number in range(int((begin - {begin}) // 0.5)):
    f(number)
while now() < begin + 0.6:
    pass
ctypes.string_at(0)
"""
"""Computes for 0.6 s and crashes. In each worker, it makes at least one more call than in the worker before it."""


@pytest.mark.parametrize("limit", [Limits(wall_seconds=1.5), Limits(cpu_seconds=1.5)], ids=["wall", "cpu"])
def test_a_plan_that_crashes_its_workers_gets_no_more_time(unguarded: Sandbox, limit: Limits) -> None:
    limits = limit.model_copy(update={"host_calls": 60})
    started = time.time()
    with unguarded.session({"f": lambda x: x}, limits=limits) as session:
        session.run("kept = 1")
        result = session.run(CRASHES_LATER_EACH_TIME.format(begin=started))
        assert [fault.type for fault in result.faults] == ["wall" if limit.wall_seconds < 2 else "cpu"]
        assert 1.5 < result.seconds < time.time() - started
        assert session.run("kept").value == 1


def test_a_plan_that_crashes_many_workers_is_at_fault(unguarded: Sandbox) -> None:
    """Each crash comes later than the one before it, and costs little time. But all earlier cells run again."""
    with unguarded.session({"f": lambda x: x}) as session:
        session.run("for _ in range(400_000): pass")
        code = CRASHES_LATER_EACH_TIME.replace("0.5", "0.001").replace("0.6", "0.001")
        result = session.run(code.format(begin=time.time()))
        assert [fault.type for fault in result.faults] == ["crashed"]
        assert session._conversation is not None
        assert 2 < session._conversation._cell.crashes <= MAX_CELL_CRASHES


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("send(pack(b'[', 10))", "not JSON"),
        ("send(b'\\xff\\xff\\xff\\xff')", "a frame of 4294967295 bytes; at most 1048576"),
        ('send(pack(b\'["call",1,"nothing",[],{}]\', 99))', "'nothing', which the session does not have"),
        ("send(pack(b'[\"locked\",{}]', 99))", "'locked' out of turn"),
    ],
)
def test_a_plan_that_takes_over_the_channel_gains_nothing(unguarded: Sandbox, code: str, message: str) -> None:
    run_to_limit(unguarded, f"{CHANNEL}{code}\nwhile True:\n    pass", SMALL, "protocol", message)


def test_a_plan_that_says_it_has_ended_gets_no_processor_time_until_the_next_cell(unguarded: Sandbox) -> None:
    """The plan continues to compute after its "end" message, but the host stops its process until the next cell."""
    code = f'{CHANNEL}send(pack(b\'["end","done",[]]\', 99))\nwhile True:\n    pass'
    with unguarded.session({}, limits=Limits(wall_seconds=1, cpu_seconds=1)) as session:
        assert session.run(code).value == "done"
        worker = session._worker
        assert worker is not None
        before = worker.cpu_seconds()
        time.sleep(0.5)
        assert worker.cpu_seconds() - before < 0.1
        assert fault_of(session, "1").type in ("wall", "cpu")


@pytest.mark.parametrize("evasion", EVASIONS)
def test_a_plan_that_computes_while_the_host_answers_is_ended_by_the_kernel(unguarded: Sandbox, evasion: str) -> None:
    """The host checks the time only while it waits for the worker, and an answer may take minutes."""
    used: list[float] = []

    def slow() -> None:
        worker = session._worker
        assert worker is not None
        until = time.monotonic() + 20
        while worker.cpu_seconds() < 60 and time.monotonic() < until:
            used.append(worker.cpu_seconds())
            time.sleep(0.05)

    code = f'{CHANNEL}{evasion}send(pack(b\'["call",1,"slow",[],{{}}]\', 99))\nwhile True:\n    pass'
    with unguarded.session({"slow": slow}, limits=Limits(wall_seconds=5, cpu_seconds=1)) as session:
        assert fault_of(session, code).kind is FaultKind.LIMIT
    assert 1 < max(used) < 4
