"""The cost of building, the coverage of rules, and learning curves: test runs with `--after N`, which use only what
was known after N training tasks."""

import shutil
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from planbook.knowledge import learned_state
from planbook.learning.coverage import coverage_lines, coverage_of
from planbook.report.charts import Chart, charts
from planbook.results import read_folder, read_run
from planbook.results.learning_cost import BuildingState, cost_line, state_after
from planbook.rules import Citation
from planbook.runs import Run
from planbook.spending import load_pricing, spent_so_far
from tests.flows import BUILD, asks, invoke, prompt, scripted, succeed

TOY = ("--env", "toy")
SMALL = ("--tasks-per-type", 2, "--solved-after", 1)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `planbook build` of four tasks, two of each type. The second task of each type is skipped."""
    folder = tmp_path_factory.mktemp("curves") / "built"
    succeed(*BUILD, *SMALL, "--out", folder)
    return folder


@pytest.fixture(scope="module")
def curve(library: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a learning curve, and its printed table."""
    folder = tmp_path_factory.mktemp("curves") / "curve"
    finished = succeed("test", *TOY, "--library", library, "--model", "none", "--after", "4,0,1", "--out", folder)
    return folder, finished.stdout


def test_each_number_of_building_tasks_has_its_own_run(curve: tuple[Path, str], library: Path) -> None:
    folder, _ = curve
    command = ("test", *TOY, "--library", library, "--model", "none", "--after", "0,1,4", "--out", folder, "--json")
    found = invoke(*command).result
    assert [row["name"] for row in found["rows"]] == ["after=0", "after=1", "after=4"]
    assert {path.name for path in folder.iterdir()} == {"after-0", "after-1", "after-4"}
    none, one, every = found["rows"]
    assert none["failures"] == {"no_plan": 12}
    assert one["by_type"] == {"fetch": [0, 6], "fetch_two": [6, 6]}
    assert one["solved"] < every["solved"]
    with closing(Run.open(folder / "after-1")) as run:
        assert (run.config.after, run.config.library) == (1, str(library.resolve()))
    assert found["table"] is None


def test_a_curve_has_the_cost_of_building_at_each_point(curve: tuple[Path, str], library: Path) -> None:
    steps = read_folder(library).building_states
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in curve[1].splitlines() if "│" in line]
    learning = {row[0]: row[1:3] for row in rows if len(row) == 7 and row[-1] != "0"}
    assert learning["after=0"] == ["0", "0"]
    for after in (1, 4):
        step = steps[after - 1]
        assert learning[f"after={after}"] == [f"{step.calls:,}", f"{step.tokens:,}"]


@pytest.mark.usefixtures("server")
def test_the_money_of_a_curve_is_computed_from_the_given_prices(tmp_path: Path) -> None:
    prices, built = tmp_path / "prices.json", tmp_path / "built"
    prices.write_text('{"models": {"served": {"input": 1000, "output": 1000}}}')
    model = ("--model", "openai:served", "--types", "fetch")
    succeed("build", *TOY, *model, "--tasks-per-type", 1, "--out", built)
    options = ("--library", built, *model, "--after", "0,1", "--seeds", "0", "--out", tmp_path / "curve")
    rows = invoke("test", *TOY, *options, "--prices", prices, "--json").result["rows"]
    assert [row["money"] for row in rows] == [pytest.approx(row["tokens"] / 1000) for row in rows]
    assert rows[1]["money"] > 0


def test_the_cost_of_building_is_what_the_run_spent(library: Path) -> None:
    with closing(Run.open(library)) as run:
        steps, spent = read_run(run).building_states, spent_so_far(run.store.events(), load_pricing(None))
        assert any("verification" in event.scope for event in run.store.events(kind="act"))
    last = steps[-1]
    assert (last.calls, last.tokens, last.actions) == (spent.calls, spent.tokens, spent.actions)
    assert [each.tasks for each in steps] == [1, 2, 3, 4]
    assert last.procedures == 2
    for before, after in pairwise(steps):
        assert all(getattr(before, name) <= getattr(after, name) for name in ("calls", "tokens", "actions"))
    assert state_after(steps, 0) == BuildingState(tasks=0)
    assert state_after(steps, 2) == steps[1]
    first = next(each for each in steps if each.procedures == 2)
    assert cost_line(steps, 2) == (
        f"Procedures for 2 of 2 task types after {first.tasks} tasks: {first.calls:,} calls, {first.tokens:,} tokens "
        f"and {first.actions:,} actions until then."
    )


