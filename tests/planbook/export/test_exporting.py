"""`planbook export`: files of episodes hold the whole run, for every method; `--format chat` holds conversations."""

import json
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
import pyarrow
import pytest
from hypothesis import given, settings, strategies as st
from pyarrow import parquet

from planbook.export.conversations import conversations_of
from planbook.export.exporting import line_of, sanitize, trajectory_of, write_rows
from planbook.export.importing import faults_of, parse_episode, read_rows
from planbook.planner import Message, Trajectory, read_trajectory, rows_of
from planbook.planner.journal import spans_in
from planbook.planner.trajectory import TRAJECTORY_SCHEMA
from planbook.runs import Run, last_scope, recorded_endings
from planbook.store import Event
from tests.command import planbook
from tests.flows import BUILD, asks, invoke, refusal, scripted, succeed
from tests.planbook.export.conftest import METHODS


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("name", [*METHODS, "toy"])
def test_the_events_of_an_episode_can_be_restored_from_its_export(name: str, runs: dict[str, Path]) -> None:
    compared = 0
    with closing(Run.open(runs[name])) as run:
        endings = recorded_endings(run)
        for entry in (entry for entry in run.entries() if entry.index in endings):
            path, trajectory = last_scope(run, entry), trajectory_of(run, entry)
            recorded = list(run.store.events(path))
            rows = rows_of(parse_episode(line_of(trajectory)), path)
            places = [(scope, kind, n) for scope, kind, n, _ in rows if kind != "span"]
            assert places == [(e.scope, e.kind, e.n) for e in recorded if e.kind != "span"]
            bodies = [body for _, kind, _, body in rows if kind not in ("span", "task")]
            assert bodies == [e.body for e in recorded if e.kind not in ("span", "task")]
            spans = [(f"{path}/{span.scope}", span.name, span.status, span.data) for span in trajectory.spans]
            assert spans == [(span.scope, span.name, span.status, span.data) for span in spans_in(recorded)]
            assert read_trajectory(path, recorded, trajectory.task).rounds == trajectory.rounds
            compared += 1
    assert compared > 0


@pytest.mark.parametrize("name", [*METHODS, "toy"])
def test_episodes_are_the_same_after_an_import_from_either_format(
    name: str, runs: dict[str, Path], tmp_path: Path
) -> None:
    other = {"jsonl": "parquet", "parquet": "jsonl"}
    for form in other:
        exported = invoke("export", runs[name], "--all", "--out", tmp_path / f"first.{form}", "--json")
        assert exported.result["form"] == form, "the ending of the file sets the format"
        imported = succeed("import", tmp_path / f"first.{form}", "--out", tmp_path / form, "--json")
        assert imported.result["episodes"] == exported.result["episodes"] > 0
    for form in other:
        again = tmp_path / f"again.{form}"
        succeed("export", tmp_path / other[form], "--all", "--out", again)
        assert again.read_bytes() == (tmp_path / f"first.{form}").read_bytes()


def test_every_line_is_valid_according_to_the_printed_schema(runs: dict[str, Path], tmp_path: Path) -> None:
    schema = json.loads(invoke("export", "--schema").stdout)
    validator = jsonschema.Draft202012Validator(schema)
    invoke("export", *runs.values(), "--all", "--out", tmp_path / "all.jsonl")
    for line in lines(tmp_path / "all.jsonl"):
        assert list(validator.iter_errors(line)) == []
        assert line["schema"] == "planbook.trajectory/2"
    described = [name for name, field in schema["properties"].items() if field.get("description") or "$ref" in field]
    assert {"task", "repeat", "ending", "run"} <= set(described)
    assert schema["$defs"]["Call"]["properties"]["template"]["description"]


def test_other_readers_find_typed_columns_in_parquet(runs: dict[str, Path], tmp_path: Path) -> None:
    invoke("export", runs["deps-minecraft-chances"], "--format", "parquet", "--out", tmp_path / "x.parquet")
    table = parquet.read_table(tmp_path / "x.parquet")
    assert table.schema.metadata[b"schema"] == b"planbook.trajectory/2"
    assert (table.num_rows, sum(table.column("solved").to_pylist())) == (4, 2)
    assert table.schema.field("score").type == pyarrow.float64()
    row = table.to_pylist()[0]
    assert (row["planner"], row["env"], row["outcome"]) == ("deps", "minecraft", "direct_success")
    assert row["calls"] > 0
    assert row["prompt_tokens"] > 0
    assert json.loads(row["trajectory"])["rounds"][0]["cells"][0]["code"]


