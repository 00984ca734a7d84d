"""Find the code of a plan in a model's reply.

A fenced block is the text between two Markdown fences, such as a line ```python and a line ```. The plan consists of
the fenced blocks of Python in the reply, joined in order. A block is left out if a later block revises it: if the later
one defines a function or class with the same name, or a ``[Step n]`` with the same number. A reply without fences is a
plan only if the whole reply is Python code. So neither half a plan nor an example in prose ever runs.
"""

import ast
import re
from dataclasses import dataclass, replace

from planbook.sandbox.policy.compiler import code_lines
from planbook.sandbox.reading.definitions import STRING_OR_COMMENT, step_numbers
from planbook.sandbox.reading.syntax import compile_error, parse, parse_or_message
from planbook.sandbox.types import Fault, FaultKind

MAX_REPLY_CHARS = 1_000_000

_ONE_BLOCK = "put the whole plan into one block that begins with ```python and ends with ```"
_CALL_OR_ASSIGNMENT = ast.Call | ast.Assign | ast.AugAssign


@dataclass(frozen=True, slots=True)
class FencedBlock:
    """A fenced block. ``language`` is the language that its opening fence names, in lower case, or "".

    ``opening_line`` and ``closing_line`` are the line numbers of its fences, counted from 0. If no fence closes the
    block, ``is_closed`` is False and ``closing_line`` is the number of lines in the reply.
    """

    language: str
    code: str
    opening_line: int
    closing_line: int
    is_closed: bool


@dataclass(frozen=True, slots=True)
class ReadReply:
    """A model's reply: the plan's ``code``, the prose ``before`` and ``after`` it, and a ``problem`` if there is one.

    ``places`` has a pair for each block of the plan: the number of its first line in ``code``, and the number of the
    same line in the reply. ``closed`` is True if a fence closes the last block, so that the code is certainly complete.
    """

    before: str
    code: str
    after: str
    places: tuple[tuple[int, int], ...] = ()
    problem: Fault | None = None
    closed: bool = False

    def reply_line(self, code_line: int) -> int:
        """Convert the number of a line of ``code`` to the number of the same line in the reply. Both count from 1."""
        begin, begin_in_reply = max((place for place in self.places if place[0] <= code_line), default=(1, 1))
        return begin_in_reply + code_line - begin


def read_reply(text: str) -> ReadReply:
    """Find the plan in a model's reply. Never raises. If there is no usable plan, ``problem`` tells the model why.

    In the code, line ends become newlines, and the indentation of each block is removed. Nothing else changes.

    >>> read_reply("I look first.\\n```python\\nagent.look()\\n```").code
    'agent.look()'
    """
    if len(text) > MAX_REPLY_CHARS:
        message = f"the reply has {len(text)} characters; at most {MAX_REPLY_CHARS} are allowed"
        return ReadReply("", "", "", problem=_problem("too-long", message, "write a shorter reply"))
    lines = code_lines(text)
    if chosen := _plan_blocks(fenced_blocks(lines)):
        return _from_fences(lines, chosen)
    return _from_unfenced_text(lines)


def _plan_blocks(blocks: list[FencedBlock]) -> list[FencedBlock]:
    """Return the blocks that are marked as Python.

    If there are none, return the unmarked blocks that can be parsed, or else the last unmarked block.
    """
    if marked := [block for block in blocks if block.language in PYTHON]:
        return marked
    unmarked = [block for block in blocks if not block.language]
    parsed = [block for block in unmarked if block.code.strip() and not isinstance(parse_or_message(block.code), str)]
    return parsed or unmarked[-1:]


