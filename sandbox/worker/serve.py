"""The worker: opens one session and runs its cells, one after the other, until the host is done with it."""

import gc
import marshal
import socket
import sys
from binascii import a2b_base64, b2a_base64
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any, NoReturn

from planbook.sandbox.protocol import MAX_FROM_WORKER, PREFIX, pack
from planbook.sandbox.worker import determinism, language, lockdown, results
from planbook.sandbox.worker.determinism import CLOCK
from planbook.sandbox.worker.link import OUT_OF_MEMORY, HostFunction, HostObject, Link, Record, refresh
from planbook.sandbox.worker.results import shown, to_bytes

REHEARSED_CALLS, REHEARSALS, REHEARSED_FILE = 4, 20, "rehearsal"
REHEARSED = """
for n in range(4):
    text = host.call(n)
print(text)
shown = [host.now, record.a, {'a': 'b'}]
"""
REHEARSED_SETTINGS = {
    "seed": 0,
    "functions": {"host.call": ["x"]},
    "attributes": {"host.now": 0},
    "values": {"record": {"a": 1}},
}
PART = "part"
"""The kind of message that brings a part of a cell, with more to come."""
PART_OVER = to_bytes(["end", None, []])
MAX_VALUE = MAX_FROM_WORKER // 4
"""Bytes of JSON of a cell's value."""


@dataclass(frozen=True)
class Nature:
    """What a worker is born with: its namespace, the filter, the address space in use, no right to files or processes.

    ``parent`` is a pidfd of the zygote, where no pid namespace ends a worker that was forked too late to see it die.
    """

    cells: "Cells"
    program: lockdown.FilterProgram | None
    idle_bytes: int
    alone: bool
    parent: int | None


def serve(nature: Nature) -> NoReturn:
    """Put the filter on, and open the session that the host asks for; then run cells until it hangs up, or says what
    it never says.
    """
    granted = {} if nature.program is None else {"seccomp": lockdown.attempt(lockdown.confine, nature.program)}
    cells, link = nature.cells, nature.cells.link
    link.send(to_bytes(["locked", granted]))
    _, settings = link.receive()
    cells.open(settings)
    while True:
        kind, source, name, compiled, changed, clock = link.receive()
        try:
            link.catch_up(changed, clock)
            end = cells.run(source, name, compiled, is_part=kind == PART)
        except MemoryError:
            end = OUT_OF_MEMORY
        link.send(end)


class Cells:
    """One namespace, and the cells that ran in it.

    Made in the zygote, so that workers share its memory until they change it; each worker opens its own.
    """

    def __init__(self, sock: socket.socket, *, guarded: bool) -> None:
        self.link = Link(sock)
        self._earlier = list[results.Cell]()
        self._value: object = None
        """Of the part that ran last, of a cell that goes on."""
        sys.stdout = sys.stderr = language.Output(self.link.write)
        CLOCK.ask_sleep, language.FINDER.ask = self.link.sleep, self.link.source
        self._names = language.namespace(guarded=guarded)

    def open(self, settings: Mapping[str, Any]) -> None:
        """Put the session's functions, attributes and values into the namespace, and seed its random numbers."""
        link = self.link
        CLOCK.start()
        determinism.seed(settings["seed"])
        link.objects = _objects(link, settings["functions"], settings["attributes"])
        refresh(link.objects, settings["attributes"])
        self._names.update(link.objects)
        for name, value in settings["values"].items():
            self._names[name] = Record(name, value) if isinstance(value, dict) else value

    def run(self, source: str, name: str, compiled: str, *, is_part: bool = False) -> bytes:
        """Run one cell, or the next part of one; return the "end" message.

        Nothing of the cell lives on in this frame when it is sent.
        """
        code, tail = _code(compiled)
        goes_on = bool(self._earlier) and self._earlier[-1].goes_on_in(code)
        if goes_on:
            self._earlier[-1].add(source, code, tail)
        else:
            self._earlier.append(results.Cell(name, source, [(code, tail)]))
        if source or not goes_on:
            self._value = None
        self.link.running(code.co_filename)
        try:
            return self._execute(self._earlier[-1], is_part)
        finally:
            self.link.running(None)

    def _execute(self, cell: results.Cell, is_part: bool) -> bytes:
        (code, tail), names = cell.compiled[-1], self._names
        value, self._value = self._value, None
        try:
            exec(code, names)
            if tail is not None:
                value = eval(tail, names)
            end = PART_OVER if is_part else to_bytes(["end", shown(value, MAX_VALUE), []])
        except BaseException as error:
            return to_bytes(["end", None, [results.raised(error, cell, self._earlier, names)]])
        self._value = value if is_part else None
        return end


def _code(compiled: str) -> tuple[CodeType, CodeType | None]:
    """Return what the host has compiled."""
    return marshal.loads(a2b_base64(compiled))  # type: ignore[no-any-return]


def _objects(link: Link, functions: Mapping[str, list[str]], attributes: Mapping[str, object]) -> dict[str, object]:
    """The plan's functions and objects. ``functions`` maps each name, dotted or bare, to its parameters' names."""
    bare: dict[str, object] = {}
    members: dict[str, dict[str, object]] = {name.partition(".")[0]: {} for name in attributes}
    for dotted, parameters in functions.items():
        function = HostFunction(dotted, partial(link.call, dotted, parameters))
        name, dot, member = dotted.partition(".")
        if dot:
            members.setdefault(name, {})[member] = function
        else:
            bare[name] = function
    return bare | {name: HostObject(name, found) for name, found in members.items()}


class _Over(Exception):
    """A rehearsal has come to its end."""


class _Script:
    """In the place of a socket: a host that says what it would in a short session."""

    def __init__(self) -> None:
        compiled = b2a_base64(marshal.dumps((compile(REHEARSED, REHEARSED_FILE, "exec"), None))).decode()
        run = ["run", REHEARSED, REHEARSED_FILE, compiled, {"host.now": 1}, 1]
        messages = [["open", REHEARSED_SETTINGS], run, *[["answer", "text", None, 1]] * REHEARSED_CALLS]
        frames = [pack(to_bytes(message), MAX_FROM_WORKER) for message in messages]
        self._parts = [part for frame in reversed(frames) for part in (frame[PREFIX:], frame[:PREFIX])]

    def sendall(self, frame: bytes) -> None:
        """Send nothing."""

    def recv(self, size: int, flags: int) -> bytes:
        """Return the prefix of the next message, or the rest of it. Raises _Over."""
        if not self._parts:
            raise _Over
        return self._parts.pop()


def prepare(sock: socket.socket, modules: Collection[str], *, guarded: bool) -> Cells:
    """Do once what all workers need: the namespace that each of them opens, to speak by ``sock``."""
    determinism.make_deterministic()
    if guarded:
        language.guard_library()
    language.preload(modules, guarded=guarded)
    for _ in range(REHEARSALS):
        _rehearse(guarded=guarded)
    cells = Cells(sock, guarded=guarded)
    gc.collect()
    gc.freeze()
    return cells


def _rehearse(*, guarded: bool) -> None:
    """Serve a session as a worker does, but with no filter, for the interpreter adapts code that runs often.

    It writes into the code for that, and a forked process copies each page of memory when it first writes to it: what
    is written here, no worker copies.
    """
    cells = Cells(_Script(), guarded=guarded)  # type: ignore[arg-type]
    with suppress(_Over):
        serve(Nature(cells, lockdown.FilterProgram(0), 0, False, None))
