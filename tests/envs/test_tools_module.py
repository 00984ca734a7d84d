"""Python functions and classes as environments, and their tasks."""

import json
from pathlib import Path

import pytest

from planbook.envs import (
    Action,
    BadSelection,
    Environment,
    EnvironmentBroken,
    Selection,
    UnknownEnvironment,
    load_environment,
)
from planbook.planner import functions_to_check
from planbook.sandbox import check

NOTES = Path(__file__).parents[2] / "examples" / "tools"
TASKS = {"tasks": str(NOTES / "notes.yaml")}
SHAPES = '''
"""Shapes."""
from dataclasses import dataclass, field
from enum import Enum
import datetime

class Color(Enum):
    RED = "red"
    BLUE = "blue"

@dataclass
class Point:
    x: int
    y: int = 0

MADE = []

def paint(point: Point, color: Color = Color.RED, *more: int, day: datetime.date | None = None, **rest: int) -> dict:
    """Paint a point."""
    MADE.append(color.value)
    return {"point": point, "color": color.value, "more": more, "day": day, "rest": rest, "made": len(MADE)}

async def later(n: int = 1) -> str:
    return "x" * n

def _private() -> None: ...

class Files:
    def read(self, path: str) -> str:
        return f"content of {path}"

class World:
    files: Files
    def __init__(self) -> None:
        self.files = Files()
    def answer(self) -> int:
        return 1

def world(seed: int) -> World:
    assert seed == 7
    return World()
'''

FAULTY = """tasks:
  - id: a
    goal: ''
  - id: a b
    goal: g
    judge: {answer: 1, python: x}
  - goal: h
    jugde: {}
"""
FAULTY_JUDGES = """tasks:
  - id: a
    goal: g
  - id: a
    goal: g
    judge: {python: "x.py:f"}
  - {id: c, goal: g, judge: {
      assert: agent.numbrs() == 1}}
  - {id: d, goal: g, judge: {assert: [
      "numbers = agent.numbers()",
      "agent.remove(numbers[0])",
      "1 +"]}}
"""


def played(name: str, task: str, tasks: dict[str, str] = TASKS) -> Environment:
    kind = load_environment(name)
    environment = kind(kind.Options.model_validate(tasks))
    (chosen,) = kind.select(Selection(ids=(task,)), environment.options)
    environment.reset(chosen)
    return environment


def act(environment: Environment, name: str, *args: object, **kwargs: object) -> object:
    observed = environment.act(environment.actions[name].bind(*args, **kwargs))  # type: ignore[arg-type]
    assert not observed.failed, observed.text
    return json.loads(observed.text) if observed.structured else observed.text


@pytest.fixture
def shapes(tmp_path: Path) -> str:
    (tmp_path / "shapes.py").write_text(SHAPES)
    (tmp_path / "tasks.yaml").write_text("tasks: [{id: a, goal: Paint., seed: 7}]")
    return str(tmp_path)


def test_the_function_of_a_judge_is_checked(tmp_path: Path) -> None:
    (tmp_path / "judges.py").write_text(
        "def wordy(answer):\n    return 'yes'\n\ndef odd(state, foo):\n    return True\n"
    )
    (tmp_path / "tools.py").write_text("def add(a: int, b: int) -> int:\n    return a + b\n")
    judge = 'tasks: [{{id: a, goal: g, judge: {{python: "judges.py:{}"}}}}]'
    (tmp_path / "tasks.yaml").write_text(judge.format("odd"))
    options = {"tasks": str(tmp_path / "tasks.yaml")}
    with pytest.raises(BadSelection, match=r"odd has the parameter foo; .* may have answer, state, task"):
        played(f"module:{tmp_path}/tools.py", "a", options)
    (tmp_path / "tasks.yaml").write_text(judge.format("wordy"))
    environment = played(f"module:{tmp_path}/tools.py", "a", options)
    with pytest.raises(EnvironmentBroken, match="wordy returned 'yes'; return True, False or a share from 0 to 1"):
        environment.verdict()


def test_methods_are_actions_and_a_mutable_default_is_each_calls_own() -> None:
    notes = played(f"module:{NOTES}/notes.py:Notes", "count/1")
    act(notes, "add", "d")
    act(notes, "add", "e")
    assert act(notes, "read", 5) == {"text": "e", "tags": ["new"]}
    failed = notes.act(Action("remove", (99,)))
    assert failed.failed
    assert failed.text == "KeyError: 99"
    before = notes.snapshot()
    act(notes, "remove", 1)
    notes.restore(before)
    assert act(notes, "numbers") == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("answer", "solved"), [(3, True), (3.0, True), ("3", False), (True, False), (None, False)])
def test_an_exact_answer_is_the_verdict(answer: object, solved: bool) -> None:
    notes = played(f"module:{NOTES}/notes.py:Notes", "count/1")
    assert not notes.verdict().solved
    act(notes, "answer", answer)
    assert notes.ended
    assert notes.verdict().solved is solved


