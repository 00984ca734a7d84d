"""The sandbox: one zygote, the sessions opened from it, and the mechanisms that the kernel grants."""

import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Self

from pydantic import JsonValue

from planbook.sandbox.answers import Answers, Attributes, function_specs, open_message
from planbook.sandbox.conversation import parse_message
from planbook.sandbox.errors import MissingMechanism, SandboxClosed, WorkerFailed
from planbook.sandbox.process import READY, WorkerProcess, Zygote
from planbook.sandbox.protocol import ChannelClosed, FrameTooLong, HostileFrame
from planbook.sandbox.session import Session
from planbook.sandbox.types import Limits

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
    """A kernel mechanism that restricts workers. ``reason`` says why it is not granted."""

    name: str
    granted: bool
    required: bool
    reason: str = ""


def read_mechanisms(reported: Mapping[str, str]) -> dict[str, Mechanism]:
    """Return every mechanism by name. ``reported`` maps names to "" if granted, else to the reason why not."""
    reasons = {name: reported.get(name, "not tried") for name in ALL_MECHANISMS}
    return {name: Mechanism(name, not reason, name in REQUIRED, reason) for name, reason in reasons.items()}


def require_mechanisms(mechanisms: Mapping[str, Mechanism]) -> None:
    """Raise MissingMechanism for a required mechanism that is not granted."""
    for mechanism in mechanisms.values():
        if mechanism.required and not mechanism.granted:
            raise MissingMechanism(
                f"{mechanism.name} is not granted here: {mechanism.reason}. Without it a plan can use files, "
                "start processes and open connections with your rights. If you trust every plan, say so: "
                "--unsafe-no-sandbox, or Sandbox(unsafe_no_sandbox=True)"
            )


# The self-test.

SELF_TEST_CELLS = (
    ("print('said')\n[echo('a', times=2), sum(range(10))]", ("said\n", ["aa", 45], None)),
    ("echo(1)", ("", None, "TypeError")),
    ("import os", ("", None, "forbidden-import")),
)
"""Cells, and the output, value and fault type that each must have. The language layer refuses the last one."""


def self_test(open_session: Callable[..., Session], *, guarded: bool) -> None:
    """Run a few cells at start-up, so that a broken worker fails here and not in a plan.

    Each worker checks for itself that the kernel refuses system calls (``lockdown.confine``). Raises WorkerFailed, and
    what ``open_session`` raises.
    """
    with open_session({"echo": _echo}) as session:
        for code, expected in SELF_TEST_CELLS[: 2 + guarded]:
            result = session.run(code, "self-test")
            if (result.output, result.value, result.fault and result.fault.type) != expected:
                raise WorkerFailed(
                    f"the worker fails its self-test under Python {sys.version}: {code!r} gives {result}"
                )


def _echo(text: str, times: int = 1) -> str:
    return text * times


# The sandbox.

OPEN_SECONDS = 30.0
NO_VALUES: Mapping[str, JsonValue] = {}
DEFAULT_LIMITS = Limits()


