"""The worker. It opens one session and runs its cells in order, until the host closes the channel.

The host is the process that opened the session. A cell is a piece of plan code that runs as a unit. The zygote is the
process that workers are forked from.
"""

import gc
import linecache
import marshal
import socket
import sys
from binascii import a2b_base64, b2a_base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any, NoReturn

from planbook.sandbox.protocol import MAX_WORKER_FRAME, PREFIX_BYTES, pack
from planbook.sandbox.worker import determinism, language, lockdown, results
from planbook.sandbox.worker.determinism import CLOCK
from planbook.sandbox.worker.link import OUT_OF_MEMORY, HostFunction, HostObject, Link, PlanRecord
from planbook.sandbox.worker.results import encode_json, value_for_host

WARM_UP_CALLS, WARM_UPS, WARM_UP_FILE = 4, 20, "warm-up"
# A short session, which the zygote runs before it forks workers (see ``_warm_up``).
WARM_UP_CODE = """
for n in range(4):
    text = host.call(n)
print(text)
shown = [host.now, record.a, {'a': 'b'}]
"""
WARM_UP_SETTINGS = {
    "seed": 0,
    "functions": {"host.call": ["x"]},
    "attributes": {"host.now": 0},
    "values": {"record": {"a": 1}},
}
PART = "part"
"""The kind of a message with a part of a cell. The last message for the cell has the kind "run"."""
PART_END = encode_json(["end", None, []])
"""The "end" message of a part without faults. It contains no value: only a whole cell has one."""
MAX_VALUE = MAX_WORKER_FRAME // 4
"""Maximum size of a cell's value, in bytes of JSON."""


@dataclass(frozen=True)
class WorkerSetup:
    """State that the zygote prepares and its workers inherit."""

    runner: "CellRunner"
    program: lockdown.FilterProgram | None
    """The system call filter, or None if it is not used."""
    idle_bytes: int
    """The address space in bytes that is in use before any plan runs."""
    is_isolated: bool
    """True if resource limits keep workers from opening files and starting processes."""
    zygote_pidfd: int | None
    """The zygote's pidfd, with which a new worker checks that the zygote is alive.

    None in a pid namespace, which ends with the zygote, and with it every process inside.
    """


def serve(setup: WorkerSetup) -> NoReturn:
    """Install the filter, open the session that the host describes, and run its cells.

    When the host closes the channel, ``Link.receive`` ends the process.
    """
    refusals = {} if setup.program is None else {"seccomp": lockdown.take_step(lockdown.confine, setup.program)}
    runner, link = setup.runner, setup.runner.link
    link.send(encode_json(["locked", refusals]))
    _, settings = link.receive(PREFIX_BYTES)
    runner.open(settings)
    while True:
        kind, source, name, compiled, changed, clock = link.receive()
        try:
            link.update(changed, clock)
            end = runner.run(source, name, compiled, is_part=kind == PART)
        except MemoryError:
            end = OUT_OF_MEMORY
        link.send(end)


