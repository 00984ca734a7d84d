"""Sessions as their users see them: functions, attributes, values, faults, nesting, and nothing left open."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

import sandbox as package
from sandbox import (
    BadAnswer,
    BadFunction,
    FaultKind,
    Limits,
    Sandbox,
    SandboxClosed,
    Session,
    SessionBusy,
    WorkerFailed,
)

ROOT = Path(package.__file__).parent.parent


class EpisodeOver(BaseException):
    """As a host function raises it to end everything at once."""


def echo(*args: JsonValue, **kwargs: JsonValue) -> JsonValue:
    return [*args, kwargs]


def children(pid: int) -> list[int]:
    """The living children of a process's main thread; zombies count."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def settles(look: Callable[[], object], expected: object, seconds: float = 5.0) -> bool:
    """Whether something becomes what is expected before long."""
    end = time.monotonic() + seconds
    while look() != expected:
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() and "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()


# --- one namespace across cells


def test_names_live_on_from_cell_to_cell(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        assert session.run("def double(x):\n    return 2 * x\ny = 4").fault is None
        assert session.run("double(y)").value == 8
        assert session.run("y = y + 1\nprint(y, 'is y')").output == "5 is y\n"


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("1", 1),
        ("'a' + 'é'", "aé"),
        ("(1, [2.5, None], {'a': True})", [1, [2.5, None], {"a": True}]),
        ("{1: 2}", "{1: 2}"),
        ("{1}", "{1}"),
        ("float('nan')", "nan"),
        ("'\\ud800'", "'\\ud800'"),
        ("x = 1", None),
        ("", None),
        ("# nothing", None),
        ("'x' * 300_000", "'" + "x" * 9_999 + "..."),
        ("[0] * 200_000", "[" + "0, " * 3_333 + "..."),
        ("a = []\na.append(a)\na", "[[...]]"),
    ],
)
def test_the_value_is_that_of_the_final_expression(sandbox: Sandbox, code: str, value: JsonValue) -> None:
    with sandbox.session({}) as session:
        assert session.run(code).value == value


def test_a_value_whose_text_cannot_be_made_is_no_fault(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        result = session.run("class A:\n    def __repr__(self):\n        return 1 / 0\nA()")
        assert result.value == "<A whose text could not be made: ZeroDivisionError>"
        assert result.fault is None


def test_two_sessions_share_nothing(sandbox: Sandbox) -> None:
    with sandbox.session({}) as one, sandbox.session({}) as other:
        one.run("x = 1")
        fault = other.run("x").fault
        assert fault is not None
        assert fault.type == "NameError"


# --- functions


def test_functions_are_called_as_python_calls_them(sandbox: Sandbox) -> None:
    with sandbox.session({"agent.echo": echo, "say": echo}) as session:
        assert session.run("agent.echo(1, 'b', c=[2])").value == [1, "b", {"c": [2]}]
        assert session.run("say(*[1, 2], **{'x': None})").value == [1, 2, {"x": None}]
        assert session.run("list(map(agent.echo, ['a', 'b']))").value == [["a", {}], ["b", {}]]
        assert session.run("f = say\n[f((1, (2,)))]").value == [[[1, [2]], {}]]
        assert session.run("agent").value == "<agent: echo>"


def test_defaults_are_the_functions_own(sandbox: Sandbox) -> None:
    def f(a: int, b: int = 2, *, c: int = 3) -> list[int]:
        return [a, b, c]

    with sandbox.session({"f": f}) as session:
        assert session.run("[f(1), f(1, 5), f(1, c=6), f(b=7, a=8)]").value == [
            [1, 2, 3],
            [1, 5, 3],
            [1, 2, 6],
            [8, 7, 3],
        ]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        ("f(1)", "TypeError", "f(): argument 'place' should be a valid string, not int 1"),
        ("f('a', 'b')", "TypeError", "f(): too many positional arguments; it is f(place: str)"),
        ("f()", "TypeError", "f(): missing a required argument: 'place'"),
        ("f(plce='a')", "TypeError", "f(): missing a required argument: 'place'"),
        ("f({'a'})", "TypeError", "f(): argument 'place' must be str, int, float, bool, None, list or dict"),
        ("f({1: 'a'})", "TypeError", "not a dict with a key of type int"),
        ("f(f)", "TypeError", "not HostFunction"),
        ("f(float('nan'))", "ValueError", "f(): argument 'place'"),
        ("f('\\ud800')", "ValueError", "f(): argument 'place' must be text without lone surrogates"),
        ("f('x' * 100_001)", "ValueError", "at most 100000"),
        ("f('x' * 2_000_000)", "ValueError", "the arguments are too long"),
        (
            "a = []\na.append(a)\nf(a)",
            "ValueError",
            "f(): argument 'place' lists and dicts may be nested at most 32 deep",
        ),
        ("f(10 ** 30)", "ValueError", "64 bits"),
    ],
)
def test_odd_arguments_never_reach_the_function(sandbox: Sandbox, call: str, kind: str, message: str) -> None:
    called: list[object] = []

    def f(place: str) -> None:
        called.append(place)

    with sandbox.session({"f": f}) as session:
        fault = session.run(call).fault
        assert fault is not None
        assert (fault.kind, fault.type) == (FaultKind.RAISED, kind)
        assert message in fault.message
        assert not called
        assert session.run("f('a')").fault is None
        assert called == ["a"]


