"""Action docs: the actions and queries of an environment as methods of ``agent``, for plans and for prompts."""

import ast
import json
from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol

from pydantic import BaseModel, JsonValue

from planbook.envs import Action, ActionSpec, Environment, Observation, Offered, Task
from planbook.sandbox import parse_source

AGENT = "agent"
"""The name under which plans see the actions of the environment."""
TASK = "task"
"""The name under which plans see the task."""


class CallFunction(Protocol):
    """Carries out one call of plan code."""

    def __call__(self, spec: ActionSpec, /, *args: JsonValue, **kwargs: JsonValue) -> JsonValue:
        """Return the answer that the plan receives."""


def plan_function(spec: ActionSpec, call: CallFunction) -> Callable[..., object]:
    """Return an action or query as the sandbox takes it: a callable with the signature that plan code sees."""
    function = partial(call, spec)
    vars(function)["__signature__"] = spec.signature
    return function


def seen_task(task: Task, observation: Observation) -> dict[str, JsonValue]:
    """Return what plan code sees as ``task``; the observation is that of the reset."""
    shown = task.model_dump(mode="json", include={"id", "type", "goal", "params"})
    return {**shown, "observation": observation.text}


def received(observation: Observation) -> JsonValue:
    """Return what the plan receives of an observation. Raises RuntimeError if the action failed."""
    if observation.failed:
        raise RuntimeError(observation.text)
    value: JsonValue = json.loads(observation.text) if observation.structured else observation.text
    return value


def plan_functions(offer: Offered, act: CallFunction, answer: CallFunction) -> dict[str, Callable[..., object]]:
    """Return the functions of an environment's plans by dotted name.

    ``act`` carries out actions, ``answer`` queries.
    """
    actions = {f"{AGENT}.{name}": plan_function(spec, act) for name, spec in offer.actions.items()}
    queries = {f"{AGENT}.{name}": plan_function(spec, answer) for name, spec in offer.queries.items()}
    return {**actions, **queries}


def plan_attributes(environment: type[Environment]) -> tuple[str, ...]:
    """Return the dotted names of the read-only attributes of an environment's plans."""
    return tuple(f"{AGENT}.{name}" for name in environment.attributes)


def functions_to_check(
    environment: type[Environment], options: BaseModel | None = None
) -> dict[str, Callable[..., object]]:
    """Return the functions for a static check. They have signatures and cannot be called."""
    return plan_functions(environment.offered(options), _not_callable, _not_callable)


def _not_callable(spec: ActionSpec, /, *args: JsonValue, **kwargs: JsonValue) -> JsonValue:
    raise RuntimeError(f"{spec.name} was called, but only a check was asked for")


class ActionDoc(BaseModel):
    """The documentation of an action or query, for prompts."""

    name: str
    signature: str
    doc: str
    example: str


class ActionDocs(BaseModel):
    """The documentation of all that an environment's plans may use. ``attributes`` are pairs of name and meaning."""

    actions: tuple[ActionDoc, ...]
    queries: tuple[ActionDoc, ...]
    attributes: tuple[tuple[str, str], ...]
    helpers: str


def action_docs(environment: type[Environment], options: BaseModel | None = None, goal: str = "") -> ActionDocs:
    """Return the action docs of an environment under these options, and for this goal where it selects by it."""
    offer = environment.listed(options, goal)
    return ActionDocs(
        actions=tuple(map(shown, offer.actions.values())),
        queries=tuple(map(shown, offer.queries.values())),
        attributes=tuple(environment.attributes.items()),
        helpers=environment.helpers.strip(),
    )


def function_heads(code: str) -> str:
    """Return signatures and docstrings of the functions in code. Code with anything else is returned unchanged."""
    parts = parse_source(code).body
    functions = [part for part in parts if isinstance(part, ast.FunctionDef)]
    return "\n\n".join(map(_head, functions)) if len(functions) == len(parts) else code.strip()


def function_signatures(code: str, names: Collection[str]) -> list[str]:
    """Return how the functions in code are called, such as ``find(agent, name)``, for those among ``names``."""
    functions = (part for part in parse_source(code).body if isinstance(part, ast.FunctionDef))
    return [f"{part.name}({ast.unparse(part.args)})" for part in functions if part.name in names]


def _head(function: ast.FunctionDef) -> str:
    meaning = " ".join((ast.get_docstring(function) or "").split())
    body: list[ast.stmt] = [ast.Expr(ast.Constant(each)) for each in (meaning, ...) if each]
    head = ast.FunctionDef(function.name, function.args, body, [], function.returns)
    return ast.unparse(ast.fix_missing_locations(head))


def action_docs_of(environment: Environment) -> ActionDocs:
    """Return the action docs of an environment that is being played."""
    return action_docs(type(environment), environment.options, environment.task.goal if environment.task else "")


def call_of(action: Action) -> str:
    """Return an action as plan code calls it."""
    return f"{AGENT}.{action}"


def shown(spec: ActionSpec) -> ActionDoc:
    """Return the documentation of an action, query or goal."""
    signature = str(spec.signature).replace(f" -> {Observation.__module__}.Observation", " -> str")
    return ActionDoc(name=spec.name, signature=signature, doc=spec.doc, example=spec.example)
