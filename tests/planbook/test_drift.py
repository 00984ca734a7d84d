"""An environment changes in the middle of a build: the planner takes over, and the procedure is repaired."""

from pathlib import Path
from typing import Any

import pytest

from planbook.learning.finding import Reading, postcondition
from tests.command import ROOT
from tests.flows import Finished, asks, events, invoke

DRIFTING = ROOT / "tests" / "drifting.py"
BUILD = ("build", "--env", f"{DRIFTING}:Drifting", "--types", "fetch,found", "--model", f"scripted:{DRIFTING}:answer")
LEARNING = ("--libraries-only", "--procedures-first", "--solved-after", 99, "--tasks-per-type", 10, "--json")


def build(run: Path, *arguments: object) -> Finished:
    finished = invoke(*BUILD, *LEARNING, "--out", run, "-o", f"run={run}", *arguments)
    assert finished.returncode == 0, finished.stderr
    return finished


def versions(run: Path) -> list[tuple[int, int]]:
    """Return, after each task, the version and the number of repairs of the only task type that was found."""
    bodies: list[Any] = [event.body for event in events(run, "learned") if event.scope.startswith("learn/")]
    return [(only["version"], only["repairs"]) for body in bodies for only in body["knowledge"]["found"]]


@pytest.mark.parametrize("change", ["renamed", "reworded", "sticky"])
def test_a_procedure_is_repaired_after_the_first_task_that_it_fails(change: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = build(run, "-o", f"change={change}", "-o", "after=6", "--seeds", "0-9").result
    assert result["solved"] == 10, "the planner carries on where the procedure fails"
    assert [result["matches"][each]["count"] for each in ("matched", "wrong", "solved_after")] == [9, 1, 1]
    assert versions(run) == [*[(1, 0)] * 6, *[(2, 1)] * 4]
    assert invoke("report", run, "--out", tmp_path / "report.html").returncode == 0
    report = (tmp_path / "report.html").read_text()
    assert "goals and found types" in report
    assert "2 versions of procedures published, 1 of them repairs" in report
    cells: list[Any] = [event.body for event in events(run, "cell") if event.scope.startswith("task/6/")]
    ends = [(cell["source"], cell["feedback"]["kind"]) for cell in cells]
    if change == "sticky":
        assert ends == [("put_table.py", "unfinished"), ("post-condition", "raised"), ("planner", "done")]
    else:
        planned = asks(run, template="automanual/task")
        assert len(planned) == 2, "the first task, and the first that the procedure fails"
    verified: list[Any] = [event.body for event in events(run, "task") if "learn/6/procedure" in event.scope]
    assert len({body["task"]["id"] for body in verified}) == 7, "the repair is verified on every task so far"


def test_a_repair_of_a_librarys_procedure_is_verified_on_the_librarys_tasks(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    build(first, "-o", "after=9", "--seeds", "0-2")
    build(second, "-o", "after=0", "--seeds", "3-4", "--library", first / "learned")
    assert versions(second) == [(2, 1)] * 2
    assert invoke("report", second, "--out", tmp_path / "report.html").returncode == 0
    assert "1 version of procedures published, 1 of them repairs" in (tmp_path / "report.html").read_text()
    bodies: list[Any] = [event.body for event in events(second, "task") if "/verification" in event.scope]
    assert {body["task"]["id"] for body in bodies} >= {"fetch/0", "fetch/1", "fetch/2"}


def test_a_procedure_that_reads_a_lost_parameter_is_replaced_not_repaired(tmp_path: Path) -> None:
    command = ("build", "--env", f"{DRIFTING}:Drifting", "--types", "fetch,found", "--seeds", "0-3")
    model = ("--model", f"scripted:{DRIFTING}:answer_with_unnamed_constant")
    finished = invoke(
        *command, *model, "--libraries-only", "--solved-after", 9, "-o", "after=9", "--out", tmp_path / "run"
    )
    assert finished.returncode == 0, finished.stderr
    assert versions(tmp_path / "run") == [(1, 0), (1, 0), (2, 0), (2, 0)]


PARAMS = [{"what": "mug"}, {"what": "egg"}, {"what": "pen"}]


@pytest.mark.parametrize(
    ("readings", "asserted"),
    [
        ([{"agent.holding": "nothing"}] * 3, ["agent.holding == 'nothing'"]),
        ([{"agent.holding": "nothing"}] * 2, []),
        ([{"agent.cart()": "mug"}, {"agent.cart()": "egg"}], ["agent.cart() == task.params['what']"]),
        ([{"agent.cart()": "mug"}, {"agent.cart()": "pen"}], []),
        ([{"agent.cart()": "mug"}, None], []),
        ([{"agent.cart()": "mug"}, {}], []),
        ([], []),
    ],
)
def test_a_postcondition_asserts_constants_and_params(readings: list[Reading | None], asserted: list[str]) -> None:
    lines = postcondition(readings, PARAMS[: len(readings)]).splitlines()
    assert [line.removeprefix("assert ").partition(", f")[0] for line in lines] == asserted
