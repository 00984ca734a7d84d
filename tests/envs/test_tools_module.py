"""Python functions and classes as environments, and their task files."""

import json
from pathlib import Path

import pytest

from planbook.commands.learning import building_config
from planbook.envs import BadSelection, Environment, Selection, UnknownEnvironment, load_environment
from planbook.envs.errors import EnvironmentBroken
from planbook.envs.tools.tasks import judge_function
from planbook.planner import functions_to_check
from planbook.sandbox import check
from planbook.settings import Settings
from tests.envs.playing import call, started

EXAMPLES = Path(__file__).parents[2] / "examples" / "tools"
NOTES, TASKS = f"module:{EXAMPLES}/notes.py:Notes", str(EXAMPLES / "notes.yaml")
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
    search: Files
    def __init__(self) -> None:
        self.files = self.search = Files()
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


def notes(task_id: str) -> Environment:
    """Return the example environment at the start of one of its tasks."""
    return started(load_environment(NOTES), task_id, tasks=TASKS)


@pytest.fixture
def shapes(tmp_path: Path) -> str:
    (tmp_path / "shapes.py").write_text(SHAPES)
    (tmp_path / "tasks.yaml").write_text("tasks: [{id: a, goal: Paint., seed: 7}]")
    return str(tmp_path)


def test_a_judging_function_with_wrong_parameters_or_result_is_refused(tmp_path: Path) -> None:
    (tmp_path / "judges.py").write_text(
        "def wordy(answer):\n    return 'yes'\n\ndef odd(state, foo):\n    return True\n\n"
        "def nan():\n    return float('nan')\n\ndef none():\n    return None\n"
    )
    (tmp_path / "tools.py").write_text("def add(a: int, b: int) -> int:\n    return a + b\n")
    judge = 'tasks: [{{id: a, goal: g, judge: {{python: "judges.py:{}"}}}}]'
    (tmp_path / "tasks.yaml").write_text(judge.format("odd"))
    environment_class, tasks = load_environment(f"module:{tmp_path}/tools.py"), str(tmp_path / "tasks.yaml")
    with pytest.raises(BadSelection, match=r"odd has the parameter foo; .* may have answer, state, task"):
        started(environment_class, "a", tasks=tasks)
    for name, value in {"wordy": "'yes'", "nan": "nan", "none": "None"}.items():
        (tmp_path / "tasks.yaml").write_text(judge.format(name))
        environment = started(environment_class, "a", tasks=tasks)
        with pytest.raises(EnvironmentBroken, match=f"{name} returned {value}; return True, False or a score"):
            environment.verdict()


def test_a_judging_module_that_cannot_be_imported_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "judges_of_nothing.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "judges_that_exit.py").write_text("raise SystemExit(3)")
    with pytest.raises(UnknownEnvironment, match="cannot be imported: SystemExit: 3"):
        load_environment("module:judges_that_exit")
    for name, reason in {
        "judges_of_nothing": "ZeroDivisionError",
        "judges_that_exit": "SystemExit: 3",
        ".judges": "TypeError",
        "no_such": "No module",
    }.items():
        with pytest.raises(BadSelection, match=f"{name} cannot be imported: .*{reason}"):
            judge_function(f"{name}:judge", tmp_path)


def test_methods_are_actions_and_each_call_has_its_own_mutable_default() -> None:
    environment = notes("count/1")
    call(environment, "add", "d")
    call(environment, "add", "e")
    assert call(environment, "read", 5) == {"text": "e", "tags": ["new"]}
    assert call(environment, "remove", 99) == "failed: KeyError: 99"
    before = environment.snapshot()
    call(environment, "remove", 1)
    environment.restore(before)
    assert call(environment, "numbers") == [1, 2, 3, 4, 5]


