"""The folder of a run is created completely or not at all, and belongs to one process at a time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from planbook.config import Config
from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.errors import BadRun
from planbook.runs import Run, changed_versions, is_claimed, new_folder, versions

CONFIG = Config(planner="procedures", env="toy", actions=30)
TASKS = Toy.tasks(Selection())


def test_a_run_is_played_by_one_process_at_a_time(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", CONFIG, TASKS)
    with pytest.raises(BadRun, match="another process"):
        Run.create(tmp_path / "run", CONFIG, TASKS)
    with pytest.raises(BadRun, match="another process"):
        Run.open(tmp_path / "run", to_play=True)
    Run.open(tmp_path / "run").close()  # reading is allowed
    run.close()
    Run.create(tmp_path / "run", CONFIG, TASKS).close()


@pytest.mark.parametrize("left", [(), ("run.db",), ("run.db", "run.db-wal", "run.db-shm"), ("run.db", "run.new")])
def test_a_folder_whose_creation_was_interrupted_is_created_again(tmp_path: Path, left: tuple[str, ...]) -> None:
    (tmp_path / "run").mkdir()
    for name in left:
        (tmp_path / "run" / name).write_bytes(b"half")
    run = Run.create(tmp_path / "run", CONFIG, TASKS)
    assert len(run.entries()) == len(TASKS)
    run.close()


def test_a_folder_with_other_files_is_left_unchanged(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BadRun, match=r"thesis\.tex"):
        Run.create(tmp_path, CONFIG, TASKS)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_is_claimed_before_it_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claimed, iterdir = list[bool](), Path.iterdir

    def list_folder(folder: Path) -> Iterator[Path]:
        claimed.append(is_claimed(folder))
        return iterdir(folder)

    monkeypatch.setattr(Path, "iterdir", list_folder)
    Run.create(tmp_path / "run", CONFIG, TASKS).close()
    assert claimed == [True]
    assert not is_claimed(tmp_path / "run")


def test_a_file_instead_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadRun, match="Not a directory"):
        Run.create(tmp_path / "file" / "run", CONFIG, TASKS)
    with pytest.raises(BadRun, match="cannot hold a run"):
        Run.create(tmp_path / "file", CONFIG, TASKS)


def test_settings_that_differ_from_those_of_the_folder_are_named(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", CONFIG, TASKS).close()
    other = CONFIG.model_copy(update={"selection": Selection(seeds=(7,)), "seed": 3})
    with pytest.raises(BadRun, match=r"other settings \(--seed: 0, now 3; --seeds: none, now 7\)"):
        Run.create(tmp_path / "run", other, TASKS)


def test_runs_of_the_same_second_have_different_folders(tmp_path: Path) -> None:
    assert len({new_folder(CONFIG, tmp_path) for _ in range(5)}) == 5


def test_each_repeat_is_an_entry(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", CONFIG.model_copy(update={"repeats": 2}), TASKS)
    assert [(entry.task.id, entry.repeat) for entry in run.entries()][:: len(TASKS)] == [("fetch/0", 0), ("fetch/0", 1)]
    run.close()


def test_changed_versions_of_packages_are_named(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", CONFIG, TASKS)
    assert "alfworld" not in run.versions, "only environments that use a package report its version"
    older = dict(run.versions) | {"alfworld": "0.3"}  # an older planbook recorded all packages
    assert changed_versions(older, versions()) == []
    run.versions["pydantic"] = "1.0"
    (change,) = changed_versions(run.versions, versions())
    assert str(change).startswith("pydantic 1.0, now 2.")
    run.close()


def test_a_run_with_more_repeats_than_the_option_allows_is_read() -> None:
    assert Config.model_validate(CONFIG.model_dump() | {"repeats": 2_000}).repeats == 2_000
