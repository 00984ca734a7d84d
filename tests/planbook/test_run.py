"""The run folder: begun whole or not at all, and one process's at a time."""

from pathlib import Path

import pytest

from planbook.config import Config
from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.errors import BadRun
from planbook.runs import Run, changed_versions, new_folder, versions

CONFIG = Config(planner="procedures", env="toy", actions=30)
TASKS = Toy.tasks(Selection())


def test_a_run_being_played_is_refused_to_others_until_it_is_closed(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", CONFIG, TASKS)
    with pytest.raises(BadRun, match="another process"):
        Run.create(tmp_path / "run", CONFIG, TASKS)
    with pytest.raises(BadRun, match="another process"):
        Run.open(tmp_path / "run", to_play=True)
    Run.open(tmp_path / "run").close()  # to look at it is allowed
    run.close()
    Run.create(tmp_path / "run", CONFIG, TASKS).close()


@pytest.mark.parametrize("left", [(), ("run.db",), ("run.db", "run.db-wal", "run.db-shm"), ("run.db", "run.new")])
def test_files_of_a_killed_beginning_are_begun_anew(tmp_path: Path, left: tuple[str, ...]) -> None:
    (tmp_path / "run").mkdir()
    for name in left:
        (tmp_path / "run" / name).write_bytes(b"half")
    run = Run.create(tmp_path / "run", CONFIG, TASKS)
    assert len(run.entries()) == len(TASKS)
    run.close()


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BadRun, match=r"thesis\.tex"):
        Run.create(tmp_path, CONFIG, TASKS)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_the_way_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadRun, match="Not a directory"):
        Run.create(tmp_path / "file" / "run", CONFIG, TASKS)
    with pytest.raises(BadRun, match="cannot hold a run"):
        Run.create(tmp_path / "file", CONFIG, TASKS)


def test_every_setting_that_differs_is_named(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", CONFIG, TASKS).close()
    other = CONFIG.model_copy(update={"selection": Selection(seeds=(7,)), "seed": 3})
    with pytest.raises(BadRun, match=r"other seed, selection\.seeds"):
        Run.create(tmp_path / "run", other, TASKS)


def test_two_runs_of_one_second_have_two_folders(tmp_path: Path) -> None:
    assert len({new_folder(CONFIG, tmp_path) for _ in range(5)}) == 5


def test_repeats_are_entries_of_their_own(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", CONFIG.model_copy(update={"repeats": 2}), TASKS)
    assert [(entry.task.id, entry.repeat) for entry in run.entries()][:: len(TASKS)] == [("fetch/0", 0), ("fetch/0", 1)]
    run.close()


def test_another_version_of_a_package_is_named(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", CONFIG, TASKS)
    assert changed_versions(run.versions, versions()) == []
    run.versions["pydantic"] = "1.0"
    (change,) = changed_versions(run.versions, versions())
    assert str(change).startswith("pydantic 1.0, now 2.")
    run.close()
