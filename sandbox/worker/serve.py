"""The worker: opens one session and runs its cells, one after the other, until the host is done with it."""

import gc
import marshal
import socket
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any, NoReturn

from sandbox.protocol import MAX_FROM_WORKER, pack
from sandbox.worker import determinism, faults, imports, language, lockdown, seccomp
from sandbox.worker.clock import CLOCK
from sandbox.worker.link import OUT_OF_MEMORY, Link
from sandbox.worker.objects import HostFunction, HostObject, Record, refresh
from sandbox.worker.values import decode, shown, to_bytes

WARM_UP = "for n in range(4):\n    text = host.call(n)\nprint(text)\nshown = [host.now, record.a, {'a': 'b'}]"
WARM_UP_SETTINGS = (
    '{"seed": 0, "functions": {"host.call": ["x"]}, "attributes": {"host.now": 0}, "values": {"record": {"a": 1}}}'
)
PART = "part"
"""The kind of message that brings a part of a cell, with more to come."""
PART_OVER = to_bytes(["end", None, []])
WARM_UPS = 20
MAX_VALUE = MAX_FROM_WORKER // 4
"""Bytes of JSON of a cell's value."""


@dataclass(frozen=True)
class Nature:
    """What a worker is born with: its namespace, the mechanisms left out, the filter, the address space in use."""

    cells: "Cells"
    without: frozenset[str]
    program: seccomp.Program | None
    idle_bytes: int


def serve(nature: Nature, memory_mb: int) -> NoReturn:
    """Give everything up, and open the session that the host asks for; then run cells until it hangs up, or says what
    it never says.
    """
    determinism.hide_process()
    opened = to_bytes(["opened", _lock(nature, memory_mb)])
    cells, link = nature.cells, nature.cells.link
    _, settings = link.receive()
    link.send(opened)
    cells.open(settings)
    while True:
        kind, source, name, compiled, changed, clock = link.receive()
        try:
            link.catch_up(changed, clock)
            end = cells.run(source, name, compiled, is_part=kind == PART)
        except MemoryError:
            end = OUT_OF_MEMORY
        link.send(end)


def _lock(nature: Nature, memory_mb: int) -> dict[str, str]:
    """Take the last steps of the lockdown. Mechanism to empty, or why it was not granted."""
    alone = "rlimits" not in nature.without
    reason = lockdown.attempt(partial(lockdown.bound, nature.idle_bytes, memory_mb, alone=alone))
    granted = {"rlimits": reason if alone else lockdown.LEFT_OUT}
    if nature.program is not None:
        granted["seccomp"] = lockdown.attempt(lockdown.confine, nature.program)
    return granted


class Cells:
    """One namespace, and the cells that ran in it.

    Made in the zygote, so that workers share its memory until they change it; each worker opens its own.
    """

    def __init__(self, sock: socket.socket, *, guarded: bool) -> None:
        self.link = Link(sock)
        self._earlier = list[faults.Cell]()
        self._value: object = None
        """Of the part that ran last, of a cell that goes on."""
        sys.stdout = sys.stderr = imports.Output(self.link.write)
        CLOCK.ask_sleep, imports.FINDER.ask = self.link.sleep, self.link.source
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
            self._earlier.append(faults.Cell(name, source, [(code, tail)]))
        if source or not goes_on:
            self._value = None
        self.link.running(code.co_filename)
        try:
            return self._execute(self._earlier[-1], is_part)
        finally:
            self.link.running(None)

    def _execute(self, cell: faults.Cell, is_part: bool) -> bytes:
        (code, tail), names = cell.compiled[-1], self._names
        value, self._value = self._value, None
        try:
            exec(code, names)
            if tail is not None:
                value = eval(tail, names)
            end = PART_OVER if is_part else to_bytes(["end", shown(value, MAX_VALUE), []])
        except BaseException as error:
            return to_bytes(["end", None, [faults.raised(error, cell, self._earlier, names)]])
        self._value = value if is_part else None
        return end


def _code(compiled: str) -> tuple[CodeType, CodeType | None]:
    """Return what the host has compiled."""
    return marshal.loads(compiled.encode("latin-1"))  # type: ignore[no-any-return]


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


class _Mirror:
    """In the place of a socket: answers every frame with the same one."""

    def __init__(self, answer: list[object]) -> None:
        self._answer = pack(to_bytes(answer), MAX_FROM_WORKER)

    def send(self, frame: bytes) -> int:
        return len(frame)

    def recv(self, size: int) -> bytes:
        return self._answer


def prepare(sock: socket.socket, modules: Collection[str], *, guarded: bool) -> Cells:
    """Do once what all workers need: the namespace that each of them opens, to speak by ``sock``."""
    determinism.make_deterministic()
    if guarded:
        language.guard_library()
    imports.preload(modules, guarded=guarded)
    for _ in range(WARM_UPS):
        _use(Cells(_Mirror(["answer", "text", None, 1]), guarded=guarded))  # type: ignore[arg-type]
    cells = Cells(sock, guarded=guarded)
    gc.collect()
    gc.freeze()
    return cells


def _use(cells: Cells) -> None:
    """Use what sessions use, for the interpreter adapts code that runs often, by writing into it.

    A forked process copies each page of memory when it first writes to it: what is written here, no worker copies.
    """
    cells.open(decode(WARM_UP_SETTINGS))
    cells.link.catch_up({"host.now": 1}, 0)
    cells.run(WARM_UP, "warm-up", marshal.dumps((compile(WARM_UP, "warm-up", "exec"), None)).decode("latin-1"))
