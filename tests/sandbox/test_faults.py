"""Faults of plans, which are reported with the line of the plan."""

import pytest

from planbook.sandbox import FaultKind, Limits, Sandbox, Session
from tests.sandbox.host_functions import echo
from tests.sandbox.plans import fault_of

SLOTS = "class A:\n    __slots__ = ('desk',)\n"
NAME_WITH_CODE = (
    "class S(str):\n    def __eq__(self, other): print('asked')\n    __hash__ = str.__hash__\n"
    "raise NameError('x', name=S('prin'))"
)
HALF_OF_A_PAIR = "class A: pass\na = A()\nvars(a)['ab\\ud800'] = 1\nraise AttributeError('x', name='abc', obj=a)"


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("agnet.go_to('desk')", "did you mean `agent`?"),
        (f"{SLOTS}A().desk", ""),
        (f"{SLOTS}A().desk1", "did you mean `desk`?"),
        ("del agent\nagent.go_to('desk')", ""),
        ("prnt(1)", "did you mean `print`?"),
        ("[].__reduce__", "use copy.copy(x), "),
        ("return 1", "let it run to its end"),
        (NAME_WITH_CODE, ""),
        (HALF_OF_A_PAIR, "did you mean `ab\\ud800`?"),
    ],
)
def test_a_hint_is_useful_or_missing_and_runs_no_plan_code(sandbox: Sandbox, code: str, hint: str) -> None:
    with sandbox.session({"agent.go_to": echo}) as session:
        result = session.run(code)
        assert result.fault is not None
        assert hint in result.fault.hint
        assert bool(hint) == bool(result.fault.hint)
        assert result.output == ""
        assert session.run("1").value == 1


def test_a_fault_shows_the_innermost_line_of_its_cell(sandbox: Sandbox) -> None:
    with sandbox.session({"f": echo, "agent.go_to": echo}) as session:
        fault = fault_of(session, "x = 1\n\nagent.goto('desk')\n")
        assert (fault.line, fault.source, fault.type) == (3, "agent.goto('desk')", "AttributeError")
        assert fault.hint == "did you mean `go_to`?"
        fault = fault_of(session, "def go():\n    f({1})\n\ngo()")
        assert (fault.line, fault.source) == (2, "    f({1})")
        assert "worker" not in str(fault)


@pytest.mark.parametrize("character", ["\u2028", "\x0c", "\x1c", "\x85"])
def test_the_line_of_a_fault_is_counted_as_cpython_counts_it(session: Session, character: str) -> None:
    fault = fault_of(session, f"x = 'a{character}b'\ny = 2\n1 / 0")
    assert (fault.line, fault.source) == (3, "1 / 0")


def test_a_fault_in_a_function_of_an_earlier_cell_names_both_places(session: Session) -> None:
    session.run("def inner(x):\n    return 1 / x\ndef outer(x):\n    return inner(x)", "helpers")
    fault = fault_of(session, "a = 1\nb = outer(0)")
    assert (fault.line, fault.source) == (2, "b = outer(0)")
    assert fault.message == "division by zero (in inner(), line 2 of helpers: return 1 / x)"


def test_code_that_does_not_parse_is_refused_with_its_place(session: Session) -> None:
    fault = fault_of(session, "x = 1\ny = (2\n")
    assert (fault.kind, fault.line, fault.column, fault.source) == (FaultKind.CHECK, 2, 4, "y = (2")
    for code in ("\0", "x = '\ud800'", "(" * 5_000, "-" * 50_000 + "1", "return 1", "x = 1\n  y = 2"):
        assert fault_of(session, code).kind is FaultKind.CHECK
    assert session.run("1 + 1").value == 2
    assert session.mark() == 1


@pytest.mark.parametrize("raised", ["SystemExit(3)", "KeyboardInterrupt()", "GeneratorExit()", "BaseException('x')"])
def test_no_exception_of_a_plan_ends_its_session(session: Session, raised: str) -> None:
    session.run("kept = 1")
    fault = fault_of(session, f"raise {raised}")
    assert (fault.kind, fault.type) == (FaultKind.RAISED, raised.partition("(")[0])
    assert session.run("kept").value == 1


def test_a_long_list_of_faults_is_shortened(session: Session) -> None:
    faults = session.run("x = [" + ", ".join(f"a.gi_code + {'é' * 300}{n}" for n in range(200)) + "]").faults
    assert len(faults) == 50
    assert {fault.kind for fault in faults} == {FaultKind.CHECK}
    assert session.run("1").value == 1


@pytest.mark.parametrize(
    "code",
    [
        "class A:\n    def __dir__(self):\n        return 1 / 0\nA().missing",
        "class E(AttributeError):\n    @property\n    def name(self):\n        return 1 / 0\nraise E('x')",
        "class S(str):\n    def __getitem__(self, key):\n        return 1 / 0\n"
        "class E(Exception):\n    def __str__(self):\n        return S('text')\nraise E()",
    ],
)
def test_exceptions_whose_attributes_fail_are_reported(plain: Session, code: str) -> None:
    fault = fault_of(plain, code)
    assert fault.kind is FaultKind.RAISED
    assert fault.line == len(code.splitlines())


def test_exceptions_without_text_or_with_too_much_are_reported(session: Session) -> None:
    assert fault_of(session, "class E(Exception):\n    def __str__(self):\n        return 1 / 0\nraise E()").type == "E"
    assert len(fault_of(session, "raise ValueError('x' * 1_000_000 + '\\ud800')").message) < 5_000


KEEP = "def keep():\n    kept = []\n    while True:\n        kept.append('a' * 1_000_000)\n"
OUT_OF_MEMORY = {
    "raised": ("raise MemoryError('no more')", "raised"),
    "raised in a function": ("def f():\n    raise MemoryError\nf()", "raised"),
    "raised by an earlier cell": ("fail()", "raised"),
    "raised from another": ("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise MemoryError from e", "raised"),
    "a subclass": ("class Full(MemoryError):\n    pass\nraise Full", "raised"),
    "a large text": ("'a' * 10**10", "limit"),
    "a large list": (f"{KEEP}keep()", "limit"),
    "raised again": (f"{KEEP}try:\n    keep()\nexcept MemoryError:\n    raise", "limit"),
    "raised again by name": (f"{KEEP}try:\n    keep()\nexcept MemoryError as e:\n    raise e", "limit"),
}


@pytest.mark.parametrize(("code", "kind"), OUT_OF_MEMORY.values(), ids=OUT_OF_MEMORY)
def test_only_a_memory_error_of_the_interpreter_is_a_limit(code: str, kind: str, sandbox: Sandbox) -> None:
    with sandbox.session({}, limits=Limits(memory_mb=64)) as session:
        session.run("def fail():\n    raise MemoryError\nx = 1")
        assert fault_of(session, code).kind == kind
        assert session.mark() == (2 if kind == "raised" else 1)
        assert session.run("x").value == 1
