"""Tokens of the recorded prompts by role and part, by estimate, and how many of them a server can cache."""

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

RECORDED = ("alfworld-generated", "adapt-textcraft", "deps-minecraft", "agentkit-shopping", "devils-advocate-alfworld")
"""Those that need neither games to download nor a browser: at least one for each paper."""
PART = re.compile(r"^# (.+)$", re.MULTILINE)
"""The heading that a part of a prompt begins with."""
VARYING = re.compile(r":.*| \S*\d\S*$")
"""What differs from prompt to prompt in a heading."""
CODE = re.compile(r"^(`{3,}).*?^\1$", re.DOTALL | re.MULTILINE)
REPLY = "the model's own replies"


def rows(names: Sequence[str] = RECORDED) -> list[Row]:
    """The tokens that a prompt has on average, for each recording, role and template, then those of each part."""
    found = []
    for name in names:
        by_question = defaultdict[str, list[Any]](list)
        for each in recorded_requests(name):
            by_question[f"{name}, {each['role']}, {each['template']}"].append(each["messages"])
        found += [row for title, prompts in by_question.items() for row in _of_question(title, prompts)]
    return found


@cache
def recorded_requests(name: str) -> list[Any]:
    """Play a recording that ships, and return its requests with their replies, in the words of today's templates."""
    header, _ = read_recording(RECORDINGS / f"{name}.jsonl")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "run"
        command = [*header.command.split(), "--model", f"recorded:{name}", "--out", str(folder)]
        subprocess.run([sys.executable, "-m", "planbook", *command], capture_output=True, check=True)
        with closing(Run.open(folder)) as run:
            return [event.body for event in run.store.events(kind="ask")]


def _of_question(title: str, prompts: Sequence[Any]) -> Iterator[Row]:
    texts = ["".join(message["content"] for message in messages) for messages in prompts]
    whole = mean(map(estimate_tokens, texts))
    yield Row(f"{title}: {len(prompts)} prompts", whole, "tokens")
    if len(texts) > 1:
        yield Row(f"{title}: begins as a prompt before", _shared(texts), "tokens", _shared(texts) / whole, "all")
    parts = Counter[str]()
    for message in (message for messages in prompts for message in messages):
        for part, tokens in _parts(message):
            parts[part] += tokens
    for part, tokens in parts.most_common():
        share = tokens / len(prompts)
        yield Row(f"{title}: {part}", share, "tokens", share / whole, "all")


def _shared(texts: Sequence[str]) -> float:
    """Tokens of the longest beginning that a prompt shares with one before it, which a server need not compute anew."""
    longest = [max((_beginning(text, other) for other in texts[:n]), key=len) for n, text in enumerate(texts) if n]
    return mean(map(estimate_tokens, longest))


def _beginning(one: str, other: str) -> str:
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return one[:same]


def _parts(message: Any) -> Iterator[tuple[str, int]]:
    """The parts of a message, by their headings, with their tokens."""
    if message["role"] == "assistant":
        yield REPLY, estimate_tokens(message["content"])
        return
    prose = CODE.sub(lambda code: " " * len(code[0]), message["content"])
    places = [found.start() for found in PART.finditer(prose)]
    starts = [0, *places] if not places or places[0] else places
    for begin, end in zip(starts, [*starts[1:], len(message["content"])], strict=True):
        text = message["content"][begin:end]
        heading = PART.match(text)
        yield VARYING.sub("", heading[1]) if heading else "before the first heading", estimate_tokens(text)
