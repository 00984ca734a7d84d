"""The policy that code must satisfy before it runs: what it refuses, with which message, and that it never raises."""

import ast
import gc
import importlib
import inspect
import keyword
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import assume, given, settings, strategies as st
from RestrictedPython.transformer import INSPECT_ATTRIBUTES

from planbook.sandbox import MAX_SOURCE, REFUSED_BUILTINS, Session, parse_source
from planbook.sandbox.policy import rules
from planbook.sandbox.policy.compiler import compile_for_worker, find_problems
from planbook.sandbox.policy.transformer import PlanPolicy
from tests.sandbox.plans import run_in_sandbox

REFUSED = {
    "attribute": ("x.__globals__", "forbidden-attribute", "`__globals__`", "use the variables by name"),
    "frame": ("x.gi_frame", "forbidden-attribute", "`gi_frame`", ""),
    "import": ("import os", "forbidden-import", "`os`", "no files"),
    "misspelt module": ("import jason", "forbidden-import", "`jason`", "did you mean `json`?"),
    "module of the host": ("import agent", "forbidden-import", "`agent`", "needs no import"),
    "import from": ("from math import sqr", "forbidden-import", "`math.sqr`", "did you mean `sqrt`?"),
    "capitals": ("from functools import LRU_CACHE", "forbidden-import", "LRU_CACHE`", "did you mean `lru_cache`?"),
    "module member": ("import json\njson.codecs", "forbidden-import", "`json.codecs`", "json has: "),
    "future": ("from __future__ import braces", "syntax", "not a chance", ""),
    "futures": ("from __future__ import annotations, divison", "syntax", "divison", ""),
    "late future": ("x = 5\nfrom __future__ import annotations", "syntax", "at the beginning", "leave it out"),
    "builtin": ("eval('1')", "forbidden-name", "`eval`", "json.loads"),
    "open": ("open('x')", "forbidden-name", "`open`", "no files"),
    "getattr": ("getattr(x, '__code__')", "forbidden-attribute", "`__code__`", ""),
    "async": ("async def f(): pass", "forbidden-statement", "`async def`", "without async"),
    "async for": ("async for x in y: pass", "forbidden-statement", "`async for`", "without async"),
    "async with": ("async with x: pass", "forbidden-statement", "`async with`", "without async"),
    "await": ("await x", "forbidden-statement", "`await`", "without async and await"),
    "async comprehension": ("x = [x async for x in y]", "forbidden-statement", "`async for`", "without async"),
    "dunder": ("class A:\n    def __reduce__(self): pass", "forbidden-name", "`__reduce__`", "copy.copy"),
    "syntax": ("def f(:", "syntax", "invalid syntax", ""),
    "return": ("return 1", "syntax", "outside function", "let it run to its end"),
    "continue": ("continue", "syntax", "not properly in loop", "inside a for or while"),
    "surrogate": ("x = '\ud800'", "syntax", "surrogate", "ordinary characters"),
    "null": ("\0", "syntax", "null bytes", ""),
    "nesting": ("x = " + "-" * 3000 + "1", "too-large", "nested", "simpler steps"),
    "length": ("x" * (MAX_SOURCE + 1), "too-large", "limit is 100,000", ""),
    "nodes": ("x=1\n" * 24_900, "too-large", "60,000", "simpler steps"),
}


