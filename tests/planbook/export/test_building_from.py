"""Rules out of episodes that somebody else played."""

import json
from pathlib import Path

import pytest

from tests.flows import BUILD, Finished, asks, events, files, here, history, scripted, table
from tests.killing import KILLED, lives
from tests.planbook.export.test_importing import FOREIGN, written

MODEL = ("--model", scripted())
SMALL = (*BUILD, "--types", "fetch", "--tasks-per-type", "3")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A building run whose episodes others learn from."""
    folder = tmp_path_factory.mktemp("played") / "run"
    assert here(*SMALL, "--out", folder).returncode == 0
    return folder


def learned_from(*arguments: object) -> Finished:
    return here("build", *arguments, *MODEL, "--json")


@pytest.mark.parametrize("form", ["run", "jsonl", "parquet", "imported"])
def test_a_building_runs_own_episodes_teach_the_same_again(form: str, played: Path, tmp_path: Path) -> None:
    source = played
    if form != "run":
        source = tmp_path / "x.file"
        here("export", played, "--format", "jsonl" if form == "imported" else form, "--out", source)
    if form == "imported":
        here("import", source, "--out", tmp_path / "imported")
        source = tmp_path / "imported"
    finished = learned_from("--from", source, "--out", tmp_path / "built")
    assert finished.returncode == 0, finished.printed
    assert files(tmp_path / "built" / "learnt") == files(played / "learnt")
    assert history(tmp_path / "built") == history(played)
    given = json.loads((tmp_path / "built" / "run.json").read_text())["config"]["learning"]["given"]
    assert given == [{"path": str(source), "sha256": given[0]["sha256"], "episodes": 3}]


def test_whatever_holds_the_same_episodes_has_the_same_digest(played: Path, tmp_path: Path) -> None:
    here("export", played, "--format", "parquet", "--out", tmp_path / "x.parquet")
    digests = set()
    for number, source in enumerate((played, tmp_path / "x.parquet")):
        learned_from("--from", source, "--no-procedures", "--out", tmp_path / f"{number}")
        file = json.loads((tmp_path / f"{number}" / "run.json").read_text())
        digests.add(file["config"]["learning"]["given"][0]["sha256"])
    assert len(digests) == 1


@pytest.mark.deep
def test_a_recorded_build_learns_the_same_rules_from_an_imported_copy_of_its_episodes(tmp_path: Path) -> None:
    how = ("--tasks-per-type", 1, "--verify", "generated:10", "--model", "recorded:alfworld-generated")
    built = here("build", "--env", "alfworld", "--split", "generated", *how, "--out", tmp_path / "built")
    assert built.returncode == 0, built.printed
    here("export", tmp_path / "built", "--format", "parquet", "--out", tmp_path / "x.parquet")
    here("import", tmp_path / "x.parquet", "--out", tmp_path / "imported")
    again = here("build", "--from", tmp_path / "imported", *how, "--out", tmp_path / "again", "--json")
    assert again.returncode == 0, again.printed
    assert files(tmp_path / "again" / "learnt") == files(tmp_path / "built" / "learnt")
    assert history(tmp_path / "again") == history(tmp_path / "built")
    assert not [each for each in events(tmp_path / "again", "sitting") if each.scope != "run"]


def test_nobody_is_asked_to_plan_and_what_the_others_spent_is_theirs(played: Path, tmp_path: Path) -> None:
    finished = learned_from("--from", played, "--out", tmp_path / "built", "--budget", "calls=40")
    every = asks(tmp_path / "built")
    plans = [each for each in every if each["template"].startswith(("automanual/task", "automanual/feedback"))]
    assert plans
    assert finished.result["model_calls"] == len(every) - len(plans)
    again = here("run", "--resume", tmp_path / "built", "--json").result
    assert table(again) == table(finished.result)
    cost = here("cost", tmp_path / "built", "--json").result
    assert cost["after"][-1]["calls"] == finished.result["model_calls"]
    report = here("report", tmp_path / "built", "--out", tmp_path / "x.html", "--json").result
    assert report["runs"][0]["model_calls"] == finished.result["model_calls"]


def test_episodes_are_chosen_by_type_and_left_out_when_a_type_was_solved_often(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    few = ("--types", "fetch_two", "--tasks-per-type", 2, "--no-procedures", "--out", tmp_path / "few")
    assert learned_from("--from", runs["toy"], *few).result["by_type"] == {"fetch_two": [2, 2]}
    enough = ("--solved-after", 1, "--no-procedures", "--out", tmp_path / "enough")
    result = learned_from("--from", runs["toy"], *enough).result
    assert (result["tasks"], result["left_out"]) == (2, 4)
    every = ("--solved-after", 1, "--no-procedures", "--without", "online", "--out", tmp_path / "every")
    result = learned_from("--from", runs["toy"], *every).result
    assert (result["tasks"], result["left_out"]) == (6, 0)


def test_episodes_of_several_runs_and_of_another_method(runs: dict[str, Path], played: Path, tmp_path: Path) -> None:
    here("run", "--planner", "random", "--env", "toy", "--split", "all:2", "--out", tmp_path / "random")
    both = ("--from", tmp_path / "random", "--from", played, "--no-procedures", "--out", tmp_path / "built")
    finished = learned_from(*both)
    assert finished.returncode == 0, finished.printed
    assert finished.result["tasks"] == 5
    config = json.loads((tmp_path / "built" / "run.json").read_text())["config"]
    assert [given["episodes"] for given in config["learning"]["given"]] == [2, 3]
    assert config["planner"] == "automanual"
    alone = ("--from", tmp_path / "random", "--no-procedures", "--out", tmp_path / "alone")
    assert learned_from(*alone).returncode == 0
    assert json.loads((tmp_path / "alone" / "run.json").read_text())["config"]["planner"] == "random"


DEEP = (("outcome", 1), ("outcome", 3), ("ask", 2))
KILLS = [("learnt", 2), *(pytest.param(*each, marks=pytest.mark.deep) for each in DEEP)]


@pytest.mark.parametrize(("kind", "number"), KILLS)
def test_a_building_run_that_is_killed_and_resumed_learns_the_same(
    kind: str, number: int, played: Path, tmp_path: Path
) -> None:
    command = ["build", "--from", played, *MODEL, "--out", tmp_path / "built"]
    assert lives([[kind, number], [kind, number], ["", 0]], *command)[0] == KILLED
    assert history(tmp_path / "built") == history(played)
    assert files(tmp_path / "built" / "learnt") == files(played / "learnt")


def test_a_source_that_has_changed_is_not_resumed(played: Path, tmp_path: Path) -> None:
    here("export", played, "--out", tmp_path / "x.jsonl")
    stopped = ("--from", tmp_path / "x.jsonl", "--budget", "calls=3", "--out", tmp_path / "built")
    assert learned_from(*stopped).returncode == 4
    kept = (tmp_path / "x.jsonl").read_text()
    written(tmp_path / "x.jsonl", *kept.splitlines()[:-1])
    refused = here("run", "--resume", tmp_path / "built", "--budget", "calls=100")
    assert refused.returncode == 2
    assert "has other episodes than when this building run began" in refused.printed
    (tmp_path / "x.jsonl").write_text(kept)
    assert here("run", "--resume", tmp_path / "built", "--budget", "calls=100").returncode == 0
    assert files(tmp_path / "built" / "learnt") == files(played / "learnt")


def test_what_cannot_be_learnt_from_is_refused_before_anything_is_made(played: Path, tmp_path: Path) -> None:
    foreign = written(tmp_path / "x.jsonl", FOREIGN)
    lost = written(tmp_path / "z.jsonl", json.dumps(FOREIGN).replace("elsewhere", "alfworld"))
    refusals = [
        (("--from", foreign), "name it with --env"),
        (("--from", foreign, "--env", "toy"), "is a task of elsewhere"),
        (("--from", written(tmp_path / "y.jsonl", "{")), "y.jsonl, line 1"),
        (("--from", tmp_path / "nothing"), "name the folder of a run"),
        (("--from", tmp_path), "name the folder of a run"),
        (("--from", lost, "--env", "alfworld"), "build without them: --no-procedures"),
        (("--from", played, "--types", "nonsense"), "no episode of the chosen"),
        (("--from", played, "--split", "all"), "leave out --split"),
        (("--from", played, "--planner", "deps"), "leave out --planner"),
    ]
    for asked, message in refusals:
        refused = here("build", *asked, *MODEL, "--out", tmp_path / "built")
        assert refused.returncode == 2
        assert message in refused.printed
        assert not (tmp_path / "built").exists()
    silent = here("build", "--from", played, "--out", tmp_path / "built")
    assert silent.returncode == 2
    assert "planner" in silent.printed
    learned_from("--from", played, "--no-procedures", "--out", tmp_path / "built")
    refused = here("replay", tmp_path / "built")
    assert "were played elsewhere" in refused.printed
