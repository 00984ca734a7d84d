"""The host reads any text that a plan or a model sends quickly and with little memory."""

import sys
import tracemalloc
from collections.abc import Callable
from itertools import count
from typing import Any, Literal

import pytest

from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.planner.models.types import estimate_tokens
from planbook.sandbox import Fault, bound_names, check, closest, read_reply
from planbook.sandbox.answers import Answers, function_specs
from planbook.sandbox.functions import FunctionSpec
from planbook.sandbox.policy.compiler import NO_CONTEXT, compile_for_worker_cached
from tests.dry_plans import dry_run_of
from tests.sandbox.fuzz.size import MEGABYTES, READERS, SECONDS, megabytes_of, seconds_of

pytestmark = pytest.mark.deep
REPLIES = {
    "open brackets": "".join("f(" + "a," * 480 + "\n" for _ in range(104)),
    "open tuples": "".join("x = (" + "1," * 7_000 + "\n" for _ in range(7)),
    "classes and blanks": "\n".join("class " + "a" * 30_000 + " " * 3_000 for _ in range(3)),
    "open strings": "".join("x='''" + "a" * 300 + "\n" for _ in range(330)),
    "strings and fences": "".join("x = '''\n```python\ny\n```\n" for _ in range(4_000)),
    "a fence and blanks": f"```{' ' * 99_000}`",
    "a long fence": f"{'~' * 99_000}`",
    "an open tuple and fences": "```python\nx = (" + "a," * 32_000 + "\n" + "```\n" * 21,
    "fences that are closed only once": (
        "".join(f"{'`' * n}python x\n{'`' * n}\n" for n in range(202, 2, -1)) + "\n" * 60_000
    ),
    "an open tuple and blocks": "```python\nx = (" + "a," * 32_000 + "\n" + "```\nx = (\n```python\n" * 1_500,
    "returns": f"return {'.' * 285} ) )\n" * 330,
}
TWICE = "x = (x, x)\n" * 40
LOOPS = "for n in range(300):\n    for m in range(300):"
BOTH = "x, y = (1, 2), (1, 2)\n" + "x = (x, x)\ny = (y, y)\n" * 40
PLANS = {
    "text of a tuple": f"x = (1, 2)\n{TWICE}agent.open(str(x))",
    "text of a list": "x = [1, 2]\n" + "x = [x, x]\n" * 40 + "agent.open(str(x))",
    "equal tuples": f"{BOTH}if x == y:\n    agent.open('box_99')",
    "a tuple in a list": f"{BOTH}if x in [y]:\n    agent.open('box_99')",
    "the greater tuple": f"{BOTH}agent.open(max(x, y))",
    "arguments": "def pair(*both):\n    return both\nx = 1\n" + "x = pair(x, x)\n" * 40 + "agent.open(str(x))",
    "pairs": "x = {1: 2}\n" + "x = {1: x, 2: x}\n" * 40 + "agent.open(str(x.items()))",
    "a text that is put together": "x = 'ab'\n" + "x = f'{x}{x}'\n" * 40 + "agent.open(x)",
    "a list that doubles": "x = [0]\nfor n in range(300):\n    x += x\nagent.open(x)",
    "a list that is copied twice": "x = [0]\nfor n in range(300):\n    x = [*x, *x]\nagent.open(x)",
    "a list that is compared": "x = [1] * 1_900\n" + "agent.open('a' if x == x else 'b')\n" * 2_500,
    "lists that are kept": "k = []\nx = [0] * 1_900\nfor n in range(300):\n    for m in range(60): k = [k, [*x]]",
    "pairs of pairs": "x = [1]\n" + "x = list(zip(x, x))\n" * 40 + "if x == x:\n    agent.open(str(x))",
    "a text that joins": "x = ['a'] * 2_000\ny = 'b' * 19_000\nfor n in range(300):\n    agent.open(y.join(x))",
    "a text that is searched": (
        "x = 'a' * 18_000\ny = 'b' + 'a' * 9_000\nfor n in range(300):\n    for m in range(30):\n        x.rfind(y)"
    ),
    "a text that is replaced": "x = 'a' * 18_000\ny = 'b' * 18_000\nagent.open(x.replace('a', y, 99_999))",
    "functions that call each other": (
        "".join(f"def f{n}(): f{n + 1}()\n" for n in range(4_000)) + "def f4000(): agent.open('box_1')\nf0()"
    ),
    "a long function that returns early": (
        f"def f():\n    if agent.holding: return\n    x = [{'a < b, ' * 6_000}]\n" + "f()\n" * 4_000
    ),
    "functions inside functions": (
        "".join(f"{' ' * depth}def f{depth}():\n" for depth in range(90))
        + f"{' ' * 91}x = [{', '.join(f'a{n}' for n in range(9_000))}]"
    ),
    "names at branches": (
        "".join(f"a{n} = 1\n" for n in range(2_400)) + "x = agent.open('box_1')\n" + "if x: y = 1\n" * 2_400
    ),
    "lists at branches": (
        "".join(f"a{n} = []\n" for n in range(2_400)) + "x = agent.open('box_1')\n" + "if x: y = 1\n" * 2_400
    ),
    "lists at statements that are not followed": (
        "".join(f"a{n} = []\n" for n in range(2_400)) + "match a0:\n    case 1 | 2: pass\n" * 1_200
    ),
    "a list that is passed with a star": "def f(*a): pass\nx = [1] * 1_900\n" + "f(*x)\n" * 4_500,
    "a list that grows": "x = []\n" + "x.append(1)\n" * 4_900,
    "pairs of a long list": "x = [1] * 1_900\n" + "for n, a in enumerate(x): pass\n" * 3_000,
    "long values in a loop": f"for n in range(300):\n    x = [{'n < 1, ' * 12_000}]",
    "a long name of a caller": (
        f"def f(): agent.put('a')\nfor n in range(300):\n    (f if {'1 and ' * 8_000}1 else f)()"
    ),
    "functions that escape": f"def g(): return [{', '.join(f'a{n}' for n in range(6_000))}]\n" + "h(g)\n" * 4_000,
    "a text that becomes a number": f"x = '{'9' * 19_000}'\n{LOOPS} float(x)",
    "a text that becomes an integer": f"x = '{'f' * 19_000}'\n{LOOPS} int(x, 16)",
    "a text that is added": f"x = '{chr(0x390) * 9_000}'\n{LOOPS} x + x",
    "the length of a text": f"x = '{chr(0x390) * 90_000}'\n{LOOPS} len(x)",
    "the greatest letter of a text": f"x = '{chr(0x390) * 90_000}'\n{LOOPS} max(x)",
    "the letters of a text": f"for n in range(300):\n    for letter in '{chr(0x390) * 90_000}': pass",
    "slices of a tuple": f"x = ({'1,' * 1_900})\n{LOOPS} x[:]",
    "a tuple as a key": f"x = ({'1,' * 1_900})\nd = {{}}\n{LOOPS} d[x] = 1",
    "names of a tuple": f"x = ({'1,' * 1_900})\n{LOOPS} {'a,' * 1_900} = x",
    "rounding to many places": "agent.open(round(5, -1000000000))",
    "an integer in a text": f"agent.open(f'{{0x{'f' * 5_000}}}')",
    "attributes of attributes": "h(agent.open)\n" + f"x = a{'.open' * 110}\n" * 170,
}
PARAMETERS = ",".join(f"p{number}" for number in range(12_000))
CODES = {
    "keywords": ("check", f"agent.open({','.join(f'k{number}=1' for number in range(9_000))})"),
    "keywords of a pattern": ("check", f"match x:\n case A({','.join(f'k{n}=1' for n in range(9_000))}): pass"),
    "names of a pattern": ("check", f"match x:\n case [{PARAMETERS}]: pass"),
    "parameters": ("check", f"def f({PARAMETERS}): pass\n" + "f()\n" * 100),
    "parameters and calls": ("check", f"def f({PARAMETERS[:50_000]}0): pass\n" + "f(*a)\n" * 4_000),
    "unknown names": (
        "check",
        "".join(f"def f{depth}():\n{' ' * (depth + 1)}" for depth in range(60)) + "zz.a()," * 9_000,
    ),
    "faults of a long line": ("check", f"x = [{'__a__,' * 15_000}]"),
    "fields of an f-string": ("check", f"f'{'{x}' * 33_000}'"),
    "comprehensions after digits": (
        "check",
        f"x = [{','.join(f'n{number}' for number in range(5_000))}]\n" + "[1jfor b in y]\n" * 3_000,
    ),
    "part": ("part", "x\n" * 2_400 + "x = 1\n" * 2_400),
    "procedure": ("procedure", "agent.open('a')\n" * 4_900),
    "blanks in a heading": ("steps", f"# [Step {' ' * 90_000}"),
    "definitions": ("definitions", "".join(f"def f{number}(): f{number + 1}()\n" for number in range(4_500))),
    "carried definitions": ("carried", "a0 = 1\n" + "".join(f"a{n + 1} = a{n}\n" for n in range(4_500))),
    "names of the module": ("scopes", "x = x = x = 1\n" * 4_900),
    "statements": ("statements", "This is a line: of prose\n" * 4_000),
    "streamed line": ("streamed", f"x = [{'1,' * 49_000}]"),
    "streamed statements": ("streamed", "x=1\n" * 24_000),
    "streamed prose": ("streamed", "This is a line: of 'prose'\n" * 3_600),
    "fences in a string": ("reply", "x = '''\n" + "```\n" * 24_000),
    "fences in strings": ("reply", "'''\n```\n''' + \\\n" * 6_000),
    "broken f-strings": ("streamed", 'f"\u00e9' * 30_000),
    "broken blocks": ("definitions", "x = '''\n" + "".join(f"{' ' * n}if x:\n" for n in range(5)) + "x)if~~~" * 6_000),
    "a deep tree": ("bound names", "f" + "(1)" * 900),
    "streamed fences in a string": ("streamed reply", "x = '''\n" + "```\n" * 24_000),
    "a module in many packages": ("check", "import " + "a." * 49_000 + "a"),
    "a module of another alphabet": ("definitions", "from " + "é . " * 24_000),
    "modules in packages": ("check", "import " + ",".join(["a." * 99 + "a"] * 490)),
    "words like imports": ("check", 'x = "' + "from." * 19_000 + '"'),
    "all names of a module": ("check", "from ast import *\n" * 4_900),
    "accents that Python sorts": ("streamed", f"a{chr(0x315) * 50_000}{chr(0x300) * 49_000}=1"),
    "uses of a name that is deleted": ("check", f"x=1\ndel x\n{'x=' * 19_000}1\nf({'x,' * 19_000})"),
    "uses before many bindings": ("check", f"try: f({'x,' * 19_000})\nexcept Exception: pass\n{'x=' * 19_000}1"),
    "an integer of the wrong type": ("check", f"agent.open(0x{'f' * 90_000})"),
    "integers of constants": ("definitions", f"x = 0x{'f' * 90_000}; y = 1"),
    "a streamed fence and blanks": ("streamed reply", f"```{' ' * 99_000}`\n"),
}


