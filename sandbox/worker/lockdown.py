"""The kernel's restrictions on workers, the processes in which plan code runs.

A *step* is a function that applies one restriction. It raises OSError if the kernel or the container does not grant the
restriction. The host, the process that opens sessions, decides which restrictions may be missing. The zygote, the
process that workers are forked from, takes all steps whose restrictions workers inherit. Each worker then takes the
last step, the seccomp filter.

The filter allows only the system calls that are listed here; all others fail with EPERM. None of the listed calls opens
a file, connects, sends a signal or starts a process. ``recvfrom`` and ``sendto`` can reach only the socket that the
worker was forked with.
"""

import ctypes
import errno
import os
import platform
import resource
import select
import signal
import struct
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import NoReturn

from planbook.sandbox.protocol import FIRST_CPU_SECONDS

# The system call filter.

LIBC = ctypes.CDLL(None, use_errno=True)

#              name: number on x86_64, number on aarch64
ALLOWED = {
    "brk": (12, 214),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "futex": (202, 98),
    "restart_syscall": (219, 128),
    "sched_yield": (24, 124),
    "getrandom": (318, 278),
    "getpid": (39, 172),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Maps a machine to its column in ``ALLOWED`` and ``ALLOWED_UNLESS``, and its AUDIT_ARCH number."""

PROT_EXEC = 4
MSG_DONTWAIT, MSG_WAITALL, MSG_NOSIGNAL = 0x40, 0x100, 0x4000
OTHER_FLAGS = 0xFFFFFFFF & ~(MSG_DONTWAIT | MSG_WAITALL | MSG_NOSIGNAL)
LAST_CLOCK, LAST_ADVICE = 11, 8
"""The largest allowed arguments of ``clock_gettime`` and ``madvise``: CLOCK_TAI and MADV_FREE. Larger clock ids, as
unsigned numbers, are clocks of other processes. Larger kinds of advice concern shared memory.
"""
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LOAD, JUMP_EQUAL, JUMP_GREATER, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, THIRD_ARGUMENT, FOURTH_ARGUMENT = 0, 4, 16, 32, 40
"""Offsets in struct seccomp_data. Arguments have 64 bits; these offsets refer to the lower 32."""
#              name: number on x86_64, number on aarch64, argument, comparison, constant
# A call is denied if the comparison of the argument with the constant is true.
ALLOWED_UNLESS = {
    "mmap": (9, 222, THIRD_ARGUMENT, JUMP_ANY_BIT, PROT_EXEC),
    "mprotect": (10, 226, THIRD_ARGUMENT, JUMP_ANY_BIT, PROT_EXEC),
    "recvfrom": (45, 207, FOURTH_ARGUMENT, JUMP_ANY_BIT, OTHER_FLAGS),
    "sendto": (44, 206, FOURTH_ARGUMENT, JUMP_ANY_BIT, OTHER_FLAGS),
    "clock_gettime": (228, 113, FIRST_ARGUMENT, JUMP_GREATER, LAST_CLOCK),
    "madvise": (28, 233, THIRD_ARGUMENT, JUMP_GREATER, LAST_ADVICE),
}
ALLOW, KILL, DENY = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
"""The filter's answers to a system call: execute it, end the process, or let the call fail with EPERM."""


class FilterInstruction(ctypes.Structure):
    """struct sock_filter."""

    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32))


class FilterProgram(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_uint16), ("filter", ctypes.POINTER(FilterInstruction)))


