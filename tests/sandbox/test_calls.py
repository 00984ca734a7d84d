"""Calls of host functions by plans: arguments, defaults, errors, answers, and functions as values."""

import os
from collections.abc import Callable, Iterator, Mapping

import pytest
from pydantic import JsonValue

from planbook.sandbox import BadAnswer, BadFunction, FaultKind, Sandbox, Session
from tests.sandbox.host_functions import echo
from tests.sandbox.plans import fault_of, snippets


def test_functions_take_arguments_as_in_plain_python(sandbox: Sandbox) -> None:
    def f(a: int, b: int = 2, *, c: int = 3) -> list[int]:
        return [a, b, c]

    with sandbox.session({"agent.echo": echo, "say": echo, "f": f}) as session:
        assert session.run("agent.echo(1, 'b', c=[2])").value == [1, "b", {"c": [2]}]
        assert session.run("agent.echo(1, self=2)").value == [1, {"self": 2}]
        assert session.run("say(*[1, 2], **{'x': None})").value == [1, 2, {"x": None}]
        assert session.run("list(map(agent.echo, ['a', 'b']))").value == [["a", {}], ["b", {}]]
        assert session.run("g = say\n[g((1, (2,)))]").value == [[[1, [2]], {}]]
        assert session.run("agent").value == "<agent: echo>"
        results = session.run("[f(1), f(1, 5), f(1, c=6), f(b=7, a=8)]").value
        assert results == [[1, 2, 3], [1, 5, 3], [1, 2, 6], [8, 7, 3]]


def test_an_interrupt_tells_which_call_it_interrupted(sandbox: Sandbox) -> None:
    def wait(place: str, **options: int) -> None:
        raise KeyboardInterrupt

    with sandbox.session({"agent.wait": wait}) as session:
        with pytest.raises(KeyboardInterrupt) as interrupt:
            session.run(r"x = '\x1b[31m'" + "\n" + r"agent.wait(x, hours=2, **{'\x1b[2J': 3})")
        shown = r"agent.wait('\x1b[31m', hours=2, \x1b[2J=3)"
        assert interrupt.value.__notes__ == [f"It interrupted {shown}, called in line 2."]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        ("f(1)", "TypeError", "f(): argument 'place' should be a valid string, not int 1"),
        ("f('a', 'b')", "TypeError", "f(): too many positional arguments; call it as f(place: str)"),
        ("f(plce='a')", "TypeError", "f(): missing a required argument: 'place'"),
        ("f({'a'})", "TypeError", "f(): argument 'place' must be str, int, float, bool, None, list or dict"),
        ("f({'a'})", "TypeError", "not set; convert it with list(...)"),
        ("class S(str): pass\nf(S())", "TypeError", "not S; convert it with str(...)"),
        ("class S(int): pass\nf(S())", "TypeError", "not S; convert it with int(...)"),
        ("class S(dict): pass\nf(S())", "TypeError", "not S; convert it with dict(...)"),
        ("f({1: 'a'})", "TypeError", "not a dict with a key of type int"),
        ("f(f)", "TypeError", "not HostFunction"),
        ("f(float('nan'))", "ValueError", "f(): argument 'place' must not contain inf or nan"),
        ("f([1e400])", "ValueError", "f(): argument 'place' must not contain inf or nan"),
        ("f(10**5000)", "ValueError", "f(): argument 'place' Exceeds the limit (4300 digits)"),
        ("f('\\ud800')", "ValueError", "f(): argument 'place' must be text without lone surrogates"),
        ("f('x' * 2_000_000)", "ValueError", "the arguments take 2,000,0"),
        ("a = []\na.append(a)\nf(a)", "ValueError", "must be nested at most 32 levels deep"),
    ],
)
def test_wrong_arguments_never_reach_the_function(sandbox: Sandbox, call: str, kind: str, message: str) -> None:
    received: list[object] = []

    def f(place: str) -> None:
        received.append(place)

    with sandbox.session({"f": f}) as session:
        fault = fault_of(session, call)
        assert (fault.kind, fault.type) == (FaultKind.RAISED, kind)
        assert message in fault.message
        assert session.run("f('a')").fault is None
    assert received == ["a"]


