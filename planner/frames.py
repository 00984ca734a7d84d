"""Frames: the namespaces in which an episode's plan code runs, one nested in the other."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps

from pydantic import JsonValue

from planbook.envs import Action, Environment, Snapshot
from planbook.planner.agent import AGENT, TASK, plan_attributes
from planbook.planner.errors import CellOver, EpisodeBroken, NotThePlans
from planbook.planner.scope import Scope
from planbook.sandbox import (
    CellResult,
    Fault,
    FaultKind,
    GrowingCell,
    Limits,
    Sandbox,
    Session,
    bound_names,
    check,
    check_part,
)

Functions = Mapping[str, Callable[..., object]]


@dataclass(frozen=True)
class Mark:
    """A moment to return to: the environment, the namespace, and the number of steps taken so far."""

    path: str
    number: int
    environment: Snapshot
    session: int
    names: frozenset[str]
    steps: int


@dataclass
class Frame:
    """One sandbox session, and the names known to be defined in it."""

    scope: Scope
    session: Session
    functions: Functions
    attributes: Sequence[str]
    names: frozenset[str]
    modules: Sequence[str]
    cells: int = 0
    dry_run: Callable[[str], list[Fault]] = lambda code: []
    """Find the actions of a cell that cannot succeed; finds nothing where dry runs are off."""
    actions: int | None = None
    """Number of actions that the running cell may still take; None for no limit but the episode's."""
    _printed: int = 0
    _marked: int = 0
    _marks: list[int] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The path of the frame's scope in the journal."""
        return self.scope.path

    def new_mark(self) -> int:
        """Return the number of a new mark."""
        self._marked += 1
        self._marks.append(self._marked)
        return self._marked

    def back_to(self, mark: int) -> bool:
        """Forget the marks made after this one. Return False if this one was undone itself."""
        if mark not in self._marks:
            return False
        del self._marks[self._marks.index(mark) + 1 :]
        return True

    def begin_cell(self, actions: int | None) -> None:
        """Begin a cell that may take so many actions."""
        self.actions, self._printed = actions, 0

    def count_down(self, action: Action) -> None:
        """Count one more action of the running cell. Raises CellOver when the cell has used up its actions."""
        if self.actions == 0:
            refused = f"This code has taken all the actions that it may: {action} was not taken."
            raise CellOver(f"{refused} What it defined is forgotten.")
        if self.actions is not None:
            self.actions -= 1

    def newly_printed(self) -> str:
        """Return what the running cell has printed since the last call."""
        new = self.session.output[self._printed :]
        self._printed += len(new)
        return new

    def faults(self, code: str) -> list[Fault]:
        """Return the faults that the check, or else the dry run, finds in the next cell."""
        found = check(code, self.functions, attributes=self.attributes, names=self.names, modules=self.modules)
        return found or self.dry_run(code)

    def faults_of_part(self, code: str, names: frozenset[str]) -> list[Fault]:
        """Return the faults of a part of the next cell, given the names that are defined there."""
        return check_part(code, self.functions, attributes=self.attributes, names=names, modules=self.modules)

    def run_part(self, cell: GrowingCell, code: str) -> Fault | None:
        """Run the next part of a cell."""
        with methods_own_errors():
            return cell.run(code)

    def learn(self, code: str, result: CellResult) -> None:
        """Add the names that a cell defined, which later cells know. A cell that reached a limit leaves none."""
        if result.fault is None or result.fault.kind is FaultKind.RAISED:
            self.names |= bound_names(code)


@contextmanager
def methods_own_errors() -> Iterator[None]:
    """Raise an error of a method's own function unchanged, past the plan that called it."""
    try:
        yield
    except NotThePlans as raised:
        raise raised.error from raised.error.__cause__


class Frames:
    """The open frames of an episode, the innermost last. Each has a worker and a namespace of its own."""

    def __init__(
        self,
        sandbox: Sandbox,
        environment: Environment,
        limits: Limits,
        functions: Functions,
        meanwhile: Callable[[], None],
    ) -> None:
        self._sandbox, self._environment, self._limits, self._functions = sandbox, environment, limits, functions
        self._meanwhile = meanwhile
        self._open: list[Frame] = []

    @property
    def innermost(self) -> Frame | None:
        """The frame in which plan code runs now; None if none is open."""
        return self._open[-1] if self._open else None

    def open(self, scope: Scope, task: JsonValue, seed: str, functions: Functions, helpers: str) -> Frame:
        """Open a frame inside the innermost one. Raises EpisodeBroken if its helpers cannot be defined."""
        offered = {**self._functions, **{name: _outright(function) for name, function in functions.items()}}
        session = self._sandbox.session(
            offered,
            values={TASK: task},
            attributes=self._attributes,
            limits=self._limits,
            seed=seed,
            meanwhile=self._meanwhile,
        )
        frame = Frame(
            scope,
            session,
            offered,
            plan_attributes(type(self._environment)),
            frozenset({TASK}),
            self._environment.modules,
        )
        self._open.append(frame)
        for source, code in (("world's helpers", self._environment.helpers), ("helpers", helpers)):
            if not code:
                continue
            with methods_own_errors():
                result = session.run(code, source)
            frame.learn(code, result)
            if result.fault:
                raise EpisodeBroken(f"the {source} cannot be defined: {result.fault}")
        return frame

    def close(self, frame: Frame) -> None:
        """Close a frame and all frames inside it."""
        while frame in self._open:
            self._open.pop().session.close()

    def close_all(self) -> None:
        """Close every frame."""
        while self._open:
            self._open.pop().session.close()

    def _attributes(self) -> dict[str, JsonValue]:
        return {f"{AGENT}.{name}": value for name, value in self._environment.attribute_values().items()}


def _outright(function: Callable[..., object]) -> Callable[..., object]:
    """Wrap a method's own function so that its errors end the cell instead of counting as the plan's.

    A nested plan whose model does not answer must stop the run, not fail its subtask.
    """

    @wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            raise NotThePlans(error) from error

    return call
