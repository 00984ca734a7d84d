"""A cell that comes in parts is one cell: the same as if it had come whole, under the same limits, run again as one."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from planbook.sandbox import (
    CellResult,
    Fault,
    Limits,
    Sandbox,
    Session,
    SessionBusy,
    bound_by_part,
    check,
    check_part,
    statements_of,
)
from tests.sandbox.given import ATTRIBUTES, FUNCTIONS, NAMES
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


class Environment:
    """One number."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def add(self, n: int) -> int:
        """Add and tell."""
        self.calls.append(n)
        return sum(self.calls)

    @contextmanager
    def session(self, sandbox: Sandbox, **limits: float) -> Iterator[Session]:
        functions: dict[str, Callable[..., object]] = {"world.add": self.add}
        given = Limits.model_validate(limits)
        with sandbox.session(
            functions, attributes=lambda: {"world.number": sum(self.calls)}, limits=given, seed="s"
        ) as session:
            yield session


def in_parts(session: Session, code: str, name: str = "plan") -> CellResult:
    cell = session.grow(name)
    for statement in statements_of(code.split("\n")):
        if cell.run(statement.source):
            break
    return cell.finish()


def told(result: CellResult) -> tuple[object, ...]:
    return result.output, result.value, result.faults, result.host_calls


@pytest.mark.deep
@pytest.mark.parametrize("language_layer", [True, False])
def test_every_program_does_the_same_in_parts(sandbox: Sandbox, unguarded: Sandbox, language_layer: bool) -> None:
    box = sandbox if language_layer else unguarded
    programs = {**AWKWARD, **FAILING, **PROGRAMS}
    for name, code in programs.items():
        if not statements_of(code.split("\n")) or (not language_layer and "__future__" in code):
            continue  # plain Python would have to carry the feature on from part to part; the policy needs none of them
        whole, parts = Environment(), Environment()
        with whole.session(box) as one, parts.session(box) as other:
            assert told(in_parts(other, code)) == told(one.run(code, "plan")), name
            assert parts.calls == whole.calls, name
            after = "print([n for n in sorted(dir()) if n.islower()])" if not language_layer else "world.number"
            assert told(other.run(after)) == told(one.run(after)), name


def test_the_line_of_a_call_is_the_innermost_of_the_cell_whatever_part_it_stands_in(sandbox: Sandbox) -> None:
    lines: list[int | None] = []
    with sandbox.session({"act": lambda: lines.append(session.line)}) as session:
        in_parts(session, "def f():\n    act()\nact()\nf()\n")
    assert lines == [3, 2]


def test_limits_are_of_all_parts_together(sandbox: Sandbox) -> None:
    for code, limit in (("world.add(1)\n" * 5, "host_calls"), ("print('x' * 40)\n" * 5, "output")):
        with Environment().session(sandbox, host_calls=4, output_chars=150) as session:
            result = in_parts(session, code)
            assert result.fault is not None
            assert (result.fault.type, session.mark()) == (limit, 0)
    with Environment().session(sandbox, source_chars=40) as session:
        result = in_parts(session, "a = 1\n" * 10)
        assert result.fault is not None
        assert result.fault.type == "source"


def test_waiting_for_the_next_part_is_no_time_of_the_plan(sandbox: Sandbox) -> None:
    with Environment().session(sandbox, wall_seconds=0.2) as session:
        cell = session.grow()
        assert cell.run("x = world.add(1)") is None
        time.sleep(0.4)
        assert cell.run("\nx") is None
        time.sleep(0.3)
        result = cell.finish()
        assert (result.value, result.faults) == (1, ())
        assert result.seconds < 0.2


def workers(session: Session) -> int:
    assert session._worker is not None
    return session._worker._pid


