"""The estimated number of tokens in recorded prompts and their parts, and the share that a server can cache."""

import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from itertools import takewhile
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from planbook.config import RECORDINGS
from planbook.planner import estimate_tokens, read_recording
from planbook.runs import Run
from tools.bench import Row

NAMES = ("alfworld-generated", "adapt-textcraft", "deps-minecraft", "agentkit-shopping", "devils-advocate-alfworld")
"""Names of recordings that need neither downloaded games nor a browser. There is at least one for each paper."""
HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
"""Matches the heading of a part of a prompt."""
VARYING_END = re.compile(r":.*| \S*\d\S*$")
"""Matches the end of a heading that differs between prompts."""
CODE_BLOCK = re.compile(r"^(`{3,}).*?^\1$", re.DOTALL | re.MULTILINE)
REPLY = "the model's own replies"


def rows(names: Sequence[str] = NAMES) -> list[Row]:
    """Return the mean tokens of a prompt and of its parts, for each recording, role and template."""
    figures = []
    for name in names:
        by_template = defaultdict[str, list[Any]](list)
        for request in recorded_requests(name):
            by_template[f"{name}, {request['role']}, {request['template']}"].append(request["messages"])
        figures += [row for title, prompts in by_template.items() for row in _template_rows(title, prompts)]
    return figures


@cache
def recorded_requests(name: str) -> list[Any]:
    """Play a shipped recording. Return its requests, rendered with the current templates, and their replies."""
    header, _ = read_recording(RECORDINGS / f"{name}.jsonl")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "run"
        command = [*header.command.split(), "--model", f"recorded:{name}", "--out", str(folder)]
        subprocess.run([sys.executable, "-m", "planbook", *command], capture_output=True, check=True)
        with closing(Run.open(folder)) as run:
            return [event.body for event in run.store.events(kind="ask")]


def _template_rows(title: str, prompts: Sequence[Any]) -> Iterator[Row]:
    texts = ["".join(message["content"] for message in messages) for messages in prompts]
    whole = mean(map(estimate_tokens, texts))
    yield Row(f"{title}: {len(prompts)} prompts", whole, "tokens")
    if len(texts) > 1:
        shared = _shared_tokens(texts)
        yield Row(f"{title}: start shared with an earlier prompt", shared, "tokens", shared / whole, "all")
    parts = Counter[str]()
    for message in (message for messages in prompts for message in messages):
        for part, tokens in _parts(message):
            parts[part] += tokens
    for part, tokens in parts.most_common():
        share = tokens / len(prompts)
        yield Row(f"{title}: {part}", share, "tokens", share / whole, "all")


def _shared_tokens(texts: Sequence[str]) -> float:
    """Return the mean tokens of the longest prefix that a prompt shares with an earlier one. Servers can cache it."""
    longest = [max((_common_prefix(text, other) for other in texts[:n]), key=len) for n, text in enumerate(texts) if n]
    return mean(map(estimate_tokens, longest))


def _common_prefix(first: str, second: str) -> str:
    length = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
    return first[:length]


def _parts(message: Any) -> Iterator[tuple[str, int]]:
    """Yield the heading and the number of tokens of each part of a message."""
    if message["role"] == "assistant":
        yield REPLY, estimate_tokens(message["content"])
        return
    prose = CODE_BLOCK.sub(lambda code: " " * len(code[0]), message["content"])
    headings = [match.start() for match in HEADING.finditer(prose)]
    starts = [0, *headings] if not headings or headings[0] else headings
    for begin, end in zip(starts, [*starts[1:], len(message["content"])], strict=True):
        text = message["content"][begin:end]
        heading = HEADING.match(text)
        yield VARYING_END.sub("", heading[1]) if heading else "before the first heading", estimate_tokens(text)
