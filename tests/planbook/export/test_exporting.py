"""`planbook export`: a file of episodes holds the whole run, for every method."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow
import pytest
from pyarrow import parquet

from planbook.export.exporting import line_of, trajectory_of
from planbook.export.importing import parse_episode
from planbook.planner import read_trajectory, rows_of
from planbook.planner.journal import spans_in
from planbook.runs import Run, last_scope, recorded_endings
from tests.command import planbook
from tests.flows import BUILD, invoke, refusal, succeed, write_scripted_model
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


def test_an_export_names_scripts_without_their_folders(tmp_path: Path) -> None:
    model = write_scripted_model(tmp_path, "agent.open('box_1')")
    play = ("run", "--env", "toy", "--planner", "react", "--seeds", "0", "--planner-option", "iterations=1")
    succeed(*play, "--model", model, "--out", tmp_path / "run")
    succeed("export", tmp_path / "run", "--out", tmp_path / "run.jsonl")
    text = (tmp_path / "run.jsonl").read_text()
    assert str(tmp_path) not in text
    assert f'"model":"scripted:{model.rpartition("/")[2]}"' in text


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
