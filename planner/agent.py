"""The actions and queries of an environment, as functions for plan code and as documentation for prompts.

Plan code calls both as methods of ``agent``, for example ``agent.open('box')``. An action may change the environment. A
query only reads the environment's state.
"""

import ast
import json
from collections.abc import Callable, Collection
from functools import partial
from typing import Concatenate

from pydantic import BaseModel, JsonValue

from planbook.envs import Action, ActionSpec, Environment, Observation, Offer, Task
from planbook.sandbox import parse_source

AGENT = "agent"
"""The variable in plan code whose methods are the actions and queries of the environment."""
TASK = "task"
"""The variable in plan code that holds the task."""
CallFunction = Callable[Concatenate[ActionSpec, ...], JsonValue]
"""Carries out one call in plan code. Returns the value that the plan receives."""


def plan_function(spec: ActionSpec, call: CallFunction) -> Callable[..., object]:
    """Return the function that plan code calls for an action or query. It has the signature in ``spec``."""
    function = partial(call, spec)
    vars(function)["__signature__"] = spec.signature
    return function


def plan_task(task: Task, observation: Observation) -> dict[str, JsonValue]:
    """Return the value of ``task`` in plan code. ``observation`` is the one returned by the reset."""
    fields = task.model_dump(mode="json", include={"id", "type", "goal", "params"})
    return {**fields, "observation": observation.text}


def plan_value(observation: Observation) -> JsonValue:
    """Return the value that an action returns to the plan: the text of its observation or, if structured, its data.

    Raises RuntimeError if the action failed.
    """
    if observation.failed:
        raise RuntimeError(observation.text)
    value: JsonValue = json.loads(observation.text) if observation.structured else observation.text
    return value


def plan_functions(offer: Offer, act: CallFunction, answer: CallFunction) -> dict[str, Callable[..., object]]:
    """Return a dict that maps the dotted name of each action and query to a function for plan code.

    ``act`` carries out actions, and ``answer`` answers queries.
    """
    actions = {f"{AGENT}.{name}": plan_function(spec, act) for name, spec in offer.actions.items()}
    queries = {f"{AGENT}.{name}": plan_function(spec, answer) for name, spec in offer.queries.items()}
    return {**actions, **queries}


def plan_attributes(environment: type[Environment]) -> tuple[str, ...]:
    """Return the dotted names of the attributes that plans may read in this environment."""
    return tuple(f"{AGENT}.{name}" for name in environment.attributes)


def functions_to_check(
    environment: type[Environment], options: BaseModel | None = None
) -> dict[str, Callable[..., object]]:
    """Return the functions that plan code may call, for a static check.

    The check needs only their signatures. Calling one of them raises RuntimeError.
    """
    return plan_functions(environment.offered(options), _not_callable, _not_callable)


def _not_callable(spec: ActionSpec, /, *args: JsonValue, **kwargs: JsonValue) -> JsonValue:
    raise RuntimeError(f"{spec.name} cannot be called: the functions of a static check only have signatures")


class ActionDoc(BaseModel):
    """The documentation of one action or query, for prompts."""

    name: str
    signature: str
    doc: str
    example: str


class ActionDocs(BaseModel):
    """The documentation of everything that an environment offers to plans, for prompts.

    ``attributes`` holds pairs of an attribute's name and its meaning. ``helpers`` is the code of the environment's
    helper functions.
    """

    actions: tuple[ActionDoc, ...]
    queries: tuple[ActionDoc, ...]
    attributes: tuple[tuple[str, str], ...]
    helpers: str


def action_docs(environment: type[Environment], options: BaseModel | None = None, goal: str = "") -> ActionDocs:
    """Return the documentation of an environment's actions, queries, attributes and helpers.

    If an environment has many actions, it can limit the documentation to those that are useful for the goal.
    """
    offer = environment.listed(options, goal)
    return ActionDocs(
        actions=tuple(map(action_doc, offer.actions.values())),
        queries=tuple(map(action_doc, offer.queries.values())),
        attributes=tuple(environment.attributes.items()),
        helpers=environment.helpers.strip(),
    )


def function_stubs(code: str) -> str:
    """Return the code with only the signature and docstring of each function.

    If the code does anything besides defining functions, return it unchanged.
    """
    statements = parse_source(code).body
    functions = [statement for statement in statements if isinstance(statement, ast.FunctionDef)]
    return "\n\n".join(map(_function_stub, functions)) if len(functions) == len(statements) else code.strip()


def function_signatures(code: str, names: Collection[str]) -> list[str]:
    """Return the signatures, such as ``find(agent, name)``, of the functions in the code that have these names."""
    functions = (statement for statement in parse_source(code).body if isinstance(statement, ast.FunctionDef))
    return [f"{function.name}({ast.unparse(function.args)})" for function in functions if function.name in names]


def _function_stub(function: ast.FunctionDef) -> str:
    docstring = " ".join((ast.get_docstring(function) or "").split())
    body: list[ast.stmt] = [ast.Expr(ast.Constant(value)) for value in (docstring, ...) if value]
    stub = ast.FunctionDef(function.name, function.args, body, [], function.returns)
    return ast.unparse(ast.fix_missing_locations(stub))


def action_docs_of(environment: Environment) -> ActionDocs:
    """Return ``action_docs`` for an environment object, with its options and the goal of its current task."""
    return action_docs(type(environment), environment.options, environment.task.goal if environment.task else "")


def format_call(action: Action) -> str:
    """Return an action as a call in plan code, such as ``agent.open('box')``."""
    return f"{AGENT}.{action}"


def action_doc(spec: ActionSpec) -> ActionDoc:
    """Return the documentation of an action, query or goal."""
    signature = str(spec.signature).replace(f" -> {Observation.__module__}.Observation", " -> str")
    return ActionDoc(name=spec.name, signature=signature, doc=spec.doc, example=spec.example)