class Odd(ValueError):
    pass


@pytest.mark.parametrize(
    ("error", "caught"),
    [
        (ValueError("no such place"), "ValueError: no such place"),
        (KeyError("desk"), "KeyError: 'desk'"),
        (FileNotFoundError(2, "gone"), "FileNotFoundError: [Errno 2] gone"),
        (Odd("odd"), "RuntimeError: odd"),
        (MemoryError("host"), "RuntimeError: host"),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), "RuntimeError: 'utf-8' codec can't decode byte 0x78"),
        (ValueError("a \ud800"), "ValueError: a \\ud800"),
    ],
)
def test_what_a_function_raises_reaches_the_plan(sandbox: Sandbox, error: Exception, caught: str) -> None:
    def fail() -> None:
        raise error

    with sandbox.session({"fail": fail}) as session:
        fault = session.run("fail()").fault
        assert fault is not None
        assert f"{fault.type}: {fault.message}".startswith(caught)
        result = session.run("try:\n    fail()\nexcept Exception as error:\n    print('caught')")
        assert result.output == "caught\n"
        assert result.fault is None


def test_an_answer_that_is_not_json_is_the_hosts_own_error(sandbox: Sandbox) -> None:
    with sandbox.session({"f": lambda: object()}) as session:
        with pytest.raises(BadAnswer, match="f: the answer is not JSON"):
            session.run("f()")
        assert session.run("1").value == 1


@pytest.mark.parametrize(
    ("functions", "values", "attributes"),
    [
        ({"agent.go": echo, "agent": echo}, {}, {}),
        ({"agent.go": echo}, {"agent": {}}, {}),
        ({"agent.go": echo}, {}, {"agent.go": 1}),
        ({"f": echo}, {"f": 1}, {}),
        ({}, {"a.b": 1}, {}),
        ({}, {"_a": 1}, {}),
        ({}, {}, {"location": 1}),
        ({}, {"a": object()}, {}),
    ],
)
def test_names_that_clash_and_values_that_are_not_json_are_refused(
    sandbox: Sandbox,
    functions: Mapping[str, Callable[..., object]],
    values: dict[str, JsonValue],
    attributes: dict[str, JsonValue],
) -> None:
    with pytest.raises(BadFunction):
        sandbox.session(functions, values=values, attributes=lambda: attributes)


# --- attributes and values


