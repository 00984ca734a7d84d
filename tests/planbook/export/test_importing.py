"""Episodes of other people come in whole, or not at all."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from planbook.export.files import MAX_EPISODE_BYTES
from tests.flows import events, here, table
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
"""A file from outside: nothing that is optional, and an unknown environment."""


def written(path: Path, *episodes: Any) -> Path:
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in episodes))
    return path


def changed(change: Callable[[Any], object]) -> Any:
    episode = json.loads(json.dumps(FOREIGN))
    change(episode)
    return episode


def test_an_environment_and_a_planner_that_nobody_knows_here_are_read_like_any_other(tmp_path: Path) -> None:
    failed = changed(
        lambda episode: episode["ending"].update(outcome="failure", cause="done", verdict={"solved": False, "score": 0})
    )
    failed["repeat"] = 1
    path = written(tmp_path / "x.jsonl", FOREIGN, failed)
    imported = here("import", path, "--out", tmp_path / "run", "--json")
    assert imported.returncode == 0, imported.printed
    assert imported.result["episodes"] == 2
    assert imported.result["solved"] == 1
    assert imported.result["worlds"] == ["elsewhere"]
    marked = json.loads((tmp_path / "run" / "run.json").read_text())
    assert marked["imported"]["files"] == [
        {"name": "x.jsonl", "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "episodes": 2}
    ]
    assert (marked["config"]["planner"], marked["config"]["env"]) == ("somebody's own", "elsewhere")
    reported = here("report", tmp_path / "run", "--out", tmp_path / "x.html", "--json")
    assert reported.returncode == 0, reported.printed
    assert any("agent.tidy()" in code for code in Page(tmp_path / "x.html").all("pre"))
    exported = here("export", tmp_path / "run", "--out", tmp_path / "again.jsonl")
    assert exported.returncode == 0, exported.printed
    assert here("import", tmp_path / "again.jsonl", "--out", tmp_path / "again").returncode == 0
    here("export", tmp_path / "again", "--out", tmp_path / "third.jsonl")
    assert (tmp_path / "third.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()


def test_an_imported_run_keeps_what_its_own_run_was_asked(runs: dict[str, Path], tmp_path: Path) -> None:
    here("export", runs["deps-minecraft-chances"], "--out", tmp_path / "x.jsonl")
    here("import", tmp_path / "x.jsonl", "--out", tmp_path / "run")
    theirs, ours = (
        json.loads((folder / "run.json").read_text()) for folder in (runs["deps-minecraft-chances"], tmp_path / "run")
    )
    assert ours["config"] == theirs["config"]
    assert ours["imported"]["origins"][0]["facts"]["versions"] == theirs["versions"]
    reports = [
        here("report", folder, "--out", tmp_path / "x.html", "--json").result["runs"][0]
        for folder in (runs["deps-minecraft-chances"], tmp_path / "run")
    ]
    assert table(reports[0]) == table(reports[1])


def test_episodes_of_several_runs_keep_their_own_facts(runs: dict[str, Path], tmp_path: Path) -> None:
    names = ("adapt-textcraft-stepwise", "deps-minecraft-chances", "reflexion-textcraft")
    paths = [tmp_path / f"{number}.jsonl" for number in range(3)]
    for name, path in zip(names, paths, strict=True):
        here("export", runs[name], "--out", path)
    assert here("import", *paths, "--out", tmp_path / "run").returncode == 0
    here("export", tmp_path / "run", "--out", tmp_path / "all.jsonl")
    assert (tmp_path / "all.jsonl").read_bytes() == b"".join(path.read_bytes() for path in paths)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["config"]["planner"] == "several"
    assert here("report", tmp_path / "run", "--out", tmp_path / "x.html").returncode == 0


@pytest.mark.parametrize(
    "command", [("run", "--resume"), ("build", "--resume"), ("formulate",), ("replay",)], ids=" ".join
)
def test_an_imported_run_is_not_played(command: tuple[str, ...], tmp_path: Path) -> None:
    here("import", written(tmp_path / "x.jsonl", FOREIGN), "--out", tmp_path / "run")
    before = (tmp_path / "run" / "run.json").read_text(), events(tmp_path / "run")
    refused = here(*command, tmp_path / "run")
    assert refused.returncode == 2
    assert "was imported" in refused.printed or "were played elsewhere" in refused.printed
    assert ((tmp_path / "run" / "run.json").read_text(), events(tmp_path / "run")) == before


def _step(episode: Any) -> Any:
    return episode["rounds"][0]["steps"][0]


WRONG: dict[str, tuple[Any, str]] = {
    "another version": (changed(lambda t: t.update(schema="planbook.trajectory/9")), "another version of planbook"),
    "something else": ({"messages": []}, "this is not an episode"),
    "no JSON": ("{", "Invalid JSON"),
    "a list": ("[1]", "this is not an episode"),
    "a number for a text": (changed(lambda t: t["task"].update(goal=7)), "task.goal: Input should be a valid string"),
    "a text for a number": (changed(lambda t: _step(t).update(order="1")), "order: Input should be a valid integer"),
    "not a number": (json.dumps(FOREIGN).replace('"score": 1.0', '"score": NaN'), "a number is NaN or infinite"),
    "another field": (changed(lambda t: t.update(reward=1)), "reward: Extra inputs are not permitted"),
    "another field below": (changed(lambda t: _step(t)["observation"].update(reward=1)), "reward"),
    "nowhere": (
        changed(lambda t: t["rounds"][0]["cells"][0].update(scope="../../learn/0")),
        "'../../learn/0' is not a scope",
    ),
    "another round": (changed(lambda t: t["rounds"][0].update(number=3)), "rounds.0.number does not fit"),
    "a long scope": (
        changed(lambda t: t["rounds"][0]["cells"][0].update(scope="round/0" + "/a/0" * 200)),
        "is not a scope; write one like",
    ),
    "a step before its round": (
        changed(lambda t: t["rounds"][0].update(order=1, steps=[{**_step(t), "order": 0}])),
        "its parts do not fit together",
    ),
    "undone by nothing": (
        changed(lambda t: _step(t).update(undone=True)),
        "rounds.0.steps.0.undone does not fit the rest of the episode",
    ),
    "steps out of order": (
        changed(lambda t: t["rounds"][0].update(steps=[{**_step(t), "order": 9}, {**_step(t), "line": 2}])),
        "rounds.0.steps.0.line does not fit",
    ),
    "solved or not": (changed(lambda t: t["ending"]["verdict"].update(solved=False)), "the verdict says not solved"),
    "a cause of success": (changed(lambda t: t["ending"].update(cause="done")), "if and only if it was not solved"),
    "no round": (changed(lambda t: t.update(rounds=[])), "there is no round"),
    "half a character": (json.dumps(FOREIGN).replace("A kitchen.", "\\ud800"), "Invalid JSON"),
    "too deep": ("[" * 100_000, "recursion limit"),
    "a huge number": (json.dumps(FOREIGN).replace('"actions": 1', f'"actions": {"9" * 9_000}'), "number out of range"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    content, message = WRONG[name]
    refused = here("import", written(tmp_path / "x.jsonl", FOREIGN, content), "--out", tmp_path / "run")
    assert refused.returncode == 2
    assert "x.jsonl, line 2: " in refused.printed
    assert message in refused.printed
    assert not (tmp_path / "run").exists()


def test_every_fault_of_every_file_is_reported_at_once(tmp_path: Path) -> None:
    one = written(tmp_path / "one.jsonl", "{", FOREIGN, *(WRONG[name][0] for name in ("no round", "another field")))
    two = written(tmp_path / "two.jsonl", "")
    refused = here("import", one, two, "--out", tmp_path / "run")
    assert refused.returncode == 2
    for message in (
        "one.jsonl, line 1: ",
        "one.jsonl, line 3: ",
        "one.jsonl, line 4: ",
        "two.jsonl: it has no episodes",
    ):
        assert message in refused.printed
    assert "line 2" not in refused.printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.jsonl", "two.jsonl"]


def test_an_episode_that_stands_there_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    one = written(tmp_path / "one.jsonl", FOREIGN, changed(lambda episode: episode.update(repeat=1)), FOREIGN)
    two = written(tmp_path / "two.jsonl", FOREIGN)
    refused = here("import", one, two, "--out", tmp_path / "run")
    assert refused.returncode == 2
    name = f"{FOREIGN['task']['id']}, repeat 0, by {FOREIGN['run']['planner']}"
    assert f"one.jsonl, line 3: {name} is already in {one}, line 1" in refused.printed.replace("\n", "")
    assert "two.jsonl, line 1: " in refused.printed
    assert "one.jsonl, line 2: " not in refused.printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.jsonl", "two.jsonl"]


def test_a_line_without_end_is_refused_without_being_held(tmp_path: Path) -> None:
    with (tmp_path / "x.jsonl").open("wb") as file:
        file.write(b'"')
        file.truncate(2 * MAX_EPISODE_BYTES + 10)
        file.seek(0, 2)
        file.write(f"\n{json.dumps(FOREIGN)}\n".encode())
    refused = here("import", tmp_path / "x.jsonl", "--out", tmp_path / "run")
    assert "line 1: longer than" in refused.printed
    assert "line 2" not in refused.printed


def test_parquet_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "other.parquet")
    refused = here("import", tmp_path / "other.parquet", "--out", tmp_path / "run")
    assert refused.returncode == 2
    assert "row 1: " in refused.printed
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "other.parquet").read_bytes()[:-9])
    refused = here("import", tmp_path / "cut.parquet", "--out", tmp_path / "run")
    assert refused.returncode == 2
    assert "cannot be read as Parquet" in refused.printed


def test_parquet_as_another_tool_writes_it_is_read(runs: dict[str, Path], tmp_path: Path) -> None:
    here("export", runs["toy"], "--format", "parquet", "--out", tmp_path / "x.parquet")
    rows = parquet.read_table(tmp_path / "x.parquet").to_pylist()
    parquet.write_table(pyarrow.Table.from_pylist(rows[1:3]), tmp_path / "y.parquet", compression="snappy")
    imported = here("import", tmp_path / "y.parquet", "--out", tmp_path / "run", "--json")
    assert imported.returncode == 0, imported.printed
    assert imported.result["episodes"] == 2


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "x.jsonl", FOREIGN)
    assert here("import", path, "--out", tmp_path / "run").returncode == 0
    before = events(tmp_path / "run")
    refused = here("import", path, "--out", tmp_path / "run")
    assert refused.returncode == 2
    assert "exists already" in refused.printed
    assert events(tmp_path / "run") == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run", "x.jsonl"]


def test_a_folder_of_several_runs_is_called_imported_and_one_of_one_run_after_it(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("adapt-textcraft-stepwise", "deps-minecraft-chances")
    for name in names:
        here("export", runs[name], "--out", f"{name}.jsonl")
    assert here("import", f"{names[0]}.jsonl").returncode == 0
    assert here("import", *(f"{name}.jsonl" for name in names)).returncode == 0
    one, several = sorted(folder.name.split("-", 2)[2] for folder in Path("runs").iterdir())
    assert (several, one) == ("imported-textcraft-adapt", "imported")
