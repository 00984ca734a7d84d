"""The host against workers that say anything at any time: real sockets, real processes, only the words are played."""

import os
import resource
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat
from typing import Any, NamedTuple

import pytest
from pydantic_core import to_json

from sandbox import Limits, Session, opening
from sandbox.answers import Answers
from sandbox.limits import MESSAGES
from sandbox.process import Worker
from sandbox.protocol import MAX_FROM_WORKER, pack

LIMITS = Limits(wall_seconds=0.4, output_chars=100, host_calls=20)
GRACE = 8.0
"""Seconds beyond the wall clock in which a cell must have ended, on however busy a machine."""
GROWTH = 150 << 10
"""Kilobytes that the host may grow by meanwhile."""
END: list[object] = ["end", None, []]
FAULT = {"kind": "raised", "type": "E", "message": "m"}


class Peer:
    """The other end of a worker's socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def say(self, *parts: object) -> None:
        self.raw(pack(to_json(list(parts), inf_nan_mode="constants"), 1 << 24))

    def raw(self, data: bytes) -> None:
        self.sock.sendall(data)

    def hear(self) -> bytes:
        """One frame of the host."""
        (size,) = struct.unpack(">I", self._exactly(4))
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            if not (chunk := self.sock.recv(size - len(data))):
                raise ConnectionResetError
            data += chunk
        return data

    def hang(self) -> None:
        """Stay silent until the host hangs up."""
        while self.sock.recv(1 << 16):
            pass


Script = Callable[[Peer], None]


@contextmanager
def session(script: Script, functions: dict[str, Callable[..., object]]) -> Iterator[Session]:
    """A session whose workers all follow the script, once each has heard what starts the first cell."""
    processes: list[subprocess.Popen[bytes]] = []
    threads: list[threading.Thread] = []

    def play(theirs: socket.socket) -> None:
        with theirs:
            try:
                script(Peer(theirs))
            except OSError:
                return  # the host has hung up

    def open_worker() -> Worker:
        ours, theirs = socket.socketpair()
        processes.append(subprocess.Popen(["sleep", "60"]))
        threads.append(threading.Thread(target=play, args=(theirs,)))
        threads[-1].start()
        return Worker(ours, os.pidfd_open(processes[-1].pid), processes[-1].pid)

    with Session(open_worker, Answers(opening.specs(functions), None), LIMITS) as opened:
        yield opened
    for thread in threads:
        thread.join(GRACE)
    assert not any(thread.is_alive() for thread in threads)
    assert all(process.wait(GRACE) == -9 for process in processes)


class World:
    """Functions that note what they are given."""

    def __init__(self) -> None:
        self.given: list[object] = []

    def go_to(self, place: str, times: int = 1) -> str:
        self.given.append((place, times))
        return place

    def weigh(self, weight: float, **more: object) -> float:
        self.given.append((weight, more))
        return weight

    def much(self) -> str:
        self.given.append("much")
        return "x" * 20_000_000

    def functions(self) -> dict[str, Callable[..., object]]:
        return {"go_to": self.go_to, "weigh": self.weigh, "much": self.much}


def flood(*parts: object) -> Script:
    frames = pack(to_json(list(parts)), MAX_FROM_WORKER) * max(1, 4_000 // len(to_json(list(parts))))

    def script(peer: Peer) -> None:
        peer.hear()
        threading.Thread(target=drain, args=(peer,)).start()
        for data in repeat(frames):
            peer.raw(data)

    return script


def drain(peer: Peer) -> None:
    try:
        peer.hang()
    except OSError:
        return


def raw(data: bytes) -> Script:
    """Say it, then nothing more."""

    def script(peer: Peer) -> None:
        peer.hear()
        peer.raw(data)
        peer.hang()

    return script


def say(*parts: object) -> Script:
    return raw(pack(to_json(list(parts), inf_nan_mode="constants"), 1 << 24))


def then_close(data: bytes) -> Script:
    def script(peer: Peer) -> None:
        peer.hear()
        peer.raw(data)

    return script


def drip(peer: Peer) -> None:
    """A frame that is long in coming: each byte comes before the host's patience for it is over."""
    peer.hear()
    for byte in pack(b" " * MAX_FROM_WORKER, MAX_FROM_WORKER):
        peer.raw(bytes([byte]))
        time.sleep(0.001)


