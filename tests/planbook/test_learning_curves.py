"""What building had cost, what its rules do not cover, and test runs after so many of its tasks."""

import shutil
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from planbook.knowledge import EVERYTHING, learned_in
from planbook.learning.cost import coverage_lines
from planbook.report.charts import Chart, charts
from planbook.results.learning_cost import Reached, cost_line, reached_after
from planbook.results.table import read_run
from planbook.runs import Run
from planbook.spending import prices_from, spent_so_far
from tests.command import planbook, result
from tests.reported import Page

TOY = ("--env", "toy")
MODEL = ("--model", "scripted:tests/toy_script.py:answer")
SMALL = ("--tasks-per-type", 2, "--solved-after", 1)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A building run of four tasks, the last two of which were left out, with its manual."""
    folder = tmp_path_factory.mktemp("curves") / "built"
    built = planbook("build", *TOY, *MODEL, *SMALL, "--out", folder)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def curve(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("curves") / "curve"
    finished = planbook("test", *TOY, "--library", library, "--model", "none", "--after", "4,0,1", "--out", folder)
    assert finished.returncode == 0, finished.stderr
    (folder.parent / "printed").write_text(finished.stdout)
    return folder


def test_each_number_of_building_tasks_is_a_run_of_its_own(curve: Path, library: Path) -> None:
    found = result(
        planbook("test", *TOY, "--library", library, "--model", "none", "--after", "0,1,4", "--out", curve, "--json")
    )
    assert [point["after"] for point in found["curve"]] == [0, 1, 4]
    assert {path.name for path in curve.iterdir()} == {"after-0", "after-1", "after-4"}
    none, one, all_of_them = (point["summary"] for point in found["curve"])
    assert none["failures"] == {"no_plan": 12}
    assert one["solved"] == one["by_type"]["fetch"][0] + one["by_type"]["fetch_two"][0] < all_of_them["solved"]
    with closing(Run.open(curve / "after-1")) as run:
        assert (run.config.after, run.config.library) == (1, str(library.resolve()))
    assert found["table"] is None


def test_a_curve_tells_what_building_had_cost_until_then(curve: Path, library: Path) -> None:
    cost = result(planbook("cost", library, "--json"))
    printed = (curve.parent / "printed").read_text()
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in printed.splitlines() if "│" in line]
    built = {row[0]: row[-4:] for row in rows if len(row) == 9}
    assert built["0"] == ["0", "0", "0", "0"]
    for after in (1, 4):
        reached = cost["after"][after - 1]
        assert built[str(after)] == [f"{reached[name]:,}" for name in ("calls", "tokens", "actions", "procedures")]


@pytest.mark.parametrize("after", ["5", "4,5"])
def test_more_building_tasks_than_the_run_has_are_refused(library: Path, tmp_path: Path, after: str) -> None:
    command = ("test", *TOY, "--library", library, "--model", "none", "--out", tmp_path / "run")
    refused = planbook(*command, "--after", after)
    assert refused.returncode == 2
    assert f"--after 5: {library} has 4 building tasks" in refused.stderr
    assert not (tmp_path / "run").exists()


def test_what_building_cost_adds_up_to_what_the_run_spent(library: Path) -> None:
    with closing(Run.open(library)) as run:
        cost, spent = read_run(run).building_cost(), spent_so_far(run.store.events(), prices_from(None))
        acts = [event.scope for event in run.store.events(kind="act")]
    last = cost.after[-1]
    assert (last.calls, last.tokens, last.actions) == (spent.calls, spent.tokens, spent.actions)
    assert [each.tasks for each in cost.after] == [1, 2, 3, 4]
    assert [each.procedures for each in cost.after][-1] == cost.task_types == 2
    for before, after in zip(cost.after, cost.after[1:], strict=False):
        assert (before.calls, before.tokens, before.actions) <= (after.calls, after.tokens, after.actions)
    assert any("verification" in scope for scope in acts)
    assert reached_after(cost, 0) == Reached(tasks=0)
    assert reached_after(cost, 2) == cost.after[1]
    first = next(each for each in cost.after if each.procedures == 2)
    assert cost_line(cost) == (
        f"Procedures for 2 of 2 task types after {first.tasks} tasks: {first.calls:,} calls, {first.tokens:,} tokens "
        f"and {first.actions:,} actions until then."
    )


def test_formulating_is_counted_by_itself(library: Path, tmp_path: Path) -> None:
    run = shutil.copytree(library, tmp_path / "run")  # the other tests of this file read the library
    before = result(planbook("cost", run, "--json"))
    assert planbook("formulate", run).returncode == 0
    finished = planbook("cost", run, "--json")
    after = result(finished)
    assert after["after"] == before["after"]
    assert (before["formulating_calls"], after["formulating_calls"]) == (0, 1)
    assert f"Formulating took 1 call and {after['formulating_tokens']:,} tokens more." in finished.stderr


@pytest.mark.deep
def test_a_curve_that_is_stopped_goes_on_with_the_same_command(library: Path, tmp_path: Path) -> None:
    command = ("test", *TOY, *MODEL, "--types", "fetch", "--seeds", "0-2", "--library", library, "--after", "0,4")
    stopped = planbook(*command, "--budget", "calls=1", "--out", tmp_path / "curve", "--json")
    assert stopped.returncode == 4
    assert [point["after"] for point in result(stopped)["curve"]] == [0]
    assert f"Not finished at 0 building tasks; the same command with --out {tmp_path / 'curve'}" in stopped.stderr
    finished = planbook(*command, "--budget", "calls=99", "--out", tmp_path / "curve", "--json")
    assert finished.returncode == 0
    points = [point["summary"] for point in result(finished)["curve"]]
    assert [(point["tasks"], "not_run" in point["failures"]) for point in points] == [(3, False), (3, False)]
    assert all(point["model_calls"] >= 3 for point in points)


def drawn(folders: list[Path]) -> list[Chart]:
    with ExitStack() as opened:
        runs = [opened.enter_context(closing(Run.open(folder))) for folder in folders]
        return charts([read_run(run, folder.name) for run, folder in zip(runs, folders, strict=True)])


def test_the_report_draws_tests_of_one_library_as_one_line(curve: Path, library: Path) -> None:
    chart = drawn([curve / "after-4", curve / "after-0", curve / "after-1"])[-1]
    assert chart["title"] == "Success by building tasks"
    (line,) = chart["series"]
    assert (line["name"], [at for at, _ in line["points"]]) == ("built, procedures, all", [0, 1, 4])
    solved = []
    for after in (0, 1, 4):
        with closing(Run.open(curve / f"after-{after}")) as run:
            endings: list[Any] = [event.body for event in run.store.events("task", "outcome")]
            solved.append(sum("success" in ending["outcome"] for ending in endings) / len(endings))
    assert [value for _, value in line["points"]] == pytest.approx(solved)
    assert solved == sorted(solved)
    assert "Success by building tasks" not in [chart["title"] for chart in drawn([curve / "after-4"])]


@pytest.mark.deep
def test_the_page_names_what_is_counted_along_a_chart(curve: Path) -> None:
    page = curve.parent / "page.html"
    assert planbook("report", curve / "after-0", curve / "after-4", "--out", page).returncode == 0
    read = Page(page)
    assert "Success by building tasks" in read.values("aria-label")
    assert "building tasks" in read.all("text")


def test_coverage_says_what_no_rule_tells_and_which_nobody_cited(library: Path) -> None:
    finished = planbook("rules", library, "coverage", "--json")
    found = result(finished)["coverage"]
    assert found["missing"] == ["fetch_two"]
    assert "rule_0" not in found["never_cited"]
    assert "Without a success process: fetch_two." in finished.stderr
    built = planbook("build", *TOY, *MODEL, *SMALL, "--out", library)
    assert "No success process seems to cover: fetch_two.\n" in built.stdout
    assert f"Never cited: {', '.join(found['never_cited'])}.\n" in built.stdout
    assert "Procedures for 2 of 2 task types" in built.stdout
    assert "No success process seems to cover: fetch_two.\n" in planbook("formulate", library).stdout


def test_what_was_left_out_is_not_missed(library: Path) -> None:
    with closing(Run.open(library)) as run:
        state = learned_in(run)[EVERYTHING]
        assert len(list(coverage_lines(run, EVERYTHING, state))) == 2
        for without, lines in ((("rules",), 0), (("types",), 1), (("cooperation", "types"), 0)):
            run.config = run.config.model_copy(update={"without": without})
            assert len(list(coverage_lines(run, EVERYTHING, state))) == lines


def test_no_success_process_is_missed_where_no_rules_are_learned(library: Path) -> None:
    with closing(Run.open(library)) as run:
        state = learned_in(run)[EVERYTHING]
        assert run.config.learning is not None
        learning = run.config.learning.model_copy(update={"libraries_only": True})
        run.config = run.config.model_copy(update={"learning": learning})
        assert not [line for line in coverage_lines(run, EVERYTHING, state) if "success process" in line]


def test_rules_that_name_a_deleted_one_are_reported(library: Path) -> None:
    with closing(Run.open(library)) as run:
        state = learned_in(run)[EVERYTHING]
        assert any("rule_1" in rule.builds_on for rule in state.knowledge.rules)
        kept = tuple(rule for rule in state.knowledge.rules if rule.id != "rule_1")
        without = state.model_copy(update={"knowledge": state.knowledge.model_copy(update={"rules": kept})})
        assert list(coverage_lines(run, EVERYTHING, without))[-1] == "Cited by rules, but no longer existing: rule_1."
