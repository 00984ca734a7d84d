"""Runs of planbook 0.1.0 can be exported but not resumed. `cases/old.toml` tests other commands on them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.blackbox.conftest import RunShelf
from tests.blackbox.recorded import export_episodes


@pytest.mark.parametrize(("name", "tasks", "solved"), [("run", 3, 2), ("build", 4, 3), ("test", 12, 11)])
def test_every_episode_is_exported(name: str, tasks: int, solved: int, shelf: RunShelf, tmp_path: Path) -> None:
    (run,) = shelf.words(f"{{old_{name}}}", tmp_path)
    verdicts = [episode["ending"]["verdict"]["solved"] for episode in export_episodes(Path(run))]
    assert (len(verdicts), sum(verdicts)) == (tasks, solved)


def test_an_unfinished_run_cannot_be_resumed(shelf: RunShelf, tmp_path: Path) -> None:
    (run,) = shelf.words("{old_run}", tmp_path)
    with closing(sqlite3.connect(Path(run) / "run.db")) as database, database:
        database.execute("DELETE FROM event WHERE kind = 'outcome' AND scope = 'task/2'")
    resumed = shelf.run(f"run --resume {run} --allow-changed", tmp_path)
    assert resumed.code == 2
    assert "begun by planbook 0.1.0" in resumed.printed
    assert f"planbook rerun {run}" in resumed.printed
