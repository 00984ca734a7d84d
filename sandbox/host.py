"""The sandbox, which opens sessions and reports which kernel mechanisms restrict the plans in them.

The host is the process that uses this module. A worker is the process in which the plan code of one session runs. The
zygote is the process from which workers are forked. A cell is a piece of plan code that runs as a unit.
"""

import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Self

from pydantic import JsonValue

from planbook.sandbox.answers import Answers, AttributeReader, function_specs, open_message
from planbook.sandbox.conversation import parse_message
from planbook.sandbox.process import READY_WORKERS, WorkerProcess, Zygote
from planbook.sandbox.protocol import ChannelClosed, FrameTooLong, HostileFrame
from planbook.sandbox.session import Session
from planbook.sandbox.types import Limits, MissingMechanism, SandboxClosed, WorkerFailed

REQUIRED_MECHANISMS = ("seccomp", "no_new_privs", "rlimits")
OPTIONAL_MECHANISMS = (
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


ALL_MECHANISMS = REQUIRED_MECHANISMS + OPTIONAL_MECHANISMS


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A kernel mechanism that restricts workers. If it is not granted, ``reason`` says why."""

    name: str
    granted: bool
    required: bool
    reason: str = ""


def mechanisms_by_name(refusals: Mapping[str, str]) -> dict[str, Mechanism]:
    """Return a dict that maps the name of each mechanism to the mechanism.

    ``refusals`` maps names to "" if the mechanism is granted, or to the reason why it is not.
    """
    reasons = {name: refusals.get(name, "not tried") for name in ALL_MECHANISMS}
    return {name: Mechanism(name, not reason, name in REQUIRED_MECHANISMS, reason) for name, reason in reasons.items()}


def require_mechanisms(mechanisms: Mapping[str, Mechanism]) -> None:
    """Raise MissingMechanism if a required mechanism is not granted."""
    for mechanism in mechanisms.values():
        if mechanism.required and not mechanism.granted:
            raise MissingMechanism(
                f"{mechanism.name} is not granted here: {mechanism.reason}. Without it a plan can use files, "
                "start processes and open connections with your permissions. If you trust every plan, say so: "
                "--unsafe-no-sandbox, or Sandbox(unsafe_no_sandbox=True)"
            )


SELF_TEST_CELLS = (
    ("print('said')\n[echo('a', times=2), sum(range(10))]", ("said\n", ["aa", 45], None)),
    ("echo(1)", ("", None, "TypeError")),
    ("import os", ("", None, "forbidden-import")),
)
"""Pairs of the code of a cell and the output, value and fault type that it must produce. The last cell must be refused
by the language layer, which restricts plans to a part of Python.
"""


def self_test(open_session: Callable[..., Session], *, language_layer: bool) -> None:
    """Run a few cells at start-up, so that a broken worker fails here and not in a plan.

    If ``language_layer``, test the language layer too. Each worker tests itself that the kernel refuses system calls
    (``lockdown.confine``). Raises WorkerFailed if a cell has an unexpected result, and whatever ``open_session``
    raises.
    """
    with open_session({"echo": _echo}) as session:
        for code, expected in SELF_TEST_CELLS[: 2 + language_layer]:
            result = session.run(code, "self-test")
            if (result.output, result.value, result.fault and result.fault.type) != expected:
                raise WorkerFailed(
                    f"the worker fails its self-test under Python {sys.version}: {code!r} gives {result}"
                )


def _echo(text: str, times: int = 1) -> str:
    return text * times


OPEN_SECONDS = 30.0
MAX_ATTEMPTS = 2 * READY_WORKERS + 3
CLOSED = "the sandbox is closed: open a new one"
NO_VALUES: Mapping[str, JsonValue] = {}
DEFAULT_LIMITS = Limits()


class Sandbox:
    """Opens sessions. Any number of threads may use it. If the zygote is killed from outside, a new one replaces it.

    - ``modules`` names packages beyond the standard library that plans may import, such as numpy. The packages are
      imported before the worker is locked down, and must not need any files afterwards.
    - ``unsafe_no_sandbox=True`` states that every plan is trusted: plans then run even if the kernel does not grant a
      required mechanism.
    - ``language_layer=False`` lets plans use all of Python. ``disabled_mechanisms`` names mechanisms that the workers
      do not use. Both options are meant for tests.

    Raises MissingMechanism if a required mechanism is not granted, or WorkerFailed if the worker does not behave as it
    should on this machine.
    """

    def __init__(
        self,
        *,
        modules: Collection[str] = (),
        unsafe_no_sandbox: bool = False,
        language_layer: bool = True,
        disabled_mechanisms: Collection[str] = (),
    ) -> None:
        if unknown := set(disabled_mechanisms) - set(ALL_MECHANISMS):
            raise ValueError(f"there is no mechanism {sorted(unknown)}; the mechanisms are {', '.join(ALL_MECHANISMS)}")
        if missing := [name for name in modules if find_spec(name.partition(".")[0]) is None]:
            raise WorkerFailed(f"these modules for plans are not installed: {', '.join(missing)}")
        self._unsafe, self._language_layer = unsafe_no_sandbox, language_layer
        self._disabled, self._modules = tuple(disabled_mechanisms), tuple(modules)
        self._lock = threading.Lock()
        self._zygote = self._new_zygote()
        self._mechanisms = mechanisms_by_name(self._zygote.refusals)
        self._last_refusals: object = None
        self._closed = False
        try:
            self_test(self.session, language_layer=language_layer)
        except BaseException:
            self.close()
            raise

    def session(
        self,
        functions: Mapping[str, Callable[..., object]],
        *,
        values: Mapping[str, JsonValue] = NO_VALUES,
        attributes: AttributeReader | None = None,
        limits: Limits = DEFAULT_LIMITS,
        seed: str | int = 0,
        on_wait: Callable[[], None] | None = None,
    ) -> Session:
        """Open and return a session; ``with sandbox.session(...) as session`` closes it.

        - ``functions`` maps names to functions, which plans call by these names and which run in this process. A dotted
          name such as ``agent.open`` becomes the method ``open`` of an object ``agent`` that the plan sees. Arguments
          are checked against the annotations. The time that a function takes is not limited, so one that may block
          forever needs its own timeout.
        - ``values`` maps the names of additional variables to their values. A dict becomes a record: its keys can be
          read as attributes (``task.goal``).
        - ``attributes`` is a function that returns a dict of the attributes, which plans cannot set. The dict maps
          their dotted names (``agent.location``) to their current values.
        - ``limits`` apply to each cell. ``seed`` seeds the plan's ``random``.
        - ``on_wait`` is called every few milliseconds while plan code runs. It can stop the plan by raising an
          exception, which ends the worker and propagates out of ``run``.

        Raises SandboxClosed if the sandbox is closed, or BadFunction if a function has no usable signature or if plans
        cannot use a name.
        """
        if self._closed:
            raise SandboxClosed(CLOSED)
        specs = function_specs(functions)
        answers = Answers(specs, attributes, language_layer=self._language_layer, modules=frozenset(self._modules))
        settings = open_message(specs, values, answers.take_changed_attributes() or {}, seed)
        return Session(lambda: self._open_worker(settings, limits.memory_mb), answers, limits, on_wait)

    @property
    def modules(self) -> tuple[str, ...]:
        """The packages that plans may import beyond the standard library."""
        return self._modules

    def mechanisms(self) -> Mapping[str, Mechanism]:
        """Return a dict that maps the name of each mechanism, granted or not, to the mechanism."""
        return self._mechanisms

    def close(self) -> None:
        """End the zygote and all workers, which also ends every open session. Closing twice is harmless."""
        with self._lock:
            self._closed = True
            self._zygote.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def _new_zygote(self) -> Zygote:
        return Zygote(language_layer=self._language_layer, disabled=self._disabled, modules=self._modules)

    def _renew_zygote(self) -> None:
        """Replace the zygote and its workers if the zygote has ended.

        Raises WorkerFailed if no new zygote starts, or SandboxClosed if the sandbox is closed.
        """
        with self._lock:
            if self._closed:
                raise SandboxClosed(CLOSED)
            if self._zygote.is_gone():
                self._zygote.close()
                self._zygote = self._new_zygote()

    def _open_worker(self, settings: bytes, memory_mb: int) -> WorkerProcess:
        """Return a worker that has opened a session with these settings.

        This may take several attempts: if the zygote was killed, the workers that it forked in advance are dead too,
        and a dying zygote may still fork workers that die with it. Raises WorkerFailed if all attempts fail, or
        SandboxClosed if the sandbox is closed.
        """
        for _ in range(MAX_ATTEMPTS):
            try:
                return self._try_open_worker(settings, memory_mb)
            except ChannelClosed as error:
                reason = error
                self._renew_zygote()
        advice = f"do the session's values fit into memory_mb={memory_mb}?"
        raise WorkerFailed(f"a worker did not open its session: {reason}; {advice}") from reason

    def _try_open_worker(self, settings: bytes, memory_mb: int) -> WorkerProcess:
        worker = self._zygote.take_worker(memory_mb)
        deadline = time.monotonic() + OPEN_SECONDS

        def check_deadline() -> None:
            if time.monotonic() > deadline:
                raise WorkerFailed(f"a worker did not open its session within {OPEN_SECONDS:g} s")

        try:
            self._record_mechanisms(parse_message(worker.receive(check_deadline)))
            worker.send(settings, check_deadline)
        except (FrameTooLong, HostileFrame) as error:
            worker.kill()
            raise WorkerFailed(f"a worker did not open its session: {error}") from error
        except BaseException:
            worker.kill()
            raise
        finally:
            self._zygote.request_worker(memory_mb)  # for the next session; an earlier fork would slow down this one
        return worker

    def _record_mechanisms(self, message: list[object]) -> None:
        """Record the mechanisms that restrict a worker. ``message`` is the worker's first message, "locked".

        Raises MissingMechanism if a required mechanism is missing, or HostileFrame if the message has another kind.
        """
        if message[0] != "locked" or not isinstance(message[1], dict):
            raise HostileFrame(f"{message[0]!r} out of turn")
        if message[1] == self._last_refusals:
            return
        zygote_refusals = self._zygote.refusals
        refusals = zygote_refusals | {name: zygote_refusals.get(name) or reason for name, reason in message[1].items()}
        self._mechanisms = mechanisms_by_name(refusals)
        if not self._unsafe:
            require_mechanisms(self._mechanisms)
        self._last_refusals = message[1]
