"""Dry runs: check the actions of a plan against their declared preconditions, before any action is taken.

The sandbox's dry run walks through the code of a plan without running it. This module tells it the known facts
about the environment's state, and how each action would change them.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from planbook.envs import (
    UNKNOWN as UNKNOWN_ARGUMENT,
    Action,
    ActionSpec,
    Beliefs,
    Environment,
    MissingRequirement,
    Preconditions,
    Task,
)
from planbook.planner.agent import AGENT, TASK, plan_attributes
from planbook.planner.errors import environment_errors
from planbook.planner.types import Step
from planbook.sandbox import UNKNOWN, Fault, Impossible, dry_run

_SIMPLE_TYPES: Mapping[object, type | tuple[type, ...]] = {str: str, int: int, float: (int, float), bool: bool}


@dataclass(frozen=True)
class KnownState:
    """The known facts about the environment's state, in the form that the sandbox's dry run needs.

    ``preconditions`` also holds the effects that the environment declares. ``specs`` maps the name of each action to
    its description. ``beliefs`` holds the values that each fact about the state may have.
    """

    preconditions: Preconditions = field(compare=False)
    specs: Mapping[str, ActionSpec] = field(compare=False)
    beliefs: Beliefs

    def act(
        self, path: str, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> "tuple[KnownState, Impossible | None]":
        """Return the known state after a call of ``path``, and the reason why it must fail (None if it may succeed).

        A query changes nothing. An action without a contract, or a function that does not belong to ``agent``, may
        change anything.
        """
        owner, _, name = path.rpartition(".")
        if owner != AGENT:
            return self.after_unknown_actions(), None
        if name not in self.specs:
            return self, None
        arguments = _arguments(self.specs[name], args, kwargs)
        if arguments is None:
            return self, None
        contract = self.preconditions.contract(name, arguments)
        if contract is None:
            return self.after_unknown_actions(), None
        beliefs, refusal = self.beliefs.after(contract)
        impossible = Impossible(str(Action(name, tuple(arguments))), refusal) if refusal else None
        return replace(self, beliefs=beliefs), impossible

    def merged_with(self, other: "KnownState") -> "KnownState":
        """Return the facts that hold if either this state or ``other`` may be the actual one."""
        return replace(self, beliefs=self.beliefs.merged_with(other.beliefs))

    def after_unknown_actions(self) -> "KnownState":
        """Return the state after actions with unknown effects: nothing is known about any fact."""
        return replace(self, beliefs=Beliefs({}, {}))

    def attribute(self, path: str) -> object:
        """Return the value of an attribute of ``agent`` if only one value is possible, otherwise UNKNOWN."""
        fact = self.preconditions.attributes.get(path.rpartition(".")[2])
        values = self.beliefs.values(fact) if fact else None
        return next(iter(values)) if values is not None and len(values) == 1 else UNKNOWN


def _arguments(spec: ActionSpec, args: Sequence[object], kwargs: Mapping[str, object]) -> list[JsonValue] | None:
    """Return the arguments in the order of the parameters, or None if they do not fit the signature.

    An argument of the wrong type counts as unknown.
    """
    try:
        bound = spec.signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return [_argument(spec.signature.parameters[name], value) for name, value in bound.arguments.items()]


def _argument(parameter: inspect.Parameter, value: object) -> JsonValue:
    expected = _SIMPLE_TYPES.get(parameter.annotation)
    fits = value is not UNKNOWN and (expected is None or isinstance(value, expected))
    return value if fits else UNKNOWN_ARGUMENT  # type: ignore[return-value]


def known_after(environment: Environment, preconditions: Preconditions, steps: Iterable[Step]) -> KnownState:
    """Return the known state of the environment after these steps. Undone and refused steps are skipped."""
    known = KnownState(preconditions, environment.offer.actions, Beliefs.at_start(preconditions))
    for step in steps:
        if not step.undone and step.observation.accepted:
            known, _ = known.act(f"{AGENT}.{step.action.name}", step.action.args, {})
    return known


def make_dry_run(
    environment: Environment,
    task: Task,
    functions: Mapping[str, Callable[..., object]],
    plan_task: Mapping[str, JsonValue],
    steps: Callable[[], Iterable[Step]],
    *,
    helpers: str = "",
    executed_code: Sequence[str] = (),
) -> Callable[[str], list[Fault]]:
    """Return a function that takes the code of the next cell and returns a fault for each action that cannot succeed.

    The returned function finds no faults if the environment declares no preconditions. Each time it is called, it calls
    ``steps`` to get the steps before the cell, and reads ``executed_code``, to which the caller adds the code of each
    cell that has run. ``plan_task`` is the value of ``task`` in plan code. ``helpers`` is the code of the helper
    functions that the cell may call, in addition to those of the environment.

    Raises MissingRequirement if this machine lacks something that the environment needs, or EpisodeBroken for other
    errors of the environment.
    """
    with environment_errors(except_for=MissingRequirement):
        preconditions = environment.preconditions(task, environment.options)

    @environment_errors()  # the preconditions may be functions of the environment
    def find_faults(code: str) -> list[Fault]:
        if preconditions is None:
            return []
        result = dry_run(
            code,
            functions,
            known_after(environment, preconditions, steps()),
            attributes=plan_attributes(type(environment)),
            values={TASK: plan_task},
            helpers=[environment.helpers, helpers],
            earlier=executed_code,
        )
        return list(result.faults)

    return find_faults
