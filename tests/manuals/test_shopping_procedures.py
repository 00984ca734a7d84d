"""Shopping's procedures earn the whole reward on every goal, from nothing but goal and pages."""

from pathlib import Path

import pytest

from planbook.envs import Selection
from tests.manuals.test_procedures import unsolved


@pytest.mark.parametrize("split", [pytest.param("full", marks=pytest.mark.deep), "dev", "example"])
def test_every_goal_earns_the_whole_reward(split: str, tmp_path: Path) -> None:
    assert unsolved("shopping", Selection(split=split), tmp_path) == []
