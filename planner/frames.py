"""Frames: the namespaces in which an episode's plan code runs, one nested in another."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps

from pydantic import JsonValue

from planbook.envs import Action, Environment, Snapshot
from planbook.planner.agent import AGENT, TASK, plan_attributes
from planbook.planner.errors import CellOver, EpisodeBroken, FunctionError, environment_errors
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
    """A state to return to: the environment, the namespace, and the number of steps before it."""

    path: str
    number: int
    environment: Snapshot
    session: int
    names: frozenset[str]
    steps: int


@dataclass
class Frame:
    """One sandbox session, and the names that are defined in it."""

    scope: Scope
    session: Session
    functions: Functions
    attributes: Sequence[str]
    names: frozenset[str]
    modules: Sequence[str]
    cells: int = 0
    ran: list[str] = field(default_factory=list)
    """The code of the cells that may have left something in the namespace, without the helpers."""
    dry_run: Callable[[str], list[Fault]] = lambda code: []
    """Returns a fault for each action of a cell that cannot succeed; none if the frame has no dry run."""
    actions: int | None = None
    """Number of actions that the running cell may still take; None if only the episode limits them."""
    first_step: int = 0
    """Number of steps before the running cell."""
    _printed: int = 0
    _last_mark: int = 0
    _marks: list[int] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The path of the frame's scope in the journal."""
        return self.scope.path

    def new_mark(self) -> int:
        """Add a mark and return its number."""
        self._last_mark += 1
        self._marks.append(self._last_mark)
        return self._last_mark

    def return_to(self, mark: int) -> bool:
        """Forget the marks made after this one. Return False if an earlier return has undone this one."""
        if mark not in self._marks:
            return False
        del self._marks[self._marks.index(mark) + 1 :]
        return True

    def begin_cell(self, actions: int | None, first_step: int) -> None:
        """Begin a cell. ``actions`` is the number that it may take; None if only the episode limits them."""
        self.actions, self.first_step, self._printed = actions, first_step, 0

    def count_down(self, action: Action) -> None:
        """Count one more action of the running cell. Raises CellOver if the cell has used up its actions."""
        if self.actions == 0:
            message = f"This code has taken all the actions that it may: {action} was not taken."
            raise CellOver(f"{message} What it defined is forgotten.")
        if self.actions is not None:
            self.actions -= 1

    def newly_printed(self) -> str:
        """Return the output of the running cell since the last call."""
        new = self.session.output[self._printed :]
        self._printed += len(new)
        return new

    def faults(self, code: str) -> list[Fault]:
        """Return the faults that the check finds in the next cell, else those that the dry run finds."""
        faults = check(code, self.functions, attributes=self.attributes, names=self.names, modules=self.modules)
        return faults or self.dry_run(code)

    def faults_of_part(self, code: str, names: frozenset[str]) -> list[Fault]:
        """Return the faults of a part of the next cell; ``names`` are those defined before it."""
        return check_part(code, self.functions, attributes=self.attributes, names=names, modules=self.modules)

    def run_part(self, cell: GrowingCell, code: str) -> Fault | None:
        """Run the next part of a cell."""
        with unwrap_method_errors():
            return cell.run(code)

    def add_names(self, code: str, result: CellResult) -> None:
        """Add the names that a cell defined, for later cells. A cell that reached a limit leaves none."""
        if result.fault is None or result.fault.kind is FaultKind.RAISED:
            self.names |= bound_names(code)
            self.ran.append(code)


@contextmanager
def unwrap_method_errors() -> Iterator[None]:
    """Raise the original error of a method's own function, after FunctionError carried it past the plan."""
    try:
        yield
    except FunctionError as raised:
        raise raised.error from raised.error.__cause__


class Frames:
    """The open frames of an episode, the innermost last. Each has its own worker and namespace."""

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
        callables = {**self._functions, **{name: _wrap_errors(function) for name, function in functions.items()}}
        session = self._sandbox.session(
            callables,
            values={TASK: task},
            attributes=self._attributes,
            limits=self._limits,
            seed=seed,
            meanwhile=self._meanwhile,
        )
        environment = self._environment
        attributes = plan_attributes(type(environment))
        frame = Frame(scope, session, callables, attributes, frozenset({TASK}), environment.modules)
        self._open.append(frame)
        for source, code in (("world's helpers", environment.helpers), ("helpers", helpers)):
            if not code:
                continue
            with unwrap_method_errors():
                result = session.run(code, source)
            if result.fault:
                raise EpisodeBroken(f"the {source} cannot be defined: {result.fault}")
            frame.names |= bound_names(code)
        return frame

    def close(self, frame: Frame) -> None:
        """Close a frame and all frames inside it."""
        while frame in self._open:
            self._open.pop().session.close()

    def close_all(self) -> None:
        """Close every frame."""
        while self._open:
            self._open.pop().session.close()

    @environment_errors()
    def _attributes(self) -> dict[str, JsonValue]:
        return {f"{AGENT}.{name}": value for name, value in self._environment.attribute_values().items()}


def _wrap_errors(function: Callable[..., object]) -> Callable[..., object]:
    """Wrap a method's own function: it raises FunctionError, so that its errors do not count as the plan's.

    If the model of a nested plan does not answer, the run must stop; the subtask has not failed.
    """

    @wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            raise FunctionError(error) from error

    return call
