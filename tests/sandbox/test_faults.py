"""Faults of plans, reported with the plan's own line."""

import pytest

from planbook.sandbox import FaultKind, Limits, Sandbox
from tests.sandbox.given import echo


def test_a_fault_shows_the_plans_line_its_source_and_a_hint(sandbox: Sandbox) -> None:
    with sandbox.session({"agent.go_to": echo}) as session:
        fault = session.run("x = 1\n\nagent.goto('desk')\n").fault
        assert fault is not None
        assert (fault.line, fault.source, fault.type) == (3, "agent.goto('desk')", "AttributeError")
        assert fault.hint == "did you mean `go_to`?"
        fault = session.run("agnet.go_to('desk')").fault
        assert fault is not None
        assert fault.hint == "did you mean `agent`?"


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("class A:\n    __slots__ = ('desk',)\nA().desk", ""),
        ("class A:\n    __slots__ = ('desk',)\nA().desk1", "did you mean `desk`?"),
        ("del agent\nagent.go_to('desk')", ""),
        ("prnt(1)", "did you mean `print`?"),
        ("[].__reduce__", "use copy.copy(x), "),
        ("return 1", "let it run to its end"),
    ],
)
def test_a_hint_is_of_use_or_not_given(sandbox: Sandbox, code: str, hint: str) -> None:
    with sandbox.session({"agent.go_to": echo}) as session:
        fault = session.run(code).fault
        assert fault is not None
        assert hint in fault.hint
        assert bool(hint) == bool(fault.hint)


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


def test_more_faults_than_can_be_told_are_cut_and_still_arrive(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
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
def test_exceptions_that_resist_being_looked_at_are_told_all_the_same(code: str) -> None:
    with Sandbox(language_layer=False) as unguarded, unguarded.session({}) as session:
        fault = session.run(code).fault
        assert fault is not None
        assert fault.kind is FaultKind.RAISED
        assert fault.line == len(code.splitlines())


def test_an_exceptions_text_may_be_as_odd_as_it_likes(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        fault = session.run("class E(Exception):\n    def __str__(self):\n        return 1 / 0\nraise E()").fault
        assert fault is not None
        assert fault.type == "E"
        fault = session.run("raise ValueError('x' * 1_000_000 + '\\ud800')").fault
        assert fault is not None
        assert len(fault.message) < 5_000


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (
            "class S(str):\n    def __eq__(self, other): print('asked')\n    __hash__ = str.__hash__\n"
            "raise NameError('x', name=S('prin'))",
            "",
        ),
        (
            "class A: pass\na = A()\nvars(a)['ab\\ud800'] = 1\nraise AttributeError('x', name='abc', obj=a)",
            "did you mean `ab\\ud800`?",
        ),
    ],
    ids=["name with a comparison of its own", "name with half of a pair"],
)
def test_a_hint_neither_runs_the_plans_code_nor_breaks_its_report(code: str, hint: str, sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        result = session.run(code)
        assert result.fault is not None
        assert (result.fault.kind, result.fault.hint, result.output) == (FaultKind.RAISED, hint, "")
        assert session.run("1").value == 1


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


@pytest.mark.parametrize("name", OUT_OF_MEMORY)
def test_a_memory_error_that_a_plan_raises_itself_is_an_exception_like_any_other(name: str, sandbox: Sandbox) -> None:
    code, kind = OUT_OF_MEMORY[name]
    with sandbox.session({}, limits=Limits(memory_mb=64)) as session:
        session.run("def fail():\n    raise MemoryError\nx = 1")
        fault = session.run(code).fault
        assert fault is not None
        assert fault.kind == kind
        assert session.mark() == (2 if kind == "raised" else 1)
        assert session.run("x").value == 1
