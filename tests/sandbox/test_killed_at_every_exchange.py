"""Workers are killed at every exchange of a plan with its host. The session is rebuilt, and no call is repeated.

PLANBOOK_KILLED_PLANS sets the number of plans that are tried.
"""

import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from pydantic import JsonValue

from planbook.sandbox import CellResult, Limits, RebuildDiverged, Sandbox, Session, WorkersKilled
from planbook.sandbox.process import MAX_KILLS
from tests.executing import children, kernel_reports_kills
from tests.killing import KILL_MOMENTS, KillMoment, Reaper, kill_worker, state_code, worker_of
from tests.sandbox.host_functions import World
from tests.sandbox.plans import fault_of

PLANS = int(os.environ.get("PLANBOOK_KILLED_PLANS", "30"))
LIMITS = Limits(wall_seconds=5)
NAMES = ("n", "items", "words", "make", "stream", "held", "fault", "Box", "boxes", "table", "again")
BEGIN = """
import random, time
n, items, words, held, fault, boxes, table = 0, [], {'left', 'right', 'up', 'down'}, None, '', [], {}
def counted():
    total = 0
    while True:
        total += world.add(1)
        yield total
stream = counted()
def make(start):
    def again(step=1):
        nonlocal start
        start += step + world.number
        return start
    return again
again = make(10)
class Box:
    def __init__(self, content):
        self.content = content
    def __repr__(self):
        return f'Box({self.content!r})'
"""
SNIPPETS = [
    "n += world.add({0})",
    "items.append(random.randrange(1_000))",
    "random.shuffle(items)\nprint(items)",
    "words.add(str(random.random()))\nprint(*words)",
    "words = words | {{f'w{{k}}' for k in range({0})}}\nfor word in words:\n    held = world.tell(word)",
    "held = [next(stream), next(stream)]\nprint('held', held)",
    "print(again(), again(step={0}))",
    "boxes = [Box(each) for each in [world.number, time.time(), *items[:2]]]",
    "table[str({0})] = {{'now': time.time(), 'seen': world.number}}",
    "time.sleep(0.{0})",
    "try:\n    world.add(5_000)\nexcept ValueError as error:\n    fault = str(error)\n    print(fault)",
    "try:\n    world.add('x')\nexcept TypeError as error:\n    fault = repr(error)",
    "for k in range({0}):\n    print('x' * 500, k)\nitems = items[-3:]",
    "for k in range(60_000):\n    n = (n * 31 + k) % 10_007",
    "print(object(), make, stream, [Box])",
    "held = sorted(map(world.add, [1, 2, {0}]))",
    "n = 1 // (n - n)",
    "missing_name",
    "(n, items[:2], time.time())",
]
STATEMENT = st.builds(lambda code, number: code.format(number), st.sampled_from(SNIPPETS), st.integers(1, 6))
CELLS = st.lists(st.lists(STATEMENT, min_size=1, max_size=4).map("\n".join), min_size=1, max_size=4)


def played(sandbox: Sandbox, reaper: Reaper, cells: list[str]) -> list[object]:
    """Return the results of cells without the seconds, and the state at the end."""
    world = World()
    settings: dict[str, Any] = {"attributes": world.attributes, "limits": LIMITS, "seed": "plans"}
    with reaper.open(sandbox.session, world.functions(), **settings) as session:
        results = [plain(session.run(code)) for code in [BEGIN, *cells, state_code(NAMES)]]
    return [*results, world.number, reaper.completed_calls, reaper.final_states]


def plain(result: CellResult) -> CellResult:
    return replace(result, seconds=0.0)


ALL_KINDS = [snippet.format(2) for snippet in SNIPPETS]


