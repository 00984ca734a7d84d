"""The host withstands workers that send anything at any time. Only the messages are scripted."""

import resource
import time
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import pytest
from pydantic_core import to_json

from planbook.sandbox import Limits, Sandbox, Session, session as session_module
from planbook.sandbox.answers import library_source
from planbook.sandbox.protocol import MAX_WORKER_FRAME, pack
from planbook.sandbox.types import LIMIT_MESSAGES, limit_fault
from tests.sandbox.peer import GRACE, Peer, Script, drip, flood, nested_list, raw, say, session, sip, then_close
from tests.sandbox.plans import fault_of

LIMITS = Limits(wall_seconds=0.4, output_chars=100, host_calls=20)
GROWTH = 150 << 10
"""Maximum kilobytes by which the host may grow."""
END: list[object] = ["end", None, []]
FAULT = {"kind": "raised", "type": "E", "message": "m"}


class Environment:
    """Functions that record their arguments."""

    def __init__(self) -> None:
        self.received: list[object] = []

    def go_to(self, place: str, times: int = 1) -> str:
        self.received.append((place, times))
        return place

    def weigh(self, weight: float, **more: object) -> float:
        self.received.append((weight, more))
        return weight

    def much(self) -> str:
        self.received.append("much")
        return "x" * 20_000_000

    def functions(self) -> dict[str, Callable[..., object]]:
        return {"go_to": self.go_to, "weigh": self.weigh, "much": self.much}


class Case(NamedTuple):
    """The script of a worker, the limit that ends its cell, and the calls that reached a function."""

    script: Script
    fault: str
    received: tuple[object, ...] = ()


