"""A worker that may send anything. The host reads, checks and answers its messages."""

import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from planbook.sandbox import FaultKind, Limits
from planbook.sandbox.answers import Answers, function_specs
from planbook.sandbox.conversation import SHAPES, CellRecord, Conversation, parse_message, read_faults
from planbook.sandbox.process import WorkerProcess
from planbook.sandbox.protocol import ChannelClosed, FrameTooLong, HostileFrame
from planbook.sandbox.types import MAX_RECORD_BYTES, LimitReached
from tests.sandbox.fuzz.programs import Choices

LIMITS = Limits(wall_seconds=2, output_chars=50, host_calls=8)
SLOW = 10.0
"""Seconds that no conversation may take beyond its wall clock, on however busy a machine."""
NUMBERS = ["0", "1", "-1", "3.5", "1e999", "-1e999", "NaN", "Infinity", "1" * 400, "1" * 5000, "-0", "1E2", "01", "0x1"]
TEXTS = ['"a"', '""', '"agent.go_to"', '"count"', '"\\ud800"', '"\\u0000"', '"\u00e9"', '"' + "x" * 60 + '"', "'a'"]
OTHERS = ["null", "true", "false", "[]", "{}", "[" * 300 + "]" * 300, '{"a":' * 40 + "1" + "}" * 40]
KINDS = ['"call"', '"sleep"', '"print"', '"end"', '"locked"', '"answer"', '"CALL"', "null"]
FAULT = '{"kind":%s,"type":%s,"message":%s,"line":%s}'
FAULT_KINDS = ['"raised"', '"check"', '"limit"', '"none"', "1"]
HONEST = [
    '["print","hello"]',
    '["sleep",0.5]',
    '["call",1,"agent.go_to",["desk"],{"times":2}]',
    '["call",2,"count",[[1,2]],{}]',
]


class Environment:
    """Functions that fail if an argument was not checked."""

    def __init__(self) -> None:
        self.calls = 0

    def go_to(self, place: str, times: int = 1) -> str:
        assert (type(place), type(times)) == (str, int)
        assert place.encode()
        self.calls += 1
        return place

    def count(self, items: list[int], *more: float, **named: str) -> int:
        assert type(items) is list
        assert all(type(item) is int for item in items)
        assert all(type(item) is float and abs(item) < float("inf") for item in more)
        assert all(type(item) is str for item in named.values())
        self.calls += 1
        return len(items)


def test_one(data: bytes) -> None:
    """Send one stream to the host: the cell ends, or one of the declared exceptions says why not."""
    chunks = list(stream(Choices(data)))
    for chunk in chunks:
        check_parsing(chunk[4:])
    check_conversation(chunks)


def check_parsing(payload: bytes) -> None:
    """Check that a payload is hostile, or a message of a known shape that stays the same when it is written again."""
    try:
        message = parse_message(payload)
        if message[0] == "end":
            assert all(fault.kind is not FaultKind.LIMIT or fault.type == "memory" for fault in read_faults(message[2]))
    except HostileFrame:
        return
    assert tuple(map(type, message)) in SHAPES[message[0]]
    assert message[0] == "call" or parse_message(json.dumps(message, allow_nan=False).encode()) == message


def check_conversation(chunks: list[bytes]) -> None:
    """Hold the conversation over a real socket, with a thread at its other end. The process only sleeps."""
    environment = Environment()
    answers = Answers(function_specs({"agent.go_to": environment.go_to, "count": environment.count}), None)
    host_end, worker_end = socket.socketpair()
    started = time.monotonic()
    with worker_end, subprocess.Popen(["sleep", "600"]) as process:
        speaker = threading.Thread(target=_speak, args=(worker_end, chunks))
        worker = WorkerProcess(host_end, os.pidfd_open(process.pid), process.pid)
        cell = CellRecord("cell", "cell#0", "cell", answers.view, MAX_RECORD_BYTES)
        cell.start_messages.append(answers.start_message("1", cell.name, cell.file, "run"))
        conversation = Conversation(worker, cell, LIMITS, answers.answer)
        speaker.start()
        try:
            with suppress(LimitReached, HostileFrame, FrameTooLong, ChannelClosed):
                conversation.run()
                assert type(cell.end[2]) is list
        finally:
            worker.kill()
            speaker.join()
    assert time.monotonic() - started < LIMITS.wall_seconds + SLOW
    assert len(conversation.output) <= LIMITS.output_chars
    assert environment.calls <= conversation.calls <= LIMITS.host_calls
    assert len(cell.exchanges) <= LIMITS.host_calls + 1


def _speak(sock: socket.socket, chunks: list[bytes]) -> None:
    with suppress(OSError):  # the host may hang up
        sock.recv(1 << 16)  # what starts the cell
        for chunk in chunks:
            sock.sendall(chunk)
        sock.shutdown(socket.SHUT_WR)


def stream(choices: Choices) -> Iterator[bytes]:
    """Yield frames, most of them complete, with nearly valid messages, and some bytes that do not form a frame."""
    for _ in range(1 + choices.below(10)):
        payload = _message(choices).encode("utf-8", "surrogatepass")
        size = len(payload).to_bytes(4, "big")
        match choices.below(12):
            case 0:
                yield size + payload[: choices.below(len(payload) + 1)]
            case 1:
                yield choices.below(1 << 16).to_bytes(4, "big") + payload
            case 2:
                yield b"\xff\xff\xff\xff"
            case 3:
                at = choices.below(len(payload) + 1)
                yield size + payload[:at] + bytes([choices.below(256)]) + payload[at + 1 :]
            case _:
                yield size + payload


def _message(choices: Choices) -> str:
    match choices.below(6):
        case 0:
            return choices.pick(HONEST)
        case 1:
            fault = FAULT % (choices.pick(FAULT_KINDS), _value(choices), _value(choices), _value(choices))
            return f'["end",{_value(choices)},[{fault}]]'
        case 2:
            named = f"{{{choices.pick(TEXTS)}:{_value(choices)}}}"
            return f'["call",{_value(choices)},{choices.pick(TEXTS)},[{_value(choices)}],{named}]'
        case _:
            parts = [choices.pick(KINDS), *(_value(choices) for _ in range(choices.below(5)))]
            return f"[{','.join(parts)}]"


def _value(choices: Choices, depth: int = 0) -> str:
    kind: Any = choices.below(7 if depth < 4 else 3)
    match kind:
        case 0:
            return choices.pick(TEXTS)
        case 1:
            return choices.pick(NUMBERS)
        case 2:
            return choices.pick(OTHERS)
        case 3 | 4:
            return f"[{_value(choices, depth + 1)},{_value(choices, depth + 1)}]"
        case 5:
            items = [f"{choices.pick(TEXTS)}:{_value(choices, depth + 1)}" for _ in range(2)]
            return f"{{{','.join(items)}}}"
        case _:
            return "[" + ",".join(["1"] * choices.below(200)) + "]"
