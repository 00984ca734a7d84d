"""Reports of dry runs, which evaluate a plan without acting. Real runs in the toy environment must confirm them."""

from collections.abc import Iterator
from typing import Any

import pytest

from planbook.envs import Selection, Task
from planbook.envs.toy import Toy
from planbook.sandbox import DryRun
from tests.dry_plans import dry_run_of, run_for_real, wrong_reports
from tests.sandbox.plans import HERE, sections


def task_of(number: int) -> Task:
    return Toy.select(Selection(ids=(f"fetch_two/{number}",)))[0]


def dry_run(plan: str) -> DryRun:
    return dry_run_of(Toy, Toy.preconditions(task_of(0)), plan, task={"params": {"box": "box_77"}})


def plans(table: str) -> Iterator[Any]:
    """Yield the plans of a table, each with the numbers in its title ``NAME -> NUMBER, NUMBER``."""
    for title, plan in sections(HERE / "tables" / table):
        name, _, numbers = title.partition(" ->")
        yield pytest.param(plan.rstrip("\n"), [int(number) for number in numbers.split(",") if number], id=name)


@pytest.mark.parametrize(("plan", "lines"), list(plans("dry_faults.txt")))
def test_calls_that_cannot_succeed_are_reported_and_no_others(plan: str, lines: list[int]) -> None:
    run = dry_run(plan)
    assert [fault.line for fault in run.faults] == lines
    assert not wrong_reports(plan, run, run_for_real(Toy(), task_of(0), plan))


def test_a_fault_says_why_the_call_cannot_succeed() -> None:
    taken = "agent.open('box_1')\nagent.take('coin', 'box_1')\nagent.put('coin')\n"
    (fault,) = dry_run(f"{taken}\ndef give(x):\n    agent.put(x)\ngive('pen')").faults
    assert fault.message == "put('pen'), called in give(), cannot succeed: nothing is held"
    assert (fault.type, fault.line, fault.source.strip()) == ("cannot-succeed", 6, "agent.put(x)")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("x = task.params['box'][9]", "IndexError: string index out of range"),
        ("agent.open([3])", "TypeError: agent.open() takes box: str, not [3]"),
        ("x = task.parms", "AttributeError: there is no attribute parms; did you mean params? Known: params"),
    ],
)
def test_a_fault_names_the_exception_that_a_line_raises(line: str, error: str) -> None:
    (fault,) = dry_run(f"{line}\nagent.put('pen')").faults
    assert fault.message == f"this line cannot succeed: it raises {error}"
    assert (fault.type, fault.line, fault.source) == ("cannot-succeed", 1, line)
    assert not dry_run(f"try:\n    {line}\nexcept Exception:\n    pass\nagent.open('box_1')").faults


@pytest.mark.parametrize(("plan", "counts"), list(plans("dry_counts.txt")))
def test_calls_that_the_dry_run_evaluates_and_skips_are_counted(plan: str, counts: list[int]) -> None:
    run = dry_run(plan)
    assert ([run.calls, run.unfollowed], run.faults) == (counts, ())


def test_a_call_that_fails_for_several_callers_is_reported_once() -> None:
    run = dry_run("def go(n):\n    if n < 5:\n        agent.open('box_99')\ngo(1)\ngo(2)")
    message = "open('box_99'), called in go(), cannot succeed: there is no box_99"
    assert [fault.message for fault in run.faults] == [message]
    assert (run.calls, run.unfollowed) == (1, 0)


FAULTY = (
    "return",
    "break",
    "continue",
    "yield 1",
    "nonlocal x",
    "def f(a, a): pass",
    "for n in x:\n    def f(): break\n    f()",
)
"""Plans that ``ast.parse`` accepts and that cannot be compiled."""


@pytest.mark.parametrize("plan", FAULTY)
def test_a_plan_that_cannot_be_compiled_is_followed_up_to_its_fault(plan: str) -> None:
    assert [fault.line for fault in dry_run(f"agent.put('pen')\n{plan}").faults] == [1]


@pytest.mark.parametrize("plan", ["x = (", "", "x" * 100_001])
def test_code_that_cannot_be_parsed_has_no_calls(plan: str) -> None:
    assert dry_run(plan) == DryRun((), 0)


def test_a_plan_that_is_too_long_to_follow_has_no_faults() -> None:
    loops = "".join(f"{'    ' * depth}for a_{depth} in range(50):\n" for depth in range(4))
    run = dry_run(f"agent.put('pen')\n{loops}{'    ' * 4}agent.open('box_1')\n")
    assert (run.followed, run.faults) == (False, ())


@pytest.mark.parametrize(
    "plan",
    [
        "def f(a):\n  if isinstance(a, str):\n    agent.open(a)\n  else:\n    agent.open(a[0])\nf(['box_1'])",
        "todo = ['box_1', 'box_2']\nwhile True:\n    agent.open(todo.pop(0))",
    ],
)
def test_an_error_that_a_plan_need_not_reach_is_no_fault(plan: str) -> None:
    assert dry_run(plan).faults == ()