@pytest.mark.parametrize("kill_after", [0, 1, 2, 3])
def test_a_worker_that_is_killed_between_parts_is_made_anew(sandbox: Sandbox, kill_after: int) -> None:
    environment = Environment()
    with environment.session(sandbox) as session:
        session.run("import random\nbefore = random.random()")
        cell = session.grow()
        sources = ["a = world.add(1)\nprint(a)", "\n\nb = [a, random.random()]", "\n\n\nprint(world.add(2), len(b))"]
        for number, source in enumerate(sources):
            if number == kill_after:
                os.kill(workers(session), signal.SIGKILL)
            assert cell.run(source) is None
        if kill_after == 3:
            os.kill(workers(session), signal.SIGKILL)
        assert cell.finish().output == "1\n3 2\n"
        assert environment.calls == [1, 2], "nothing is done twice"
        first = session.run("[before, a, b]").value
        session.rewind(session.mark())
        os.kill(workers(session), signal.SIGKILL)
        assert session.run("[before, a, b]").value == first
        assert environment.calls == [1, 2]


def test_what_had_run_before_a_fault_stays_and_can_be_gone_back_to(sandbox: Sandbox) -> None:
    environment = Environment()
    with environment.session(sandbox) as session:
        mark = session.mark()
        assert in_parts(session, "a = world.add(1)\nraise KeyError(a)\n").fault is not None
        assert session.run("a").value == 1
        session.rewind(mark + 1)
        assert session.run("a").value == 1
        session.rewind(mark)
        assert session.run("a").fault is not None
        assert environment.calls == [1]


def test_a_cell_that_grows_has_the_session_to_itself(sandbox: Sandbox) -> None:
    with Environment().session(sandbox) as session:
        cell = session.grow()
        for use in (lambda: session.run("1"), session.grow, lambda: session.rewind(0)):
            with pytest.raises(SessionBusy):
                use()
        assert cell.finish().faults == ()
        assert session.run("1").value == 1


def faults_in_parts(code: str) -> list[Fault]:
    names = frozenset(NAMES)
    for statement in statements_of(code.split("\n")):
        if faults := check_part(statement.source, FUNCTIONS, attributes=ATTRIBUTES, names=names):
            return faults
        names |= bound_by_part(statement.source)
    return []


@pytest.mark.deep
def test_a_plan_that_passes_the_check_passes_it_in_parts() -> None:
    for code in (*PROGRAMS.values(), *recorded_code()):
        if not check(code, FUNCTIONS, attributes=ATTRIBUTES, names=NAMES):
            assert faults_in_parts(code) == [], code


@pytest.mark.parametrize(
    "code",
    [
        "def f():\n    return g()\ndef g():\n    return 1\nprint(f())\n",
        "x = 1\ntry:\n    y\nexcept Exception:\n    pass\ny = 2\nprint(x)\n",
        "a = agent\nprint(a.no_such)\na = 1\n",
        "def f(a):\n    return a\nf()\ndef f():\n    return 1\n",
        "def f():\n    return input()\ndef input():\n    return 1\nprint(f())\n",
        "try:\n    1 / 0\nexcept Exception as e:\n    pass\nprint(1)\ne = 1\n",
        "open = 3\nprint(open)\n",
    ],
)
def test_what_a_later_part_may_mend_is_no_fault(code: str) -> None:
    assert check(code, FUNCTIONS, attributes=ATTRIBUTES, names=NAMES) == []
    assert faults_in_parts(code) == []


@pytest.mark.parametrize(
    ("code", "fault", "line"),
    [
        ("x = 1\nprint(unheard_of)\n", "unknown-name", 2),
        ("x = 1\nfor i in (1, 2):\n    agent.no_such(i)\n", "unknown-action", 3),
        ("x = 1\nagent = 2\n", "assignment", 2),
        ("x = 1\ny = open('f')\n", "forbidden-name", 2),
        ("x = 1\nimport os\n", "forbidden-import", 2),
        ("print(x)\ndef f():\n    global x\n    x = 1\n", "unknown-name", 1),
        ("def f():\n    a = agent\n    a.no_such()\n", "unknown-action", 3),
        ("print(open)\nopen = 1\n", "forbidden-name", 1),
    ],
)
def test_what_is_certain_is_said_at_once(code: str, fault: str, line: int) -> None:
    assert check(code, FUNCTIONS, attributes=ATTRIBUTES, names=NAMES), "the whole has to be refused, too"
    assert [(each.type, each.line) for each in faults_in_parts(code)] == [(fault, line)]
