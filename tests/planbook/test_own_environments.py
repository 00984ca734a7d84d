"""Faults of a user's own environment are reported with their file and line, and never blamed on the plan."""

from pathlib import Path

import pytest

from planbook import errors
from tests.command import ROOT, planbook, result
from tests.flows import asks, events, invoke, refusal, scripted, succeed, write_scripted_model

OWN = ROOT / "tests" / "own_environments"


def line_of(file: str, text: str) -> str:
    lines = (OWN / file).read_text().splitlines()
    return f"{file}:{next(number for number, line in enumerate(lines, 1) if text in line)}"


def test_a_fault_of_the_environment_breaks_the_episode_and_is_located(tmp_path: Path) -> None:
    (tmp_path / "push.py").write_text("print(agent.push('north'))\n")
    run = tmp_path / "run"
    played = invoke("exec", tmp_path / "push.py", "--env", OWN / "broken.py", "--out", run, "--json")
    assert played.returncode == errors.BROKEN, played.printed
    assert (played.result["solved"], played.result["failures"]) == (1, {"broken": 4})
    first = {task: message.partition("\n")[0] for task, message in played.result["broken_messages"].items()}
    assert first == {
        "raises": f"the environment raised ZeroDivisionError: division by zero ({line_of('beside.py', '1 / number')})",
        "returns a number": f"Broken.push ({line_of('broken.py', '@action')}) must return an "
        "Observation or a str, but returned int",
        "exits": f"the environment raised SystemExit: 3 ({line_of('broken.py', 'sys.exit')})",
        "fails with the argument": f"the environment raised KeyError: 'northwest' ({line_of('broken.py', 'way + ')})",
    }
    shown = invoke("show", run, "raises")
    assert 'beside.py", line' in shown.printed
    assert "return beside.half(0)" in shown.printed
    succeed("report", run, "--out", tmp_path / "report.html")
    assert "return beside.half(0)" in (tmp_path / "report.html").read_text()


def test_a_model_does_not_see_faults_of_the_environment(tmp_path: Path) -> None:
    model = write_scripted_model(tmp_path, "```python\nagent.push('north')\n```")
    options = ("--env", OWN / "broken.py", "--types", "returns a number", "--model", model)
    played = invoke("run", "--planner", "automanual", *options, "--out", tmp_path / "run", "--json")
    assert (played.returncode, played.result["failures"]) == (errors.BROKEN, {"broken": 1})
    assert len(asks(tmp_path / "run")) == 1
    assert "A door that may be broken." in asks(tmp_path / "run")[0]["messages"][0]["content"], "its docstring"


SOUND = '''
from planbook.envs import Environment, Observation, Selection, Task, Verdict, action


class Own(Environment):
    """An environment."""

    name, types, splits = "own", ("a",), ("all",)

    @classmethod
    def tasks(cls, selection, options=None):
        return [Task(id="a/1", env="own", split="all", type="a", goal="go", params={"n": 1})]

    def begin(self, task):
        return "Begin."

    @action()
    def go(self):
        """Go."""
        return "Gone."

    def verdict(self):
        return Verdict(False, 0.0)
'''


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ('("a",), ("all",)', '"a", ("all",)', "types: Input should be a valid tuple, not 'a'; write types = ('a',)"),
        ('("all",)', '("all",)\n    attributes = ("x",)', "attributes: Input should be a valid dictionary, not ('x',)"),
        ('("all",)', '("all",)\n    modules = "numpy"', "modules: Input should be a valid tuple, not 'numpy'; write"),
        (
            '("all",)',
            '("all",)\n    action_limit = "many"',
            "action_limit: Input should be a valid integer, not 'many'",
        ),
        (
            '("all",)',
            '("all",)\n    answering = "go"',
            "Own.answering is now called answer_action; rename it",
        ),
        ('("all",)', '("all",)\n    helpers = property(str)', "helpers: Input should be a valid string, not <property"),
        ("return [Task", "return 1 / 0 or [Task", "own: tasks() raised ZeroDivisionError (own.py:"),
        ("from planbook", "raise SystemExit(3)\nfrom planbook", "failed while it was imported: SystemExit"),
    ],
)
def test_a_mistake_in_an_environment_is_reported_in_one_line(
    written: str, instead: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "go.py").write_text("agent.go()\n")
    assert SOUND.count(written) >= 1
    folder = tmp_path / "mistaken"
    folder.mkdir()
    (folder / "own.py").write_text(SOUND.replace(written, instead, 1))
    assert message in refusal("exec", tmp_path / "go.py", "--env", folder / "own.py", "--out", tmp_path / "run")


def test_lists_mappings_and_what_an_instance_computes_are_no_mistakes(tmp_path: Path) -> None:
    (tmp_path / "go.py").write_text("agent.go()\n")
    written = """
    types, splits = ["a"], ["all", "rest", "both"]
    combined_splits = {"both": ["all", "rest"]}
    attributes = MappingProxyType({"place": "where you are"})
    about = property(lambda self: "A place.")

    def attribute_values(self):
        return {"place": 1}
"""
    (tmp_path / "own.py").write_text(f"from types import MappingProxyType\n{SOUND}{written}")
    for split in ("all", "both"):
        succeed("exec", tmp_path / "go.py", "--env", tmp_path / "own.py", "--split", split, "--out", tmp_path / split)


