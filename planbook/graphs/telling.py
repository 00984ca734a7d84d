"""How the answers of nodes are printed."""

from textwrap import indent
from typing import Any

from planbook.printing import harmless
from planner.graph.lookups import told

SHOWN = 1_500
"""Characters of an answer that are printed as it comes; the store has all of it."""


def node_line(body: Any, passes: int) -> str:
    """A node and its answer, by its event."""
    where = f"pass {body['number'] + 1}, layer {body['layer'] + 1}" if passes > 1 else f"layer {body['layer'] + 1}"
    how = " (skipped: this stands)" if body["skipped"] else ""
    answer = harmless(told(body["answer"]))
    more = f"\n... {len(answer) - SHOWN:,} characters more" if len(answer) > SHOWN else ""
    return f"[{where}] {body['node']}{how}\n{indent(answer[:SHOWN] + more, '    ')}"