@pytest.mark.parametrize(("source", "name", "message", "hint"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_says_what_to_write_instead(source: str, name: str, message: str, hint: str) -> None:
    problem = find_problems(source)[0]
    assert problem.type == name
    assert message in problem.message
    assert hint in problem.hint
    assert compile_for_worker(source, "plan", language_layer=True).faults[0].type == name


def test_all_faults_are_reported_together_in_the_order_of_lines() -> None:
    problems = find_problems("import os\nx = 1\nx.__code__ + eval('1')\n")
    assert [(p.line, p.type) for p in problems] == [
        (1, "forbidden-import"),
        (3, "forbidden-attribute"),
        (3, "forbidden-name"),
    ]
    assert problems[2].column == 13


@pytest.mark.parametrize("name", rules.NAME_HINTS)
def test_a_missing_builtin_has_a_hint_unless_the_plan_defines_it(name: str) -> None:
    assert find_problems(f"{name}()")[0].hint == rules.NAME_HINTS[name]
    assert find_problems(f"def {name}(): pass\n{name}()") == []


ATTRIBUTES = """__subclasses__ __globals__ __code__ __closure__ __builtins__ __reduce__ __reduce_ex__ __loader__
__spec__ f_back f_builtins f_code f_globals f_lasti f_lineno f_locals f_trace gi_code gi_frame gi_running gi_yieldfrom
cr_await cr_code cr_frame cr_origin cr_running ag_await ag_code ag_frame ag_running co_code co_consts co_names
co_filename
co_firstlineno co_lines co_positions tb_frame tb_lasti tb_lineno tb_next""".split()
USES = {
    "read": "x.{}",
    "set": "x.{} = 1",
    "update": "x.{} += 1",
    "delete": "del x.{}",
    "getattr": "getattr(x, '{}')",
    "hasattr": "hasattr(x, '{}')",
    "setattr": "setattr(x, '{}', 1)",
    "delattr": "delattr(x, '{}')",
    "match": "match x:\n    case object({}=1): pass",
    "match a value": "match x:\n    case y.{}: pass",
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_that_leads_to_unchecked_code_is_refused_in_every_form(name: str) -> None:
    for use, source in USES.items():
        assert {problem.type for problem in find_problems(source.format(name))} == {"forbidden-attribute"}, use
    assert {problem.type for problem in find_problems(f"def {name}(self): pass")} == {"forbidden-name"}


@pytest.mark.parametrize("name", "__import__ __build_class__ __builtins__ __loader__ __spec__".split())
def test_a_variable_that_leads_to_unchecked_code_is_refused(name: str) -> None:
    for source in (name, f"{name} = 1", f"import math as {name}", f"def f({name}): pass", f"global {name}"):
        assert {problem.type for problem in find_problems(source)} == {"forbidden-name"}, source


BUILTINS = "eval exec compile open input breakpoint help exit quit aiter anext".split()


@pytest.mark.parametrize("name", BUILTINS)
def test_a_builtin_that_plans_do_not_have_is_refused(name: str, session: Session) -> None:
    assert [problem.type for problem in find_problems(name)] == ["forbidden-name"]
    hidden = session.run(f"globals()['__built' 'ins__'].get('{name}')")
    assert (hidden.fault, hidden.value) == (None, None)


MODULES = """os socket subprocess signal ctypes threading multiprocessing importlib builtins gc inspect pickle marshal
pathlib shutil tempfile asyncio ssl http http.client urllib.request selectors mmap fcntl resource code codeop runpy
pdb site sysconfig sqlite3 zipimport pty tty termios _thread _ctypes _socket posix nt faulthandler""".split()


@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_plans_do_not_have_is_refused(name: str, session: Session) -> None:
    caught = f"try:\n    import {name}\nexcept ImportError as error:\n    print(error.name)"
    assert [problem.type for problem in find_problems(f"import {name}")] == ["forbidden-import"]
    assert [problem.type for problem in find_problems(f"from {name} import x")] == ["forbidden-import"]
    assert find_problems(caught) == []
    assert session.run(caught).output == f"{name}\n"


MEMBERS = """sys._getframe sys.modules sys.exit sys.stdin sys.argv sys.path sys.settrace sys.meta_path io.open io.FileIO
io.TextIOWrapper json.codecs random._os enum.sys dataclasses.sys""".split()


@pytest.mark.parametrize("dotted", MEMBERS)
def test_a_member_that_plans_do_not_have_is_refused(dotted: str, session: Session) -> None:
    module, _, name = dotted.partition(".")
    assert [problem.type for problem in find_problems(f"import {module}\n{dotted}")] == ["forbidden-import"]
    assert [problem.type for problem in find_problems(f"from {module} import {name}")] == ["forbidden-import"]
    if module in ("sys", "io"):
        assert session.run(f"import {module}\ngetattr({module}, '{name}', None)").value is None


def test_all_names_of_restrictedpython_are_refused() -> None:
    assert INSPECT_ATTRIBUTES <= rules.REFUSED_ATTRIBUTES


def hints(source: str) -> list[str]:
    """Return the hints of all faults that the policy finds."""
    return [problem.hint for problem in find_problems(source)]


@pytest.mark.parametrize("name", sorted(rules.MODULE_HINTS.keys() - rules.MODULES))
def test_a_missing_module_has_its_own_hint(name: str) -> None:
    assert hints(f"import {name}") == [rules.MODULE_HINTS[name]]
    assert hints(f"from {name} import x") == [rules.MODULE_HINTS[name]]
    assert hints(f"import {name}.inside") == [rules.MODULE_HINTS[name.partition(".")[0]]]


@pytest.mark.parametrize("dotted", rules.MEMBER_HINTS)
def test_a_missing_member_has_its_own_hint(dotted: str) -> None:
    module, _, name = dotted.rpartition(".")
    assert hints(f"from {module} import {name}") == [rules.MEMBER_HINTS[dotted]]
    assert hints(f"import {module} as m\nm.{name}") == [rules.MEMBER_HINTS[dotted]]


@pytest.mark.parametrize("module", sorted(rules.MODULES))
def test_a_module_inside_another_has_a_hint(module: str) -> None:
    real = importlib.import_module(module)
    foreign = {name for name, value in vars(real).items() if inspect.ismodule(value)} - rules.members(module)
    found = [problem for name in foreign for problem in find_problems(f"from {module} import {name}")]
    assert len(found) == len({name for name in foreign if f"{module}.{name}" not in rules.MODULES})
    assert [problem.message for problem in found if not problem.hint] == []


SPECIAL = {*rules.ATTRIBUTE_HINTS, *rules.REFUSED_ATTRIBUTES} - {"__import__", "__build_class__"}


@pytest.mark.parametrize("name", sorted(SPECIAL))
def test_a_special_attribute_has_a_hint(name: str) -> None:
    assert all(hints(f"x.{name} = 1"))
    assert all(hints(f"{name} = 1"))


def test_every_refused_name_has_a_hint() -> None:
    assert {*rules.NAME_HINTS, "copyright", "credits", "license"} == REFUSED_BUILTINS
    assert set(rules.ATTRIBUTE_HINTS) <= rules.REFUSED_NAMES


def test_every_refused_kind_of_statement_has_its_own_hint() -> None:
    """The policy refuses the kinds of nodes for which it has no visitor."""
    kinds = {kind for base in (ast.stmt, ast.expr, ast.pattern) for kind in base.__subclasses__()}
    refused = set()
    for kind in kinds:
        policy = PlanPolicy()
        visitor = getattr(policy, f"visit_{kind.__name__}", policy.generic_visit)
        if visitor == policy.generic_visit or "not_allowed" in inspect.getsource(visitor):
            refused.add(kind.__name__)
    assert refused <= rules.STATEMENT_HINTS.keys() | {"Index", "ExtSlice"}


RAISED = {
    "module": ("import math\nsetattr(math, 'pi', 3)", "of your own"),
    "module by a statement": ("import math\nmath.pi = 3", "of your own"),
    "part of a module": ("import math\ndel math.pi", "of your own"),
    "getattr": ("n = '__code__'\ngetattr(len, n)", "in a dict"),
    "setattr": ("n = '__code__'\ndef f(): pass\nsetattr(f, n, 1)", "in a dict"),
    "format": ("t = '{0.__globals__}'\nt.format(print)", "use the variables by name"),
    "nested format": ("t = '{0:{1.__globals__}}'\nt.format(1, print)", "use the variables by name"),
    "format of a class": ("f = str.format\nf('{0.__globals__}', print)", "use the variables by name"),
    "format by a name": ("n = 'format'\ngetattr('{0.__globals__}', n)(print)", "use the variables by name"),
    "format_map": ("'{x.__globals__}'.format_map({'x': print})", "use the variables by name"),
    "formatter": ("import string\nstring.Formatter().format('{0.__globals__}', print)", "use the variables by name"),
    "attrgetter": ("import operator\noperator.attrgetter('real.__globals__')", "use the variables by name"),
    "subclass of text": ("class S(str):\n    def __eq__(self, x): return 0\ngetattr(len, S('__code__'))", "in a dict"),
}


@pytest.mark.parametrize(("source", "remedy"), RAISED.values(), ids=RAISED)
def test_a_refusal_at_run_time_says_what_to_write_instead(source: str, remedy: str) -> None:
    assert find_problems(source) == []
    ran = run_in_sandbox(source)
    assert ran.type == "AttributeError"
    assert remedy in ran.message


WORDS = """def class if else for while try except finally with lambda yield return import from as global nonlocal match
case async await del assert raise pass x y self __class__ _attr_ ( ) [ ] { } : ; , . = == += -> := * ** @ f'{x}' 'a'"""
TOKENS = [*WORDS.split(), "\n", "\n  "]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=40).map(" ".join))
def test_no_sequence_of_tokens_makes_the_policy_raise(source: str) -> None:
    find_problems(source)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["(", "[", "{", "-", "not ", "lambda: ", "x.", "x+", "x if y else ", "f(", "if x:\n ", "x = "]),
    st.integers(1, 20_000),
)
def test_no_repetition_makes_the_policy_raise(piece: str, times: int) -> None:
    find_problems((piece * times)[: MAX_SOURCE - 1] + "1")


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="_abcｇlobsﬁ", min_size=1, max_size=8))
def test_every_unicode_spelling_of_a_name_is_refused(name: str) -> None:
    assume(name.isidentifier() and not keyword.iskeyword(name))
    seen = ast.parse(f"x.{name}", mode="eval").body
    assert isinstance(seen, ast.Attribute)
    assert bool(find_problems(f"y.{name} = 1")) == bool(find_problems(f"y.{seen.attr} = 1"))