@pytest.mark.deep
@settings(max_examples=PLANS, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(cells=ALL_KINDS, deaths=dict.fromkeys(range(100), "asked"))
@example(cells=ALL_KINDS, deaths=dict.fromkeys(range(100), "answered"))
@example(cells=ALL_KINDS, deaths=dict.fromkeys(range(100), "sent"))
@example(cells=ALL_KINDS, deaths=dict.fromkeys(range(100), "computing"))
@example(cells=ALL_KINDS, deaths=dict.fromkeys(range(100), "between"))
@given(cells=CELLS, deaths=st.dictionaries(st.integers(0, 20), st.sampled_from(KILL_MOMENTS), min_size=1, max_size=6))
def test_whenever_workers_are_killed_the_session_stays_the_same(
    sandbox: Sandbox, cells: list[str], deaths: dict[int, KillMoment]
) -> None:
    assert played(sandbox, Reaper(deaths.get), cells) == played(sandbox, Reaper(), cells)


every_how = pytest.mark.parametrize(
    "how", [pytest.param(how, marks=[pytest.mark.deep] * (how != "computing")) for how in KILL_MOMENTS]
)


@every_how
def test_a_plan_finishes_even_if_every_call_kills_a_worker(sandbox: Sandbox, how: KillMoment) -> None:
    cells = [
        "numbers = [world.add(k) for k in range(12)]\nfor k in range(6_000_000):\n    pass\nprint(numbers)",
        "print(sum(map(world.add, range(12))))",
    ]
    reaper = Reaper(lambda number: how)
    assert played(sandbox, reaper, cells) == played(sandbox, Reaper(), cells)
    assert reaper.kill_count >= {"computing": 1, "between": 2}.get(how, 24)


def test_a_session_whose_workers_are_killed_can_be_rewound(sandbox: Sandbox) -> None:
    states = []
    for deaths in (Reaper(), Reaper(lambda number: KILL_MOMENTS[number % len(KILL_MOMENTS)])):
        world = World()
        with deaths.open(sandbox.session, world.functions(), attributes=world.attributes) as session:
            session.run("import random\nx = [world.add(1), random.random()]")
            mark = session.mark()
            for _ in range(3):
                session.run("x += [world.add(2), random.random()]")
                world.number = 1
                kill_worker(session)
                session.rewind(mark)
                session.run("x += [random.random(), world.number]")
                kill_worker(session)
        states.append((world.number, deaths.completed_calls, deaths.final_states))
    assert states[0] == states[1]


def nested(sandbox: Sandbox, reaper: Reaper, depth: int) -> list[object]:
    """Return the result of a plan that runs two plans on each level."""
    world = World()

    def down(level: int) -> list[object]:
        functions = {**world.functions(), "down": down}
        code = "import random\ngot = [world.add(1), random.random()]\n"
        code += f"got += [down({level - 1}), world.add(2), down({level - 1})]\n" if level else ""
        with reaper.open(sandbox.session, functions, attributes=world.attributes, seed=level) as session:
            return [plain(session.run(f"{code}print(got, world.add(3))\ngot")).value, session.output]

    return [down(depth), world.number, reaper.completed_calls, reaper.final_states]


@every_how
def test_plans_inside_plans_are_killed_on_every_level(sandbox: Sandbox, how: KillMoment) -> None:
    assert nested(sandbox, Reaper(lambda number: how), 2) == nested(sandbox, Reaper(), 2)


def test_a_session_survives_when_all_workers_are_killed_together(sandbox: Sandbox) -> None:
    """The workers are those of two plans, one inside the other, and the idle ones."""

    def strike() -> str:
        for worker in [worker for zygote in children(os.getpid()) for worker in children(zygote)]:
            with suppress(ProcessLookupError):  # it has ended with its pid namespace
                os.kill(worker, signal.SIGKILL)
        return "struck"

    def run() -> JsonValue:
        return inner.run("[strike(), kept]").value

    with sandbox.session({"strike": strike}) as inner, sandbox.session({"run": run}) as outer:
        inner.run("kept = 1")
        outer.run("kept = 2")
        assert outer.run("print('before')\n[run(), kept]").value == [["struck", 1], 2]
        assert outer.output == "before\n"


class Hunter(threading.Thread):
    """Kills this number of workers of a session, each a few milliseconds after it has started."""

    def __init__(self, session: Session, kills: int) -> None:
        super().__init__()
        self._session, self._kills, self.killed = session, kills, [worker_of(session)]

    def run(self) -> None:
        while len(self.killed) < self._kills:
            if (worker := worker_of(self._session)) not in (0, self.killed[-1]):
                time.sleep(0.005)
                os.kill(worker, signal.SIGKILL)
                self.killed.append(worker)


def test_workers_killed_while_they_are_rebuilt_are_replaced(sandbox: Sandbox) -> None:
    """Each worker is killed before it has repeated the first cell."""
    with sandbox.session({}) as session:
        session.run("import random\nfor k in range(2_000_000):\n    pass\nkept = [k, random.random()]")
        expected = session.run("kept").value
        hunter = Hunter(session, MAX_KILLS if kernel_reports_kills() else 2)
        kill_worker(session)
        hunter.start()
        assert session.run("kept").value == expected
        hunter.join()


def test_no_call_is_repeated_when_a_worker_is_killed_while_it_is_rebuilt(sandbox: Sandbox) -> None:
    """The second worker is killed while it repeats the calls that the first one had made."""
    world, hunters = World(), list[Hunter]()

    def add(n: int) -> int:
        """Add a number. The second call kills this worker, and then the next one."""
        if n == 2:
            hunters.append(Hunter(session, 2))
            kill_worker(session)
            hunters[0].start()
        return world.add(n)

    with sandbox.session({"add": add}) as session:
        code = "got = [add(1)]\nfor k in range(2_000_000):\n    pass\ngot += [add(2), add(10)]\ngot"
        assert session.run(code).value == [1, 3, 13]
    assert world.number == 13
    assert hunters[0].killed[1:]
    hunters[0].join()


LONG = "started = world.add(1)\nfor k in range(20_000_000):\n    pass\nk"


@pytest.mark.parametrize("kills", [1, MAX_KILLS - 1, MAX_KILLS])
def test_a_cell_whose_workers_are_killed_at_the_same_place_is_given_up(sandbox: Sandbox, kills: int) -> None:
    """If the kernel does not report who ended a worker, a second death at the same place is the plan's fault."""
    world, killed = World(), list[int]()

    def kill() -> None:  # on a busy machine, the host may call this again before it sees that the worker is dead
        worker = worker_of(session)
        if worker and worker not in killed and len(killed) < kills:
            killed.append(worker)
            kill_worker(session)

    with sandbox.session({"world.add": world.add}, on_wait=kill) as session:
        if not kernel_reports_kills() and kills > 1:
            assert fault_of(session, LONG).type == "crashed"
        elif kills == MAX_KILLS:
            with pytest.raises(WorkersKilled, match="5 workers in a row were killed from outside at the same place in"):
                session.run(LONG)
        else:
            assert session.run(LONG).value == 19_999_999
        assert world.number == 1
        assert session.run("1 + 1").value == 2


def test_a_plan_that_ends_its_workers_is_at_fault_even_if_others_were_killed(unguarded: Sandbox) -> None:
    world = World()
    deaths: dict[int, KillMoment] = {0: "asked"}
    with Reaper(deaths.get).open(unguarded.session, {"add": world.add}) as session:
        fault = fault_of(session, "import posix as os\nprint('so far')\nadd(1)\nos._exit(0)")
        assert (fault.type, session.output, world.number) == ("crashed", "so far\n", 1)


@pytest.mark.parametrize("wait", [False, True])
def test_a_killed_zygote_is_not_the_fault_of_the_plan(wait: bool) -> None:
    """A zygote is the process that workers are forked from. Every session continues with workers of a new one."""
    with Sandbox() as own:

        def strike() -> None:
            own._zygote._process.kill()
            if wait:
                own._zygote._process.wait()

        world = World()
        with own.session({"strike": strike, "add": world.add}) as session, own.session({}) as other:
            drawn = other.run("import random\nnumbers = [random.random()]\nnumbers").value
            assert session.run("kept = [add(1)]").fault is None
            assert session.run("strike()\nkept.append(add(2))\nstrike()\nkept").value == [1, 3]
            assert (world.number, other.run("numbers").value) == (3, drawn)


@pytest.mark.deep
def test_zygotes_killed_while_a_plan_computes_are_not_the_fault_of_the_plan() -> None:
    """If the parent of a process is gone, the kernel may not report how the process ended."""
    with Sandbox() as own, own.session({}, limits=Limits(wall_seconds=60)) as session:

        def strike() -> None:
            own._zygote._process.kill()

        for seconds in (0.2, 0.6, 1.0):
            threading.Timer(seconds, strike).start()
        assert session.run("n = 0\nfor n in range(40_000_000):\n    pass\nn").value == 39_999_999


@pytest.mark.parametrize(
    "odd", ["print(os.getpid())\nadd(1)", "add(os.getpid())", "if os.getpid() == process:\n    add(1)"]
)
def test_a_running_cell_that_diverges_makes_no_more_calls(pid_sandbox: Sandbox, odd: str) -> None:
    """Its worker is killed at the second call. The repeated cell behaves differently, so its third call is refused."""
    world = World()
    deaths: dict[int, KillMoment] = {1: "answered"}
    with Reaper(deaths.get).open(pid_sandbox.session, {"add": world.add}) as session:
        code = f"import posix as os\nif add(0) == 0:\n    process = {worker_of(session)}\n{odd}\nadd(100)"
        with pytest.raises(RebuildDiverged, match=r"cell 1 \(cell\): "):
            session.run(code)
        assert world.number != 101


def test_a_plan_that_crashes_and_then_diverges_is_at_fault(pid_sandbox: Sandbox) -> None:
    processes: list[int] = []

    def tell(process: int) -> None:
        processes.append(process)

    with pid_sandbox.session({"tell": tell}) as session:
        fault = fault_of(session, "import posix as os\ntell(os.getpid())\nos._exit(0)")
        assert (fault.type, len(processes)) == ("crashed", 1)
        assert "call 1 was" in fault.message
        assert session.run("tell(1)").fault is None


def test_after_a_cell_that_ended_its_worker_a_plan_that_diverges_is_at_fault(pid_sandbox: Sandbox) -> None:
    with pid_sandbox.session({}) as session:
        assert session.run("import posix as os\nos.getpid()").fault is None
        for code in ("os._exit(0)", "1", "2"):
            fault = fault_of(session, code)
            assert fault.type == "crashed"
            assert "ended with" in fault.message
        session.rewind(0)
        assert session.run("1").value == 1


def test_addresses_of_objects_are_not_shown(session: Session) -> None:
    result = session.run("class Box:\n    pass\ndef f():\n    yield\nprint([Box()], f, f())\nraise ValueError(Box())")
    assert result.output == "[<__main__.Box object at 0x...>] <function f at 0x...> <generator object f at 0x...>\n"
    assert result.fault is not None
    assert result.fault.message == "<__main__.Box object at 0x...>"
    assert session.run("{'held': Box().__class__()}").value == "{'held': <__main__.Box object at 0x...>}"
    result = session.run("print('meet me at 0xdeadbeef')\n'at 0x123456 and <at 0x12>'")
    assert (result.output, result.value) == ("meet me at 0xdeadbeef\n", "at 0x123456 and <at 0x12>")


BY_ADDRESS = """
class Box:
    def __init__(self, number):
        self.number = number
boxes = {Box(number) for number in range(60)}
asked = [tell('x' * 3_000 * number) for number in range(4)]
boxes |= {Box(number) for number in range(300)}
order = [box.number for box in boxes]
"""


def test_an_order_by_addresses_is_restored_or_reported(sandbox: Sandbox) -> None:
    """Objects that define no hash may have a different order in the sets of another worker."""
    for how in KILL_MOMENTS:
        deaths: dict[int, KillMoment] = {1: how}
        with Reaper(deaths.get).open(sandbox.session, {"tell": lambda text: text}, seed=how) as session:
            try:
                before = session.run(f"{BY_ADDRESS}\nprint(order)\norder").value
                kill_worker(session)
                assert session.run("order").value == before
            except RebuildDiverged:
                session.rewind(0)
