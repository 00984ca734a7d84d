"""Real workers, with both layers, whose host says what it never says: they end, and those that come after are well."""

import os
import select
import signal
import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from planbook.sandbox import Sandbox
from planbook.sandbox.answers import function_specs, open_message
from planbook.sandbox.conversation import parse_message
from planbook.sandbox.host import ALL_MECHANISMS
from planbook.sandbox.policy.compiler import CompileRequest, compile_request
from planbook.sandbox.process import READY, WorkerProcess, Zygote
from planbook.sandbox.protocol import ChannelClosed, pack
from tests.sandbox.fuzz.settings import examples

SECONDS = 20
OPEN = open_message(function_specs({"f": lambda x: x}), {}, {}, 0)
PLAN = """
kept = 0
while True:
    try:
        kept = f(kept)
    except BaseException:
        print("swallowed")
"""
"""Asks again, whatever happens."""
NONSENSE = [
    b"",
    b"{",
    b"null",
    b"7",
    b"[]",
    b"{}",
    b'"answer"',
    b"\xff\xfe",
    b'"\\ud800"',
    b"[" * 100_000,
    b'["answer"]',
    b'["answer",1]',
    b'["answer",1,2,3,4,5,6,7,8,9]',
    b'["answer",1,{"nobody.here":1},0]',
    b'["answer",1,{"f":1},0]',
    b'["answer",1,[1],0]',
    b'["answer",1,7,0]',
    b'["run",1,2,3,4,5]',
    b'["run","1","cell","no code",null,0]',
    b'["run","1","cell","AAAA",null,0]',
    b'["run","1","cell","",{"nobody.here":1},0]',
    b'["open",{}]',
    b'["error","ValueError"]',
    b'["error",1,2,3,4,5]',
]


def code_of(plan: str) -> str:
    return compile_request(CompileRequest(plan, "cell#0", guarded=True)).code


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    opened = Zygote(guarded=True)
    yield opened
    opened.close()


class Host:
    """The host's end of a real worker, which says anything."""

    def __init__(self, zygote: Zygote) -> None:
        self.worker: WorkerProcess = zygote.take_worker(256)
        zygote.request_worker(256)
        self.pidfd = os.dup(self.worker._pidfd)

    def hear(self) -> list[object]:
        """The next message, which is of a known shape, whatever the worker was told."""
        return parse_message(self.worker.receive(lambda: None))

    def say(self, payload: bytes) -> None:
        self.raw(pack(payload, 1 << 24))

    def raw(self, data: bytes) -> None:
        self.worker._sock.setblocking(True)
        try:
            self.worker._sock.sendall(data)
        except OSError:
            return  # it has ended already

    def stage(self, name: str) -> None:
        """Bring the worker to where it waits for the session, for a cell, or for an answer."""
        assert self.hear()[0] == "locked"
        if name == "session":
            return
        self.say(OPEN)
        if name == "answer":
            self.say(to_json(["run", PLAN, "cell", code_of(PLAN), None, 0]))
            assert self.hear()[0] == "call"

    def ends(self) -> bool:
        """Return whether the worker ends when nothing more arrives, having sent only valid messages."""
        self.worker._sock.shutdown(socket.SHUT_WR)
        try:
            while True:
                assert self.hear() != ["print", "swallowed\n"]
        except ChannelClosed:
            return bool(select.select([self.pidfd], [], [], SECONDS)[0])

    def close(self) -> None:
        self.worker.kill()
        os.close(self.pidfd)


def well(zygote: Zygote) -> bool:
    """Return whether a new worker works."""
    host = Host(zygote)
    try:
        host.stage("answer")
        host.say(b'["answer",41,null,0]')
        return host.hear() == ["call", 5, "f", [41], {}]
    finally:
        host.close()


STAGES = ("session", "cell", "answer")


@pytest.mark.parametrize("stage", STAGES)
def test_nonsense_of_the_host_ends_the_worker(zygote: Zygote, stage: str) -> None:
    for nonsense in NONSENSE:
        host = Host(zygote)
        try:
            host.stage(stage)
            host.say(nonsense)
            assert host.ends(), nonsense
        finally:
            host.close()
    assert well(zygote)


