"""Plan-like programs made from a grammar.

The tables in ``grammar/`` list for each symbol what it may become, where ``<x>`` stands for the symbol x; the first
production of each holds no other symbol, but of ``block`` and the like. Programs end: loops and recursion ask
``more()``, iteration goes through ``take()``, and what is kept goes through ``small()``.
"""

import re
from pathlib import Path
from random import Random

from hypothesis import strategies as st

from tests.sandbox.plans import sections

HERE = Path(__file__).parent / "grammar"
PRELUDE = (HERE / "prelude.txt").read_text(encoding="utf-8")
MAX_DEPTH = 5
"""Levels of symbols within symbols; below, each becomes its first production."""
SYMBOL = re.compile(r"<(\w+)>")


def _table(file: str, between: str) -> dict[str, list[str]]:
    return {name: body.strip("\n").split(between) for name, body in sections(HERE / file)}


GRAMMAR = _table("expressions.txt", "\n") | _table("statements.txt", "\n\n") | {"nothing": [""]}


def _expanded(symbol: str, random: Random, depth: int) -> str:
    productions = GRAMMAR[symbol]
    production = random.choice(productions) if depth < MAX_DEPTH else productions[0]
    return "\n".join(_line(line, random, depth) for line in production.split("\n"))


def _line(line: str, random: Random, depth: int) -> str:
    """The line with its symbols expanded; the lines that they become are indented as it is."""
    indent = line[: len(line) - len(line.lstrip())]

    def become(found: re.Match[str]) -> str:
        return _expanded(found[1], random, depth + 1).replace("\n", "\n" + indent)

    return SYMBOL.sub(become, line)


def _guarded(statement: str) -> str:
    """A statement whose failure is printed, so that the program goes on."""
    inner = statement.replace("\n", "\n    ")
    return f"try:\n    {inner}\nexcept Exception as problem:\n    print('!', type(problem).__name__, problem)"


def program(random: Random) -> str:
    """Several statements, of which most go on whatever happens; the last may raise."""
    statements = [_expanded("stmt", random, 0) for _ in range(random.randint(3, 9))]
    shown = "print(a, b, c, s, t, xs, ys, d, e, o, p, sep=' ; ')"
    return "\n".join([PRELUDE.strip(), *map(_guarded, statements), shown, _expanded("stmt", random, 0)]) + "\n"


programs = st.randoms(use_true_random=False).map(program)
"""Hypothesis's own way to make them, which makes a failing one smaller."""
