"""`planbook check --task`: what cannot succeed is told before anything is done."""

from pathlib import Path

import pytest

from tests.command import planbook, result

PLAN = """\
places = ['countertop_1', 'moon_3']
for place in places[1:]:
    agent.go_to(place)
seen = agent.look()
if 'countertop_1' in seen:
    agent.put_in_or_on('mug_1', 'countertop_1')
agent.take_from('mug_1', 'fridge_1')
"""
WORLD = """\
from envs import Change, Deed, Environment, Fact, Need, Observation, Preconditions, Task, Verdict, action

LIT = Fact("lit")


class Lamp(Environment):
    name = "lamp"
    types = ("on",)
    splits = ("all",)

    @classmethod
    def tasks(cls, selection, options=None):
        return [Task(id="on/1", env="lamp", split="all", type="on", goal="light")]

    @classmethod
    def preconditions(cls, task, options=None):
        def press() -> Deed:
            return Deed([Need.equal(LIT, False, "the lamp is on then")], [Change(LIT, True)], sure=True)

        return Preconditions({"press": press}, start={LIT: False})

    def begin(self, task):
        self.lit = False
        return Observation("It is dark.")

    @action()
    def press(self) -> Observation:
        self.lit = True
        return Observation("It is light.")

    def verdict(self):
        return Verdict(self.lit, float(self.lit))
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.py"
    path.write_text(PLAN)
    return path


def test_each_line_that_cannot_succeed_is_told_with_its_reason(plan: Path) -> None:
    finished = planbook("check", plan, "--env", "alfworld", "--task", "generated/pick_heat_then_place/1")
    assert finished.returncode == 2
    assert f"{plan}:3: cannot-succeed: go_to('moon_3') cannot succeed: there is no receptacle moon_3" in finished.stdout
    assert "    agent.go_to(place)" in finished.stdout
    assert f"{plan}:6: cannot-succeed: put_in_or_on('mug_1', 'countertop_1') cannot succeed: nothing is held then" in (
        finished.stdout
    )


def test_json_has_the_faults_of_each_task(plan: Path) -> None:
    finished = planbook("check", plan, "--env", "alfworld", "--task", "generated/pick_heat_then_place/1", "--json")
    told = result(finished)
    assert finished.returncode == 2
    assert [(fault["line"], fault["type"]) for fault in told["faults"][:2]] == [
        (3, "cannot-succeed"),
        (6, "cannot-succeed"),
    ]
    (run,) = told["dry_runs"]
    assert (run["task"], run["followed"], run["calls"]) == ("generated/pick_heat_then_place/1", True, 4)


def test_a_world_of_ones_own_declares_in_a_few_lines(tmp_path: Path) -> None:
    (tmp_path / "lamp.py").write_text(WORLD)
    (tmp_path / "plan.py").write_text("agent.press()\n\nagent.press()\n")
    finished = planbook(
        "check", tmp_path / "plan.py", "--env", f"{tmp_path / 'lamp.py'}:Lamp", "--task", "on/1", "--json"
    )
    (fault,) = result(finished)["faults"]
    assert (fault["line"], fault["message"]) == (3, "press() cannot succeed: the lamp is on then since line 1")


def test_a_world_that_declares_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "lamp.py").write_text(WORLD.replace("def preconditions", "def not_declared"))
    (tmp_path / "plan.py").write_text("agent.press()\n")
    finished = planbook("check", tmp_path / "plan.py", "--env", f"{tmp_path / 'lamp.py'}:Lamp", "--task", "on/1")
    assert finished.returncode == 0
    assert "dry run on on/1: lamp declares no preconditions of its actions" in finished.stdout
