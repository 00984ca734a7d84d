"""The grammar of execution orders, and the Python that they are compiled to."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbook.planner.strategies.adapt.order import MAX_NESTING, read_decomposition
from planbook.sandbox import Sandbox, check

STEPS = "Step 1: find it\nStep 2: take it\nStep 3: bring it\n"


@dataclass(frozen=True)
class Node:
    """And, or a choice (OR), of other nodes and of steps, which are numbers."""

    word: str
    parts: "tuple[Node | int, ...]"


Tree = Node | int


def nodes(parts: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.builds(Node, st.sampled_from(("AND", "OR")), st.lists(parts, min_size=2, max_size=4).map(tuple))


TREES: st.SearchStrategy[Tree] = st.recursive(st.integers(1, 6), nodes, max_leaves=10)
GAPS = st.sampled_from((" ", "  ", "\n", "\t", "\n   ", " ** ", " __ "))


def numbers(tree: Tree) -> set[int]:
    return {tree} if isinstance(tree, int) else set().union(*map(numbers, tree.parts))


@st.composite
def told(draw: st.DrawFn, tree: Tree, *, outer: bool = True) -> str:
    """An order that means the tree, in one of the ways that models write."""
    if isinstance(tree, int):
        text = f"{draw(st.sampled_from(('Step', 'step', 'STEP')))}{draw(st.sampled_from((' ', '', '  ')))}{tree}"
        return draw(st.sampled_from((text, f"({text})", f"**{text}**", f"`{text}`")))
    word = draw(st.sampled_from((tree.word, tree.word.lower(), tree.word.title())))
    parts = [draw(told(part, outer=False)) for part in tree.parts]
    joined = "".join(f"{draw(GAPS)}{word}{draw(GAPS)}{part}" if number else part for number, part in enumerate(parts))
    bare = outer and draw(st.booleans())
    return joined if bare else f"({draw(st.sampled_from(('', ' ')))}{joined})"


def evaluated(tree: Tree, achieve: Callable[[int], bool]) -> bool:
    """What the order means, with the steps tried that have to be."""
    if isinstance(tree, int):
        return achieve(tree)
    if tree.word == "AND":
        return all(evaluated(part, achieve) for part in tree.parts)
    return any(evaluated(part, achieve) for part in tree.parts)


def tried(code: str, results: Mapping[str, bool]) -> tuple[list[str], bool]:
    """Which steps compiled code tries, and what it says at the end. Checks that what is begun together ends so."""
    called: list[str] = []
    begun: list[int] = []
    said: list[bool] = []

    def achieve(step: str) -> bool:
        called.append(step)
        return results[step]

    def begin() -> bool:
        begun.append(len(called))
        return True

    def together(done: bool) -> bool:
        begun.pop()
        return done

    exec(code, {"achieve": achieve, "begin": begin, "together": together, "finish": said.append})
    assert begun == []
    (done,) = said
    return called, done


@given(st.data(), TREES, st.lists(st.booleans(), min_size=6, max_size=6))
def test_an_order_means_what_it_says_in_whatever_way_it_is_written(
    data: st.DataObject, tree: Tree, outcomes: list[bool]
) -> None:
    used = sorted(numbers(tree))
    listed = "\n".join(f"Step {number}: do {number}" for number in used)
    heading = data.draw(st.sampled_from(("Execution Order: ", "**Execution order**: ", "# execution ORDER:\n", "")))
    heading = heading or "- **Execution Order:** "
    after = data.draw(st.sampled_from(("", ".", "\n", "\n\nThat is all.", "\n```\n")))
    plan = read_decomposition(f"# Think: so.\n{listed}\n{heading}{data.draw(told(tree))}{after}")
    expected: list[str] = []

    def achieve(step: int) -> bool:
        expected.append(f"do {step}")
        return outcomes[step - 1]

    done = evaluated(tree, achieve)
    results = {f"do {number}": outcome for number, outcome in enumerate(outcomes, 1)}
    assert tried(plan.code, results) == (expected, done)
    assert (plan.thought, plan.steps) == ("# Think: so.", {number: f"do {number}" for number in used})


def test_the_code_can_be_read() -> None:
    plan = read_decomposition(f"{STEPS}Execution Order: ((Step 1 AND Step 2) OR Step 3)")
    assert plan.code == (
        "done = (\n"
        "    together(\n        begin()\n        and achieve('find it')\n        and achieve('take it')\n    )\n"
        "    or achieve('bring it')\n)\nfinish(done)\n"
    )
    plan = read_decomposition(f"{STEPS}Execution Order: (Step 1 OR Step 2) AND Step 3.")
    assert plan.code == (
        "done = (\n    (\n        achieve('find it')\n        or achieve('take it')\n    )\n"
        "    and achieve('bring it')\n)\nfinish(done)\n"
    )
    plan = read_decomposition("Step 1: do it\nExecution Order: Step 1")
    assert plan.code == "done = achieve('do it')\nfinish(done)\n"


MIXED = (
    "Step 1 AND Step 2 OR Step 3",
    "Step 1 OR Step 2 AND Step 3",
    "(Step 1 or Step 2 and Step 3)",
    "Step 1 AND (Step 2 OR Step 3) OR Step 1",
    "Step 1 AND (Step 2 OR (Step 3 AND Step 1 OR Step 2))",
    "((Step 1 OR Step 2) AND Step 3 OR Step 1",
)


@pytest.mark.parametrize("order", MIXED)
def test_and_beside_or_needs_brackets_at_every_depth(order: str) -> None:
    with pytest.raises(
        ValueError, match=r"mixes AND and OR without brackets; .* as in \(Step 1 OR Step 2\) AND Step 3"
    ):
        read_decomposition(f"{STEPS}Execution Order: {order}")


FAULTY = {
    "Step 1 AND Step 2 AND Step 9 AND Step 3 OR": "cannot be read|mixes",
    "Step 1 AND Step 7 AND Step 9": r"names Step 7, Step 9; the plan has Step 1, Step 2, Step 3",
    "Step 1 AND Step 2": r"leaves out Step 3; every step",
    "": "the execution order is empty",
    "   \n\n": "the execution order is empty",
    "**": "the execution order is empty",
    "```\n```": "the execution order is empty",
    ".": "the execution order is empty",
    "(Step 1 AND Step 2 AND Step 3": r"lacks a closing bracket: '\(Step 1",
    "Step 1 AND Step 2) AND Step 3": "lacks an opening bracket",
    ")Step 1 AND Step 2 AND Step 3(": r"cannot be read at '\)Step 1",
    "()": r"cannot be read at '\)'",
    "NOT Step 1 AND Step 2 AND Step 3": "cannot be read at 'NOT Step 1",
    "Step 1 AND NOT Step 2 AND Step 3": "cannot be read at 'NOT Step 2",
    "Step 1 XOR Step 2": "cannot be read at 'XOR Step 2'; it holds only steps",
    "Step 1 Step 2 Step 3": "cannot be read at 'Step 2 Step 3'",
    "Step 1 AND Step 2 AND Step 3 as needed": "cannot be read at 'as needed'",
    "Step 1 AND Step 2 AND Step 3\nGood luck!": "cannot be read at 'Good luck!'",
    "Step 1 AND Step 2 AND": "cannot be read at its end",
    "AND Step 1": "cannot be read at 'AND Step 1'",
    "Step 1 AND AND Step 2": "cannot be read at 'AND Step 2'",
    "Step 1 ANDStep 2": "cannot be read at 'ANDStep 2'",
    f"Step {'9' * 5000}": "cannot be read at 'Step 999",
    "achieve('find it')": "cannot be read at .achieve",
}


@pytest.mark.parametrize("order", FAULTY)
def test_every_fault_of_an_order_is_told(order: str) -> None:
    with pytest.raises(ValueError, match=FAULTY[order]) as told:
        read_decomposition(f"{STEPS}Execution Order: {order}")
    assert len(str(told.value)) < 400


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "the plan has no steps"),
        ("I would look for it first.", "the plan has no steps"),
        ("Execution Order: Step 1", "the plan has no steps"),
        ("Step 1:\nStep 2: **\nExecution Order: Step 1 AND Step 2", "the plan has no steps"),
        (STEPS, "the last line is missing: 'Execution Order: ...'"),
        (f"{STEPS}The execution order: Step 1 AND Step 2 AND Step 3", "the last line is missing"),
        (f"{STEPS}Step 2: again\nExecution Order: Step 1", "two steps of the number 2"),
        ("Step 1: a\nStep 01: b\nExecution Order: Step 1", "two steps of the number 01"),
    ],
)
def test_every_fault_of_a_plan_is_told(reply: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_decomposition(reply)


@pytest.mark.parametrize(
    ("reply", "expression"),
    [
        ("1. Find it\n2. Take it\nExecution Order: 1 AND 2", "achieve('Find it')\n    and achieve('Take it')"),
        ("Step 1: Find it\nStep 2: Take it\nExecution Order: [Step 1 AND Step 2]", "and achieve('Take it')"),
        (
            "Step 1: Find it # it may be far\nStep 2: Take it\nExecution Order: (1 OR 2) # either",
            "or achieve('Take it')",
        ),
        ("1. There are two ways\nStep 1: Find it\nExecution Order: (Step 1)", "achieve('Find it')"),
        ("Step 1: Find it\nStep 2: Take it\nStep 3: Go\nExecution Order: ([1 OR 2] AND 3)", "or achieve('Take it')"),
    ],
)
def test_other_ways_of_writing_are_read(reply: str, expression: str) -> None:
    assert expression in read_decomposition(reply).expression


def test_the_last_order_counts() -> None:
    plan = read_decomposition(f"Execution Order: none yet\n{STEPS}Execution Order: Step 1 AND Step 2 AND Step 3")
    assert plan.expression.count(" and ") == 2
    assert plan.thought == "Execution Order: none yet"


def test_a_step_may_be_tried_twice_and_may_stand_between_thoughts() -> None:
    plan = read_decomposition(
        "# Think: first\n- **Step 1:** get 2 logs\n# Think: then\n> Step 2) craft planks\n"
        "Execution Order: Step 1 AND Step 2 AND Step 2"
    )
    assert plan.steps == {1: "get 2 logs", 2: "craft planks"}
    assert plan.expression.count("achieve('craft planks')") == 2
    assert plan.thought == "# Think: first\n# Think: then"


def says_something(text: str) -> bool:
    return text.splitlines()[:1] != [] and text.splitlines()[0].strip("*_ \t") != ""


HOSTILE = (
    "x') or finish(True) or achieve('y",
    'x") or finish(True) #',
    "'''\"\"\"",
    "back\\slash \\' \\n \\",
    "{curly} {{ x }} {% if x %} %s %(x)s",
    "```python finish(True)```",
    "ünïcödé 日本語 \N{PILE OF POO} \u202e reversed \u2066",
    "nul \0 bell \a escape \x1b[2J",
    "done = True; finish(done)",
    "Execution Order: Step 1 OR Step 2",
    "\ud800 half of a pair",
)


@given(st.sampled_from(HOSTILE) | st.text().filter(says_something))
def test_no_text_of_a_step_breaks_out_of_the_code(text: str) -> None:
    plan = read_decomposition(f"Step 1: {text}\nStep 2: last\nExecution Order: Step 1 AND Step 2")
    called, done = tried(plan.code, dict.fromkeys(plan.steps.values(), True))
    assert (called, done) == ([plan.steps[1], "last"], True)
    assert all(word in text for word in plan.steps[1].split())
    assert check(plan.code, {"achieve": lambda step: True, "finish": lambda done: None}) == []


def nested(depth: int) -> str:
    """Brackets so deep, AND and OR in turn."""
    order = "Step 3"
    for level in range(depth):
        order = f"({'Step 2 AND' if level % 2 else 'Step 1 OR'} {order})"
    return order


def test_the_deepest_order_that_is_read_can_be_run() -> None:
    plan = read_decomposition(f"{STEPS}Execution Order: {nested(MAX_NESTING)}")
    called: list[str] = []

    def achieve(step: str) -> bool:
        called.append(step)
        return step != "find it"

    def begin() -> bool:
        return True

    def together(done: bool) -> bool:
        return done

    with (
        Sandbox() as sandbox,
        sandbox.session(
            {"achieve": achieve, "begin": begin, "together": together, "finish": lambda done: called.append(str(done))}
        ) as session,
    ):
        assert session.run(plan.code).fault is None
    assert called == [*["take it", "find it"] * (MAX_NESTING // 2), "bring it", "True"]


@pytest.mark.parametrize("depth", [MAX_NESTING + 1, 250, 5_000])
def test_deeper_ones_are_told_to_the_planner(depth: int) -> None:
    with pytest.raises(ValueError, match=f"brackets {depth} deep, more than {MAX_NESTING}"):
        read_decomposition(f"{STEPS}Execution Order: {nested(depth)}")
    with pytest.raises(ValueError, match=f"brackets {depth} deep"):
        read_decomposition(f"{STEPS}Execution Order: {'(' * depth}Step 1 AND Step 2 AND Step 3{')' * depth}")


def test_a_long_plan_is_read_and_compiled() -> None:
    steps = [f"look into drawer {number} for a key, and if it is not there say so" for number in range(1, 201)]
    listed = "\n".join(f"Step {number}: {step}" for number, step in enumerate(steps, 1))
    order = " OR ".join(f"Step {number}" for number in range(1, 201))
    plan = read_decomposition(f"{listed}\nExecution Order: {order}")
    assert tried(plan.code, {step: step == steps[-1] for step in steps}) == (steps, True)
    assert check(plan.code, {"achieve": lambda step: True, "finish": lambda done: None}) == []


def test_a_plan_that_no_cell_can_hold_is_told_to_the_planner() -> None:
    listed = f"Step 1: {'look ' * 200}\nExecution Order: "
    assert read_decomposition(listed + " AND ".join(["Step 1"] * 90)).code
    with pytest.raises(ValueError, match=r"the plan is too long: as code it has 1\d\d,\d\d\d characters of 100,000"):
        read_decomposition(listed + " AND ".join(["Step 1"] * 110))


@pytest.mark.parametrize(
    "reply",
    [
        "\n" * 50_000,
        "-" * 50_000,
        "Step 1: a\n" + " \n" * 50_000,
        "Step 1" + " " * 50_000,
        "Step 1:" + " " * 50_000,
        "Step 1: a" + " " * 50_000 + "b",
        "Step 1: a\nexecution" + " " * 50_000,
        "Step 1: a\nexecution order" + " *" * 25_000,
        "Step 1: a\nExecution Order: Step 1" + " " * 50_000 + "x",
        "Step 1: a\nExecution Order: " + "." * 50_000,
        "Step 1: a\nExecution Order: " + ". " * 25_000 + "x",
        "Step 1: a\nExecution Order: Step " + "1" * 50_000,
        "Step 1: a\nExecution Order: Step 1" + "\n" * 50_000 + "x",
    ],
)
def test_a_model_that_repeats_itself_for_ever_takes_no_time_to_read(reply: str) -> None:
    begun = time.thread_time()
    with suppress(ValueError):
        read_decomposition(reply)
    assert time.thread_time() - begun < 1


def test_a_step_may_go_over_several_lines_and_ends_at_a_thought_or_an_empty_line() -> None:
    plan = read_decomposition(
        "Step 1: take the mug\n  that is on the shelf\n# Think: then on.\nStep 2: put it\non the desk\n\nThat is all.\n"
        "Execution Order: Step 1 AND Step 2"
    )
    assert plan.steps == {1: "take the mug that is on the shelf", 2: "put it on the desk"}
    assert plan.thought == "# Think: then on.\n\nThat is all."
