"""Frames: the namespaces in which the plan code of an episode runs.

A frame can be opened inside another frame, for example for a subtask. A cell is a piece of plan code that is run as a
unit. A cell can use the names that earlier cells of the same frame have defined.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps

from pydantic import JsonValue

from planbook.envs import Action, Environment, Snapshot
from planbook.planner.agent import AGENT, TASK, plan_attributes
from planbook.planner.errors import CellOver, EpisodeBroken, FunctionError, WrongMark, environment_errors
from planbook.planner.scope import Scope
from planbook.sandbox import (
    CellResult,
    Fault,
    FaultKind,
    GrowingCell,
    Limits,
    Sandbox,
    Session,
    check,
    check_part,
    possibly_bound_names,
)

Functions = Mapping[str, Callable[..., object]]


@dataclass(frozen=True, eq=False)
class Mark:
    """A checkpoint: a state of the environment and of a frame's namespace that an episode can return to.

    ``path`` is the path of the frame's scope. ``session_mark`` is the number of the matching mark in the session.
    ``names`` are the names that were defined when the mark was made. ``step_count`` counts the round's earlier steps.
    """

    path: str
    snapshot: Snapshot
    session_mark: int
    names: frozenset[str]
    step_count: int


@dataclass
class Frame:
    """A sandbox session, together with the names that its plan code may use or has defined."""

    scope: Scope
    session: Session
    functions: Functions
    attributes: Sequence[str]
    names: frozenset[str]
    modules: Sequence[str]
    cell_count: int = 0
    executed_code: list[str] = field(default_factory=list)
    """The code of earlier cells whose definitions may still exist. The code of helper functions is not included."""
    dry_run: Callable[[str], list[Fault]] = lambda code: []
    """Takes the code of a cell, and returns a fault for each action that cannot succeed. The default finds none."""
    actions_left: int | None = None
    """Number of actions that the running cell may still take, or None if only the episode limits them."""
    first_step: int = 0
    """Number of the round's steps before the running cell."""
    limit_message: str = ""
    """If the running cell had no actions left: a message that names the action that was refused. Otherwise empty."""
    marks: list[Mark] = field(default_factory=list)
    """The marks to which the frame can return, in the order in which they were made."""
    _printed_chars: int = 0

    @property
    def path(self) -> str:
        """The path of the frame's scope in the journal."""
        return self.scope.path

    def return_to(self, mark: Mark) -> None:
        """Restore the namespace of a mark, and remove later marks. Raises WrongMark if the mark is not in ``marks``."""
        if mark.path != self.path:
            raise WrongMark(f"the mark belongs to frame {mark.path}; the innermost frame is {self.path}")
        if mark not in self.marks:
            raise WrongMark(f"this mark of {self.path} was removed by an earlier rewind; make a new one")
        del self.marks[self.marks.index(mark) + 1 :]
        self.session.rewind(mark.session_mark)
        self.names = mark.names

    def begin_cell(self, actions: int | None, first_step: int) -> None:
        """Begin a cell that may take ``actions`` actions, or as many as the episode allows if it is None."""
        self.actions_left, self.first_step = actions, first_step
        self._printed_chars, self.limit_message = 0, ""

    def count_down(self, action: Action) -> None:
        """Count an action that the running cell is about to take. Raises CellOver if the cell has none left."""
        if self.actions_left == 0:
            message = f"This code has taken all the actions it is allowed to take: {action} was not taken."
            self.limit_message = f"{message} What it defined has been forgotten."
            raise CellOver(self.limit_message)
        if self.actions_left is not None:
            self.actions_left -= 1

    def newly_printed(self) -> str:
        """Return the output that the running cell has printed since the last call."""
        new = self.session.output[self._printed_chars :]
        self._printed_chars += len(new)
        return new

    def faults(self, code: str, *, allow_definitions_only: bool = False) -> list[Fault]:
        """Return the faults that the static check finds in the next cell or, if it finds none, those of the dry run.

        Unless ``allow_definitions_only``, a cell must do more than define functions.
        """
        faults = check(
            code,
            self.functions,
            allow_definitions_only=allow_definitions_only,
            attributes=self.attributes,
            names=self.names,
            modules=self.modules,
        )
        return faults or self.dry_run(code)

    def faults_of_part(self, code: str, names: frozenset[str]) -> list[Fault]:
        """Return the faults in a part of the next cell. ``names`` are the names defined before this part."""
        return check_part(code, self.functions, attributes=self.attributes, names=names, modules=self.modules)

    def run_part(self, cell: GrowingCell, code: str) -> Fault | None:
        """Run the next part of a cell. Return the fault that ended the part, or None if it ran to its end."""
        with unwrap_method_errors():
            return cell.run(code)

    def add_names(self, code: str, result: CellResult) -> None:
        """Let later cells use the names that a cell has defined. A cell that exceeded a limit defines nothing."""
        if result.fault is None or result.fault.kind is FaultKind.RAISED:
            self.names |= possibly_bound_names(code)
            self.executed_code.append(code)