def test_formulating_is_counted_separately(library: Path, tmp_path: Path) -> None:
    run = shutil.copytree(library, tmp_path / "run")  # the other tests of this file read the library
    before = read_folder(run)
    formulated = succeed("formulate", run)
    assert "cited or led to a success process (rule with a working solution) for: fetch_two." in formulated.printed
    after = read_folder(run)
    assert after.building_states == before.building_states
    assert after.cost.calls == before.cost.calls + 1


def test_planners_have_the_manual_only_at_the_point_for_which_it_was_written(library: Path, tmp_path: Path) -> None:
    run = shutil.copytree(library, tmp_path / "run")
    succeed("formulate", run)
    options = ("--split", "all:1", "--library", run, "--model", scripted(), "--after", "0,4", "--out")
    succeed("test", *TOY, *options, tmp_path / "curve")
    plans = [prompt(asks(tmp_path / "curve" / f"after-{number}", "planner")[0]) for number in (0, 4)]
    assert ["# Manual of" in plan for plan in plans] == [False, True]


@pytest.mark.parametrize(
    ("folder", "options", "warning"),
    [
        ("", (), "2 of the 5 tasks were used to learn the library {}; their results say nothing about new tasks."),
        ("learned", (), "2 of the 5 tasks were used to learn the library {}; their"),
        ("", ("--after", 1), "1 of the 5 tasks was used to learn the library {}; its"),
        ("", ("--after", 0), ""),
    ],
)
def test_tasks_that_were_learned_from_are_named(
    folder: str, options: tuple[object, ...], warning: str, library: Path, tmp_path: Path
) -> None:
    with closing(Run.open(library)) as run:
        ids = [entry.task.id for entry in run.entries()]
    tasks = [word for task in (*ids, "fetch/1000") for word in ("--task", task)]
    used = ("--library", library / folder, "--model", "none", *options)
    tested = invoke("test", *TOY, *tasks, *used, "--out", tmp_path / "test")
    assert warning.format(library / folder) in tested.stderr
    assert bool(warning) == ("used to learn" in tested.stderr)


def test_the_same_command_continues_a_stopped_curve(library: Path, tmp_path: Path) -> None:
    tasks = ("--types", "fetch", "--seeds", "0-2", "--library", library, "--after", "0,4")
    command = ("test", *TOY, "--model", scripted(), *tasks, "--out", tmp_path / "curve", "--json")
    stopped = invoke(*command, "--budget", "calls=1")
    assert stopped.returncode == 4
    assert stopped.result["rows"] == [], "the figures of an unfinished run say nothing about its cost"
    remedy = f"continue with the same command and --out {tmp_path / 'curve'} and a larger --budget."
    assert f"Not finished at 0 training tasks, and not begun at 4; {remedy}" in stopped.printed
    assert "Stopped: the budget of 1 call is used up. Not finished" in stopped.printed
    one = invoke(*command[:-3], "--after", 1, "--out", tmp_path / "one", "--budget", "calls=1")
    assert f"used up. Resume with: planbook run --resume {tmp_path / 'one'} --budget calls=" in one.printed
    finished = succeed(*command, "--budget", "calls=99")
    rows = finished.result["rows"]
    assert [(row["tasks"], "not_run" in row["failures"]) for row in rows] == [(3, False), (3, False)]
    assert all(row["model_calls"] >= 3 for row in rows)


def draw_charts(folders: list[Path]) -> list[Chart]:
    with ExitStack() as opened:
        runs = [opened.enter_context(closing(Run.open(folder))) for folder in folders]
        return charts([read_run(run, folder.name) for run, folder in zip(runs, folders, strict=True)])


