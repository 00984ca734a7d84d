"""Real workers end if their host sends nonsense, and later workers are not affected."""

import os
import select
import signal
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest
from hypothesis import given, strategies as st
from pydantic_core import to_json

from planbook.sandbox import Sandbox, Session
from planbook.sandbox.answers import function_specs, open_message
from planbook.sandbox.conversation import parse_message
from planbook.sandbox.policy.compiler import compile_for_worker
from planbook.sandbox.process import READY_WORKERS, WorkerProcess, Zygote
from planbook.sandbox.protocol import ChannelClosed, pack
from tests.sandbox.fuzz.settings import examples
from tests.sandbox.plans import fault_of

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
"""Calls a function again and again, and ignores all exceptions."""
NONSENSE = [
    b"",
    b"\xff\xfe",
    b"[" * 100_000,
    b'["run","1","cell","no code",null,0]',
    *b"""{ null 7 [] {} "answer" "\\ud800" ["answer"] ["answer",1] ["answer",1,2,3,4,5,6,7,8,9]
    ["answer",1,{"nobody.here":1},0] ["answer",1,{"f":1},0] ["answer",1,[1],0] ["answer",1,7,0] ["run",1,2,3,4,5]
    ["run","1","cell","AAAA",null,0] ["run","1","cell","",{"nobody.here":1},0] ["open",{}] ["error","ValueError"]
    ["error",1,2,3,4,5]""".split(),
]


def code_of(plan: str) -> str:
    return compile_for_worker(plan, "cell#0", language_layer=True).code


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    opened = Zygote(language_layer=True)
    yield opened
    opened.close()


class Host(AbstractContextManager["Host"]):
    """A host that is connected to a real worker and can send it anything."""

    def __init__(self, zygote: Zygote) -> None:
        self.worker: WorkerProcess = zygote.take_worker(256)
        zygote.request_worker(256)
        self.pidfd = os.dup(self.worker._pidfd)

    def hear(self) -> list[object]:
        """Return the next message, which must have a known shape."""
        return parse_message(self.worker.receive(lambda: None))

    def say(self, payload: bytes) -> None:
        self.raw(pack(payload, 1 << 24))

    def raw(self, data: bytes) -> None:
        self.worker._sock.setblocking(True)
        try:
            self.worker._sock.sendall(data)
        except OSError:
            return  # the worker has ended already

    def stage(self, name: str) -> None:
        """Let the worker go on until it waits for a session, for a cell (code to run), or for the answer to a call."""
        assert self.hear()[0] == "locked"
        if name == "session":
            return
        self.say(OPEN)
        if name == "answer":
            self.say(to_json(["run", PLAN, "cell", code_of(PLAN), None, 0]))
            assert self.hear()[0] == "call"

    def ends(self) -> bool:
        """Return whether the worker ends once the host stops sending. All of its messages must be valid."""
        self.worker._sock.shutdown(socket.SHUT_WR)
        try:
            while True:
                assert self.hear() != ["print", "swallowed\n"]
        except ChannelClosed:
            return bool(select.select([self.pidfd], [], [], SECONDS)[0])

    def __exit__(self, *_raised: object) -> None:
        self.worker.kill()
        os.close(self.pidfd)


def works(zygote: Zygote) -> bool:
    """Return whether a new worker works."""
    with Host(zygote) as host:
        host.stage("answer")
        host.say(b'["answer",41,null,0]')
        return host.hear() == ["call", 5, "f", [41], {}]


STAGES = ("session", "cell", "answer")


@pytest.mark.parametrize("stage", STAGES)
def test_nonsense_from_the_host_ends_the_worker(zygote: Zygote, stage: str) -> None:
    for nonsense in NONSENSE:
        with Host(zygote) as host:
            host.stage(stage)
            host.say(nonsense)
            assert host.ends(), nonsense
    assert works(zygote)


@examples(25)
@given(st.sampled_from(STAGES), st.binary(max_size=40), st.booleans())
def test_any_bytes_from_the_host_end_the_worker(zygote: Zygote, stage: str, data: bytes, framed: bool) -> None:
    with Host(zygote) as host:
        host.stage(stage)
        (host.say if framed else host.raw)(data)
        assert host.ends()
    assert works(zygote)


def test_a_frame_beyond_the_cap_ends_the_worker_before_it_is_read(zygote: Zygote) -> None:
    with Host(zygote) as host:
        host.raw(b"\xff\xff\xff\xff")
        assert select.select([host.pidfd], [], [], SECONDS)[0]


def test_an_error_of_the_host_becomes_a_builtin_exception(zygote: Zygote) -> None:
    plan = """
out = []
for n in range(7):
    try:
        f(n)
    except Exception as error:
        out.append(repr(error))
out
"""
    with Host(zygote) as host:
        host.stage("cell")
        host.say(to_json(["run", plan, "cell", code_of(plan), None, 0]))
        for kind in ("ValueError", "SystemExit", "MemoryError", "__import__", "ExceptionGroup", "print", "nothing"):
            assert host.hear()[0] == "call"
            host.say(to_json(["error", kind, "m", None, 0]))
        assert host.hear() == ["end", ["ValueError('m')", *["RuntimeError('m')"] * 6], []]


def test_any_packet_on_the_control_socket_is_one_request(zygote: Zygote) -> None:
    """The packets are nonsense, but only the host has this socket. The zygote forks a worker for each request."""
    assert works(zygote)
    for packet in (b"\0", b"{}", b"w" * 5_000):
        zygote._control.send(packet)
    answers = [socket.recv_fds(zygote._control, 1 << 16, 2) for _ in range(3)]
    for _, descriptors, _, _ in answers:
        assert len(descriptors) == 2
        signal.pidfd_send_signal(descriptors[1], signal.SIGKILL)
        for descriptor in descriptors:
            os.close(descriptor)
    assert all(works(zygote) for _ in range(READY_WORKERS + 1))


def test_an_empty_packet_on_the_control_socket_ends_the_zygote_and_its_workers() -> None:
    own = Zygote(language_layer=True)
    with Host(own) as host:
        host.stage("cell")
        own._control.send(b"")
        assert own._process.wait(SECONDS) == 0
        assert select.select([host.pidfd], [], [], SECONDS)[0]
    own.close()


def test_no_answer_is_lost_when_the_stack_of_a_plan_is_used_up(sandbox: Sandbox) -> None:
    received: list[int] = []

    def f(n: int) -> list[object]:
        received.append(n)
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
        assert session.run(plan).value == received
    assert len(received) > 900


def test_long_names_in_a_plan_do_not_lead_to_long_frames(session: Session) -> None:
    long = "N" * 45_000
    session.run(f"class {long}(Exception): pass\ndef fails(): raise {long}(1)")
    fault = fault_of(session, "fails()")
    assert (fault.kind, len(fault.type)) == ("raised", 300)
    assert len(fault.message) < 6_000