SOURCE = "\n".join(
    f"def f{number}(a, b):\n    return [a + {number} * (b - each) for each in range(a)]" for number in range(150)
)


class Yielding:
    """An object that lets other threads run when it is collected as garbage."""

    def __del__(self) -> None:
        time.sleep(0)


@pytest.mark.parametrize(
    "source",
    [
        'DATA = """' + "\n".join(f"user{n},California,{n * 7}.5" for n in range(1_450)) + '"""',
        pytest.param(
            "DATA = '" + '{"a":1},' * 10_001 + "'\nprint(f'{len(DATA)}')",
            marks=pytest.mark.skipif(sys.version_info < (3, 12), reason="each field is parsed separately"),
        ),
    ],
    ids=["words", "braces"],
)
def test_text_in_strings_is_not_counted_as_code(source: str) -> None:
    assert find_problems(source) == []


@pytest.fixture
def many_turns() -> Iterator[None]:
    """Collect garbage very often, so that threads switch in the middle of everything else."""
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(20)
    sys.setswitchinterval(1e-5)
    yield
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("many_turns")
def test_threads_can_parse_at_the_same_time() -> None:
    def work(_: int) -> None:
        for _ in range(25):
            ring: list[object] = [Yielding() for _ in range(30)]
            ring.append(ring)
            del ring
            parse_source(SOURCE)

    with ThreadPoolExecutor(3) as pool:
        assert len(list(pool.map(work, range(3)))) == 3
