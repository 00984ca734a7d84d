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
    if _lookups(source) > MAX_LOOKUPS:
        raise SyntaxError("too many names and functions in one piece of code", (name, 1, 1, None))
    with _alone():
        return ast.parse(source, name)


def _lookups(source: str) -> int:
    return len(set(_WORD.findall(source))) * sum(map(source.count, _OPENS_SCOPE))


def compile_tree(
    tree: ast.Module | ast.Expression, name: str, mode: Literal["exec", "eval"] = "exec", flags: int = 0
) -> CodeType:
    """Return the code of a tree. Raises what ``compile`` raises."""
    with _alone():
        code: CodeType = compile(tree, name, mode, flags, dont_inherit=True)
        return code
