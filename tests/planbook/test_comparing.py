"""`planbook compare`, on played runs of the toy environment, and on runs whose endings the test writes."""

import shutil
from collections.abc import Sequence
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from scipy import stats  # type: ignore[import-untyped]

from planbook import errors
from planbook.compare import RunComparison, compare, compare_all
from planbook.compare.differences import solved_difference
from planbook.compare.rendering import comparison_parts, result_lines
from planbook.compare.settings import abridged
from planbook.config import Config, LearningSettings
from planbook.console import SafeConsole
from planbook.envs import Verdict
from planbook.planner import Ending, Outcome
from planbook.results import read_folder
from planbook.results.rows import EpisodeResult
from planbook.runs import EpisodeEntry, Run
from planbook.spending import load_pricing, spent_so_far
from planbook.terminal import print_parts
from tests.command import ROOT
from tests.flows import invoke, refusal, succeed, write_scripted_model
from tests.rows import BROKEN, FAILED, SOLVED, fetch, toy_run, write_run

FREE = load_pricing(None)
PLAN = "for box in boxes:\n    agent.open(box)\n" * 17


def compared(first: Path, second: Path) -> RunComparison:
    return compare(read_folder(first, FREE), read_folder(second, FREE))


def printed(comparison: RunComparison, width: int = 110) -> str:
    out = SafeConsole(width=width, file=StringIO())
    print_parts(out, comparison_parts({"B": comparison}, "A"))
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


@pytest.fixture(scope="module")
def procedures_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that executes stored procedures, on more tasks than the other run."""
    return toy_run(tmp_path_factory.mktemp("runs") / "stored", "procedures", 8)


@pytest.fixture(scope="module")
def model_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that asks a model, with another seed."""
    return toy_run(tmp_path_factory.mktemp("runs") / "asked", "automanual", 6, seed=3)


def test_two_real_runs_are_paired_by_task_and_seed(procedures_run: Path, model_run: Path) -> None:
    found = compared(procedures_run, model_run)
    assert found.overall.pairs == found.overall.tasks == 12
    assert found.only_first == ("fetch/6", "fetch_two/6", "fetch/7", "fetch_two/7")
    assert found.only_second == ()
    assert {each.name for each in found.settings} >= {"planner", "seed", "models.default", "selection.seeds"}
    assert sum(each.pairs for each in found.by_type.values()) == 12
    assert [each.change for each in found.changed] == ["lost"] * found.overall.lost
    assert found.overall.lost > 0
    assert all(each.cause == "unfinished" for each in found.changed)
    assert found.costs["model calls"].first.value == 0
    text = printed(found)
    assert "for costs: over tasks, if each run solved at least 5. " in text
    assert "Only in A, and not counted below (4): fetch/6" in text
    assert text.splitlines()[0] == f"A: {procedures_run}"


def test_a_cost_is_that_of_the_whole_run_divided_by_its_solved_tasks(procedures_run: Path, model_run: Path) -> None:
    found = compared(model_run, procedures_run)
    with closing(Run.open(model_run)) as run:
        spent = spent_so_far(run.store.events(), FREE)
    solved = found.first.solved
    for name, total in (("model calls", spent.calls), ("tokens", spent.tokens), ("actions", spent.actions)):
        cost = found.costs[name].first
        assert cost.value == pytest.approx(total / solved, abs=1e-5)
        assert 0 < (cost.low or 0) <= (cost.value or 0) <= (cost.high or 0)
        swapped = compared(procedures_run, model_run).costs[name]
        assert (swapped.first, swapped.second) == (found.costs[name].second, cost)
    assert found.costs.keys() == {"model calls", "tokens", "actions"}


