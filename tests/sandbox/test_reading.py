"""Replies of models are read: the plan in them, its definitions, and the places of syntax errors."""

import ast
import subprocess
import sys
import time
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from planbook.sandbox import Fault, FaultKind, defined_names, extract, extractable_names, read_reply
from planbook.sandbox.reading.definitions import step_numbers
from planbook.sandbox.reading.reply import MAX_REPLY_CHARS
from tests.sandbox.plans import GOOD_PLANS, HERE, sections
from tests.sandbox.streamed import DOCSTRING, STRING

CALL = 'agent.go_to("desk_1")'


def replies() -> Iterator[Any]:
    """Yield the replies of ``tables/replies.txt`` as lists of lines. The first character says where a line belongs.

    ``|`` marks the code of the plan, ``<`` the text before it and ``>`` the text after it. A line with another
    character belongs to none of them.
    """
    for name, body in sections(HERE / "tables" / "replies.txt"):
        yield pytest.param(body.removesuffix("\n").split("\n"), id=name)


UNUSABLE: dict[str, tuple[str, str, int | None, str]] = {
    "nothing": ("", "no-code", None, "```python"),
    "prose": ("I think we should go to the desk.\nThen, look.", "no-code", None, "no Python code"),
    "prose that parses": ("Done", "no-code", None, "no Python code"),
    "a label": ("Answer: 42\nThought: nothing", "no-code", None, "no Python code"),
    "another language": ("```json\n{}\n```", "no-code", None, "no Python code"),
    "an empty block": ("Plan:\n```python\n```", "empty", None, "no statement"),
    "comments only": ("```python\n# look\n```", "empty", None, "no statement"),
    "unclosed and cut off": ("```python\nagent.look()\nagent.go_to('de", "syntax", 2, "the reply ended inside"),
    "broken": ("```python\nx = (1\n```", "syntax", 1, "never closed"),
    "one block of two is broken": ("```python\nx = 1\n```\n```python\nfor x in\n```", "syntax", 2, "invalid syntax"),
    "bare code with an error": ("look()\ngo_to('a'\nlook()\nlook()", "no-code", None, "(line 2: '(' was never closed)"),
    "bare code with an error at its end": (f"x = 1\n{CALL}\nfor y in x\n    y()", "no-code", None, "line 3: expected"),
    "an invisible character in bare code": (f"va\ufefflue = 1\n{CALL}\n", "no-code", None, "line 1: invalid non-print"),
    "bare code with a return": (f"{CALL}\nreturn [1]\n", "syntax", 2, "outside function"),
    "prose, then bare code": (f"I will go there now.\n\n{CALL}", "no-code", None, "```python"),
    "bare code, then prose": (f"{CALL}\nThat's all.", "no-code", None, "```python"),
    "words that parse beside bare code": (f"Let's go (fast):\n{CALL}\nFinished", "no-code", None, "```python"),
    "an example in the docstring of bare code": (f"I look.\n\n{DOCSTRING}", "no-code", None, "```python"),
    "a list of calls": ("- agent.look()\n- agent.go_to('a')", "no-code", None, "no Python code"),
    "a label before a call": ("Next: agent.look()", "no-code", None, "no Python code"),
    "a block after triple quotes": (
        'Use """ here.\n```python\nf()\n```',
        "no-code",
        None,
        "no triple quotes before it",
    ),
    "too long": ("x" * (MAX_REPLY_CHARS + 1), "too-long", None, "1000001 characters"),
}
"""Maps names to a reply, the type of its fault, the line of the fault in the code, and a part of message and hint."""


@pytest.mark.parametrize("lines", list(replies()))
def test_a_plan_is_read_and_its_lines_are_found_in_the_reply(lines: list[str]) -> None:
    reply = read_reply("\n".join(line[1:] for line in lines))
    before, code, after = ("\n".join(line[1:] for line in lines if line[:1] == mark) for mark in "<|>")
    assert (reply.code, reply.before, reply.after, reply.problem) == (dedent(code), before, after, None)
    places = [number for number, line in enumerate(lines, 1) if line[:1] == "|"]
    assert [reply.reply_line(number) for number in range(1, len(places) + 1)] == places


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"```python\r\nif x:\r\n    {CALL}\r\n```\r\n", f"if x:\n    {CALL}"),
        (f"```python\rif x:\r    {CALL}\r```", f"if x:\n    {CALL}"),
        (f"> ```python\n> {CALL}\n> ```", CALL),
        (f"{STRING}\nThat was a draft. The plan:\n\n```python\n{CALL}\n```\n", CALL),
    ],
    ids=["Windows", "old Mac", "quoted fence", "draft with a fence inside, then a block"],
)
def test_a_plan_is_read_from_unusual_replies(text: str, code: str) -> None:
    reply = read_reply(text)
    assert (reply.code, reply.problem) == (code, None)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert all(line in lines[reply.reply_line(number) - 1] for number, line in enumerate(code.split("\n"), 1))


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_reply_is_explained(name: str) -> None:
    text, kind, line, message = UNUSABLE[name]
    problem = read_reply(text).problem
    assert problem is not None
    assert (problem.kind, problem.type, problem.line) == (FaultKind.CHECK, kind, line)
    assert message in f"{problem.message} {problem.hint}"