def test_the_report_draws_the_tests_of_one_library_as_one_line(curve: tuple[Path, str]) -> None:
    folders = {after: curve[0] / f"after-{after}" for after in (0, 1, 4)}
    chart = draw_charts([folders[4], folders[0], folders[1]])[-1]
    assert chart["title"] == "Success by training tasks"
    (line,) = chart["series"]
    assert (line["name"], [at for at, _ in line["points"]]) == ("built, procedures, all", [0, 1, 4])
    solved = []
    for folder in folders.values():
        with closing(Run.open(folder)) as run:
            endings: list[Any] = [event.body for event in run.store.events("task", "outcome")]
            solved.append(sum("success" in ending["outcome"] for ending in endings) / len(endings))
    assert [value for _, value in line["points"]] == pytest.approx(solved)
    assert solved == sorted(solved)
    assert "Success by training tasks" not in [chart["title"] for chart in draw_charts([folders[4]])]


def test_coverage_names_types_without_rules_and_rules_that_are_never_cited(library: Path) -> None:
    finished = invoke("rules", library, "coverage", "--json")
    found = finished.result["coverage"]
    assert found["missing"] == ["fetch_two"]
    assert "rule_0" not in found["never_cited"]
    lines = [
        "No solved episode cited or led to a success process (rule with a working solution) for: fetch_two.",
        f"Never cited: {', '.join(found['never_cited'])}.",
    ]
    assert finished.result["text"] == "\n".join(lines)
    built = invoke(*BUILD, *SMALL, "--out", library)
    assert " ".join(lines) in built.printed
    assert "Procedures for 2 of 2 task types" in built.printed


def test_a_type_has_a_success_process_if_its_solved_episode_led_to_one_or_cited_one(library: Path) -> None:
    with closing(Run.open(library)) as run:
        state = learned_state(run)
        types = {entry.path: entry.task.type for entry in run.entries()}
        (first,) = [citation for citation in state.citations if types[citation.episode] == "fetch"]
        (other,) = [citation for citation in state.citations if types[citation.episode] == "fetch_two"]

        def missing(*citations: Citation) -> tuple[str, ...]:
            return coverage_of(run, state.model_copy(update={"citations": citations})).missing

        assert first.solved
        assert missing(first, other) == ("fetch_two",)
        assert missing(first.model_copy(update={"solved": False}), other) == ("fetch_two", "fetch")
        citing = other.model_copy(update={"rule_ids": ("rule_2",)})
        assert missing(first, citing) == ()
        assert missing(first, citing.model_copy(update={"solved": False})) == ("fetch_two",)


def test_no_success_process_is_reported_missing_where_no_rules_are_learned(library: Path) -> None:
    with closing(Run.open(library)) as run:
        state = learned_state(run)
        assert run.config.learning is not None
        learning = run.config.learning.model_copy(update={"libraries_only": True})
        run.config = run.config.model_copy(update={"learning": learning})
        coverage = coverage_of(run, state)
        assert coverage.missing
        assert "success process" not in "".join(coverage_lines(run, coverage))


def test_coverage_ignores_ablated_parts_and_names_deleted_rules(library: Path) -> None:
    with closing(Run.open(library)) as run:
        state = learned_state(run)
        assert any("rule_1" in rule.builds_on for rule in state.knowledge.rules)
        kept = tuple(rule for rule in state.knowledge.rules if rule.id != "rule_1")
        deleted = state.model_copy(update={"knowledge": state.knowledge.model_copy(update={"rules": kept})})
        coverage = coverage_of(run, deleted)
        assert list(coverage_lines(run, coverage))[-1] == (
            "Cited by rules, but deleted or unknown: rule_1 (by rule_2)."
        )
        for without, lines in (((), 2), (("rules",), 0), (("types",), 1), (("cooperation", "types"), 0)):
            run.config = run.config.model_copy(update={"without": without})
            assert len(list(coverage_lines(run, coverage_of(run, state)))) == lines
