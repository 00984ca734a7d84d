"""For the hooks of agents: the steps of an episode as a graph keeps them, and the calls of actions in plan code."""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from planbook.planner.agent import AGENT
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.templating import value_text
from planbook.sandbox import Fault, parse

HISTORY, STEP = "history", "step.number"


def note(database: GraphDatabase, step: int, **said: str) -> None:
    """Add to what is kept of a step."""
    kept = steps(database)
    if not kept or kept[-1]["step"] < step:
        kept.append({"step": step})
    for entry in kept:
        if entry["step"] == step:
            entry.update(said)
    database.set(HISTORY, list(kept))


def steps(database: GraphDatabase) -> list[dict[str, Any]]:
    """Return what is kept of every step so far, the oldest first."""
    kept: Any = database.get(HISTORY) if database.has(HISTORY) else []
    return list(kept)


def now(database: GraphDatabase) -> int:
    """Return the number of the present step, from 0."""
    number: Any = database.get(STEP) if database.has(STEP) else 0
    return int(number)


def table(kept: Sequence[Mapping[str, Any]], line: Callable[[Mapping[str, Any]], str]) -> str:
    """Return steps as text, a line each. They are called turns: games may count steps of their own."""
    return "\n".join(f"Turn {entry['step'] + 1}. {line(entry)}" for entry in kept) or "There are no earlier turns."


def answers_told(names: Sequence[str], answers: Mapping[str, JsonValue]) -> str:
    """Return the answers of these nodes under headings, as in a prompt that no hook composes."""
    return "\n\n".join(f"### {name}\n{value_text(answers[name])}" for name in names if name in answers)


def calls_in(code: str) -> list[str]:
    """Return the calls of ``agent`` as they are written, in order; none of code that cannot be parsed."""
    tree = parse(code)
    if isinstance(tree, Fault):
        return []
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _of_agent(node.func)]
    return [ast.unparse(call) for call in found]


def _of_agent(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == AGENT
