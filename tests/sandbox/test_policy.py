"""The compile-time policy: what it refuses, how it says so, and that no text makes it raise."""

import ast
import keyword
import types

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sandbox.policy import PolicyRefused, check, compile_cell
from sandbox.policy.hints import NAME_HINTS
from sandbox.policy.rules import is_hidden
from sandbox.policy.tables import MAX_SOURCE, MODULES

REFUSED = {
    "attribute": ("x.__globals__", "forbidden-attribute", "`__globals__`", "name the variables"),
    "frame": ("x.gi_frame", "forbidden-attribute", "`gi_frame`", ""),
    "import": ("import os", "forbidden-import", "`os`", "no files"),
    "misspelt module": ("import jason", "forbidden-import", "`jason`", "did you mean `json`?"),
    "import from": ("from math import sqr", "forbidden-import", "`math.sqr`", "did you mean `sqrt`?"),
    "capitals": ("from functools import LRU_CACHE", "forbidden-import", "LRU_CACHE`", "did you mean `lru_cache`?"),
    "module member": ("import json\njson.codecs", "forbidden-import", "`json.codecs`", "json has: "),
    "future": ("from __future__ import braces", "forbidden-import", "`__future__.braces`", "annotations, division"),
    "futures": ("from __future__ import annotations, divison", "forbidden-import", ".divison`", "`division`?"),
    "late future": ("x = 5\nfrom __future__ import annotations", "syntax", "at the beginning", "leave it out"),
    "builtin": ("eval('1')", "forbidden-name", "`eval`", "json.loads"),
    "open": ("open('x')", "forbidden-name", "`open`", "no files"),
    "print": ("print(1, file=f)", "forbidden-call", "file=", "leave file= out"),
    "type": ("type('A', (), {})", "forbidden-call", "one argument", "class statement"),
    "getattr": ("getattr(x, '__code__')", "forbidden-attribute", "`__code__`", ""),
    "async": ("async def f(): pass", "forbidden-statement", "`async def`", "without async"),
    "groups": ("try: pass\nexcept* ValueError: pass", "forbidden-statement", "`except*`", "group.exceptions"),
    "metaclass": ("class A(metaclass=B): pass", "forbidden-statement", "`metaclass=`", "derive from ABC"),
    "dunder": ("class A:\n    def __del__(self): pass", "forbidden-name", "`__del__`", "try/finally"),
    "syntax": ("def f(:", "syntax", "invalid syntax", ""),
    "return": ("return 1", "syntax", "outside function", "let it run to its end"),
    "continue": ("continue", "syntax", "not properly in loop", "inside a for or while"),
    "surrogate": ("x = '\ud800'", "syntax", "surrogate", ""),
    "null": ("\0", "syntax", "null bytes", ""),
    "nesting": ("x = " + "-" * 3000 + "1", "too-large", "nested", "simpler steps"),
    "length": ("x" * (MAX_SOURCE + 1), "too-large", "limit is 100,000", ""),
    "nodes": ("x=1\n" * 24_900, "too-large", "60,000", "simpler steps"),
}


@pytest.mark.parametrize(("source", "name", "message", "hint"), REFUSED.values(), ids=REFUSED)
def test_refused_with_what_to_write_instead(source: str, name: str, message: str, hint: str) -> None:
    problem = check(source)[0]
    assert problem.name == name
    assert message in problem.message
    assert hint in problem.hint
    with pytest.raises(PolicyRefused):
        compile_cell(source, "plan")


def test_every_fault_at_once_in_the_order_of_lines() -> None:
    problems = check("import os\nx = 1\nx.__code__ + eval('1')\nreturn x\n")
    assert [(p.line, p.name) for p in problems] == [
        (1, "forbidden-import"),
        (3, "forbidden-attribute"),
        (3, "forbidden-name"),
        (4, "syntax"),
    ]
    assert problems[2].column == 13


@pytest.mark.parametrize("name", NAME_HINTS)
def test_a_missing_builtin_is_told_unless_the_plan_defines_it(name: str) -> None:
    assert check(f"{name}()")[0].hint == NAME_HINTS[name]
    assert check(f"def {name}(): pass\n{name}()") == []


@pytest.mark.parametrize(
    "kind", [types.FrameType, types.CodeType, types.GeneratorType, types.TracebackType, types.CoroutineType]
)
def test_no_attribute_of_frames_and_code_can_be_read(kind: type) -> None:
    methods = {"clear", "close", "replace", "send", "throw"}
    assert [name for name in dir(kind) if not is_hidden(name) and name not in methods] == []


def test_modules_hold_their_names() -> None:
    for name, members in MODULES.items():
        for member in members:
            assert check(f"from {name} import {member}") == [], (name, member)


@pytest.mark.parametrize("statement", ["x = 3\nx", "x: int = 3\nx += 1\nx", "class A:\n    y = 1\n\n\nA().y"])
def test_the_tail_is_the_final_expression(statement: str) -> None:
    cell = compile_cell(statement, "plan")
    assert cell.tail is not None
    assert compile_cell(statement + "\npass", "plan").tail is None
    assert max(line or 0 for _, _, line in cell.tail.co_lines()) == statement.count("\n") + 1


def test_rewriting_keeps_lines() -> None:
    source = "class A:\n    x = 1\n\na = A()\na.x += (\n    a.x\n)\ntype(a).__name__\n'{}'.format(\n    a.__class__)\n"
    lines = {line for _, _, line in compile_cell(source, "plan").code.co_lines()}
    assert lines <= {0, 1, 4, 5, 6, 8}
    tail = compile_cell(source, "plan").tail
    assert tail is not None
    assert {line for _, _, line in tail.co_lines()} <= {0, 9, 10}


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_no_text_makes_the_check_raise(source: str) -> None:
    check(source)


WORDS = """def class if else for while try except finally with lambda yield return import from as global nonlocal match
case async await del assert raise pass x y self __class__ _attr_ ( ) [ ] { } : ; , . = == += -> := * ** @ f'{x}' 'a'"""
TOKENS = [*WORDS.split(), "\n", "\n  "]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=40).map(" ".join))
def test_no_heap_of_tokens_makes_the_check_raise(source: str) -> None:
    check(source)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["(", "[", "{", "-", "not ", "lambda: ", "x.", "x+", "x if y else ", "f(", "if x:\n ", "x = "]),
    st.integers(1, 20_000),
)
def test_no_repetition_makes_the_check_raise(piece: str, times: int) -> None:
    check((piece * times)[: MAX_SOURCE - 1] + "1")


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="_abcｇlobsﬁ", min_size=1, max_size=8))
def test_unicode_spellings_are_judged_as_python_reads_them(name: str) -> None:
    assume(name.isidentifier() and not keyword.iskeyword(name))
    seen = ast.parse(f"x.{name}", mode="eval").body
    assert isinstance(seen, ast.Attribute)
    assert bool(check(f"y.{name} = 1")) == bool(check(f"y.{seen.attr} = 1"))