class Sandbox:
    """Opens sessions, from any number of threads. A zygote that is killed from outside is replaced.

    ``modules`` names packages beyond the standard library that plans may import, such as numpy. They are imported
    before the worker is locked down, and must not need files later. Without a required kernel mechanism no plan runs,
    unless ``unsafe_no_sandbox`` says that every plan is trusted. For tests, ``without`` leaves mechanisms out, and with
    ``language_layer=False`` plans are unrestricted Python. Raises MissingMechanism, or WorkerFailed if the worker does
    not behave as it should on this machine.
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
        self._mechanisms = read_mechanisms(self._zygote.reported)
        self._reported: object = None
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
        """Open and return a session; ``with sandbox.session(...) as session`` closes it.

        - ``functions`` maps the names that plans use to functions, which run in this process. Dotted names become
          methods of an object that the plan sees. Arguments are checked against the annotations.
        - ``values`` are further names; a dict becomes a record (``task.goal``).
        - ``attributes`` returns the current read-only attributes of the plan's objects, by dotted name.
        - ``limits`` are those of each cell; ``seed`` seeds the plan's ``random``.
        - ``meanwhile`` is called every few milliseconds while plan code runs. To stop the plan, it raises an exception,
          which ends the worker and passes through ``run``.

        Raises SandboxClosed, or BadFunction for a function without a usable signature or a name that plans cannot have.
        """
        if self._closed:
            raise SandboxClosed("the sandbox is closed")
        specs = function_specs(functions)
        answers = Answers(specs, attributes, guarded=self._language_layer, modules=frozenset(self._modules))
        settings = open_message(specs, values, answers.take_changes() or {}, seed)
        return Session(lambda: self._open_worker(settings, limits.memory_mb), answers, limits, meanwhile)

    @property
    def modules(self) -> tuple[str, ...]:
        """The packages that plans may import beyond the standard library."""
        return self._modules

    def mechanisms(self) -> Mapping[str, Mechanism]:
        """Return all mechanisms of the kernel by name, including those not granted here."""
        return self._mechanisms

    def close(self) -> None:
        """End the zygote, all workers and, with them, all open sessions. Closing twice is harmless."""
        with self._lock:
            self._closed = True
            self._zygote.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def _new_zygote(self) -> Zygote:
        return Zygote(guarded=self._language_layer, without=self._without, modules=self._modules)

    def _renew_zygote(self) -> None:
        """Replace a zygote that was ended from outside, and its workers. Raises WorkerFailed or SandboxClosed."""
        with self._lock:
            if self._closed:
                raise SandboxClosed("the sandbox is closed: open a new one")
            if self._zygote.is_gone():
                self._zygote.close()
                self._zygote = self._new_zygote()

    def _open_worker(self, settings: bytes, memory_mb: int) -> WorkerProcess:
        """Return a worker with an open session. Raises WorkerFailed or SandboxClosed.

        If the zygote and all workers forked ahead were killed, later attempts use new ones. A dying zygote may still
        fork some workers that die with it.
        """
        for _ in range(2 * READY + 2):
            try:
                return self._try_open_worker(settings, memory_mb)
            except ChannelClosed:
                self._renew_zygote()
        try:
            return self._try_open_worker(settings, memory_mb)
        except ChannelClosed as error:
            fit = f"do the session's values fit into memory_mb={memory_mb}?"
            raise WorkerFailed(f"a worker did not open its session: {error}; {fit}") from error

    def _try_open_worker(self, settings: bytes, memory_mb: int) -> WorkerProcess:
        worker = self._zygote.take_worker(memory_mb)
        deadline = time.monotonic() + OPEN_SECONDS

        def check_deadline() -> None:
            if time.monotonic() > deadline:
                raise WorkerFailed(f"a worker did not open its session within {OPEN_SECONDS:g} s")

        try:
            self._admit(parse_message(worker.receive(check_deadline)))
            worker.send(settings, check_deadline)
        except (FrameTooLong, HostileFrame) as error:
            worker.kill()
            raise WorkerFailed(f"a worker did not open its session: {error}") from error
        except BaseException:
            worker.kill()
            raise
        finally:
            self._zygote.request_worker(memory_mb)  # only now, since this session's worker needs a core first
        return worker

    def _admit(self, message: list[object]) -> None:
        """Record which mechanisms restrict the worker. Raises MissingMechanism or HostileFrame."""
        if message[0] != "locked" or not isinstance(message[1], dict):
            raise HostileFrame(f"{message[0]!r} out of turn")
        if message[1] == self._reported:
            return
        before = self._zygote.reported
        reported = before | {name: before.get(name) or reason for name, reason in message[1].items()}
        self._mechanisms = read_mechanisms(reported)
        if not self._unsafe:
            require_mechanisms(self._mechanisms)
        self._reported = message[1]
