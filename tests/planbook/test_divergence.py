"""Replaying recorded runs against a world that has changed since."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbook.episodes.divergence import without_numbers
from tests.command import planbook
from tests.shelf import write_shelf

PLAN = "print(agent.look())\nprint(agent.look())\nprint(agent.look())\n"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A folder with a world and a run on it."""
    write_shelf(tmp_path, looks=2)
    (tmp_path / "plan.py").write_text(PLAN)
    done = planbook("exec", "plan.py", "--env", "shelf.py", "--task", "look/0", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def replayed(folder: Path) -> tuple[int, Any, str]:
    done = planbook("replay", "run", "--json", cwd=folder)
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout)["by_sameness"], done.stderr


def test_an_unchanged_world_gives_the_same(recorded: Path) -> None:
    code, counts, _ = replayed(recorded)
    assert (code, counts["same"]) == (0, 1)


def test_other_numbers_in_ids_are_told_apart(recorded: Path) -> None:
    write_shelf(recorded, "mug_7 and mug_3", looks=2)
    code, counts, told = replayed(recorded)
    assert (code, counts["renamed ids"]) == (1, 1)
    assert "look/0: renamed ids, at act 1" in told
    assert "expected: line 1: agent.look() -> On shelf_1 you see mug_1 and mug_2." in told
    assert "actual:   line 1: agent.look() -> On shelf_1 you see mug_7 and mug_3." in told


@pytest.mark.parametrize("things", ["mug_1 and mug_1", "cup_1 and mug_2", "mug_1"])
def test_another_state_is_different(recorded: Path, things: str) -> None:
    write_shelf(recorded, things, looks=2)
    code, counts, _ = replayed(recorded)
    assert (code, counts["different"]) == (1, 1)


def test_an_episode_that_goes_on_longer_is_different(recorded: Path) -> None:
    write_shelf(recorded, looks=3)
    code, counts, told = replayed(recorded)
    assert (code, counts["different"]) == (1, 1)
    assert "look/0: different, at act 2" in told


IDS = st.lists(st.tuples(st.sampled_from(["mug", "cup"]), st.integers(1, 9)), min_size=1, max_size=6)


@given(ids=IDS, shift=st.integers(1, 50))
def test_renaming_is_recognised_and_merging_is_not(ids: list[tuple[str, int]], shift: int) -> None:
    before = " ".join(f"{kind}_{number}" for kind, number in ids)
    renamed = " ".join(f"{kind}_{number + shift}" for kind, number in ids)
    merged = " ".join(f"{kind}_1" for kind, _ in ids)
    assert without_numbers(before) == without_numbers(renamed)
    assert (without_numbers(before) == without_numbers(merged)) == (len(set(ids)) == len({kind for kind, _ in ids}))
