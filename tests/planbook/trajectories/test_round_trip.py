"""Whatever an episode holds, its line, its row and its events give it back."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from planbook.run import Entry
from planbook.store import Event
from planbook.trajectories.from_events import Told, written
from planbook.trajectories.jsonl import line_of, parsed
from planbook.trajectories.parquet import read_rows, write_rows
from planbook.trajectories.schema import SCHEMA, Trajectory
from planbook.trajectories.to_events import rows_of

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
    """An episode of up to three rounds, with rewinds, cells that came to no end, nested cells, and calls of models."""
    orders, rounds = iter(range(1_000)), []
    for number in range(draw(st.integers(1, 3))):
        played: dict[str, Any] = {"order": next(orders), "number": number, "observation": draw(OBSERVATION)}
        steps, cells, rewinds = list[Any](), list[Any](), list[Any]()
        for place in range(draw(st.integers(0, 3))):
            scope = draw(st.sampled_from([f"round/{number}", f"round/{number}/plan/0", f"round/{number}/a b/12/c/3"]))
            own = [_step(draw, next(orders)) for _ in range(draw(st.integers(0, 3)))]
            steps += own
            ends = draw(st.booleans())
            cell: dict[str, Any] = {"scope": scope, "number": place, "steps": own}
            if ends:
                feedback = {"kind": draw(st.sampled_from(["done", "parse", "raised"])), "text": draw(TEXT)}
                cell |= {"order": next(orders), "source": draw(TEXT), "code": draw(TEXT), "feedback": feedback}
            if ends or own:
                cells.append(cell)
            if draw(st.booleans()):
                kept = draw(st.integers(0, len(steps)))
                rewinds.append({"order": next(orders), "scope": scope, "kept": kept})
                for step in steps[kept:]:
                    step["undone"] = True
        told = [cell for cell in cells if "order" in cell] + [cell for cell in cells if "order" not in cell]
        other = draw(st.none() | TASK) if number else None
        rounds.append(played | {"cells": told, "rewinds": rewinds} | ({"task": other} if other else {}))
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
        "schema": SCHEMA,
        "task": draw(TASK),
        "run": {"planner": draw(TEXT), "config": draw(st.dictionaries(TEXT, JSON, max_size=3))},
        "told": draw(st.none() | st.fixed_dictionaries({"order": st.just(next(orders)), "text": TEXT})),
        "rounds": rounds,
        "calls": [call],
        "ending": ending | {"milestones": tuple(draw(st.lists(TEXT, max_size=2)))},
    }
    return Trajectory.model_validate(whole)


def _step(draw: Any, order: int) -> dict[str, Any]:
    action = {"name": draw(TEXT), "args": tuple(draw(st.lists(JSON, max_size=2)))}
    return {
        "order": order,
        "line": draw(st.none() | st.integers(1, 9)),
        "action": action,
        "observation": draw(OBSERVATION),
    }


@settings(max_examples=20)
@given(trajectories())
def test_a_line_and_a_row_give_the_episode_back(trajectory: Trajectory) -> None:
    line = line_of(trajectory)
    assert "\n" not in line
    assert line_of(parsed(line)) == line
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        with path.open("wb") as file:
            write_rows([(trajectory, line)], file)
        ((_, read),) = read_rows(path)
    assert isinstance(read, Trajectory)
    assert line_of(read) == line


@given(trajectories())
def test_its_events_give_the_episode_back(trajectory: Trajectory) -> None:
    events = [Event(scope, kind, n, dict(body), 0.0) for scope, kind, n, body in rows_of(trajectory, "task/7")]
    entry = Entry(index=7, task=trajectory.task, repeat=trajectory.repeat)
    again = Told("task/7", entry, trajectory.run).of(events)
    assert rows_of(again, "task/7") == rows_of(trajectory, "task/7")
    once_more = Told("task/7", entry, trajectory.run).of(
        Event(scope, kind, n, dict(body), 0.0) for scope, kind, n, body in rows_of(again, "task/7")
    )
    assert line_of(once_more) == line_of(again)


@given(
    st.recursive(st.text() | st.floats() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_what_a_store_holds_is_written_as_every_reader_takes_it(value: Any) -> None:
    told = written(value)
    assert written(told) == told
    _check(told)


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
