"""A plan of sub-tasks with an execution order (ADaPT, section 3.2 and appendix B), and the Python that it means.

A planner replies with lines ``Step 1: ...`` and a last one, ``Execution Order: (Step 1 OR Step 2) AND Step 3``.
"""

import re
from functools import cache

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from planner.types import Record

GRAMMAR = r"""
    ?order: term | all | any
    all: term (AND term)+
    any: term (OR term)+
    ?term: STEP | "(" order ")"
    STEP: /step\s*\d+\b/i
    AND: /and\b/i
    OR: /or\b/i
    %import common.WS
    %ignore WS
"""
LONGEST = 40
"""Characters of a faulty order that are quoted."""
_STEP = re.compile(r"^[\s*_#>-]*step\s*(\d+)\s*[*_]*\s*[:.)]\s*[*_]*\s*(.*\S)\s*$", re.IGNORECASE)
_ORDER = re.compile(r"^[\s*_#>-]*execution\s+order[*_]*\s*:[*_]*\s*(.*)$", re.IGNORECASE | re.DOTALL | re.MULTILINE)
_DECORATION = re.compile(r"[*_`]+|\.\s*$")


class Decomposition(Record):
    """A task taken apart: the sub-tasks, by number, and how they go together as a Python expression of ``achieve``."""

    thought: str
    steps: dict[int, str]
    expression: str

    @property
    def code(self) -> str:
        """Plan code that tries the sub-tasks and says whether that was enough. Short-circuit is Python's own."""
        return f"done = {self.expression}\nfinish(done)\n"


def read_decomposition(text: str) -> Decomposition:
    """The plan in a planner's reply. Raises ValueError that says what is wrong with it."""
    found = list(_ORDER.finditer(text))
    steps = _steps(text[: found[-1].start()] if found else text)
    if not steps:
        raise ValueError("the plan has no steps; write each as a line of its own, 'Step 1: ...', 'Step 2: ...'")
    if not found:
        raise ValueError("the last line is missing: 'Execution Order: ...' with the steps joined by AND or OR")
    tree = _parsed(_first_paragraph(found[-1][1]))
    named = [_number(token) for token in tree.scan_values(lambda value: isinstance(value, Token))]
    numbers = [number for number in named if number is not None]
    if unknown := sorted(set(numbers) - set(steps)):
        raise ValueError(f"the execution order names {_listed(unknown)}; the plan has {_listed(sorted(steps))}")
    if left_out := sorted(set(steps) - set(numbers)):
        raise ValueError(f"the execution order leaves out {_listed(left_out)}; every step belongs into it")
    thought = _STEP_LINES.sub("", text[: found[-1].start()]).strip()
    return Decomposition(thought=thought, steps=steps, expression=_layout(tree, steps, ""))


_STEP_LINES = re.compile(_STEP.pattern, re.IGNORECASE | re.MULTILINE)


def _steps(text: str) -> dict[int, str]:
    steps: dict[int, str] = {}
    for line in text.splitlines():
        if found := _STEP.match(line):
            if int(found[1]) in steps:
                raise ValueError(f"the plan has two steps of the number {found[1]}; number them 1, 2, 3 ...")
            steps[int(found[1])] = found[2].strip("*_ ")
    return steps


def _first_paragraph(text: str) -> str:
    """The order may go over several lines; what comes after an empty one is no part of it."""
    return re.split(r"\n\s*\n|\n\s*```", text.strip())[0].strip()


@cache
def _grammar() -> Lark:
    return Lark(GRAMMAR, start="order", parser="lalr", maybe_placeholders=False)


def _parsed(order: str) -> Tree[Token]:
    if not _DECORATION.sub("", order).strip():
        raise ValueError("the execution order is empty; join the steps in it by AND or OR")
    try:
        parsed = _grammar().parse(_DECORATION.sub("", order))
    except UnexpectedInput as unexpected:
        raise ValueError(_what_is_wrong(_DECORATION.sub("", order), unexpected)) from unexpected
    return parsed if isinstance(parsed, Tree) else Tree("all", [parsed])


def _what_is_wrong(order: str, unexpected: UnexpectedInput) -> str:
    """What a planner is told of an order that cannot be read."""
    brackets = order.count("(") - order.count(")")
    if isinstance(unexpected, UnexpectedToken) and unexpected.token.type in ("AND", "OR"):
        wanted = {"AND": "OR", "OR": "AND"}[unexpected.token.type]
        if wanted in unexpected.expected:
            return (
                "the execution order mixes AND and OR without brackets; "
                f"say what belongs together, as in (Step 1 OR Step 2) AND Step 3: {order[: LONGEST * 3]!r}"
            )
    if brackets:
        missing = "a closing" if brackets > 0 else "an opening"
        return f"the execution order lacks {missing} bracket: {order[: LONGEST * 3]!r}"
    at = unexpected.pos_in_stream if isinstance(unexpected, UnexpectedCharacters | UnexpectedToken) else None
    where = f"at {order[at : at + LONGEST]!r}" if at is not None and order[at:] else "at its end"
    return f"the execution order cannot be read {where}; it holds only steps ('Step 1'), AND, OR and brackets"


def _number(token: Token) -> int | None:
    return int(re.sub(r"\D", "", token)) if token.type == "STEP" else None


def _layout(node: Tree[Token] | Token, steps: dict[int, str], indent: str) -> str:
    """The expression laid out with one sub-task a line."""
    if isinstance(node, Token):
        return f"achieve({steps[_number(node) or 0]!r})"
    terms = [child for child in node.children if not (isinstance(child, Token) and child.type != "STEP")]
    if len(terms) == 1:
        return _layout(terms[0], steps, indent)
    inner = f"{indent}    "
    parts = [_layout(term, steps, inner) for term in terms]
    operator = "and" if node.data == "all" else "or"
    joined = f"\n{inner}{operator} ".join(parts)
    return f"(\n{inner}{joined}\n{indent})"


def _listed(numbers: list[int]) -> str:
    return ", ".join(f"Step {number}" for number in numbers)
