"""Sessions that are rebuilt after a limit, and sessions that are rewound to a mark.

A mark is the number of cells (pieces of code) that a session had finished. A session is rebuilt in a new worker, which
runs its cells again with the recorded answers of host functions.
"""

import os
import signal
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from planbook.sandbox import Limits, RebuildDiverged, Sandbox, Session
from tests.killing import kill_worker, worker_of
from tests.sandbox.host_functions import World
from tests.sandbox.plans import fault_of

SHORT = Limits(wall_seconds=1, output_chars=200)
KILL = "print('x' * 201)"
"""Ends the cell immediately, since it exceeds the limit of its output."""


def start(sandbox: Sandbox, world: World) -> Session:
    return world.session(sandbox, limits=SHORT, seed="s")


def test_a_session_that_is_rebuilt_after_a_limit_repeats_no_call(sandbox: Sandbox) -> None:
    world = World()
    with start(sandbox, world) as session:
        code = "import random\na = [world.add(2), world.add(), random.random()]\nprint('once')"
        assert session.run(code).fault is None
        fault_of(session, "def f():\n    return world.add(10)\nb = f()\nb / 0")
        assert fault_of(session, f"world.add(100)\na = 'lost'\n{KILL}").type == "output"
        assert (len(world.calls), session.mark()) == (4, 2)
        result = session.run("[a[:2], b, f(), world.number]")
        assert result.value == [[2, 3], 13, 123, 123]
        assert result.output == ""
        assert len(world.calls) == 5


def test_a_rewind_forgets_the_cells_after_the_mark(sandbox: Sandbox) -> None:
    world = World()
    with start(sandbox, world) as session:
        assert session.mark() == 0
        session.run("x = world.add()")
        mark = session.mark()
        session.run("x = world.add(5)\ny = 1")
        assert (mark, session.mark()) == (1, 2)
        world.number = 1
        session.rewind(mark)
        assert session.mark() == 1
        assert len(world.calls) == 2
        assert session.run("[x, world.number]").value == [1, 1]
        assert fault_of(session, "y").type == "NameError"
        session.rewind(0)
        assert fault_of(session, "x").type == "NameError"


def test_an_annotation_may_use_a_name_that_a_rewind_has_undefined(session: Session) -> None:
    assert session.run("class Box: pass").fault is None
    session.rewind(0)
    assert session.run("def look(box: Box): pass\nlook.__annotations__").value == {"box": "Box"}


def test_the_memory_for_names_grows_with_their_number_and_not_with_that_of_cells(session: Session) -> None:
    for number in range(100):
        session.run(f"a{number} = b{number} = 0")
    assert sum(len(cell.names) for cell in session._cells) == 200


@pytest.mark.parametrize("value", [3, 10])
def test_attributes_are_current_after_a_rewind(sandbox: Sandbox, value: int) -> None:
    """10 is also the last value that the host sent before the rewind. It has to be sent again."""
    world = World()
    with start(sandbox, world) as session:
        session.run("world.add(5)")
        session.run("world.add(5)")
        world.number = value
        session.rewind(1)
        assert session.run("world.number").value == value


def test_a_rewind_to_the_last_cell_keeps_the_worker(session: Session) -> None:
    session.run("x = 1")
    worker = worker_of(session)
    session.rewind(1)
    assert worker_of(session) == worker


@pytest.mark.parametrize("mark", [-1, 2])
def test_an_unknown_mark_is_refused(session: Session, mark: int) -> None:
    session.run("x = 1")
    with pytest.raises(ValueError, match=f"mark {mark} does not exist: the session has 1 finished cells"):
        session.rewind(mark)
    assert session.run("x").value == 1


def test_errors_of_functions_are_recorded(sandbox: Sandbox) -> None:
    world = World()
    with start(sandbox, world) as session:
        code = (
            "try:\n    world.add(2_000)\nexcept ValueError as error:\n    message = str(error)\n"
            "try:\n    world.add('x')\nexcept TypeError:\n    odd = True"
        )
        assert session.run(code).fault is None
        session.run(KILL)
        assert session.run("[message, odd, world.number]").value == ["too much", True, 0]
        assert len(world.calls) == 1


