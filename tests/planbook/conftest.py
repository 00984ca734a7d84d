"""Fixtures: runs that are played once and shared by several tests, and a model server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planbook.planner.models import openai_api
from tests.executing import TASKS, command, episodes_of
from tests.flows import BUILD, succeed
from tests.openai_server import Server, serving
from tests.toy_script import served_answer


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    """Return the episodes of a run on tests/mortal_toy.py in which no process is killed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    succeed(*command(folder, *TASKS))
    return episodes_of(folder)


@pytest.fixture(scope="session")
def built_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a build on the toy environment, two tasks of each type. Tests must not change it."""
    folder = tmp_path_factory.mktemp("built") / "run"
    succeed(*BUILD, "--tasks-per-type", 2, "--out", folder)
    return folder


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that answers like tests/toy_script.py. Models of the kind `openai` ask it."""
    with serving(served_answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "the-key")
        monkeypatch.setattr(openai_api, "MAX_BACK_OFF", 0.01)
        yield server
