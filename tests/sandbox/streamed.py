"""Texts for the tests that read and stream replies: programs, recorded replies, and code that is awkward to split."""

import json
from functools import cache
from pathlib import Path

from planbook.sandbox import read_reply
from tests.sandbox.plans import GOOD_PLANS, HERE, sections, snippets

RECORDINGS = Path(__file__).parents[2] / "manuals" / "recordings"
PROGRAMS: dict[str, str] = {str(snippet.id): snippet.values[0] for snippet in snippets("compatibility")} | GOOD_PLANS
AWKWARD = dict(sections(HERE / "tables" / "awkward_programs.txt")) | {
    "tabs and form feeds": "def f():\n\treturn 1\n\f\n\fif f():\n  f()\n\f  f()\n\felse:\n  f()\n\fprint(f())\n",
    "no last line end": "print(1)\nprint(2)",
}
"""Programs in which it is hard to see where a statement ends."""
DOCSTRING = '''def look(box):
    """Open a box.

    ```python
    agent.open("decoy")
    ```
    """
    return agent.open(box)

look("box_1")
'''
STRING = 'text = """\n```python\nagent.open("decoy")\n```\n"""\nagent.open("box_1")\n'
"""Code outside of a block. The fence in it belongs to a string, not to the layout of the reply."""


@cache
def recorded_replies() -> tuple[str, ...]:
    """Return the replies in the shipped recordings whose code is marked as Python, without duplicates."""
    texts = [
        json.loads(line)["text"]
        for path in sorted(RECORDINGS.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()[1:]
    ]
    return tuple(dict.fromkeys(text for text in texts if "```python" in text))


@cache
def recorded_code() -> tuple[str, ...]:
    """Return the plans in those replies."""
    read = map(read_reply, recorded_replies())
    return tuple(dict.fromkeys(reply.code for reply in read if reply.problem is None))
