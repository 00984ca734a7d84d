"""The worker: opens one session and runs its cells, one after the other, until the host is done with it."""

import gc
import random
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sandbox.protocol import MAX_FROM_WORKER, ChannelClosed
from sandbox.worker import faults, language, lockdown, seccomp
from sandbox.worker.link import Link
from sandbox.worker.objects import HostFunction, HostObject, Record, refresh
from sandbox.worker.values import decode, shown, to_bytes

WARM_UP = "def f(x):\n    return x\nf([host.now, {'a': 'b'}])"
WARM_UP_SETTINGS = (
    '{"seed": 0, "functions": {"host.call": ["x"]}, "attributes": {"host.now": 0}, "values": {"record": {"a": 1}}}'
)
PART = "part"
"""The kind of message that brings a part of a cell, with more to come."""
OUT_OF_MEMORY = to_bytes(["end", None, [faults.MEMORY]])
"""Made beforehand: when it is needed, there may be no memory to make it."""
PART_OVER = to_bytes(["end", None, []])
MAX_VALUE = MAX_FROM_WORKER // 4
"""Bytes of JSON of a cell's value."""


@dataclass(frozen=True)
class Nature:
    """What a worker is born with: the layers that are on, the filter to install, the address space in use."""

    confined: bool
    guarded: bool
    program: seccomp.Program | None
    idle_bytes: int


def serve(sock: socket.socket, nature: Nature) -> None:
    """Open the session that the host asks for, then run cells until the host hangs up."""
    _warm_up(sock, nature)
    link = Link(sock)
    try:
        _, settings = link.receive()
        link.send(to_bytes(["opened", _lock(nature, settings["memory_mb"])]))
        cells = Cells(link, nature.guarded, settings)
        while True:
            kind, source, name, file, compiled, changed, clock = link.receive()
            try:
                end = cells.run(source, name, file, compiled, changed, clock, is_part=kind == PART)
            except MemoryError:
                end = OUT_OF_MEMORY
            link.send(end)
    except ChannelClosed:
        return


def _warm_up(sock: socket.socket, nature: Nature) -> None:
    """Run a cell in a session that is thrown away, while nobody waits.

    A forked process copies each page of memory when it first writes to it: some 2 ms of a session's start, otherwise.
    Such a cell prints and calls nothing, so the socket stays silent.
    """
    cells = Cells(Link(sock), nature.guarded, decode(WARM_UP_SETTINGS))
    cells.run(WARM_UP, "warm-up", "warm-up", None, {"host.now": 1}, 0)


def _lock(nature: Nature, memory_mb: int) -> dict[str, str]:
    """Take the last steps of the lockdown. Mechanism to empty, or why it was not granted."""
    bound = partial(lockdown.bound, nature.idle_bytes, memory_mb, confined=nature.confined)
    granted = {"rlimits": lockdown.attempt(bound)}
    if nature.program is not None:
        granted["seccomp"] = lockdown.attempt(partial(lockdown.confine, nature.program))
    return granted


class Cells:
    """One namespace, and the cells that ran in it."""

    def __init__(self, link: Link, guarded: bool, settings: Mapping[str, Any]) -> None:
        self._link, self._earlier = link, list[faults.Cell]()
        self._value: object = None
        """Of the part that ran last, of a cell that goes on."""
        self._compile = language.compile_cell if guarded else language.compile_plain
        make = language.namespace if guarded else language.unguarded_namespace
        self._names = make(random.Random(settings["seed"]), link.clock, link.write)
        link.objects = _objects(link, settings["functions"], settings["attributes"])
        refresh(link.objects, settings["attributes"])
        self._names.update(link.objects)
        for name, value in settings["values"].items():
            self._names[name] = Record(name, value) if isinstance(value, dict) else value

    def run(
        self,
        source: str,
        name: str,
        file: str,
        compiled: str | None,
        changed: Mapping[str, object] | None,
        clock: int,
        *,
        is_part: bool = False,
    ) -> bytes:
        """Run one cell, or the next part of one; the "end" message.

        Nothing of the cell lives on in this frame when it is sent.
        """
        self._link.clock.set_to = clock
        if changed:
            refresh(self._link.objects, changed)
        try:
            code = language.load_cell(compiled) if compiled else self._compile(source, file)
        except Exception as error:  # whatever the compiler stumbles over, the code is to blame, and was not run
            return to_bytes(["end", None, faults.refused(error, source)])
        goes_on = bool(self._earlier) and self._earlier[-1].goes_on_in(code)
        if goes_on:
            self._earlier[-1].add(source, code)
        else:
            self._earlier.append(faults.Cell(name, source, [code]))
        if source or not goes_on:
            self._value = None
        self._link.running(code.code.co_filename)
        try:
            return self._execute(self._earlier[-1], is_part)
        finally:
            self._link.running(None)

    def _execute(self, cell: faults.Cell, is_part: bool) -> bytes:
        compiled, names = cell.compiled[-1], self._names
        value, self._value = self._value, None
        try:
            exec(compiled.code, names)
            if compiled.tail is not None:
                value = eval(compiled.tail, names)
            end = PART_OVER if is_part else to_bytes(["end", shown(value, MAX_VALUE), []])
        except BaseException as error:
            return to_bytes(["end", None, [faults.raised(error, cell, self._earlier, names)]])
        self._value = value if is_part else None
        return end


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


def prepare() -> None:
    """What the zygote does once for all workers."""
    language.preload()
    for cls in (HostFunction, HostObject, Record):
        language.protect(cls)
    gc.collect()
    gc.freeze()
