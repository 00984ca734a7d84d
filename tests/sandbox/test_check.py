"""The static check: good plans pass, and every fault of a faulty plan is found and located."""

import __future__

import calendar
import contextlib
import importlib.util
import inspect
import io
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from planbook.sandbox import Fault, FaultKind, check, check_procedure
from tests.sandbox.host_functions import ATTRIBUTES, FUNCTIONS, NAMES
from tests.sandbox.plans import GOOD_PLANS, HERE, sections

CLEAN_MODULES = """argparse ast bisect calendar cmd codeop colorsys configparser contextlib copy csv dataclasses difflib
fileinput fnmatch fractions functools getopt glob gzip heapq html.parser json.decoder json.encoder keyword linecache
logging netrc operator optparse pathlib pprint queue random reprlib sched selectors shelve shlex shutil statistics
string tempfile textwrap threading timeit tokenize trace traceback types uuid warnings weakref zipfile"""
Found = list[tuple[int | None, str]]
"""The line and the type of each fault."""


def faulty_plans() -> Iterator[Any]:
    """Yield the plans of ``tables/faulty_plans.txt``, each with its faults and a part of the first fault's text.

    A title reads ``NAME -> LINE TYPE, LINE TYPE: MESSAGE``. A fault of the whole plan has the line ``-``.
    """
    for title, body in sections(HERE / "tables" / "faulty_plans.txt"):
        name, _, faults_and_message = title.partition(" -> ")
        faults, _, message = faults_and_message.partition(": ")
        found = [(None if line == "-" else int(line), kind) for line, kind in map(str.split, faults.split(", "))]
        yield pytest.param(body.removesuffix("\n"), found, message, id=name)
    yield pytest.param("x = 'a\0'", [(1, "syntax")], "U+0000", id="a NUL")
    yield pytest.param("x = 1\ny = '\ud800'", [(2, "syntax")], "U+D800", id="half a surrogate pair")


def faults_of(code: str) -> list[Fault]:
    return check(code, FUNCTIONS, attributes=ATTRIBUTES, names=NAMES)


def types_of(code: str, functions: dict[str, Any], **context: Any) -> list[str]:
    return [fault.type for fault in check(code, functions, **context)]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", GOOD_PLANS)
def test_a_good_plan_passes_and_runs_in_plain_python(name: str) -> None:
    assert faults_of(GOOD_PLANS[name]) == []
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


@pytest.mark.parametrize(("code", "expected", "message"), list(faulty_plans()))
def test_a_faulty_plan_is_refused(code: str, expected: Found, message: str) -> None:
    found = faults_of(code)
    assert [(fault.line, fault.type) for fault in found] == expected
    assert message in f"{found[0].message} {found[0].hint}"
    lines = code.split("\n")
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
    names = {"_PYTHONNAME", *vars(calendar)}  # calendar defines some of its names by a call
    found = types_of(Path(spec.origin).read_text(), {}, names=names, allow_definitions_only=True)
    assert not {"syntax", "unknown-name", "unbound-name", "arguments", "unreachable"} & set(found)


def test_a_column_counts_characters() -> None:
    (fault,) = faults_of('print("é—", wher)')
    assert fault.source[fault.column :].startswith("wher")


@pytest.mark.parametrize(
    ("code", "names", "allowed", "expected"),
    [
        ("def f():\n    return 1\n", [], False, ["only-definitions"]),
        ("def f():\n    return 1\n", [], True, []),
        ("print(found)", [], False, ["unknown-name"]),
        ("print(found)", ["found"], False, []),
        ("print(found)\nfound = 1", ["found"], False, []),
        ("if f:\n    def f(a):\n        pass\nf(1, 2)", ["f"], False, []),
        ("def f(\U0001d422\U0001d41f):\n    pass\nf(1)", [], False, []),
    ],
)
def test_a_check_knows_the_earlier_cells_and_whether_definitions_suffice(
    code: str, names: list[str], allowed: bool, expected: list[str]
) -> None:
    assert types_of(code, {}, names=names, allow_definitions_only=allowed) == expected


class Environment:
    def go_to(self, place: str) -> str:
        return place


def anything(*args: object) -> object:
    return args


anything.__signature__ = inspect.signature(lambda place: place)  # type: ignore[attr-defined]


def annotated(annotation: object) -> Any:
    def place(place: object) -> None: ...

    place.__annotations__["place"] = annotation
    return place


