"""Plans inside plans, ends from below, threads, and nothing left open."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from planbook import sandbox as package
from planbook.sandbox import Limits, Sandbox, SandboxClosed, Session, SessionBusy, WorkerFailed
from planbook.sandbox.process import ENVIRONMENT, READY
from tests.sandbox.given import echo

ROOT = Path(package.__file__).resolve().parents[1]


class EpisodeOver(BaseException):
    """As a host function raises it to end everything at once."""


def children(pid: int) -> list[int]:
    """The living children of a process's main thread; zombies count."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def settles(look: Callable[[], object], expected: object, seconds: float = 30.0) -> bool:
    """Return whether a value becomes the expected one within a short time."""
    end = time.monotonic() + seconds
    while look() != expected:
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def nest(sandbox: Sandbox, depth: int, bottom: Callable[[], object]) -> object:
    """Run a plan that runs a plan ... ``depth`` levels deep, with ``bottom`` called in the innermost."""
    if depth == 0:
        return bottom()
    with sandbox.session({"down": lambda: nest(sandbox, depth - 1, bottom)}, limits=Limits(wall_seconds=2)) as session:
        result = session.run("x = down()\nx")
        assert not result.faults, result
        return result.value


def test_plans_run_inside_plans_while_the_outer_clocks_stand_still(sandbox: Sandbox) -> None:
    def slow() -> str:
        time.sleep(2.5)
        return "from below"

    assert nest(sandbox, 4, slow) == "from below"


def test_an_end_from_below_unwinds_four_levels_and_leaves_nothing_open() -> None:
    def over() -> None:
        raise EpisodeOver

    with Sandbox() as own:
        zygote = own._zygote._process.pid
        idle = READY + own.mechanisms()["pid namespace"].granted
        assert settles(lambda: len(children(zygote)), idle)
        before = sorted(os.listdir("/proc/self/fd"))
        for _ in range(3):
            with pytest.raises(EpisodeOver):
                nest(own, 4, over)
        assert sorted(os.listdir("/proc/self/fd")) == before
        assert settles(lambda: len(children(zygote)), idle)
    assert not alive(zygote)


def test_what_was_printed_before_the_end_is_kept(sandbox: Sandbox) -> None:
    def over() -> None:
        raise EpisodeOver

    with sandbox.session({"over": over, "f": echo}) as session:
        assert session.run("kept = 5").fault is None
        with pytest.raises(EpisodeOver):
            session.run("print('so far')\nkept = 6\nf()\ntry:\n    over()\nexcept BaseException:\n    print('no')")
        assert session.output == "so far\n"
        assert session.mark() == 1
        assert session.run("kept").value == 5
        assert session.output == ""


def test_a_plan_cannot_catch_the_end(unguarded: Sandbox) -> None:
    reached: list[str] = []

    def over() -> None:
        raise EpisodeOver

    with unguarded.session({"over": over, "note": reached.append}) as session, pytest.raises(EpisodeOver):
        session.run("try:\n    over()\nfinally:\n    note('after the end')")
    assert not reached


def test_a_session_is_not_used_from_within_itself(sandbox: Sandbox) -> None:
    holder: list[Session] = []
    with sandbox.session({"again": lambda: holder[0].run("1").value}) as session:
        holder.append(session)
        with pytest.raises(SessionBusy, match="a session of its own"):
            session.run("again()")
        assert session.run("2").value == 2


def test_a_closed_session_and_a_closed_sandbox_say_so() -> None:
    own = Sandbox()
    session = own.session({})
    left_open = own.session({})
    session.close()
    session.close()
    for use in (lambda: session.run("1"), lambda: session.rewind(0)):
        with pytest.raises(SandboxClosed):
            use()
    own.close()
    own.close()
    with pytest.raises(SandboxClosed):
        own.session({})
    for _ in range(2):
        with pytest.raises(WorkerFailed, match="closed"):
            left_open.run("1")
    left_open.close()


