"""Fixtures: runs that are played once and shared by several tests."""

from pathlib import Path
from typing import Any

import pytest

from tests.executing import TASKS, command, episodes_of
from tests.flows import BUILD, invoke


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    """Return the episodes of a run on tests/mortal_toy.py in which no process is killed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert invoke(*command(folder, *TASKS)).returncode == 0
    return episodes_of(folder)


@pytest.fixture(scope="session")
def built_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a build on the toy environment, two tasks of each type. Tests must not change it."""
    folder = tmp_path_factory.mktemp("built") / "run"
    assert invoke(*BUILD, "--tasks-per-type", 2, "--out", folder).returncode == 0
    return folder
