"""Coming back: after a limit, after an end from below, and to a mark."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from planbook.sandbox import Limits, RebuildDiverged, Sandbox, Session
from tests.killing import worker_of

SHORT = Limits(wall_seconds=1, output_chars=200)
KILL = "print('x' * 201)"
"""Ends the cell by a limit, at once."""


class Counter:
    """An environment of one number."""

    def __init__(self) -> None:
        self.number, self.calls = 0, 0

    def add(self, n: int = 1) -> int:
        """Add and tell."""
        self.calls += 1
        self.number += n
        if self.number > 1_000:
            raise ValueError("too much")
        return self.number

    def attributes(self) -> dict[str, JsonValue]:
        return {"world.number": self.number}

    def session(self, sandbox: Sandbox) -> Session:
        functions: dict[str, Callable[..., object]] = {"world.add": self.add}
        return sandbox.session(functions, attributes=self.attributes, limits=SHORT, seed="s")


def test_after_a_limit_finished_cells_run_again_and_no_function_is_called(sandbox: Sandbox) -> None:
    environment = Counter()
    with environment.session(sandbox) as session:
        assert (
            session.run("import random\na = [world.add(2), world.add(), random.random()]\nprint('once')").fault is None
        )
        assert session.run("def f():\n    return world.add(10)\nb = f()\nb / 0").fault is not None
        fault = session.run(f"world.add(100)\na = 'lost'\n{KILL}").fault
        assert fault is not None
        assert fault.type == "output"
        assert (environment.calls, session.mark()) == (4, 2)
        result = session.run("[a[:2], b, f(), world.number]")
        assert result.value == [[2, 3], 13, 123, 123]
        assert result.output == ""
        assert environment.calls == 5


def test_rewind_forgets_the_cells_after_the_mark(sandbox: Sandbox) -> None:
    environment = Counter()
    with environment.session(sandbox) as session:
        assert session.mark() == 0
        session.run("x = world.add()")
        mark = session.mark()
        session.run("x = world.add(5)\ny = 1")
        assert (mark, session.mark()) == (1, 2)
        environment.number = 1
        session.rewind(mark)
        assert session.mark() == 1
        assert environment.calls == 2
        assert session.run("[x, world.number]").value == [1, 1]
        fault = session.run("y").fault
        assert fault is not None
        assert fault.type == "NameError"
        session.rewind(0)
        fault = session.run("x").fault
        assert fault is not None
        assert fault.type == "NameError"


def test_rewind_to_where_one_is_keeps_the_worker(sandbox: Sandbox) -> None:
    with Counter().session(sandbox) as session:
        session.run("x = 1")
        worker = session._worker
        session.rewind(1)
        assert session._worker is worker
        assert session.run("x").value == 1


@pytest.mark.parametrize("mark", [-1, 2])
def test_a_mark_that_does_not_exist_is_refused_and_harms_nothing(sandbox: Sandbox, mark: int) -> None:
    with Counter().session(sandbox) as session:
        session.run("x = 1")
        with pytest.raises(ValueError, match=f"mark {mark} does not exist: the session has 1 finished cells"):
            session.rewind(mark)
        assert session.run("x").value == 1


def test_cells_that_were_refused_are_no_marks(sandbox: Sandbox) -> None:
    with Counter().session(sandbox) as session:
        session.run("x = (")
        session.run(KILL)
        assert session.mark() == 0
        session.run("1 / 0")
        assert session.mark() == 1


def test_attributes_are_those_of_now_after_a_rewind(sandbox: Sandbox) -> None:
    environment = Counter()
    with environment.session(sandbox) as session:
        session.run("world.add(5)")
        session.run("world.add(5)")
        environment.number = 3
        session.rewind(1)
        assert session.run("world.number").value == 3


def test_errors_of_functions_are_part_of_what_is_recorded(sandbox: Sandbox) -> None:
    environment = Counter()
    with environment.session(sandbox) as session:
        code = (
            "try:\n    world.add(2_000)\nexcept ValueError as error:\n    said = str(error)\n"
            "try:\n    world.add('x')\nexcept TypeError:\n    odd = True"
        )
        assert session.run(code).fault is None
        session.run(KILL)
        assert session.run("[said, odd, world.number]").value == ["too much", True, 2_000]
        assert environment.calls == 1


DIVERGING = [
    ("import posix as os\necho(str(os.getpid()))", r"cell 2 \(odd\): call 1 was \[\"call\",.*run again \[\"call\""),
    (
        "import posix as os\nseen = os.getpid()\nif str(seen) != first():\n    echo('more')",
        r"cell 2 \(odd\): run again, it made another call",
    ),
    (
        "import posix as os\nif str(os.getpid()) == first(True):\n    echo('less')",
        r"cell 2 \(odd\): run again, it ended before call 2",
    ),
    (
        "import posix as os\nif str(os.getpid()) != first():\n    os._exit(0)",
        r"cell 2 \(odd\): run again, it ended its worker",
    ),
    (
        "import posix as os\nif str(os.getpid()) != first():\n    while True:\n        pass",
        r"cell 2 \(odd\): run again, it did not finish",
    ),
]


@pytest.mark.parametrize(("code", "message"), DIVERGING)
def test_a_cell_that_does_otherwise_when_run_again_is_reported(numbered: Sandbox, code: str, message: str) -> None:
    holder: list[Session] = []

    def first(_: bool = False) -> str:
        worker = holder[0]._worker
        assert worker is not None
        return str(worker._pid)

    functions: dict[str, Callable[..., object]] = {"echo": lambda x: x, "first": first}
    with numbered.session(functions, limits=SHORT) as session:
        holder.append(session)
        session.run("x = 1")
        assert session.run(code, "odd").fault is None
        session.run(KILL)
        with pytest.raises(RebuildDiverged, match=message):
            session.run("1")
        session.rewind(1)
        assert session.run("x").value == 1


CELLS = [
    "n = n + world.add()",
    "items.append(random.randrange(100))\nn",
    "items = items + [str({'b', 'a', 'c', str(n)})]",
    "now = time.time()\ntime.sleep(0.01)",
    "world.add(world.number)",
    "world.add('x')",
    "x = (",
    "undefined_name",
    "class A:\n    def __init__(self):\n        self.made = n\nmade = A().made",
]
LOOK = "[n, items, now, made, world.number, random.random(), time.time()]"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(CELLS), max_size=6), st.sets(st.integers(0, 6)))
def test_a_session_is_the_same_however_often_it_was_rebuilt(
    sandbox: Sandbox, cells: list[str], kills: set[int]
) -> None:
    plain, broken = Counter(), Counter()
    with plain.session(sandbox) as one, broken.session(sandbox) as other:
        for session in (one, other):
            session.run("import random, time\nn = 0\nitems = []\nnow = made = None")
        for number, cell in enumerate(cells):
            if number in kills:
                assert other.run(f"n = random.random()\nitems.clear()\n{KILL}").fault is not None
            assert other.run(cell).faults == one.run(cell).faults
        assert other.run(LOOK).value == one.run(LOOK).value
        assert (broken.number, broken.calls) == (plain.number, plain.calls)


def test_a_worker_that_is_seen_to_be_gone_before_its_channel_tells_has_not_used_up_its_time(sandbox: Sandbox) -> None:
    killed: list[int] = []

    def kill_once() -> None:
        if not killed:
            killed.append(worker_of(session))
            os.kill(killed[0], signal.SIGKILL)
            while Path(f"/proc/{killed[0]}").exists():
                time.sleep(0.001)

    with sandbox.session({}, meanwhile=kill_once) as session:
        result = session.run("for number in range(3_000_000):\n    pass\nnumber")
        assert (result.faults, result.value) == ((), 2_999_999)
        assert killed


def test_a_cell_may_wait_longer_when_it_is_run_again(numbered: Sandbox) -> None:
    """As on a machine that is slower by then: only processor time says that it does not end."""
    holder: list[Session] = []

    def first() -> str:
        worker = holder[0]._worker
        assert worker is not None
        return str(worker._pid)

    wait = "import _thread\nimport posix as os\nlock = _thread.allocate_lock()\nlock.acquire()\n"
    with numbered.session({"first": first}, limits=SHORT) as session:
        holder.append(session)
        assert session.run(f"{wait}if str(os.getpid()) != first():\n    lock.acquire(True, 3)").fault is None
        session.run(KILL)
        assert session.run("lock.locked()").value is True
