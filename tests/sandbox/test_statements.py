"""Statements are found in code that a model is still writing, but not before they are complete.

The same statements are found however the code is cut into pieces.
"""

import ast
import time

import pytest

from planbook.sandbox import Fault, GrowingReply, Statement, parse, read_reply, statements_of
from planbook.sandbox.reading.growing import StatementFinder
from tests.sandbox.streamed import AWKWARD, DOCSTRING, PROGRAMS, STRING, recorded_code, recorded_replies

CODES = {**AWKWARD, **PROGRAMS}


def found(code: str) -> list[tuple[int, Statement]]:
    """Return each statement that is found before the end, with the number of lines that had arrived by then."""
    statements = StatementFinder()
    return [(n, statement) for n, line in enumerate(code.split("\n"), 1) for statement in statements.add(line)]


def dumped(*sources: str) -> list[str]:
    return [ast.dump(node, include_attributes=True) for source in sources for node in ast.parse(source).body]


def test_statements_found_early_are_those_of_the_complete_code() -> None:
    for name, code in CODES.items():
        if isinstance(parse(code), Fault):
            continue
        early = [statement for _, statement in found(code)]
        assert early == statements_of(code.split("\n"))[: len(early)], name
        lines_before = early[-1].last_line if early else 0
        rest = statements_of(code.split("\n"), lines_before)
        assert dumped(*(statement.source for statement in [*early, *rest])) == dumped(code), name


@pytest.mark.deep
def test_only_the_last_statement_of_a_recorded_plan_has_to_wait() -> None:
    late = 0
    for code in recorded_code():
        lines = code.split("\n")
        early = [statement for _, statement in found(code)]
        whole = statements_of(lines)
        assert early == whole[: len(early)], code
        assert dumped(*(statement.source for statement in whole)) == dumped(code)
        late += len(whole) - len(early) > 1
    assert len(recorded_code()) > 200
    assert late == 0


def test_a_statement_is_found_with_the_first_line_of_the_next() -> None:
    code = "a = 1\n\n# so\nb = (\n2)\nif a:\n  b\nelse:\n  a\nc\n"
    assert [(n, statement.last_line) for n, statement in found(code)] == [(4, 1), (6, 5), (10, 9)]


@pytest.mark.parametrize(
    ("code", "acting"),
    [
        ("x = 1", False),
        ("import re", False),
        ("def f():\n  g()", False),
        ("x = f()", True),
        ("f", True),
        ("pass", False),
        ("7", False),
        ("x: list[str] = []", False),
        ("x: f() = []", True),
        ("class A:\n  x = [g(y) for y in z]", True),
        ("class A:\n  for x in y:\n    g(x)", True),
        ("class A(metaclass=M):\n  pass", True),
        ("class A(B, total=False):\n  x: dict[str, int] = field(default_factory=dict)", False),
        ("class A:\n  def __init_subclass__(cls):\n    g()", True),
        ("@dataclass(frozen=True)\nclass A:\n  @property\n  def f(self):\n    g()", False),
        ("@lru_cache(f())\ndef g(): pass", True),
        ("@register\ndef f():\n  g()", True),
        ("def f(x=g()): pass", True),
        ("def f(x=None, *, y=()): pass", False),
    ],
)
def test_statements_that_act_are_marked(code: str, acting: bool) -> None:
    assert [statement.acts for statement in statements_of(code.split("\n"))] == [acting]


@pytest.mark.parametrize(("name", "sound"), [("broken at the end", 2), ("broken in the middle", 1)])
def test_statements_before_a_syntax_error_are_found(name: str, sound: int) -> None:
    assert [statement.last_line for _, statement in found(CODES[name])] == [1, 2][:sound]


def test_a_long_broken_plan_is_read_quickly() -> None:
    started = time.thread_time()
    assert len(found("print(1)\n" * 3 + "x = (\n" + "print(2)))\n" * 3_000)) == 3
    assert time.thread_time() - started < 5


ENDS = ["\n", "\r\n", "\r"]


def arrivals(pieces: list[str]) -> list[tuple[list[Statement], int]]:
    reply = GrowingReply()
    return [(arrival.statements, arrival.chars) for piece in pieces for arrival in reply.add(piece)]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", AWKWARD)
def test_a_reply_that_is_cut_anywhere_gives_the_same_statements(name: str, end: str) -> None:
    text = f"So:\n\n```text\nno code\n```\n  ```python\n  {AWKWARD[name]}\n```\nDone.\n".replace("\n", end)
    whole = arrivals([text])
    assert arrivals(list(text)) == whole
    for cut in range(len(text)):
        if end == "\n" or "\r" in text[max(cut - 1, 0) : cut + 1]:
            assert arrivals([text[:cut], text[cut:]]) == whole


def test_the_statements_of_a_streamed_reply_are_those_of_its_plan() -> None:
    for text in recorded_replies()[::3]:
        reply, seen = GrowingReply(), list[Statement]()
        for arrival in reply.add(text):
            seen += arrival.statements
        whole = read_reply(text)
        assert whole.code.startswith(reply.code) or whole.problem is not None
        for statement in seen:
            last = text[: reply.chars_to(statement.last_line)].splitlines()[-1]
            assert last.strip() == statement.source.splitlines()[-1].strip()
        assert whole.before == reply.before


BLOCK = "```python\na()\nb()\n```\n"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (BLOCK, 2),
        ("```\na()\nb()\n```\n" + BLOCK, 2),
        ("```\na()\nb()\nc()\n", 0),
        ("a()\nb()\nc()\n", 0),
        (BLOCK + "```python\nc()\nd()\n```\n", 2),
        ("```python\nif a:\n  b()\n```\n", 0),
        ("```python\nx = '''\n```\n'''\na()\nb()\n```\n", 0),
        ("```python\na()\nb()\nc(\n```\nso\n", 2),
        ("> ```python\n> a()\n> b()\n", 1),
        (DOCSTRING, 0),
        (STRING, 0),
        (f"First I look.\n\n{DOCSTRING}", 0),
    ],
)
def test_only_certain_statements_are_found_before_the_reply_ends(reply: str, expected: int) -> None:
    """A later block that is marked as Python replaces an unmarked one, and the next block may begin with ``else``."""
    assert sum(len(statements) for statements, _ in arrivals([reply])) == expected