@pytest.mark.parametrize("name", GOOD_PLANS)
@pytest.mark.parametrize("form", ["I go.\n\n```python\n{}```\n", "I go.\n\n~~~py\n{}~~~", "```python\n{}"])
def test_good_plans_are_read_from_fences_unchanged(name: str, form: str) -> None:
    reply = read_reply(form.replace("{}", GOOD_PLANS[name]))
    assert reply.problem is None
    assert reply.code.rstrip("\n") == GOOD_PLANS[name].rstrip("\n")


@pytest.mark.parametrize("name", [name for name, code in GOOD_PLANS.items() if "(" in code])
def test_good_plans_without_fences_are_read_only_if_nothing_else_is_in_the_reply(name: str) -> None:
    plan = GOOD_PLANS[name]
    assert ast.dump(ast.parse(read_reply(f"\n\n{plan}\n ").code)) == ast.dump(ast.parse(plan))
    for reply in map(read_reply, (f"Here's what I will do.\n\n{plan}", f"{plan}\nThat should do it.")):
        assert (reply.code, reply.problem and reply.problem.type) == ("", "no-code")


PLAN = '''# [Helper Method] look for a thing
import re
from typing import Dict, List

LIMIT = 3
KINDS = "mug cup".split()
PATTERN = re.compile("|".join(KINDS))
count = 0
text = """
# [Step 9] not a step
"""
# [Step 1] Define
def clean(word: str) -> List[str]:
    return PATTERN.findall(word)[:LIMIT]

# Visit one place
@staticmethod
def visit(agent, place):
    observation = agent.go_to(place)
    return clean(observation) or get_object_with_id(observation, place)

class Tour:
    def go(self):
        return [visit(agent, place) for place in places]

# [Step 2]: Go there
places = [agent.location]
observation = agent.go_to("desk_1")
count += 1
# [step 2b] Look

print(count)
'''


def test_steps_are_numbered() -> None:
    assert step_numbers(PLAN) == ["1", "2", "2b"]
    assert step_numbers("# [Step 1] a\nx = (\n# [Step 2] b\nfor") == ["1", "2"]


def test_definitions_are_carried_with_everything_that_they_use() -> None:
    assert defined_names(PLAN) == ["clean", "visit", "Tour"]
    assert "# Visit one place\n@staticmethod\ndef visit" in extract(PLAN, ["visit"])
    at_margin = [line for line in extract(PLAN, ["Tour"]).split("\n") if line[:1].isalpha()]
    assert at_margin == [
        "import re",
        "from typing import List",
        "LIMIT = 3",
        'KINDS = "mug cup".split()',
        'PATTERN = re.compile("|".join(KINDS))',
        "def clean(word: str) -> List[str]:",
        "def visit(agent, place):",
        "class Tour:",
    ]


IMPORTS = "import re\nfrom math import pi\nWIDE = 2 * pi\nn = 0\nn = 1\n\ndef f():\n    return re\n"
BROKEN = "import re\ndef f(x):\n    return re.sub('a', 'b', x)\n\nfoo bar baz\n\ndef g():\n    return f('a')\n"
CARRIED = {
    "nothing": (PLAN, [], ""),
    "a variable that acts is no constant": (
        "A = find()\nB = print\nC = agent.look()\ndef find():\n    return A, B, C\n",
        ["find"],
        "B = print\n\n\ndef find():\n    return A, B, C\n",
    ),
    "a variable that changes is no constant": (
        "n = 0\nm = 0\nm = 1\nfor k in [1]:\n    n = k\ndef f():\n    return n, m, k\n",
        ["f"],
        "def f():\n    return n, m, k\n",
    ),
    "a constant by its name": (IMPORTS, ["WIDE"], "from math import pi\nWIDE = 2 * pi\n"),
    "constants that share a line": (
        "X = 5; print('acts'); Y = [\n  6]\n\nZ = 7  # seven\n\ndef f():\n    return X + Y[0] + Z\n",
        ["f"],
        "X = 5\nY = [6]\nZ = 7  # seven\n\n\ndef f():\n    return X + Y[0] + Z\n",
    ),
    "the second of two definitions": (
        "def f():\n    return 1\ndef f():\n    return 2\n",
        ["f"],
        "def f():\n    return 2\n",
    ),
    "definitions of broken code": (
        BROKEN,
        ["g"],
        BROKEN.replace("foo bar baz\n\n", "\n").replace("re\ndef f", "re\n\n\ndef f"),
    ),
}