def test_the_host_knows_the_line_of_a_call(sandbox: Sandbox) -> None:
    lines: list[int | None] = []

    def note() -> None:
        lines.append(session.line)

    with sandbox.session({"note": note}) as session:
        session.run("def helper():\n    note()")
        session.run("note()\n\nhelper()\n[note() for _ in range(2)]")
        assert lines == [1, 3, 4, 4]


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
def test_an_exception_of_a_function_reaches_the_plan(sandbox: Sandbox, error: Exception, caught: str) -> None:
    def fail() -> None:
        raise error

    with sandbox.session({"fail": fail}) as session:
        fault = fault_of(session, "fail()")
        assert f"{fault.type}: {fault.message}".startswith(caught)
        result = session.run("try:\n    fail()\nexcept Exception as error:\n    print('caught')")
        assert result.output == "caught\n"
        assert result.fault is None


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
def test_clashing_names_and_values_other_than_json_are_refused(
    sandbox: Sandbox,
    functions: Mapping[str, Callable[..., object]],
    values: dict[str, JsonValue],
    attributes: dict[str, JsonValue],
) -> None:
    with pytest.raises(BadFunction):
        sandbox.session(functions, values=values, attributes=lambda: attributes)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def fails_unprintably() -> None:
    raise Unprintable(1, 2)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (object, r"f: the answer is not JSON: .*; return strings, numbers, lists or dicts"),
        (lambda: 10**5000, "f: the answer contains an integer with more than 4300 digits"),
        (lambda: ["1", {"a": -(10**4300)}], "more than 4300 digits"),
        (fails_unprintably, "raised Unprintable, whose message is unreadable: RuntimeError"),
    ],
)
def test_a_bad_answer_is_an_error_of_the_host(
    sandbox: Sandbox, function: Callable[[], JsonValue], message: str
) -> None:
    with sandbox.session({"f": function}) as session:
        with pytest.raises(BadAnswer, match=message):
            session.run("f()")
        assert session.run("1").value == 1


def test_lone_surrogates_from_the_host_are_replaced(sandbox: Sandbox) -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    functions = {"f": lambda: {name: {name, "\u2603 \U0001f600"}}}
    with sandbox.session(functions, values={"v": name}, attributes=lambda: {"agent.a": [name]}) as session:
        assert session.run("(v, agent.a, sorted(f().popitem()[1]))").value == [
            "caf\ufffd.txt",
            ["caf\ufffd.txt"],
            ["caf\ufffd.txt", "\u2603 \U0001f600"],
        ]


def test_a_text_may_have_more_digits_than_an_integer(sandbox: Sandbox) -> None:
    with sandbox.session({"f": lambda: "1" * 5000}) as session:
        assert session.run("len(f())").value == 5000


PLANS = [plan for plan in snippets("actions") if not str(plan.id).startswith("refused")]
REFUSED = [plan for plan in snippets("actions") if str(plan.id).startswith("refused")]


def go_to(place: str, fast: bool = False) -> str:
    return f"at {place}{'!' if fast else ''}"


def take(thing: str, place: str) -> str:
    if thing == "safe":
        raise ValueError("too heavy")
    return f"{thing} from {place}"


def finish() -> str:
    return "over"


@pytest.fixture
def acting(sandbox: Sandbox) -> Iterator[Session]:
    functions: dict[str, Callable[..., object]] = {"agent.go_to": go_to, "agent.take": take, "finish": finish}
    with sandbox.session(functions) as opened:
        yield opened


@pytest.mark.parametrize("source", PLANS)
def test_actions_can_be_used_as_values(acting: Session, source: str) -> None:
    assert acting.run(source).fault is None


@pytest.mark.parametrize("source", REFUSED)
def test_misused_actions_are_refused(acting: Session, source: str) -> None:
    plan, _, message = source.strip().rpartition("\n# ")
    assert message in fault_of(acting, plan).message
