"""Dry runs: check a plan's actions against their declared preconditions before the first is taken."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from planbook.envs import UNKNOWN as UNKNOWN_ARGUMENT
from planbook.envs import Action, ActionSpec, Beliefs, Environment, MissingRequirement, Preconditions, Task
from planbook.planner.agent import AGENT, TASK, plan_attributes
from planbook.planner.errors import environment_errors
from planbook.planner.types import Step
from planbook.sandbox import UNKNOWN, Fault, Impossible, dry_run

_PLAIN: Mapping[object, type | tuple[type, ...]] = {str: str, int: int, float: (int, float), bool: bool}


EARLIER_CELLS = 0
"""Line number that stands for earlier cells."""


@dataclass(frozen=True)
class KnownState:
    """The known part of the environment's state, in the form that the sandbox's dry run needs."""

    declared: Preconditions = field(compare=False)
    specs: Mapping[str, ActionSpec] = field(compare=False)
    beliefs: Beliefs

    def act(
        self, path: str, args: Sequence[object], kwargs: Mapping[str, object], line: int
    ) -> "tuple[KnownState, Impossible | None]":
        """Return the state after a call, and the reason why the call cannot succeed; None if it may succeed.

        Queries change nothing; functions outside ``agent`` may change anything.
        """
        owner, _, name = path.rpartition(".")
        if owner != AGENT:
            return self.forgotten(), None
        if name not in self.specs:
            return self, None
        arguments = _arguments(self.specs[name], args, kwargs)
        if arguments is None:
            return self, None
        deed = self.declared.deed(name, arguments)
        if deed is None:
            return self.forgotten(), None
        after, refusal = self.beliefs.after(deed, line)
        call = str(Action(name, tuple(arguments)))
        impossible = Impossible(call, refusal.why, tuple(filter(None, refusal.since))) if refusal else None
        return KnownState(self.declared, self.specs, after), impossible

    def either(self, other: "KnownState") -> "KnownState":
        """Return what is known if either state may be the actual one."""
        return KnownState(self.declared, self.specs, self.beliefs.either(other.beliefs))

    def forgotten(self) -> "KnownState":
        """Return a state in which nothing changeable is known."""
        return KnownState(self.declared, self.specs, Beliefs({}, {}))

    def attribute(self, path: str) -> object:
        """Return the value of an attribute of ``agent``; UNKNOWN unless only one value is possible."""
        fact = self.declared.attributes.get(path.rpartition(".")[2])
        values = self.beliefs.of(fact).values if fact else None
        return next(iter(values)) if values is not None and len(values) == 1 else UNKNOWN


def _arguments(spec: ActionSpec, args: Sequence[object], kwargs: Mapping[str, object]) -> list[JsonValue] | None:
    """Return the arguments by position; None if they do not fit. A value of the wrong type counts as unknown."""
    try:
        bound = spec.signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return [_argument(spec.signature.parameters[name], value) for name, value in bound.arguments.items()]


def _argument(parameter: inspect.Parameter, value: object) -> JsonValue:
    expected = _PLAIN.get(parameter.annotation)
    fits = value is not UNKNOWN and (expected is None or isinstance(value, expected))
    return value if fits else UNKNOWN_ARGUMENT  # type: ignore[return-value]


def known_after(environment: Environment, declared: Preconditions, steps: Iterable[Step]) -> KnownState:
    """Return the state that is known after an episode's steps."""
    known = KnownState(declared, environment.offer.actions, Beliefs.at_start(declared))
    for step in steps:
        if not step.undone and step.observation.accepted:
            known, _ = known.act(f"{AGENT}.{step.action.name}", step.action.args, {}, EARLIER_CELLS)
    return known


def dry_run_of(
    environment: Environment,
    task: Task,
    functions: Mapping[str, Callable[..., object]],
    plan_task: Mapping[str, JsonValue],
    steps: Callable[[], Iterable[Step]],
    *,
    helpers: str = "",
    ran: Sequence[str] = (),
) -> Callable[[str], list[Fault]]:
    """Return a function that finds the actions of an episode's next cell that are certain to fail when reached.

    ``steps`` returns the steps before the cell; ``plan_task`` is the ``task`` of plan code. ``helpers`` are those of
    the frame, and ``ran`` grows by each cell that runs in it. The function finds nothing if no preconditions are
    declared. Raises MissingRequirement, and EpisodeBroken for other errors of the environment.
    """
    with environment_errors(but=MissingRequirement):
        declared = environment.preconditions(task, environment.options)

    @environment_errors()  # the preconditions may be functions of the environment
    def find(code: str) -> list[Fault]:
        if declared is None:
            return []
        result = dry_run(
            code,
            functions,
            known_after(environment, declared, steps()),
            attributes=plan_attributes(type(environment)),
            values={TASK: plan_task},
            helpers=[environment.helpers, helpers],
            earlier=ran,
        )
        return list(result.faults)

    return find
