"""`planbook compare`, on real runs of the toy environment and on runs with endings written down."""

from collections.abc import Sequence
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from scipy import stats  # type: ignore[import-untyped]

from planbook import errors
from planbook.compare.pairs import RunComparison, compare, compare_all
from planbook.compare.tables import comparison_parts, result_lines
from planbook.config import Config, Learning
from planbook.envs import Verdict
from planbook.planner import Ending
from planbook.results.table import read_folder
from planbook.runs import Run
from planbook.spending import prices_from, spent_so_far
from planbook.terminal.printing import print_parts
from tests.command import planbook, result
from tests.rows import BROKEN, FAILED, SOLVED, fetch, toy_run, written

FREE = prices_from(None)
PLAN = "for box in boxes:\n    agent.open(box)\n" * 17


def held(first: Path, second: Path) -> RunComparison:
    return compare(read_folder(first, FREE), read_folder(second, FREE))


def rendered(compared: RunComparison, width: int = 110) -> str:
    out = Console(width=width, file=StringIO())
    print_parts(out, comparison_parts(compared, "B"))
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of stored procedures, on more tasks than the others."""
    return toy_run(tmp_path_factory.mktemp("runs") / "stored", "procedures", 8)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that asked a model, with another seed."""
    return toy_run(tmp_path_factory.mktemp("runs") / "asked", "automanual", 6, seed=3)


def test_two_real_runs_are_paired_by_task_and_seed(stored: Path, asked: Path) -> None:
    found = held(stored, asked)
    assert found.overall.pairs == found.overall.tasks == 12
    assert found.only_first == ("fetch/6", "fetch_two/6", "fetch/7", "fetch_two/7")
    assert found.only_second == ()
    assert {each.name for each in found.settings} >= {"planner", "seed", "models.default", "selection.seeds"}
    assert sum(each.pairs for each in found.by_type.values()) == 12
    assert [each.change for each in found.changed] == ["lost"] * found.overall.lost
    assert found.overall.lost > 0
    assert all(each.cause == "unfinished" for each in found.changed)
    assert "different seeds (--seed 0 and 3)" in found.warnings[0]
    assert found.costs["model calls"].first.value == 0
    printed = rendered(found)
    assert "Only in A, and in no figure below (4): fetch/6" in printed
    assert printed.splitlines()[0] == f"A: {stored}"


def test_the_other_way_round_everything_is_the_opposite(stored: Path, asked: Path) -> None:
    there, back = held(asked, stored), held(stored, asked)
    one, other = there.overall, back.overall
    assert (one.gained, one.lost, one.p) == (other.lost, other.gained, other.p)
    assert one.difference == -other.difference
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert {each.task for each in there.changed} == {each.task for each in back.changed}
    for name, cost in there.costs.items():
        assert cost.first == back.costs[name].second


def test_costs_are_those_of_the_whole_run_for_each_task_solved(stored: Path, asked: Path) -> None:
    found = held(asked, stored)
    with closing(Run.open(asked)) as run:
        spent = spent_so_far(run.store.events(), FREE)
    solved = found.first.solved
    assert found.costs["model calls"].first.value == pytest.approx(spent.calls / solved, abs=1e-5)
    assert found.costs["tokens"].first.value == pytest.approx(spent.tokens / solved, abs=1e-5)
    assert found.costs["actions"].first.value == pytest.approx(spent.actions / solved, abs=1e-5)
    seconds = found.costs["seconds"].first.value
    assert seconds is not None
    assert 0 < seconds * solved <= spent.seconds + 1e-3
    assert "US dollars" not in found.costs
    assert found.costs["seconds"].difference[1:] == (None, None), "how the clock varies is not known"
    for cost in (cost for name, cost in found.costs.items() if name != "seconds"):
        assert cost.first.value is not None
        assert cost.first.low is not None
        assert cost.first.high is not None
        assert cost.first.low <= cost.first.value <= cost.first.high