def test_plans_may_import_the_packages_that_an_environment_offers(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(f"{SOUND}\n    modules = ('numpy',)\n")
    plan = tmp_path / "plan.py"
    plan.write_text("import numpy\nprint('total', numpy.arange(4).sum())\n")
    succeed("exec", plan, "--env", tmp_path / "sums.py", "--out", tmp_path / "run", "--json")
    assert "total 6" in invoke("show", tmp_path / "run", 0).printed
    (tmp_path / "bare.py").write_text(SOUND)
    assert "there is no module `numpy`" in invoke("check", plan, "--env", tmp_path / "bare.py").printed


def test_wrong_answers_are_false_claims(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text("agent.answer(2)\n")
    run = tmp_path / "run"
    played = succeed("exec", tmp_path / "two.py", "--env", OWN / "quiz.py", "--out", run, "--json")
    claims = played.result["claims"]
    assert (claims["claimed_and_solved"], claims["claimed_and_not"]) == (1, 2)
    assert "False claims: sum/2 (claimed solved), sum/3 (claimed solved)" in played.printed
    # Another process, which has not loaded the environment, reads the same claims from the run.
    assert planbook("report", run, "--out", tmp_path / "report.html").returncode == 0
    assert "False claims: sum/2" in (tmp_path / "report.html").read_text()


MILESTONES = """
    def milestones(self):
        return ["given"] * bool(self.given) + ["right"] * (self.given == self.right)
"""


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_claims_and_milestones_are_the_same_after_an_import(form: str, tmp_path: Path) -> None:
    quiz = (OWN / "quiz.py").read_text().replace('("all",)', '("all",)\n    all_milestones = ("given", "right")')
    (tmp_path / "mine.py").write_text(quiz + MILESTONES)
    (tmp_path / "two.py").write_text("agent.answer(2)\n")
    played, file, imported = tmp_path / "played", tmp_path / f"x.{form}", tmp_path / "imported"
    succeed("exec", tmp_path / "two.py", "--env", tmp_path / "mine.py", "--out", played)
    succeed("export", played, "--out", file)
    succeed("import", file, "--out", imported)
    (before,), (after,) = (result(planbook("stats", run, "--json"))["rows"] for run in (played, imported))
    assert before["claims"]["claimed_and_not"] == 2
    assert before["milestones"] == {"sum": {"given": [3, 3], "right": [1, 3]}}
    assert [after[name] for name in ("claims", "milestones", "unlock_score")] == [
        before[name] for name in ("claims", "milestones", "unlock_score")
    ]
    assert (before["seconds"] > 0, after["seconds"]) == (True, None)


BREAKS = """
from planbook.envs.toy import Toy


class Fragile(Toy):
    resets = 0

    def begin(self, task):
        Fragile.resets += 1
        self.dead = getattr(self, "dead", False) or Fragile.resets in {dies}
        if self.dead:
            raise OSError("the world is gone")
        return super().begin(task)
"""


@pytest.mark.parametrize(("dies", "asked_again"), [((2,), 0), ((2, 3, 4), 1)])
def test_an_environment_that_breaks_during_verification_is_recreated(
    tmp_path: Path, dies: tuple[int, ...], asked_again: int
) -> None:
    """The verification begins with the second reset. It is repeated at most twice, each time in a new environment."""
    (tmp_path / "fragile.py").write_text(BREAKS.replace("{dies}", str(dies)))
    command = ("build", "--env", f"{tmp_path / 'fragile.py'}:Fragile", "--model", scripted(), "--types", "fetch")
    finished = succeed(*command, "--tasks-per-type", 3, "--json", "--out", tmp_path / "run")
    assert finished.result["solved"] == 3
    first = [e for e in events(tmp_path / "run", "outcome", "learn/0") if "/verification/0/" in e.scope]
    assert [e.body["outcome"] for e in first].count("broken") == len(dies)
    asked = asks(tmp_path / "run", "planner", "generalise_again")
    assert len(asked) == asked_again, "the procedure is not blamed for a single broken environment"


def test_an_environment_that_fails_to_close_does_not_end_the_run(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "from planbook.envs.toy import Toy\n\n\nclass Own(Toy):\n    name = 'own'\n\n"
        "    def close(self):\n        raise ValueError('the door is stuck')\n"
    )
    (tmp_path / "plan.py").write_text("agent.open('box_1')\n")
    played = invoke("exec", tmp_path / "plan.py", "--env", file, "--seeds", "0-1", "--out", tmp_path / "run", "--json")
    assert (played.returncode, played.result["tasks"]) == (errors.OK, 4), played.printed
    assert "own could not be closed: ValueError: the door is stuck" in played.printed
