"""Sessions from start to end: plans inside plans, exceptions that end all of them, threads, and no leaks."""

import gc
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from planbook.sandbox import Limits, Sandbox, SandboxClosed, Session, SessionBusy, WorkerFailed
from planbook.sandbox.process import READY_WORKERS
from tests.command import ROOT
from tests.executing import alive, children, wait_until
from tests.sandbox.host_functions import echo


class EpisodeOver(BaseException):
    """Raised by a host function to end all plans."""


def over() -> None:
    raise EpisodeOver


def nest(sandbox: Sandbox, depth: int, bottom: Callable[[], object]) -> object:
    """Run a plan that runs a plan, and so on, ``depth`` levels deep. The innermost plan calls ``bottom``."""
    if depth == 0:
        return bottom()
    with sandbox.session({"down": lambda: nest(sandbox, depth - 1, bottom)}, limits=Limits(wall_seconds=2)) as session:
        result = session.run("x = down()\nx")
        assert not result.faults, result
        assert result.seconds < 2
        return result.value


def test_plans_run_inside_plans_while_the_clocks_of_the_outer_ones_stop(sandbox: Sandbox) -> None:
    def slow() -> str:
        time.sleep(2.5)
        return "from below"

    assert nest(sandbox, 4, slow) == "from below"


def test_an_exception_of_the_host_unwinds_four_levels_and_leaves_nothing_open() -> None:
    with Sandbox() as own:
        zygote = own._zygote._process.pid
        idle = READY_WORKERS + own.mechanisms()["pid namespace"].granted
        wait_until(lambda: len(children(zygote)) == idle)
        before = sorted(os.listdir("/proc/self/fd"))
        for _ in range(3):
            with pytest.raises(EpisodeOver):
                nest(own, 4, over)
        assert sorted(os.listdir("/proc/self/fd")) == before
        wait_until(lambda: len(children(zygote)) == idle)
    assert not alive(zygote)


def test_a_plan_cannot_catch_an_exception_of_the_host_and_its_output_is_kept(sandbox: Sandbox) -> None:
    with sandbox.session({"over": over, "f": echo}) as session:
        assert session.run("kept = 5").fault is None
        with pytest.raises(EpisodeOver):
            session.run("print('so far')\nkept = 6\nf()\ntry:\n    over()\nexcept BaseException:\n    print('no')")
        assert session.output == "so far\n"
        assert session.mark() == 1
        assert session.run("kept").value == 5
        assert session.output == ""


def test_plain_python_cannot_continue_after_an_exception_of_the_host(unguarded: Sandbox) -> None:
    reached: list[str] = []
    with unguarded.session({"over": over, "note": reached.append}) as session, pytest.raises(EpisodeOver):
        session.run("try:\n    over()\nfinally:\n    note('after')")
    assert not reached


def test_a_session_cannot_be_used_by_its_own_functions(sandbox: Sandbox) -> None:
    opened: list[Session] = []
    with sandbox.session({"again": lambda: opened[0].run("1").value}) as session:
        opened.append(session)
        with pytest.raises(SessionBusy, match="needs its own session"):
            session.run("again()")
        assert session.run("2").value == 2


def test_a_closed_session_and_a_closed_sandbox_refuse_to_run() -> None:
    own = Sandbox()
    session, left_open = own.session({}), own.session({})
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
        with pytest.raises(SandboxClosed, match="the sandbox is closed"):
            left_open.run("1")
    left_open.close()


def test_a_function_can_close_its_session(sandbox: Sandbox) -> None:
    calls: list[int] = []

    def stop() -> None:
        calls.append(1)
        session.close()

    session = sandbox.session({"stop": stop})
    with pytest.raises(SandboxClosed, match="the session is closed"):
        session.run("stop()\nstop()")
    assert (calls, session._worker) == ([1], None)


def test_values_that_do_not_fit_into_memory_are_reported(sandbox: Sandbox) -> None:
    with pytest.raises(WorkerFailed, match="fit into memory_mb=16"):
        sandbox.session({}, values={"x": "a" * 40_000_000}, limits=Limits(memory_mb=16)).run("len(x)")


@pytest.mark.parametrize("free", [0, 1])
def test_too_many_open_files_fail_a_session_and_leave_nothing_open(free: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Sandbox() as own:
        before, opened = len(os.listdir("/proc/self/fd")), list[int]()
        resource.setrlimit(resource.RLIMIT_NOFILE, (before + 20, hard))
        try:
            with suppress(OSError):
                while True:
                    opened.append(os.open("/dev/null", os.O_RDONLY))
            for _ in range(free):
                os.close(opened.pop())
            with pytest.raises(WorkerFailed, match="too many open files"):
                own.session({})
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for descriptor in opened:
                os.close(descriptor)
        assert len(os.listdir("/proc/self/fd")) == before
        with own.session({}) as session:
            assert session.run("6 * 7").value == 42


def test_a_zygote_that_does_not_start_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(WorkerFailed, match="did not start"):
        Sandbox()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_sandbox_outlives_the_thread_that_opened_it() -> None:
    with ThreadPoolExecutor(1) as pool:
        opened = pool.submit(Sandbox).result()
    with opened as own, own.session({}) as session:
        time.sleep(0.1)
        assert session.run("1 + 1").value == 2


def test_every_session_has_the_memory_of_its_own_limits(sandbox: Sandbox) -> None:
    """The idle workers were started with the limit of the previous session."""
    for megabytes, limit in ((64, "memory"), (512, None), (512, None), (64, "memory"), (64, "memory"), (512, None)):
        with sandbox.session({}, limits=Limits(memory_mb=megabytes)) as session:
            fault = session.run("len('a' * 200_000_000)").fault
            assert (fault.type if fault else None) == limit


def test_abandoned_sessions_leave_no_descriptor_and_no_worker() -> None:
    with Sandbox() as own:
        with own.session({}) as first:
            first.run("1")
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            own.session({}).run("1")
        gc.collect()
        assert len(os.listdir("/proc/self/fd")) <= before + 1, "one idle worker is allowed"


def test_a_forked_copy_of_the_host_cannot_use_or_harm_its_workers(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        session.run("kept = 1")
        child = os.fork()
        if child == 0:
            refused = []
            for use in (lambda: sandbox.session({}), lambda: session.run("kept = 2")):
                try:
                    use()
                except (WorkerFailed, SandboxClosed) as error:
                    refused.append("belongs to another process" in str(error))
            os._exit(7 if refused == [True, True] else 1)
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
    "ending_signal",
    [signal.SIGKILL, *(pytest.param(s, marks=pytest.mark.deep) for s in (signal.SIGINT, signal.SIGTERM))],
)
def test_no_process_outlives_the_host(ending_signal: signal.Signals) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", HOST], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert host.stdout is not None
    with host, host.stdout:
        pids = [int(word) for word in host.stdout.readline().split()]
        assert len(pids) == 2
        family = {*pids, *children(pids[0])}
        assert all(map(alive, family))
        host.send_signal(ending_signal)
        host.wait()
        wait_until(lambda: not any(map(alive, family)))


def test_workers_do_not_have_the_modules_of_the_host(plain: Session) -> None:
    assert plain.run("import sys\n[name for name in sys.modules if 'pydantic' in name]").value == []
    modules = [f"planbook.sandbox.{name}" for name in ("session", "host", "types", "functions", "process")]
    assert plain.run(f"[name for name in sys.modules if name in {modules}]").value == []