def _from_fences(lines: list[str], fenced: list[FencedBlock]) -> ReadReply:
    names = [_names_and_steps(block.code) for block in fenced] if len(fenced) > 1 else [set()]
    revised = [any(defined & later for later in names[number + 1 :]) for number, defined in enumerate(names)]
    kept = [block for block, is_revised in zip(fenced, revised, strict=True) if not is_revised]
    places, code_line = list[tuple[int, int]](), 1
    for block in kept:
        places.append((code_line, block.opening_line + 2))
        code_line += block.code.count("\n") + 1
    code = "\n".join(block.code for block in kept)
    before = "\n".join(lines[: fenced[0].opening_line])
    after, closed = "\n".join(lines[fenced[-1].closing_line + 1 :]), fenced[-1].is_closed
    return ReadReply(before.strip(), code, after.strip(), tuple(places), _code_problem(code, closed=closed), closed)


def _from_unfenced_text(lines: list[str]) -> ReadReply:
    """Read a reply without fences. It is a plan if all of it is Python code that calls or assigns something.

    Prose such as "Done" or "Answer: 42" can be parsed, too, but does neither. A reply with an item of a list, such as
    "- f()", or a label, such as "Next: f()", is not a plan, although it can be parsed.
    """
    start = next((number for number, line in enumerate(lines) if line.strip()), 0)
    code = _dedent("", lines[start:]).rstrip()
    tree, message = parse(code), "the reply contains no Python code"
    if isinstance(tree, ast.Module) and not any(map(_is_item_or_label, tree.body)) and _calls_or_assigns(tree):
        return ReadReply("", code, "", ((1, start + 1),), _code_problem(code, closed=True))
    if isinstance(tree, Fault):
        line = f"line {tree.line}: " if tree.line else ""
        message += f" between fences, and without fences all of it must be Python code ({line}{tree.message})"
    openings = filter(None, map(OPENING.match, lines))
    in_string = any(language_of(opening[3]) in PYTHON for opening in openings)
    hint = f"{_ONE_BLOCK}, and write no triple quotes before it" if in_string else _ONE_BLOCK
    return ReadReply("\n".join(lines).strip(), "", "", problem=_problem("no-code", message, hint))


def _calls_or_assigns(tree: ast.Module) -> bool:
    return any(isinstance(node, _CALL_OR_ASSIGNMENT) for node in ast.walk(tree))


def _is_item_or_label(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AnnAssign):
        return statement.value is None
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.UnaryOp | ast.Starred)


def _code_problem(code: str, *, closed: bool) -> Fault | None:
    tree = parse(code)
    fault = tree if isinstance(tree, Fault) else compile_error(code, tree)
    if fault is None:
        empty = _problem("empty", "the code block contains no statement", "write the plan's code into the block")
        return None if isinstance(tree, ast.Module) and tree.body else empty
    hint = f"the reply ended inside its code block: write the whole block, shorter if necessary. {fault.hint}"
    return fault if closed else replace(fault, hint=hint)


def _problem(kind: str, message: str, hint: str) -> Fault:
    return Fault(FaultKind.CHECK, kind, message, hint=hint)


def _names_and_steps(code: str) -> set[str]:
    """Return the names of the functions and classes that a block defines, and its steps, such as ``[Step 2]``."""
    tree = parse_or_message(code)
    body = tree.body if isinstance(tree, ast.Module) else []
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    return defined | {f"[Step {number}]" for number in step_numbers(code) if number}


# Fenced blocks, as Markdown defines them and as models write them.

OPENING = re.compile(r"^([ \t]*(?:>[ \t]?)*)(`{3,}+|~{3,}+)[ \t]*+([^`]*+)$")
"""Matches a line that opens a block. The groups are the indentation, the fence, and the info string that follows the
fence, such as ``python``.
"""
PYTHON = frozenset({"python", "python3", "py", "py3", "python-repl", "ipython", "ipython3"})
MAX_BLOCKS = 200
_MAX_LATER_CLOSINGS = 20
"""Maximum number of fences after the first that are tried as the end of a block. The first is not always the end: a
string in the block may contain fences.
"""
_MAX_FAILED_CHARS = 150_000
"""Maximum number of characters of a reply that are parsed without success in the search for the ends of blocks."""