def reward_run(folder: Path, rewards: Sequence[float], repeats: int = 1, broken: int = 0) -> Path:
    """Write unsolved episodes with these rewards and a tenth of them as scores. The last ``broken`` ones are broken."""
    tasks = [fetch(number) for number in range(len(rewards) // repeats)]
    config = Config(planner="procedures", env="toy", actions=9, repeats=repeats)
    with closing(Run.create(folder, config, tasks)) as run:
        for entry, reward in zip(run.entries(), rewards, strict=True):
            outcome = BROKEN if entry.index >= len(rewards) - broken else FAILED
            verdict, measures = Verdict(False, reward / 10), {"reward": reward, "steps": 5.0}
            ending = Ending(outcome=outcome, cause=outcome.value, verdict=verdict, measures=measures)
            run.store.put(entry.path, "outcome", 0, ending.model_dump(mode="json"))
    return folder


@given(st.lists(st.lists(st.sampled_from((SOLVED, FAILED)), min_size=2, max_size=6), min_size=1))
def test_a_difference_in_solved_tasks_always_counts_as_a_test_in_the_correction(tasks: list[list[Outcome]]) -> None:
    pairs = []
    for number, outcomes in enumerate(tasks):
        for repeat, both in enumerate(zip(outcomes[::2], outcomes[1::2], strict=False)):
            entry = EpisodeEntry(index=number, task=fetch(number), repeat=repeat)
            first, second = (EpisodeResult(entry, ending=Ending(outcome=outcome)) for outcome in both)
            pairs.append((first, second))
    assert solved_difference(pairs).is_tested


def test_measures_of_environments_are_compared_by_a_paired_t_test(tmp_path: Path) -> None:
    before, after = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), (2.0, 4.0, 3.5, 6.0, 7.0, 6.5)
    found = compared(
        reward_run(tmp_path / "one", (*before, 9.0), broken=1), reward_run(tmp_path / "two", (*after, 0.0))
    )
    reward, steps, score = (found.measures[name] for name in ("reward", "steps", "score"))
    expected = stats.ttest_rel(after, before)
    bounds = expected.confidence_interval(0.95)
    assert (reward.pairs, reward.tasks, reward.first) == (6, 6, 3.5)
    assert reward.difference == pytest.approx(8 / 6)
    assert (reward.low, reward.high, reward.p) == pytest.approx((bounds.low, bounds.high, expected.pvalue))
    assert reward.p_corrected == pytest.approx(2 * expected.pvalue, rel=1e-6), "after Holm; steps never differ"
    assert (steps.difference, steps.low, steps.high, steps.p_corrected) == (0, 0, 0, 1)
    assert score.difference == pytest.approx(8 / 60)
    text = " ".join(printed(found).split())
    assert "paired t over tasks; p is corrected by Holm's method over all measures" in text
    assert "Statistically significant: score, reward." in text
    assert "0 of the 7 episodes: no difference." in text
    assert "A difference is significant if p is below 0.05" in text


def test_a_measure_is_averaged_over_repeats_and_a_single_task_has_no_interval(tmp_path: Path) -> None:
    first = reward_run(tmp_path / "one", (1.0, 1.0, 1.0, 1.0), repeats=2)
    found = compared(first, reward_run(tmp_path / "two", (2.0, 4.0, 3.0, 6.0), repeats=2)).measures["reward"]
    assert (found.tasks, found.pairs) == (2, 4)
    assert found.p == pytest.approx(stats.ttest_1samp((1.5, 4.0), 0).pvalue), "each task by the mean of its repeats"
    single = compared(reward_run(tmp_path / "a", (1.0,)), reward_run(tmp_path / "b", (3.0,))).measures["reward"]
    assert (single.difference, single.low, single.high, single.p, single.p_corrected) == (2.0, None, None, None, None)
    assert not single.is_significant


def test_equal_runs_show_no_difference(tmp_path: Path) -> None:
    same = compared(reward_run(tmp_path / "a", (1.0, 2.0)), reward_run(tmp_path / "b", (1.0, 2.0)))
    assert (same.overall.p, same.settings) == (1.0, ())
    assert {each.p_corrected for each in same.measures.values()} == {1.0}
    assert "Statistically significant: none." in printed(same)


def test_p_values_of_measures_are_corrected_for_all_comparisons(tmp_path: Path) -> None:
    noise = (1.0, -1.0, 2.0, 0.5, 3.0)
    folders = [reward_run(tmp_path / str(by), [by + each * by for each in noise]) for by in (1, 2, 3)]
    alone = compared(*folders[:2]).measures["reward"]
    two, three = (each.measures["reward"] for each in compare_all([read_folder(folder, FREE) for folder in folders]))
    assert alone.p is not None
    assert (two.p, three.p) == pytest.approx((alone.p, alone.p))
    assert two.p_corrected == pytest.approx(min(1.0, 4 * alone.p)), "two runs with two measures each"


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        (
            [SOLVED] * 20 + [FAILED] * 20,
            [SOLVED] * 18 + [FAILED] * 2 + [SOLVED] * 7 + [FAILED] * 13,
            "B solved 5 more of the 40 episodes (+12.5 points, -3.1 to 27.0; McNemar p = 0.18): this difference may be "
            "noise.",
        ),
        (
            [FAILED] * 12,
            [SOLVED] * 9 + [FAILED] * 3,
            "B solved 9 more of the 12 episodes (+75.0 points, +32.3 to 96.3; McNemar p = 0.0039): statistically "
            "significant.",
        ),
    ],
    ids=["small", "large"],
)
def test_the_result_says_whether_a_difference_may_be_noise(
    tmp_path: Path, first: list[Outcome], second: list[Outcome], result: str
) -> None:
    found = compared(write_run(tmp_path / "one", first), write_run(tmp_path / "two", second))
    assert list(result_lines(found, ("A", "B"))) == [result]
    assert found.measures == {}, "scores of 0 and 1 say no more than solved or not"