ARGUMENTS: dict[str, tuple[Any, object]] = {
    "texts for numbers": (list[int | float | bool | None], [""] * 330_000),
    "lists of texts": (list[dict[str, int] | list[int] | str | int], [[""]] * 200_000),
    "a dict of texts": (dict[str, int | float | bool | None], {str(number): "" for number in range(90_000)}),
    "wrong choices": (list[Literal["north", "south"]], [""] * 330_000),
    "no tuples": (tuple[tuple[int, int], ...], [{}] * 330_000),
    "no faults": (tuple[Fault, ...], [{}] * 330_000),
}


@pytest.mark.parametrize("kind", CODES)
def test_code_is_read_quickly(kind: str) -> None:
    """The code ends with a different comment each time, because results are cached."""
    (reader, code), numbers = CODES[kind], count()
    bounded(lambda: READERS[reader](f"{code[:99_990]}\n#{next(numbers)}"))


def bounded(operation: Callable[[], object]) -> None:
    assert seconds_of(operation) < SECONDS or seconds_of(operation) < SECONDS, "it was too slow twice"
    assert megabytes_of(operation) < MEGABYTES


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_wrong_arguments_are_refused_within_a_second(kind: str) -> None:
    """The arguments of a call may have a megabyte, and even these are refused within the bounds of 100 kB."""

    def put(value: object) -> None: ...

    put.__annotations__["value"], value = ARGUMENTS[kind]
    arguments: list[Any] = [value]
    check = FunctionSpec.of("put", put).check

    def refuse() -> None:
        with pytest.raises((TypeError, ValueError), match="argument 'value'"):
            check(arguments, {})

    bounded(refuse)


