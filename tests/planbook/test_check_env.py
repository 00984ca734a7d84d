"""`planbook check-env` finds the mistakes of an environment, and none in a sound one."""

import json
from pathlib import Path

import pytest

from planbook import errors
from tests.command import ROOT
from tests.flows import Finished, invoke

SOUND = '''
import random
from typing import Literal

from planbook.envs import Environment, Observation, Selection, Task, Verdict, action, query


class Doors(Environment):
    """A corridor with three doors; one of them leads out."""

    name, types, splits = "doors", ("find",), ("train", "test")
    attributes = {"opened": "how many doors were opened"}

    @classmethod
    def tasks(cls, selection, options=None):
        return [
            Task(id=f"{split}/{n}", env="doors", split=split, type="find", goal="get out", params={"out": n}, seed=n)
            for split in cls.splits
            for n in range(3)
        ]

    def begin(self, task):
        self.opened, self.out, self.dice = [], False, random.Random(task.seed)
        return Observation("Three doors.")

    @action("agent.open('left') -> 'A wall. 17 steps.'")
    def open(self, door: Literal["left", "middle", "right"]) -> str:
        """Open a door."""
        self.opened.append(door)
        self.out = self.out or ["left", "middle", "right"].index(door) == self.task.params["out"]
        return f"{'The street' if self.out else 'A wall'}. {self.dice.randrange(99)} steps."

    @query()
    def doors(self) -> list[str]:
        """The doors."""
        return ["left", "middle", "right"]

    def attribute_values(self):
        return {"opened": len(self.opened)}

    def verdict(self):
        return Verdict(self.out, float(self.out))

    def _save(self):
        return [*self.opened], self.out, self.dice.getstate()

    def _load(self, saved):
        opened, self.out, state = saved
        self.opened = [*opened]
        self.dice.setstate(state)
'''


def check(file: Path, text: str) -> Finished:
    file.write_text(text)
    return invoke("check-env", file, "--json")


def test_a_sound_environment_has_no_mistakes(tmp_path: Path) -> None:
    checked = check(tmp_path / "doors.py", SOUND)
    assert checked.returncode == errors.OK, checked.printed
    assert checked.result == {
        "env": str(tmp_path / "doors.py"),
        "mistakes": [],
        "unchecked": {},
        "tasks": 6,
        "actions": 120,
        "accepted": 120,
    }
    assert "no mistakes; tried: 120 actions on 6 tasks" in checked.printed


def test_tasks_with_the_same_id_hide_no_other_mistakes(tmp_path: Path) -> None:
    checked = check(
        tmp_path / "doors.py", SOUND.replace('id=f"{split}/{n}"', "id=split").replace("split=split,", 'split="de",')
    )
    assert [mistake.partition(": ")[2] for mistake in checked.result["mistakes"]] == [
        "a task has the split 'de', but the class declares 'test', 'train'",
        "doors lists the task id 'train' twice; give every task a different id",
    ]


def test_actions_before_an_error_are_counted(tmp_path: Path) -> None:
    failing = SOUND.replace(
        "        self.opened.append(door)", "        self.opened.append(door)\n        1 / (len(self.opened) - 5)"
    )
    checked = check(tmp_path / "doors.py", failing)
    assert "1 mistake; tried: 30 actions on 6 tasks" in checked.printed


