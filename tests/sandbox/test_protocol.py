"""Frames between host and worker, and the messages that the host accepts from a worker."""

import socket
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from planbook.sandbox import Fault, FaultKind
from planbook.sandbox.conversation import parse_message, read_faults
from planbook.sandbox.protocol import Channel, FrameTooLong, HostileFrame, pack

CAP = 2_000


def ends() -> tuple[socket.socket, socket.socket]:
    host_end, worker_end = socket.socketpair()
    host_end.setblocking(False)
    return host_end, worker_end


def cut(stream: bytes, at: list[int]) -> list[bytes]:
    places = sorted({0, len(stream), *(place % (len(stream) + 1) for place in at)})
    return [stream[start:end] for start, end in pairwise(places)]


def never() -> None:
    raise AssertionError("waited, although nothing was missing")


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=6), st.lists(st.integers(0, 2_000), max_size=12))
def test_frames_arrive_whole_wherever_the_stream_is_cut(payloads: list[bytes], at: list[int]) -> None:
    host_end, worker_end = ends()
    with host_end, worker_end:
        parts = iter(cut(b"".join(pack(payload, CAP) for payload in payloads), at))
        channel = Channel(host_end, send_cap=CAP, receive_cap=CAP)
        assert [channel.receive(lambda: worker_end.sendall(next(parts))) for _ in payloads] == payloads


def test_a_frame_larger_than_the_socket_buffer_is_sent_in_pieces() -> None:
    host_end, worker_end = ends()
    payload = bytes(range(256)) * 20_000
    received = bytearray()
    with host_end, worker_end:
        channel = Channel(host_end, send_cap=1 << 23, receive_cap=CAP)
        channel.send(payload, lambda: received.extend(worker_end.recv(1 << 20)))
        host_end.shutdown(socket.SHUT_WR)
        while chunk := worker_end.recv(1 << 20):
            received += chunk
    assert bytes(received) == pack(payload, 1 << 23)


def test_a_frame_over_the_cap_is_neither_sent_nor_read() -> None:
    host_end, worker_end = ends()
    with host_end, worker_end:
        channel = Channel(host_end, send_cap=CAP, receive_cap=CAP)
        with pytest.raises(FrameTooLong, match="2001 bytes; at most 2000"):
            channel.send(b"x" * (CAP + 1), never)
        worker_end.sendall(b"\xff\xff\xff\xff")
        with pytest.raises(FrameTooLong, match="4294967295 bytes; at most 2000"):
            channel.receive(never)


def test_the_host_checks_its_limits_after_every_piece_of_a_frame() -> None:
    host_end, worker_end = socket.socketpair()
    frame, places = pack(b"payload", CAP), list[int]()
    with host_end, worker_end:
        host_end.settimeout(5)
        worker_end.sendall(frame[:1])

        def on_wait() -> None:
            places.append(len(places) + 1)
            worker_end.sendall(frame[places[-1] : places[-1] + 1])

        assert Channel(host_end, send_cap=CAP, receive_cap=CAP).receive(on_wait) == b"payload"
        assert places == list(range(1, len(frame)))


HOSTILE = [  # in addition to the messages in test_hostile_worker.py
    b"\xff\xfe",
    b'["end",' + b"[" * 5_000 + b"]" * 5_000 + b",[]]",
    *b"""{} [] [1] [[]] "print" ["print"] ["print",1] ["print","a","b"] ["call",1,"f",{},[]] ["call","1","f",[],{}]
    ["call",true,"f",[],{}] ["call",1,1,[],{}] ["sleep",true] ["sleep",NaN] ["sleep",Infinity] ["sleep",null] ["end",1]
    ["end",1,{}]""".split(),
]


@pytest.mark.parametrize("payload", HOSTILE, ids=range(len(HOSTILE)))
def test_invalid_messages_are_hostile(payload: bytes) -> None:
    with pytest.raises(HostileFrame):
        parse_message(payload)


def test_faults_are_read_strictly() -> None:
    report = {"kind": "raised", "type": "E", "message": "m", "line": 2, "column": None, "source": "s", "hint": "h"}
    assert read_faults([report]) == (Fault(FaultKind.RAISED, "E", "m", 2, None, "s", "h"),)
    changes: list[dict[str, object]] = [{"kind": "odd"}, {"line": "x"}, {"type": 1}, {"message": None}]
    for bad in [1, {}, *(report | change for change in changes)]:
        with pytest.raises(HostileFrame):
            read_faults([bad])
