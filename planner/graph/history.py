"""The history of an episode's steps, which hooks keep in the database of a graph. It has an entry for each step."""

from collections.abc import Mapping, Sequence
from typing import Any

from planbook.planner.graph.database import GraphDatabase

HISTORY, STEP = "history", "step.number"


def add_history(database: GraphDatabase, step: int, **fields: str) -> None:
    """Add fields to the history entry of a step. If the step has no entry yet, the entry is created."""
    history = history_of(database)
    if not history or history[-1]["step"] < step:
        history.append({"step": step})
    for entry in history:
        if entry["step"] == step:
            entry.update(fields)
    database.set(HISTORY, list(history))


def history_of(database: GraphDatabase) -> list[dict[str, Any]]:
    """Return the history entries of all steps so far. The oldest comes first."""
    history: Any = database.get(HISTORY) if database.has(HISTORY) else []
    return list(history)


def current_step(database: GraphDatabase) -> int:
    """Return the number of the current step, from 0."""
    number: Any = database.get(STEP) if database.has(STEP) else 0
    return int(number)


def history_text(history: Sequence[Mapping[str, Any]], labels: Mapping[str, str]) -> str:
    """Return history entries as text, one on each line.

    The text calls each step a turn, since a game counts its own steps. ``labels`` maps each field that is shown to its
    label, in the order in which the fields are shown.
    """
    return "\n".join(_turn(entry, labels) for entry in history) or "There are no earlier turns."


def _turn(entry: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    shown = " ".join(f"{label}: {entry[key]}" for key, label in labels.items() if key in entry)
    return f"Turn {entry['step'] + 1}. {shown}"
