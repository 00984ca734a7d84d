"""From model text to code: replies to plans, plans to steps and definitions, broken code to where it breaks."""

from planbook.sandbox.policy.trees import parse_source
from planbook.sandbox.reading.definitions import (
    Definition,
    Section,
    bound_by_part,
    bound_names,
    carry,
    carryable,
    definitions,
    sections,
)
from planbook.sandbox.reading.growing import GrowingReply, chars_to_line
from planbook.sandbox.reading.reply import Block, ReadReply, read_reply
from planbook.sandbox.reading.statements import Statement, statements_of
from planbook.sandbox.reading.syntax import code_lines, locate_error, parse

__all__ = [
    "Block",
    "Definition",
    "GrowingReply",
    "ReadReply",
    "Section",
    "Statement",
    "bound_by_part",
    "bound_names",
    "carry",
    "carryable",
    "chars_to_line",
    "code_lines",
    "definitions",
    "locate_error",
    "parse",
    "parse_source",
    "read_reply",
    "sections",
    "statements_of",
]
