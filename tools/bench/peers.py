"""Ways of running plan code, ours and others', behind one small interface, so that each is timed in the same way."""

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import TracebackType
from typing import Any, Protocol, Self

from planbook.sandbox import Sandbox

Run = Callable[[str], object]
"""Runs a piece of code in a session that is open; the session keeps its names."""
SMOLAGENTS, ASTEVAL, MONTY = "smolagents", "asteval", "pydantic-monty"
MONTY_LIMITS = {"max_suspensions": 1_000_000}
"""Its own limit on calls would end the session of the benchmark early."""
MODULES: Mapping[str, str] = {SMOLAGENTS: "smolagents", ASTEVAL: "asteval", MONTY: "pydantic_monty"}
"""Name of a peer on the package index to the module that it is."""
IMPORTS = ("re", "json")
"""What the timed code imports, where a peer must be told."""


def go_to(receptacle: str) -> str:
    """The host function that the timed code calls: it does next to nothing."""
    return f"You are at {receptacle}."


class Engine(Protocol):
    """A way of running plan code."""

    name: str
    slowness: int
    """About how many times slower than Python it is: it gets that much less to do."""
    action: str
    """How code calls ``go_to``."""

    def session(self) -> AbstractContextManager[Run]:
        """Open a session that offers ``go_to``."""


class Plain:
    """Python's own exec: what the others are held against."""

    name, slowness, action = "plain exec", 1, "go_to('desk_1')"

    @contextmanager
    def session(self) -> Iterator[Run]:
        """A namespace."""
        names: dict[str, object] = {"go_to": go_to}
        yield lambda code: exec(code, names)


class Ours:
    """The sandbox, both layers on; closed by its owner."""

    name, slowness, action = "sandbox", 1, "agent.go_to('desk_1')"

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    @contextmanager
    def session(self) -> Iterator[Run]:
        """A session whose faults are raised."""
        with self._sandbox.session({"agent.go_to": go_to}) as session:

            def run(code: str) -> object:
                result = session.run(code)
                if result.fault:
                    raise RuntimeError(f"the timed code does not run in the sandbox: {result.fault}")
                return result.value

            yield run


class Smolagents:
    """Its interpreter of syntax trees, in this process."""

    name, slowness, action = SMOLAGENTS, 100, "go_to('desk_1')"

    @contextmanager
    def session(self) -> Iterator[Run]:
        """An executor of its own."""
        from smolagents.local_python_executor import LocalPythonExecutor

        executor = LocalPythonExecutor(additional_authorized_imports=list(IMPORTS))
        executor.send_tools({"go_to": go_to})
        yield executor


class Asteval:
    """Its interpreter of syntax trees, in this process."""

    name, slowness, action = ASTEVAL, 200, "go_to('desk_1')"

    @contextmanager
    def session(self) -> Iterator[Run]:
        """An interpreter of its own."""
        from asteval import Interpreter

        interpreter = Interpreter(user_symbols={"go_to": go_to}, minimal=False)
        yield lambda code: interpreter.eval(code, raise_errors=True)


class Monty:
    """Its pool of processes, each with an interpreter written in Rust; closed by its owner."""

    name, slowness, action = MONTY, 4, "go_to('desk_1')"

    def __init__(self) -> None:
        import pydantic_monty

        self._pool: Any = pydantic_monty.Monty()

    def __enter__(self) -> Self:
        self._pool.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.__exit__(kind, error, trace)

    @contextmanager
    def session(self) -> Iterator[Run]:
        """A process checked out."""
        with self._pool.checkout(limits=MONTY_LIMITS) as session:
            yield lambda code: session.feed_run(code, external_lookup={"go_to": go_to})


def missing() -> list[str]:
    """The peers that are not installed."""
    return [name for name, module in MODULES.items() if importlib.util.find_spec(module) is None]


@contextmanager
def engines(sandbox: Sandbox) -> Iterator[list[Engine]]:
    """Plain Python, our sandbox, and the peers that are installed."""
    absent = missing()
    with ExitStack() as stack:
        found: list[Engine] = [Plain(), Ours(sandbox)]
        found += [peer for peer in (Smolagents(), Asteval()) if peer.name not in absent]
        if MONTY not in absent:
            found.append(stack.enter_context(Monty()))
        yield found
