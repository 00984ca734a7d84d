"""build, formulate and test, as a user runs them one after the other."""

import os
import shutil
from pathlib import Path

import pytest

from tests.flows import BUILD, Finished, asks, events, files, here, history, scripted, table

Built = tuple[Path, Finished]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A building run, its manual formulated."""
    folder = tmp_path_factory.mktemp("built") / "run"
    finished = here(*BUILD, "--json", "--out", folder)
    assert finished.returncode == 0, finished.stderr
    formulated = here("formulate", folder, "--json")
    assert formulated.returncode == 0, formulated.stderr
    return folder, finished


def test_building_counts_its_tasks_by_type_its_calls_and_its_errors(built: Built) -> None:
    folder, finished = built
    summary = finished.result
    assert summary["by_type"] == {"fetch": [3, 3], "fetch_two": [3, 3]}
    assert (summary["tasks"], summary["solved"], summary["failures"]) == (6, 6, {})
    asked = [each for each in asks(folder) if each["role"] != "formulator"]
    assert summary["model_calls"] == len(asked) == 23
    assert summary["tokens"] == summary["prompt_tokens"] + summary["completion_tokens"] > 0
    errors = [event.body["error_steps"] for event in events(folder, "outcome", "task") if event.body["cause"] == ""]
    assert summary["mean_error_steps"] == round(sum(map(int, map(str, errors))) / 6, 2) == 0.5
    assert "mean error steps" in finished.stderr


def test_a_type_is_left_alone_after_three_successes_in_a_row(built: Built) -> None:
    folder, finished = built
    assert finished.result["left_out"] == 6
    causes = [event.body["cause"] for event in events(folder, "outcome", "task")]
    assert causes.count("type_solved") == 6
    assert "Left out, as their type was solved often enough in a row: 6." in finished.printed


def test_fewer_successes_can_be_enough(tmp_path: Path) -> None:
    command = (*BUILD, "--solved-after", 1, "--tasks-per-type", 5, "--no-procedures", "--json")
    summary = here(*command, "--out", tmp_path / "r").result
    assert (summary["tasks"], summary["solved"], summary["left_out"]) == (3, 2, 7)
    assert not (tmp_path / "r" / "learnt" / "toy" / "procedures").exists()


def test_what_was_learnt_is_written_beside_the_run(built: Built) -> None:
    folder, _ = built
    home = folder / "learnt" / "toy"
    written = set(files(home))
    assert written == {
        "example.md", "manual.md", "world.md", "rules.json", "skills.json",
        "procedures/fetch.py", "procedures/fetch_two.py",
    }  # fmt: skip
    shown = here("rules", folder, "show", "--json").result
    assert [rule["id"] for rule in shown["rules"]] == ["rule_0", "rule_1", "rule_2", "rule_3"]
    manual = (home / "manual.md").read_text()
    assert all(rule["content"] in manual for rule in shown["rules"])
    assert "def solve(agent, task)" in (home / "procedures" / "fetch.py").read_text()


def test_the_same_seed_gives_the_same_run_and_another_seed_other_tasks(tmp_path: Path, built: Built) -> None:
    folder, finished = built
    again = here(*BUILD, "--json", "--out", tmp_path / "again")
    assert table(again.result) == table(finished.result)
    assert here("formulate", tmp_path / "again").returncode == 0
    assert files(tmp_path / "again" / "learnt") == files(folder / "learnt")
    assert history(tmp_path / "again") == history(folder)
    other = here(*BUILD, "--seed", 1, "--no-procedures", "--json", "--out", tmp_path / "other")
    assert other.returncode == 0
    assert not task_ids(folder) & task_ids(tmp_path / "other")


def task_ids(folder: Path) -> set[str]:
    return {str(event.body["task"]["id"]) for event in events(folder, "task", "run")}  # type: ignore[index, call-overload]


def test_without_a_model_the_procedures_play_tasks_that_are_none_of_the_building_tasks(
    tmp_path: Path, built: Built
) -> None:
    folder, _ = built
    finished = here("test", "--env", "toy", "--library", folder, "--model", "none", "--json", "--out", tmp_path / "t")
    assert finished.returncode == 0, finished.stderr
    summary = finished.result
    assert (summary["model_calls"], summary["tasks"]) == (0, 12)
    assert summary["by_type"] == {"fetch": [5, 6], "fetch_two": [6, 6]}
    assert len(task_ids(tmp_path / "t")) == 12
    assert not task_ids(folder) & task_ids(tmp_path / "t")


@pytest.fixture(scope="module")
def tested(built: Built) -> Built:
    """A test run with the library and a model."""
    folder, before = built[0].with_name("tested"), history(built[0])
    finished = here("test", "--env", "toy", "--library", built[0], "--model", scripted(), "--json", "--out", folder)
    assert finished.returncode == 0, finished.stderr
    assert history(built[0]) == before, "the library stays as it is"
    return folder, finished


def test_with_a_model_the_manual_is_in_every_prompt_and_nothing_is_learnt(tested: Built) -> None:
    folder, finished = tested
    assert finished.result["tasks"] == 12
    assert finished.result["model_calls"] == len(asks(folder)) >= 12
    first = asks(folder, "planner", "automanual/task")
    assert len(first) == 12
    for asked in first:
        assert "# Manual of the toy world" in asked["messages"][-1]["content"]
    assert {each["role"] for each in asks(folder)} == {"planner"}
    assert not events(folder, "learnt")


def test_a_procedure_goes_first_and_a_model_is_asked_only_where_it_fails(tmp_path: Path, built: Built) -> None:
    folder, _ = built
    command = ("test", "--env", "toy", "--library", folder, "--model", scripted(), "--procedures-first", "--json")
    finished = here(*command, "--out", tmp_path / "t")
    assert finished.returncode == 0, finished.stderr
    assert 1 <= finished.result["model_calls"] <= 4
    first = asks(tmp_path / "t", "planner", "automanual/task")
    assert len(first) == 1, "one procedure failed in the run without a model"
    assert "A stored procedure for tasks of this kind was run first." in first[0]["messages"][-1]["content"]


def test_the_exported_folder_is_a_library_as_well_as_the_run(tmp_path: Path, built: Built, tested: Built) -> None:
    library, (folder, from_run) = built[0] / "learnt", tested
    command = ("test", "--env", "toy", "--model", scripted(), "--json", "--library", library)
    from_files = here(*command, "--out", tmp_path / "files")
    assert table(from_run.result) == {**table(from_files.result), "paying": table(from_run.result)["paying"]}
    assert table(from_files.result)["paying"] is None, "what the files cost is not known"
    assert [each["messages"] for each in asks(folder)] == [each["messages"] for each in asks(tmp_path / "files")]


def test_a_run_after_fewer_tasks_knows_less(tmp_path: Path, built: Built) -> None:
    folder, _ = built
    chosen = ("--library", folder, "--types", "fetch_two", "--without", "retrieval")
    command = ("test", "--env", "toy", "--model", scripted(), *chosen)
    here(*command, "--after", 0, "--out", tmp_path / "none")
    here(*command, "--after", 1, "--out", tmp_path / "one")
    prompts = [
        asks(tmp_path / name, "planner", "automanual/task")[0]["messages"][-1]["content"] for name in ("none", "one")
    ]
    assert "rule_2" in prompts[0], "the start's rules"
    assert "rule_3" not in prompts[0]
    assert "rule_3" in prompts[1]


@pytest.mark.deep
def test_fewer_rule_tokens_leave_fewer_rules_in_a_prompt(tmp_path: Path, built: Built) -> None:
    folder, _ = built
    command = ("test", "--env", "toy", "--model", scripted(), "--library", folder, "--types", "fetch")
    options = {"all": ("--without", "retrieval"), "fitting": (), "few": ("--rule-tokens", 100)}
    prompts = []
    for name, more in options.items():
        assert here(*command, *more, "--out", tmp_path / name).returncode == 0
        prompts.append(asks(tmp_path / name, "planner", "automanual/task")[0]["messages"][-1]["content"])
    assert [len(each) for each in prompts] == sorted({len(each) for each in prompts}, reverse=True)
    assert ["# Manual of the toy world" in each for each in prompts] == [True, True, False]
    assert all(f"rule_{number}" in prompts[0] for number in range(4))
    assert "rule_" in prompts[2]


def test_formulating_again_asks_nobody(built: Built) -> None:
    folder, _ = built
    before = history(folder)
    again = here("formulate", folder, "--json")
    assert again.returncode == 0
    assert history(folder) == before
    assert str(folder / "learnt" / "toy" / "manual.md") in again.result["manuals"]


def test_a_shortened_manual_is_a_file_of_its_own_beside_the_whole_one(tmp_path: Path, built: Built) -> None:
    folder = tmp_path / "run"
    shutil.copytree(built[0], folder)
    home = folder / "learnt" / "toy"
    whole = (home / "manual.md").read_text()
    short = here("formulate", folder, "--tokens", 400, "--json")
    assert short.returncode == 0, short.printed
    assert short.result["manuals"] == [str(home / "manual.md"), str(home / "manual.short.md")]
    assert "[left out for length]" in (home / "manual.short.md").read_text()
    assert (home / "manual.md").read_text() == whole
    refused = here("formulate", folder, "--tokens", 120)
    assert refused.returncode == 2
    assert "120 are allowed: allow more" in refused.printed
    assert here("formulate", folder).returncode == 0
    assert not (home / "manual.short.md").exists()


def test_formulating_what_is_no_building_run_or_has_no_rules_is_refused_in_one_line(tmp_path: Path) -> None:
    here("run", "--env", "toy", "--split", "all:1", "--out", tmp_path / "played")
    refused = here("formulate", tmp_path / "played")
    assert refused.returncode == 2
    assert "is not a building run; rules come from `planbook build`" in refused.printed
    here(*BUILD, "--without", "rules", "--no-procedures", "--tasks-per-type", 1, "--out", tmp_path / "ruleless")
    refused = here("formulate", tmp_path / "ruleless")
    assert refused.returncode == 2
    assert "has no rules to formulate" in refused.printed


def test_replaying_a_building_run_and_a_test_run_needs_no_model(built: Built, tested: Built) -> None:
    folder, finished = built
    replayed = here("replay", folder, "--json")
    assert replayed.returncode == 0, replayed.printed
    assert replayed.result["by_sameness"]["same"] == finished.result["tasks"] == 6
    assert replayed.result["by_sameness"]["not compared"] == 6, "those that were left out"
    replayed = here("replay", tested[0], "--json")
    assert (replayed.returncode, replayed.result["by_sameness"]["same"]) == (0, 12)


def test_rules_of_each_type_by_themselves(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    finished = here(*BUILD, "--per-type", "--no-procedures", "--json", "--out", folder)
    assert finished.returncode == 0, finished.stderr
    assert here("formulate", folder).returncode == 0
    assert {path.name for path in (folder / "learnt").iterdir()} == {"fetch", "fetch_two"}
    assert (folder / "learnt" / "fetch" / "toy" / "manual.md").exists()
    refused = here("rules", folder, "show")
    assert refused.returncode == 2
    assert "name one with --group: fetch, fetch_two" in refused.printed
    one, two = (here("rules", folder, "log", "--group", group, "--json").result for group in ("fetch", "fetch_two"))
    of_type = {index(event.scope): event.body["task"]["type"] for event in events(folder, "task", "task")}  # type: ignore[index, call-overload]
    for group, shown in (("fetch", one), ("fetch_two", two)):
        places = [line.split(" at learn/")[1].split("/")[0] for line in shown["text"].splitlines()]
        assert places
        assert {of_type[int(place)] for place in places} == {group}


def index(scope: str) -> int:
    return int(scope.split("/")[1])


@pytest.mark.deep
def test_libraries_go_on_where_rules_stay(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    here(*BUILD, "--types", "fetch", "--no-procedures", "--json", "--out", first)
    known = here("rules", first, "--json").result["rules"]
    planner = ("--model", "none", "--model", f"planner={scripted()}", "--max-rules", "1")
    more = ("--types", "fetch_two", "--library", first, "--libraries-only", "--out", second)
    assert here("build", "--env", "toy", *planner, *more).returncode == 0
    assert here("rules", second, "--json").result["rules"] == known
    assert {event.body["role"] for event in events(second, "ask")} == {"planner"}, "nobody manages rules"
    skills = (second / "learnt" / "toy" / "skills.json").read_text()
    assert '"fetch"' in skills
    assert '"fetch_two"' in skills


def test_building_goes_on_from_an_earlier_run_whatever_becomes_of_that(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    here(*BUILD, "--types", "fetch", "--json", "--out", first)
    more = (*BUILD, "--types", "fetch_two", "--library", first, "--json", "--out", second)
    built = here(*more).result
    known = here("rules", second, "--json").result["rules"]
    ids = [rule["id"] for rule in here("rules", first, "--json").result["rules"]]
    assert [rule["id"] for rule in known][: len(ids)] == ids
    here("rules", first, "undo", "1")
    again = here(*more).result
    assert (again["solved"], again["model_calls"]) == (built["solved"], built["model_calls"])
    assert here("rules", second, "--json").result["rules"] == known


@pytest.mark.parametrize("given", ["all:x", "all:0", "nowhere:2"])
def test_verifying_on_more_tasks_is_checked_before_anything_is_paid_for(tmp_path: Path, given: str) -> None:
    refused = here(*BUILD, "--verify", given, "--out", tmp_path / "run")
    assert refused.returncode == 2
    assert f"--verify {given}" in refused.printed
    assert not (tmp_path / "run").exists()


def test_a_procedure_is_verified_on_more_tasks_too(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = (*BUILD, "--types", "fetch", "--tasks-per-type", 1, "--verify", "all:3", "--out", folder)
    assert here(*command).returncode == 0
    played = [event for event in events(folder, "outcome", "learn") if "/verification/0/" in event.scope]
    assert len(played) == 1 + 3


def test_starts_are_none_one_or_several(tmp_path: Path) -> None:
    command = (*BUILD, "--no-procedures", "--types", "fetch", "--tasks-per-type", 1)
    start = tmp_path / "mine"
    start.mkdir()
    (start / "example.md").write_text("An example of my own.\n")
    (start / "rules.json").write_text('[{"id": "rule_0", "type": "Special Mechanism", "content": "Mine: look."}]')
    for name, given in (("none", ""), ("several", f"fetch,{start}"), ("own", start)):
        finished = here(*command, "--start", given, "--out", tmp_path / name)
        assert finished.returncode == 0, finished.printed
    none, several, mine = (asks(tmp_path / name)[0]["messages"] for name in ("none", "several", "own"))
    assert "# An example" not in none[0]["content"]
    assert "rule_0" not in none[1]["content"]
    assert "An example of my own." in several[0]["content"]
    assert "## rule_3 (Special Mechanism)\n\nMine: look." in several[1]["content"], "numbered on after the other start"
    assert "## rule_0 (Special Mechanism)\n\nMine: look." in mine[1]["content"]
    refused = here(*command, "--start", "nowhere", "--out", tmp_path / "refused")
    assert refused.returncode == 2
    assert "no start 'nowhere': toy has fetch" in refused.printed


def test_above_so_many_rules_the_consolidator_is_asked_and_bounded(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    command = (*BUILD, "--no-procedures", "--model", f"consolidator={scripted('never_done')}", "--max-rules", 3)
    finished = here(*command, "--json", "--out", folder)
    assert finished.returncode == 0, finished.printed
    asked = [event.scope for event in events(folder, "ask", "learn") if "/consolidator/" in event.scope]
    assert asked
    assert max(map(asked.count, asked)) == 4, "it asks to look at an episode for ever, and is stopped"
    log = here("rules", folder, "log").stdout
    assert "consolidator" in log
    assert "deleted rule_3" in log
    assert "rule_3" not in [rule["id"] for rule in here("rules", folder, "--json").result["rules"]]


def test_offline_building_side_by_side_begins_once(tmp_path: Path) -> None:
    built = here(*BUILD, "--without", "online", "--jobs", "4", "--no-procedures", "--json", "--out", tmp_path / "run")
    assert built.returncode == 0, built.printed
    assert built.result["left_out"] == 0
    assert [event.scope for event in events(tmp_path / "run", "learnt", "beginning")] == ["beginning/all"]


def test_a_building_run_is_read_in_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert here(*BUILD, "--types", "fetch", "--tasks-per-type", 1, "--no-procedures", "--out", folder).returncode == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    for path in (*folder.rglob("*"), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        if os.access(folder, os.W_OK):
            pytest.skip("whoever runs this may write anywhere")
        assert "rule_0" in here("rules", folder, "show").stdout
        assert here("cost", folder).returncode == 0
        assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)


def test_a_procedure_is_tried_on_each_new_task_of_its_type(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    here(*BUILD, "--types", "fetch", "--solved-after", 9, "--json", "--out", folder)
    tried = {event.body["task"]["id"] for event in events(folder, "task", "learn")}  # type: ignore[index, call-overload]
    solved = [event.scope for event in events(folder, "outcome", "task") if "success" in event.body["outcome"]]  # type: ignore[operator]
    assert len(tried) == len(solved) == 6


def test_rules_are_built_from_whatever_plays(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    built = here(*BUILD, "--planner", "procedures", "--tasks-per-type", 2, "--no-procedures", "--json", "--out", folder)
    assert built.returncode == 0, built.printed
    assert built.result["solved"] == built.result["tasks"] == 4
    assert {event.scope.split("/")[0] for event in events(folder, "ask")} == {"learn"}
    assert '"fetch_two"' in (folder / "learnt" / "toy" / "skills.json").read_text()
    assert here("rules", folder, "log").stdout.count("builder at learn/") == 4


def test_more_rules_than_there_is_room_for_are_reported(tmp_path: Path) -> None:
    printed = here(*BUILD, "--max-rules", 1, "--out", tmp_path / "run").printed
    assert "more than --max-rules: success processes and helper methods are never deleted" in printed


@pytest.mark.deep
def test_a_library_s_example_and_the_starts_are_both_shown(tmp_path: Path) -> None:
    first, start = tmp_path / "first", tmp_path / "mine"
    assert here(*BUILD, "--types", "fetch", "--tasks-per-type", 1, "--out", first).returncode == 0
    start.mkdir()
    (start / "example.md").write_text("An example of my own.\n")
    (start / "rules.json").write_text("[]")
    again = ("--types", "fetch", "--tasks-per-type", 1, "--library", first, "--start", f"fetch,{start}")
    for name, more in (("rules", ()), ("libraries", ("--libraries-only",))):
        finished = here(*BUILD, *again, *more, "--out", tmp_path / name)
        assert finished.returncode == 0, finished.printed
        system = asks(tmp_path / name)[0]["messages"][0]["content"]
        assert system.count("An example of my own.") == 1
