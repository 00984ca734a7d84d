"""Recorded replies also answer reworded prompts, if these contain the same data. Prompts with other data get none."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from planbook import errors
from tests.command import ROOT, ForkServer, result
from tests.flows import command_of

NAME = "adapt-textcraft-stepwise"
Planbook = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with changed words in every prompt."""
    copy = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "planbook", copy / "planbook")
    for template in [*copy.glob("planbook/planner/templates/**/*.j2"), *copy.glob("planbook/rules/templates/**/*.j2")]:
        template.write_text(f"In other words.\n{template.read_text()}")
    return copy


@pytest.fixture(scope="module")
def planbook(tree: Path) -> Planbook:
    """A function that runs the commands of that copy."""
    env = os.environ | {"PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}
    return partial(ForkServer(env=env).run, cwd=tree, env=env)


@pytest.fixture
def play(planbook: Planbook, tmp_path: Path) -> Planbook:
    """A function that runs the command of a recording with more arguments."""
    return partial(planbook, *command_of(NAME), "--model", f"recorded:{NAME}", "--out", tmp_path / "run", "--json")


@pytest.mark.deep
def test_replies_to_reworded_prompts_are_counted(planbook: Planbook, play: Planbook, tmp_path: Path) -> None:
    warning = "25 recorded replies answered prompts whose wording has changed since"
    played = play()
    assert played.returncode == 0, played.stderr
    counts = [result(played)[name] for name in ("solved", "tasks", "model_calls", "reworded_replies")]
    assert counts == [2, 3, 25, 25]
    assert warning in " ".join(played.stderr.split())
    assert json.loads((tmp_path / "run" / "run.json").read_text())["reworded_replies"] == 25
    reported = planbook("report", tmp_path / "run", "--out", tmp_path / "report.html")
    assert reported.returncode == 0, reported.stderr
    assert warning in (tmp_path / "report.html").read_text()
    again = planbook("rerun", tmp_path / "run", "--recorded", "--out", tmp_path / "again", "--json")
    assert again.returncode == 0, again.stderr
    assert "reworded_replies" not in json.loads((tmp_path / "again" / "run.json").read_text())


def test_strict_recordings_refuse_reworded_prompts(play: Planbook) -> None:
    played = play("--strict-recordings")
    assert played.returncode == errors.MISSING
    assert "to the same data in different words, which --strict-recordings refuses" in " ".join(played.stderr.split())


def test_a_prompt_made_from_other_data_has_no_reply(tree: Path, play: Planbook) -> None:
    environment = tree / "planbook" / "envs" / "textcraft" / "environment.py"
    text = environment.read_text()
    environment.write_text(text.replace("Crafting commands:", "Crafting commands, all of them:"))
    try:
        played = play()
    finally:
        environment.write_text(text)
    assert text.count("Crafting commands:") >= 1
    assert played.returncode == errors.MISSING
    said = " ".join(played.stderr.split())
    assert "its data, such as the task or earlier replies, differ from those recorded" in said
    assert f"It has the replies for this command: `planbook {' '.join(command_of(NAME))}`. " in said