def test_an_answer_with_long_numbers_in_a_text_is_sent_within_a_second() -> None:
    """A text of a megabyte that an action returns, such as the contents of a file."""
    text = ("9" * 4_300 + " ") * 230
    answers = Answers(function_specs({"read": lambda: text}), None)
    bounded(lambda: answers.answer(["call", 1, "read", [], {}]))


@pytest.mark.parametrize("kind", REPLIES)
def test_a_reply_is_read_within_a_second(kind: str) -> None:
    bounded(lambda: read_reply(REPLIES[kind][:100_000]))


@pytest.mark.parametrize("kind", PLANS)
def test_a_plan_is_dry_run_within_a_second(kind: str) -> None:
    environment = Toy()
    task = Toy.tasks(Selection())[0]
    environment.reset(task)
    known = Toy.preconditions(task)
    assert known is not None
    bounded(lambda: dry_run_of(Toy, known, PLANS[kind]))


def test_guesses_at_misspelt_names_are_cached() -> None:
    known = [f"take the {number:03d} things" for number in range(400)]
    bounded(lambda: [closest("take teh 123 thigns", known) for _ in range(300)])


def test_guesses_at_misspelt_arguments_are_limited_for_each_cell() -> None:
    answers = _answers_about(400)
    bounded(lambda: [answers.begin_cell("cell", answers.view), *(_misspelt(answers, number) for number in range(300))])
    assert b"did you mean" not in _misspelt(answers, 1)
    answers.begin_cell("the next cell", answers.view)
    assert b"did you mean" in _misspelt(answers, 1)