def test_attributes_are_refreshed_with_every_answer_and_every_cell(sandbox: Sandbox) -> None:
    now: dict[str, JsonValue] = {"agent.location": "desk_1", "agent.bag": [], "lamp.on": False}

    def go_to(place: str) -> None:
        now["agent.location"] = place
        now["agent.bag"].append(place)  # type: ignore[union-attr, arg-type]

    with sandbox.session({"agent.go_to": go_to}, attributes=lambda: now) as session:
        look = "[agent.location, agent.bag, lamp.on]"
        assert session.run(look).value == ["desk_1", [], False]
        assert session.run(f"agent.go_to('shelf')\n{look}").value == ["shelf", ["shelf"], False]
        now["lamp.on"] = True
        assert session.run(look).value == ["shelf", ["shelf"], True]
        fault = session.run("agent.location = 'here'").fault
        assert fault is not None
        assert "read-only" in fault.message
        assert session.run(look).value == ["shelf", ["shelf"], True]


def test_attributes_are_refreshed_when_a_function_raises(sandbox: Sandbox) -> None:
    now: dict[str, JsonValue] = {"agent.tries": 0}

    def fail() -> None:
        now["agent.tries"] = 1
        raise ValueError("no")

    with sandbox.session({"agent.fail": fail}, attributes=lambda: now) as session:
        assert session.run("try:\n    agent.fail()\nexcept ValueError:\n    pass\nagent.tries").value == 1


def test_values_are_records_and_fresh_objects(sandbox: Sandbox) -> None:
    values: dict[str, JsonValue] = {"task": {"goal": "g", "params": {"object": "mug"}}, "places": ["a", "b"]}
    with sandbox.session({}, values=values) as session:
        assert session.run("[task.goal, task['goal'], task.params['object'], len(places)]").value == [
            "g",
            "g",
            "mug",
            2,
        ]
        assert session.run("task.params['object'] = 'cup'\nplaces.append('c')").fault is None
        for change in ("task.goal = 'h'", "del task.goal", "task['goal'] = 'h'", "task.new = 1"):
            assert session.run(change).fault is not None, change
        fault = session.run("task.gaol").fault
        assert fault is not None
        assert fault.hint == "did you mean `goal`?"
    assert values == {"task": {"goal": "g", "params": {"object": "mug"}}, "places": ["a", "b"]}


# --- time and chance


def test_time_is_logical_and_the_hosts(sandbox: Sandbox) -> None:
    with sandbox.session({"act": echo}) as session:
        began = time.monotonic()
        result = session.run(
            "import time\na = time.time()\nb = time.time()\nact()\nc = time.time()\ntime.sleep(5)\n[a, b, c, time.time()]"
        )
        assert time.monotonic() - began < 2
        assert result.fault is None
        assert isinstance(result.value, list)
        first = 946684800.0
        expected = [first + 1e-6, first + 2e-6, first + 1 + 3e-6, first + 6 + 4e-6]
        assert result.value == pytest.approx(expected, abs=2e-7, rel=0)


def test_chance_follows_the_seed(sandbox: Sandbox) -> None:
    def draw(seed: str | int) -> JsonValue:
        with sandbox.session({}, seed=seed) as session:
            return session.run("import random\n[random.random(), random.randrange(1000)]").value

    assert draw("a") == draw("a")
    assert draw("a") != draw("b")
    assert draw(7) == draw(7)


# --- faults


def test_a_fault_shows_the_plans_line_its_source_and_a_hint(sandbox: Sandbox) -> None:
    with sandbox.session({"agent.go_to": echo}) as session:
        fault = session.run("x = 1\n\nagent.goto('desk')\n").fault
        assert fault is not None
        assert (fault.line, fault.source, fault.type) == (3, "agent.goto('desk')", "AttributeError")
        assert fault.hint == "did you mean `go_to`?"
        fault = session.run("agnet.go_to('desk')").fault
        assert fault is not None
        assert fault.hint == "did you mean `agent`?"


