"""Replaying recorded runs against an environment that has changed since."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import planbook
from tests.flows import saying
from tests.shelf import write_shelf

PLAN = "print(agent.look())\nprint(agent.look())\nprint(agent.look())\n"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment, which tests change, and a run on it."""
    folder = tmp_path_factory.mktemp("recorded")
    write_shelf(folder, looks=2)
    (folder / "plan.py").write_text(PLAN)
    done = planbook("exec", "plan.py", "--env", "shelf.py", "--task", "look/0", "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def replayed(folder: Path) -> tuple[int, Any, str]:
    done = planbook("replay", "run", "--json", cwd=folder)
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout)["by_sameness"], done.stderr


def test_an_unchanged_environment_gives_the_same(recorded: Path) -> None:
    write_shelf(recorded, looks=2)
    code, counts, _ = replayed(recorded)
    assert (code, counts["same"]) == (0, 1)


def test_other_numbers_in_ids_are_distinguished(recorded: Path) -> None:
    write_shelf(recorded, "mug_7 and mug_3", looks=2)
    code, counts, printed = replayed(recorded)
    assert (code, counts["renamed ids"]) == (1, 1)
    assert "look/0: renamed ids, at act 1" in printed
    assert "expected: line 1: agent.look() -> On shelf_1 you see mug_1 and mug_2." in printed
    assert "actual:   line 1: agent.look() -> On shelf_1 you see mug_7 and mug_3." in printed


@pytest.mark.parametrize(
    ("things", "looks", "act"),
    [("mug_1 and mug_1", 2, 1), ("cup_1 and mug_2", 2, 1), ("mug_1", 2, 1), ("mug_1 and mug_2", 3, 2)],
    ids=["one name for two", "another word", "fewer things", "a longer episode"],
)
def test_another_state_or_length_is_different(recorded: Path, things: str, looks: int, act: int) -> None:
    write_shelf(recorded, things, looks)
    code, counts, printed = replayed(recorded)
    assert (code, counts["different"]) == (1, 1)
    assert f"look/0: different, at act {act}" in printed


PURSE = """
from planbook.envs import Environment, Observation, Task, Verdict, action

class Purse(Environment):
    name = "purse"
    types = ("buy",)
    splits = ("all",)

    @classmethod
    def tasks(cls, selection, options=None):
        return [Task(id="buy/0", env="purse", split="all", type="buy", goal="keep 5 gold")]

    def begin(self, task):
        self.gold = 9
        return Observation("gold 9 is in the purse")

    @action()
    def pay(self) -> Observation:
        \"\"\"Pay.\"\"\"
        self.gold -= PRICE
        return Observation(f"gold {self.gold} is left, on shelf_1")

    def verdict(self):
        return Verdict(self.gold == 5, 0.0)
"""


@pytest.mark.parametrize("ids", ["", 'object_ids = "[a-z]+_[0-9]+"'])
def test_a_changed_value_is_no_renaming_and_the_changed_verdict_is_reported(tmp_path: Path, ids: str) -> None:
    environment = PURSE.replace('name = "purse"', f'name = "purse"\n    {ids}')
    (tmp_path / "purse.py").write_text(environment.replace("PRICE", "4"))
    (tmp_path / "plan.py").write_text("agent.pay()\n")
    done = planbook("exec", "plan.py", "--env", "purse.py", "--task", "buy/0", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "purse.py").write_text(environment.replace("PRICE", "5"))
    code, counts, printed = replayed(tmp_path)
    assert (code, counts["different"]) == (1, 1)
    assert "expected: line 1: agent.pay() -> gold 5 is left, on shelf_1" in printed
    assert "the verdict changed: direct success, now failure" in printed
    assert "The verdict changed in 1 of them." in printed


def test_names_must_stay_apart_over_the_whole_episode(recorded: Path) -> None:
    write_shelf(recorded, "mug_7 and mug_1", looks=2)
    assert replayed(recorded)[1]["renamed ids"] == 1
    write_shelf(recorded, "mug_{self.looks} and mug_7", looks=2)
    text = (recorded / "shelf.py").read_text()
    (recorded / "shelf.py").write_text(text.replace('Observation("On', 'Observation(f"On'))
    assert replayed(recorded)[1]["different"] == 1


def test_the_recorded_replies_carry_a_models_episode_to_its_verdict(recorded: Path) -> None:
    write_shelf(recorded, looks=2)
    model = saying(recorded, "```python\nprint(agent.look())\nprint(agent.look())\n```")
    asked = ("--env", "shelf.py", "--task", "look/0", "--planner", "react", "--model", model)
    done = planbook("run", *asked, "--out", "asked", cwd=recorded)
    assert done.returncode == 0, done.stderr
    write_shelf(recorded, "cup_1", looks=3)
    again = planbook("replay", "asked", "--json", cwd=recorded)
    assert "look/0: different, at act 1" in again.stderr
    assert "the verdict now is not known: the planner makes more model calls than were recorded" in again.stderr
    text = (recorded / "shelf.py").read_text()
    (recorded / "shelf.py").write_text(
        text.replace("looks == 3", "looks == 2").replace("Verdict(self.looks == 2", "Verdict(self.looks == 5")
    )
    again = planbook("replay", "asked", "--json", cwd=recorded)
    assert "the verdict changed: direct success, now failure" in again.stderr
    assert json.loads(again.stdout)["verdicts_changed"] == 1
