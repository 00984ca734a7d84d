"""`planbook check --task`: what cannot succeed is told before anything is done."""

from pathlib import Path

import pytest

from planbook.commands.checking import dry_runs, show_checked
from planbook.settings import Settings
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
ENVIRONMENT = """\
from planbook.envs import Change, Deed, Environment, Fact, Need, Observation, Preconditions, Task, Verdict, action

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


def test_each_line_that_cannot_succeed_is_told_with_its_reason(tmp_path: Path) -> None:
    plan = tmp_path / "plan.py"
    plan.write_text(PLAN)
    finished = planbook("check", plan, "--env", "alfworld", "--task", "generated/pick_heat_then_place/1", "--json")
    assert finished.returncode == 2
    assert f"{plan}:3: cannot-succeed: go_to('moon_3') cannot succeed: there is no receptacle moon_3" in finished.stderr
    assert "    agent.go_to(place)" in finished.stderr
    told = result(finished)
    assert [(fault["line"], fault["type"]) for fault in told["faults"][:2]] == [
        (3, "cannot-succeed"),
        (6, "cannot-succeed"),
    ]
    assert told["faults"][1]["message"] == (
        "put_in_or_on('mug_1', 'countertop_1') cannot succeed: nothing is held then"
    )
    (run,) = told["dry_runs"]
    assert (run["task"], run["followed"], run["calls"]) == ("generated/pick_heat_then_place/1", True, 4)


def test_an_environment_of_ones_own_declares_in_a_few_lines(tmp_path: Path) -> None:
    (tmp_path / "lamp.py").write_text(ENVIRONMENT)
    (tmp_path / "plan.py").write_text("agent.press()\n\nagent.press()\n")
    finished = planbook(
        "check", tmp_path / "plan.py", "--env", f"{tmp_path / 'lamp.py'}:Lamp", "--task", "on/1", "--json"
    )
    (fault,) = result(finished)["faults"]
    assert (fault["line"], fault["message"]) == (3, "press() cannot succeed: the lamp is on then since line 1")


def test_an_environment_that_declares_nothing_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lamp.py").write_text(ENVIRONMENT.replace("def preconditions", "def not_declared"))
    plan = tmp_path / "plan.py"
    plan.write_text("agent.press()\n")
    runs = list(dry_runs(plan, Settings.of(env=f"{tmp_path / 'lamp.py'}:Lamp", tasks=("on/1",))))
    assert show_checked(plan, [], runs, as_json=False) == 0
    assert "dry run on on/1: lamp declares no preconditions of its actions" in capsys.readouterr().out


MODULE = '''\
"""Two procedures.

world: toy
source: written by hand
"""

PLACES = 3


def fetch(agent, task):
    """Fetch one thing.

    type: fetch - Fetch it.
    """
    for number in range(PLACES):
        agent.open(f"box_{number}")


def fetch_two(agent, task):
    """Fetch two things.

    type: fetch_two - Fetch both.
    """
    agent.opne(PLACES)
    return PLACE
'''


def test_the_procedures_of_a_module_are_checked_each_with_the_lines_of_the_file(tmp_path: Path) -> None:
    module = tmp_path / "toy" / "procedures" / "both.py"
    module.parent.mkdir(parents=True)
    module.write_text(MODULE)
    faults = result(planbook("check", module, "--env", "toy", "--json"))["faults"]
    lines = MODULE.splitlines()
    assert [lines[fault["line"] - 1].strip() for fault in faults] == ["agent.opne(PLACES)", "return PLACE"]
    module.write_text(MODULE.replace("opne", "open").replace("PLACE\n", "PLACES\n"))
    assert result(planbook("check", module, "--env", "toy", "--json"))["faults"] == []
    refused = planbook("exec", module, "--env", "toy")
    assert refused.returncode == 2
    assert "holds 2 procedures" in refused.stderr
