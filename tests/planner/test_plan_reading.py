"""How thought and code are read from a planner's reply, with headings of many forms, and which replies are unusable."""

import time

import pytest
from hypothesis import given, strategies as st

from planbook.planner import as_plan
from planbook.planner.replies import read_thought

CODE = "```python\nagent.open('box_1')\n```"
REPLY = f"""### Understanding
A key is wanted.
There are two boxes.

### Mistakes
None

### Rules
- rule_3: look first
- rule_12: one thing at a time, as rule_3 says

### Plan
1. Look.
2. Take it.

### Code
{CODE}
Good luck!"""


def test_each_segment_of_a_reply_becomes_a_field() -> None:
    plan = as_plan(REPLY)
    thought = plan.thought
    assert plan.code == "agent.open('box_1')"
    assert thought.understanding == "A key is wanted.\nThere are two boxes."
    assert (thought.mistakes, thought.plan) == ("None", "1. Look.\n2. Take it.")
    assert thought.rule_ids == ("rule_3", "rule_12")
    assert thought.text.startswith("### Understanding\nA key")
    assert thought.text.endswith("2. Take it.")


@pytest.mark.parametrize(
    "heading",
    [
        "##Plan",
        "### PLAN ###",
        "**Plan:**",
        "__Plan__",
        "### `Plan`",
        "**2) Plan:**",
        "Plan",
        "plan:",
        "### The plan, step by step",
        "### Plans for this task",
    ],
)
def test_a_heading_has_many_forms(heading: str) -> None:
    thought = read_thought(f"It is dark.\n{heading}\nLight the lamp.")
    assert (thought.understanding, thought.plan) == ("It is dark.", "Light the lamp.")


@pytest.mark.parametrize("heading", ["### Plan: light it", "**Plan:** light it", "3. Plan: light it"])
def test_a_segment_may_begin_after_the_colon_of_its_heading(heading: str) -> None:
    assert read_thought(f"It is dark.\n{heading}\nand look.").plan == "light it\nand look."


@pytest.mark.parametrize(
    "line",
    [
        "1. Plan the way first",
        "### Explanation",
        "**Encoded names:** none",
        "**An important rule:** look first",
        "- Plan: none",
        "    # the plan, as a comment of code",
        "### rule_3",
        "# 3",
    ],
)
def test_other_lines_stay_in_their_segment(line: str) -> None:
    thought = read_thought(f"### Mistakes\nNone.\n{line}\nÖffne alles.")
    assert thought.mistakes == f"None.\n{line}\nÖffne alles."
    assert (thought.plan, thought.rules) == ("", "")


def test_segments_may_come_in_any_order_and_twice() -> None:
    thought = read_thought("### Plan\none\n### Rules\nrule_1\n### Plan\ntwo\n### Understanding\nlate")
    assert (thought.plan, thought.rules, thought.understanding, thought.mistakes) == ("one\ntwo", "rule_1", "late", "")


def test_rule_ids_are_read_from_the_rules_segment_only() -> None:
    assert read_thought("### Understanding\nrule_1 says so.\n### Plan\nfollow rule_2").rule_ids == ()
    assert read_thought("Rules: rule_4, RULE_5, rule_x, myrule_6, **rule_7**, rule_٣").rule_ids == (
        "rule_4", "rule_5", "rule_7",
    )  # fmt: skip


def test_a_reply_that_consists_of_code_has_no_thought() -> None:
    for text in (CODE, "agent.open('box_1')"):
        plan = as_plan(text)
        assert (plan.code, plan.thought.text, plan.thought.rule_ids) == ("agent.open('box_1')", "", ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no Python code"),
        ("I would open the first box.", "no Python code"),
        ("### Code\n```python\n```", "contains no statement"),
        ("```python\nagent.open('box_", "ended inside its code block"),
        ("```python\nreturn 3\n```", "outside function"),
        ("```python\nx = '\ud800'\n```", r"U\+D800"),
    ],
)
def test_a_reply_without_usable_code_is_refused_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_plan(text)


@pytest.mark.parametrize(
    "code",
    [
        "def solve():\n    agent.open('box_1')",
        "import re\nfrom math import pi\n\nclass Finder:\n    pass",
        '"""How it is done."""\n\nasync def solve():\n    pass',
        "pass",
    ],
)
def test_a_plan_that_only_defines_functions_is_refused(code: str) -> None:
    with pytest.raises(ValueError, match="only defines functions"):
        as_plan(f"```python\n{code}\n```")
    assert as_plan(f"```python\n{code}\nsolve()\n```").code.endswith("solve()")


ODD = """text = '''three dots ... and "quotes" \\\\n {{ jinja }} <b>&amp;</b> “curly”'''
pattern = r"\\d+\\s*$"
def f(*args, **kwargs): return {**kwargs}
s = f"{text!r:>{10}}" ; x = 1 if text else 2   # two in one line
agent.open("box_1") or (agent
    .open("box_2"))
"""


def test_the_code_of_a_reply_is_not_repaired() -> None:
    assert as_plan(f"### Code\n```python\n{ODD}```").code == ODD.rstrip("\n")


PIECES = (
    "### Plan|**Rules:**|```|```python|~~~|def f():|    pass|agent.open('box_1')|rule_3|> ```|# [Step 1]|1. Code|class"
    "|:|'''|\"\"\"|(|\\|\t|\0|\ud800|é|…|\u2028|\r|"
)
WORDS = st.sampled_from(PIECES.split("|"))


@given(st.lists(WORDS | st.text(max_size=20), max_size=30), st.sampled_from(["\n", " ", "\r\n"]))
def test_any_text_is_a_plan_or_a_value_error(parts: list[str], between: str) -> None:
    text = between.join(parts)
    try:
        plan = as_plan(text)
    except ValueError:
        return
    assert plan.code.strip()
    compile(plan.code, "plan", "exec")


@given(st.text(max_size=300))
def test_a_thought_keeps_the_whole_text(text: str) -> None:
    thought = read_thought(f"{text}\nlast words")
    assert thought.text == "\n".join(f"{text}\nlast words".rstrip().splitlines()).strip()


@pytest.mark.parametrize(
    "text",
    [
        "# a" + " " * 300_000 + "*",
        "*" * 500_000,
        "1. " * 200_000,
        "rule_" * 100_000,
    ],
)
def test_hostile_text_is_read_quickly(text: str) -> None:
    start = time.thread_time()
    read_thought(text)
    assert time.thread_time() - start < 2
