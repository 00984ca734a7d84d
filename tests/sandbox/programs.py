"""Plan-like programs made from a grammar."""

import re
from random import Random

from hypothesis import strategies as st

from tests.sandbox.grammar import EXPRESSIONS, PRELUDE, STATEMENTS

GRAMMAR = EXPRESSIONS | STATEMENTS
MAX_DEPTH = 5
"""Levels of symbols within symbols; below, each becomes its first production."""
SYMBOL = re.compile(r"<(\w+)>")


def _expanded(symbol: str, random: Random, depth: int) -> str:
    productions = GRAMMAR[symbol]
    production = random.choice(productions) if depth < MAX_DEPTH else productions[0]
    return "\n".join(_line(line, random, depth) for line in production.split("\n"))


def _line(line: str, random: Random, depth: int) -> str:
    """The line with its symbols expanded; the lines that they become are indented as it is."""
    indent = line[: len(line) - len(line.lstrip())]

    def become(found: re.Match[str]) -> str:
        name = found[1]
        return _expanded(name, random, depth + 1).replace("\n", "\n" + indent) if name in GRAMMAR else found[0]

    return SYMBOL.sub(become, line)


def _guarded(statement: str) -> str:
    """A statement whose failure is printed, so that the program goes on."""
    inner = statement.replace("\n", "\n    ")
    return f"try:\n    {inner}\nexcept Exception as problem:\n    print('!', type(problem).__name__, problem)"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Several statements, of which most go on whatever happens; the last may raise."""
    random = draw(st.randoms(use_true_random=False))
    statements = [_expanded("stmt", random, 0) for _ in range(random.randint(3, 9))]
    shown = "print(a, b, c, s, t, xs, ys, d, e, o, p, sep=' ; ')"
    return "\n".join([PRELUDE.strip(), *map(_guarded, statements), shown, _expanded("stmt", random, 0)]) + "\n"