class SessionWithWorkerId:
    """A session whose plans can behave differently in another worker, because they know the id of the first one."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.session = sandbox.session({"echo": lambda x: x, "first": self.first}, limits=SHORT)

    def first(self, _: bool = False) -> str:
        return str(worker_of(self.session))


DIVERGING = [
    ("print('process', os.getpid())", r"printed process \d+\n, but when it ran again, process \d+\n"),
    ("os.getpid()", r"ended with ..end.,\d+,.*, but when it ran again, ..end.,\d+,"),
    ("raise ValueError(os.getpid())", "ended with .*ValueError"),
    ("print(os.getpid())\necho('x')", r"printed \d+"),
    ("echo(str(os.getpid()))", r"call 1 was \[\"call\",.*when it ran again, \[\"call\""),
    (
        "seen = os.getpid()\nif str(seen) != first():\n    echo('more')",
        r"ended with \[\"end\",.*when it ran again, \[\"call\",.*more",
    ),
    (
        "if str(os.getpid()) == first(True):\n    echo('less')",
        r"call 2 was \[\"call\",.*less.*when it ran again, \[\"end\"",
    ),
    ("if str(os.getpid()) != first():\n    os._exit(0)", "when it ran again, it ended its worker"),
    ("if str(os.getpid()) != first():\n    while True:\n        pass", "when it ran again, it did not finish"),
]


@pytest.mark.parametrize(("code", "message"), DIVERGING)
def test_a_cell_that_diverges_when_it_is_run_again_is_reported(pid_sandbox: Sandbox, code: str, message: str) -> None:
    with SessionWithWorkerId(pid_sandbox).session as session:
        session.run("import posix as os\nx = 1")
        session.run(code, "odd")
        kill_worker(session)
        with pytest.raises(RebuildDiverged, match=rf"cell 2 \(odd\): {message}"):
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
def test_a_rebuilt_session_is_the_same(sandbox: Sandbox, cells: list[str], kills: set[int]) -> None:
    plain, broken = World(), World()
    with start(sandbox, plain) as one, start(sandbox, broken) as other:
        for session in (one, other):
            session.run("import random, time\nn = 0\nitems = []\nnow = made = None")
        for number, cell in enumerate(cells):
            if number in kills:
                assert other.run(f"n = random.random()\nitems.clear()\n{KILL}").fault is not None
            assert other.run(cell).faults == one.run(cell).faults
        assert other.run(LOOK).value == one.run(LOOK).value
        assert (broken.number, broken.calls) == (plain.number, plain.calls)


def test_a_killed_worker_whose_channel_is_still_open_is_replaced(sandbox: Sandbox) -> None:
    killed: list[int] = []

    def kill_once() -> None:
        if not killed:
            killed.append(worker_of(session))
            os.kill(killed[0], signal.SIGKILL)
            while Path(f"/proc/{killed[0]}").exists():
                time.sleep(0.001)

    with sandbox.session({}, on_wait=kill_once) as session:
        result = session.run("for number in range(3_000_000):\n    pass\nnumber")
        assert (result.faults, result.value) == ((), 2_999_999)
        assert killed


def test_a_cell_may_wait_longer_when_it_is_run_again(pid_sandbox: Sandbox) -> None:
    """On a busy machine a repeated cell may wait longer. It counts as endless only if it uses much processor time."""
    wait = "import _thread\nimport posix as os\nlock = _thread.allocate_lock()\nlock.acquire()\n"
    with SessionWithWorkerId(pid_sandbox).session as session:
        assert session.run(f"{wait}if str(os.getpid()) != first():\n    lock.acquire(True, 3)").fault is None
        session.run(KILL)
        assert session.run("lock.locked()").value is True
