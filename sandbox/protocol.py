"""Frames between host and worker: four bytes of length, big-endian, then one JSON array in UTF-8.

The host is the process that opens sessions. A worker is the process in which the plan code of one session runs. A cell
is a piece of plan code that runs as a unit. Both sides import this module, so it may import only the standard
library. The host trusts no frame from a worker: ``sandbox/conversation.py`` checks them all.

From the host                                       From the worker
["open", settings]                                  ["locked", {mechanism: "" or reason}]
["run", source, name, compiled, attributes, clock]  ["print", text]
["part", ... same as "run"]                         ["call", line, function, arguments, keyword arguments]
["answer", value, attributes, clock]                ["sleep", seconds]
["error", type, message, attributes, clock]         ["import", module]
                                                    ["end", value, faults]

``attributes`` maps the dotted name of each attribute that has changed since the last frame to its value, or is null if
none has. ``clock`` is the logical time in microseconds. The first frame is the worker's "locked". It covers only the
mechanism that each worker applies itself, seccomp, and maps it to "" or to the reason why the kernel refused it. The
host then sends "open", which gets no answer.

The host answers each "call", "sleep" and "import" with one "answer" or "error". The worker answers each "run" and
"part" with any number of "print", "call", "sleep" and "import" frames, and then one "end". A cell that is run in parts
is sent as any number of "part" frames and then one "run" frame for the same file. Only the "end" that answers the "run"
has a value. If the source in the "run" is empty, that value is the value of the last part.
"""

import os
from collections.abc import Callable
from socket import MSG_DONTWAIT, MSG_PEEK, socket
from struct import Struct

MAX_WORKER_FRAME = 1 << 20
"""Maximum size of a frame from the worker, in bytes of JSON. Once parsed, a frame takes up to about 30 MB."""
MAX_HOST_FRAME = 64 << 20
"""Maximum size of a frame from the host, in bytes of JSON."""
MAX_DEPTH = 32
"""Maximum nesting of lists and dicts in arguments and values."""
MAX_STRING = 100_000
"""Maximum number of characters in one string of an argument, and in one print frame."""
MAX_MODULE_NAME = 100
"""Maximum number of characters in the name of a module or time zone that a worker asks for."""
MAX_CALLERS = 5
"""Maximum number of a fault's ``callers``. If there are more, the innermost are kept."""
MAX_FAULTS = 50
"""Maximum number of faults of one cell."""
MAX_FAULT_TEXT = 5_000
"""Maximum number of characters in one string of a fault."""
FIRST_CHUNK, CHUNK = 1 << 12, 1 << 16
"""Maximum size in bytes of the first read of a frame, and of each later read. Most frames are short."""
PREFIX_BYTES = 4
"""Size in bytes of the length in front of each frame."""
POLLS = 80 if len(os.sched_getaffinity(0)) > 1 else 0
"""Number of times that the host or worker polls for a frame before it sleeps, about 80 us in all. Polling is faster
than sleeping, since waking a process on another core takes longer than a whole call. Between polls, other processes may
run.
"""
UNPOLLED_READS = 10
"""Number of reads that do not poll after polling has found no data, since the other side is probably busy."""
FORK_REQUEST_BYTES = 4
"""Size in bytes of the host's request to fork a worker, which contains only the worker's memory limit in MB."""
FIRST_CPU_SECONDS = 12
"""Processor time limit of a new worker: enough for one cell with the default limit, so the first such cell needs no
request for more.
"""
CPU_LIMIT_REQUEST = Struct("=ii")
"""The host's request to limit a worker's processor time: the worker's process id, and the limit in seconds."""


class FrameTooLong(Exception):
    """A frame is too long. The sender raises this before it sends anything, the receiver when it reads the length."""


class HostileFrame(Exception):
    """A worker sent data that an honest worker never sends."""


class ChannelClosed(Exception):
    """The process on the other side has ended or closed its socket."""