@pytest.mark.parametrize(("code", "names", "expected"), CARRIED.values(), ids=CARRIED)
def test_definitions_are_carried(code: str, names: list[str], expected: str) -> None:
    assert extract(code, names) == expected


def test_names_that_can_be_carried_are_listed_and_others_are_refused() -> None:
    assert extractable_names(IMPORTS) == {"re", "pi", "WIDE", "f"}
    assert defined_names(BROKEN) == ["f", "g"]
    assert defined_names("x = (1\n\fdef f():\n    a = 1\n\f    return a\n") == ["f"]
    assert defined_names("def f():\n    return 1\ndef f():\n    return 2\n") == ["f"]
    for name in ("n", "nothing"):
        with pytest.raises(LookupError, match=f"cannot extract from this code: {name}"):
            extract(IMPORTS, [name])


def test_carried_code_runs_in_another_namespace() -> None:
    carried = extract(PLAN, ["clean"])
    space: dict[str, object] = {}
    exec(carried, space)
    assert eval('clean("a mug, a cup, a mug and a mug")', space) == ["mug", "cup", "mug"]
    assert "visit" not in carried


def error_in(code: str) -> Fault | None:
    """Return the first error that CPython finds in a reply's code."""
    return read_reply(f"```python\n{code}\n```").problem


@pytest.mark.parametrize(
    ("code", "line", "column", "message"),
    [
        ("x = 1\ny = f(2 3)", 2, 6, "Perhaps you forgot a comma"),
        ("foo bar", 1, 4, "invalid syntax at"),
        ("def f(:\n    pass", 1, 6, "invalid syntax"),
        ("x = 'abc", 1, 4, "unterminated string"),
        ("if x:\n\ty()\n        z()", 3, None, "four spaces"),
        ("a = “b”", 1, 4, 'plain quote: "'),
        ("x = 3 – 1", 1, 6, "plain minus"),
        ("x = 1\n  y = 2", 2, None, "begin the code in column 0"),
        ("x = '''\nabc", 1, 4, "same three quotes"),
        ("f(x,\u00a0y)", 1, 4, "plain space"),
        ("return 1", 1, 0, "outside function"),
        ("class A:\n    break", 2, 4, "outside loop"),
    ],
)
def test_an_error_is_located(code: str, line: int, column: int | None, message: str) -> None:
    fault = error_in(code)
    assert fault is not None
    assert (fault.type, fault.line) == ("syntax", line)
    assert column is None or fault.column == column
    assert message in f"{fault.message} {fault.hint}"
    assert fault.source == code.split("\n")[line - 1]


def test_warnings_of_the_compiler_are_not_printed() -> None:
    """Runs in a process of its own, because pytest catches warnings."""
    program = """from planbook.sandbox import read_reply; read_reply("```python\\nif 1 is 1: print('\\\\d')\\n```")"""
    done = subprocess.run([sys.executable, "-W", "default", "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""


HOSTILE = [
    "-" * 90_000 + "1",
    "(" * 90_000,
    "a." * 40_000 + "a",
    "'''\n" * 30_000,
    "x = 1\n" * 15_000,
    "def f():\n x=1\n" * 6_000,
    "f'{" * 3_000,
    "```\n" * 100_000,
    "```python\nx = 1\n```\n" * 40_000,
    "don't (see\n" * 80_000,
    "x\n" * 400_000,
    "a b\n" * 25_000,
    "\0" * 100_000,
    "\ud800" * 100_000,
    "```python\n'''\n" + "```\n" * 200_000,
    "`" * 900_000,
    "if x:\n    y()\nel" * 2_000,
    "> " * 400_000,
    " " * 900_000,
    "```" + " " * 900_000,
    "a" * 900_000 + "(",
    "# [Step " * 100_000,
    "a.a[" * 20_000 + "=" * 20_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_read_in_bounded_time(text: str) -> None:
    started = time.thread_time()
    reply = read_reply(text)
    step_numbers(reply.code)
    defined_names(reply.code)
    assert time.thread_time() - started < 10


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("`~ \n\r\tx=(:'\"#\0\ud800>python"), max_size=80))
def test_any_text_is_read(text: str) -> None:
    reply = read_reply(text)
    assert reply.problem is not None or error_in(reply.code) is None
    step_numbers(text)
    defined_names(text)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(GOOD_PLANS.values())), st.data())
def test_a_reply_cut_anywhere_is_read(plan: str, data: st.DataObject) -> None:
    text = f"I go.\n```python\n{plan}```\nDone."
    reply = read_reply(text[: data.draw(st.integers(0, len(text)))])
    assert reply.problem is not None or plan.startswith(reply.code)
