"""The steps of an episode as a graph keeps them: what was seen, planned and done in each, in the model's own words."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from planbook.planner.graph.database import Database
from planbook.planner.graph.lookups import told

HISTORY, STEP = "history", "step.number"


def note(database: Database, step: int, **said: str) -> None:
    """Add to what is kept of a step; what was kept before of anything else stays."""
    kept = steps(database)
    if not kept or kept[-1]["step"] < step:
        kept.append({"step": step})
    for entry in kept:
        if entry["step"] == step:
            entry.update(said)
    database.set(HISTORY, list(kept))


def steps(database: Database) -> list[dict[str, Any]]:
    """What is kept of every step so far, the oldest first."""
    kept: Any = database.get(HISTORY) if database.has(HISTORY) else []
    return list(kept)


def now(database: Database) -> int:
    """The number of the present step, from 0."""
    number: Any = database.get(STEP) if database.has(STEP) else 0
    return int(number)


def table(kept: Sequence[Mapping[str, Any]], line: Callable[[Mapping[str, Any]], str]) -> str:
    """So many steps, a line each. They are told as turns: games may count steps of their own."""
    return "\n".join(f"Turn {entry['step'] + 1}. {line(entry)}" for entry in kept) or "There are no earlier turns."


def answers_told(names: Sequence[str], answers: Mapping[str, JsonValue]) -> str:
    """The answers of these nodes, under headings, as they stand in a prompt where no hook composes it."""
    return "\n\n".join(f"### {name}\n{told(answers[name])}" for name in names if name in answers)
