"""The fenced blocks of a text, as Markdown has them and as models write them."""

import ast
import re
from dataclasses import dataclass

from planbook.sandbox.reading.syntax import parse_only
from planbook.sandbox.reading.unfenced import Outside

OPENING = re.compile(r"^([ \t]*(?:>[ \t]?)*)(`{3,}|~{3,})[ \t]*([^`]*)$")
"""A line that opens a block: its own indentation, its fence, and what stands behind."""
PYTHON = frozenset({"python", "python3", "py", "py3", "python-repl", "ipython", "ipython3"})
MAX_BLOCKS = 200
_LATER_CLOSINGS = 20
"""How many further fence lines are tried as the end of a block that is cut short by a fence inside a string."""


@dataclass(frozen=True, slots=True)
class Fenced:
    """One block: its language in small letters, its code, and the lines (from 0) of its opening and closing fence."""

    language: str
    code: str
    opening: int
    closing: int
    closed: bool

    @property
    def is_python(self) -> bool:
        """Whether the fence says so."""
        return self.language in PYTHON


def fenced_blocks(lines: list[str]) -> list[Fenced]:
    """The blocks in order, 200 at most. The last one may be unclosed: it then ends with the text."""
    blocks: list[Fenced] = []
    outside, number = Outside(), 0
    while number < len(lines) and len(blocks) < MAX_BLOCKS:
        opening = OPENING.match(lines[number])
        if opening and not outside.ends_in_string():  # an example in a docstring is no plan
            blocks.append(_block(lines, number, *opening.groups()))
            number = blocks[-1].closing
            outside.clear()
        else:
            outside.add(lines[number])
        number += 1
    return blocks


def language_of(info: str) -> str:
    """The language that stands behind a fence, in small letters; empty where none does."""
    named = re.sub(r"[{}.,:]", " ", info).split()[:1]
    return named[0].lower() if named else ""


def closing_of(fence: str) -> re.Pattern[str]:
    """What a line that closes a fence is like."""
    return re.compile(rf"^[ \t]*(?:>[ \t]?)*{fence[0]}{{{len(fence)},}}[ \t]*$")


def margin_of(line: str) -> str:
    """What a line is indented by."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def _block(lines: list[str], opening: int, indent: str, fence: str, info: str) -> Fenced:
    """The block that opens here.

    It ends at the first line that closes the fence, unless its code is whole only up to a later one: then the fences
    in between stand inside a string.
    """
    named = language_of(info)
    closings = _closings(lines, opening, fence, stop_at_opening=named not in PYTHON)
    for closing in closings:
        code = _without(indent, lines[opening + 1 : closing])
        if isinstance(parse_only(code), ast.Module):
            return Fenced(named, code, opening, closing, closed=True)
    if closings:
        return Fenced(named, _without(indent, lines[opening + 1 : closings[0]]), opening, closings[0], closed=True)
    return Fenced(named, _without(indent, lines[opening + 1 :]), opening, len(lines), closed=False)


def _closings(lines: list[str], opening: int, fence: str, *, stop_at_opening: bool) -> list[int]:
    """The lines that may close the fence, up to the next line that plainly opens a Python block."""
    closing = closing_of(fence)
    found: list[int] = []
    for number in range(opening + 1, len(lines)):
        if closing.match(lines[number]):
            found.append(number)
            if stop_at_opening or len(found) > _LATER_CLOSINGS:
                break
        elif found and _opens_python(lines[number]) and number > found[0]:
            break
    return found


def _opens_python(line: str) -> bool:
    match = OPENING.match(line)
    return match is not None and match[3].strip().lower() in PYTHON


def _without(indent: str, lines: list[str]) -> str:
    """The lines without the fence's own indentation, and without what they all are indented beyond it."""
    lines = [line.removeprefix(indent) if indent else line for line in lines]
    first = next((line for line in lines if line.strip()), "")
    margin = margin_of(first)
    return "\n".join(line.removeprefix(margin) for line in lines) if margin else "\n".join(lines)