@dataclass
class Unhashable:
    def __call__(self, place: str, /, *items: str, speed: int = 1, **more: object) -> None: ...


SIGNATURES: dict[str, tuple[Any, str, list[str]]] = {
    "method": (Environment().go_to, "f('a')", []),
    "method without its argument": (Environment().go_to, "f()", ["arguments"]),
    "function": (Environment.go_to, "f('a')", ["arguments"]),
    "set signature": (anything, "f(1, 2)", ["arguments"]),
    "no signature": (iter, "f(1, x=2)", []),
    "unknown annotation": (annotated("Nowhere"), "f(3)", []),
    "unknown attribute": (annotated("types.Missing"), "f(1, 2)", ["arguments"]),
    "prose": (annotated("the name of a place"), "f(1, 2)", ["arguments"]),
    "wrong operands": (annotated("int | 'x'"), "f(1, 2)", ["arguments"]),
    "unhashable": (Unhashable(), "f()", ["arguments"]),
}


@pytest.mark.parametrize(("function", "code", "expected"), SIGNATURES.values(), ids=SIGNATURES)
def test_calls_are_checked_against_the_signature(function: Any, code: str, expected: list[str]) -> None:
    assert types_of(code, {"f": function}) == expected


def test_the_hint_shows_the_signature_as_in_python() -> None:
    def go(place: str, *, speed: int, care: int = 1) -> None: ...

    hints = [check("f()", {"f": function})[0].hint for function in (go, Unhashable())]
    assert hints == [
        "call it as f(place: str, *, speed: int, care: int = ...)",
        "call it as f(place: str, /, *items: str, speed: int = ..., **more: object)",
    ]


GOOD_PROCEDURE = '''
"""Heat and place."""
import re
PATTERN = re.compile("mug")

def visit(agent, place):
    return agent.go_to(place)

def solve(agent, task):
    visit(agent, task.params["target"])
'''


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (GOOD_PROCEDURE, []),
        ("def main(agent, task):\n    agent.look()\n", [(None, "procedure")]),
        ("def solve(task, agent):\n    agent.look()\n", [(1, "procedure")]),
        ("def solve(agent, task, *rest):\n    agent.look()\n", [(1, "procedure")]),
        ("def solve(agent, task):\n    agent.look()\nagent.look()\n", [(3, "procedure")]),
        ("def solve(agent, task):\n    agent.look()\nfinish()\n", [(3, "procedure")]),
        ("HERE = [agent.go_to(p) for p in 'ab']\ndef solve(agent, task):\n    print(HERE)\n", [(1, "procedure")]),
        ("def solve(agent, task):\n    agent.goto(task)\n", [(2, "unknown-action")]),
        ("# nothing\n", [(None, "empty"), (None, "procedure")]),
        ("def solve(agent, task)\n", [(1, "syntax")]),
    ],
)
def test_a_procedure_is_checked(code: str, expected: Found) -> None:
    found = check_procedure(code, FUNCTIONS, attributes=ATTRIBUTES)
    assert [(fault.line, fault.type) for fault in found] == expected


def test_an_unknown_action_is_answered_with_all_actions() -> None:
    (fault,) = faults_of("agent.levitate()")
    assert all(path.removeprefix("agent.") in fault.hint for path in FUNCTIONS if path.startswith("agent."))


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from([*GOOD_PLANS.values()]), min_size=1, max_size=2), st.data())
def test_damaged_plans_never_raise(plans: list[str], data: st.DataObject) -> None:
    code = "".join(plans)
    start = data.draw(st.integers(0, len(code)))
    end = data.draw(st.integers(start, min(len(code), start + 12)))
    damaged = code[:start] + data.draw(st.text(max_size=4)) + code[end:]
    for fault in faults_of(damaged):
        assert fault.line is None or 1 <= fault.line <= damaged.count("\n") + damaged.count("\r") + 1


def test_checks_are_cached() -> None:
    plan = GOOD_PLANS["find object"] * 3
    first = [_seconds(f"{plan}# {n}") for n in range(15)]
    again = [_seconds(f"{plan}# 0") for _ in range(15)]
    assert statistics.median(again) < min(first) / 4


def _seconds(code: str) -> float:
    started = time.thread_time()
    assert faults_of(code) == []
    return time.thread_time() - started
