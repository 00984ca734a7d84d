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
OUT_OF_MEMORY = to_bytes(["end", None, [faults.MEMORY]])
"""Made beforehand: when it is needed, there may be no memory to make it."""
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
            _, source, name, file, compiled, changed, clock = link.receive()
            try:
                end = cells.run(source, name, file, compiled, changed, clock)
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
        if guarded:
            language.guard_copies()
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
    ) -> bytes:
        """Run one cell; the "end" message. Nothing of the cell lives on in this frame when it is sent."""
        self._link.clock.set_to = clock
        if changed:
            refresh(self._link.objects, changed)
        try:
            cell = faults.Cell(name, source, language.load_cell(compiled) if compiled else self._compile(source, file))
        except Exception as error:  # whatever the compiler stumbles over, the code is to blame, and was not run
            return to_bytes(["end", None, faults.refused(error, source)])
        self._link.running(cell.compiled.code.co_filename)
        try:
            return self._execute(cell)
        finally:
            self._link.running(None)
            self._earlier.append(cell)

    def _execute(self, cell: faults.Cell) -> bytes:
        compiled, names = cell.compiled, self._names
        try:
            exec(compiled.code, names)
            value = None if compiled.tail is None else eval(compiled.tail, names)
            return to_bytes(["end", shown(value, MAX_VALUE), []])
        except BaseException as error:
            return to_bytes(["end", None, [faults.raised(error, cell, self._earlier, names)]])


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
