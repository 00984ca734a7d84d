"""A growing cell is a piece of code that is run in parts while a model is still writing it.

It has the same result and the same limits as if it were run as a whole. When it is repeated, it is run as a whole.
"""

import time

import pytest

from planbook.sandbox import (
    CellResult,
    Fault,
    Limits,
    Sandbox,
    Session,
    SessionBusy,
    check,
    check_part,
    possibly_bound_names,
    statements_of,
)
from tests.killing import kill_worker
from tests.sandbox.host_functions import ATTRIBUTES, FUNCTIONS, NAMES, World
from tests.sandbox.streamed import AWKWARD, PROGRAMS, recorded_code

FAILING = {
    "in a function of an earlier part": "def f(a):\n    world.add(1)\n    return a.no_such\nworld.add(2)\nf([])\nx = 1",
    "name that is nearly right": "counter = 1\nprint(conter)\nprint('never')\n",
    "value": "a = world.add(1)\n(a, 'b')\n",
    "no value": "a = 1\na\nb = 2\n",
    "random and clock": "import random, time\nprint(random.random(), time.time())\nworld.add(1)\ntime.sleep(2)\n"
    "print(random.random(), time.time())\n",
    "attributes": "print(world.number)\nworld.add(3)\nprint(world.number)\nworld.number",
    "a repr that acts": "class A:\n    def __repr__(self):\n        return str(world.add(1))\na = A()\na\nA()\n",
}


def in_parts(session: Session, code: str, name: str = "plan") -> CellResult:
    cell = session.grow(name)
    for statement in statements_of(code.split("\n")):
        if cell.run(statement.source):
            break
    return cell.finish()


def shown(result: CellResult) -> tuple[object, ...]:
    return result.output, result.value, result.faults, result.host_calls


@pytest.mark.deep
@pytest.mark.parametrize("language_layer", [True, False])
def test_a_program_run_in_parts_has_the_same_result(sandbox: Sandbox, unguarded: Sandbox, language_layer: bool) -> None:
    box = sandbox if language_layer else unguarded
    programs = {**AWKWARD, **FAILING, **PROGRAMS}
    for name, code in programs.items():
        if not statements_of(code.split("\n")) or (not language_layer and "__future__" in code):
            continue  # in plain Python, a __future__ import affects only its own part
        whole, parts = World(), World()
        with whole.session(box, seed="s") as one, parts.session(box, seed="s") as other:
            assert shown(in_parts(other, code)) == shown(one.run(code, "plan")), name
            assert parts.calls == whole.calls, name
            after = "print([n for n in sorted(dir()) if n.islower()])" if not language_layer else "world.number"
            assert shown(other.run(after)) == shown(one.run(after)), name


def test_the_line_of_a_call_is_counted_from_the_start_of_the_cell(sandbox: Sandbox) -> None:
    lines: list[int | None] = []
    with sandbox.session({"act": lambda: lines.append(session.line)}) as session:
        in_parts(session, "def f():\n    act()\nact()\nf()\n")
    assert lines == [3, 2]


def test_a_long_traceback_through_a_cell_of_many_parts_is_read_in_time(sandbox: Sandbox) -> None:
    with sandbox.session({}, limits=Limits(wall_seconds=3)) as session:
        assert in_parts(session, "x = 1\n" * 800 + "def f(): f()\n").fault is None
        fault = session.run("f()").fault
    assert fault is not None
    assert fault.type == "RecursionError"
    assert "line 801 of plan: def f(): f()" in fault.message


def test_limits_apply_to_all_parts_together(sandbox: Sandbox) -> None:
    codes = {"host_calls": "world.add(1)\n" * 5, "output": "print('x' * 40)\n" * 5, "source": "a = 1\n" * 50}
    for limit, code in codes.items():
        limits = Limits(host_calls=4, output_chars=150, source_chars=200)
        with World().session(sandbox, limits=limits) as session:
            result = in_parts(session, code)
            assert result.fault is not None
            assert (result.fault.type, session.mark()) == (limit, 0)


def test_a_part_that_reaches_a_limit_ends_the_worker_immediately(sandbox: Sandbox) -> None:
    with World().session(sandbox, limits=Limits(wall_seconds=0.3)) as session:
        fault = session.grow().run("while True: pass")
        assert fault is not None
        assert fault.type == "wall"
        assert session._worker is None, "it does not compute until the cell is finished"