def test_repeats_of_a_task_are_tested_as_one_unit(tmp_path: Path) -> None:
    """Two tasks with the same change in every repeat are two units, although there are twelve pairs of episodes."""
    first = write_run(tmp_path / "one", [FAILED] * 12, repeats=6)
    found = compared(first, write_run(tmp_path / "two", [SOLVED] * 12, repeats=6))
    assert (found.overall.tasks, found.overall.pairs) == (2, 12)
    assert found.overall.p == pytest.approx(0.5)
    assert not found.overall.is_significant
    text = printed(found)
    assert "Test: sign flips over tasks, exact; p is corrected by Holm's method" in text
    assert "fetch/0 repeat 5" not in text.split("Solved only by B")[0]
    assert "this difference may be noise" in text


@pytest.mark.parametrize(("tasks", "outcome"), [(6, SOLVED), (6, FAILED), (2, SOLVED)])
def test_repeats_that_all_agree_do_not_narrow_the_interval(tmp_path: Path, tasks: int, outcome: Outcome) -> None:
    def interval(repeats: int) -> tuple[float, float]:
        folder, count = tmp_path / str(repeats), tasks * repeats
        first = write_run(folder / "one", [FAILED] * count, repeats)
        overall = compared(first, write_run(folder / "two", [outcome] * count, repeats)).overall
        return overall.low, overall.high

    low, high = interval(1)
    assert low < high
    assert interval(3) == (low, high)


def test_a_run_with_two_episodes_of_the_same_repeat_is_refused(tmp_path: Path, procedures_run: Path) -> None:
    toy_run(tmp_path / "asked", "automanual", 8)
    invoke("export", procedures_run, tmp_path / "asked", "--out", tmp_path / "both.jsonl")
    invoke("import", tmp_path / "both.jsonl", "--out", tmp_path / "both")
    assert "both has two episodes of fetch/0, from different runs" in refusal(
        "compare", procedures_run, tmp_path / "both"
    )


def test_repeats_that_only_one_run_has_are_not_paired(tmp_path: Path) -> None:
    found = compared(write_run(tmp_path / "one", [SOLVED] * 6, repeats=2), write_run(tmp_path / "two", [FAILED] * 3))
    assert found.overall.pairs == 3
    assert found.only_first == ("fetch/0 (repeat 1)", "fetch/1 (repeat 1)", "fetch/2 (repeat 1)")


def test_broken_and_not_run_episodes_are_counted_and_may_change_the_result(tmp_path: Path) -> None:
    first = write_run(tmp_path / "one", [SOLVED] * 10)
    second = write_run(tmp_path / "two", [SOLVED] * 3 + [BROKEN] * 4 + [None] * 3)
    found = compared(first, second)
    assert (found.second.broken, found.second.not_run) == (4, 3)
    assert found.overall.lost == 7
    assert found.overall.is_significant
    assert found.played is not None
    assert (found.played.pairs, found.played.lost) == (3, 0)
    text = printed(found)
    assert "Counted as not solved: 0 broken and 0 not run in A, 4 broken and 3 not run in B. Without" in text
    assert "The result depends on them" in text
    assert "fetch/9 (not run)" in text


