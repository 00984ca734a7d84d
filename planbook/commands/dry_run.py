"""The dry run of `planbook check --task`: a plan, held against what a world declares of its actions."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, JsonValue

from envs import Environment, Selection, Task
from envs.preconditions import UNKNOWN as NOT_KNOWN
from envs.preconditions import Beliefs, Preconditions
from envs.types import Action, ActionSpec
from planbook.arguments import Asked
from planbook.commands.executing import read_plan
from planner import code_of, functions_to_check, is_procedure, parse_procedure, plan_attributes
from planner.surface import TASK, seen_task
from sandbox.dry import UNKNOWN, DryRun, Impossible, dry_run

_PLAIN: Mapping[object, type | tuple[type, ...]] = {str: str, int: int, float: (int, float), bool: bool, "str": str}


@dataclass(frozen=True)
class Known:
    """What is known of a world, as the sandbox asks for it."""

    declared: Preconditions = field(compare=False)
    specs: Mapping[str, ActionSpec] = field(compare=False)
    beliefs: Beliefs

    def act(
        self, path: str, args: Sequence[object], kwargs: Mapping[str, object], line: int
    ) -> "tuple[Known, Impossible | None]":
        """What is known after a call; queries change nothing."""
        name = path.rpartition(".")[2]
        if name not in self.specs:
            return self, None
        given = _arguments(self.specs[name], args, kwargs)
        if given is None:
            return self, None
        deed = self.declared.deed(name, given)
        if deed is None:
            return self.forgotten(), None
        after, refusal = self.beliefs.after(deed, line)
        shown = str(Action(name, tuple(given)))
        found = Impossible(shown, refusal.why, refusal.since) if refusal else None
        return Known(self.declared, self.specs, after), found

    def either(self, other: "Known") -> "Known":
        """What is known where one of the two is right."""
        return Known(self.declared, self.specs, self.beliefs.either(other.beliefs))

    def forgotten(self) -> "Known":
        """Nothing of what may change."""
        return Known(self.declared, self.specs, Beliefs({}, {}))

    def attribute(self, path: str) -> object:
        """The value of an attribute of ``agent``, where it can be only one."""
        fact = self.declared.attributes.get(path.rpartition(".")[2])
        values = self.beliefs.of(fact).values if fact else None
        return next(iter(values)) if values is not None and len(values) == 1 else UNKNOWN


def _arguments(spec: ActionSpec, args: Sequence[object], kwargs: Mapping[str, object]) -> list[JsonValue] | None:
    """The arguments by position; those of another type than is asked for are not known. None if they do not fit."""
    try:
        bound = spec.signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return [_argument(spec.signature.parameters[name], value) for name, value in bound.arguments.items()]


def _argument(parameter: inspect.Parameter, value: object) -> JsonValue:
    expected = _PLAIN.get(parameter.annotation)
    fits = value is not UNKNOWN and (expected is None or isinstance(value, expected))
    return value if fits else NOT_KNOWN  # type: ignore[return-value]


def dry_runs(plan: Path, asked: Asked) -> Iterator[tuple[Task, DryRun | None]]:
    """The dry run of a plan on each task that is asked for; None where the world declares no preconditions."""
    world, options = asked.world(), asked.world_options()
    for task in world.select(Selection(ids=asked.ids), options) if asked.ids else ():
        declared = world.preconditions(task, options)
        yield task, _dry_run(plan, world, options, task, declared) if declared else None


def _dry_run(
    plan: Path, world: type[Environment], options: BaseModel | None, task: Task, declared: Preconditions
) -> DryRun:
    text, helpers = read_plan(plan), [world.helpers]
    if is_procedure(text):
        given = code_of(parse_procedure(text, plan.name, plan.resolve().parent.parent / "helpers"))
        text, helpers = given.code, [*helpers, given.helpers]
    return dry_run(
        text,
        functions_to_check(world, options),
        Known(declared, world.offered(options).actions, Beliefs.at_start(declared)),
        attributes=plan_attributes(world),
        values={TASK: _task_seen(world, options, task)},
        helpers=helpers,
    )


def _task_seen(world: type[Environment], options: BaseModel | None, task: Task) -> dict[str, JsonValue]:
    """The task as plans see it; its world is set up for the first observation, and nothing is done in it."""
    played = world(options)
    try:
        return seen_task(task, played.reset(task))
    finally:
        played.close()
