"""Recorded replies belong to the data of their prompts: other words are counted, other data are a divergence."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from planbook import errors
from tests.command import ROOT, result

NAME = "adapt-textcraft-stepwise"
Played = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages whose prompts say everything in other words."""
    copy = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "planbook", copy / "planbook", ignore=shutil.ignore_patterns("__pycache__"))
    for template in [*copy.glob("planbook/planner/templates/**/*.j2"), *copy.glob("planbook/rules/templates/**/*.j2")]:
        template.write_text(f"In other words.\n{template.read_text()}")
    return copy


@pytest.fixture
def play(tree: Path, tmp_path: Path) -> Callable[..., Played]:
    def run(*arguments: object) -> Played:
        header = json.loads(
            (tree / "planbook" / "manuals" / "recordings" / f"{NAME}.jsonl").read_text().splitlines()[0]
        )
        command = [*header["command"].split(), "--model", f"recorded:{NAME}", "--out", tmp_path / "run", "--json"]
        return planbook(tree, *command, *arguments)

    return run


def planbook(tree: Path, *arguments: object) -> Played:
    env = os.environ | {"PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "planbook", *map(str, arguments)]
    return subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, timeout=180)


def test_replies_are_given_to_other_words_and_counted(tree: Path, play: Callable[..., Played], tmp_path: Path) -> None:
    played = play()
    assert played.returncode == 0, played.stderr
    told = result(played)
    assert (told["solved"], told["tasks"], told["model_calls"], told["reworded_replies"]) == (2, 3, 25, 25)
    assert "25 recorded replies answered prompts whose wording has changed since" in " ".join(played.stderr.split())
    assert json.loads((tmp_path / "run" / "run.json").read_text())["reworded_replies"] == 25
    reported = planbook(tree, "report", tmp_path / "run", "--out", tmp_path / "report.html")
    assert reported.returncode == 0, reported.stderr
    assert "25 to a prompt whose wording has changed since" in (tmp_path / "report.html").read_text()
    again = planbook(tree, "rerun", tmp_path / "run", "--recorded", "--out", tmp_path / "again", "--json")
    assert again.returncode == 0, again.stderr
    assert "reworded_replies" not in json.loads((tmp_path / "again" / "run.json").read_text())


def test_strict_recordings_refuse_other_words(play: Callable[..., Played]) -> None:
    played = play("--strict-recordings")
    assert played.returncode == errors.MISSING
    assert "one to the same data in other words, which --strict-recordings refuses" in " ".join(played.stderr.split())


def test_a_prompt_made_from_other_data_has_no_reply(tree: Path, play: Callable[..., Played]) -> None:
    environment = tree / "planbook" / "envs" / "textcraft" / "environment.py"
    text = environment.read_text()
    environment.write_text(text.replace("Crafting commands:", "Crafting commands, all of them:"))
    try:
        played = play()
    finally:
        environment.write_text(text)
    assert text.count("Crafting commands:") >= 1
    assert played.returncode == errors.MISSING
    assert "What the prompt was made from has changed" in " ".join(played.stderr.split())
