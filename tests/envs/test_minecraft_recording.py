"""The shipped table of recorded goals can be reproduced, and no measurement uses its seeds."""

import pytest

from planbook.envs.minecraft.goals import HORIZONS_FILE
from planbook.envs.minecraft.tasks import DEFAULT_SEEDS
from tools import record_goals
from tools.bench.selector import SEEDS as MEASURED
from tools.record_goals import HEADER, SEEDS, render_table


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