def instructions(machine: str) -> list[tuple[int, int, int, int]]:
    """Return the instructions of the filter: tuples of the code, the jumps if true and if false, and the constant.

    Raises OSError for an unknown machine.
    """
    if machine not in ARCHITECTURES:
        raise OSError(
            errno.ENOSYS, f"no table of system calls for {machine}; there are tables for {', '.join(ARCHITECTURES)}"
        )
    column, architecture = ARCHITECTURES[machine]
    program = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
    ]
    for numbers in ALLOWED.values():
        program += [(JUMP_EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, ALLOW)]
    for row in ALLOWED_UNLESS.values():
        argument, comparison, constant = row[2:]
        program += [
            (JUMP_EQUAL, 0, 4, row[column]),
            (LOAD, 0, 0, argument),
            (comparison, 0, 1, constant),
            (RETURN, 0, 0, DENY),
            (RETURN, 0, 0, ALLOW),
        ]
    return [*program, (RETURN, 0, 0, DENY)]


def make_filter() -> FilterProgram:
    """Return the filter for this machine, ready to install."""
    parts = instructions(platform.machine())
    return FilterProgram(len(parts), (FilterInstruction * len(parts))(*(FilterInstruction(*part) for part in parts)))


def install_filter(program: FilterProgram) -> None:
    """Install the filter in this process, irrevocably. Needs no_new_privs. Raises OSError if the kernel refuses it."""
    _raise_if_failed(LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0))


def _raise_if_failed(result: int) -> int:
    """Return the result of a C function. Raises OSError if it is negative: the function has failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
CAP_KILL = 5
NOBODY = 65534
"""The user and group id of workers if the host is root."""
SYS_LANDLOCK_CREATE_RULESET, SYS_LANDLOCK_RESTRICT_SELF = 444, 446
"""System call numbers, the same on x86_64 and aarch64."""
LANDLOCK_VERSION = 1
LANDLOCK_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Maps a version of Landlock's ABI to its number of file access rights. From version 5 on, there are 16."""
CAPABILITY_VERSION_3 = 0x20080522
NO_RESOURCES = (0, 0)
"""The soft and hard limit of a resource that workers may not use."""


def _prctl(option: int, value: int) -> None:
    _raise_if_failed(LIBC.prctl(option, value, 0, 0, 0))


def _unshare(flag: int) -> None:
    _raise_if_failed(LIBC.unshare(flag))


def drop_root() -> None:
    """Change to an unprivileged user if the host is root.

    Raises OSError if the host lacks CAP_KILL, since it could not kill a worker that has another user id.
    """
    if os.geteuid() == 0:
        if not _capabilities() & 1 << CAP_KILL:
            raise OSError(errno.EPERM, "the host lacks CAP_KILL, so it could not end a worker with another user id")
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def _capabilities() -> int:
    with open("/proc/self/status", "rb") as status:
        return next(int(line.split()[1], 16) for line in status if line.startswith(b"CapEff:"))


def forbid_file_writes() -> None:
    """Forbid core dumps and writes to files."""
    resource.setrlimit(resource.RLIMIT_CORE, NO_RESOURCES)
    resource.setrlimit(resource.RLIMIT_FSIZE, NO_RESOURCES)


def drop_capabilities() -> None:
    """Drop every capability, even for root."""
    header = ctypes.create_string_buffer(struct.pack("Ii", CAPABILITY_VERSION_3, 0))
    _raise_if_failed(LIBC.capset(header, ctypes.create_string_buffer(24)))


