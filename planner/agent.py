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
    """Return an action or query as a callable for the sandbox, with the signature that plan code sees."""
    function = partial(call, spec)
    vars(function)["__signature__"] = spec.signature
    return function


def seen_task(task: Task, observation: Observation) -> dict[str, JsonValue]:
    """Return the ``task`` that plan code sees; ``observation`` is the one that the reset returned."""
    fields = task.model_dump(mode="json", include={"id", "type", "goal", "params"})
    return {**fields, "observation": observation.text}


def plan_value(observation: Observation) -> JsonValue:
    """Return the value that an action returns to the plan. Raises RuntimeError if the action failed."""
    if observation.failed:
        raise RuntimeError(observation.text)
    value: JsonValue = json.loads(observation.text) if observation.structured else observation.text
    return value


def plan_functions(offer: Offered, act: CallFunction, answer: CallFunction) -> dict[str, Callable[..., object]]:
    """Return the functions that an environment's plans may call, by dotted name.

    ``act`` carries out actions, and ``answer`` answers queries.
    """
    actions = {f"{AGENT}.{name}": plan_function(spec, act) for name, spec in offer.actions.items()}
    queries = {f"{AGENT}.{name}": plan_function(spec, answer) for name, spec in offer.queries.items()}
    return {**actions, **queries}


def plan_attributes(environment: type[Environment]) -> tuple[str, ...]:
    """Return the dotted names of the attributes that an environment's plans may read."""
    return tuple(f"{AGENT}.{name}" for name in environment.attributes)


def functions_to_check(
    environment: type[Environment], options: BaseModel | None = None
) -> dict[str, Callable[..., object]]:
    """Return the functions for a static check. They only have signatures: a call raises RuntimeError."""
    return plan_functions(environment.offered(options), _not_callable, _not_callable)


def _not_callable(spec: ActionSpec, /, *args: JsonValue, **kwargs: JsonValue) -> JsonValue:
    raise RuntimeError(f"{spec.name} cannot be called: the functions of a static check only have signatures")


class ActionDoc(BaseModel):
    """The documentation of an action or query, for prompts."""

    name: str
    signature: str
    doc: str
    example: str


class ActionDocs(BaseModel):
    """The documentation of everything that plans may use. ``attributes`` are pairs of name and meaning."""

    actions: tuple[ActionDoc, ...]
    queries: tuple[ActionDoc, ...]
    attributes: tuple[tuple[str, str], ...]
    helpers: str


def action_docs(environment: type[Environment], options: BaseModel | None = None, goal: str = "") -> ActionDocs:
    """Return the action docs of an environment under these options.

    An environment with many actions may list only those that fit the goal.
    """
    offer = environment.listed(options, goal)
    return ActionDocs(
        actions=tuple(map(action_doc, offer.actions.values())),
        queries=tuple(map(action_doc, offer.queries.values())),
        attributes=tuple(environment.attributes.items()),
        helpers=environment.helpers.strip(),
    )


def function_heads(code: str) -> str:
    """Return the signatures and docstrings of the functions in code; the code itself if it holds anything else."""
    parts = parse_source(code).body
    functions = [part for part in parts if isinstance(part, ast.FunctionDef)]
    return "\n\n".join(map(_head, functions)) if len(functions) == len(parts) else code.strip()


def function_signatures(code: str, names: Collection[str]) -> list[str]:
    """Return the signatures of the functions in code whose names are in ``names``, such as ``find(agent, name)``."""
    functions = (part for part in parse_source(code).body if isinstance(part, ast.FunctionDef))
    return [f"{part.name}({ast.unparse(part.args)})" for part in functions if part.name in names]


def _head(function: ast.FunctionDef) -> str:
    docstring = " ".join((ast.get_docstring(function) or "").split())
    body: list[ast.stmt] = [ast.Expr(ast.Constant(value)) for value in (docstring, ...) if value]
    head = ast.FunctionDef(function.name, function.args, body, [], function.returns)
    return ast.unparse(ast.fix_missing_locations(head))


def action_docs_of(environment: Environment) -> ActionDocs:
    """Return the action docs of an environment that is being played."""
    return action_docs(type(environment), environment.options, environment.task.goal if environment.task else "")


def call_of(action: Action) -> str:
    """Return an action as a call in plan code."""
    return f"{AGENT}.{action}"


def action_doc(spec: ActionSpec) -> ActionDoc:
    """Return the documentation of an action, query or goal."""
    signature = str(spec.signature).replace(f" -> {Observation.__module__}.Observation", " -> str")
    return ActionDoc(name=spec.name, signature=signature, doc=spec.doc, example=spec.example)
