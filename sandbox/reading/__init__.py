"""From model text to code: replies to plans, plans to steps and definitions, broken code to where it breaks."""

from sandbox.policy.trees import parse_source
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
    "parse_source",
    "read_reply",
    "sections",
]
