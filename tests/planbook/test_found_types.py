"""`--types found` builds and tests without the tasks' own types and params; `--goals` rewords the goals of tasks."""

import json
from pathlib import Path
from typing import Any

import pytest

from planbook.results import read_folder
from planbook.results.measures import count_matches
from planbook.results.rows import NOT_PLAYED
from tests.command import ROOT
from tests.flows import Finished, events, invoke, refusal, succeed

HOUSE = ("--env", "alfworld", "--json")
BUILD = ("build", *HOUSE, "--split", "generated:12", "--seeds", "0-9", "--types", "found")
MODEL = ("--model", "scripted:tests/household_script.py:answer")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("found") / "run"
    succeed(*BUILD, *MODEL, "--libraries-only", "--solved-after", 9, "--out", folder)
    return folder


def play(library: Path, out: Path, *arguments: object) -> Finished:
    return succeed("test", *HOUSE, "--library", library, "--model", "none", "--out", out, *arguments)


def test_found_types_have_parameters_wordings_and_procedures(built: Path) -> None:
    tasks = [event.body["task"] for event in events(built, "task", "task")]
    assert len(tasks) == 12
    assert all(isinstance(task, dict) and (task["type"], task["params"]) == ("", {}) for task in tasks)
    learned = built / "learned" / "alfworld"
    found: list[Any] = json.loads((learned / "types.json").read_text())
    for each in found:
        assert all(wording["pattern"].count("{") == len(each["parameters"]) for wording in each["wordings"])
        assert each["version"] >= 1
    assert sum(len(each["examples"]) for each in found) == 12
    assert {path.stem for path in (learned / "procedures").glob("*.py")} == {each["name"] for each in found}


@pytest.fixture(scope="module")
def tested(built: Path) -> Finished:
    """The result of two other tasks of each type, played with the library."""
    return play(built, built.parent / "tested", "--split", "generated", "--seeds", "100-101")


def test_goals_are_matched_or_left_to_the_planner(tested: Finished) -> None:
    matches = tested.result["matches"]
    assert matches["wrong"]["count"] == 0
    assert matches["matched"]["count"] == tested.result["solved"] >= 6
    assert matches["matched"]["count"] + matches["abstained"]["count"] == tested.result["tasks"] == 12
    assert "goals and found types" in tested.printed


def test_the_match_of_an_unfinished_episode_is_not_wrong(tested: Finished) -> None:
    rows = read_folder(Path(tested.result["run"])).episodes
    first = next(row for row in rows.values() if row.solved)
    first.ending = NOT_PLAYED
    counts = count_matches(list(rows.values()))
    assert counts is not None
    assert (counts.wrong.count, counts.matched.of) == (0, len(rows) - 1)


def test_repeats_of_a_goal_do_not_narrow_the_intervals(built: Path, tested: Finished) -> None:
    arguments = ("--split", "generated", "--seeds", "100-101", "--repeats", 3)
    once, repeated = tested.result["matches"], play(built, built.parent / "repeated", *arguments).result["matches"]
    for name in ("matched", "abstained", "wrong"):
        assert (repeated[name]["count"], repeated[name]["of"]) == (3 * once[name]["count"], 3 * once[name]["of"])
        assert (repeated[name]["low"], repeated[name]["high"]) == (once[name]["low"], once[name]["high"])