@contextmanager
def unwrap_method_errors() -> Iterator[None]:
    """Replace a FunctionError with the error that it wraps, which one of the planning method's functions raised.

    It was wrapped so that the plan that called the function could not catch it.
    """
    try:
        yield
    except FunctionError as raised:
        raise raised.error from raised.error.__cause__


class Frames:
    """The open frames of an episode, from the outermost to the innermost. Each has a separate worker process."""

    def __init__(
        self,
        sandbox: Sandbox,
        environment: Environment,
        limits: Limits,
        functions: Functions,
        on_wait: Callable[[], None],
    ) -> None:
        self._sandbox, self._environment, self._limits, self._functions = sandbox, environment, limits, functions
        self._on_wait = on_wait
        self._open_frames: list[Frame] = []

    @property
    def innermost(self) -> Frame | None:
        """The frame in which plan code runs, or None if no frame is open."""
        return self._open_frames[-1] if self._open_frames else None

    def open(self, scope: Scope, task: JsonValue, seed: str, functions: Functions, helpers: str) -> Frame:
        """Open a frame inside the innermost one, and run its helper code. Raises EpisodeBroken if that code fails."""
        callables = {**self._functions, **{name: _wrap_errors(function) for name, function in functions.items()}}
        session = self._sandbox.session(
            callables,
            values={TASK: task},
            attributes=self._attributes,
            limits=self._limits,
            seed=seed,
            on_wait=self._on_wait,
        )
        environment = self._environment
        attributes = plan_attributes(type(environment))
        frame = Frame(scope, session, callables, attributes, frozenset({TASK}), environment.modules)
        self._open_frames.append(frame)
        for source, code in (("environment's helpers", environment.helpers), ("helpers", helpers)):
            if not code:
                continue
            with unwrap_method_errors():
                result = session.run(code, source)
            if result.fault:
                raise EpisodeBroken(f"the {source} cannot be defined: {result.fault}")
            frame.names |= possibly_bound_names(code)
        return frame

    def close(self, frame: Frame) -> None:
        """Close a frame and all frames that were opened inside it."""
        while frame in self._open_frames:
            self._open_frames.pop().session.close()

    def close_all(self) -> None:
        """Close every frame."""
        while self._open_frames:
            self._open_frames.pop().session.close()

    @environment_errors()
    def _attributes(self) -> dict[str, JsonValue]:
        return {f"{AGENT}.{name}": value for name, value in self._environment.attribute_values().items()}


def _wrap_errors(function: Callable[..., object]) -> Callable[..., object]:
    """Wrap a function of the planning method, so that its errors become FunctionError, which plan code cannot catch.

    Such an error is not the plan's fault. For example, if the function asks a model and the model does not answer, the
    run must stop, and the plan must not treat its subtask as failed.
    """

    @wraps(function)
    def call(*args: object, **kwargs: object) -> object:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            raise FunctionError(error) from error

    return call