def test_episodes_that_are_left_out_are_counted(runs: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    result = invoke("export", runs["toy"], "--out", out, "--json").result
    assert (result["episodes"], result["task_only"]) == (6, {"NOT_RUN": 6})
    assert len(lines(out)) == 12
    result = invoke("export", runs["toy"], "--out", out, "--json", "--all").result
    assert (result["episodes"], result["task_only"]) == (12, {})
    printed = invoke("export", runs["deps-minecraft-chances"], "--solved", "--out", out).printed
    assert "2 episodes" in printed
    assert "only the task and ending of 2 not solved" in printed
    assert [bool(line["rounds"]) for line in lines(out)] == [line["ending"]["verdict"]["solved"] for line in lines(out)]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_unplayed_tasks_still_count_after_an_import(form: str, tmp_path: Path) -> None:
    run, out, again = tmp_path / "run", tmp_path / f"x.{form}", tmp_path / "again"
    invoke(*BUILD, "--no-procedures", "--types", "fetch", "--budget", "calls=5", "--out", run)
    result = invoke("export", run, "--out", out, "--json").result
    assert result["task_only"]["unfinished"] == 6 - result["episodes"] > 0
    assert invoke("import", out, "--out", again, "--json").result["episodes"] == 6
    before, after = (invoke("stats", folder, "--json").result["rows"][0] for folder in (run, again))
    names = ("tasks", "solved", "unplayed_by_type", "left_out")
    assert [after[name] for name in names] == [before[name] for name in names]
    assert before["tasks"] == 6


def test_an_export_of_solved_episodes_does_not_pass_for_a_run_that_solved_everything(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    file, folder = tmp_path / "solved.jsonl", tmp_path / "imported"
    succeed("export", runs["deps-minecraft-chances"], "--solved", "--out", file)
    succeed("import", file, "--out", folder)
    shown = invoke("stats", folder, "--json")
    (row,) = shown.result["rows"]
    assert (row["solved"], row["tasks"], row["without_costs"]) == (2, 4, 2)
    assert "for 2 episodes, only the endings were exported" in shown.printed
    chats = invoke("export", folder, "--format", "chat", "--roles", "reflector", "--out", tmp_path / "x.chat")
    assert "--roles reflector: these episodes have no conversation in any of these roles" in chats.printed
    succeed("report", folder, "--out", tmp_path / "report.html")


def test_standard_output_has_only_the_lines(runs: dict[str, Path], tmp_path: Path) -> None:
    invoke("export", runs["toy"], "--out", tmp_path / "new" / "x.jsonl")
    printed = planbook("export", runs["toy"])
    assert printed.returncode == 0
    assert printed.stdout == (tmp_path / "new" / "x.jsonl").read_text()
    assert "6 episodes" in printed.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--json",), "name a file with --out"),
        (("--out", "/dev/null/x.jsonl"), "cannot be written"),
        (
            ("--format", "chat", "--roles", "planner,nobody", "--out", "x.jsonl"),
            "--roles: there is no role 'nobody'; the roles are",
        ),
        (("--format", "jsonl", "--out", "y.parquet"), "--format jsonl does not fit the name y.parquet"),
        (("--out", "y.csv"), "no format has the extension of y.csv: use .jsonl or .parquet"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    options: tuple[str, ...], message: str, runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refusal("export", runs["toy"], *options)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_export_leaves_an_existing_file_unchanged(runs: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    out.write_text("mine\n")
    (tmp_path / "none").mkdir()
    refusal("export", runs["toy"], tmp_path / "none", "--out", out)
    assert out.read_text() == "mine\n"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["x.jsonl"]


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


def check(line: str) -> list[dict[str, str]]:
    """Check that a line follows the rules of the format, and return its messages."""
    entry: Any = json.loads(line)
    assert list(entry) == ["messages"]
    messages: list[dict[str, str]] = entry["messages"]
    assert all(set(message) == {"role", "content"} for message in messages)
    assert all(isinstance(message["content"], str) and message["content"].strip() for message in messages)
    roles = [message["role"] for message in messages]
    turns = roles[1:] if roles[0] == "system" else roles
    assert turns == ["user", "assistant"] * (len(turns) // 2)
    assert turns
    return messages


def conversations(*arguments: object, out: Path) -> list[list[dict[str, str]]]:
    succeed("export", *arguments, "--format", "chat", "--out", out)
    return [check(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize("name", [*METHODS, "toy"])
def test_every_reply_is_written_and_no_conversation_is_the_start_of_another(
    name: str, runs: dict[str, Path], tmp_path: Path
) -> None:
    found = conversations(runs[name], out=tmp_path / "x.chat")
    for place, one in enumerate(found):
        assert not any(other[: len(one)] == one for at, other in enumerate(found) if at != place)
    replies = {message["content"] for one in found for message in one if message["role"] == "assistant"}
    played = [each for each in asks(runs[name]) if each["role"] != "formulator"]
    if name != "toy":  # a run of `planbook build` also asks the roles that learn
        assert {each["reply"]["text"] for each in played} == replies


def test_conversations_are_chosen_by_role_and_success(runs: dict[str, Path], tmp_path: Path) -> None:
    run, out = runs["adapt-textcraft-stepwise"], tmp_path / "x.chat"
    everything = conversations(run, out=out)
    plans, solved = conversations(run, "--roles", "planner", out=out), conversations(run, "--solved", out=out)
    assert [each for each in everything if each in plans] == plans
    assert 0 < len(plans) < len(everything)
    assert 0 < len(solved) < len(everything)


def play(model: str, folder: Path) -> None:
    invoke("run", "--planner", "automanual", "--env", "toy", "--split", "all:1", "--model", model, "--out", folder)


UNUSABLE_ONCE = """from tests.toy_script import answer, rubbish


def reply(messages, sampling):
    if "could not be used" in messages[-1].content:
        return answer(messages[:-2], sampling)
    return rubbish(messages, sampling) if len(messages) == 2 else answer(messages, sampling)
"""


def test_an_unusable_reply_is_left_out_with_the_complaint_about_it(tmp_path: Path) -> None:
    folder, out = tmp_path / "run", tmp_path / "x.chat"
    (tmp_path / "model.py").write_text(UNUSABLE_ONCE)
    play(f"scripted:{tmp_path / 'model.py'}:reply", folder)
    unusable, mended, last = (each["reply"]["text"] for each in asks(folder))
    (found,) = conversations(folder, out=out)
    assert [message["role"] for message in found] == ["system", "user", "assistant", "user", "assistant"]
    assert [found[2]["content"], found[4]["content"]] == [mended, last]
    assert unusable not in json.dumps(found)


def test_a_conversation_without_a_usable_reply_is_not_written(tmp_path: Path) -> None:
    play(scripted("rubbish"), tmp_path / "run")
    assert len(asks(tmp_path / "run")) >= 3
    assert conversations(tmp_path / "run", out=tmp_path / "x.chat") == []


def test_a_growing_conversation_is_written_once_and_a_second_sample_separately(tmp_path: Path) -> None:
    invoke(*BUILD, "--types", "fetch", "--tasks-per-type", 1, "--no-procedures", "--out", tmp_path / "run")
    invoke("export", tmp_path / "run", "--out", tmp_path / "x.jsonl")
    trajectory = parse_episode((tmp_path / "x.jsonl").read_text().splitlines()[0])
    assert len(trajectory.calls) == 2
    (grown,) = conversations_of(trajectory)
    assert len(grown) == 5
    first = trajectory.calls[0]
    reply = first.reply.model_copy(update={"text": "Something else."})
    sample = first.model_copy(update={"order": 10_000, "reply": reply})
    found = conversations_of(trajectory.model_copy(update={"calls": (*trajectory.calls, sample)}))
    assert found == [grown, (*first.messages, Message(role="assistant", content="Something else."))]
