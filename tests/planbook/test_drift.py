"""A procedure is repaired when the environment has changed, and rewritten if later rules or failures show how."""

from pathlib import Path
from typing import Any

import pytest

from planbook.learning.finding import Reading, postcondition
from tests.command import ROOT
from tests.flows import Finished, asks, events, prompt, scripted, succeed

DRIFTING = ROOT / "tests" / "drifting.py"
BUILD = ("build", "--env", f"{DRIFTING}:Drifting", "--types", "fetch,found", "--model", f"scripted:{DRIFTING}:answer")
LEARNING = ("--libraries-only", "--procedures-first", "--solved-after", 99, "--tasks-per-type", 10, "--json")


def build(run: Path, *arguments: object) -> Finished:
    return succeed(*BUILD, *LEARNING, "--out", run, "-o", f"run={run}", *arguments)


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
    succeed("report", run, "--out", tmp_path / "report.html")
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
    succeed("report", second, "--out", tmp_path / "report.html")
    assert "1 version of procedures published, 1 of them repairs" in (tmp_path / "report.html").read_text()
    bodies: list[Any] = [event.body for event in events(second, "task") if "/verification" in event.scope]
    assert {body["task"]["id"] for body in bodies} >= {"fetch/0", "fetch/1", "fetch/2"}


def test_a_procedure_that_reads_a_lost_parameter_is_replaced_not_repaired(tmp_path: Path) -> None:
    command = ("build", "--env", f"{DRIFTING}:Drifting", "--types", "fetch,found", "--seeds", "0-3")
    model = ("--model", f"scripted:{DRIFTING}:answer_with_unnamed_constant")
    succeed(*command, *model, "--libraries-only", "--solved-after", 9, "-o", "after=9", "--out", tmp_path / "run")
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


def build_procedure(folder: Path, model: str, *options: object, tasks: int = 3) -> str:
    """Build on tasks of one type; return the code of the type's procedure."""
    command = ("--types", "fetch", "--tasks-per-type", tasks, "--model", scripted(model), "--out", folder)
    succeed("build", "--env", "toy", *command, *options)
    state: Any = events(folder, "learned", f"learn/{tasks - 1}")[-1].body
    code: str = state["knowledge"]["procedures"]["fetch"]["code"]
    return code


def test_a_new_rule_renews_the_procedure(tmp_path: Path) -> None:
    code = build_procedure(tmp_path / "run", "of_boxes")
    *_, asked = asks(tmp_path / "run", template="generalise")
    assert "one box has each" in prompt(asked)
    assert "# The procedure for tasks of this type" in prompt(asked)
    assert "A thing is in one box alone." in code
    tried = [event.scope for event in events(tmp_path / "run", "outcome") if "/renewal/" in event.scope]
    assert len(tried) == 3 + 3, "the old one and the new one, on every task of the type"


def test_a_renewed_procedure_that_takes_more_actions_is_not_used(tmp_path: Path) -> None:
    assert "Slow" not in build_procedure(tmp_path / "run", "of_slow_boxes")


def test_a_failure_that_the_procedure_does_not_avoid_renews_it(tmp_path: Path) -> None:
    code = build_procedure(tmp_path / "run", "idle_later", "--seeds", "0,5", tasks=2)
    *_, asked = asks(tmp_path / "run", template="generalise.j2")
    assert "## A task on which it failed" in prompt(asked)
    assert "[:6]" not in code