DOOR = 'door: Literal["left", "middle", "right"]'
RESET = "self.opened, self.out, self.dice = [], False, "
MISTAKES = {
    "wrong return type": (
        "return f\"{'The street'",
        "return 7 or f\"{'The street'",
        "Doors.open (doors.py:26) must return an Observation or a str, but returned int",
    ),
    "observation whose text is a number": (
        "return Observation(",
        "return Observation(len(self.opened)) or Observation(",
        "Doors.begin (doors.py:22) must return an Observation whose text is a str, not int",
    ),
    "no name": (
        'name, types, splits = "doors", (',
        "types, splits = (",
        'give the class a name, such as name = "doors"',
    ),
    "no brackets": ("@action(\"agent.open('left') -> 'A wall. 17 steps.'\")", "@action", "write @action()"),
    "query without parentheses": ("@query()", "@query", "Doors.doors is marked with @query without parentheses; write"),
    "action with the name of a method of the base class": (
        "def open(",
        "def snapshot(",
        "Doors.snapshot has the name of a member that every environment has; rename the method",
    ),
    "coroutine": ("def open(", "async def open(", "Doors.open is a coroutine; write `def` instead of `async def`"),
    "parameter that JSON cannot hold": (
        DOOR,
        "door: set[str]",
        "doors.py:26: parameter door: set[str] of open has a type that JSON does not have; use str, int",
    ),
    "parameter without a type": (DOOR, "door", "doors.py:26: parameter door of open has no type; add one, such as"),
    "params that JSON cannot hold": ('params={"out": n}', 'params={"out": {n}}', "tasks() raised ValidationError"),
    "duplicate ids": ('id=f"{split}/{n}"', "id=split", "doors.py: doors lists the task id 'train' twice"),
    "undeclared split": ("split=split,", 'split="dev",', "a task has the split 'dev', but the class declares 'test'"),
    "foreign task": ('env="doors"', 'env="door"', "a task has the env 'door', but the class declares 'doors'"),
    "tasks of another class": (
        "return [\n",
        "return ['a'] or [\n",
        "must list Task objects, not str",
    ),
    "seeds that are not read": (
        'attributes = {"o',
        'seeded = True\n    attributes = {"o',
        "for the seeds (0, 1, 2), tasks() lists a task with seed 7",
    ),
    "random tasks": ("range(3)", "random.sample(range(9_999), 3)", "returns different tasks when it is called again"),
    "random results": ("random.Random(task.seed)", "random.Random()", "doors.py:26: open("),
    "state that outlives an episode": (
        f"{RESET}random.Random(task.seed)",
        f"{RESET}vars(self).setdefault('dice', random.Random(task.seed))",
        "returned a different result after the environment was reset",
    ),
    "incomplete restore": ("        self.dice.setstate(state)\n", "", "returned a different result after restore()"),
    "restored without a copy": (
        "self.opened = [*opened]",
        "self.opened = opened",
        "doors.py:47: restore() on train/0 restores a different attribute opened: 20, not 10; copy the whole state in",
    ),
    "state that is not saved": (
        "return [*self.opened], self.out,",
        "return [*self.opened], False,",
        "restores a different verdict: Verdict(solved=False, score=0.0, fault=''), not Verdict(solved=True, score=1.0",
    ),
    "action that raises": ("self.opened.append(door)", "self.opened[door]", "open('"),
    "begin that raises": ("Observation(", "1 / 0 or Observation(", "begin() raised ZeroDivision"),
    "verdict of another class": ("Verdict(self.out, float(self.out))", "self.out", "must return a Verdict"),
    "verdict that is a list": (
        "Verdict(self.out,",
        "Verdict([self.out],",
        "a Verdict whose solved is a bool, not list",
    ),
    "score out of bounds": ("float(self.out))", "2.0)", "must return a score from 0 to 1, not 2.0"),
    "score that is not a number": ("float(self.out))", "None)", "must return a score from 0 to 1, not None"),
    "no list of tasks": (
        "return [\n",
        "None and [\n",
        "doors.py: doors: tasks() raised TypeError: 'NoneType' object is not iter",
    ),
    "close that raises": (
        "def verdict(self)",
        "def close(self):\n        1 / 0\n\n    def verdict(self)",
        "doors.py:42: close() raised ZeroDivisionError",
    ),
    "measure that is not a number": (
        "def verdict(self)",
        "def measures(self):\n        return {'reward': float('nan')}\n\n    def verdict(self)",
        "must return finite numbers, but 'reward' is nan",
    ),
    "no verdict": ("def verdict(self)", "def judge(self)", "Doors has no verdict(); define it"),
    "solved at the start": ("Verdict(self.out, ", "Verdict(True, ", "is solved before the first action"),
    "attribute without its method": ("def attribute_values", "def values", "doors.py: attribute_values() has no 'op"),
    "attributes of another class": (
        'return {"opened": len(self.opened)}',
        "return None",
        "doors.py:38: attribute_values() returns NoneType, not a Mapping",
    ),
    "action whose name plans cannot write": (
        "17 steps.'\")",
        "17 steps.'\", name='class')",
        "Doors: plans cannot call 'class'; give it a name that is not a keyword and does not begin with an underscore",
    ),
    "private action": ("def open(", "def _open(", "Doors: plans cannot call '_open'; give it a name"),
    "example of another action": (
        "agent.open('left')",
        "agent.opn('left')",
        "doors.py:26: the example of open, line 1: agent has no action or attribute opn; did you mean agent.open?",
    ),
    "helpers with a fault": (
        'attributes = {"o',
        "helpers = 'def leave():\\n    agent.leave()\\n'\n    attributes = {\"o",
        "doors.py: helpers, line 2: agent has no action or attribute leave; agent has doors, open, opened",
    ),
    "no actions allowed": (
        'attributes = {"o',
        'action_limit = 0\n    attributes = {"o',
        "doors.py:Doors: action_limit: Input should be greater than 0, not 0",
    ),
    "type that is not imported": (
        DOOR,
        'door: "Direction"',
        "doors.py:Doors: the types of open cannot be read: name 'Direction' is not defined; define or import it",
    ),
    "options of another class": (
        'attributes = {"o',
        'Options = 5\n    attributes = {"o',
        "doors.py:Doors: Options: Input should be a subclass of BaseModel, not 5",
    ),
    "possible actions that are not actions": (
        "def verdict(self)",
        "def possible_actions(self):\n        return [('open', ('left',))]\n\n    def verdict(self)",
        "possible_actions() must return a list of Action objects",
    ),
    "possible actions that are not a list": (
        "def verdict(self)",
        "def possible_actions(self):\n        yield 'open'\n\n    def verdict(self)",
        "possible_actions() must return a list of Action objects",
    ),
    "possible actions without a truth value": (
        "def verdict(self)",
        "def possible_actions(self):\n        import numpy\n        return numpy.ones(2)\n\n    def verdict(self)",
        "possible_actions() must return a list of Action objects",
    ),
    "query that JSON cannot hold": (
        'return ["left", "middle", "right"]',
        'return {"left", "middle"}',
        "the query doors is a set, which JSON cannot represent",
    ),
}
"""Maps each mistake to code of the sound environment, the code that replaces it, and the expected message."""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_reported_in_one_line(tmp_path: Path, mistake: str) -> None:
    sound, broken, message = MISTAKES[mistake]
    assert sound in SOUND
    text = SOUND.replace(sound, broken, 1)
    if mistake == "seeds that are not read":
        text = text.replace("seed=n", "seed=n + 7")
    checked = check(tmp_path / "doors.py", text)
    assert checked.returncode == errors.BAD_INPUT, checked.printed
    (line,) = checked.result["mistakes"]
    assert message in line
    assert "doors.py" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("condition", "example", "ending"),
    [
        ("door == 'left' and width == 55", "open('left', 55)", "returned a different result"),
        ("door != 'out' and width == 1", "open('left', 55)", "returned a different result"),
        ("door == 'left'", "open('up', 55)", "no mistakes; tried: 120 actions on 6 tasks. All were refused, so"),
    ],
)
def test_arguments_of_examples_and_several_integers_are_tried(
    tmp_path: Path, condition: str, example: str, ending: str
) -> None:
    text = (
        SOUND.replace(DOOR, "door: str, width: int = 0")
        .replace("open('left')", example)
        .replace("random.Random(task.seed)", "random.Random()")
    )
    refusal = f"if not ({condition}):\n            return Observation.refused('no such door')\n        self.opened.app"
    checked = check(tmp_path / "doors.py", text.replace("self.opened.app", refusal, 1))
    assert ending in checked.printed


