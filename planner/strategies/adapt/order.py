"""Read a plan of subtasks with its execution order, and turn it into Python (ADaPT paper, section 3.2 and appendix B).

The planner's reply has a line ``Step 1: ...`` for each subtask, and a last line such as
``Execution Order: (Step 1 OR Step 2) AND Step 3``. The plan may also contain square brackets, steps that begin with
only a number (``1. ...``), and comments after ``#``.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, dropwhile, takewhile

from lark import Lark, Token, Tree, UnexpectedInput, UnexpectedToken

from planbook.planner.types import Record

GRAMMAR = r"""
    start: order
    ?order: term | all | any
    all: term (_AND term)+
    any: term (_OR term)+
    ?term: STEP | "(" order ")" | "[" order "]"
    STEP: /(?:step\s*)?\d{1,4}\b/i
    _AND: /and\b/i
    _OR: /or\b/i
    %import common.WS
    %ignore WS
"""
MAX_QUOTED = 40
"""Maximum number of characters that a message quotes from a faulty order."""
MAX_NESTING = 50
"""Maximum depth of nested brackets. Python's own limit is 200."""
_STEP = re.compile(r"step\s*(\d{1,4})[\s*_]*[:.)](.*)", re.IGNORECASE)
_NUMBERED = re.compile(r"(\d{1,4})[.:)]\s(.*)")
"""Matches a step in a plan that leaves out the word "Step"."""
COMMENT = " # "
_ORDER = re.compile(r"execution\s+order[\s*_]*:(.*)", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n?|\n")
_DECORATION = re.compile(r"[*_`]+|\.\s*$")


class Decomposition(Record):
    """A task that was decomposed into subtasks."""

    thought: str
    """The text around the plan."""
    steps: dict[int, str]
    """Maps the number of each subtask to its text."""
    expression: str
    """The execution order as a Python expression that calls ``achieve`` for each subtask.

    An operand of OR that joins several subtasks by AND becomes ``together(begin() and ...)``. If one of these subtasks
    fails, the whole operand fails, and hands nothing to the next executor.
    """

    @property
    def code(self) -> str:
        """Plan code that tries the subtasks and reports the result. Subtasks that are not needed are not tried."""
        return f"done = {self.expression}\nfinish(done)\n"


def read_decomposition(text: str) -> Decomposition:
    """Return the plan in a planner's reply. Raises ValueError if it is faulty, with a message for the planner."""
    lines = _LINE_END.split(text)
    order_line = max((number for number, line in enumerate(lines) if _match(_ORDER, line)), default=len(lines))
    steps, thought = _steps(lines[:order_line])
    if not steps:
        raise ValueError("the plan has no steps; write each on a separate line, 'Step 1: ...', 'Step 2: ...'")
    if order_line == len(lines):
        raise ValueError("the last line is missing: 'Execution Order: ...' with the steps joined with AND or OR")
    tree = _parse(_order(lines[order_line:]))
    numbers = {_number(token) for token in tree.scan_values(lambda value: isinstance(value, Token))}
    if unknown := sorted(numbers - steps.keys()):
        raise ValueError(f"the execution order names {_list_steps(unknown)}; the plan has {_list_steps(sorted(steps))}")
    if left_out := sorted(steps.keys() - numbers):
        raise ValueError(f"the execution order leaves out {_list_steps(left_out)}; every step must be in it")
    return Decomposition(thought=thought, steps=steps, expression=_expression(tree, steps, ""))


def _match(pattern: re.Pattern[str], line: str) -> re.Match[str] | None:
    """Match a pattern at the beginning of a line. Marks of a heading, a quotation or a list may precede it."""
    return pattern.match(line.lstrip("*_#>- \t"))


def _steps(lines: Sequence[str]) -> tuple[dict[int, str], str]:
    """Return a dict that maps the number of each step to its text, and the text outside the steps.

    A step may span several lines. It ends at the next step, at an empty line, or at a line that begins with ``#`` or a
    backtick.
    """
    steps: dict[int, str] = {}
    thought: list[str] = []
    current: int | None = None
    pattern = _STEP if any(_match(_STEP, line) for line in lines) else _NUMBERED
    for line in lines:
        match = _match(pattern, line)
        text = (match[2] if match else line).partition(COMMENT)[0].strip("*_ \t")
        if match and text:
            current = int(match[1])
            if current in steps:
                raise ValueError(f"the plan has two steps with the number {match[1]}; number them 1, 2, 3 ...")
            steps[current] = text
        elif current is not None and text and not text.startswith(("#", "`")):
            steps[current] = f"{steps[current]} {text}"
        else:
            current = None
            thought.append(line)
    return steps, "\n".join(thought).strip()


def _order(lines: Sequence[str]) -> str:
    """Return the execution order. It may span several lines, and ends at an empty line or a fence."""
    first = _match(_ORDER, lines[0])
    parts = [line.partition(COMMENT)[0] for line in (first[1] if first else "", *lines[1:])]
    rest = dropwhile(lambda line: not line.strip("`*_ \t"), parts)
    return _DECORATION.sub("", "\n".join(takewhile(lambda line: line.strip("` \t"), rest))).strip()


@cache
def _grammar() -> Lark:
    return Lark(GRAMMAR, parser="lalr")


def _parse(order: str) -> Tree[Token]:
    if not order:
        raise ValueError("the execution order is empty; join its steps with AND or OR")
    if (depth := max(_bracket_depths(order))) > MAX_NESTING:
        raise ValueError(
            f"the execution order nests brackets {depth} deep; at most {MAX_NESTING} is allowed: write a simpler one"
        )
    try:
        return _grammar().parse(order)
    except UnexpectedInput as unexpected:
        raise ValueError(_explain(order, unexpected)) from unexpected


def _bracket_depths(order: str) -> list[int]:
    """Return the number of open brackets after each character."""
    return [*accumulate((char in "([") - (char in ")]") for char in order)]


def _explain(order: str, unexpected: UnexpectedInput) -> str:
    """Explain to the planner why an order cannot be read."""
    brackets = _bracket_depths(order)[-1]
    if isinstance(unexpected, UnexpectedToken):
        other_operator = {"_AND": "_OR", "_OR": "_AND"}.get(unexpected.token.type)
        if other_operator in unexpected.expected:
            return (
                "the execution order mixes AND and OR without brackets; "
                f"say what belongs together, as in (Step 1 OR Step 2) AND Step 3: {order[: MAX_QUOTED * 3]!r}"
            )
    if brackets:
        missing = "a closing" if brackets > 0 else "an opening"
        return f"the execution order lacks {missing} bracket: {order[: MAX_QUOTED * 3]!r}"
    ended = isinstance(unexpected, UnexpectedToken) and unexpected.token.type == "$END"
    start = len(order) if ended else unexpected.pos_in_stream or 0
    where = f"at {order[start : start + MAX_QUOTED]!r}" if order[start:] else "at its end"
    return f"the execution order cannot be read {where}; it may contain only steps ('Step 1'), AND, OR and brackets"


def _number(token: Token) -> int:
    return int(re.sub(r"\D", "", token))


def _expression(node: Tree[Token] | Token, steps: dict[int, str], indent: str, *, is_alternative: bool = False) -> str:
    """Return the Python expression for a node of the order's syntax tree, with each subtask on a separate line.

    ``is_alternative`` is True if the node is an operand of OR.
    """
    if isinstance(node, Token):
        return f"achieve({steps[_number(node)]!r})"
    if node.data == "start":
        return _expression(node.children[0], steps, indent)
    inner, is_and = f"{indent}    ", node.data == "all"
    parts = [_expression(term, steps, inner, is_alternative=not is_and) for term in node.children]
    if is_and and is_alternative:
        parts.insert(0, "begin()")
    joined = f"\n{inner}{'and' if is_and else 'or'} ".join(parts)
    return f"{'together' if is_and and is_alternative else ''}(\n{inner}{joined}\n{indent})"


def _list_steps(numbers: list[int]) -> str:
    return ", ".join(f"Step {number}" for number in numbers)
