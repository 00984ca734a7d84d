"""Texts for the tests of reading and streaming: programs, recorded replies, and code that is awkward to split."""

import json
from functools import cache
from pathlib import Path

from planbook.sandbox import read_reply
from tests.sandbox.plans import GOOD_PLANS, snippets

RECORDINGS = Path(__file__).parents[2] / "manuals" / "recordings"
PROGRAMS: dict[str, str] = {str(each.id): each.values[0] for each in snippets("compatibility")} | GOOD_PLANS
AWKWARD = {
    "else later": "x = 1\nif x > 1:\n    print(1)\n\n# a comment at the margin\nelse:\n    print(2)\nprint(3)\n",
    "elif, for-else, try": (
        "for a in (1, 2):\n    if a == 1:\n        pass\n    elif a:\n        print(a)\nelse:\n    print('over')\n"
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    print('no')\nelse:\n    print('never')\n"
        "finally:\n    print('ever')\n"
        "while False:\n    pass\nelse:\n    print('w')\n"
    ),
    "strings over lines": "a = \"\"\"one\nprint(1)\nif a:\n\"\"\"\nb = ('''\nx = 1\n''' + a)\nprint(a + b)\n",
    "continuations": "x = 1 + \\\n2\nprint(x,\n  x\n)\ny = [\n1,\n2\n]\nclass A: \\\n  pass\nprint(y, A.__name__)\n",
    "decorators": "import functools\n@functools.lru_cache(None)\n# why\ndef f(a):\n    return a\n\n\nprint(f(1))\n",
    "several on a line": "a = 1; b = 2; print(a)\nprint(b); print(a + b);\n",
    "docstring first": '"""What."""\nfrom __future__ import annotations\nprint(__doc__)\nx: int = 1\nprint(x)\n',
    "docstring alone": '"""Nothing else."""\n',
    "comments alone": "# one\n\n# two\n",
    "tabs and form feeds": "def f():\n\treturn 1\n\x0c\nprint(f())\n",
    "match": "match [1, 2]:\n    case [a, b]:\n        print(a)\n    case _:\n        print('no')\nprint('after')\n",
    "no last line end": "print(1)\nprint(2)",
    "broken at the end": "print(1)\nprint(2)\nprint(3\n",
    "broken in the middle": "print(1)\nprint(2))\nprint(3)\nprint(4)\n",
    "unicode": "näme = 'ü→😀'\nprint(näme)\nprint('\\N{BULLET}')\n",
    "names of builtins": "open = 1\nprint(open)\ndef input():\n    return 2\nprint(input())\n",
}

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
"""Bare code with a fence that is no part of the reply's layout."""


@cache
def recorded_replies() -> tuple[str, ...]:
    """Return the replies of the shipped recordings that mark their code as Python, without duplicates."""
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
