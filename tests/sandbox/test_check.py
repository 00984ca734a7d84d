"""The static check: good plans pass, every fault of the others is found at its place."""

import __future__

import calendar
import contextlib
import importlib.util
import io
import statistics
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planbook.sandbox import Fault, FaultKind, check, check_procedure
from tests.sandbox.faulty_plans import FAULTY_PLANS, Faulty
from tests.sandbox.given import ATTRIBUTES, FUNCTIONS, NAMES
from tests.sandbox.good_plans import GOOD_PLANS

CLEAN_MODULES = """argparse ast bisect calendar cmd codeop colorsys configparser contextlib copy csv dataclasses difflib
fileinput fnmatch fractions functools getopt glob gzip heapq html.parser inspect json.decoder json.encoder keyword
linecache logging netrc operator optparse pathlib pprint queue random reprlib sched selectors shelve shlex shutil
statistics string tarfile tempfile textwrap threading timeit tokenize trace traceback types typing unittest.mock uuid
warnings weakref zipfile"""


def faults_of(code: str) -> list[Fault]:
    return check(code, FUNCTIONS, attributes=ATTRIBUTES, names=NAMES)


@pytest.mark.parametrize("name", GOOD_PLANS)
def test_a_good_plan_passes(name: str) -> None:
    assert faults_of(GOOD_PLANS[name]) == []


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", GOOD_PLANS)
def test_the_good_plans_are_good(name: str) -> None:
    """Plain Python runs them without any error that the check should have told of."""
    flags = __future__.annotations.compiler_flag
    code = compile(GOOD_PLANS[name], name, "exec", flags=flags, dont_inherit=True)
    space: dict[str, Any] = {"task": SimpleNamespace(goal="g", params={"object": "mug"}), "seen_before": False}
    space |= {"__name__": "__main__"} | {k: f for k, f in FUNCTIONS.items() if "." not in k}
    space["agent"] = SimpleNamespace(location="desk_1", holding="nothing")
    space["rule_system"] = SimpleNamespace()
    for path, function in FUNCTIONS.items():
        if "." in path:
            owner, member = path.split(".")
            setattr(space[owner], member, function)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(AssertionError):
        exec(code, space)


@pytest.mark.parametrize("name", FAULTY_PLANS)
def test_a_faulty_plan_is_refused(name: str) -> None:
    plan: Faulty = FAULTY_PLANS[name]
    found = faults_of(plan.code)
    assert [(fault.line, fault.type) for fault in found] == plan.faults
    assert plan.says in f"{found[0].message} {found[0].hint}"
    lines = plan.code.split("\n")
    for fault in found:
        assert fault.kind is FaultKind.CHECK
        assert fault.message
        assert fault.hint
        if fault.line is not None and "\ud800" not in lines[fault.line - 1]:
            assert fault.source == lines[fault.line - 1]
            assert fault.column is not None
            assert 0 <= fault.column <= len(fault.source)


@pytest.mark.deep
@pytest.mark.parametrize("module", CLEAN_MODULES.split())
def test_the_standard_library_has_no_faulty_names(module: str) -> None:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    names = {"_PYTHONNAME", *vars(calendar)}  # some of which it makes by a call
    found = check(Path(spec.origin).read_text(), {}, names=names, allow_definitions_only=True)
    assert [
        fault for fault in found if fault.type in {"unknown-name", "unbound-name", "arguments", "unreachable"}
    ] == []


def test_a_column_counts_characters() -> None:
    (fault,) = faults_of('print("é—", wher)')
    assert fault.source[fault.column :].startswith("wher")


def test_definitions_only_may_be_allowed() -> None:
    code = "def f():\n    return 1\n"
    assert [fault.type for fault in check(code, {})] == ["only-definitions"]
    assert check(code, {}, allow_definitions_only=True) == []


def test_names_of_earlier_cells_are_known() -> None:
    assert [fault.type for fault in check("print(found)", {})] == ["unknown-name"]
    assert check("print(found)", {}, names=["found"]) == []
    assert check("print(found)\nfound = 1", {}, names=["found"]) == []


def test_a_name_of_an_earlier_cell_may_hide_a_function() -> None:
    """The value that the earlier cell bound is unknown, so its calls are not checked."""
    assert check("if f:\n    def f(a):\n        pass\nf(1, 2)", {}, names=["f"]) == []


def test_methods_are_seen_as_the_plan_sees_them() -> None:
    class Environment:
        def go_to(self, place: str) -> str:
            return place

    for environment in (Environment(), Environment()):
        assert check("agent.go_to('a')", {"agent.go_to": environment.go_to}) == []
        assert [f.type for f in check("agent.go_to()", {"agent.go_to": environment.go_to})] == ["arguments"]
    assert [f.type for f in check("go('a')", {"go": Environment.go_to})] == ["arguments"]