def test_a_folder_is_not_called_a_missing_file(tmp_path: Path) -> None:
    folder = tmp_path / "doors.py"
    folder.mkdir()
    (mistake,) = invoke("check-env", folder, "--json").result["mistakes"]
    assert mistake.startswith(f"{folder} is a folder, not a file")


def test_an_argument_of_a_typed_dictionary_has_all_its_keys(tmp_path: Path) -> None:
    text = SOUND.replace("from typing import Literal", "from typing import Literal, TypedDict").replace(
        "class Doors", f"class Place(TypedDict):\n    {DOOR}\n\n\nclass Doors"
    )
    text = text.replace(f"(self, {DOOR})", "(self, place: Place)").replace("(door)", '(place["door"])')
    text = text.replace("open('left')", "open({'door': 'left'})")
    assert check(tmp_path / "doors.py", text).result["mistakes"] == []


def test_tasks_of_every_split_are_played_even_if_they_have_the_same_ids(tmp_path: Path) -> None:
    text = SOUND.replace('attributes = {"o', 'seeded = True\n    attributes = {"o').replace(
        'id=f"{split}/{n}"', 'id=f"find/{n}"'
    )
    text = text.replace("for split in cls.splits", "for split in [selection.split]")
    assert check(tmp_path / "doors.py", text).result["tasks"] == 6
    failing = text.replace("return Observation(", "assert task.split == 'test'\n        return Observation(")
    (line,) = check(tmp_path / "failing.py", failing).result["mistakes"]
    assert "begin() raised AssertionError" in line