def test_the_verdict_names_the_error_of_an_assertion_and_its_number(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(
        "from planbook.envs import query\n\n@query()\ndef add(a: int, b: int) -> int:\n    return a + b\n"
    )
    (tmp_path / "tasks.yaml").write_text(
        "tasks:\n- {id: a, goal: g}\n- id: b\n  goal: g\n  judge:\n    assert:\n    - agent.add(1, 2) == 3\n"
        "    - |\n      assert agent.add(1, 2) == 4\n    - '{}[agent.add(1, 2)]'\n"
    )
    verdict = started(load_environment(f"module:{tmp_path}/tools.py"), "b", tasks=f"{tmp_path}/tasks.yaml").verdict()
    assert (verdict.solved, round(verdict.score, 2)) == (False, 0.33)
    assert verdict.fault == "tasks.yaml: b: assertion 3 raised KeyError: 3, and does not hold"


@pytest.mark.parametrize(("answer", "solved"), [(3, True), (3.0, True), ("3", False), (True, False), (None, False)])
def test_an_exact_answer_solves_the_task(answer: object, solved: bool) -> None:
    environment = notes("count/1")
    assert not environment.verdict().solved
    call(environment, "answer", answer)
    assert environment.ended
    assert environment.verdict().solved is solved


def test_the_score_is_the_share_of_assertions_that_hold() -> None:
    environment = notes("tidy/2")
    assert environment.verdict().score == 0
    call(environment, "remove", 1)
    call(environment, "remove", 2)
    assert environment.verdict().score == 0.5
    assert environment.snapshot().saved_state is not None


@pytest.mark.parametrize(
    ("assertion", "holds"),
    [
        ("x = 1; x == 2", False),
        ("got = agent.numbers()\n99 in got", False),
        ("got = agent.numbers()\n1 in got", True),
        ("got = agent.numbers()\nassert 1 in got", True),
    ],
)
def test_the_last_expression_of_an_assertion_must_be_true(assertion: str, holds: bool, tmp_path: Path) -> None:
    task = {"id": "a", "goal": "g", "params": {"notes": ["bread"]}, "judge": {"assert": assertion}}
    (tmp_path / "tasks.json").write_text(json.dumps({"tasks": [task]}))
    assert started(load_environment(NOTES), "a", tasks=f"{tmp_path}/tasks.json").verdict().solved is holds


def test_a_task_is_judged_by_a_function_or_not_at_all() -> None:
    environment = notes("letters/1")
    assert not environment.verdict().solved
    call(environment, "add", "silent")
    assert environment.verdict().solved
    free = notes("free/1")
    assert "größer" in str(call(free, "answer", "größer"))
    assert free.unjudged_result() == 'not judged; the answer is "größer"'


def test_functions_take_annotated_types_and_return_plain_data(shapes: str) -> None:
    environment = started(load_environment(f"module:{shapes}/shapes.py"), "a", tasks=f"{shapes}/tasks.yaml")
    assert set(environment.actions) == {"paint", "later", "answer", "world"}
    assert str(environment.actions["paint"].signature).startswith(
        "(point: dict[str, typing.Any], color: Literal['red', 'blue'] = 'red', more: list = [], day: Optional[str]"
    )
    assert environment.actions["paint"].doc == 'Paint a point.\npoint: {"x": integer, "y"?: integer}'
    blue = call(environment, "paint", {"x": 1}, "blue", more=[4, 5], day="2026-01-02", rest={"k": 1})
    painted = {"point": {"x": 1, "y": 0}, "color": "blue", "more": [4, 5], "day": "2026-01-02", "rest": {"k": 1}}
    assert blue == {**painted, "made": 1}
    assert call(environment, "later", 3) == "xxx"
    assert str(call(environment, "paint", {"x": 1}, day="tomorrow")).startswith("failed: paint(): argument 'day': ")
    assert str(call(environment, "paint", {"y": 1})).startswith("failed: paint(): argument 'point': ")
    environment.reset(environment.task)  # type: ignore[arg-type]
    red = call(environment, "paint", {"x": 1})
    assert isinstance(red, dict)
    assert (red["color"], red["made"]) == ("red", 1)


def test_wrong_arguments_are_found_by_the_check(shapes: str) -> None:
    functions = functions_to_check(load_environment(f"module:{shapes}/shapes.py"))
    faults = check("agent.later('x')\nagent.later(1, 2)\nagent.latter()", functions)
    assert [fault.line for fault in faults] == [1, 2, 3]


def test_a_factory_makes_the_state_and_attributes_become_prefixes(shapes: str) -> None:
    environment = started(load_environment(f"module:{shapes}/shapes.py:world"), "a", tasks=f"{shapes}/tasks.yaml")
    assert set(environment.actions) == {"files.read", "search_2.read", "answer_2", "answer"}
    assert call(environment, "search_2.read", "x") == "content of x"
    assert call(environment, "files.read", "x") == "content of x"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("module:nowhere.py", "no file"),
        ("module:planbook.nowhere:X", "cannot be imported: ModuleNotFoundError"),
        ("module:string:Tempate", r"Tempate does not exist; did you mean Template\? Known: Template, Formatter$"),
        ("module:string:capwords", "neither a class nor a function annotated"),
    ],
)
def test_a_target_that_cannot_be_loaded_is_refused(name: str, message: str) -> None:
    with pytest.raises(UnknownEnvironment, match=message):
        load_environment(name)


def faults_of(text: str, file: Path) -> dict[str, str]:
    """Return a dict that maps lines of a task file to the messages about them."""
    file.write_text(text)
    environment_class = load_environment(NOTES)
    with pytest.raises(BadSelection) as caught:
        environment_class.select(Selection(), environment_class.Options.model_validate({"tasks": str(file)}))
    return dict(line.removeprefix(f"{file}:").split(":", 1) for line in str(caught.value).splitlines())


