"""Episodes leave runs of every method whole, and come back as they were."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow
import pytest
from pyarrow import parquet

from planbook.export.exporting import trajectory_of
from planbook.export.files import line_of, parse_episode
from planbook.planner import Trajectory, read_trajectory, rows_of
from planbook.planner.spans import spans_in
from planbook.runs import Run, last_path, recorded_endings
from tests.command import planbook
from tests.flows import BUILD, here
from tests.planbook.export.conftest import METHODS


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def trajectories(folder: Path) -> Iterator[tuple[Run, str, Trajectory]]:
    with closing(Run.open(folder)) as run:
        endings = recorded_endings(run)
        for entry in run.entries():
            if entry.index in endings:
                yield run, last_path(run, entry), trajectory_of(run, entry)


@pytest.mark.parametrize("name", [*METHODS, "toy"])
def test_an_exported_episode_makes_the_very_events_that_it_was_made_of(name: str, runs: dict[str, Path]) -> None:
    compared = 0
    for run, path, trajectory in trajectories(runs[name]):
        recorded = list(run.store.events(path))
        rows = rows_of(parse_episode(line_of(trajectory)), path)
        kinds = [(scope, kind, n) for scope, kind, n, _ in rows if kind != "span"]
        assert kinds == [(e.scope, e.kind, e.n) for e in recorded if e.kind != "span"]
        assert [body for _, kind, _, body in rows if kind not in ("span", "task")] == [
            e.body for e in recorded if e.kind not in ("span", "task")
        ]
        assert [(span.name, span.data) for span in spans_in(recorded)] == [
            (span.name, span.data) for span in trajectory.spans
        ]
        assert read_trajectory(path, recorded, trajectory.task).rounds == trajectory.rounds
        compared += 1
    assert compared > 0


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
@pytest.mark.parametrize("name", [*METHODS, "toy"])
def test_importing_and_exporting_again_gives_the_same_bytes(
    name: str, form: str, runs: dict[str, Path], tmp_path: Path
) -> None:
    first, again = tmp_path / f"first.{form}", tmp_path / f"again.{form}"
    exported = here("export", runs[name], "--format", form, "--all", "--out", first, "--json")
    assert exported.returncode == 0, exported.printed
    imported = here("import", first, "--out", tmp_path / "run", "--json")
    assert imported.returncode == 0, imported.printed
    assert imported.result["episodes"] == exported.result["episodes"] > 0
    assert here("export", tmp_path / "run", "--format", form, "--all", "--out", again).returncode == 0
    assert first.read_bytes() == again.read_bytes()


def test_lines_and_columns_hold_the_same(runs: dict[str, Path], tmp_path: Path) -> None:
    folders = [runs[name] for name in METHODS]
    for form in ("jsonl", "parquet"):
        assert here("export", *folders, "--format", form, "--out", tmp_path / f"all.{form}").returncode == 0
    assert here("import", tmp_path / "all.parquet", "--out", tmp_path / "run").returncode == 0
    assert here("export", tmp_path / "run", "--out", tmp_path / "again.jsonl").returncode == 0
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()


def test_every_line_is_valid_by_the_schema_that_is_printed(runs: dict[str, Path], tmp_path: Path) -> None:
    schema = json.loads(here("export", "--schema").stdout)
    validator = jsonschema.Draft202012Validator(schema)
    here("export", *runs.values(), "--all", "--out", tmp_path / "all.jsonl")
    for line in lines(tmp_path / "all.jsonl"):
        assert list(validator.iter_errors(line)) == []
        assert line["schema"] == "planbook.trajectory/2"
    described = [name for name, field in schema["properties"].items() if field.get("description") or "$ref" in field]
    assert {"task", "repeat", "ending", "run"} <= set(described)
    assert schema["$defs"]["Call"]["properties"]["template"]["description"]


def test_what_a_method_did_is_reported(runs: dict[str, Path], tmp_path: Path) -> None:
    here("export", *(runs[name] for name in METHODS), "--out", tmp_path / "all.jsonl")
    exported = {line["run"]["planner"]: line for line in lines(tmp_path / "all.jsonl")}
    spans = {planner: line["spans"] for planner, line in exported.items()}
    assert spans["adapt"][0]["name"] == "subtask"
    assert spans["adapt"][0]["scope"].startswith("round/0/")
    assert spans["deps"][0]["data"]["features"]
    assert spans["agentkit"][0]["data"]["node"]
    assert len(exported["reflexion"]["rounds"]) == 4
    advocate = [line for line in lines(tmp_path / "all.jsonl") if line["run"]["planner"] == "devils-advocate"]
    rewinds = [rewind for line in advocate for played in line["rounds"] for rewind in played["rewinds"]]
    undone = [step for line in advocate for played in line["rounds"] for step in played["steps"] if step["undone"]]
    assert rewinds
    assert undone
    assert {span["status"] for line in advocate for span in line["spans"]} >= {"kept", "turned back"}
    assert advocate[0]["run"]["config"]["seed"] == 0
    assert advocate[0]["run"]["versions"]["python"]


def test_parquet_is_typed_and_read_without_our_code(runs: dict[str, Path], tmp_path: Path) -> None:
    here("export", runs["deps-minecraft-chances"], "--format", "parquet", "--out", tmp_path / "x.parquet")
    table = parquet.read_table(tmp_path / "x.parquet")
    assert table.schema.metadata[b"schema"] == b"planbook.trajectory/2"
    assert table.num_rows == 4
    assert sum(table.column("solved").to_pylist()) == 2
    assert table.schema.field("score").type == pyarrow.float64()
    row = table.to_pylist()[0]
    assert (row["planner"], row["env"], row["outcome"]) == ("deps", "minecraft", "direct_success")
    assert row["calls"] > 0
    assert row["prompt_tokens"] > 0
    trajectory = json.loads(row["trajectory"])
    assert trajectory["rounds"][0]["cells"][0]["code"]
    assert trajectory["task"]["params"]
    assert trajectory["run"]["config"]["planner"] == "deps"


def test_what_is_left_out_is_counted(runs: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    result = here("export", runs["toy"], "--out", out, "--json").result
    assert (result["episodes"], result["task_only"]) == (6, {"NOT_RUN": 6})
    assert len(lines(out)) == 12
    result = here("export", runs["toy"], "--out", out, "--json", "--types", "fetch", "--all").result
    assert (result["episodes"], result["left_out"]) == (6, {"of other types": 6})
    printed = here("export", runs["deps-minecraft-chances"], "--solved", "--out", out)
    assert "2 episodes" in printed.printed
    assert "left out: 2 not solved" in printed.printed
    assert all(line["ending"]["verdict"]["solved"] for line in lines(out))


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_what_was_not_played_stays_in_the_denominator(form: str, tmp_path: Path) -> None:
    command = (*BUILD, "--no-procedures", "--types", "fetch", "--budget", "calls=5")
    here(*command, "--out", tmp_path / "run")
    out = tmp_path / f"x.{form}"
    result = here("export", tmp_path / "run", "--out", out, "--json").result
    assert result["task_only"]["unfinished"] == 6 - result["episodes"] > 0
    assert here("import", out, "--out", tmp_path / "again", "--json").result["episodes"] == 6
    names = ("tasks", "solved", "not_run", "left_out")
    before, after = (
        here("stats", folder, "--json").result["rows"][0] for folder in (tmp_path / "run", tmp_path / "again")
    )
    assert [after[name] for name in names] == [before[name] for name in names]
    assert before["tasks"] == 6


def test_without_prompts_replies_and_what_they_took_stay(runs: dict[str, Path], tmp_path: Path) -> None:
    whole, short = tmp_path / "whole.jsonl", tmp_path / "short.jsonl"
    here("export", runs["adapt-textcraft-stepwise"], "--out", whole)
    here("export", runs["adapt-textcraft-stepwise"], "--without-prompts", "--out", short)
    for long, line in zip(lines(whole), lines(short), strict=True):
        assert all(call["messages"] == [] for call in line["calls"])
        assert [call["reply"] for call in line["calls"]] == [call["reply"] for call in long["calls"]]
    assert short.stat().st_size < whole.stat().st_size / 2


def test_standard_output_takes_lines_and_columns_alone(runs: dict[str, Path], tmp_path: Path) -> None:
    here("export", runs["toy"], "--out", tmp_path / "x.jsonl")
    printed = planbook("export", runs["toy"])
    assert printed.returncode == 0
    assert printed.stdout == (tmp_path / "x.jsonl").read_text()
    assert "6 episodes" in printed.stderr


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("RUN", "--json"), "name a file with --out"),
        (("RUN", "--with-repairs"), "add --format chat"),
        (("RUN", "--format", "chat", "--without-prompts"), "leaves nothing of a conversation"),
        (("RUN", "--out", "/nowhere/x.jsonl"), "cannot be written"),
    ],
)
def test_what_does_not_go_together_is_refused(asked: tuple[str, ...], message: str, runs: dict[str, Path]) -> None:
    refused = here("export", *(runs["toy"] if word == "RUN" else word for word in asked))
    assert refused.returncode == 2
    assert message in refused.printed


def test_a_failed_export_leaves_the_file_that_was_there(runs: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    out.write_text("mine\n")
    (tmp_path / "none").mkdir()
    assert here("export", runs["toy"], tmp_path / "none", "--out", out).returncode == 2
    assert out.read_text() == "mine\n"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["x.jsonl"]


def test_the_form_follows_the_files_ending_and_may_not_contradict_it(runs: dict[str, Path], tmp_path: Path) -> None:
    columns = tmp_path / "x.parquet"
    written = here("export", runs["toy"], "--out", columns, "--json")
    assert (written.returncode, written.result["form"]) == (0, "parquet")
    assert parquet.read_table(columns).num_rows == 12
    for form, name in (("jsonl", "y.parquet"), ("chat", "y.parquet"), ("parquet", "y.jsonl")):
        refused = here("export", runs["toy"], "--format", form, "--out", tmp_path / name)
        assert refused.returncode == 2
        assert f"--format {form} does not fit the name {name}" in refused.printed
        assert not (tmp_path / name).exists()


def test_no_conversations_are_explained_where_no_model_was_asked(tmp_path: Path) -> None:
    assert here("replay", "--env", "toy", "--seeds", "0", "--out", tmp_path / "run").returncode == 0
    printed = here("export", tmp_path / "run", "--format", "chat", "--out", tmp_path / "x.jsonl")
    assert printed.returncode == 0
    assert "no model was asked in them" in printed.printed
    assert "left out" not in printed.printed