def test_the_clock_stops_between_parts(sandbox: Sandbox) -> None:
    with World().session(sandbox, limits=Limits(wall_seconds=1)) as session:
        cell = session.grow()
        assert cell.run("x = world.add(1)") is None
        time.sleep(1.2)
        assert cell.run("\nx") is None
        time.sleep(1.2)
        result = cell.finish()
        assert (result.value, result.faults) == (1, ())


@pytest.mark.parametrize("kill_after", [0, 1, 2, 3])
def test_a_worker_that_is_killed_between_parts_is_replaced(sandbox: Sandbox, kill_after: int) -> None:
    world = World()
    with world.session(sandbox) as session:
        session.run("import random\nbefore = random.random()")
        cell = session.grow()
        sources = ["a = world.add(1)\nprint(a)", "\n\nb = [a, random.random()]", "\n\n\nprint(world.add(2), len(b))"]
        for number, source in enumerate(sources):
            if number == kill_after:
                kill_worker(session)
            assert cell.run(source) is None
        if kill_after == 3:
            kill_worker(session)
        assert cell.finish().output == "1\n3 2\n"
        assert world.calls == [1, 2], "nothing is done twice"
        first = session.run("[before, a, b]").value
        session.rewind(session.mark())
        kill_worker(session)
        assert session.run("[before, a, b]").value == first
        assert world.calls == [1, 2]


def test_parts_before_a_fault_are_kept_and_marked(sandbox: Sandbox) -> None:
    world = World()
    with world.session(sandbox) as session:
        mark = session.mark()
        assert in_parts(session, "a = world.add(1)\nraise KeyError(a)\n").fault is not None
        assert session.run("a").value == 1
        session.rewind(mark + 1)
        assert session.run("a").value == 1
        session.rewind(mark)
        assert session.run("a").fault is not None
        assert world.calls == [1]


def test_a_growing_cell_reserves_the_session(sandbox: Sandbox) -> None:
    with World().session(sandbox) as session:
        cell = session.grow()
        for use in (lambda: session.run("1"), session.grow, lambda: session.rewind(0)):
            with pytest.raises(SessionBusy):
                use()
        assert cell.finish().faults == ()
        for late in (lambda: cell.run("1"), cell.finish):
            with pytest.raises(SessionBusy, match="this cell has ended"):
                late()
        assert session.run("1").value == 1


def faults_in_parts(code: str) -> list[Fault]:
    names = frozenset(NAMES)
    for statement in statements_of(code.split("\n")):
        if faults := check_part(statement.source, FUNCTIONS, attributes=ATTRIBUTES, names=names):
            return faults
        names |= possibly_bound_names(statement.source)
    return []


@pytest.mark.deep
def test_a_plan_that_passes_the_check_passes_it_in_parts() -> None:
    for code in (*PROGRAMS.values(), *recorded_code()):
        if not check(code, FUNCTIONS, attributes=ATTRIBUTES, names=NAMES):
            assert faults_in_parts(code) == [], code


@pytest.mark.parametrize(
    ("code", "faults"),
    [
        ("x = 1\nprint(unheard_of)\n", [("unknown-name", 2)]),
        ("x = 1\nfor i in (1, 2):\n    agent.no_such(i)\n", [("unknown-action", 3)]),
        ("x = 1\nagent = 2\n", [("assignment", 2)]),
        ("x = 1\ny = open('f')\n", [("forbidden-name", 2)]),
        ("x = 1\nimport os\n", [("forbidden-import", 2)]),
        ("print(x)\ndef f():\n    global x\n    x = 1\n", [("unknown-name", 1)]),
        ("def f():\n    a = agent\n    a.no_such()\n", [("unknown-action", 3)]),
        ("print(open)\nopen = 1\n", [("forbidden-name", 1)]),
        ("def f():\n    return g()\ndef g():\n    return 1\nprint(f())\n", []),
        ("x = 1\ntry:\n    y\nexcept Exception:\n    pass\ny = 2\nprint(x)\n", []),
        ("a = agent\nprint(a.no_such)\na = 1\n", []),
        ("def f(a):\n    return a\nf()\ndef f():\n    return 1\n", []),
        ("def f():\n    return input()\ndef input():\n    return 1\nprint(f())\n", []),
        ("try:\n    1 / 0\nexcept Exception as e:\n    pass\nprint(1)\ne = 1\n", []),
        ("open = 3\nprint(open)\n", []),
    ],
)
def test_a_part_has_the_faults_that_no_later_part_can_correct(code: str, faults: list[tuple[str, int]]) -> None:
    assert bool(check(code, FUNCTIONS, attributes=ATTRIBUTES, names=NAMES)) == bool(faults)
    assert [(fault.type, fault.line) for fault in faults_in_parts(code)] == faults
