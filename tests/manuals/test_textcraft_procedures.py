"""TextCraft's procedures solve every task from nothing but the commands that a player sees."""

from pathlib import Path

import pytest

from planbook.envs import Selection
from tests.manuals.test_procedures import unsolved


@pytest.mark.parametrize("split", ["test", pytest.param("dev", marks=pytest.mark.deep)])
def test_all_tasks_are_solved(split: str, tmp_path: Path) -> None:
    assert unsolved("textcraft", Selection(split=split), tmp_path) == []
