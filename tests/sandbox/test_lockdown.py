"""The kernel restricts a locked worker, even if the plan in it is plain Python."""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from planbook.sandbox import Limits, MissingMechanism, Sandbox, Session
from planbook.sandbox.host import ALL_MECHANISMS, OPTIONAL_MECHANISMS, REQUIRED_MECHANISMS
from planbook.sandbox.process import VARIABLES
from planbook.sandbox.worker import lockdown
from planbook.sandbox.worker.lockdown import NOBODY
from tests.command import ROOT
from tests.executing import children
from tests.sandbox.plans import fault_of

LIBC = "import ctypes, errno, os, signal, socket\nlibc = ctypes.CDLL(None, use_errno=True)\n"
CALL = LIBC + "result = libc.{call}\n[result, errno.errorcode.get(ctypes.get_errno())]"

REFUSED_IN_PYTHON = [
    "open('/etc/passwd')",
    "open('/proc/self/mem', 'rb')",
    "open('/tmp/planbook-was-here', 'w')",
    "os.listdir('/')",
    "os.stat('/etc/passwd')",
    "os.unlink('/tmp/planbook')",
    "os.mkdir('/tmp/planbook-was-here')",
    "os.fork()",
    "os.execv('/bin/true', ['true'])",
    "os.posix_spawn('/bin/true', ['true'], {})",
    "os.kill(os.getppid(), 9)",
    "os.kill(os.getpid(), 9)",
    "os.pidfd_open(1)",
    "os.setuid(0)",
    "os.pipe()",
    "os.dup(3)",
    "os.write(1, b'x')",
    "os.read(3, 1)",
    "os.memfd_create('x')",
    "socket.socket()",
    "socket.socketpair()",
    "socket.socket(fileno=3, family=1, type=1, proto=0).getsockname()",
]
REFUSED_IN_C = [
    "kill(1, 9)",
    "tgkill(os.getpid(), os.getpid(), 9)",
    "setitimer(0, ctypes.create_string_buffer(32), None)",
    "sigaction(10, ctypes.create_string_buffer(152), None)",
    "sigprocmask(0, ctypes.create_string_buffer(128), None)",
    "setrlimit(9, ctypes.create_string_buffer(16))",
    "prlimit(os.getppid(), 9, None, ctypes.create_string_buffer(16))",
    "ptrace(16, 1, 0, 0)",
    "prctl(22, 0, 0, 0, 0)",
    "prctl(38, 0, 0, 0, 0)",
    "unshare(0x10000000)",
    "nanosleep(ctypes.create_string_buffer(16), None)",
    "process_vm_readv(os.getppid(), 0, 0, 0, 0, 0)",
    "mprotect(ctypes.c_void_p(id(0) & ~4095), 4096, 7)",
    "pkey_mprotect(ctypes.c_void_p(id(0) & ~4095), 4096, 7, -1)",
    "shmget(0, 4096, 0o1600)",
    "syscall(317, 0, 0, 0)",
    "syscall(425, 8, ctypes.create_string_buffer(120))",
    "syscall(0x40000000 + 2, b'/etc/passwd', 0)",
    "clock_gettime((~1 << 3) | 2, ctypes.create_string_buffer(16))",
    "clock_gettime((~os.getpid() << 3) | 2, ctypes.create_string_buffer(16))",
    "send(3, b'x', 1, 1)",
    "recv(3, ctypes.create_string_buffer(1), 1, 1)",
    "madvise(ctypes.c_void_p(id(0) & ~4095), 4096, 12)",
]


@pytest.mark.parametrize("code", REFUSED_IN_PYTHON)
def test_plain_python_in_a_locked_worker_is_refused(plain: Session, code: str) -> None:
    plain.run("import os, signal, socket")
    fault = fault_of(plain, code)
    assert fault.type in ("PermissionError", "OSError"), fault
    assert "Errno 1]" in fault.message, fault


@pytest.mark.parametrize("call", REFUSED_IN_C)
def test_system_calls_from_c_are_refused(plain: Session, call: str) -> None:
    assert plain.run(CALL.format(call=call)).value == [-1, "EPERM"]