def pack(payload: bytes, cap: int) -> bytes:
    """Return the frame of a payload. Raises FrameTooLong if the payload has more than ``cap`` bytes."""
    if len(payload) > cap:
        raise FrameTooLong(f"a frame of {len(payload)} bytes; at most {cap} are allowed")
    return len(payload).to_bytes(PREFIX_BYTES, "big") + payload


class Receiver:
    """Receives from a socket. Polls before it sleeps, except after polling in vain (UNPOLLED_READS)."""

    def __init__(self, sock: socket) -> None:
        self._sock, self._unpolled_reads = sock, 0

    def receive(self, size: int, flags: int = 0) -> bytes:
        """Return at most ``size`` bytes. Takes the same arguments and raises the same exceptions as ``socket.recv``."""
        if self._unpolled_reads:
            self._unpolled_reads -= 1
            return self._sock.recv(size, flags)
        for _ in range(POLLS):
            try:
                return self._sock.recv(size, MSG_DONTWAIT)
            except BlockingIOError:
                os.sched_yield()
        self._unpolled_reads = UNPOLLED_READS
        return self._sock.recv(size, flags)


class Channel:
    """One end of a stream socket, read and written frame by frame.

    While a frame is incomplete, ``on_wait`` is called after each timeout of the socket (SO_RCVTIMEO, SO_SNDTIMEO) and
    after each chunk. So ``on_wait`` can enforce time limits even if the other side sends or reads slowly. If it raises
    an exception, the channel stops in the middle of a frame and can no longer be used.
    """

    def __init__(self, sock: socket, *, send_cap: int, receive_cap: int) -> None:
        self._sock, self._send_cap, self._receive_cap = sock, send_cap, receive_cap
        self._receiver = Receiver(sock)
        self._buffer = bytearray()

    def send(self, payload: bytes, on_wait: Callable[[], None]) -> None:
        """Send one frame.

        Raises FrameTooLong if the payload is too long, or ChannelClosed if the other side is gone.
        """
        frame = pack(payload, self._send_cap)
        sent = 0
        while sent < len(frame):
            try:
                sent += self._sock.send(memoryview(frame)[sent:] if sent else frame)
            except BlockingIOError:
                pass
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            if sent < len(frame):
                on_wait()

    def receive(self, on_wait: Callable[[], None]) -> bytes:
        """Return the payload of the next frame.

        Raises FrameTooLong if the frame is too long, or ChannelClosed if the other side is gone.
        """
        payload = self._take_payload() if self._buffer else None
        while payload is None:
            try:
                chunk = self._receiver.receive(CHUNK if self._buffer else FIRST_CHUNK)
            except BlockingIOError:
                on_wait()
                continue
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            if not chunk:
                raise ChannelClosed("end of stream")
            if not self._buffer and self._is_whole_frame(chunk):
                return chunk[PREFIX_BYTES:]
            self._buffer += chunk
            if (payload := self._take_payload()) is None:
                on_wait()
        return payload

    def _is_whole_frame(self, chunk: bytes) -> bool:
        """Return whether the chunk is exactly one frame. Such a frame, the usual case, needs no buffer."""
        size = len(chunk) - PREFIX_BYTES
        return 0 <= size <= self._receive_cap and int.from_bytes(chunk[:PREFIX_BYTES], "big") == size

    def is_quiet(self) -> bool:
        """Return whether there is no data to receive. Raises ChannelClosed if the socket cannot be read."""
        try:
            return not self._buffer and not self._sock.recv(1, MSG_PEEK | MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError as error:
            raise ChannelClosed(str(error)) from error

    def _take_payload(self) -> bytes | None:
        """Return the payload of the first frame in the buffer, or None while it is incomplete. Raises FrameTooLong."""
        buffer = self._buffer
        if len(buffer) < PREFIX_BYTES:
            return None
        size = int.from_bytes(buffer[:PREFIX_BYTES], "big")
        if size > self._receive_cap:
            raise FrameTooLong(f"a frame of {size} bytes; at most {self._receive_cap} are allowed")
        if len(buffer) < PREFIX_BYTES + size:
            return None
        payload = bytes(buffer[PREFIX_BYTES : PREFIX_BYTES + size])
        del buffer[: PREFIX_BYTES + size]
        return payload
