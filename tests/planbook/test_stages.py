"""The stages build, formulate and test, played one after the other."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.flows import BUILD, Finished, asks, events, files, history, invoke, refusal, scripted, succeed, without_times

FinishedRun = tuple[Path, Finished]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    """A run of `planbook build` with its manual; tests must not change it."""
    folder = tmp_path_factory.mktemp("built") / "run"
    finished = succeed(*BUILD, "--json", "--out", folder)
    succeed("formulate", folder)
    return folder, finished


@pytest.fixture(scope="module")
def tested(built: FinishedRun) -> FinishedRun:
    """A test run with the library and a model."""
    folder, before = built[0].with_name("tested"), history(built[0])
    finished = run_test(built[0], folder, "--model", scripted())
    assert history(built[0]) == before, "the library is unchanged"
    return folder, finished


def run_test(library: Path, folder: Path, *more: object) -> Finished:
    """Run `planbook test` with a library."""
    return succeed("test", "--env", "toy", "--library", library, *more, "--json", "--out", folder)


def plan_prompts(folder: Path) -> list[str]:
    """Return the first prompt of each episode that asked the planner."""
    return [asked["messages"][-1]["content"] for asked in asks(folder, "planner", "automanual/task")]


def task_ids(folder: Path) -> set[str]:
    return {str(event.body["task"]["id"]) for event in events(folder, "task", "run")}  # type: ignore[index, call-overload]


def test_building_counts_tasks_calls_and_errors(built: FinishedRun) -> None:
    folder, finished = built
    summary = finished.result
    assert summary["by_type"] == {"fetch": [3, 3], "fetch_two": [3, 3]}
    assert (summary["tasks"], summary["solved"], summary["failures"]) == (6, 6, {})
    asked = [each for each in asks(folder) if each["role"] != "formulator"]
    assert summary["model_calls"] == len(asked) == 23
    assert summary["tokens"] == summary["prompt_tokens"] + summary["completion_tokens"] > 0
    endings: list[Any] = [event.body for event in events(folder, "outcome", "task")]
    error_steps = [ending["error_steps"] for ending in endings if ending["cause"] == ""]
    assert summary["mean_error_steps"] == round(sum(error_steps) / 6, 2) == 0.5
    assert "mean error steps" in finished.stderr


def test_a_type_is_left_out_after_three_successes_in_a_row(built: FinishedRun) -> None:
    folder, finished = built
    assert finished.result["left_out"] == 6
    endings: list[Any] = [event.body for event in events(folder, "outcome", "task")]
    assert [ending["cause"] for ending in endings].count("type_solved") == 6
    assert "Skipped, because their type had been solved often enough in a row: 6." in finished.printed


def test_learned_knowledge_is_written_to_the_folder_of_the_run(built: FinishedRun) -> None:
    folder, _ = built
    home = folder / "learned" / "toy"
    written = set(files(home))
    assert written == {
        "example.md", "manual.md", "world.md", "rules.json", "skills.json",
        "procedures/fetch.py", "procedures/fetch_two.py",
    }  # fmt: skip
    shown = invoke("rules", folder, "show", "--json").result
    assert [rule["id"] for rule in shown["rules"]] == ["rule_0", "rule_1", "rule_2", "rule_3"]
    manual = (home / "manual.md").read_text()
    assert all(rule["content"] in manual for rule in shown["rules"])
    assert "def solve(agent, task)" in (home / "procedures" / "fetch.py").read_text()


def test_the_seed_determines_the_run(tmp_path: Path, built: FinishedRun) -> None:
    folder, finished = built
    again = invoke(*BUILD, "--json", "--out", tmp_path / "again")
    assert without_times(again.result) == without_times(finished.result)
    succeed("formulate", tmp_path / "again")
    assert files(tmp_path / "again" / "learned") == files(folder / "learned")
    assert history(tmp_path / "again") == history(folder)
    other = ("--seed", 1, "--no-procedures", "--tasks-per-type", 1, "--out", tmp_path / "other")
    succeed(*BUILD, *other)
    assert not task_ids(folder) & task_ids(tmp_path / "other")


def test_procedures_without_a_model_play_tasks_that_building_did_not(tmp_path: Path, built: FinishedRun) -> None:
    summary = run_test(built[0], tmp_path / "t", "--model", "none").result
    assert (summary["model_calls"], summary["tasks"]) == (0, 12)
    assert summary["by_type"] == {"fetch": [5, 6], "fetch_two": [6, 6]}
    assert len(task_ids(tmp_path / "t")) == 12
    assert not task_ids(built[0]) & task_ids(tmp_path / "t")


def test_with_a_model_every_prompt_has_the_manual_and_nothing_is_learned(tested: FinishedRun) -> None:
    folder, finished = tested
    assert finished.result["tasks"] == 12
    assert finished.result["model_calls"] == len(asks(folder)) >= 12
    assert ["# Manual of the toy world" in prompt for prompt in plan_prompts(folder)] == [True] * 12
    assert {each["role"] for each in asks(folder)} == {"planner"}
    assert not events(folder, "learned")


def test_the_folder_of_learned_files_is_a_library(tmp_path: Path, built: FinishedRun, tested: FinishedRun) -> None:
    folder, from_run = tested
    from_files = run_test(built[0] / "learned", tmp_path / "files", "--model", scripted())
    assert without_times(from_run.result) == {
        **without_times(from_files.result),
        "paying": without_times(from_run.result)["paying"],
    }
    assert without_times(from_files.result)["paying"] is None, "the cost of the files is unknown"
    assert [each["messages"] for each in asks(folder)] == [each["messages"] for each in asks(tmp_path / "files")]


def test_fewer_rules_are_known_after_fewer_building_tasks(tmp_path: Path, built: FinishedRun) -> None:
    chosen = ("--types", "fetch_two", "--without", "retrieval", "--model", scripted())
    for after in (0, 1):
        run_test(built[0], tmp_path / str(after), *chosen, "--after", after)
    prompts = [plan_prompts(tmp_path / name)[0] for name in ("0", "1")]
    assert "rule_2" in prompts[0], "the rules of the start"
    assert ["rule_3" in prompt for prompt in prompts] == [False, True]


def test_other_learning_settings_are_refused_when_resuming(built: FinishedRun) -> None:
    before = history(built[0])
    for options, difference in {
        ("--max-rules", 5): "--max-rules: 12, now 5",
        ("--no-procedures",): "--no-procedures",
    }.items():
        printed = refusal(*BUILD, *options, "--out", built[0])
        assert f"holds a run with other settings ({difference}); name another folder with --out" in printed
    assert "; learning); name another folder" in refusal("run", *BUILD[1:], "--out", built[0])
    assert history(built[0]) == before


def test_only_a_building_run_with_rules_can_be_formulated(tmp_path: Path) -> None:
    invoke(*BUILD, "--without", "rules", "--no-procedures", "--tasks-per-type", 1, "--out", tmp_path / "run")
    assert "has no rules to formulate" in refusal("formulate", tmp_path / "run")


def test_building_runs_and_test_runs_are_replayed_without_a_model(built: FinishedRun, tested: FinishedRun) -> None:
    folder, finished = built
    replayed = succeed("replay", folder, "--json")
    assert replayed.result["by_sameness"]["same"] == finished.result["tasks"] == 6
    assert replayed.result["by_sameness"]["not compared"] == 6, "left out"
    replayed = invoke("replay", tested[0], "--json")
    assert (replayed.returncode, replayed.result["by_sameness"]["same"]) == (0, 12)


@pytest.mark.parametrize(("per_type", "code"), [(False, 0), (True, 2)])
def test_separate_rules_for_each_type_made_by_an_earlier_version_are_refused_but_the_run_is_shown(
    per_type: bool, code: int, tmp_path: Path, built: FinishedRun
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(built[0], folder)
    file = json.loads((folder / "run.json").read_text())
    file["config"]["learning"]["per_type"] = per_type
    (folder / "run.json").write_text(json.dumps(file))
    test = ("test", "--env", "toy", "--library", folder, "--model", "none", "--out", tmp_path / "tested")
    for command in (("rules", folder), test):
        finished = invoke(*command)
        assert finished.returncode == code, finished.printed
        assert ("separate rules for each task type" in finished.printed) is per_type
    for shown in (("show", folder, "0"), ("stats", folder), ("report", folder, "--out", tmp_path / "report.html")):
        succeed(*shown)


@pytest.mark.deep
def test_libraries_can_grow_while_rules_stay_the_same(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    invoke(*BUILD, "--types", "fetch", "--no-procedures", "--json", "--out", first)
    known = invoke("rules", first, "--json").result["rules"]
    planner = ("--model", "none", "--model", f"planner={scripted()}", "--max-rules", "1")
    more = ("--types", "fetch_two", "--library", first, "--libraries-only", "--out", second)
    succeed("build", "--env", "toy", *planner, *more)
    assert invoke("rules", second, "--json").result["rules"] == known
    assert {event.body["role"] for event in events(second, "ask")} == {"planner"}
    skills = (second / "learned" / "toy" / "skills.json").read_text()
    assert '"fetch"' in skills
    assert '"fetch_two"' in skills


def test_building_continues_from_an_earlier_run(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    invoke(*BUILD, "--types", "fetch", "--json", "--out", first)
    more = (*BUILD, "--types", "fetch_two", "--library", first, "--json", "--out", second)
    built = invoke(*more).result
    known = invoke("rules", second, "--json").result["rules"]
    ids = [rule["id"] for rule in invoke("rules", first, "--json").result["rules"]]
    assert [rule["id"] for rule in known][: len(ids)] == ids
    invoke("rules", first, "undo", "1")
    again = invoke(*more).result
    assert (again["solved"], again["model_calls"]) == (built["solved"], built["model_calls"])
    assert invoke("rules", second, "--json").result["rules"] == known


@pytest.mark.parametrize("given", ["all:0", "nowhere:2"])
def test_invalid_tasks_for_verification_are_refused_before_the_run(tmp_path: Path, given: str) -> None:
    assert f"--verify {given}" in refusal(*BUILD, "--verify", given, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def write_start(folder: Path, rules: str) -> Path:
    folder.mkdir()
    (folder / "example.md").write_text("An example of my own.\n")
    (folder / "rules.json").write_text(rules)
    return folder


def test_a_build_may_have_no_start_one_or_several(tmp_path: Path) -> None:
    command = (*BUILD, "--no-procedures", "--types", "fetch", "--tasks-per-type", 1)
    rule = '{"id": "rule_0", "type": "Special Mechanism", "content": "Mine: look."}'
    start = write_start(tmp_path / "mine", f"[{rule}]")
    for name, given in (("none", ""), ("several", f"fetch,{start}"), ("own", start)):
        succeed(*command, "--start", given, "--out", tmp_path / name)
    none, several, mine = (asks(tmp_path / name)[0]["messages"] for name in ("none", "several", "own"))
    assert "# An example" not in none[0]["content"]
    assert "rule_0" not in none[1]["content"]
    assert "An example of my own." in several[0]["content"]
    assert "## rule_3 (Special Mechanism)\n\nMine: look." in several[1]["content"], "numbers follow on"
    assert "## rule_0 (Special Mechanism)\n\nMine: look." in mine[1]["content"]
    assert "no start 'nowhere': toy has fetch" in refusal(*command, "--start", "nowhere", "--out", tmp_path / "refused")


def test_an_offline_build_skips_types_that_are_solved(tmp_path: Path) -> None:
    built = succeed(*BUILD, "--without", "online", "--no-procedures", "--json", "--out", tmp_path / "run")
    assert built.result["left_out"] > 0
    rules = invoke("rules", tmp_path / "run", "--json").result
    assert rules["changes"] > 0
    assert rules["evidence"]["rule_0"]["cited"] == built.result["tasks"]


def test_an_offline_build_whose_budget_ends_writes_no_manual_before_its_rules(tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = ("--without", "online", "--no-procedures", "--solved-after", 99)
    stopped = invoke(*BUILD, *options, "--budget", "calls=14", "--json", "--out", run)
    assert stopped.returncode == 4, stopped.printed
    assert not asks(run, "formulator")
    succeed("run", "--resume", run, "--budget", "calls=500")
    assert invoke("rules", run, "--json").result["changes"] > 0


def test_a_procedure_is_verified_on_each_new_task_of_its_type(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    finished = invoke(*BUILD, "--types", "fetch", "--solved-after", 9, "--json", "--out", folder)
    tried = {event.body["task"]["id"] for event in events(folder, "task", "learn")}  # type: ignore[index, call-overload]
    assert len(tried) == finished.result["solved"] == 6


def test_rules_are_built_from_episodes_of_any_planner(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    built = succeed(
        *BUILD, "--planner", "procedures", "--tasks-per-type", 2, "--no-procedures", "--json", "--out", folder
    )
    assert built.result["solved"] == built.result["tasks"] == 4
    assert {event.scope.split("/")[0] for event in events(folder, "ask")} == {"learn"}
    assert '"fetch_two"' in (folder / "learned" / "toy" / "skills.json").read_text()
    assert invoke("rules", folder, "log").stdout.count("builder at learn/") == 4


def test_too_many_rules_are_reported(tmp_path: Path) -> None:
    printed = invoke(*BUILD, "--max-rules", 1, "--out", tmp_path / "run").printed
    assert "more than --max-rules: success processes and helper methods are never deleted" in printed


@pytest.mark.deep
def test_the_examples_of_a_library_and_of_a_start_are_shown(tmp_path: Path) -> None:
    first, start = tmp_path / "first", write_start(tmp_path / "mine", "[]")
    succeed(*BUILD, "--types", "fetch", "--tasks-per-type", 1, "--out", first)
    again = ("--types", "fetch", "--tasks-per-type", 1, "--library", first, "--start", f"fetch,{start}")
    for name, more in (("rules", ()), ("libraries", ("--libraries-only",))):
        succeed(*BUILD, *again, *more, "--out", tmp_path / name)
        system = asks(tmp_path / name)[0]["messages"][0]["content"]
        assert system.count("An example of my own.") == 1
