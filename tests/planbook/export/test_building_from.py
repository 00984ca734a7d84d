"""`planbook build --from`: learn from episodes of other runs, without playing any."""

import json
from pathlib import Path
from typing import Any

import pytest

from planbook.learning.tasks import read_source
from planbook.results import read_folder
from tests.flows import (
    BUILD,
    SCRIPT,
    Finished,
    asks,
    events,
    files,
    history,
    invoke,
    refusal,
    scripted,
    succeed,
    without_times,
)
from tests.killing import KILLED, run_until_survived
from tests.planbook.export.test_importing import FOREIGN, write_file

MODEL = ("--model", scripted())


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `planbook build` of three episodes, which other runs of `planbook build` learn from."""
    folder = tmp_path_factory.mktemp("played") / "run"
    succeed(*BUILD, "--types", "fetch", "--tasks-per-type", "3", "--out", folder)
    return folder


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two episodes in which a plan of the user opened one box."""
    folder = tmp_path_factory.mktemp("code") / "run"
    opens = ("--planner", "code", "--planner-option", "code=agent.open('box_1')")
    succeed("run", *opens, "--env", "toy", "--split", "all:2", "--out", folder)
    return folder


def build(*arguments: object) -> Finished:
    return succeed("build", *arguments, *MODEL, "--json")


def config(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_text())["config"]


@pytest.mark.parametrize("form", ["run", "jsonl", "parquet", "imported"])
def test_building_from_the_episodes_of_a_building_run_learns_the_same(form: str, played: Path, tmp_path: Path) -> None:
    source = played
    if form != "run":
        source = tmp_path / "x.file"
        invoke("export", played, "--format", "jsonl" if form == "imported" else form, "--out", source)
    if form == "imported":
        invoke("import", source, "--out", tmp_path / "imported")
        source = tmp_path / "imported"
    build("--from", source, "--out", tmp_path / "built")
    assert files(tmp_path / "built" / "learned") == files(played / "learned")
    learned, original = (
        [(*place, body.replace(f"{SCRIPT.parent}/", "")) for *place, body in history(folder)]
        for folder in (tmp_path / "built", played)
    )
    assert not [each for each in events(tmp_path / "built", "invocation") if each.scope != "run"]
    assert learned == original, "apart from the folder of the script, which a file does not name"
    expected = {"path": str(source), "sha256": read_source(source)[0].sha256, "episodes": 3}
    assert config(tmp_path / "built")["learning"]["given"] == [expected]


def test_the_model_calls_of_copied_episodes_are_not_counted(played: Path, tmp_path: Path) -> None:
    result = build("--from", played, "--out", tmp_path / "built", "--budget", "calls=40").result
    requests = asks(tmp_path / "built")
    copied = [each for each in requests if each["template"].startswith(("automanual/task", "automanual/feedback"))]
    assert copied
    assert result["model_calls"] == len(requests) - len(copied)
    assert without_times(invoke("run", "--resume", tmp_path / "built", "--json").result) == without_times(result)
    built = read_folder(tmp_path / "built")
    assert built.building_states[-1].calls == built.summary().model_calls == result["model_calls"]


