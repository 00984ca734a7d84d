"""The system calls that a worker may make, as a filter program for the kernel.

The table is the policy: what is not listed fails with EPERM. Nothing that opens, connects, signals, starts or sleeps
is in it; ``recvfrom`` and ``sendto`` reach the one socket that the worker was born with.
"""

import ctypes
import errno
import platform

LIBC = ctypes.CDLL(None, use_errno=True)

#              name: number on x86_64, on aarch64
ALLOWED = {
    "brk": (12, 214),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "futex": (202, 98),
    "rt_sigreturn": (15, 139),
    "rt_sigprocmask": (14, 135),
    "restart_syscall": (219, 128),
    "sched_yield": (24, 124),
    "getrandom": (318, 278),
    "getpid": (39, 172),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Machine: column in the tables above, AUDIT_ARCH number."""

PROT_EXEC = 4
MSG_DONTWAIT, MSG_WAITALL, MSG_NOSIGNAL = 0x40, 0x100, 0x4000
OTHER_FLAGS = 0xFFFFFFFF & ~(MSG_DONTWAIT | MSG_WAITALL | MSG_NOSIGNAL)
LAST_CLOCK, LAST_ADVICE = 11, 8
"""CLOCK_TAI: larger numbers, as unsigned ones, are clocks of other processes. MADV_FREE: the next are about sharing."""
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LOAD, JUMP_EQUAL, JUMP_GREATER, JUMP_ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, THIRD_ARGUMENT, FOURTH_ARGUMENT = 0, 4, 16, 32, 40
"""Offsets in struct seccomp_data; of an argument, the lower half."""
#              name: number on x86_64, on aarch64; denied where this argument compares so with this constant
UNLESS = {
    "mmap": (9, 222, THIRD_ARGUMENT, JUMP_ANY_BIT, PROT_EXEC),
    "mprotect": (10, 226, THIRD_ARGUMENT, JUMP_ANY_BIT, PROT_EXEC),
    "recvfrom": (45, 207, FOURTH_ARGUMENT, JUMP_ANY_BIT, OTHER_FLAGS),
    "sendto": (44, 206, FOURTH_ARGUMENT, JUMP_ANY_BIT, OTHER_FLAGS),
    "clock_gettime": (228, 113, FIRST_ARGUMENT, JUMP_GREATER, LAST_CLOCK),
    "madvise": (28, 233, THIRD_ARGUMENT, JUMP_GREATER, LAST_ADVICE),
}
ALLOW, KILL, DENY = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM


class Instruction(ctypes.Structure):
    """struct sock_filter."""

    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32))


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_uint16), ("filter", ctypes.POINTER(Instruction)))


def instructions(machine: str) -> list[tuple[int, int, int, int]]:
    """The filter for a machine, as (code, jump if so, jump if not, constant). Raises OSError for other machines."""
    if machine not in ARCHITECTURES:
        raise OSError(
            errno.ENOSYS, f"no table of system calls for {machine}; there is one for {', '.join(ARCHITECTURES)}"
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
    for row in UNLESS.values():
        argument, comparison, constant = row[2:]
        program += [
            (JUMP_EQUAL, 0, 4, row[column]),
            (LOAD, 0, 0, argument),
            (comparison, 0, 1, constant),
            (RETURN, 0, 0, DENY),
            (RETURN, 0, 0, ALLOW),
        ]
    return [*program, (RETURN, 0, 0, DENY)]


def prepare() -> Program:
    """The filter for this machine, ready to install."""
    parts = instructions(platform.machine())
    return Program(len(parts), (Instruction * len(parts))(*(Instruction(*part) for part in parts)))


def install(program: Program) -> None:
    """Put the filter on this process, for good. Needs no_new_privs. Raises OSError."""
    if LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, errno.errorcode.get(number, str(number)))