def test_several_mistakes_are_reported_together(tmp_path: Path) -> None:
    text = SOUND.replace('goal="get out"', 'goal=""').replace('        """Open a door."""\n', "")
    checked = check(tmp_path / "doors.py", text.replace('"find",)', '"seek",)'))
    for message in (
        "a task has no goal; say in a sentence what the agent must do",
        "doors.py:26: open has no docstring; write one that tells models what it does",
        "a task has the type 'find', but the class declares 'seek'",
    ):
        assert sum(message in mistake for mistake in checked.result["mistakes"]) == 1
    assert len(checked.result["mistakes"]) == 3


def test_an_environment_that_cannot_save_its_state_begins_each_task_twice(tmp_path: Path) -> None:
    text = SOUND[: SOUND.index("    def _save")]
    begin = "    def begin(self, task):\n"
    counting = f"{begin}        print(task.id, file=open({str(tmp_path / 'begun')!r}, 'a'))\n"
    found = check(tmp_path / "doors.py", text.replace(begin, counting, 1))
    assert found.result["mistakes"] == []
    begun = (tmp_path / "begun").read_text().split()
    assert {begun.count(task) for task in begun} == {2}
    assert len(begun) == 2 * found.result["tasks"]


def test_a_judge_that_always_raises_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "doors.py").write_text(
        "from planbook.envs import query\n\n\n@query()\ndef doors() -> dict:\n    return {'left': 1}\n\n\n"
        "@query()\ndef open_door(door: str) -> str:\n    return {}[door]\n"
    )
    (tmp_path / "tasks.yaml").write_text(
        "tasks:\n- {id: a, goal: g, judge: {assert: \"agent.doors()['lefft'] == 1\"}}\n"
        "- {id: b, goal: g, judge: {assert: agent.open_door('left')}}\n"
        "- {id: c, goal: g, judge: {assert: 'assert agent.doors() == 2'}}\n"
    )
    found = invoke("check-env", f"module:{tmp_path}/doors.py", "-o", f"tasks={tmp_path}/tasks.yaml", "--json")
    (line,) = found.result["mistakes"]
    assert line.startswith(
        "tasks.yaml: a: assertion 1 raised KeyError: 'lefft', and does not hold. It also raised after"
    )


def test_each_fault_of_a_task_file_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "doors.py").write_text("def doors() -> int:\n    return 1\n")
    (tmp_path / "tasks.yaml").write_text("tasks:\n- {id: a, gaol: g}\n- {id: b, goal: g, judge: {asert: x}}\n")
    found = invoke("check-env", f"module:{tmp_path}/doors.py", "-o", f"tasks={tmp_path}/tasks.yaml", "--json")
    places = [mistake.removeprefix(f"{tmp_path}/tasks.yaml:").split(": ")[:2] for mistake in found.result["mistakes"]]
    assert places == [["2", "tasks[1].gaol"], ["2", "tasks[1].goal"], ["3", "tasks[2].judge.asert"]]


def test_standard_output_has_only_the_json_even_if_tools_print(tmp_path: Path) -> None:
    (tmp_path / "doors.py").write_text(
        "from planbook.envs import query\n\nprint('loaded')\n\n\n"
        "@query()\ndef doors() -> int:\n    print('called')\n    return 1\n"
    )
    (tmp_path / "tasks.yaml").write_text("tasks: [{id: a, goal: g, judge: {assert: agent.doors() == 1}}]")
    found = invoke("check-env", f"module:{tmp_path}/doors.py", "-o", f"tasks={tmp_path}/tasks.yaml", "--json")
    assert json.loads(found.stdout) == found.result
    assert {"loaded", "called"} <= {*found.stderr.split()}


@pytest.mark.parametrize("env", ["toy", "tabletop", "minecraft", "textcraft", "shopping"])
def test_shipped_environments_have_no_mistakes(env: str) -> None:
    checked = invoke("check-env", env, "--json")
    assert (checked.returncode, checked.result["mistakes"]) == (errors.OK, []), checked.printed


def test_the_readmes_environment_has_no_mistakes(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    text = readme[readme.index("# lights.py") :].partition("```")[0]
    checked = check(tmp_path / "lights.py", text)
    assert (checked.returncode, checked.result["tasks"]) == (errors.OK, 3), checked.printed
