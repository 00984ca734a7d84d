"""Reads a plan with an execution order (ADaPT, section 3.2 and appendix B) and turns it into Python.

A planner replies with lines ``Step 1: ...`` and a last line ``Execution Order: (Step 1 OR Step 2) AND Step 3``. Square
brackets, steps that begin with ``1.`` and comments after ``#`` are accepted, too.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, dropwhile, takewhile

from lark import Lark, Token, Tree, UnexpectedInput, UnexpectedToken

from planbook.planner.types import Record
from planbook.sandbox import MAX_SOURCE

GRAMMAR = r"""
    ?order: term | all | any
    all: term (AND term)+
    any: term (OR term)+
    ?term: STEP | "(" order ")" | "[" order "]"
    STEP: /(?:step\s*)?\d{1,4}\b/i
    AND: /and\b/i
    OR: /or\b/i
    %import common.WS
    %ignore WS
"""
LONGEST = 40
"""Maximum number of characters quoted from a faulty order."""
DEEPEST = 50
"""Maximum nesting of brackets; Python's own limit is 200."""
_STEP = re.compile(r"step\s*(\d{1,4})[\s*_]*[:.)](.*)", re.IGNORECASE)
_NUMBERED = re.compile(r"(\d{1,4})[.:)]\s(.*)")
"""Beginnings of a step in a plan that never says "Step 1"."""
COMMENT = " # "
_ORDER = re.compile(r"execution\s+order[\s*_]*:(.*)", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n?|\n")
_DECORATION = re.compile(r"[*_`]+|\.\s*$")


class Decomposition(Record):
    """A decomposed task: the subtasks by number, and a Python expression of ``achieve`` that combines them.

    An alternative (OR) that takes more than one step (AND) reads ``together(begin() and ...)``: it fails as a whole,
    like one subtask, and hands nothing on.
    """

    thought: str
    steps: dict[int, str]
    expression: str

    @property
    def code(self) -> str:
        """Return plan code that tries the subtasks and says whether that was enough.

        It short-circuits as Python does.
        """
        return f"done = {self.expression}\nfinish(done)\n"


def read_decomposition(text: str) -> Decomposition:
    """Return the plan in a planner's reply. Raises ValueError, which says what is wrong with it."""
    lines = _LINE_END.split(text)
    last = max((number for number, line in enumerate(lines) if _found(_ORDER, line)), default=len(lines))
    steps, thought = _steps(lines[:last])
    if not steps:
        raise ValueError("the plan has no steps; write each as a line of its own, 'Step 1: ...', 'Step 2: ...'")
    if last == len(lines):
        raise ValueError("the last line is missing: 'Execution Order: ...' with the steps joined by AND or OR")
    tree = _parsed(_order(lines[last:]))
    named = [_number(token) for token in tree.scan_values(lambda value: isinstance(value, Token))]
    numbers = [number for number in named if number is not None]
    if unknown := sorted(set(numbers) - set(steps)):
        raise ValueError(f"the execution order names {_listed(unknown)}; the plan has {_listed(sorted(steps))}")
    if left_out := sorted(set(steps) - set(numbers)):
        raise ValueError(f"the execution order leaves out {_listed(left_out)}; every step belongs into it")
    plan = Decomposition(thought=thought, steps=steps, expression=_layout(tree, steps, ""))
    if len(plan.code) > MAX_SOURCE:
        raise ValueError(f"the plan is too long: as code it has {len(plan.code):,} characters of {MAX_SOURCE:,}")
    return plan


def _found(pattern: re.Pattern[str], line: str) -> re.Match[str] | None:
    """Return the beginning of a line, after the marks of a heading, a quotation or a list."""
    return pattern.match(line.lstrip("*_#>- \t"))


def _steps(lines: Sequence[str]) -> tuple[dict[int, str], str]:
    """Return the steps by number, and the text around them. A step ends at an empty line, a thought or a fence."""
    steps: dict[int, str] = {}
    thought: list[str] = []
    current: int | None = None
    begins = _STEP if any(_found(_STEP, line) for line in lines) else _NUMBERED
    for line in lines:
        found = _found(begins, line)
        told = (found[2] if found else line).partition(COMMENT)[0].strip("*_ \t")
        if found and told:
            current = int(found[1])
            if current in steps:
                raise ValueError(f"the plan has two steps of the number {found[1]}; number them 1, 2, 3 ...")
            steps[current] = told
        elif current is not None and told and not told.startswith(("#", "`")):
            steps[current] = f"{steps[current]} {told}"
        else:
            current = None
            thought.append(line)
    return steps, "\n".join(thought).strip()


def _order(lines: Sequence[str]) -> str:
    """Return the order, which may span several lines up to an empty one or a fence."""
    first = _found(_ORDER, lines[0])
    told = [line.partition(COMMENT)[0] for line in (first[1] if first else "", *lines[1:])]
    begun = dropwhile(lambda line: not line.strip("`*_ \t"), told)
    return _DECORATION.sub("", "\n".join(takewhile(lambda line: line.strip("` \t"), begun))).strip()


@cache
def _grammar() -> Lark:
    return Lark(GRAMMAR, start="order", parser="lalr", maybe_placeholders=False)


def _parsed(order: str) -> Tree[Token]:
    if not order:
        raise ValueError("the execution order is empty; join the steps in it by AND or OR")
    if (deep := _depth(order)) > DEEPEST:
        raise ValueError(f"the execution order has brackets {deep} deep, more than {DEEPEST}; write a simpler one")
    try:
        parsed = _grammar().parse(order)
    except UnexpectedInput as unexpected:
        raise ValueError(_what_is_wrong(order, unexpected)) from unexpected
    return parsed if isinstance(parsed, Tree) else Tree("all", [parsed])


def _depth(order: str) -> int:
    """Return the greatest number of open brackets. Trees are walked recursively, within Python's recursion limit."""
    return max(accumulate((sign in "([") - (sign in ")]") for sign in order))


def _what_is_wrong(order: str, unexpected: UnexpectedInput) -> str:
    """Return what a planner is told about an unreadable order."""
    brackets = sum((sign in "([") - (sign in ")]") for sign in order)
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
    ended = isinstance(unexpected, UnexpectedToken) and unexpected.token.type == "$END"
    at = len(order) if ended else unexpected.pos_in_stream or 0
    where = f"at {order[at : at + LONGEST]!r}" if order[at:] else "at its end"
    return f"the execution order cannot be read {where}; it holds only steps ('Step 1'), AND, OR and brackets"


def _number(token: Token) -> int | None:
    return int(re.sub(r"\D", "", token)) if token.type == "STEP" else None


def _layout(node: Tree[Token] | Token, steps: dict[int, str], indent: str, *, choice: bool = False) -> str:
    """Return the expression with one subtask a line; ``choice`` if it is one of several alternatives."""
    if isinstance(node, Token):
        return f"achieve({steps[_number(node) or 0]!r})"
    terms = [child for child in node.children if not (isinstance(child, Token) and child.type != "STEP")]
    if len(terms) == 1:
        return _layout(terms[0], steps, indent)
    inner, every = f"{indent}    ", node.data == "all"
    parts = [_layout(term, steps, inner, choice=not every) for term in terms]
    if every and choice:
        parts.insert(0, "begin()")
    joined = f"\n{inner}{'and' if every else 'or'} ".join(parts)
    return f"{'together' if every and choice else ''}(\n{inner}{joined}\n{indent})"


def _listed(numbers: list[int]) -> str:
    return ", ".join(f"Step {number}" for number in numbers)
