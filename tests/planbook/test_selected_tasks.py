"""Only the selected tasks are played, whatever a user's own environment lists."""

from contextlib import closing
from pathlib import Path

import pytest

from planbook import errors
from planbook.runs import Run
from tests.command import ROOT
from tests.flows import invoke, write_scripted_model

CELLAR = ("--env", ROOT / "tests" / "own_environments" / "cellar.py")
GET = "```python\nagent.get()\n```"


def tasks_of(folder: Path) -> list[str]:
    with closing(Run.open(folder)) as run:
        return sorted(entry.task.id for entry in run.entries())


@pytest.mark.parametrize(
    ("chosen", "played"),
    [
        (("--split", "test"), [f"test/{kind}/{seed}" for kind in ("get_wine", "look") for seed in (1, 2, 3)]),
        (("--split", "test:2"), ["test/get_wine/1", "test/look/1"]),
        (("--split", "test", "--seeds", "2-3", "--types", "look"), ["test/look/2", "test/look/3"]),
        (("--task", "test/look/2"), ["test/look/2"]),
        (("--types", "look"), ["train/look/1", "train/look/2", "train/look/3"]),
    ],
)
def test_no_task_of_another_split_seed_or_type_is_played(
    chosen: tuple[str, ...], played: list[str], tmp_path: Path
) -> None:
    (tmp_path / "get.py").write_text("agent.get()\n")
    finished = invoke("exec", tmp_path / "get.py", *CELLAR, *chosen, "--out", tmp_path / "run", "--json")
    assert finished.returncode == 0, finished.printed
    assert tasks_of(tmp_path / "run") == played


def test_building_and_testing_play_different_tasks(tmp_path: Path) -> None:
    model = ("--model", write_scripted_model(tmp_path, GET))
    assert invoke("build", *CELLAR, "--split", "train", *model, "--out", tmp_path / "built").returncode == 0
    assert {task.partition("/")[0] for task in tasks_of(tmp_path / "built")} == {"train"}
    tested = invoke(
        "test", *CELLAR, "--split", "test", *model, "--library", tmp_path / "built", "--out", tmp_path / "t"
    )
    assert tested.returncode == 0, tested.printed
    assert {task.partition("/")[0] for task in tasks_of(tmp_path / "t")} == {"test"}


def test_an_environment_with_fixed_tasks_is_built_on_all_of_them(tmp_path: Path) -> None:
    """The README's own environment, under the README's main command."""
    example = (ROOT / "README.md").read_text().split("# lights.py\n")[1].split("```")[0]
    (tmp_path / "lights.py").write_text(example)
    model = ("--model", write_scripted_model(tmp_path, GET))
    built = invoke("build", "--env", tmp_path / "lights.py", *model, "--out", tmp_path / "run", "--json")
    assert built.returncode == 0, built.printed
    assert tasks_of(tmp_path / "run") == ["lamp/1", "lamp/2", "lamp/3"]


def test_a_selection_without_tasks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "get.py").write_text("agent.get()\n")
    finished = invoke("exec", tmp_path / "get.py", *CELLAR, "--seeds", "9", "--out", tmp_path / "run")
    assert finished.returncode == errors.BAD_INPUT
    assert "no task has one of the selected seeds; the lowest seed is 1" in finished.printed
