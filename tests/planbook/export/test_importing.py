"""`planbook import`: a file of episodes becomes a run, or is refused with all its faults."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from planbook.export.importing import MAX_EPISODE_BYTES
from planbook.results import read_folder
from tests.flows import events, invoke, refusal, succeed, without_times
from tests.reported import Page

FOREIGN: dict[str, Any] = {
    "schema": "planbook.trajectory/2",
    "task": {"id": "kitchen/7", "env": "elsewhere", "split": "train", "type": "tidy", "goal": "Tidy the kitchen."},
    "run": {"planner": "somebody's own"},
    "rounds": [
        {
            "order": 0,
            "number": 0,
            "observation": "A kitchen.",
            "cells": [
                {
                    "order": 2,
                    "scope": "round/0",
                    "number": 0,
                    "source": "planner",
                    "code": "agent.tidy()",
                    "feedback": {"kind": "done", "text": "Done."},
                }
            ],
            "steps": [
                {
                    "order": 1,
                    "scope": "round/0",
                    "cell": 0,
                    "line": 1,
                    "action": {"name": "tidy"},
                    "observation": {"text": "It is tidy.", "terminated": True},
                }
            ],
        }
    ],
    "ending": {"outcome": "direct_success", "verdict": {"solved": True, "score": 1.0}, "actions": 1},
}
"""An episode of an unknown environment and planner, without any optional field."""


def write_file(path: Path, *episodes: Any) -> Path:
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in episodes))
    return path


def variant(change: Callable[[Any], object]) -> Any:
    episode = json.loads(json.dumps(FOREIGN))
    change(episode)
    return episode


def test_episodes_of_an_unknown_environment_and_planner_are_read(tmp_path: Path) -> None:
    failed = variant(
        lambda episode: episode["ending"].update(outcome="failure", cause="done", verdict={"solved": False, "score": 0})
    )
    failed["repeat"] = 1
    path = write_file(tmp_path / "x.jsonl", FOREIGN, failed)
    imported = invoke("import", path, "--out", tmp_path / "run", "--json").result
    assert (imported["episodes"], imported["solved"], imported["worlds"]) == (2, 1, ["elsewhere"])
    run_file = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run_file["imported"]["files"] == [
        {"name": "x.jsonl", "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "episodes": 2}
    ]
    assert (run_file["config"]["planner"], run_file["config"]["env"]) == ("somebody's own", "elsewhere")
    succeed("report", tmp_path / "run", "--out", tmp_path / "x.html")
    assert any("agent.tidy()" in code for code in Page(tmp_path / "x.html").all("pre"))
    succeed("export", tmp_path / "run", "--out", tmp_path / "again.jsonl")
    succeed("import", tmp_path / "again.jsonl", "--out", tmp_path / "again")
    invoke("export", tmp_path / "again", "--out", tmp_path / "third.jsonl")
    assert (tmp_path / "third.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()


def test_an_imported_run_keeps_its_original_settings_and_figures(runs: dict[str, Path], tmp_path: Path) -> None:
    folders = (runs["deps-minecraft-chances"], tmp_path / "run")
    invoke("export", folders[0], "--out", tmp_path / "x.jsonl")
    invoke("import", tmp_path / "x.jsonl", "--out", folders[1])
    original, imported = (json.loads((folder / "run.json").read_text()) for folder in folders)
    assert imported["config"] == original["config"]
    assert imported["imported"]["origins"][0]["facts"]["versions"] == original["versions"]
    before, after = (without_times(read_folder(folder).summary().model_dump(mode="json")) for folder in folders)
    assert before == after
    refused = (tmp_path / "x.jsonl").read_text().replace('"learning":null', '"learning":{"per_type":true}')
    (tmp_path / "built.jsonl").write_text(refused)
    invoke("import", tmp_path / "built.jsonl", "--out", tmp_path / "built")
    assert json.loads((tmp_path / "built" / "run.json").read_text())["config"] == original["config"]


def test_episodes_of_several_runs_keep_their_own_facts(runs: dict[str, Path], tmp_path: Path) -> None:
    names = ("adapt-textcraft-stepwise", "deps-minecraft-chances", "reflexion-textcraft")
    paths = [tmp_path / f"{name}.jsonl" for name in names]
    for name, path in zip(names, paths, strict=True):
        invoke("export", runs[name], "--out", path)
    succeed("import", *paths, "--out", tmp_path / "run")
    invoke("export", tmp_path / "run", "--out", tmp_path / "all.jsonl")
    assert (tmp_path / "all.jsonl").read_bytes() == b"".join(path.read_bytes() for path in paths)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["config"]["planner"] == "several"
    succeed("report", tmp_path / "run", "--out", tmp_path / "x.html")


def test_an_imported_run_cannot_be_played(tmp_path: Path) -> None:
    invoke("import", write_file(tmp_path / "x.jsonl", FOREIGN), "--out", tmp_path / "run")
    before = (tmp_path / "run" / "run.json").read_text(), events(tmp_path / "run")
    for command in ("run --resume", "build --resume", "formulate"):
        assert "was imported" in refusal(*command.split(), tmp_path / "run")
    assert "were played elsewhere" in refusal("replay", tmp_path / "run")
    assert ((tmp_path / "run" / "run.json").read_text(), events(tmp_path / "run")) == before


def _step(episode: Any) -> Any:
    return episode["rounds"][0]["steps"][0]


WRONG: dict[str, tuple[Any, str]] = {
    "another version": (
        variant(lambda t: t.update(schema="planbook.trajectory/9")),
        "schema: Input should be 'planbook.trajectory/2'",
    ),
    "something else": ({"messages": []}, "messages: Extra inputs are not permitted"),
    "no JSON": ("{", "Invalid JSON"),
    "a list": ("[1]", "Input should be an object"),
    "a text for a number": (variant(lambda t: _step(t).update(order="1")), "order: Input should be a valid integer"),
    "not a number": (json.dumps(FOREIGN).replace('"score": 1.0', '"score": NaN'), "a number is NaN or infinite"),
    "another field": (variant(lambda t: t.update(reward=1)), "reward: Extra inputs are not permitted"),
    "another field below": (variant(lambda t: _step(t)["observation"].update(reward=1)), "observation.reward: "),
    "nowhere": (
        variant(lambda t: t["rounds"][0]["cells"][0].update(scope="../../learn/0")),
        "'../../learn/0' is not a scope",
    ),
    "another round": (variant(lambda t: t["rounds"][0].update(number=3)), "rounds.0.number does not fit"),
    "a long scope": (
        variant(lambda t: t["rounds"][0]["cells"][0].update(scope="round/0" + "/a/0" * 200)),
        "is not a scope; write one like",
    ),
    "a step before its round": (
        variant(lambda t: t["rounds"][0].update(order=1, steps=[{**_step(t), "order": 0}])),
        "the parts of the episode do not fit together",
    ),
    "undone by nothing": (
        variant(lambda t: _step(t).update(undone=True)),
        "rounds.0.steps.0.undone does not fit the rest of the episode",
    ),
    "steps out of order": (
        variant(lambda t: t["rounds"][0].update(steps=[{**_step(t), "order": 9}, {**_step(t), "line": 2}])),
        "rounds.0.steps.0.line does not fit",
    ),
    "solved or not": (variant(lambda t: t["ending"]["verdict"].update(solved=False)), "the verdict says not solved"),
    "a cause of success": (variant(lambda t: t["ending"].update(cause="done")), "if and only if it was not solved"),
    "no round": (variant(lambda t: t.update(rounds=[])), "there is no round"),
    "half a character": (json.dumps(FOREIGN).replace("A kitchen.", "\\ud800"), "Invalid JSON"),
    "too deep": ("[" * 100_000, "recursion limit"),
    "a huge number": (json.dumps(FOREIGN).replace('"actions": 1', f'"actions": {"9" * 9_000}'), "number out of range"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_faulty_episode_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    content, message = WRONG[name]
    printed = refusal("import", write_file(tmp_path / "x.jsonl", FOREIGN, content), "--out", tmp_path / "run")
    assert "x.jsonl, line 2: " in printed
    assert message in printed
    assert not (tmp_path / "run").exists()


def test_all_faults_of_all_files_are_listed_together(tmp_path: Path) -> None:
    repeated = variant(lambda episode: episode.update(repeat=1))
    faulty = [WRONG[name][0] for name in ("no round", "another field")]
    one = write_file(tmp_path / "one.jsonl", "{", FOREIGN, *faulty, repeated, FOREIGN)
    two, three = write_file(tmp_path / "two.jsonl", ""), write_file(tmp_path / "three.jsonl", FOREIGN)
    printed = refusal("import", one, two, three, "--out", tmp_path / "run")
    name = f"{FOREIGN['task']['id']}, repeat 0, by {FOREIGN['run']['planner']}"
    for message in (
        "one.jsonl, line 1: ",
        "one.jsonl, line 3: ",
        "one.jsonl, line 4: ",
        f"one.jsonl, line 6: {name} is already in {one}, line 2",
        "two.jsonl: the file has no episodes",
        f"three.jsonl, line 1: {name} is already in {one}, line 2",
    ):
        assert message in printed
    assert "one.jsonl, line 2: " not in printed
    assert "one.jsonl, line 5: " not in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.jsonl", "three.jsonl", "two.jsonl"]


def test_a_line_that_is_too_long_is_refused_before_all_of_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "x.jsonl").open("wb") as file:
        file.write(b'"')
        file.truncate(2 * MAX_EPISODE_BYTES + 10)
        file.seek(0, 2)
        file.write(f"\n{json.dumps(FOREIGN)}\n".encode())
    printed = refusal("import", tmp_path / "x.jsonl", "--out", tmp_path / "run")
    assert "line 1: longer than" in printed
    assert "line 2" not in printed


def test_parquet_that_is_broken_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    other, cut = tmp_path / "other.parquet", tmp_path / "cut.parquet"
    parquet.write_table(pyarrow.table({"a": [1]}), other)
    cut.write_bytes(other.read_bytes()[:-9])
    assert "row 1: " in refusal("import", other, "--out", tmp_path / "run")
    assert "cannot be read as Parquet" in refusal("import", cut, "--out", tmp_path / "run")


def test_parquet_written_by_another_tool_is_read(runs: dict[str, Path], tmp_path: Path) -> None:
    invoke("export", runs["toy"], "--format", "parquet", "--out", tmp_path / "x.parquet")
    rows = parquet.read_table(tmp_path / "x.parquet").to_pylist()
    parquet.write_table(pyarrow.Table.from_pylist(rows[1:3]), tmp_path / "y.parquet", compression="snappy")
    assert invoke("import", tmp_path / "y.parquet", "--out", tmp_path / "run", "--json").result["episodes"] == 2


def test_an_existing_folder_is_left_unchanged(tmp_path: Path) -> None:
    path = write_file(tmp_path / "x.jsonl", FOREIGN)
    succeed("import", path, "--out", tmp_path / "run")
    before = events(tmp_path / "run")
    assert "already exists" in refusal("import", path, "--out", tmp_path / "run")
    assert events(tmp_path / "run") == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run", "x.jsonl"]


def test_an_imported_file_cannot_choose_a_folder_outside_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for planner in ("../../../elsewhere", "x/../../../elsewhere", 300 * "x", "two\nlines"):
        write_file(Path("a.jsonl"), {**FOREIGN, "run": {"planner": planner}})
        folder = Path(invoke("import", "a.jsonl", "--json").result["run"])
        assert folder.parent == Path("runs")
        assert folder.name.isprintable()
    assert [each.name for each in tmp_path.iterdir()] == ["here"]