def test_the_worker_has_one_socket_and_nothing_else_open(plain: Session) -> None:
    plain.run("import socket, errno\nsockets = []")
    code = (
        "for number in range(0, 200):\n    try:\n"
        "        socket.socket(fileno=number, family=1, type=1, proto=0).send(b'')\n"
        "        sockets.append(number)\n    except OSError as error:\n"
        "        if error.errno not in (errno.EBADF, errno.ENOTSOCK):\n            raise\nsockets"
    )
    assert plain.run(code).value == [3]


def test_the_arguments_of_a_worker_reveal_nothing_about_the_host(unguarded: Sandbox, plain: Session) -> None:
    shown = plain.run("import os, sys\n[sys.argv, sys.orig_argv, dict(os.environ)]").value
    assert shown == [[], [], VARIABLES | {"LC_CTYPE": "C.UTF-8"}]
    arguments = Path(f"/proc/{unguarded._zygote._process.pid}/cmdline").read_bytes().decode().split("\0")
    assert not [word for word in arguments[1:] if str(ROOT) in word or str(os.getpid()) in word]


def test_libraries_can_be_on_pythonpath_only() -> None:
    libraries = sysconfig.get_path("purelib")
    code = "from planbook.sandbox import Sandbox\nwith Sandbox() as own, own.session({}) as session:\n"
    code += "    print(session.run('6 * 7').value)"
    bare = [sys._base_executable, "-c", code]  # type: ignore[attr-defined]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{libraries}"}
    done = subprocess.run(bare, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "42"), done.stderr


def test_the_same_worker_without_any_mechanism_is_not_refused(tmp_path: Path) -> None:
    """Shows that only the lockdown causes the refusals above. Time and memory stay limited."""
    with Sandbox(language_layer=False, disabled_mechanisms=ALL_MECHANISMS, unsafe_no_sandbox=True) as loose:
        assert not any(mechanism.granted for mechanism in loose.mechanisms().values())
        with loose.session({}, limits=Limits(memory_mb=64)) as session:
            assert session.run(f"open({str(tmp_path / 'x')!r}, 'w').write('here')").fault is None
            assert fault_of(session, "'a' * 10 ** 9").type == "memory"
            opened = session.run("import os\nos.listdir('/proc/self/fd')").value
            assert opened == ["0", "1", "2", "3", "4"], "descriptor 4 is the open listing itself"
    assert (tmp_path / "x").read_text() == "here"


def test_every_mechanism_is_listed(sandbox: Sandbox) -> None:
    found = sandbox.mechanisms()
    assert set(found) == {*REQUIRED_MECHANISMS, *OPTIONAL_MECHANISMS}
    assert all(found[name].granted for name in REQUIRED_MECHANISMS)
    assert all(mechanism.granted or mechanism.reason for mechanism in found.values())


@pytest.mark.parametrize("name", ["seccomp", "rlimits"])
def test_without_a_required_mechanism_nothing_runs_unless_the_risk_is_named(name: str) -> None:
    with pytest.raises(MissingMechanism, match=rf"{name} is not granted here: disabled by.*unsafe_no_sandbox=True"):
        Sandbox(disabled_mechanisms=[name])
    with Sandbox(disabled_mechanisms=[name], unsafe_no_sandbox=True) as own, own.session({}) as session:
        assert not own.mechanisms()[name].granted
        assert session.run("6 * 7").value == 42


@pytest.mark.parametrize("name", OPTIONAL_MECHANISMS)
def test_an_optional_mechanism_can_be_disabled(name: str) -> None:
    with Sandbox(disabled_mechanisms=[name]) as own, own.session({}) as session:
        assert not own.mechanisms()[name].granted
        assert session.run("6 * 7").value == 42


def test_an_unknown_mechanism_cannot_be_disabled() -> None:
    with pytest.raises(ValueError, match="there is no mechanism"):
        Sandbox(disabled_mechanisms=["landlok"])


def test_a_worker_sees_no_other_process_and_is_not_root() -> None:
    with Sandbox(language_layer=False, disabled_mechanisms=["seccomp"], unsafe_no_sandbox=True) as own:
        with own.session({}) as session:
            number, user = (session.run(f"import posix\nposix.{name}()").value for name in ("getpid", "geteuid"))
        assert not own.mechanisms()["pid namespace"].granted or number in range(100)
        assert user == (os.geteuid() or NOBODY)