def test_a_comparison_without_any_played_pair_says_so(tmp_path: Path) -> None:
    first, second = write_run(tmp_path / "one", [BROKEN] * 2), write_run(tmp_path / "two", [None, SOLVED])
    text = printed(compared(first, second))
    assert "Counted as not solved: 2 broken and 0 not run in A, 0 broken and 1 not run in B" in text
    assert "Without these pairs: nothing is left to compare." in text


def test_runs_of_different_environments_or_tasks_are_refused(tmp_path: Path) -> None:
    first = write_run(tmp_path / "one", [SOLVED])
    other = write_run(tmp_path / "two", [SOLVED], env="textcraft")
    with pytest.raises(errors.BadArgument, match="no task in common; play the same tasks and seeds of the same env"):
        compared(first, other)
    later = tmp_path / "later"
    with closing(Run.create(later, Config(planner="naive", env="toy", actions=9), [])):
        pass
    with pytest.raises(errors.BadArgument, match="no task in common"):
        compared(first, later)
    assert invoke("compare", first, first).returncode == errors.BAD_INPUT


def test_building_runs_and_contradictions_give_warnings(tmp_path: Path) -> None:
    first = write_run(tmp_path / "one", [SOLVED, FAILED], learning=LearningSettings())
    second = write_run(tmp_path / "two", [SOLVED, FAILED])
    with closing(Run.open(first, to_play=True)) as run:
        run.store.put("task/1/restart/1", "outcome", 0, Ending(outcome=SOLVED).model_dump(mode="json"))
    building, contradiction = compared(first, second).warnings
    assert "is a run of `planbook build`" in building
    assert (
        "contradicts itself: fetch/1: the outcome is direct_success, but the verdict says not solved" in contradiction
    )


def test_several_runs_are_compared_with_the_first_and_their_p_values_corrected(tmp_path: Path) -> None:
    solved = {"one": 0, "two": 6, "three": 2}
    folders = [write_run(tmp_path / name, [SOLVED] * n + [FAILED] * (8 - n)) for name, n in solved.items()]
    two, three = compare_all([read_folder(folder, FREE) for folder in folders])
    assert (two.overall.p, two.overall.p_corrected) == pytest.approx((2 / 64, 4 / 64))
    assert not two.overall.is_significant
    assert three.overall.p_corrected == three.overall.p == 0.5
    assert "McNemar p = 0.062 after Holm" in printed(two)
    text = invoke("compare", *folders).printed
    assert (text.count("Test: McNemar, exact; p is corrected"), text.count("B solved 6"), text.count("C solved 2")) == (
        1,
        1,
        1,
    )


def test_tables_fit_a_narrow_terminal(procedures_run: Path, model_run: Path) -> None:
    lines = printed(compared(model_run, procedures_run), 80).splitlines()
    assert max(len(line) for line in lines if line and line[0] in "┏┡└│") <= 80
    assert not any("…" in line for line in lines)


def test_a_long_setting_is_shortened_and_an_empty_one_is_quoted(tmp_path: Path) -> None:
    assert abridged("") == '""'
    write_run(tmp_path / "a", [SOLVED])
    write_run(tmp_path / "b", [FAILED], planner_options={"code": PLAN})
    text = printed(compared(tmp_path / "a", tmp_path / "b"), width=200)
    (line,) = (line for line in text.splitlines() if "planner_options.code" in line)
    assert " not set; in B: for box in boxes: agent.open(box) for box in boxes: ... (646 characters, SHA-256 " in line


METHOD = """
from planbook.planner import Method, Options, Prompts

PROMPTS = Prompts.of(plan="{{ goal }} Write Python.")


def own(episode, options):
    episode.stream("planner", PROMPTS["plan"], goal=episode.task.goal)


method = Method(own, Options, "one plan", ("planner",), streams=True)
"""


