"""The sandbox: one zygote, the sessions opened from it, and the mechanisms that the kernel grants."""

import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from pydantic import JsonValue

from planbook.sandbox.answers import Answers, Attributes, function_specs, open_message
from planbook.sandbox.conversation import parse_message
from planbook.sandbox.errors import MissingMechanism, SandboxClosed, WorkerFailed
from planbook.sandbox.process import READY, Worker, Zygote
from planbook.sandbox.protocol import ChannelClosed, FrameTooLong, HostileFrame
from planbook.sandbox.session import Session
from planbook.sandbox.types import CellResult, Limits

# Mechanisms of the kernel.

REQUIRED = ("seccomp", "no_new_privs", "rlimits")
OPTIONAL = (
    "user namespace",
    "net namespace",
    "ipc namespace",
    "mount namespace",
    "pid namespace",
    "user id",
    "landlock",
    "capabilities",
    "undumpable",
)


ALL_MECHANISMS = REQUIRED + OPTIONAL


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One way in which the kernel holds a worker; ``reason`` says why it is not granted."""

    name: str
    granted: bool
    required: bool
    reason: str = ""


def read_mechanisms(reported: Mapping[str, str]) -> dict[str, Mechanism]:
    """From mechanism to empty or why not, as zygote and worker report it, to every mechanism there is."""
    found = {}
    for name in ALL_MECHANISMS:
        reason = reported.get(name, "not tried")
        found[name] = Mechanism(name, not reason, name in REQUIRED, reason)
    return found


def require_mechanisms(found: Mapping[str, Mechanism]) -> None:
    """Raise MissingMechanism for a required one that is not granted."""
    for mechanism in found.values():
        if mechanism.required and not mechanism.granted:
            raise MissingMechanism(
                f"{mechanism.name} is not granted here: {mechanism.reason}. Without it a plan can use files, "
                "start processes and open connections with your rights. If you trust every plan, say so: "
                "--unsafe-no-sandbox, or Sandbox(unsafe_no_sandbox=True)"
            )


# The self-test.

CELLS: tuple[tuple[str, Callable[[CellResult], object], object], ...] = (
    ("total = 0\nfor n in range(10):\n    total = total + n * n\ntotal", lambda cell: cell.value, 285),
    ("[echo('a', times=2), total]", lambda cell: cell.value, ["aa", 285]),
    ("print('said', end='!')", lambda cell: cell.output, "said!"),
    ("echo(1)", lambda cell: cell.fault and cell.fault.type, "TypeError"),
    ("total.nothing", lambda cell: cell.fault and (cell.fault.type, cell.fault.line), ("AttributeError", 1)),
)
"""Code, what to look at, and what it must be."""
REFUSED = "import os\nos.getcwd()"
"""What the language layer must not let through."""


def self_test(open_session: Callable[..., Session], *, guarded: bool) -> None:
    """Run a few cells. Raises WorkerFailed, and what opening a session raises.

    That the kernel refuses what it should is seen by each worker as it is locked (``lockdown.confine``).
    """
    with open_session({"echo": _echo}) as session:
        for code, look, expected in CELLS:
            result = session.run(code, "self-test")
            if look(result) != expected:
                _fail(code, expected, result)
        if guarded and (result := session.run(REFUSED, "self-test")).fault is None:
            _fail(REFUSED, "a refusal", result)


def _echo(text: str, times: int = 1) -> str:
    return text * times


def _fail(code: str, expected: object, result: CellResult) -> None:
    raise WorkerFailed(
        f"the worker fails its self-test under Python {sys.version}: {code!r} should give {expected!r}, not {result}"
    )


# The sandbox.

OPEN_SECONDS = 30.0
NO_VALUES: Mapping[str, JsonValue] = {}
DEFAULT_LIMITS = Limits()


class Sandbox:
    """Opens sessions, from any number of threads. A zygote that is killed from outside is replaced.

    ``modules`` names packages that plans may import beyond the standard library, such as numpy: they are imported
    before the worker is locked, and must need no file later. Without a required mechanism of the kernel no plan runs,
    unless ``unsafe_no_sandbox`` says that every plan is trusted. For tests: ``without`` names mechanisms that are left
    out; with ``language_layer=False`` plans are plain Python. Raises MissingMechanism, or WorkerFailed if the worker
    does not behave as it should on this machine.
    """

    def __init__(
        self,
        *,
        modules: Collection[str] = (),
        unsafe_no_sandbox: bool = False,
        language_layer: bool = True,
        without: Collection[str] = (),
    ) -> None:
        if unknown := set(without) - set(ALL_MECHANISMS):
            raise ValueError(f"without: there is no mechanism {sorted(unknown)}; there are {', '.join(ALL_MECHANISMS)}")
        self._unsafe, self._language_layer, self._without = unsafe_no_sandbox, language_layer, tuple(without)
        self._modules = tuple(modules)
        self._lock = threading.Lock()
        self._zygote = self._new_zygote()
        self._found = read_mechanisms(self._zygote.granted)
        self._admitted: object = None
        self._closed = False
        try:
            self_test(self.session, guarded=language_layer)
        except BaseException:
            self.close()
            raise

    def session(
        self,
        functions: Mapping[str, Callable[..., object]],
        *,
        values: Mapping[str, JsonValue] = NO_VALUES,
        attributes: Attributes | None = None,
        limits: Limits = DEFAULT_LIMITS,
        seed: str | int = 0,
        meanwhile: Callable[[], None] | None = None,
    ) -> Session:
        """Open a session.

        ``functions`` by the names that plans call them by: dotted ones become methods of an object that the plan sees.
        ``attributes`` gives those objects' read-only attributes, as they are now, by dotted name. ``values`` are
        further names; a dict becomes a record (``task.goal``). ``seed`` is that of the plan's ``random``.
        ``meanwhile`` is called every few milliseconds while plan code runs; what it raises ends the worker and passes
        through ``run``. Raises BadFunction.
        """
        if self._closed:
            raise SandboxClosed("the sandbox is closed")
        specs = function_specs(functions)
        answers = Answers(specs, attributes, guarded=self._language_layer, modules=frozenset(self._modules))
        settings = open_message(specs, values, answers.changed() or {}, seed)
        return Session(lambda: self._open(settings, limits.memory_mb), answers, limits, meanwhile)

    @property
    def modules(self) -> tuple[str, ...]:
        """The packages that plans may import beyond the standard library."""
        return self._modules

    def mechanisms(self) -> Mapping[str, Mechanism]:
        """What the kernel grants here, by name, and why not where it does not."""
        return self._found

    def close(self) -> None:
        """End the zygote and every worker; sessions still open are of no use afterwards. Closing twice is harmless."""
        with self._lock:
            self._closed = True
            self._zygote.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _new_zygote(self) -> Zygote:
        return Zygote(guarded=self._language_layer, without=self._without, modules=self._modules)

    def _renew_zygote(self) -> None:
        """Start another if the zygote was ended from outside, which ends every worker. Raises WorkerFailed."""
        with self._lock:
            if self._closed:
                raise WorkerFailed("the sandbox is closed: open a new one")
            if self._zygote.gone():
                self._zygote.close()
                self._zygote = self._new_zygote()

    def _open(self, settings: bytes, memory_mb: int) -> Worker:
        """A worker with a session. Raises WorkerFailed.

        The zygote and all workers that stand ready may have been killed: then there are others at the next but one try.
        """
        for _ in range(READY + 1):
            try:
                return self._opened(settings, memory_mb)
            except ChannelClosed:
                self._renew_zygote()
        try:
            return self._opened(settings, memory_mb)
        except ChannelClosed as error:
            raise WorkerFailed(f"a worker did not open its session: {error}") from error

    def _opened(self, settings: bytes, memory_mb: int) -> Worker:
        worker = self._zygote.hatch(memory_mb)
        deadline = time.monotonic() + OPEN_SECONDS

        def look() -> None:
            if time.monotonic() > deadline:
                raise WorkerFailed(f"a worker did not open its session within {OPEN_SECONDS:g} s")

        try:
            self._admit(parse_message(worker.receive(look)))
            worker.send(settings, look)
        except (FrameTooLong, HostileFrame) as error:
            worker.kill()
            raise WorkerFailed(f"a worker did not open its session: {error}") from error
        except BaseException:
            worker.kill()
            raise
        finally:
            self._zygote.ask(memory_mb)  # only now: the machine has few cores, and this session's worker needs one
        return worker

    def _admit(self, message: list[object]) -> None:
        """Take note of what holds the worker. Raises MissingMechanism."""
        if message[0] != "locked" or not isinstance(message[1], dict):
            raise HostileFrame(f"{message[0]!r} out of turn")
        if message[1] == self._admitted:
            return
        before = self._zygote.granted
        reported = before | {name: before.get(name) or reason for name, reason in message[1].items()}
        self._found = read_mechanisms(reported)
        if not self._unsafe:
            require_mechanisms(self._found)
        self._admitted = message[1]
