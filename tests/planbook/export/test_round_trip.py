"""Random episodes are unchanged after they were written as lines, rows and events."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings, strategies as st

from planbook.export.exporting import line_of, sanitize, write_rows
from planbook.export.importing import faults_of, parse_episode, read_rows
from planbook.planner import Trajectory, read_trajectory, rows_of
from planbook.planner.trajectory import TRAJECTORY_SCHEMA
from planbook.store import Event

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBER = st.integers(-(2**63), 2**63 - 1)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBSERVATION = st.fixed_dictionaries({"text": TEXT, "accepted": st.booleans(), "lasting": st.booleans()})
TASK = st.fixed_dictionaries(
    {
        **dict.fromkeys(("id", "env", "split", "type", "goal"), TEXT),
        "params": st.dictionaries(TEXT, JSON, max_size=3),
        "seed": NUMBER,
    }
)


@st.composite
def trajectories(draw: Any) -> Trajectory:
    """Draw an episode of up to three rounds, with rewinds, unfinished and nested cells, spans and model calls."""
    orders, rounds, spans = iter(range(1_000)), [], []
    for number in range(draw(st.integers(1, 3))):
        played: dict[str, Any] = {"order": next(orders), "number": number, "observation": draw(TEXT)}
        steps, cells, rewinds = list[Any](), list[Any](), list[Any]()
        for cell_number in range(draw(st.integers(0, 3))):
            scope = draw(st.sampled_from([f"round/{number}", f"round/{number}/plan/0", f"round/{number}/a b/12/c/3"]))
            if draw(st.booleans()):
                spans.append(_span(draw, next(orders), scope))
            position = {"scope": scope, "cell": cell_number}
            steps += [_step(draw, next(orders)) | position for _ in range(draw(st.integers(0, 3)))]
            if draw(st.booleans()):
                feedback = {"kind": draw(st.sampled_from(["done", "parse", "raised"])), "text": draw(TEXT)}
                cell = {"order": next(orders), "scope": scope, "number": cell_number, "feedback": feedback}
                cells.append(cell | {"source": draw(TEXT), "code": draw(TEXT)})
            if draw(st.booleans()):
                kept = draw(st.integers(0, len(steps)))
                rewinds.append({"order": next(orders), "scope": scope, "kept": kept})
                steps[kept:] = [step | {"undone": True} for step in steps[kept:]]
        for span in spans:
            if span["end"] is None and draw(st.booleans()):
                span["end"] = next(orders)
        other = draw(st.none() | TASK) if number else None
        parts = {"steps": steps, "cells": cells, "rewinds": rewinds} | ({"task": other} if other else {})
        rounds.append(played | parts)
    call = {
        "order": next(orders),
        "scope": "round/0",
        "role": "planner",
        "template": draw(TEXT),
        "model": draw(TEXT),
        "sampling": {"temperature": draw(st.none() | st.floats(0, 2)), "seed": draw(st.none() | NUMBER)},
        "messages": [{"role": "user", "content": draw(TEXT)}],
        "reply": {"text": draw(TEXT), "seconds": draw(st.floats(0, 1e9))},
    }
    measures = draw(st.dictionaries(TEXT, st.floats(allow_nan=False, allow_infinity=False), max_size=2))
    ending: dict[str, Any] = {"outcome": "failure", "cause": "done", "measures": measures}
    whole = {
        "schema": TRAJECTORY_SCHEMA,
        "task": draw(TASK),
        "run": {"planner": draw(TEXT.filter(bool)), "config": draw(st.dictionaries(TEXT, JSON, max_size=3))},
        "recall": draw(st.none() | st.fixed_dictionaries({"order": st.just(next(orders)), "text": TEXT})),
        "rounds": rounds,
        "spans": sorted(spans, key=lambda span: span["order"]),
        "calls": [call],
        "ending": ending | {"milestones": tuple(draw(st.lists(TEXT, max_size=2)))},
    }
    for each in rounds:
        if each.get("task") == whole["task"]:
            del each["task"]  # a round names its task only if it differs from that of the episode
    return Trajectory.model_validate(whole)


def _span(draw: Any, order: int, scope: str) -> dict[str, Any]:
    names = {"name": draw(TEXT), "title": draw(TEXT), "status": draw(TEXT)}
    data = draw(st.dictionaries(TEXT, JSON, max_size=2))
    return {"order": order, "end": draw(st.none() | st.just(order)), "scope": scope, "data": data, **names}


def _step(draw: Any, order: int) -> dict[str, Any]:
    action = {"name": draw(TEXT), "args": tuple(draw(st.lists(JSON, max_size=2)))}
    line = draw(st.none() | st.integers(1, 9))
    return {"order": order, "line": line, "action": action, "observation": draw(OBSERVATION)}


@settings(max_examples=25)
@given(trajectories())
def test_an_episode_survives_being_written_as_a_line_a_row_and_events(trajectory: Trajectory) -> None:
    line = line_of(trajectory)
    assert "\n" not in line
    assert line_of(parse_episode(line)) == line
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        with path.open("wb") as file:
            write_rows([trajectory], file)
        ((_, read),) = read_rows(path)
    assert isinstance(read, Trajectory)
    assert line_of(read) == line
    events = [Event(scope, kind, n, dict(body), 0.0) for scope, kind, n, body in rows_of(trajectory, "task/7")]
    again = read_trajectory("task/7", events).model_copy(update={"run": trajectory.run})
    assert rows_of(again, "task/7") == rows_of(trajectory, "task/7")
    assert list(faults_of(again)) == list(faults_of(trajectory)) == []


@settings(max_examples=30)
@given(
    st.recursive(st.text() | st.floats() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_sanitized_values_are_valid_json(value: Any) -> None:
    clean = sanitize(value)
    assert sanitize(clean) == clean
    _check(clean)


def _check(value: Any) -> None:
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, dict):
        for key, item in value.items():
            key.encode("utf-8")
            _check(item)
    elif isinstance(value, list):
        for item in value:
            _check(item)
    elif isinstance(value, float):
        assert abs(value) < float("inf")
