"""The grammar of execution orders, such as "Step 1 AND Step 2", and the Python code that they become."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given, strategies as st

from planbook.planner.strategies.adapt.order import MAX_NESTING, read_decomposition
from planbook.sandbox import Sandbox, check

STEPS = "Step 1: find it\nStep 2: take it\nStep 3: bring it\n"


@dataclass(frozen=True)
class Node:
    """An operator, AND or OR, with its operands: other nodes, or the numbers of steps."""

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
def written_order(draw: st.DrawFn, tree: Tree, *, outer: bool = True) -> str:
    """Draw an order with the meaning of the tree, written in one of the ways that models write it."""
    if isinstance(tree, int):
        text = f"{draw(st.sampled_from(('Step', 'step', 'STEP')))}{draw(st.sampled_from((' ', '', '  ')))}{tree}"
        return draw(st.sampled_from((text, f"({text})", f"**{text}**", f"`{text}`")))
    word = draw(st.sampled_from((tree.word, tree.word.lower(), tree.word.title())))
    parts = [draw(written_order(part, outer=False)) for part in tree.parts]
    joined = "".join(f"{draw(GAPS)}{word}{draw(GAPS)}{part}" if number else part for number, part in enumerate(parts))
    omit_brackets = outer and draw(st.booleans())
    return joined if omit_brackets else f"({draw(st.sampled_from(('', ' ')))}{joined})"


def evaluate(tree: Tree, achieve: Callable[[int], bool]) -> bool:
    """Return the result of the order. A step is tried only if it can still change the result."""
    if isinstance(tree, int):
        return achieve(tree)
    if tree.word == "AND":
        return all(evaluate(part, achieve) for part in tree.parts)
    return any(evaluate(part, achieve) for part in tree.parts)


def run_code(code: str, results: Mapping[str, bool]) -> tuple[list[str], bool]:
    """Return the steps that the code tries, and its result. Each ``begin`` must be followed by its ``together``."""
    tried: list[str] = []
    groups: list[str] = []
    finished: list[bool] = []

    def achieve(step: str) -> bool:
        tried.append(step)
        return results[step]

    def begin() -> bool:
        groups.append("begin")
        return True

    def together(done: bool) -> bool:
        groups.pop()
        return done

    exec(code, {"achieve": achieve, "begin": begin, "together": together, "finish": finished.append})
    assert groups == []
    (done,) = finished
    return tried, done


@given(st.data(), TREES, st.lists(st.booleans(), min_size=6, max_size=6))
def test_an_order_runs_as_it_is_evaluated_however_it_is_written(
    data: st.DataObject, tree: Tree, outcomes: list[bool]
) -> None:
    used = sorted(numbers(tree))
    listed = "\n".join(f"Step {number}: do {number}" for number in used)
    heading = data.draw(st.sampled_from(("Execution Order: ", "**Execution order**: ", "# execution ORDER:\n", "")))
    heading = heading or "- **Execution Order:** "
    after = data.draw(st.sampled_from(("", ".", "\n", "\n\nThat is all.", "\n```\n")))
    plan = read_decomposition(f"# Think: so.\n{listed}\n{heading}{data.draw(written_order(tree))}{after}")
    expected: list[str] = []

    def achieve(step: int) -> bool:
        expected.append(f"do {step}")
        return outcomes[step - 1]

    done = evaluate(tree, achieve)
    results = {f"do {number}": outcome for number, outcome in enumerate(outcomes, 1)}
    assert run_code(plan.code, results) == (expected, done)
    assert (plan.thought, plan.steps) == ("# Think: so.", {number: f"do {number}" for number in used})


READABLE = """\
done = (
    together(
        begin()
        and achieve('find it')
        and achieve('take it')
    )
    or achieve('bring it')
)
finish(done)
"""


def test_an_order_becomes_readable_code() -> None:
    plan = read_decomposition(f"{STEPS}Execution Order: ((Step 1 AND Step 2) OR Step 3)")
    assert plan.code == READABLE
    plan = read_decomposition("Step 1: do it\nExecution Order: Step 1")
    assert plan.code == "done = achieve('do it')\nfinish(done)\n"


MIXED = r"mixes AND and OR without brackets; .* as in \(Step 1 OR Step 2\) AND Step 3"


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("Step 1 AND Step 2 OR Step 3", MIXED),
        ("Step 1 AND (Step 2 OR (Step 3 AND Step 1 OR Step 2))", MIXED),
        ("((Step 1 OR Step 2) AND Step 3 OR Step 1", MIXED),
        ("Step 1 AND Step 7 AND Step 9", r"names Step 7, Step 9; the plan has Step 1, Step 2, Step 3"),
        ("Step 1 AND Step 2", r"leaves out Step 3; every step"),
        ("   \n\n", "the execution order is empty"),
        ("```\n**.\n```", "the execution order is empty"),
        ("(Step 1 AND Step 2 AND Step 3", r"lacks a closing bracket: '\(Step 1"),
        ("Step 1 AND Step 2) AND Step 3", "lacks an opening bracket"),
        (")Step 1 AND Step 2 AND Step 3(", r"cannot be read at '\)Step 1"),
        ("NOT Step 1 AND Step 2 AND Step 3", "cannot be read at 'NOT Step 1"),
        ("Step 1 XOR Step 2", "cannot be read at 'XOR Step 2'; it may contain only steps"),
        ("Step 1 AND Step 2 AND Step 3\nGood luck!", "cannot be read at 'Good luck!'"),
        ("Step 1 AND Step 2 AND", "cannot be read at its end"),
        ("AND Step 1", "cannot be read at 'AND Step 1'"),
        ("Step 1 ANDStep 2", "cannot be read at 'ANDStep 2'"),
        (f"Step {'9' * 5000}", "cannot be read at 'Step 999"),
    ],
)
def test_a_faulty_order_is_refused_with_a_short_reason(order: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        read_decomposition(f"{STEPS}Execution Order: {order}")
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "the plan has no steps"),
        ("Step 1:\nStep 2: **\nExecution Order: Step 1 AND Step 2", "the plan has no steps"),
        (STEPS, "the last line is missing: 'Execution Order: ...'"),
        (f"{STEPS}The execution order: Step 1 AND Step 2 AND Step 3", "the last line is missing"),
        (f"{STEPS}Step 2: again\nExecution Order: Step 1", "two steps with the number 2"),
        ("Step 1: a\nStep 01: b\nExecution Order: Step 1", "two steps with the number 01"),
    ],
)
def test_a_plan_without_sound_steps_and_an_order_is_refused(reply: str, problem: str) -> None:
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
    ],
)
def test_other_forms_of_steps_and_orders_are_read(reply: str, expression: str) -> None:
    assert expression in read_decomposition(reply).expression


def test_the_last_order_is_read() -> None:
    plan = read_decomposition(f"Execution Order: none yet\n{STEPS}Execution Order: Step 1 AND Step 2 AND Step 3")
    assert (plan.expression.count(" and "), plan.thought) == (2, "Execution Order: none yet")


def test_steps_of_several_lines_are_found_between_thoughts_and_may_be_repeated() -> None:
    plan = read_decomposition(
        "# Think: first\n- **Step 1:** take the mug\n  that is on the shelf\n# Think: then\n> Step 2) put it\n"
        "on the desk\n\nThat is all.\nExecution Order: Step 1 AND Step 2 AND Step 2"
    )
    assert plan.steps == {1: "take the mug that is on the shelf", 2: "put it on the desk"}
    assert plan.expression.count("achieve('put it on the desk')") == 2
    assert plan.thought == "# Think: first\n# Think: then\n\nThat is all."


def is_step_text(text: str) -> bool:
    return text.splitlines()[:1] != [] and text.splitlines()[0].strip("*_ \t") != ""


HOSTILE = (
    "x') or finish(True) or achieve('y",
    'x") or finish(True) #',
    "'''\"\"\"",
    "back\\slash \\' \\n \\",
    "ünïcödé 日本語 \N{PILE OF POO} \u202e reversed \u2066",
    "nul \0 bell \a escape \x1b[2J",
    "Execution Order: Step 1 OR Step 2",
    "\ud800 half of a pair",
)


@given(st.sampled_from(HOSTILE) | st.text().filter(is_step_text))
def test_the_text_of_a_step_cannot_break_out_of_the_code(text: str) -> None:
    plan = read_decomposition(f"Step 1: {text}\nStep 2: last\nExecution Order: Step 1 AND Step 2")
    called, done = run_code(plan.code, dict.fromkeys(plan.steps.values(), True))
    assert (called, done) == ([plan.steps[1], "last"], True)
    assert all(word in text for word in plan.steps[1].split())
    assert check(plan.code, {"achieve": lambda step: True, "finish": lambda done: None}) == []


def nested(depth: int) -> str:
    """Return an order with brackets of this depth, in which AND and OR alternate."""
    order = "Step 3"
    for level in range(depth):
        order = f"({'Step 2 AND' if level % 2 else 'Step 1 OR'} {order})"
    return order


def test_the_most_deeply_nested_order_runs_in_the_sandbox(sandbox: Sandbox) -> None:
    plan = read_decomposition(f"{STEPS}Execution Order: {nested(MAX_NESTING)}")
    calls: list[str] = []

    def achieve(step: str) -> bool:
        calls.append(step)
        return step != "find it"

    functions: dict[str, Callable[..., object]] = {
        "achieve": achieve,
        "begin": lambda: True,
        "together": lambda done: done,
        "finish": lambda done: calls.append(str(done)),
    }
    with sandbox.session(functions) as session:
        assert session.run(plan.code).fault is None
    assert calls == [*["take it", "find it"] * (MAX_NESTING // 2), "bring it", "True"]


@pytest.mark.parametrize("depth", [MAX_NESTING + 1, 5_000])
def test_a_more_deeply_nested_order_is_refused(depth: int) -> None:
    with pytest.raises(ValueError, match=f"brackets {depth} deep; at most {MAX_NESTING} is"):
        read_decomposition(f"{STEPS}Execution Order: {nested(depth)}")
    with pytest.raises(ValueError, match=f"brackets {depth} deep"):
        read_decomposition(f"{STEPS}Execution Order: {'(' * depth}Step 1 AND Step 2 AND Step 3{')' * depth}")


def test_the_check_refuses_a_plan_too_long_for_a_cell() -> None:
    steps = f"Step 1: {'look ' * 200}\nExecution Order: "
    functions = {"achieve": lambda step: True, "finish": lambda done: None}
    assert check(read_decomposition(steps + " AND ".join(["Step 1"] * 90)).code, functions) == []
    (fault,) = check(read_decomposition(steps + " AND ".join(["Step 1"] * 110)).code, functions)
    assert "characters" in fault.message


@pytest.mark.parametrize(
    "reply",
    [
        "\n" * 50_000,
        "-" * 50_000,
        "Step 1" + " " * 50_000,
        "Step 1: a" + " " * 50_000 + "b",
        "Step 1: a\nexecution" + " " * 50_000,
        "Step 1: a\nexecution order" + " *" * 25_000,
        "Step 1: a\nExecution Order: Step 1" + " " * 50_000 + "x",
        "Step 1: a\nExecution Order: " + ". " * 25_000 + "x",
        "Step 1: a\nExecution Order: Step " + "1" * 50_000,
    ],
)
def test_endless_repetition_is_read_quickly(reply: str) -> None:
    start = time.thread_time()
    with suppress(ValueError):
        read_decomposition(reply)
    assert time.thread_time() - start < 1
