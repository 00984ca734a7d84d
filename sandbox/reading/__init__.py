"""From model text to code: replies to plans, plans to steps and definitions, broken code to where it breaks."""

from sandbox.reading.definitions import Definition, Section, bound_names, carry, carryable, definitions, sections
from sandbox.reading.reply import Block, ReadReply, read_reply
from sandbox.reading.syntax import locate_error, parse

__all__ = [
    "Block",
    "Definition",
    "ReadReply",
    "Section",
    "bound_names",
    "carry",
    "carryable",
    "definitions",
    "locate_error",
    "parse",
    "read_reply",
    "sections",
]