@examples(25)
@given(st.sampled_from(STAGES), st.binary(max_size=40), st.booleans())
def test_no_bytes_of_the_host_are_worse(zygote: Zygote, stage: str, data: bytes, framed: bool) -> None:
    host = Host(zygote)
    try:
        host.stage(stage)
        (host.say if framed else host.raw)(data)
        assert host.ends()
    finally:
        host.close()
    assert well(zygote)


def test_a_frame_beyond_the_cap_ends_the_worker_before_it_is_read(zygote: Zygote) -> None:
    host = Host(zygote)
    host.raw(b"\xff\xff\xff\xff")
    assert select.select([host.pidfd], [], [], SECONDS)[0]
    host.close()


def test_an_error_of_the_host_raises_nothing_but_exceptions_of_python(zygote: Zygote) -> None:
    plan = """
out = []
for n in range(7):
    try:
        f(n)
    except Exception as error:
        out.append(repr(error))
out
"""
    host = Host(zygote)
    try:
        host.stage("cell")
        host.say(to_json(["run", plan, "cell", code_of(plan), None, 0]))
        for kind in ("ValueError", "SystemExit", "MemoryError", "__import__", "ExceptionGroup", "print", "nothing"):
            assert host.hear()[0] == "call"
            host.say(to_json(["error", kind, "m", None, 0]))
        assert host.hear() == ["end", ["ValueError('m')", *["RuntimeError('m')"] * 6], []]
    finally:
        host.close()


def test_the_control_socket_takes_any_packet_for_one_request(zygote: Zygote) -> None:
    """It is the host's own, so nothing is read into what it says; a worker has no descriptor of it."""
    assert well(zygote)
    for packet in (b"\0", b"{}", b"w" * 5_000):
        zygote._control.send(packet)
    told = [socket.recv_fds(zygote._control, 1 << 16, 2) for _ in range(3)]
    for _, descriptors, _, _ in told:
        assert len(descriptors) == 2
        signal.pidfd_send_signal(descriptors[1], signal.SIGKILL)
        for descriptor in descriptors:
            os.close(descriptor)
    assert all(well(zygote) for _ in range(READY + 1))


def test_an_empty_packet_on_the_control_socket_ends_the_zygote_and_its_workers() -> None:
    own = Zygote(guarded=True)
    host = Host(own)
    host.stage("cell")
    own._control.send(b"")
    assert own._process.wait(SECONDS) == 0
    assert select.select([host.pidfd], [], [], SECONDS)[0]
    host.close()
    own.close()


def test_a_worker_has_its_channel_and_nothing_else_open() -> None:
    with (
        Sandbox(language_layer=False, without=ALL_MECHANISMS, unsafe_no_sandbox=True) as sandbox,
        sandbox.session({}) as session,
    ):
        assert session.run("import os\nos.listdir('/proc/self/fd')").value == [
            "0",
            "1",
            "2",
            "3",
            "4",
        ]  # 4: the listing


def test_no_answer_is_lost_where_the_plan_has_used_up_its_stack(sandbox: Sandbox) -> None:
    carried_out: list[int] = []

    def f(n: int) -> list[object]:
        carried_out.append(n)
        return [n, [[[[[[[[[[n]]]]]]]]]]]

    plan = """
got = []
def deeper(n):
    got.append(f(n)[0])
    deeper(n + 1)
try:
    deeper(0)
except RecursionError:
    pass
got
"""
    with sandbox.session({"f": f}) as session:
        assert session.run(plan).value == carried_out
    assert len(carried_out) > 900


def test_frames_of_the_worker_stay_below_the_cap_whatever_a_plan_is_called(sandbox: Sandbox) -> None:
    long = "N" * 45_000
    with sandbox.session({}) as session:
        session.run(f"class {long}(Exception): pass\ndef fails(): raise {long}(1)")
        fault = session.run("fails()").fault
    assert fault is not None
    assert (fault.kind, len(fault.type)) == ("raised", 300)
    assert len(fault.message) < 6_000
