"""The shipped table of recorded goals can be reproduced, and no measurement uses its seeds."""

import csv

import pytest

from planbook.envs.minecraft.environment import Minecraft
from planbook.envs.minecraft.goals import HORIZONS_FILE
from planbook.envs.minecraft.tasks import DEFAULT_SEEDS, parallel_goals, parallel_task
from tools import record_goals
from tools.bench.selector import SEEDS as MEASURED
from tools.record_goals import HEADER, SEEDS, render_table


def rows() -> list[dict[str, str]]:
    with HORIZONS_FILE.open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


@pytest.mark.deep
def test_the_shipped_table_is_what_the_command_writes() -> None:
    assert HORIZONS_FILE.read_bytes() == render_table().encode(), "run python -m tools.record_goals"


def test_the_shipped_table_is_small_and_begins_with_the_rows_of_the_first_environments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record_goals, "SEEDS", SEEDS[:2])
    text = HORIZONS_FILE.read_text(encoding="utf-8")
    assert text.startswith(render_table())
    assert len(text) < 300_000
    assert f"seeds {SEEDS[0]} to {SEEDS[-1]}" in HEADER
    assert "python -m tools.record_goals" in HEADER


def test_no_recorded_seed_is_used_for_measurements() -> None:
    assert set(SEEDS).isdisjoint([*MEASURED, *DEFAULT_SEEDS])


def test_the_columns_are_the_features_and_the_ticks() -> None:
    task = parallel_task("parallel_2", 0)
    environment = Minecraft()
    environment.reset(task)
    features = environment.goals.features(parallel_goals(task)[0])
    assert list(rows()[0]) == [*features, "ticks"]


def test_the_rows_cover_actions_sights_biomes_and_items() -> None:
    found = rows()
    assert {row["action"] for row in found} >= {"mine", "kill", "craft"}
    assert {row["seen"] for row in found} >= {"next to you", "near", "far", "unseen", "none"}
    assert len({row["biome"] for row in found}) >= 8
    assert len({row["item"] for row in found}) >= 40
    assert all(int(row["ticks"]) >= 0 for row in found)