def test_episodes_are_chosen_by_type_and_skipped_once_their_type_was_solved_often(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    few = ("--types", "fetch_two", "--tasks-per-type", 2, "--no-procedures", "--out", tmp_path / "few")
    assert build("--from", runs["toy"], *few).result["by_type"] == {"fetch_two": [2, 2]}
    for name, more, tasks, left_out in (("online", (), 2, 4), ("offline", ("--without", "online"), 2, 4)):
        chosen = ("--solved-after", 1, "--no-procedures", *more, "--out", tmp_path / name)
        result = build("--from", runs["toy"], *chosen).result
        assert (result["tasks"], result["left_out"]) == (tasks, left_out)


def test_episodes_of_which_a_file_has_only_the_ending_are_not_learned_from(
    played: Path, code: Path, tmp_path: Path
) -> None:
    file, imported = tmp_path / "solved.jsonl", tmp_path / "imported"
    invoke("export", code, played, "--solved", "--out", file)
    succeed("import", file, "--out", imported)
    for source in (file, imported):
        more = ("--env", "toy", "--no-procedures", "--out", tmp_path / f"from {source.name}")
        assert build("--from", source, *more).result["by_type"] == {"fetch": [3, 3]}


def test_no_copied_episode_is_played_whatever_cause_its_file_names(played: Path, tmp_path: Path) -> None:
    invoke("export", played, "--format", "jsonl", "--out", tmp_path / "x.jsonl")
    episodes = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    failed = {"outcome": "failure", "cause": "diverged", "verdict": {"solved": False, "score": 0}}
    episodes[1]["ending"].update(failed)  # a run plays its own episodes again after this cause
    build("--from", write_file(tmp_path / "y.jsonl", *episodes), "--env", "toy", "--out", tmp_path / "built")
    endings = [event.scope for event in events(tmp_path / "built", "outcome", "task")]
    assert endings == ["task/0", "task/1", "task/2"]


def test_copied_episodes_keep_their_goals(code: Path, tmp_path: Path) -> None:
    learn = ("--from", code, "--types", "found", "--libraries-only")
    build(*learn, "--out", tmp_path / "own")
    tasks: list[Any] = [event.body["task"] for event in events(code, "task", "run")]
    goals = [json.dumps({"task": task["id"], "goal": f"Please, {task['goal']}"}) for task in tasks]
    (tmp_path / "goals.jsonl").write_text("\n".join(goals))
    build(*learn, "--goals", tmp_path / "goals.jsonl", "--out", tmp_path / "reworded")
    assert files(tmp_path / "reworded" / "learned") == files(tmp_path / "own" / "learned")


def test_the_planner_is_that_of_the_episodes_or_the_default_if_they_differ(
    played: Path, code: Path, tmp_path: Path
) -> None:
    both = ("--from", code, "--from", played, "--no-procedures", "--out", tmp_path / "built")
    assert build(*both).result["tasks"] == 5
    assert [source["episodes"] for source in config(tmp_path / "built")["learning"]["given"]] == [2, 3]
    assert config(tmp_path / "built")["planner"] == "automanual"
    build("--from", code, "--no-procedures", "--out", tmp_path / "alone")
    assert config(tmp_path / "alone")["planner"] == "code"


DEEP = (("outcome", 1), ("outcome", 3), ("ask", 2))
KILLS = [("learned", 2), *(pytest.param(*each, marks=pytest.mark.deep) for each in DEEP)]


@pytest.mark.parametrize(("kind", "number"), KILLS)
def test_a_killed_building_run_learns_the_same_when_it_is_resumed(
    kind: str, number: int, played: Path, tmp_path: Path
) -> None:
    command = ["build", "--from", played, *MODEL, "--out", tmp_path / "built"]
    assert run_until_survived([[kind, number], [kind, number], ["", 0]], *command)[0] == KILLED
    assert history(tmp_path / "built") == history(played)
    assert files(tmp_path / "built" / "learned") == files(played / "learned")


def test_a_run_is_not_resumed_while_its_source_is_changed(played: Path, tmp_path: Path) -> None:
    source, run = tmp_path / "x.jsonl", tmp_path / "built"
    invoke("export", played, "--out", source)
    assert invoke("build", "--from", source, *MODEL, "--budget", "calls=3", "--out", run).returncode == 4
    original = source.read_text()
    write_file(source, *original.splitlines()[:-1])
    printed = refusal("run", "--resume", run, "--budget", "calls=100")
    assert "have changed since this run of `planbook build` began" in printed
    source.write_text(original)
    succeed("run", "--resume", run, "--budget", "calls=100")
    assert files(run / "learned") == files(played / "learned")


def test_unusable_sources_and_options_are_refused_and_leave_no_folder(played: Path, tmp_path: Path) -> None:
    foreign = write_file(tmp_path / "x.jsonl", FOREIGN)
    lost = write_file(tmp_path / "z.jsonl", json.dumps(FOREIGN).replace("elsewhere", "alfworld"))
    for arguments, message in [
        (("--from", foreign), "name it with --env"),
        (("--from", foreign, "--env", "toy"), "is a task of elsewhere"),
        (("--from", write_file(tmp_path / "y.jsonl", "{")), "y.jsonl, line 1"),
        (("--from", tmp_path / "nothing"), "name the folder of a run"),
        (("--from", tmp_path), "name the folder of a run"),
        (("--from", lost, "--env", "alfworld"), "to build without procedures, use --no-procedures"),
        (("--from", played, "--types", "nonsense"), "no episode belongs to the chosen"),
        (("--from", played, "--split", "all"), "leave out --split"),
        (("--from", played, "--planner", "deps"), "leave out --planner"),
    ]:
        assert message in refusal("build", *arguments, *MODEL, "--out", tmp_path / "built")
        assert not (tmp_path / "built").exists()
    assert "planner" in refusal("build", "--from", played, "--out", tmp_path / "built")
