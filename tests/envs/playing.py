"""Helpers for tests that play episodes."""

import json
from typing import TypeVar

from planbook.envs import Action, Environment, Observation, Selection

E = TypeVar("E", bound=Environment)


def started(environment_class: type[E], task_id: str, **options: object) -> E:
    """Return an environment at the start of a task."""
    environment = environment_class(environment_class.Options.model_validate(options))
    environment.reset(environment_class.select(Selection(ids=(task_id,)), environment.options)[0])
    return environment


def do(environment: Environment, *commands: str) -> Observation:
    """Take actions such as ``craft 1 chest using 8 oak planks``, and return the last observation."""
    for command in commands:
        name, _, rest = command.partition(" ")
        last = environment.act(Action(name, tuple(rest.split(" using "))))
    return last


def call(environment: Environment, name: str, *args: object, **kwargs: object) -> object:
    """Call an action as a plan does, and return its result, or "failed: " and the error."""
    observed = environment.act(environment.actions[name].bind(*args, **kwargs))  # type: ignore[arg-type]
    if observed.failed:
        return f"failed: {observed.text}"
    return json.loads(observed.text) if observed.structured else observed.text