def fenced_blocks(lines: list[str]) -> list[FencedBlock]:
    """Return the first MAX_BLOCKS blocks in order. A last block that no fence closes ends with the text."""
    blocks: list[FencedBlock] = []
    prose, number, budget = ProseScanner(), 0, _MAX_FAILED_CHARS
    while number < len(lines) and len(blocks) < MAX_BLOCKS:
        opening = OPENING.match(lines[number])
        if opening and not prose.ends_in_string():  # a fence inside a docstring does not begin a plan
            block, budget = _block(lines, budget, number, *opening.groups())
            blocks.append(block)
            number = blocks[-1].closing_line
            prose.clear()
        else:
            prose.add(lines[number])
        number += 1
    return blocks


def language_of(info: str) -> str:
    """Return the language that an info string names, in lower case, or "" if it names none."""
    words = re.sub(r"[{}.,:]", " ", info).split()
    return words[0].lower() if words else ""


def closing_of(fence: str) -> re.Pattern[str]:
    """Return a pattern that matches the lines that may close a block with this opening fence."""
    return re.compile(rf"^[ \t]*(?:>[ \t]?)*{fence[0]}{{{len(fence)},}}[ \t]*$")


def indent_of(line: str) -> str:
    """Return the indentation of a line."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def _block(lines: list[str], budget: int, start: int, indent: str, fence: str, info: str) -> tuple[FencedBlock, int]:
    """Return the block that opens at the line ``start``, and the budget that is left.

    The block ends at the first fence for which the code above it can be parsed, since earlier fences may be inside a
    string. If there is no such fence, it ends at the very first one. ``budget`` is the number of characters that may
    still be parsed without success.
    """
    language = language_of(info)
    closings = _closing_lines(lines, start, fence, first_only=language not in PYTHON)
    for closing in closings if len(closings) > 1 else ():  # a single fence is the end in any case
        code = _dedent(indent, lines[start + 1 : closing])
        if isinstance(parse_or_message(code), ast.Module):
            return FencedBlock(language, code, start, closing, is_closed=True), budget
        if (budget := budget - len(code)) < 0:
            break
    end = closings[0] if closings else len(lines)
    code = _dedent(indent, lines[start + 1 : end])
    return FencedBlock(language, code, start, end, is_closed=bool(closings)), budget


def _closing_lines(lines: list[str], opening: int, fence: str, *, first_only: bool) -> list[int]:
    """Return the numbers of the lines that may close the block that opens at the line ``opening``.

    The search ends at the next line that opens a block of Python. If ``first_only``, return at most one number.
    """
    closing = closing_of(fence)
    closings: list[int] = []
    for number in range(opening + 1, len(lines)):
        if closing.match(lines[number]):
            closings.append(number)
            if first_only or len(closings) > _MAX_LATER_CLOSINGS:
                break
        elif closings and (match := OPENING.match(lines[number])) and language_of(match[3]) in PYTHON:
            break
    return closings


def _dedent(indent: str, lines: list[str]) -> str:
    """Join the lines. Remove the indentation of the fence, and then that of the first line that is not blank."""
    lines = [line.removeprefix(indent) for line in lines]
    indentation = indent_of(next((line for line in lines if line.strip()), ""))
    return "\n".join(line.removeprefix(indentation) for line in lines)


class ProseScanner:
    """Reads the lines between the fenced blocks of a text, and detects whether a triple-quoted string is still open."""

    def __init__(self) -> None:
        self._open_quote = ""

    def add(self, line: str) -> None:
        """Add the next line."""
        unclosed = ""
        for text in STRING_OR_COMMENT.finditer(self._open_quote + line):
            unclosed = "" if text["closed"] else text["long"] or ""
        self._open_quote = unclosed

    def clear(self) -> None:
        """Forget all lines, after a fenced block."""
        self._open_quote = ""

    def ends_in_string(self) -> bool:
        """Return whether the lines end inside a triple-quoted string."""
        return self._open_quote != ""