def test_many_threads_share_one_sandbox(sandbox: Sandbox) -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        for turn in range(5):
            with sandbox.session({"mine": lambda: number}, seed=number) as session:
                value = session.run(f"[mine() for _ in range(20)] + [{turn}]").value
                if value != [number] * 20 + [turn]:
                    wrong.append(value)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_sandbox_outlives_the_thread_that_opened_it() -> None:
    opened: list[Sandbox] = []
    thread = threading.Thread(target=lambda: opened.append(Sandbox()))
    thread.start()
    thread.join()
    with opened[0] as own, own.session({}) as session:
        time.sleep(0.1)
        assert session.run("1 + 1").value == 2


def test_every_session_has_the_memory_of_its_own_limits(sandbox: Sandbox) -> None:
    """Workers that stand ready were born with that of the session before."""
    for megabytes, ends_as in ((64, "memory"), (512, None), (512, None), (64, "memory"), (64, "memory"), (512, None)):
        with sandbox.session({}, limits=Limits(memory_mb=megabytes)) as session:
            fault = session.run("len('a' * 200_000_000)").fault
            assert (fault.type if fault else None) == ends_as


def test_sessions_that_are_dropped_leave_no_descriptor_and_no_worker() -> None:
    with Sandbox() as own:
        with own.session({}) as first:
            first.run("1")
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            own.session({}).run("1")
        gc.collect()
        assert len(os.listdir("/proc/self/fd")) <= before + 1, "one worker may stand ready"


def test_a_zygote_that_was_killed_is_replaced() -> None:
    with Sandbox() as own:
        for _ in range(3):
            os.kill(own._zygote._process.pid, signal.SIGKILL)
            with own.session({}) as session:
                assert session.run("1 + 1").value == 2


def test_a_copy_of_the_host_cannot_use_its_workers_and_harms_none(sandbox: Sandbox) -> None:
    """A process that the host forks has the same sockets. It is refused, and the session continues in the host."""
    with sandbox.session({}) as session:
        session.run("kept = 1")
        child = os.fork()
        if child == 0:
            try:
                sandbox.session({})
            except WorkerFailed as error:
                os._exit(7 if "belongs to another process" in str(error) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert session.run("kept").value == 1
        assert sandbox.session({}).run("2").value == 2


HOST = """
import sys, time
from planbook.sandbox import Sandbox
sandbox = Sandbox()
session = sandbox.session({"ready": lambda: print(sandbox._zygote._process.pid, session._worker._pid, flush=True)})
session.run("ready()\\nwhile True:\\n    pass")
"""


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, *(pytest.param(how, marks=pytest.mark.deep) for how in (signal.SIGINT, signal.SIGTERM))]
)
def test_nothing_outlives_the_host(how: signal.Signals) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", HOST], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert host.stdout is not None
    with host, host.stdout:
        pids = [int(word) for word in host.stdout.readline().split()]
        assert len(pids) == 2
        family = {*pids, *children(pids[0])}
        assert all(map(alive, family))
        host.send_signal(how)
        host.wait()
        assert settles(lambda: [pid for pid in family if alive(pid)], [])


def test_the_zygote_holds_nothing_of_the_host(unguarded: Sandbox) -> None:
    with unguarded.session({}) as session:
        environment = session.run("import os, sys\ndict(os.environ)").value
        assert environment in (ENVIRONMENT, ENVIRONMENT | {"LC_CTYPE": "C.UTF-8"})  # PEP 538
        assert session.run("[m for m in sys.modules if 'pydantic' in m]").value == []
        hosts = session.run("[m for m in sys.modules if m.startswith('planbook.sandbox.')]").value
        assert isinstance(hosts, list)
        assert not {
            "planbook.sandbox.session",
            "planbook.sandbox.host",
            "planbook.sandbox.types",
            "planbook.sandbox.functions",
            "planbook.sandbox.process",
        } & set(map(str, hosts))
