"""Our sandbox and other packages that run plan code, behind one interface, so that all are timed alike."""

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import TracebackType
from typing import Any, Protocol, Self

from planbook.sandbox import Sandbox

CodeRunner = Callable[[str], object]
"""Runs code in an open session, which keeps the names that the code defines."""
SMOLAGENTS, ASTEVAL, MONTY = "smolagents", "asteval", "pydantic-monty"
MONTY_LIMITS = {"max_suspensions": 1_000_000}
"""Monty's default limit on calls is too low for the benchmark."""
MODULES: Mapping[str, str] = {SMOLAGENTS: "smolagents", ASTEVAL: "asteval", MONTY: "pydantic_monty"}
"""Maps the name of each package on the package index to the name of its module."""
IMPORTS = ("re", "json")
"""Modules that the timed code may import. Only some packages need this list."""


def go_to(receptacle: str) -> str:
    """Return an observation. The timed code calls this function, which does almost nothing, in the host."""
    return f"You are at {receptacle}."


class Engine(Protocol):
    """An engine that runs plan code."""

    name: str
    slowness: int
    """The approximate factor by which it is slower than Python. It runs fewer rounds by this factor."""
    action: str
    """Code that calls ``go_to``."""

    def session(self) -> AbstractContextManager[CodeRunner]:
        """Open a session that offers ``go_to``."""


class PlainExec:
    """Python's own exec, the baseline."""

    name, slowness, action = "plain exec", 1, "go_to('desk_1')"

    @contextmanager
    def session(self) -> Iterator[CodeRunner]:
        """Yield a function that runs code in a new namespace."""
        names: dict[str, object] = {"go_to": go_to}
        yield lambda code: exec(code, names)


class OurSandbox:
    """Our sandbox, with both the language layer and the worker process. The caller closes the sandbox."""

    name, slowness, action = "sandbox", 1, "agent.go_to('desk_1')"

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    @contextmanager
    def session(self) -> Iterator[CodeRunner]:
        """Open a session. The function that runs code raises RuntimeError if the code has a fault."""
        with self._sandbox.session({"agent.go_to": go_to}) as session:

            def run(code: str) -> object:
                result = session.run(code)
                if result.fault:
                    raise RuntimeError(f"the timed code does not run in the sandbox: {result.fault}")
                return result.value

            yield run


class Smolagents:
    """smolagents, which interprets syntax trees in this process."""

    name, slowness, action = SMOLAGENTS, 100, "go_to('desk_1')"

    @contextmanager
    def session(self) -> Iterator[CodeRunner]:
        """Create an executor."""
        from smolagents.local_python_executor import LocalPythonExecutor

        executor = LocalPythonExecutor(additional_authorized_imports=list(IMPORTS))
        executor.send_tools({"go_to": go_to})
        yield executor


class Asteval:
    """asteval, which interprets syntax trees in this process."""

    name, slowness, action = ASTEVAL, 200, "go_to('desk_1')"

    @contextmanager
    def session(self) -> Iterator[CodeRunner]:
        """Create an interpreter."""
        from asteval import Interpreter

        interpreter = Interpreter(user_symbols={"go_to": go_to}, minimal=False)
        yield lambda code: interpreter.eval(code, raise_errors=True)


class Monty:
    """Monty, an interpreter written in Rust, in a pool of processes. Use it in a ``with`` statement."""

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
    def session(self) -> Iterator[CodeRunner]:
        """Take a process from the pool."""
        with self._pool.checkout(limits=MONTY_LIMITS) as session:
            yield lambda code: session.feed_run(code, external_lookup={"go_to": go_to})


def missing_peers() -> list[str]:
    """Return the peers that are not installed."""
    return [name for name, module in MODULES.items() if importlib.util.find_spec(module) is None]


@contextmanager
def open_engines(sandbox: Sandbox) -> Iterator[list[Engine]]:
    """Yield plain Python, our sandbox, and the installed peers."""
    absent = missing_peers()
    with ExitStack() as stack:
        engines: list[Engine] = [PlainExec(), OurSandbox(sandbox)]
        engines += [peer for peer in (Smolagents(), Asteval()) if peer.name not in absent]
        if MONTY not in absent:
            engines.append(stack.enter_context(Monty()))
        yield engines