def test_a_signature_may_be_set() -> None:
    import inspect

    def anything(*args: object) -> object:
        return args

    anything.__signature__ = inspect.signature(lambda place: place)  # type: ignore[attr-defined]
    assert [f.type for f in check("go(1, 2)", {"go": anything})] == ["arguments"]


def test_a_function_without_signature_takes_all() -> None:
    assert check("f(1, x=2)", {"f": iter}) == []


def test_an_annotation_that_cannot_be_evaluated_takes_all() -> None:
    def go(place: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
        del place

    assert check("go(3)", {"go": go}) == []


GOOD_PROCEDURE = '''
"""Heat and place."""
import re
PATTERN = re.compile("mug")

def visit(agent, place):
    return agent.go_to(place)

def solve(agent, task):
    visit(agent, task.params["target"])
'''


def procedure_faults(code: str) -> list[tuple[int | None, str]]:
    return [(f.line, f.type) for f in check_procedure(code, FUNCTIONS, attributes=ATTRIBUTES)]


def test_a_procedure_passes() -> None:
    assert procedure_faults(GOOD_PROCEDURE) == []


@pytest.mark.parametrize(
    ("code", "faults"),
    [
        ("def main(agent, task):\n    agent.look()\n", [(None, "procedure")]),
        ("def solve(task, agent):\n    agent.look()\n", [(1, "procedure")]),
        ("def solve(agent):\n    agent.look()\n", [(1, "procedure")]),
        ("def solve(agent, task, *rest):\n    agent.look()\n", [(1, "procedure")]),
        ("def solve(agent, task):\n    agent.look()\nagent.look()\n", [(3, "procedure")]),
        ("def solve(agent, task):\n    agent.look()\nfinish()\n", [(3, "procedure")]),
        ("HERE = [agent.go_to(p) for p in 'ab']\ndef solve(agent, task):\n    print(HERE)\n", [(1, "procedure")]),
        ("def solve(agent, task):\n    agent.goto(task)\n", [(2, "unknown-action")]),
        ("# nothing\n", [(None, "empty"), (None, "procedure")]),
        ("def solve(agent, task)\n", [(1, "syntax")]),
    ],
)
def test_a_wrong_procedure_is_refused(code: str, faults: list[tuple[int | None, str]]) -> None:
    assert procedure_faults(code) == faults


def test_a_long_list_of_actions_comes_with_the_fault() -> None:
    (fault,) = faults_of("agent.levitate()")
    for path in FUNCTIONS:
        if path.startswith("agent."):
            assert path.removeprefix("agent.") in fault.hint


@pytest.mark.parametrize(
    "code",
    [
        "if 1:\n    x()\n" + "elif 2:\n    y()\n" * 2_000,
        "x = " + "-" * 20_000 + "1",
        "x = 1" + "+1" * 20_000,
        "a" + ".a" * 30_000,
        "x = 1;" * 20_000,
        "f(" * 90 + ")" * 90,
        "\n".join("    " * n + "if 1:" for n in range(99)) + "\n" + "    " * 99 + "x()",
        "9" * 9_000,
        "print(" + "a, " * 30_000 + ")",
        "print(" + ", ".join(f"name{n}" for n in range(9_000)) + ")",
    ],
    ids=range(10),
)
def test_hostile_code_is_refused_quickly(code: str) -> None:
    started = time.thread_time()
    assert faults_of(code)
    assert time.thread_time() - started < 5


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from([*GOOD_PLANS.values()]), min_size=1, max_size=2), st.data())
def test_mutilated_plans_never_raise(plans: list[str], data: st.DataObject) -> None:
    code = "".join(plans)
    start = data.draw(st.integers(0, len(code)))
    end = data.draw(st.integers(start, min(len(code), start + 12)))
    mutilated = code[:start] + data.draw(st.text(max_size=4)) + code[end:]
    for fault in faults_of(mutilated):
        assert fault.line is None or 1 <= fault.line <= mutilated.count("\n") + mutilated.count("\r") + 1


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(codec=None, categories=None), max_size=60))
def test_any_text_is_checked(text: str) -> None:
    faults_of(text)


def test_the_check_remembers() -> None:
    plan = GOOD_PLANS["find object"] * 3
    assert len(plan.splitlines()) >= 60
    fresh = [_seconds(f"{plan}# {n}") for n in range(15)]
    again = [_seconds(f"{plan}# 0") for _ in range(15)]
    assert statistics.median(again) < min(fresh) / 4


def _seconds(code: str) -> float:
    started = time.thread_time()
    assert faults_of(code) == []
    return time.thread_time() - started