def rewarded(folder: Path, rewards: Sequence[float], repeats: int = 1, broken: int = 0) -> Path:
    """Write unsolved episodes with these rewards, and scores that are a part of them; the last ones broke."""
    tasks = [fetch(number) for number in range(len(rewards) // repeats)]
    config = Config(planner="procedures", env="toy", actions=9, repeats=repeats)
    with closing(Run.create(folder, config, tasks)) as run:
        for entry, reward in zip(run.entries(), rewards, strict=True):
            outcome = BROKEN if entry.index >= len(rewards) - broken else FAILED
            verdict, measures = Verdict(False, reward / 10), {"reward": reward, "steps": 5.0}
            ending = Ending(outcome=outcome, cause=outcome.value, verdict=verdict, measures=measures)
            run.store.put(entry.path, "outcome", 0, ending.model_dump(mode="json"))
    return folder


def test_what_environments_measure_is_compared_by_paired_t(tmp_path: Path) -> None:
    before, after = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), (2.0, 4.0, 3.5, 6.0, 7.0, 6.5)
    found = held(rewarded(tmp_path / "one", (*before, 9.0), broken=1), rewarded(tmp_path / "two", (*after, 0.0)))
    reward, steps, score = (found.measures[name] for name in ("reward", "steps", "score"))
    expected = stats.ttest_rel(after, before)
    bounds = expected.confidence_interval(0.95)
    assert (reward.pairs, reward.tasks, reward.first) == (6, 6, 3.5)
    assert reward.difference == pytest.approx(8 / 6)
    assert (reward.low, reward.high, reward.p) == pytest.approx((bounds.low, bounds.high, expected.pvalue))
    assert reward.p_corrected == pytest.approx(2 * expected.pvalue, rel=1e-6), "after Holm; steps never differ"
    assert (steps.difference, steps.low, steps.high, steps.p_corrected) == (0, 0, 0, 1)
    assert score.difference == pytest.approx(8 / 60)
    printed = " ".join(rendered(found).split())
    assert "paired t over tasks; p is corrected by Holm's method, the intervals are not." in printed
    assert "More than noise would give: score, reward." in printed
    assert "0 of 7: that shows no difference." in printed
    assert "A difference is more than noise if p is below 0.05" in printed


def test_repeats_of_a_task_are_one_case_and_one_case_has_no_interval(tmp_path: Path) -> None:
    first = rewarded(tmp_path / "one", (1.0, 1.0, 1.0, 1.0), repeats=2)
    found = held(first, rewarded(tmp_path / "two", (2.0, 4.0, 3.0, 6.0), repeats=2)).measures["reward"]
    assert (found.tasks, found.pairs) == (2, 4)
    assert found.p == pytest.approx(stats.ttest_1samp((1.5, 4.0), 0).pvalue), "each task by the mean of its repeats"
    single = held(rewarded(tmp_path / "a", (1.0,)), rewarded(tmp_path / "b", (3.0,))).measures["reward"]
    assert (single.difference, single.low, single.high, single.p, single.p_corrected) == (2.0, None, None, None, None)
    assert not single.is_significant


def test_measures_without_a_difference_are_no_cases_to_correct_for(tmp_path: Path) -> None:
    same = held(rewarded(tmp_path / "a", (1.0, 2.0)), rewarded(tmp_path / "b", (1.0, 2.0)))
    assert {each.p_corrected for each in same.measures.values()} == {1.0}
    printed = " ".join(rendered(same).split())
    assert "the intervals are not. More than noise would give: none." in printed


def test_measures_of_several_runs_are_corrected_for_all_of_them(tmp_path: Path) -> None:
    noise = (1.0, -1.0, 2.0, 0.5, 3.0)
    folders = [rewarded(tmp_path / str(by), [by + each * by for each in noise]) for by in (1, 2, 3)]
    alone = held(*folders[:2]).measures["reward"]
    two, three = (each.measures["reward"] for each in compare_all([read_folder(folder, FREE) for folder in folders]))
    assert alone.p is not None
    assert (two.p, three.p) == pytest.approx((alone.p, alone.p))
    assert two.p_corrected == pytest.approx(min(1.0, 4 * alone.p)), "two measures each of two runs, and steps"


def test_scores_that_only_say_solved_or_not_are_no_measure(tmp_path: Path) -> None:
    found = held(written(tmp_path / "one", [SOLVED, FAILED]), written(tmp_path / "two", [FAILED, FAILED]))
    assert found.measures == {}
    assert "Measured by the environment" not in rendered(found)


def test_a_run_played_again_shows_no_difference(asked: Path, tmp_path: Path) -> None:
    found = held(asked, toy_run(tmp_path / "again", "automanual", seed=3))
    assert (found.overall.gained, found.overall.lost, found.overall.p) == (0, 0, 1.0)
    assert found.settings == ()
    assert "A and B solved the same 10 of 12: that shows no difference" in " ".join(rendered(found).split())


def test_a_small_difference_may_be_noise(tmp_path: Path) -> None:
    first = written(tmp_path / "one", [SOLVED] * 20 + [FAILED] * 20)
    second = written(tmp_path / "two", [SOLVED] * 18 + [FAILED] * 2 + [SOLVED] * 7 + [FAILED] * 13)
    (verdict,) = result_lines(held(first, second), "B")
    assert (
        verdict == "B solved 5 more of 40 (+12.5 points, -3.1 to 27.0; McNemar p = 0.18): this difference may be noise."
    )


def test_a_great_difference_is_more_than_noise(tmp_path: Path) -> None:
    found = held(written(tmp_path / "one", [FAILED] * 12), written(tmp_path / "two", [SOLVED] * 9 + [FAILED] * 3))
    (verdict,) = result_lines(found, "B")
    assert verdict.startswith("B solved 9 more of 12 (+75.0 points, ")
    assert verdict.endswith("McNemar p = 0.0039): more than noise would give.")


def test_with_repeats_tasks_are_what_is_swapped(tmp_path: Path) -> None:
    """Two tasks that always go one way are two cases, whatever McNemar makes of twelve pairs."""
    first = written(tmp_path / "one", [FAILED] * 12, repeats=6)
    found = held(first, written(tmp_path / "two", [SOLVED] * 12, repeats=6))
    assert (found.overall.tasks, found.overall.pairs) == (2, 12)
    assert found.overall.p == pytest.approx(0.5)
    assert not found.overall.is_significant
    printed = rendered(found)
    assert "Test: sign flips over tasks, exact; p is corrected by Holm's method" in printed
    assert "fetch/0 repeat 5" not in printed.split("Solved by B only")[0]
    assert "this difference may be noise" in printed


def test_fewer_repeats_leave_the_others_without_a_pair(tmp_path: Path) -> None:
    found = held(written(tmp_path / "one", [SOLVED] * 6, repeats=2), written(tmp_path / "two", [FAILED] * 3))
    assert found.overall.pairs == 3
    assert found.only_first == ("fetch/0 (repeat 1)", "fetch/1 (repeat 1)", "fetch/2 (repeat 1)")


def test_what_is_broken_or_not_run_is_distinguished_and_may_turn_the_verdict(tmp_path: Path) -> None:
    first = written(tmp_path / "one", [SOLVED] * 10)
    second = written(tmp_path / "two", [SOLVED] * 3 + [BROKEN] * 4 + [None] * 3)
    found = held(first, second)
    assert (found.second.broken, found.second.not_run) == (4, 3)
    assert found.overall.lost == 7
    assert found.overall.is_significant
    assert found.played is not None
    assert (found.played.pairs, found.played.lost) == (3, 0)
    assert all(each.unplayed for each in found.changed)
    printed = rendered(found)
    assert "of A 0 broken and 0 not run, of B 4 broken and 3 not run" in printed
    assert "The result depends on them" in printed
    assert "fetch/9 (not run)" in printed


def test_runs_of_other_environments_or_tasks_are_refused(tmp_path: Path) -> None:
    first = written(tmp_path / "one", [SOLVED])
    other = written(tmp_path / "two", [SOLVED], env="textcraft")
    with pytest.raises(
        errors.BadArgument, match=r"plays toy and .* plays textcraft; only runs of the same environment"
    ):
        held(first, other)
    later = tmp_path / "later"
    with closing(Run.create(later, Config(planner="naive", env="toy", actions=9), [])):
        pass
    with pytest.raises(errors.BadArgument, match="no task in common"):
        held(first, later)


def test_what_is_doubtful_about_a_comparison_is_reported(tmp_path: Path) -> None:
    first = written(tmp_path / "one", [SOLVED, FAILED], learning=Learning())
    second = written(tmp_path / "two", [SOLVED, FAILED])
    with closing(Run.open(first, to_play=True)) as run:
        run.store.put("task/1/restart/1", "outcome", 0, Ending(outcome=SOLVED).model_dump(mode="json"))
    building, contradicts = held(first, second).warnings
    assert "is a building run" in building
    assert "contradicts itself: fetch/1: the outcome is direct_success, the verdict beside it not solved" in contradicts


def test_several_runs_are_compared_with_the_first_and_corrected_for_being_several(tmp_path: Path) -> None:
    runs = [
        read_folder(written(tmp_path / name, endings), FREE)
        for name, endings in {
            "one": [FAILED] * 8,
            "two": [SOLVED] * 6 + [FAILED] * 2,
            "three": [SOLVED] * 2 + [FAILED] * 6,
        }.items()
    ]
    two, three = compare_all(runs)
    assert (two.overall.p, two.overall.p_corrected) == pytest.approx((2 / 64, 4 / 64))
    assert not two.overall.is_significant
    assert three.overall.p_corrected == three.overall.p == 0.5
    assert "McNemar p = 0.062 after Holm" in rendered(two)


@pytest.mark.parametrize("width", [80, 110])
def test_every_line_of_the_tables_fits(stored: Path, asked: Path, width: int) -> None:
    lines = rendered(held(asked, stored), width).splitlines()
    assert max(len(line) for line in lines if line and line[0] in "┏┡└│") <= width
    assert not any("…" in line for line in lines)


def test_the_command_ends_with_one_object(tmp_path: Path) -> None:
    first, second = written(tmp_path / "one", [SOLVED] * 3), written(tmp_path / "two", [FAILED] * 3)
    finished = planbook("compare", first, second, "--json")
    assert finished.returncode == 0, finished.stderr
    (compared,) = result(finished)["comparisons"]
    assert compared["overall"]["lost"] == 3
    assert "B solved 3 fewer of 3" in finished.stderr
    plain = planbook("compare", first, second)
    assert "B solved 3 fewer of 3" in plain.stdout
    assert planbook("compare", first).returncode == errors.BAD_INPUT
    assert planbook("compare", first, first).returncode == errors.BAD_INPUT


def test_a_plan_among_the_settings_is_shown_in_short(tmp_path: Path) -> None:
    written(tmp_path / "a", [SOLVED])
    written(tmp_path / "b", [FAILED], planner_options={"code": PLAN})
    printed = rendered(held(tmp_path / "a", tmp_path / "b"), width=200)
    (line,) = (line for line in printed.splitlines() if "planner_options.code" in line)
    assert "in B: for box in boxes: agent.open(box) for box in boxes: ... (646 characters, SHA-256 " in line
