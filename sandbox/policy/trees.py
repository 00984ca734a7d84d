"""Source to trees, and trees to code, one thread at a time.

CPython counts how deep it is in a tree once for all threads of an interpreter. Another thread that gets its turn in the
middle (a garbage collection can give it one) upsets the count, and a SystemError comes out of sound code. Warnings, of
"x is 1" and the like, are kept off the host's standard error: a plan's style is no business of it.
"""

import ast
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Literal

_ALONE = threading.Lock()
_WORD = re.compile(r"[0-9A-Za-z_\x80-\U0010ffff]+")
_OPENS_SCOPE = ("def", "lambda", "class", "for")
"""What a function, class or comprehension cannot be written without."""
_F_STRING = re.compile(r"(?:f|fr|rf)['\"]", re.IGNORECASE)
MAX_FIELDS = 10_000
"""Braces of a source with f-strings: up to Python 3.11 each field of one goes through a parser of its own."""
MAX_LOOKUPS = 4_000_000
"""Words of a source times the scopes in it: CPython copies the names of the functions around for every scope inside.
No file below 100,000 characters of the standard library, numpy or sympy has half as many."""


@contextmanager
def _alone() -> Iterator[None]:
    with _ALONE, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def parse_source(source: str, name: str = "<plan>") -> ast.Module:
    """Return the tree of a source. Raises what ``ast.parse`` raises; SyntaxError for one that takes long to compile."""
    if too_much := _too_much(source):
        raise SyntaxError(f"too many {too_much} in one piece of code", (name, 1, 1, None))
    with _alone():
        return ast.parse(source, name)


def _too_much(source: str) -> str:
    """What of the source is so much that Python would take seconds over it."""
    if len(set(_WORD.findall(source))) * sum(map(source.count, _OPENS_SCOPE)) > MAX_LOOKUPS:
        return "names and functions"
    if source.count("{") > MAX_FIELDS and _F_STRING.search(source):
        return "fields of f-strings"
    return ""


def compile_tree(
    tree: ast.Module | ast.Expression, name: str, mode: Literal["exec", "eval"] = "exec", flags: int = 0
) -> CodeType:
    """Return the code of a tree. Raises what ``compile`` raises."""
    with _alone():
        code: CodeType = compile(tree, name, mode, flags, dont_inherit=True)
        return code
