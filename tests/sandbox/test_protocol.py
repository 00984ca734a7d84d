"""Frames on the wire, and what the host accepts from a worker."""

import json
import socket
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbook.sandbox import Fault, FaultKind
from planbook.sandbox.conversation import SHAPES, parse_message, read_faults
from planbook.sandbox.protocol import Channel, ChannelClosed, FrameTooLong, HostileFrame, pack

CAP = 2_000


def ends() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    return ours, theirs


def cut(stream: bytes, at: list[int]) -> list[bytes]:
    places = sorted({0, len(stream), *(place % (len(stream) + 1) for place in at)})
    return [stream[start:end] for start, end in pairwise(places)]


def never() -> None:
    raise AssertionError("waited for a frame that was there")


def patient() -> None:
    """Wait for the rest."""


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=6), st.lists(st.integers(0, 2_000), max_size=12))
def test_frames_arrive_whole_however_the_stream_is_cut(payloads: list[bytes], at: list[int]) -> None:
    ours, theirs = ends()
    with ours, theirs:
        parts = iter(cut(b"".join(pack(payload, CAP) for payload in payloads), at))
        channel = Channel(ours, send_cap=CAP, receive_cap=CAP)
        assert [channel.receive(lambda: theirs.sendall(next(parts))) for _ in payloads] == payloads


@given(st.binary(max_size=CAP))
def test_what_is_sent_is_received(payload: bytes) -> None:
    ours, theirs = ends()
    with ours, theirs:
        Channel(ours, send_cap=CAP, receive_cap=CAP).send(payload, never)
        assert Channel(theirs, send_cap=CAP, receive_cap=CAP).receive(never) == payload


def test_a_frame_larger_than_the_sockets_buffers_goes_out_piece_by_piece() -> None:
    ours, theirs = ends()
    payload = bytes(range(256)) * 20_000
    received = bytearray()
    with ours, theirs:
        channel = Channel(ours, send_cap=1 << 23, receive_cap=CAP)
        channel.send(payload, lambda: received.extend(theirs.recv(1 << 20)))
        ours.shutdown(socket.SHUT_WR)
        while chunk := theirs.recv(1 << 20):
            received += chunk
    assert bytes(received) == pack(payload, 1 << 23)


def test_a_frame_beyond_the_cap_is_refused_on_both_sides_before_it_is_read() -> None:
    ours, theirs = ends()
    with ours, theirs:
        channel = Channel(ours, send_cap=CAP, receive_cap=CAP)
        with pytest.raises(FrameTooLong, match="2001 bytes; at most 2000"):
            channel.send(b"x" * (CAP + 1), never)
        theirs.sendall(b"\xff\xff\xff\xff")
        with pytest.raises(FrameTooLong, match="4294967295 bytes; at most 2000"):
            channel.receive(never)


def test_a_frame_that_comes_in_drips_does_not_keep_the_host_from_looking() -> None:
    """It looks at its limits after every piece, even if it never has to wait for the next."""
    ours, theirs = socket.socketpair()
    frame, places = pack(b"payload", CAP), list[int]()
    with ours, theirs:
        ours.settimeout(5)
        theirs.sendall(frame[:1])

        def look() -> None:
            places.append(len(places) + 1)
            theirs.sendall(frame[places[-1] : places[-1] + 1])

        assert Channel(ours, send_cap=CAP, receive_cap=CAP).receive(look) == b"payload"
        assert places == list(range(1, len(frame)))


@pytest.mark.parametrize("place", range(len(pack(b"one", CAP) + pack(b"", CAP)) + 1))
def test_two_frames_cut_at_any_place_arrive_whole(place: int) -> None:
    stream = pack(b"one", CAP) + pack(b"", CAP)
    ours, theirs = ends()
    with ours, theirs:
        parts = iter([stream[:place], stream[place:]])
        channel = Channel(ours, send_cap=CAP, receive_cap=CAP)
        assert [channel.receive(lambda: theirs.sendall(next(parts))) for _ in range(2)] == [b"one", b""]


def test_the_end_of_the_stream_is_told_apart_from_waiting() -> None:
    ours, theirs = ends()
    with ours:
        channel = Channel(ours, send_cap=CAP, receive_cap=CAP)
        theirs.sendall(b"\0\0\0\x05ab")
        theirs.close()
        with pytest.raises(ChannelClosed):
            channel.receive(patient)
        with pytest.raises(ChannelClosed):
            channel.send(b"a", never)


HONEST = [
    ["locked", {"seccomp": ""}],
    ["print", "text"],
    ["call", 3, "agent.go_to", ["a", 1], {"b": None}],
    ["call", None, "f", [], {}],
    ["sleep", 1],
    ["sleep", 0.5],
    *(["end", value, []] for value in ("a", 1, 1.5, True, None, [1], {"a": 1})),
]
HOSTILE = [
    b"",
    b"{",
    b"\xff\xfe",
    b'"print"',
    b"{}",
    b"[]",
    b"[1]",
    b"[[]]",
    b'["print"]',
    b'["print",1]',
    b'["print","a","b"]',
    b'["open",{}]',
    b'["answer",1,null,0]',
    b'["call",1,"f",[]]',
    b'["call",1,"f",{},[]]',
    b'["call","1","f",[],{}]',
    b'["call",true,"f",[],{}]',
    b'["call",1,1,[],{}]',
    b'["sleep",true]',
    b'["sleep",NaN]',
    b'["sleep",Infinity]',
    b'["sleep",null]',
    b'["end",1]',
    b'["end",1,{}]',
    b'["print","\\ud800"]',
    b"[" * 100_000,
    b'["end",' + b"[" * 5_000 + b"]" * 5_000 + b",[]]",
]


@pytest.mark.parametrize("message", HONEST)
def test_honest_messages_pass(message: list[object]) -> None:
    assert parse_message(json.dumps(message).encode()) == message


@pytest.mark.parametrize("payload", HOSTILE, ids=range(len(HOSTILE)))
def test_all_else_is_hostile(payload: bytes) -> None:
    with pytest.raises(HostileFrame):
        parse_message(payload)


def mutations() -> Iterator[st.SearchStrategy[bytes]]:
    whole = st.sampled_from([json.dumps(message).encode() for message in HONEST])
    yield st.binary(max_size=60)
    yield st.tuples(whole, st.integers(0, 60), st.binary(max_size=3)).map(lambda t: t[0][: t[1]] + t[2] + t[0][t[1] :])
    yield st.lists(st.none() | st.integers() | st.text() | st.lists(st.integers()), max_size=5).map(
        lambda parts: json.dumps(parts).encode()
    )


@given(st.one_of(*mutations()))
def test_no_bytes_make_the_host_raise_anything_else(payload: bytes) -> None:
    try:
        message = parse_message(payload)
    except HostileFrame:
        return
    assert message[0] in SHAPES


def test_faults_are_read_strictly() -> None:
    report = {"kind": "raised", "type": "E", "message": "m", "line": 2, "column": None, "source": "s", "hint": "h"}
    assert read_faults([report]) == (Fault(FaultKind.RAISED, "E", "m", 2, None, "s", "h"),)
    for bad in [
        1,
        {},
        {**report, "kind": "odd"},
        {**report, "line": "x"},
        {**report, "type": 1},
        {**report, "message": None},
    ]:
        with pytest.raises(HostileFrame):
            read_faults([bad])