CASES = {
    "says nothing": Case(Peer.hang, "wall"),
    "drips a frame": Case(drip, "wall"),
    "sips an answer": Case(sip, "wall", ("much",)),
    "ends in silence": Case(then_close(b""), "crashed"),
    "ends in the length": Case(then_close(b"\0\0"), "crashed"),
    "ends in a frame": Case(then_close(b'\0\0\0\xff["print"'), "crashed"),
    "ends after a call": Case(then_close(pack(b'["call",1,"go_to",["a"],{}]', 99)), "crashed", (("a", 1),)),
    "announces 4 GB": Case(raw(b"\xff\xff\xff\xff"), "protocol"),
    "announces a byte too much": Case(raw((MAX_WORKER_FRAME + 1).to_bytes(4, "big")), "protocol"),
    "an empty frame": Case(raw(b"\0\0\0\0"), "protocol"),
    "no JSON": Case(raw(pack(b"print", 99)), "protocol"),
    "no UTF-8": Case(raw(pack(b'["print","\xff"]', 99)), "protocol"),
    "half a character": Case(raw(pack(b'["print","\\ud800"]', 99)), "protocol"),
    "two messages in one": Case(raw(pack(b'["print","a"]["end",1,[]]', 99)), "protocol"),
    "brackets": Case(raw(pack(b"[" * 500_000, MAX_WORKER_FRAME)), "protocol"),
    "a deep value": Case(say("end", nested_list(40), []), "protocol"),
    "an infinite value": Case(raw(pack(b'["end",[1e999],[]]', 99)), "protocol"),
    "a long import": Case(raw(pack(b'["import","' + b"a" * 101 + b'"]', 200)), "protocol"),
    "an infinite sleep": Case(raw(pack(b'["sleep",1e999]', 99)), "protocol"),
    "a long sleep": Case(say("sleep", 10**30), "sleep"),
    "a sleep back": Case(say("sleep", -1), "protocol"),
    "opens again": Case(say("locked", {}), "protocol"),
    "answers": Case(say("answer", 1, None, 0), "protocol"),
    "an unknown kind": Case(say("exec", "1"), "protocol"),
    "an unknown function": Case(say("call", 1, "go_from", [], {}), "protocol"),
    "a call without keywords": Case(say("call", 1, "go_to", ["a"]), "protocol"),
    "a call of keywords alone": Case(say("call", 1, "go_to", {}, {}), "protocol"),
    "a fault that is none": Case(say("end", 1, [1]), "protocol"),
    "opens": Case(say("open", {}), "protocol"),
    "a dunder function": Case(say("call", 1, "go_to.__globals__", [], {}), "protocol"),
    "a line beyond any": Case(say("call", 10**30, "go_to", ["a"], {}), "protocol"),
    "a line before any": Case(say("call", -1, "go_to", ["a"], {}), "protocol"),
    "a limit of its own": Case(say("end", None, [FAULT | {"kind": "limit", "type": "wall"}]), "protocol"),
    "a fault beyond any line": Case(say("end", None, [FAULT | {"line": 10**30}]), "protocol"),
    "faults without end": Case(say("end", None, [FAULT] * 60), "protocol"),
    "faults without content": Case(say("end", None, [{}] * 340_000), "protocol"),
    "callers that are no lines": Case(say("end", None, [FAULT | {"callers": [""] * 340_000}]), "protocol"),
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
    environment = Environment()
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    with session(case.script, environment.functions(), LIMITS) as opened:
        result = opened.run("1")
    assert time.monotonic() - started < LIMITS.wall_seconds + GRACE
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < GROWTH
    assert [fault.type for fault in result.faults] == [case.fault]
    assert result.faults[0].type in LIMIT_MESSAGES
    assert len(result.output) <= LIMITS.output_chars
    assert tuple(environment.received) == case.received


WRONG_CALLS = [
    '["call",1,"go_to",[1],{}]',
    '["call",1,"go_to",["a"],{"place":"b"}]',
    '["call",1,"go_to",["a"],{"__class__":1}]',
    '["call",1,"weigh",[1e999],{}]',
    '["call",1,"weigh",[1],{"a":[1e999]}]',
    '["call",1,"weigh",[1],{"%s":1}]' % ("x" * 100_001),
    '["call",1,"weigh",[1],{"a":%s}]' % ("[" * 40 + "]" * 40),
]


def test_wrong_calls_are_refused_and_the_conversation_continues() -> None:
    environment, answers = Environment(), list[bytes]()

    def script(peer: Peer) -> None:
        peer.hear()
        for request in WRONG_CALLS:
            peer.raw(pack(request.encode(), MAX_WORKER_FRAME))
            answers.append(peer.hear())
        peer.say("call", 1, "go_to", ["there"], {"times": 2})
        answers.append(peer.hear())
        peer.say(*END)
        peer.hang()

    with session(script, environment.functions(), LIMITS) as opened:
        assert opened.run("1").faults == ()
    assert all(answer.startswith((b'["error","TypeError"', b'["error","ValueError"')) for answer in answers[:-1])
    assert len(answers) == len(WRONG_CALLS) + 1
    assert max(map(len, answers)) < 25_000
    assert environment.received == [("there", 2)]


def without_waiting(*messages: object) -> Script:
    """Return a script that sends messages without waiting for answers."""
    return raw(b"".join(pack(to_json(message), 999) for message in messages))


def test_a_message_after_the_end_ends_the_next_cell() -> None:
    with session(without_waiting(END, END), {}, LIMITS) as opened:
        assert opened.run("1").fault is None
        fault = fault_of(opened, "2")
    assert fault.type == "protocol"
    assert "sent a message without being asked" in fault.message


@pytest.mark.parametrize("first", [["print", "a"], ["call", 1, "go_to", ["a"], {}]])
def test_a_refusal_after_the_plan_has_begun_is_a_protocol_error(first: list[object]) -> None:
    refusal = ["end", None, [FAULT | {"kind": "check"}]]
    with session(without_waiting(first, refusal), Environment().functions(), LIMITS) as opened:
        assert fault_of(opened, "1").type == "protocol"


def test_prints_around_a_call_keep_their_order() -> None:
    messages = (["print", "a"], ["call", 1, "go_to", ["x"], {}], ["print", "b"], ["print", "c"], END)
    with session(without_waiting(*messages), Environment().functions(), LIMITS) as opened:
        result = opened.run("1")
    assert (result.output, result.host_calls, result.faults) == ("abc", 1, ())


LONG = f"json.{chr(0x10280) * 90}"
"""A module's name with few characters, but with more bytes than the name of a file may have."""
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
"""After the time ``begin``, waits in the kernel, where it uses no processor time."""


def test_a_module_whose_name_is_too_long_for_a_file_is_not_found(plain: Session) -> None:
    assert library_source(LONG) is None
    assert fault_of(plain, f"import {LONG}").type == "ModuleNotFoundError"


def test_faults_quote_little_of_what_a_worker_said() -> None:
    assert len(limit_fault("protocol", Limits(), "x" * 1_000_000).message) < 500


def test_a_limit_larger_than_the_kernel_accepts_means_no_limit(sandbox: Sandbox) -> None:
    with sandbox.session({}, limits=Limits(cpu_seconds=3e9)) as session:
        assert session.run("1 + 1").value == 2


def test_a_cell_that_is_run_again_cannot_stall_the_host(unguarded: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "WALL_GRACE", 1.0)
    looks = [time.monotonic()]
    limits, begin = Limits(wall_seconds=0.5), time.time() + 2
    with unguarded.session({}, limits=limits, on_wait=lambda: looks.append(time.monotonic())) as session:
        for _ in range(3):
            assert session.run(STALLS_WHEN_RUN_AGAIN.format(begin=begin)).fault is None
        time.sleep(max(0.0, begin - time.time()))
        looks[:], started = [time.monotonic()], time.monotonic()
        fault = session.run("import os\nos._exit(0)").fault
        assert fault is not None
        assert (fault.type, "it did not finish" in fault.message) == ("crashed", True)
    assert time.monotonic() - started < 10
    assert max(after - before for before, after in pairwise(looks)) < 1
