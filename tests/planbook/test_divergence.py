"""`planbook replay RUN` against an environment that has changed since the run."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import planbook
from tests.flows import write_scripted_model
from tests.shelf import write_shelf

PLAN = "print(agent.look())\nprint(agent.look())\nprint(agent.look())\n"
THINGS = "mug_1, mug_2 and 5 cups"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment, which tests may change, and a run that was played in it."""
    folder = tmp_path_factory.mktemp("recorded")
    write_shelf(folder, THINGS, looks=2)
    (folder / "plan.py").write_text(PLAN)
    done = planbook("exec", "plan.py", "--env", "shelf.py", "--task", "look/0", "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def replay(folder: Path, run: str = "run") -> tuple[int, Any, str]:
    """Replay the run; return the exit code, the result and the standard error."""
    done = planbook("replay", run, "--json", cwd=folder)
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.parametrize(
    ("things", "looks", "sameness", "act"),
    [
        (THINGS, 2, "same", 0),
        ("mug_7, mug_3 and 5 cups", 2, "different", 1),
        ("cup_1, mug_2 and 5 cups", 2, "different", 1),
        ("mug_1, mug_2 and 6 cups", 2, "different", 1),
        (THINGS, 4, "different", 2),
    ],
    ids=["unchanged", "other ids", "another word", "another number", "a longer episode"],
)
def test_a_replay_reports_the_first_difference(
    recorded: Path, things: str, looks: int, sameness: str, act: int
) -> None:
    write_shelf(recorded, things, looks)
    code, result, printed = replay(recorded)
    assert (code, result["by_sameness"][sameness]) == (int(act > 0), 1)
    assert result["differed"] == (["the environment's file shelf.py: changed"] if act else [])
    assert ("Changed since run began:" if act else "No input of run has changed since it began.") in printed
    if act:
        assert f"look/0: {sameness}, at act {act}" in printed
    if act == 1:
        assert f"expected: line 1: agent.look() -> On shelf_1 you see {THINGS}." in printed
        assert f"actual:   line 1: agent.look() -> On shelf_1 you see {things}." in printed
    assert ("the ending changed: direct success, now failure" in printed) == (looks == 4)
    assert ("The verdict changed in 1 of them." in printed) == (looks == 4)


@pytest.mark.parametrize(("played", "replayed"), [(1, 2), (2, 1)], ids=["one more", "one fewer"])
def test_an_action_that_only_one_of_the_episodes_has_is_the_first_difference(
    recorded: Path, played: int, replayed: int
) -> None:
    write_shelf(recorded, looks=9)
    environment = (recorded / "shelf.py").read_text().replace("import Environment", "import Environment, query")
    query = "    @query()\n    def number(self) -> int:\n        return COUNT\n"

    def write(number: int) -> None:
        (recorded / "shelf.py").write_text(environment + query.replace("COUNT", str(number)))

    (recorded / "loop.py").write_text("for _ in range(agent.number()):\n    agent.look()\n")
    write(played)
    out = f"{played}-{replayed}"
    options = ("--env", "shelf.py", "--task", "look/0", "--out", out)
    assert planbook("exec", "loop.py", *options, cwd=recorded).returncode == 0
    write(replayed)
    assert "look/0: different, at act 2 of round/0" in replay(recorded, out)[2]


def test_a_run_is_replayed_although_the_digests_of_its_data_need_a_task_that_is_gone(recorded: Path) -> None:
    write_shelf(recorded, THINGS, looks=2)
    environment = (recorded / "shelf.py").read_text().replace("import Environment", "import BadSelection, Environment")
    checksums = "def checksums(cls, tasks, options=None):\n        raise BadSelection('no look/0')\n"
    (recorded / "shelf.py").write_text(f"{environment}    @classmethod\n    {checksums}")
    code, result, _ = replay(recorded)
    assert (code, result["by_sameness"]["same"], result["differed"]) == (0, 1, ["data: no look/0"])


def test_a_replay_answers_model_calls_with_the_recorded_replies(recorded: Path) -> None:
    write_shelf(recorded, looks=2)
    model = write_scripted_model(recorded, "```python\nprint(agent.look())\nprint(agent.look())\n```")
    command = ("run", "--env", "shelf.py", "--task", "look/0", "--planner", "react", "--model", model)
    done = planbook(*command, "--out", "asked", cwd=recorded)
    assert done.returncode == 0, done.stderr
    write_shelf(recorded, "cup_1", looks=3)
    _, _, printed = replay(recorded, "asked")
    assert "look/0: different, at act 1" in printed
    assert "the ending is now unknown: the planner makes more model calls than were recorded" in printed
    text = (recorded / "shelf.py").read_text().replace("looks == 3", "looks == 2")
    (recorded / "shelf.py").write_text(text.replace("Verdict(self.looks == 2", "Verdict(self.looks == 5"))
    _, result, printed = replay(recorded, "asked")
    assert "the ending changed: direct success, now failure" in printed
    assert result["verdicts_changed"] == 1


def test_a_changed_verdict_counts_in_every_repeat(recorded: Path) -> None:
    write_shelf(recorded, THINGS, looks=2)
    options = ("--env", "shelf.py", "--task", "look/0", "--repeats", 2, "--out", "twice")
    assert planbook("exec", "plan.py", *options, cwd=recorded).returncode == 0
    write_shelf(recorded, THINGS, looks=4)
    assert replay(recorded, "twice")[1]["verdicts_changed"] == 2
