"""`planbook check-env`: broken environments, one for each mistake, and sound ones."""

from pathlib import Path

import pytest

from planbook import errors
from tests.command import ROOT
from tests.flows import Finished, here

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


def checked(file: Path, text: str) -> Finished:
    file.write_text(text)
    return here("check-env", file, "--json")


def test_a_sound_environment_has_no_mistakes(tmp_path: Path) -> None:
    found = checked(tmp_path / "doors.py", SOUND)
    assert found.returncode == errors.OK, found.printed
    assert found.result == {
        "env": str(tmp_path / "doors.py"),
        "mistakes": [],
        "unchecked": {},
        "tasks": 6,
        "actions": 120,
    }
    assert "no mistakes; tried: 120 actions on 6 tasks" in found.printed


MISTAKES = {
    "wrong return type": (
        "return f\"{'The street'",
        'return 7 and {"text": f"{\'The street\'',
        "Doors.open (doors.py:26) must return an Observation or a str, but returned dict",
    ),
    "no name": (
        'name, types, splits = "doors", (',
        "types, splits = (",
        'give the class a name, such as name = "doors"',
    ),
    "no brackets": ("@action(\"agent.open('left') -> 'A wall. 17 steps.'\")", "@action", "write @action()"),
    "coroutine": ("def open(", "async def open(", "Doors.open is a coroutine; write `def` instead of `async def`"),
    "parameter that JSON cannot hold": (
        'door: Literal["left", "middle", "right"]',
        "door: set[str]",
        "doors.py:26: parameter door: set[str] of open has a type that JSON does not have; use str, int",
    ),
    "parameter without a type": (
        'door: Literal["left", "middle", "right"]',
        "door",
        "doors.py:26: parameter door of open has no type; write it, such as door: str",
    ),
    "params that JSON cannot hold": ('params={"out": n}', 'params={"out": {n}}', "tasks() raised ValidationError"),
    "duplicate ids": ('id=f"{split}/{n}"', "id=split", "doors.py:14: the task id 'train' is listed 3 times"),
    "undeclared split": ("split=split,", 'split="dev",', "a task has the split 'dev', but the class declares 'test'"),
    "undeclared type": ('type="find"', 'type="seek"', "a task has the type 'seek', but the class declares 'find'"),
    "foreign task": ('env="doors"', 'env="door"', "a task has the env 'door', but the class declares 'doors'"),
    "tasks that are no tasks": (
        "        return [\n",
        "        return ['a'] or [\n",
        "must list Task objects, but lists a str",
    ),
    "seeds that are not read": (
        'attributes = {"o',
        'seeded = True\n    attributes = {"o',
        "for the seeds (0, 1, 2), tasks() lists a task of seed 7",
    ),
    "tasks by chance": (
        "range(3)",
        "random.sample(range(9_999), 3)",
        "tasks() returns different tasks when it is called again",
    ),
    "non-determinism": ("random.Random(task.seed)", "random.Random()", "doors.py:26: open("),
    "state that outlives an episode": (
        "self.opened, self.out, self.dice = [], False, random.Random(task.seed)",
        "self.opened, self.out, self.dice = [], False, vars(self).setdefault('dice', random.Random(task.seed))",
        "returned a different result after the environment was reset",
    ),
    "restore that forgets": ("        self.dice.setstate(state)\n", "", "returned a different result after restore()"),
    "action that raises": ("self.opened.append(door)", "self.opened[door]", "open('"),
    "begin that raises": (
        'return Observation("Three',
        'return 1 / 0 or Observation("Three',
        "begin() raised ZeroDivision",
    ),
    "verdict that is none": ("return Verdict(self.out, float(self.out))", "return self.out", "must return a Verdict"),
    "score out of bounds": ("float(self.out))", "2.0)", "the score of a verdict must lie between 0 and 1, but is 2.0"),
    "no verdict": ("def verdict(self)", "def judge(self)", "Doors has no verdict(); define it"),
    "no docstring": ('        """Open a door."""\n', "", "doors.py:26: open has no docstring; say in it what it does"),
    "no goal": ('goal="get out"', 'goal=""', "a task has no goal; say in a sentence what is to be done"),
    "solved at the start": ("Verdict(self.out, ", "Verdict(True, ", "is solved before the first action"),
    "attribute without its method": ("def attribute_values", "def values", "doors.py: attribute_values() has no 'op"),
    "attribute without a value": ('{"opened": len(self.opened)}', "{}", "attribute_values() has no 'opened'"),
    "query that JSON cannot hold": (
        'return ["left", "middle", "right"]\n',
        'return {"left", "middle"}\n',
        "the query doors is a set, which JSON cannot hold",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_has_one_line(tmp_path: Path, mistake: str) -> None:
    written, instead, message = MISTAKES[mistake]
    assert written in SOUND
    text = SOUND.replace(written, instead, 1)
    if mistake == "wrong return type":
        text = text.replace('steps."\n\n    @query', 'steps."}\n\n    @query')
    if mistake == "seeds that are not read":
        text = text.replace("seed=n", "seed=n + 7")
    found = checked(tmp_path / "doors.py", text)
    assert found.returncode == errors.BAD_INPUT, found.printed
    (line,) = found.result["mistakes"]
    assert message in line
    assert "doors.py" in line
    assert "\n" not in line


def test_mistakes_are_reported_all_at_once(tmp_path: Path) -> None:
    text = (
        SOUND.replace('goal="get out"', 'goal=""')
        .replace('        """Open a door."""\n', "")
        .replace('"find",)', '"f",)')
    )
    found = checked(tmp_path / "doors.py", text)
    assert len(found.result["mistakes"]) == 3


def test_an_environment_without_a_copy_of_its_state_begins_three_times_for_each_task(tmp_path: Path) -> None:
    text = SOUND[: SOUND.index("    def _save")]
    begin = "    def begin(self, task):\n"
    counting = f"{begin}        print(task.id, file=open({str(tmp_path / 'begun')!r}, 'a'))\n"
    found = checked(tmp_path / "doors.py", text.replace(begin, counting, 1))
    assert found.result["mistakes"] == []
    begun = (tmp_path / "begun").read_text().split()
    assert {begun.count(task) for task in begun} == {3}
    assert len(begun) == 3 * found.result["tasks"]


def test_a_judge_that_raises_whatever_is_done_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "doors.py").write_text(
        "from planbook.envs import query\n\n\n@query()\ndef doors() -> dict:\n    return {'left': 1}\n\n\n"
        "@query()\ndef open_door(door: str) -> str:\n    return {}[door]\n"
    )
    (tmp_path / "tasks.yaml").write_text(
        "tasks:\n- {id: a, goal: g, judge: {assert: \"agent.doors()['lefft'] == 1\"}}\n"
        "- {id: b, goal: g, judge: {assert: agent.open_door('left')}}\n"
        "- {id: c, goal: g, judge: {assert: 'assert agent.doors() == 2'}}\n"
    )
    found = here("check-env", f"module:{tmp_path}/doors.py", "-o", f"tasks={tmp_path}/tasks.yaml", "--json")
    (line,) = found.result["mistakes"]
    assert line.startswith("tasks.yaml:2: the assertion raised KeyError: 'lefft', and does not hold; it raised after")


@pytest.mark.parametrize("env", ["toy", "tabletop", "minecraft", "textcraft", "shopping"])
def test_what_ships_has_no_mistakes(env: str) -> None:
    found = here("check-env", env, "--json")
    assert (found.returncode, found.result["mistakes"]) == (errors.OK, []), found.printed


def test_the_readmes_environment_has_no_mistakes(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    text = readme[readme.index("# lights.py") :].partition("```")[0]
    found = checked(tmp_path / "lights.py", text)
    assert (found.returncode, found.result["tasks"]) == (errors.OK, 3), found.printed