def deny_with_landlock() -> None:
    """Deny access to files. Newer kernels also deny TCP, abstract sockets of other processes, and signals to them."""
    syscall = LIBC.syscall
    abi = _raise_if_failed(syscall(SYS_LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION))
    files = (1 << LANDLOCK_FILE_RIGHTS.get(abi, 16)) - 1
    rules = struct.pack("QQQ", files, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = _raise_if_failed(syscall(SYS_LANDLOCK_CREATE_RULESET, ctypes.create_string_buffer(rules), size, 0))
    try:
        _raise_if_failed(syscall(SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


_NAMESPACES: Mapping[str, Callable[[], None]] = {
    "net namespace": partial(_unshare, CLONE_NEWNET),
    "ipc namespace": partial(_unshare, CLONE_NEWIPC),
    "mount namespace": partial(_unshare, CLONE_NEWNS),
    "pid namespace": partial(_unshare, CLONE_NEWPID),
}
ZYGOTE_STEPS: tuple[tuple[str, Callable[[], None]], ...] = (
    ("rlimits", forbid_file_writes),
    *_NAMESPACES.items(),
    ("user id", drop_root),
    ("user namespace", partial(_unshare, CLONE_NEWUSER)),
    *_NAMESPACES.items(),
    ("no_new_privs", partial(_prctl, PR_SET_NO_NEW_PRIVS, 1)),
    ("landlock", deny_with_landlock),
    ("capabilities", drop_capabilities),
    ("undumpable", partial(_prctl, PR_SET_DUMPABLE, 0)),
)
"""The steps that the zygote takes and workers inherit, each with the name of its mechanism.

The order matters. Creating a namespace takes the capabilities of root, or of a user in a new user namespace. So the
namespaces are tried twice: first with the host's user id, and then in the new user namespace. Seccomp and Landlock need
no_new_privs, which keeps programs that are executed later from gaining privileges. Other processes of the same user can
neither trace an undumpable process nor read its memory.
"""


def take_step(step: Callable[..., None], *args: object) -> str:
    """Take a step. Return "" if it was granted, or the reason why it was not."""
    try:
        step(*args)
    except (OSError, ValueError) as error:
        return str(error)
    return ""


DISABLED = "disabled by the caller"


def lock_zygote(disabled: Collection[str]) -> dict[str, str]:
    """Take the ZYGOTE_STEPS, except those named in ``disabled``. A step that has succeeded is not taken again.

    Return a dict that maps each mechanism to "" if it was granted, or to the reason why it was not.
    """
    reasons = dict.fromkeys(disabled, DISABLED)
    for name, step in ZYGOTE_STEPS:
        if reasons.get(name, "not tried") and name not in disabled:
            reasons[name] = take_step(step)
    return reasons


def die_with_parent(zygote_pidfd: int | None) -> None:
    """Tell the kernel to kill this process when its parent, the zygote, dies.

    Raises ProcessLookupError if the zygote's pidfd shows that the zygote is already dead.
    """
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if zygote_pidfd is not None and select.select([zygote_pidfd], [], [], 0)[0]:
        raise ProcessLookupError(errno.ESRCH, "the zygote is gone")


def run_namespace_init(zygote_pidfd: int) -> NoReturn:
    """Act as process 1 of the pid namespace: do nothing until the zygote dies.

    The kernel ends the namespace, and every process in it, when this process ends.
    """
    try:
        die_with_parent(zygote_pidfd)
        os.closerange(0, os.sysconf("SC_OPEN_MAX"))
        while True:
            signal.pause()
    finally:
        os._exit(0)


def limit_resources(worker_pid: int, address_space: int, *, is_isolated: bool) -> None:
    """Limit the processor time and the address space (in bytes) of a worker.

    If ``is_isolated``, also keep the worker from opening files and starting processes. The zygote calls this: a worker
    would first have to copy the memory pages to which the call writes.
    """
    resource.prlimit(worker_pid, resource.RLIMIT_CPU, (FIRST_CPU_SECONDS, resource.RLIM_INFINITY))
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    address_space = address_space if hard == resource.RLIM_INFINITY else min(address_space, hard)
    resource.prlimit(worker_pid, resource.RLIMIT_AS, (address_space, address_space))
    if is_isolated:
        resource.prlimit(worker_pid, resource.RLIMIT_NPROC, NO_RESOURCES)
        resource.prlimit(worker_pid, resource.RLIMIT_NOFILE, NO_RESOURCES)


def confine(program: FilterProgram) -> None:
    """Install the system call filter and test it. Raises OSError if the kernel refuses it or it has no effect."""
    install_filter(program)
    if os.access("/", os.F_OK):
        raise OSError(errno.EPERM, "the filter was accepted but stops no system call")
