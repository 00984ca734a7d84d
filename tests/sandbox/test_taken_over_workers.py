"""What a worker that a plan has taken over does to the host, as an attacker with a fresh mind tried it."""

import time
from itertools import pairwise

import pytest

from planbook.sandbox import Limits, RebuildDiverged, Sandbox
from planbook.sandbox import session as session_module
from planbook.sandbox.answers import library_source
from planbook.sandbox.types import limit_fault

LONG = f"json.{chr(0x10280) * 90}"
"""A module's name of few characters and many bytes: more than a file's name may have."""
STALLS_WHEN_RUN_AGAIN = """
import ctypes
class Spec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("n", ctypes.c_long)]
libc, now = ctypes.CDLL(None), Spec()
libc.clock_gettime(0, ctypes.byref(now))
if now.s + now.n / 1e9 > {begin}:
    word, long = ctypes.c_int(0), Spec(60, 0)
    libc.syscall(202, ctypes.byref(word), 0, 0, ctypes.byref(long), 0, 0)
"""
"""Waits in the kernel, where no processor time passes."""


def test_a_name_that_no_file_can_have_is_no_module(unguarded: Sandbox) -> None:
    assert library_source(LONG) is None
    with unguarded.session({}) as session:
        (fault,) = session.run(f"import {LONG}").faults
        assert fault.type == "ModuleNotFoundError"


def test_what_a_worker_said_stands_in_no_fault_at_length() -> None:
    assert len(limit_fault("protocol", Limits(), "x" * 1_000_000).message) < 500


def test_more_processor_time_than_the_kernel_can_be_told_of_is_no_limit(sandbox: Sandbox) -> None:
    with sandbox.session({}, limits=Limits(cpu_seconds=3e9)) as session:
        assert session.run("1 + 1").value == 2


def test_a_cell_that_is_run_again_cannot_hold_the_host(unguarded: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "WALL_GRACE", 1.0)
    heard = [time.monotonic()]
    limits, begin = Limits(wall_seconds=0.5), time.time() + 2
    with unguarded.session({}, limits=limits, meanwhile=lambda: heard.append(time.monotonic())) as session:
        for _ in range(3):
            assert session.run(STALLS_WHEN_RUN_AGAIN.format(begin=begin)).fault is None
        time.sleep(max(0.0, begin - time.time()))
        heard[:], began = [time.monotonic()], time.monotonic()
        with pytest.raises(RebuildDiverged, match="it did not finish"):
            session.run("import os\nos._exit(0)")
    assert time.monotonic() - began < 10
    assert max(after - before for before, after in pairwise(heard)) < 1