def sip(peer: Peer) -> None:
    """Read a long answer in sips."""
    peer.hear()
    peer.say("call", 1, "much", [], {})
    while peer.sock.recv(2_000):
        time.sleep(0.001)


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


class Case(NamedTuple):
    """What the worker does, the limit that ends it, and what reached a function, in each of its lives."""

    script: Script
    fault: str
    given: tuple[object, ...] = ()


CASES = {
    "says nothing": Case(Peer.hang, "wall"),
    "drips a frame": Case(drip, "wall"),
    "sips an answer": Case(sip, "wall", ("much",)),
    "ends in silence": Case(then_close(b""), "crashed"),
    "ends in the length": Case(then_close(b"\0\0"), "crashed"),
    "ends in a frame": Case(then_close(b'\0\0\0\xff["print"'), "crashed"),
    "ends after a call": Case(then_close(pack(b'["call",1,"go_to",["a"],{}]', 99)), "crashed", (("a", 1),)),
    "announces 4 GB": Case(raw(b"\xff\xff\xff\xff"), "protocol"),
    "announces a byte too much": Case(raw((MAX_FROM_WORKER + 1).to_bytes(4, "big")), "protocol"),
    "an empty frame": Case(raw(b"\0\0\0\0"), "protocol"),
    "no JSON": Case(raw(pack(b"print", 99)), "protocol"),
    "no UTF-8": Case(raw(pack(b'["print","\xff"]', 99)), "protocol"),
    "half a character": Case(raw(pack(b'["print","\\ud800"]', 99)), "protocol"),
    "two messages in one": Case(raw(pack(b'["print","a"]["end",1,[]]', 99)), "protocol"),
    "brackets": Case(raw(pack(b"[" * 500_000, MAX_FROM_WORKER)), "protocol"),
    "a deep value": Case(say("end", deep(40), []), "protocol"),
    "an infinite value": Case(raw(pack(b'["end",[1e999],[]]', 99)), "protocol"),
    "an infinite sleep": Case(raw(pack(b'["sleep",1e999]', 99)), "protocol"),
    "a long sleep": Case(say("sleep", 10**30), "sleep"),
    "a sleep back": Case(say("sleep", -1), "protocol"),
    "opens again": Case(say("opened", {}), "protocol"),
    "answers": Case(say("answer", 1, None, 0), "protocol"),
    "an unknown kind": Case(say("exec", "1"), "protocol"),
    "an unknown function": Case(say("call", 1, "go_from", [], {}), "protocol"),
    "a dunder function": Case(say("call", 1, "go_to.__globals__", [], {}), "protocol"),
    "a line beyond any": Case(say("call", 10**30, "go_to", ["a"], {}), "protocol"),
    "a line before any": Case(say("call", -1, "go_to", ["a"], {}), "protocol"),
    "a limit of its own": Case(say("end", None, [FAULT | {"kind": "limit", "type": "wall"}]), "protocol"),
    "a fault beyond any line": Case(say("end", None, [FAULT | {"line": 10**30}]), "protocol"),
    "faults without end": Case(say("end", None, [FAULT] * 60), "protocol"),
    "a fault without end": Case(say("end", None, [FAULT | {"message": "m" * 900_000}]), "protocol"),
    "prints without end": Case(flood("print", "x" * 7), "output"),
    "prints nothing without end": Case(flood("print", ""), "wall"),
    "prints much": Case(say("print", "x" * 1_000_000), "output"),
    "calls without end": Case(flood("call", 1, "go_to", ["a"], {}), "host_calls", (("a", 1),) * 20),
    "sleeps without end": Case(flood("sleep", 0), "host_calls"),
    "long arguments without end": Case(flood("call", 1, "go_to", ["x" * 900_000], {}), "arguments"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_hostile_worker_is_ended_in_time(case: Case) -> None:
    world = World()
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    with session(case.script, world.functions()) as opened:
        result = opened.run("1")
    assert time.monotonic() - started < LIMITS.wall_seconds + GRACE
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < GROWTH
    assert [fault.type for fault in result.faults] == [case.fault]
    assert result.faults[0].type in MESSAGES
    assert len(result.output) <= LIMITS.output_chars
    assert tuple(world.given) == case.given


ODD = [
    '["call",1,"go_to",[1],{}]',
    '["call",1,"go_to",[],{}]',
    '["call",1,"go_to",["a","b"],{}]',
    '["call",1,"go_to",["a"],{"place":"b"}]',
    '["call",1,"go_to",["a",true],{}]',
    '["call",1,"go_to",["a",1.0],{}]',
    '["call",1,"go_to",["a",9223372036854775808],{}]',
    '["call",1,"go_to",[["a"]],{}]',
    '["call",1,"go_to",[null],{}]',
    '["call",1,"go_to",["a"],{"__class__":1}]',
    '["call",1,"weigh",[1e999],{}]',
    '["call",1,"weigh",[-1e999],{}]',
    '["call",1,"weigh",["1"],{}]',
    '["call",1,"weigh",[1],{"weight":2}]',
    '["call",1,"weigh",[1],{"a":[1e999]}]',
    '["call",1,"weigh",[1],{"%s":1}]' % ("x" * 100_001),
    '["call",1,"weigh",[1],{"a":%s}]' % ("[" * 40 + "]" * 40),
]


def test_no_unchecked_argument_reaches_a_function() -> None:
    world, answers = World(), list[bytes]()

    def script(peer: Peer) -> None:
        peer.hear()
        for request in ODD:
            peer.raw(pack(request.encode(), MAX_FROM_WORKER))
            answers.append(peer.hear())
        peer.say("call", 1, "go_to", ["there"], {"times": 2})
        answers.append(peer.hear())
        peer.say(*END)
        peer.hang()

    with session(script, world.functions()) as opened:
        assert opened.run("1").faults == ()
    assert [answer.startswith((b'["error","TypeError"', b'["error","ValueError"')) for answer in answers[:-1]] == [
        True
    ] * len(ODD)
    assert max(map(len, answers)) < 25_000
    assert world.given == [("there", 2)]


def test_what_comes_after_the_end_ends_the_next_cell() -> None:
    def script(peer: Peer) -> None:
        peer.hear()
        peer.raw(pack(to_json(END), 99) * 2)
        peer.hang()

    with session(script, {}) as opened:
        assert opened.run("1").fault is None
        fault = opened.run("2").fault
    assert fault is not None
    assert fault.type == "protocol"
    assert "spoke before it was asked" in fault.message


@pytest.mark.parametrize("first", [["print", "a"], ["call", 1, "go_to", ["a"], {}]])
def test_a_refusal_after_the_plan_has_run_is_not_believed(first: list[object]) -> None:
    def script(peer: Peer) -> None:
        peer.hear()
        peer.say(*first)
        peer.say("end", None, [FAULT | {"kind": "check"}])
        peer.hang()

    with session(script, World().functions()) as opened:
        fault = opened.run("1").fault
    assert fault is not None
    assert fault.type == "protocol"


def test_prints_beside_a_call_are_kept_in_order() -> None:
    def script(peer: Peer) -> None:
        peer.hear()
        for parts in (["print", "a"], ["call", 1, "go_to", ["x"], {}], ["print", "b"], ["print", "c"], END):
            peer.say(*parts)
        peer.hang()

    with session(script, World().functions()) as opened:
        result = opened.run("1")
    assert (result.output, result.host_calls, result.faults) == ("abc", 1, ())
