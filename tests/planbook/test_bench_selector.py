"""The benchmark of goal selectors, on few seeds. A selector chooses which of several parallel goals to pursue next."""

import pytest

from planbook.envs.minecraft import tasks
from planbook.envs.minecraft.environment import Minecraft, MinecraftOptions
from tools import bench
from tools.bench import Row, selector

SEEDS = range(1000, 1040)
FOUR, RIVAL = "4 goals, 1000 ticks", "horizon - fixed"


@pytest.fixture(scope="module")
def figures() -> dict[str, Row]:
    return {row.name: row for row in selector.rows(SEEDS)}


@pytest.mark.deep
def test_the_learned_selector_beats_a_fixed_order_and_a_random_one(figures: dict[str, Row]) -> None:
    for rival in selector.RIVALS:
        gain = figures[f"{FOUR}: horizon - {rival}"]
        assert gain.met
        assert gain.interval
        assert gain.interval[0] > 0
    assert (figures["4 goals, ticks of a game: horizon - fixed"].interval or (0, 0))[1] < 0


def test_success_rates_lie_in_their_intervals_and_rise_with_the_length_of_episodes(figures: dict[str, Row]) -> None:
    for count in tasks.PARALLEL.values():
        for length in selector.LENGTHS:
            shares = [figures[f"{count} goals, {length} ticks: {name}"] for name in selector.SELECTORS]
            for share in shares:
                assert share.value is not None
                assert share.interval
                assert share.interval[0] <= share.value <= share.interval[1]
            fixed, horizon = shares[0].value or 0, shares[2].value or 0
            assert figures[f"{count} goals, {length} ticks: {RIVAL}"].value == pytest.approx(horizon - fixed)
    for name in selector.SELECTORS:
        rising = [figures[f"3 goals, {length} ticks: {name}"].value or 0 for length in selector.LENGTHS]
        assert rising == sorted(rising)


def test_the_papers_figures_seeds_versions_and_gaps_are_listed(figures: dict[str, Row]) -> None:
    published = [figures[f"{count} goals, 1000 ticks: the paper's - fixed"].value for count in (2, 3, 4)]
    assert published == [22.3, 29.2, 32.6]
    notes = "\n".join(row.name for row in figures.values() if row.value is None)
    for words in ("seeds 1000 to 1039", "1.11.2", "seeds 100000 to 100149", "scikit-learn 1", "CLIP", "oracle"):
        assert words in notes


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", ["fixed", "horizon"])
def test_a_game_counts_as_won_within_a_length_if_an_episode_of_that_length_is_won(seed: int, name: str) -> None:
    chosen = next(each for each in selector.SELECTORS if each == name)
    end = selector._end_tick(*selector._start_parallel_game("parallel_3", seed), chosen, seed)
    for length in (int(end) - 1, int(end)):
        environment = Minecraft(MinecraftOptions(ticks=length))
        task = tasks.parallel_task("parallel_3", seed)
        environment.reset(task)
        selector._end_tick(environment, [[goal] for goal in tasks.parallel_goals(task)], chosen, seed)
        assert environment.verdict().solved is (length >= end)


def test_the_selector_of_the_nearest_goal_takes_the_fewest_ticks(figures: dict[str, Row]) -> None:
    ticks = {name: figures[f"{selector.ROUTES}, ticks of a game: {name}"].value or 0 for name in selector.SELECTORS}
    assert ticks["nearest"] == min(ticks.values())
    assert ticks["nearest"] < ticks["fixed"]


def test_the_command_prints_figures_and_returns_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selector.rows, "__defaults__", (SEEDS[:3],))
    code, found = bench.show("selector")
    assert (code, found["part"]) == (0, "selector")
    assert {"name", "value", "unit", "interval", "cell", "goal", "met", "against"} <= set(found["rows"][0])
    cells = [row["cell"] for row in found["rows"] if row["cell"]]
    assert (FOUR, RIVAL) in cells
    assert len(set(cells)) == len(cells)
    assert "95% interval" in capsys.readouterr().out