def test_a_fault_in_an_earlier_cells_function_names_both_places(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        session.run("def inner(x):\n    return 1 / x\ndef outer(x):\n    return inner(x)", "helpers")
        fault = session.run("a = 1\nb = outer(0)", "main").fault
        assert fault is not None
        assert (fault.line, fault.source) == (2, "b = outer(0)")
        assert fault.message == "division by zero (in inner(), line 2 of helpers: return 1 / x)"


def test_the_innermost_line_of_the_cell_itself_counts(sandbox: Sandbox) -> None:
    with sandbox.session({"f": echo}) as session:
        fault = session.run("def go():\n    f({1})\n\ngo()").fault
        assert fault is not None
        assert (fault.line, fault.source) == (2, "    f({1})")
        assert "worker" not in str(fault)


def test_code_that_does_not_parse_says_where(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        fault = session.run("x = 1\ny = (2\n").fault
        assert fault is not None
        assert (fault.kind, fault.line, fault.column, fault.source) == (FaultKind.CHECK, 2, 4, "y = (2")
        for code in ("\0", "x = '\ud800'", "(" * 5_000, "-" * 50_000 + "1", "return 1", "x = 1\n  y = 2"):
            fault = session.run(code).fault
            assert fault is not None, code[:20]
            assert fault.kind is FaultKind.CHECK, code[:20]
        assert session.run("1 + 1").value == 2
        assert session.mark() == 1


@pytest.mark.parametrize("raised", ["SystemExit(3)", "KeyboardInterrupt()", "GeneratorExit()", "BaseException('x')"])
def test_no_exception_of_a_plan_ends_its_session(sandbox: Sandbox, raised: str) -> None:
    with sandbox.session({}) as session:
        session.run("kept = 1")
        fault = session.run(f"raise {raised}").fault
        assert fault is not None
        assert (fault.kind, fault.type) == (FaultKind.RAISED, raised.partition("(")[0])
        assert session.run("kept").value == 1


def test_deep_recursion_is_an_exception_like_any_other(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        fault = session.run("def f(n):\n    return f(n + 1)\nf(0)").fault
        assert fault is not None
        assert (fault.type, fault.line) == ("RecursionError", 2)


def test_an_exceptions_text_may_be_as_odd_as_it_likes(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        fault = session.run("class E(Exception):\n    def __str__(self):\n        return 1 / 0\nraise E()").fault
        assert fault is not None
        assert fault.type == "E"
        fault = session.run("raise ValueError('x' * 1_000_000 + '\\ud800')").fault
        assert fault is not None
        assert len(fault.message) < 5_000


# --- host functions that run plans, and that end them


def nest(sandbox: Sandbox, depth: int, bottom: Callable[[], object]) -> object:
    """Run a plan that runs a plan ... ``depth`` levels deep, with ``bottom`` called in the innermost."""
    if depth == 0:
        return bottom()
    with sandbox.session({"down": lambda: nest(sandbox, depth - 1, bottom)}, limits=Limits(wall_seconds=2)) as session:
        result = session.run("x = down()\nx")
        assert not result.faults, result
        return result.value


def test_plans_run_inside_plans_while_the_outer_clocks_stand_still(sandbox: Sandbox) -> None:
    def slow() -> str:
        time.sleep(2.5)
        return "from below"

    assert nest(sandbox, 4, slow) == "from below"


def test_an_end_from_below_unwinds_four_levels_and_leaves_nothing_open() -> None:
    def over() -> None:
        raise EpisodeOver

    with Sandbox() as own:
        zygote = own._zygote._process.pid
        settles(lambda: len(children(zygote)), 1)
        before = sorted(os.listdir("/proc/self/fd"))
        for _ in range(3):
            with pytest.raises(EpisodeOver):
                nest(own, 4, over)
        assert sorted(os.listdir("/proc/self/fd")) == before
        assert settles(lambda: len(children(zygote)), 1)
    assert not alive(zygote)


def test_what_was_printed_before_the_end_is_kept(sandbox: Sandbox) -> None:
    def over() -> None:
        raise EpisodeOver

    with sandbox.session({"over": over, "f": echo}) as session:
        assert session.run("kept = 5").fault is None
        with pytest.raises(EpisodeOver):
            session.run("print('so far')\nkept = 6\nf()\ntry:\n    over()\nexcept BaseException:\n    print('no')")
        assert session.output == "so far\n"
        assert session.mark() == 1
        assert session.run("kept").value == 5
        assert session.output == ""


def test_a_plan_cannot_catch_the_end(unguarded: Sandbox) -> None:
    reached: list[str] = []

    def over() -> None:
        raise EpisodeOver

    with unguarded.session({"over": over, "note": reached.append}) as session:
        with pytest.raises(EpisodeOver):
            session.run("try:\n    over()\nfinally:\n    note('after the end')")
    assert not reached


def test_a_session_is_not_used_from_within_itself(sandbox: Sandbox) -> None:
    holder: list[Session] = []
    with sandbox.session({"again": lambda: holder[0].run("1").value}) as session:
        holder.append(session)
        with pytest.raises(SessionBusy, match="a session of its own"):
            session.run("again()")
        assert session.run("2").value == 2


def test_a_closed_session_and_a_closed_sandbox_say_so() -> None:
    own = Sandbox()
    session = own.session({})
    left_open = own.session({})
    session.close()
    session.close()
    for use in (lambda: session.run("1"), lambda: session.rewind(0)):
        with pytest.raises(SandboxClosed):
            use()
    own.close()
    own.close()
    with pytest.raises(SandboxClosed):
        own.session({})
    fault = left_open.run("1").fault
    assert fault is not None
    assert fault.type == "crashed"
    with pytest.raises(WorkerFailed):
        left_open.run("1")
    left_open.close()


def test_many_threads_share_one_sandbox(sandbox: Sandbox) -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        for turn in range(5):
            with sandbox.session({"mine": lambda: number}, seed=number) as session:
                value = session.run(f"[mine() for _ in range(20)] + [{turn}]").value
                if value != [number] * 20 + [turn]:
                    wrong.append(value)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_sandbox_outlives_the_thread_that_opened_it() -> None:
    opened: list[Sandbox] = []
    thread = threading.Thread(target=lambda: opened.append(Sandbox()))
    thread.start()
    thread.join()
    with opened[0] as own, own.session({}) as session:
        time.sleep(0.1)
        assert session.run("1 + 1").value == 2


def test_a_dead_zygote_is_reported() -> None:
    with Sandbox() as own:
        own._zygote._process.kill()
        own._zygote._process.wait()
        with pytest.raises(WorkerFailed, match="open a new sandbox"):
            own.session({}).run("1")


HOST = """
import sys, time
from sandbox import Sandbox
sandbox = Sandbox()
session = sandbox.session({"ready": lambda: print(sandbox._zygote._process.pid, session._worker._pid, flush=True)})
session.run("ready()\\nwhile True:\\n    pass")
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_outlives_the_host(how: signal.Signals) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", HOST], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert host.stdout is not None
    with host, host.stdout:
        pids = [int(word) for word in host.stdout.readline().split()]
        assert len(pids) == 2
        family = {*pids, *children(pids[0])}
        assert all(map(alive, family))
        host.send_signal(how)
        host.wait()
        assert settles(lambda: [pid for pid in family if alive(pid)], [])


def test_the_zygote_holds_nothing_of_the_host(unguarded: Sandbox) -> None:
    with unguarded.session({}) as session:
        environment = session.run("import os, sys\ndict(os.environ)").value
        assert environment in ({"PYTHONHASHSEED": "0"}, {"PYTHONHASHSEED": "0", "LC_CTYPE": "C.UTF-8"})  # PEP 538
        assert session.run("[m for m in sys.modules if 'pydantic' in m]").value == []
        hosts = session.run("[m for m in sys.modules if m.partition('.')[0] == 'sandbox']").value
        assert isinstance(hosts, list)
        assert not {"sandbox.session", "sandbox.host", "sandbox.types", "sandbox.functions"} & set(map(str, hosts))


def test_every_public_name_is_listed_once_in_order() -> None:
    assert package.__all__ == sorted(set(package.__all__))
    assert all(hasattr(package, name) for name in package.__all__)