def test_assertions_look_at_the_state_and_leave_it() -> None:
    notes = played(f"module:{NOTES}/notes.py:Notes", "tidy/2")
    assert notes.verdict().score == 0
    act(notes, "remove", 1)
    act(notes, "remove", 2)
    assert notes.verdict().score == 0.5
    assert notes.snapshot().native is not None


def test_a_function_judges_or_nobody() -> None:
    notes = played(f"module:{NOTES}/notes.py:Notes", "letters/1")
    assert not notes.verdict().solved
    act(notes, "add", "silent")
    assert notes.verdict().solved
    free = played(f"module:{NOTES}/notes.py:Notes", "free/1")
    act(free, "answer", "roses")
    assert free.unjudged() == 'nobody judged; the answer is "roses"'


def test_functions_take_richer_types_and_give_plain_data(shapes: str) -> None:
    environment = played(f"module:{shapes}/shapes.py", "a", {"tasks": f"{shapes}/tasks.yaml"})
    assert set(environment.actions) == {"paint", "later", "answer", "world"}
    blue = act(environment, "paint", {"x": 1}, "blue", more=[4, 5], day="2026-01-02", rest={"k": 1})
    assert blue == {
        "point": {"x": 1, "y": 0},
        "color": "blue",
        "more": [4, 5],
        "day": "2026-01-02",
        "rest": {"k": 1},
        "made": 1,
    }
    assert act(environment, "later", 3) == "xxx"
    environment.reset(environment.task)  # type: ignore[arg-type]
    red = act(environment, "paint", {"x": 1})
    assert isinstance(red, dict)
    assert (red["color"], red["made"]) == ("red", 1)


def test_wrong_arguments_are_found_before_the_plan_runs(shapes: str) -> None:
    functions = functions_to_check(load_environment(f"module:{shapes}/shapes.py"))
    faults = check("agent.later('x')\nagent.later(1, 2)\nagent.latter()", functions)
    assert [fault.line for fault in faults] == [1, 2, 3]


def test_a_factory_makes_the_state_and_attributes_are_named_objects(shapes: str) -> None:
    environment = played(f"module:{shapes}/shapes.py:world", "a", {"tasks": f"{shapes}/tasks.yaml"})
    assert set(environment.actions) == {"files.read", "answer_2", "answer"}
    assert act(environment, "files.read", "x") == "content of x"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("module:nowhere.py", "no file"),
        ("module:planbook.nowhere:X", "cannot be imported: ModuleNotFoundError"),
        ("module:string:Tempate", "neither a class nor a function annotated"),
    ],
)
def test_what_cannot_be_loaded_says_why(name: str, told: str) -> None:
    with pytest.raises(UnknownEnvironment, match=told):
        load_environment(name)


def faults_of(text: str, file: Path) -> dict[str, str]:
    """Return the messages about a task file, by line."""
    file.write_text(text)
    kind = load_environment(f"module:{NOTES}/notes.py:Notes")
    with pytest.raises(BadSelection) as caught:
        kind.select(Selection(), kind.Options.model_validate({"tasks": str(file)}))
    return dict(line.removeprefix(f"{file}:").split(":", 1) for line in str(caught.value).splitlines())


def test_all_faults_in_the_form_of_a_file_of_tasks_are_told_with_lines(tmp_path: Path) -> None:
    told = faults_of(FAULTY, tmp_path / "tasks.yaml")
    assert list(told) == ["3", "4", "6", "7", "8"]
    assert "there is no such key; did you mean judge? There are id, goal" in told["8"]
    assert list(faults_of("tasks: []", tmp_path / "none.yaml")) == ["1"]


def test_all_faults_of_ids_and_judges_are_told_with_lines(tmp_path: Path) -> None:
    told = faults_of(FAULTY_JUDGES, tmp_path / "tasks.yaml")
    assert list(told) == ["4", "6", "8", "11", "12"]
    assert "is used twice" in told["4"]
    assert "no file" in told["6"]
    assert "agent has no action or attribute numbrs; did you mean agent.numbers?" in told["8"]
    assert "agent.remove is not marked as read-only" in told["11"]
    assert "invalid syntax" in told["12"]


def test_tasks_must_be_named() -> None:
    with pytest.raises(BadSelection, match="--option tasks="):
        load_environment(f"module:{NOTES}/notes.py:Notes").select(Selection())


def test_a_task_without_a_split_is_in_the_split_of_all_only() -> None:
    kind = load_environment(f"module:{NOTES}/notes.py:Notes")
    options = kind.Options.model_validate(TASKS)
    assert [task.id for task in kind.select(Selection(split="test"), options)] == ["tidy/2"]
    assert len(kind.select(Selection(), options)) == 5
    assert kind.task_splits(options) == ("all", "train", "test")


def test_a_file_that_names_no_split_has_only_all(shapes: str) -> None:
    kind = load_environment(f"module:{shapes}/shapes.py")
    options = kind.Options.model_validate({"tasks": f"{shapes}/tasks.yaml"})
    assert [task.split for task in kind.select(Selection(), options)] == ["all"]
    with pytest.raises(BadSelection, match="has no split 'test'; it has all"):
        kind.select(Selection(split="test"), options)