def _answers_about(number: int) -> Answers:
    """Return the answers of a session with one function, whose argument must be one of this number of texts."""
    choices = tuple(f"the thing {each:03d} on the shelf of the other room" for each in range(number))

    def take(thing: str) -> None: ...

    take.__annotations__["thing"] = Literal[choices]
    return Answers(function_specs({"take": take}), None)


def _misspelt(answers: Answers, number: int) -> bytes:
    return answers.answer(["call", 1, "take", [f"the thign {number:03d} on the shelf of the other rom"], {}])


@pytest.mark.parametrize("part", ["lambda: 0", "[0for a in b]", "[0 for a in b]", "{0: 1for a in b}"])
def test_too_many_names_and_scopes_are_refused_quickly(part: str) -> None:
    """CPython copies the names of a function for each scope inside it."""
    names = "=".join(f"n{number:x}" for number in range(8_000))
    source = f"def f():\n    {names}=0\n    " + ",".join([part] * (45_000 // len(part)))
    bounded(lambda: check(source, {}))
    assert {fault.message for fault in check(source, {})} == {"too many names and functions in one piece of code"}
    assert [fault.type for fault in compile_for_worker_cached(source, "plan", True).faults] == ["syntax"]


def test_constant_texts_are_counted_at_their_compiled_size() -> None:
    """Each text takes 16 kB when it is compiled; all of them take 56 MB."""
    plan = "\n".join(f"x = '{chr(0x1F600 + n % 70)}{chr(0x1F600 + n // 70)}' * 8 * 250" for n in range(3_500))
    bounded(lambda: compile_for_worker_cached(plan, "plan", True))
    assert [fault.type for fault in compile_for_worker_cached(plan, "plan", True).faults] == ["too-large"]


def test_the_cache_of_compiled_code_is_bounded() -> None:
    """Runs 120 cells of half a megabyte each, which would take 60 MB together."""
    tracemalloc.start()
    for number in range(120):
        source = f"x = {number}\n" + "".join(f"x = '{part:05d}' * 480\n" for part in range(200))
        assert compile_for_worker_cached(source, "plan", True).code
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 30 << 20


def test_cells_share_the_cached_names_of_their_session() -> None:
    """A separate set of all names for each cell would take 300 MB in total."""
    tracemalloc.start()
    context = NO_CONTEXT
    for source in (
        "global " + ",".join(f"a{n:x}" for n in range(17_000)),
        *(f"x{number} = 1" for number in range(300)),
    ):
        context = compile_for_worker_cached(source, "plan", True, False, context).context
    assert len(context.names) == 17_300
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 30 << 20
    assert compile_for_worker_cached("x1 = 2", "plan", True, False, context).context.names is context.names


KEPT: dict[str, Callable[[str], object]] = {
    "names read": lambda text: check(f"x = 1\nx.{text}", {}),
    "names written": lambda text: check(f"x = 1\nx.{text} = 1", {}),
    "names in texts": lambda text: check(f"getattr(1, '{text}')", {}),
    "templates": lambda text: check(f"'{{0.{text}}}'.format(1)", {}),
    "names bound": lambda text: bound_names(f"{text} = 1"),
    "messages": estimate_tokens,
}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="CPython keeps every name that it has ever parsed since 3.12")
@pytest.mark.parametrize("reader", KEPT.values(), ids=KEPT)
def test_long_names_are_not_cached(reader: Callable[[str], object]) -> None:
    """Reads 300 texts of 90,000 characters each, which would take 27 MB together."""
    tracemalloc.start()
    for number in range(300):
        reader(f"n{number}" + "a" * 90_000)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 20 << 20