def test_a_zygote_whose_pid_namespace_has_ended_is_replaced() -> None:
    with Sandbox() as own:
        if not own.mechanisms()["pid namespace"].granted:
            pytest.skip("the kernel grants no pid namespace here")
        os.kill(min(children(own._zygote._process.pid)), signal.SIGKILL)
        with own.session({}) as session:
            assert session.run("6 * 7").value == 42


def test_the_error_of_a_zygote_that_cannot_start_is_shown(tmp_path: Path) -> None:
    package = tmp_path / "planbook"
    shutil.copytree(ROOT / "sandbox", package / "sandbox", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "planbook" / "__init__.py", package)
    (package / "sandbox" / "worker" / "serve.py").write_text("raise RuntimeError('this file is damaged')\n")
    script = "from planbook.sandbox import *\ntry:\n    Sandbox()\nexcept WorkerFailed as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "the zygote did not start" in done.stdout
    assert "this file is damaged" in done.stdout


# The filter of system calls itself, run by a small interpreter.


def verdict(machine: str, number: int, argument: int = 0, architecture: int | None = None) -> int:
    """Return the verdict of the filter on a system call whose arguments all have this value."""
    _, known = lockdown.ARCHITECTURES[machine]
    data = {lockdown.NUMBER: number, lockdown.ARCHITECTURE: known if architecture is None else architecture}
    data |= dict.fromkeys((lockdown.FIRST_ARGUMENT, lockdown.THIRD_ARGUMENT, lockdown.FOURTH_ARGUMENT), argument)
    program, at, held = lockdown.instructions(machine), 0, 0
    while True:
        code, yes, no, constant = program[at]
        at += 1
        if code == lockdown.LOAD:
            held = data[constant]
        elif code == lockdown.JUMP_EQUAL:
            at += yes if held == constant else no
        elif code == lockdown.JUMP_ANY_BIT:
            at += yes if held & constant else no
        elif code == lockdown.JUMP_GREATER:
            at += yes if held > constant else no
        else:
            assert code == lockdown.RETURN
            return constant


@pytest.mark.parametrize("machine", lockdown.ARCHITECTURES)
def test_the_filter_allows_the_table_and_nothing_else(machine: str) -> None:
    column, _ = lockdown.ARCHITECTURES[machine]
    allowed = {numbers[column] for numbers in lockdown.ALLOWED.values()}
    guarded = {row[column]: name for name, row in lockdown.ALLOWED_UNLESS.items()}
    for number in range(600):
        expected = lockdown.ALLOW if number in {*allowed, *guarded} else lockdown.DENY
        assert verdict(machine, number) == expected, number
        if number in {*allowed, *guarded}:
            assert verdict(machine, number | 0x40000000) == lockdown.DENY
            assert verdict(machine, number, architecture=0x40000003) == lockdown.KILL
        if number in guarded:
            granted, refused = ARGUMENTS[guarded[number]]
            assert {verdict(machine, number, argument) for argument in granted} == {lockdown.ALLOW}
            assert {verdict(machine, number, argument) for argument in refused} == {lockdown.DENY}


CLOCKS_OF_OTHERS = [(~pid << 3 | kind) & 0xFFFFFFFF for pid in (1, 77, 4_000_000) for kind in (0, 1, 2, 6)]
ARGUMENTS = {
    "mmap": ([0, 1, 3], [4, 5, 7]),
    "mprotect": ([0, 1, 3], [4, 5, 7]),
    "recvfrom": ([0, 0x40, 0x100], [1, 2, 0x41]),
    "sendto": ([0, 0x40, 0x4000], [1, 4, 0x8001]),
    "clock_gettime": ([0, 1, 2, 3, 7], [12, *CLOCKS_OF_OTHERS]),
    "madvise": ([0, 4, 8], [9, 12, 14, 100]),
}
"""Maps system calls to arguments that are allowed and refused. MSG_OOB is flag 1, MADV_MERGEABLE is advice 12."""


def test_an_unknown_machine_is_refused() -> None:
    with pytest.raises(OSError, match="no table of system calls for riscv64"):
        lockdown.instructions("riscv64")
