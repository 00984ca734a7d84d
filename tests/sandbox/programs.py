"""Plan-like programs made from a grammar.

The tables ``grammar/expressions.txt`` and ``statements.txt`` list the productions of each symbol; ``<x>`` is the
symbol x. The first production has no other symbol, except blocks and the like. All programs end: loops and recursion
call ``more()``, iteration uses ``take()``, and values that are kept pass through ``small()``.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from tests.sandbox.plans import sections

TABLES = Path(__file__).parent / "grammar"
PRELUDE = (TABLES / "prelude.txt").read_text(encoding="utf-8")
MAX_DEPTH = 5
"""Maximum levels of symbols within symbols. Below, each becomes its first production."""
SYMBOL = re.compile(r"<(\w+)>")


def table(file: str, between: str) -> dict[str, list[str]]:
    """Return the productions of each symbol in a file."""
    return {name: body.strip("\n").split(between) for name, body in sections(TABLES / file)}


GRAMMAR = table("expressions.txt", "\n") | table("statements.txt", "\n\n") | {"nothing": [""]}


def expanded(symbol: str, random: Random, depth: int = 0, grammar: Mapping[str, list[str]] = GRAMMAR) -> str:
    """Return a random text of a symbol."""
    productions = grammar[symbol]
    production = random.choice(productions) if depth < MAX_DEPTH else productions[0]
    return "\n".join(_line(line, random, depth, grammar) for line in production.split("\n"))


def _line(line: str, random: Random, depth: int, grammar: Mapping[str, list[str]]) -> str:
    """Return the line with its symbols expanded, with the same indentation."""
    indent = line[: len(line) - len(line.lstrip())]

    def become(found: re.Match[str]) -> str:
        return expanded(found[1], random, depth + 1, grammar).replace("\n", "\n" + indent)

    return SYMBOL.sub(become, line)


def _guarded(statement: str) -> str:
    """Return a statement whose exceptions are printed, so that the program continues."""
    inner = statement.replace("\n", "\n    ")
    return f"try:\n    {inner}\nexcept Exception as problem:\n    print('!', type(problem).__name__, problem)"


def program(random: Random) -> str:
    """Return several statements. Only the last one may end the program with an exception."""
    statements = [expanded("stmt", random) for _ in range(random.randint(3, 9))]
    shown = "print(a, b, c, s, t, xs, ys, d, e, o, p, sep=' ; ')"
    return "\n".join([PRELUDE.strip(), *map(_guarded, statements), shown, expanded("stmt", random)]) + "\n"


programs = st.randoms(use_true_random=False).map(program)
"""Programs that Hypothesis can shrink."""
