"""The sandbox: one zygote, and the sessions opened from it."""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import Self

from pydantic import JsonValue

from sandbox import mechanisms, messages, opening
from sandbox.answers import Answers, Attributes
from sandbox.errors import SandboxClosed, WorkerFailed
from sandbox.mechanisms import Mechanism
from sandbox.process import Worker
from sandbox.protocol import ChannelClosed, FrameTooLong
from sandbox.selftest import self_test
from sandbox.session import Session
from sandbox.types import Limits
from sandbox.zygote import READY, Zygote

OPEN_SECONDS = 30.0
NO_VALUES: Mapping[str, JsonValue] = {}
DEFAULT_LIMITS = Limits()
UNCONFINED = (
    "process_layer=False: the kernel confines nothing then. A plan that gets past the language layer reads and writes "
    "files, starts processes and opens connections with your rights. Leave process_layer on, or pass accept_risk=True "
    "if you trust every plan, as a test does"
)


class Sandbox:
    """Opens sessions, from any number of threads. A zygote that is killed from outside is replaced.

    ``language_layer`` and ``process_layer`` are there so that tests can hold each layer alone to the attacks: without
    the first, plans are plain Python; without the second, the worker keeps its rights (time, memory, output and calls
    stay limited), and the language layer alone does not hold a hostile plan. That needs ``accept_risk=True``; without
    it, ValueError is raised. ``allow_missing`` names required mechanisms that the kernel may lack. Raises
    MissingMechanism, or WorkerFailed if the worker does not behave as it should on this machine.
    """

    def __init__(
        self,
        *,
        language_layer: bool = True,
        process_layer: bool = True,
        accept_risk: bool = False,
        allow_missing: Collection[str] = (),
    ) -> None:
        if not process_layer and not accept_risk:
            raise ValueError(UNCONFINED)
        if unknown := set(allow_missing) - set(mechanisms.REQUIRED):
            raise ValueError(f"allow_missing: {sorted(unknown)} are not required; {mechanisms.REQUIRED} are")
        self._process_layer, self._language_layer = process_layer, language_layer
        self._allow_missing = tuple(allow_missing)
        self._lock = threading.Lock()
        self._zygote = self._new_zygote()
        self._found = mechanisms.read(self._zygote.granted)
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
        specs = opening.specs(functions)
        answers = Answers(specs, attributes, guarded=self._language_layer)
        settings = opening.message(specs, values, answers.changed() or {}, seed)
        return Session(lambda: self._open(settings, limits.memory_mb), answers, limits, meanwhile)

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
        return Zygote(confined=self._process_layer, guarded=self._language_layer)

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
            worker.send(settings, look)
            self._admit(messages.parse(worker.receive(look)))
        except (FrameTooLong, messages.HostileFrame) as error:
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
        if message[0] != "opened" or not isinstance(message[1], dict):
            raise messages.HostileFrame(f"{message[0]!r} out of turn")
        if not self._process_layer or message[1] == self._admitted:
            return
        before = self._zygote.granted
        reported = before | {name: before.get(name) or reason for name, reason in message[1].items()}
        self._found = mechanisms.read(reported)
        mechanisms.demand(self._found, self._allow_missing)
        self._admitted = message[1]