def test_reworded_goals_replace_those_of_the_tasks(built: Path, tested: Finished, tmp_path: Path) -> None:
    rows = read_folder(Path(tested.result["run"])).episodes.values()
    solved = [row.entry.task for row in rows if row.ending.outcome.solved][:3]
    wordings = ("dance", "sing", solved[2].goal)
    lines = [{"task": task.id, "goal": goal} for task, goal in zip(solved, wordings, strict=True)]
    goals = tmp_path / "goals.jsonl"
    goals.write_text("\n".join(map(json.dumps, lines)))
    reworded = play(built / "learned", tmp_path / "reworded", "--goals", goals)
    assert (reworded.result["tasks"], reworded.result["solved"]) == (3, 1)
    assert reworded.result["matches"]["abstained"]["count"] == 2
    first, *_ = [event.body for event in events(tmp_path / "reworded", "task", "task")]
    assert "Your task is to: dance" in str(first["observation"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", "goals.jsonl cannot be read (write one "),
        ("\n", "goals.jsonl has no goals"),
        ('{"task": "a", "goal": "b"}\n\n{"task": "c"}', "line 3: goal: Field required"),
        ('{"task": "a", "goal": "b"}\nfoo', "line 2: Invalid JSON: expected ident at column 2"),
        ('{"task": "a", "goal": " "}', 'write one {"task": "ID", "goal": "TEXT"} on each line'),
        ('{"task": "a", "goal": 3}', "Input should be a valid string"),
        ('{"task": "a", "goal": "b"}\n{"task": "a", "goal": "c"}', "or a task twice"),
    ],
)
def test_a_malformed_file_of_goals_is_refused(text: str, message: str, tmp_path: Path) -> None:
    goals = tmp_path / "goals.jsonl"
    goals.write_text(text)
    refused = invoke("test", *HOUSE, "--goals", goals)
    assert refused.returncode == 2
    assert message in refused.stderr


@pytest.mark.deep
def test_shopping_goals_are_matched_without_a_model(tmp_path: Path) -> None:
    """`docs/learning.md` reports the same measurement on more goals."""
    model = ("--model", f"scripted:{ROOT}/tests/found_script.py:shopping_written")
    found = ("--env", "shopping", "--split", "dev:12", "--types", "found", "--libraries-only", "--solved-after", "99")
    succeed("build", *found, *model, "--out", tmp_path / "built")
    testing = ("--env", "shopping", "--split", "test:12", "--library", tmp_path / "built", "--model", "none", "--json")
    result = invoke("test", *testing, "--out", tmp_path / "tested").result
    assert result["solved"] == result["matches"]["matched"]["count"] >= 6
    assert result["matches"]["wrong"]["count"] == 0


def test_procedures_for_found_types_are_not_exported_as_skills(built: Path) -> None:
    assert "its params are extracted from the goals" in refusal("skills", "export", built)


LATE_GOALS = """
from planbook.envs.toy import Toy

class Late(Toy):
    \"\"\"Goals that are known only once an episode has begun, as on a web page.\"\"\"
    name = "late"

    @classmethod
    def tasks(cls, selection, options=None):
        cls.goals = {task.id: task.goal for task in Toy.tasks(selection, options)}
        return [task.model_copy(update={"env": "late", "goal": ""}) for task in Toy.tasks(selection, options)]

    def begin(self, task):
        self.task = task.model_copy(update={"goal": self.goals[task.id]})
        return super().begin(self.task)

def reply(messages, sampling):
    return "### Code\\n```python\\nprint(agent.table())\\n```"
"""


def test_a_goal_may_become_known_when_the_episode_begins(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE_GOALS)
    file = tmp_path / "late.py"
    finished = succeed(
        "build", "--env", file, "--types", "found", "--tasks-per-type", 2, "--libraries-only",
        "--model", f"scripted:{file}:reply", "--out", tmp_path / "run", "--json",
    )  # fmt: skip
    assert finished.result["solved"] == 0


COUNTER = """
import re

class Counter:
    def __init__(self, params: dict):
        self.count = params["start"]

    def add(self, number: int) -> int:
        \"\"\"Add a number.\"\"\"
        self.count += number
        return self.count

def judge(state, task):
    return state.count == task.params["start"] + int(task.goal.split()[1])

def reply(messages, sampling):
    if not (goals := re.findall(r"Your task is to: Add (\\d+) now", messages[-1].content)):
        return ""
    return f"### Code\\n```python\\nagent.add({goals[-1]})\\nagent.answer()\\n```"
"""


def write_counter(folder: Path, tasks: list[dict[str, Any]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write the tools above and tasks for them. Return the options that name the environment and the model."""
    (folder / "counter.py").write_text(COUNTER)
    for task in tasks:
        number = int(task["id"])
        task.update(goal=f"Add {number} now.", params={"start": number}, judge={"python": "counter.py:judge"})
    (folder / "tasks.json").write_text(json.dumps({"tasks": tasks}))
    env = ("--env", f"module:{folder}/counter.py:Counter", "-o", f"tasks={folder}/tasks.json")
    return env, ("--model", f"scripted:{folder}/counter.py:reply")


def test_procedures_are_verified_on_the_tasks_of_copied_episodes_with_their_params(tmp_path: Path) -> None:
    env, model = write_counter(tmp_path, [{"id": str(number)} for number in range(3, 9)])
    found = ("build", "--libraries-only", "--solved-after", 99, "--json")
    built = invoke(*found, *env, *model, "--out", tmp_path / "built")
    assert built.result["solved"] == 6, built.printed
    assert "finds types and params, and hides the tasks' own params from plans; --types given shows" in built.printed
    copied = succeed(*found, *model, "--from", tmp_path / "built", "--tasks-per-type", 4, "--out", tmp_path / "copied")
    assert copied.result["tasks"] == 4
    assert copied.result["by_type"].keys() == {"task"}
    procedures = [list((tmp_path / name).glob("learned/*/procedures/*.py")) for name in ("built", "copied")]
    assert [len(paths) for paths in procedures] == [1, 1]
    (tmp_path / "other.json").write_text((tmp_path / "tasks.json").read_text().replace("Add 3", "Add 9"))
    testing = ("test", *env[:-1], f"tasks={tmp_path}/other.json", "--library", tmp_path / "built")
    assert "was built" not in invoke(*testing, "--out", tmp_path / "before").printed, "other tasks are no change"
    (tmp_path / "counter.py").write_text(f"{COUNTER}\n")
    noticed = invoke(*testing, "--out", tmp_path / "after").printed
    warning = f"changed since {tmp_path}/built was built: data module: changed; the judge counter.py"
    assert warning in noticed


def test_given_types_choose_among_episodes_that_were_played_with_found_types(tmp_path: Path) -> None:
    kinds = {3: "odd", 4: "even", 5: "odd", 6: "even", 7: "odd"}
    env, model = write_counter(tmp_path, [{"id": str(number), "type": kind} for number, kind in kinds.items()])
    building = ("build", *model, "--solved-after", 99, "--json")
    succeed(*building, *env, "--types", "found", "--libraries-only", "--out", tmp_path / "built")
    order = [row.entry.task.id for row in read_folder(tmp_path / "built").episodes.values()]
    odd, even = ([id for id in order if id in kind] for kind in ("357", "46"))
    for types, chosen in (("given", {odd[0], even[0]}), ("odd", {odd[0]})):
        copying = ("--from", tmp_path / "built", "--types", types, "--tasks-per-type", 1, "--no-procedures")
        succeed(*building, *copying, "--out", tmp_path / types)
        rows = read_folder(tmp_path / types).episodes.values()
        expected = [id for id in order if id in chosen]
        assert [row.entry.task.id for row in rows] == expected
        assert [row.environment_task and row.environment_task.id for row in rows] == expected
