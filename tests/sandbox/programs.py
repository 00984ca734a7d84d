"""Generate programs that resemble plans, from a grammar.

The tables ``grammar/expressions.txt`` and ``statements.txt`` list the productions of each symbol; ``<x>`` stands for
the symbol x. The first production of a symbol usually contains no other symbol, so that expansion can stop. All
programs end: loops and recursion call ``more()``, which limits their number, iteration uses ``take()``, which limits
its length, and stored values pass through ``small()``, which limits their size.
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
"""Maximum levels of symbols within symbols. Below this depth, each symbol becomes its first production."""
SYMBOL = re.compile(r"<(\w+)>")


def read_grammar(file: str, separator: str) -> dict[str, list[str]]:
    """Return a dict that maps each symbol of a file to its productions."""
    return {name: body.strip("\n").split(separator) for name, body in sections(TABLES / file)}


GRAMMAR = read_grammar("expressions.txt", "\n") | read_grammar("statements.txt", "\n\n") | {"nothing": [""]}


def expand(symbol: str, random: Random, depth: int = 0, grammar: Mapping[str, list[str]] = GRAMMAR) -> str:
    """Return a random expansion of a symbol."""
    productions = grammar[symbol]
    production = random.choice(productions) if depth < MAX_DEPTH else productions[0]
    return "\n".join(_line(line, random, depth, grammar) for line in production.split("\n"))


def _line(line: str, random: Random, depth: int, grammar: Mapping[str, list[str]]) -> str:
    """Return the line with its symbols expanded, with the same indentation."""
    indent = line[: len(line) - len(line.lstrip())]

    def expanded(found: re.Match[str]) -> str:
        return expand(found[1], random, depth + 1, grammar).replace("\n", "\n" + indent)

    return SYMBOL.sub(expanded, line)


def _guarded(statement: str) -> str:
    """Wrap a statement so that its exceptions are printed and the program continues."""
    inner = statement.replace("\n", "\n    ")
    return f"try:\n    {inner}\nexcept Exception as problem:\n    print('!', type(problem).__name__, problem)"


def program(random: Random) -> str:
    """Return a program of several statements. Only the last one can end it with an exception."""
    statements = [expand("stmt", random) for _ in range(random.randint(3, 9))]
    shown = "print(a, b, c, s, t, xs, ys, d, e, o, p, sep=' ; ')"
    return "\n".join([PRELUDE.strip(), *map(_guarded, statements), shown, expand("stmt", random)]) + "\n"


programs = st.randoms(use_true_random=False).map(program)
"""Random programs, as a strategy of Hypothesis that can shrink them."""