def test_all_faults_of_form_are_reported_with_their_lines(tmp_path: Path) -> None:
    faults = faults_of(FAULTY, tmp_path / "tasks.yaml")
    assert list(faults) == ["3", "4", "6", "7", "8"]
    assert "tasks[3].jugde: there is no such key; did you mean judge? The keys are id, goal, type," in faults["8"]
    assert list(faults_of("tasks: []", tmp_path / "none.yaml")) == ["1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "this must be a mapping"),
        ("tasks: hello", "tasks: this must be a list"),
        ("tasks: [hello]", "tasks[1]: this must be a mapping"),
        ("tasks: [{id: a, goal: b, judge: hello}]", "tasks[1].judge: this must be a mapping"),
        ("tasks: [{id: a, goal: b, params: hello}]", "tasks[1].params: this must be a mapping"),
        (
            "tasks: [{id: a, goal: b, judge: {asert: 'x'}}]",
            "tasks[1].judge.asert: there is no such key; did you mean as",
        ),
        ("{task: [], tasks: []}", "task: there is no such key; did you mean tasks?"),
        ("tasks: [{id: a, goal: g, judge: {assert: []}}]", "there are no assertions"),
        ("tasks: [{id: a, goal: g, judge: {assert: ''}}]", "this is always true or always false"),
        ("tasks: [{id: a, goal: g, judge: {assert: 'False'}}]", "this is always true or always false"),
        ("tasks: [{id: a, goal: g, judge: {python: ''}}]", "does not name a function"),
        *(
            (f"tasks: [{{id: a, goal: b, judge: {{answer: {number}}}}}]", "this integer is too large; put it in quotes")
            for number in (2**63, hex(2**300_000), "9" * 90_000)
        ),
    ],
    ids=str,
)
def test_a_value_of_the_wrong_kind_is_reported_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    assert message in faults_of(text, tmp_path / "tasks.yaml")["1"]


def test_at_most_a_hundred_faults_are_listed(tmp_path: Path) -> None:
    text = "tasks:\n" + "  - {id: a, gaol: b, goal: c}\n" * 5_000
    environment_class, file = load_environment(NOTES), tmp_path / "tasks.yaml"
    file.write_text(text)
    with pytest.raises(BadSelection) as caught:
        environment_class.select(Selection(), environment_class.Options.model_validate({"tasks": str(file)}))
    lines = str(caught.value).splitlines()
    assert len(lines) == 101
    assert lines[-1] == f"{file}: and 4,900 more"


def test_all_faults_of_ids_and_judges_are_reported_with_their_lines(tmp_path: Path) -> None:
    faults = faults_of(FAULTY_JUDGES, tmp_path / "tasks.yaml")
    assert list(faults) == ["4", "6", "8", "11", "12"]
    assert "is used twice" in faults["4"]
    assert "no file" in faults["6"]
    assert "agent has no action or attribute numbrs; did you mean agent.numbers?" in faults["8"]
    assert "agent.remove is not marked as read-only" in faults["11"]
    assert "invalid syntax" in faults["12"]


def test_a_task_file_is_required() -> None:
    with pytest.raises(BadSelection, match="--option tasks="):
        load_environment(NOTES).select(Selection())


@pytest.mark.parametrize(
    ("tasks", "splits"),
    [
        ("{id: a, goal: g}", {"all": ["a"]}),
        ("{id: a, goal: g}, {id: b, goal: g, split: test}", {"all": ["a", "b"], "train": ["a"], "test": ["b"]}),
        (
            "{id: a, goal: g}, {id: b, goal: g, split: test}, {id: c, goal: g, split: train}",
            {"all": ["a", "b", "c"], "train": ["c"], "test": ["b"]},
        ),
    ],
)
def test_a_task_without_a_split_is_in_train_only_if_nothing_but_test_is_named(
    tasks: str, splits: dict[str, list[str]], tmp_path: Path
) -> None:
    (tmp_path / "tasks.yaml").write_text(f"tasks: [{tasks}]")
    environment_class, named = load_environment(NOTES), {"tasks": str(tmp_path / "tasks.yaml")}
    options = environment_class.Options.model_validate(named)
    found = {
        split: [task.id for task in environment_class.select(Selection(split=split), options)]
        for split in environment_class.task_splits(options)
    }
    assert found == splits
    building = building_config(Settings.of(env=NOTES, env_options=named))
    assert (building.selection.split == "train") == ("train" in splits)
    with pytest.raises(BadSelection, match="has no split 'dev'; it has all"):
        environment_class.select(Selection(split="dev"), options)
