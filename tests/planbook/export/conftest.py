"""Runs of several methods, played from the recordings that ship."""

from pathlib import Path

import pytest

from tests.flows import BUILD, command_of, here

METHODS = (
    "adapt-textcraft-stepwise",
    "agentkit-shopping",
    "deps-minecraft-chances",
    "devils-advocate-minecraft-chances",
    "reflexion-textcraft",
)
"""Sub-tasks, a graph, goals, branches with rewinds, several rounds."""


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of each method, and ``toy``: a building run with half of its episodes left out."""
    home = tmp_path_factory.mktemp("runs")
    for name in METHODS:
        played = here(*command_of(name), "--model", f"recorded:{name}", "--out", home / name)
        assert played.returncode == 0, played.printed
    built = here(*BUILD, "--out", home / "toy")
    assert built.returncode == 0, built.printed
    return {folder.name: folder for folder in home.iterdir()}
