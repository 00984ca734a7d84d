"""Runs of several methods, played with the replies of shipped recordings."""

from pathlib import Path

import pytest

from tests.flows import BUILD, command_of, succeed

METHODS = (
    "adapt-textcraft-stepwise",
    "agentkit-shopping",
    "deps-minecraft-chances",
    "devils-advocate-minecraft-chances",
    "reflexion-textcraft",
)
"""Recordings with subtasks, a graph, goals, branches with rewinds, and several rounds, in this order."""


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Map names to folders of runs: ``METHODS``, and ``toy``, a build that skips half of its episodes."""
    home = tmp_path_factory.mktemp("runs")
    for name in METHODS:
        succeed(*command_of(name), "--model", f"recorded:{name}", "--out", home / name)
    succeed(*BUILD, "--out", home / "toy")
    return {folder.name: folder for folder in home.iterdir()}