class CellRunner:
    """Runs cells in one namespace.

    The zygote creates the runner before it forks workers, so that they share its memory until they write to it. Each
    worker opens its own session.
    """

    def __init__(self, sock: socket.socket, *, language_layer: bool) -> None:
        self.link = Link(sock)
        self._cells: dict[str, results.WorkerCell] = {}
        """Maps the file name of each cell to the cell."""
        sys.stdout = sys.stderr = language.Output(self.link.write)
        CLOCK.request_sleep, language.FINDER.request_source = self.link.sleep, self.link.module_source
        self._names = language.new_namespace(language_layer=language_layer)

    def open(self, settings: Mapping[str, Any]) -> None:
        """Add the session's functions, attributes and values to the namespace, and seed the random numbers."""
        link = self.link
        CLOCK.start()
        determinism.seed(settings["seed"])
        link.objects = _objects(link, settings["functions"], settings["attributes"])
        self._names.update(link.objects)
        for name, value in settings["values"].items():
            self._names[name] = PlanRecord(name, value) if isinstance(value, dict) else value

    def run(self, source: str, name: str, compiled: str, *, is_part: bool = False) -> bytes:
        """Run a cell, or the next part of one, and return the "end" message.

        The caller sends the message only after this method has returned, so that no local variable keeps the cell's
        objects alive any longer.
        """
        code: CodeType
        last_expression: CodeType | None
        code, last_expression = marshal.loads(a2b_base64(compiled))
        cell = self._cells.setdefault(code.co_filename, results.WorkerCell(name))
        if source:
            cell.value = None
            cell.add(source)
            linecache.cache[code.co_filename] = len(source), None, cell.lines, code.co_filename
        self.link.file = code.co_filename
        try:
            return self._execute(code, last_expression, is_part)
        finally:
            self.link.file = None

    def _execute(self, code: CodeType, last_expression: CodeType | None, is_part: bool) -> bytes:
        cell, names = self._cells[code.co_filename], self._names
        value, cell.value = cell.value, None
        try:
            exec(code, names)
            if last_expression is not None:
                value = eval(last_expression, names)
            end = PART_END if is_part else encode_json(["end", value_for_host(value, MAX_VALUE), []])
        except BaseException as error:
            return encode_json(["end", None, [results.fault_of(error, code.co_filename, self._cells, names)]])
        cell.value = value if is_part else None
        return end


def _objects(link: Link, functions: Mapping[str, list[str]], attributes: Mapping[str, object]) -> dict[str, object]:
    """Return a dict that maps names to the plan's functions and objects.

    ``functions`` maps the name of each function, which may be dotted, to the names of its parameters. ``attributes``
    maps dotted names to values.
    """
    # maps each object's name to its members; "" is the plan's namespace
    members: dict[str, dict[str, object]] = {"": {}}
    for dotted, parameters in functions.items():
        owner, _, name = dotted.rpartition(".")
        members.setdefault(owner, {})[name] = HostFunction(dotted, partial(link.call, dotted, parameters))
    for dotted, value in attributes.items():
        owner, _, name = dotted.rpartition(".")
        members.setdefault(owner, {})[name] = value
    for inner in [name for name in members if "." in name]:
        owner, _, name = inner.partition(".")
        members.setdefault(owner, {})[name] = HostObject(inner, members.pop(inner))
    return members.pop("") | {name: HostObject(name, inner) for name, inner in members.items()}


def prepare(sock: socket.socket, modules: Collection[str], *, language_layer: bool) -> CellRunner:
    """Prepare the state that all workers share, and return the runner that they inherit. ``sock`` is its channel."""
    determinism.make_deterministic()
    if language_layer:
        language.guard_library()
    language.preload(modules, language_layer=language_layer)
    for _ in range(WARM_UPS):
        _warm_up(language_layer=language_layer)
    runner = CellRunner(sock, language_layer=language_layer)
    gc.collect()
    gc.freeze()
    return runner


def _warm_up(*, language_layer: bool) -> None:
    """Run a short session as a worker does. The host's answers are prepared in advance.

    The interpreter optimizes code that has run several times by writing into its memory. A forked process must copy
    each memory page to which it writes. After the warm-up, workers no longer write to these pages.
    """
    worker_end, host_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # each read takes one message
    with worker_end, host_end:
        runner = CellRunner(worker_end, language_layer=language_layer)
        for _ in range(WARM_UP_CALLS):
            host_end.send(pack(encode_json(["answer", "text", None, 1]), MAX_WORKER_FRAME))
        runner.open(WARM_UP_SETTINGS)
        runner.link.update({"host.now": 1}, 1)
        compiled = b2a_base64(marshal.dumps((compile(WARM_UP_CODE, WARM_UP_FILE, "exec"), None))).decode()
        runner.link.send(runner.run(WARM_UP_CODE, WARM_UP_FILE, compiled))