def test_inputs_that_changed_between_runs_are_named(tmp_path: Path) -> None:
    """A method's file, a scripted model and a library are edited between two runs."""
    library = Path(shutil.copytree(ROOT / "planbook/manuals/toy", tmp_path / "library" / "toy"))
    method, model = tmp_path / "own.py", write_scripted_model(tmp_path, "agent.open('box_1')")
    method.write_text(METHOD)
    for name in ("before", "same", "after"):
        if name == "after":
            (library / "procedures" / "fetch.py").unlink()
            (library / "manual.md").write_text("# Boxes\n")
            method.write_text(METHOD.replace("Write", "Reply with"))
            write_scripted_model(tmp_path, "agent.open('box_2')")
        shared = ("run", "--env", "toy", "--split", "all:2", "--library", library.parent)
        asked = ("--planner", f"{method}:method", "--model", model)
        succeed(*shared, *asked, "--out", tmp_path / "asked" / name)
        succeed(*shared, "--planner", "procedures", "--out", tmp_path / "stored" / name)
    own = ["the method's file own.py", "knowledge procedures", "knowledge manual.md", "model scripted:model.py:answer"]
    for method_name, changed in (("asked", own), ("stored", own[1:2])):
        before, same, after = (tmp_path / method_name / name for name in ("before", "same", "after"))
        assert compared(before, same).settings == ()
        differences = compared(before, after).settings
        assert [each.name for each in differences] == changed
        assert {each.name for each in differences if not each.first.startswith("SHA-256 ")} <= {own[2]}
        (row,) = invoke("stats", before, after, "--by", "planner", "--json").result["rows"]
        assert sorted(row["differ"]) == sorted(changed)
    across = compared(tmp_path / "asked" / "before", tmp_path / "stored" / "after").settings
    assert [each.name for each in across if each.first.startswith("SHA-256 ")] == ["knowledge procedures"]


def test_inputs_with_which_a_run_was_resumed_are_compared_too(tmp_path: Path) -> None:
    helper = Path(shutil.copytree(ROOT / "planbook/manuals/toy", tmp_path / "library/toy")) / "helpers/boxes.py"
    play = ("run", "--env", "toy", "--split", "all:2", "--library", tmp_path / "library")
    for name in ("changed", "restored", "whole"):
        budget = "actions=99" if name == "whole" else "actions=2"
        assert invoke(*play, "--out", tmp_path / name, "--budget", budget).returncode in (0, 4)
    original = helper.read_text()
    helper.write_text(original + "\n")
    assert invoke("run", "--resume", tmp_path / "restored", "--allow-changed", "--budget", "actions=1").returncode == 4
    succeed("run", "--resume", tmp_path / "changed", "--allow-changed", "--budget", "actions=99")
    helper.write_text(original)
    succeed("run", "--resume", tmp_path / "restored", "--allow-changed", "--budget", "actions=99")
    assert compared(tmp_path / "whole", tmp_path / "restored").settings == (), "nothing was played with the change"
    (changed,) = compared(tmp_path / "whole", tmp_path / "changed").settings
    assert (changed.name, changed.first.count(","), changed.second.count(",")) == ("knowledge helpers", 0, 1)
    assert changed.first.removeprefix("SHA-256 ") in changed.second
    (row,) = invoke("stats", tmp_path / "whole", tmp_path / "changed", "--by", "env", "--json").result["rows"]
    assert row["differ"] == ["knowledge helpers"]


def test_a_default_that_was_given_is_no_other_setting(tmp_path: Path) -> None:
    plain = write_run(tmp_path / "plain", [SOLVED])
    given = write_run(tmp_path / "given", [SOLVED], sampling={"default": {}, "planner": {"temperature": 0}})
    warm = write_run(tmp_path / "warm", [SOLVED], sampling={"planner": {"temperature": 0.7, "stop": ["END"]}})
    assert compared(plain, given).settings == ()
    assert invoke("stats", plain, given, "--by", "env", "--json").result["rows"][0]["differ"] == []
    assert [(each.name, each.first, each.second) for each in compared(plain, warm).settings] == [
        ("sampling.planner.temperature", "-", "0.7"),
        ("sampling.planner.stop", "-", "END"),
    ]
    unset = write_run(tmp_path / "unset", [SOLVED], sampling={"planner": {"temperature": None}})
    assert [(each.name, each.second) for each in compared(plain, unset).settings] == [
        ("sampling.planner.temperature", "null")
    ]
    hot = write_run(tmp_path / "hot", [SOLVED], sampling={"default": {"temperature": 1}})
    (temperature,) = compared(plain, hot).settings
    assert (temperature.name, temperature.first, temperature.second) == ("sampling.default.temperature", "0.0", "1.0")
    graph, named = (
        write_run(tmp_path / f"graph {name}", [SOLVED], planner="agentkit", planner_options={"graph": name})
        for name in (None, "general")
    )
    assert compared(graph, named).settings == ()
