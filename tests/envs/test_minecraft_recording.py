"""The recorded goals that ship: made again byte for byte, from environments that nothing is measured in."""

import csv

import pytest

from planbook.envs.minecraft import recording
from planbook.envs.minecraft.environment import Minecraft
from planbook.envs.minecraft.planning import RECORDED
from planbook.envs.minecraft.recording import HEADER, SEEDS, recorded
from planbook.envs.minecraft.tasks import DEFAULT_SEEDS, parallel_goals, parallel_task
from tools.bench.selector import SEEDS as MEASURED

MOST_BYTES = 300_000


def rows() -> list[dict[str, str]]:
    with RECORDED.open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


@pytest.mark.deep
def test_the_shipped_table_is_what_the_command_writes() -> None:
    assert RECORDED.read_bytes() == recorded().encode(), "run python -m planbook.envs.minecraft.recording"


def test_the_shipped_table_begins_with_what_the_first_environments_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "SEEDS", SEEDS[:2])
    assert RECORDED.read_text(encoding="utf-8").startswith(recorded())


def test_the_table_is_small_and_says_where_it_is_from() -> None:
    text = RECORDED.read_text(encoding="utf-8")
    assert len(text) < MOST_BYTES
    assert text.startswith(HEADER)
    assert f"seeds {SEEDS[0]} to {SEEDS[-1]}" in HEADER
    assert "python -m planbook.envs.minecraft.recording" in HEADER


def test_no_environment_is_both_learnt_from_and_measured() -> None:
    assert set(SEEDS).isdisjoint([*MEASURED, *DEFAULT_SEEDS])


def test_columns_are_what_a_selector_is_told_and_then_the_ticks() -> None:
    task = parallel_task("parallel_2", 0, None)
    environment = Minecraft()
    environment.reset(task)
    features = environment.goals.features(parallel_goals(task)[0])
    assert list(rows()[0]) == [*features, "ticks"]


def test_all_kinds_of_goals_were_reached_in_all_sorts_of_places() -> None:
    found = rows()
    assert {row["action"] for row in found} >= {"mine", "kill", "craft"}
    assert {row["seen"] for row in found} >= {"next to you", "near", "far", "unseen", "none"}
    assert len({row["biome"] for row in found}) >= 8
    assert len({row["item"] for row in found}) >= 40
    assert all(int(row["ticks"]) >= 0 for row in found)
