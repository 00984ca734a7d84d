"""Read a model's reply: text, a plan or JSON. The model's reasoning is separated from the reply first.

A plan is code, with text before it. The AutoManual paper (section 3.2) asks for certain segments in this text, such
as the understanding of the situation and the plan in words.

Models with open weights write their reasoning at the beginning of the reply, between ``<think>`` and ``</think>``. Some
servers remove the opening tag. In this case, all text before ``</think>`` is reasoning, unless the closing tag is in a
code block. The reasoning is stored, but never read as a plan.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic import JsonValue

from planbook.planner.models.types import OnText, Reply
from planbook.planner.types import Plan, Thought
from planbook.sandbox import Fault, only_defines, parse, read_reply


def as_text(text: str) -> str:
    """Return the text of a reply without white space around it. Raises ValueError if nothing is left."""
    if not text.strip():
        raise ValueError("the reply is empty")
    return text.strip()


# Plans.

RULE_ID = re.compile(r"\brule_\d+\b", re.ASCII | re.IGNORECASE)
SEGMENTS = {"understanding": "understanding", "mistake": "mistakes", "rule": "rules", "plan": "plan", "code": "code"}
"""Maps a word in a heading to the name of the segment under the heading.

If a heading has several of these words, the first counts.
"""
_SEGMENT = re.compile(rf"\b({'|'.join(SEGMENTS)})s?\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,2}[.)]\s*")
_MARKS = "#*_` \t"
_CALL = re.compile(r"\s*+[A-Za-z_][\w.]*+\(.*\)\s*+(?:;\s*+)?(?:#.*)?$")


def as_plan(text: str) -> Plan:
    """Return the plan in a reply: the text before the code, and the code. Raises ValueError if no code can be run."""
    reply = read_reply(text)
    if reply.problem is not None:
        raise ValueError(str(reply.problem))
    if not _does_something(reply.code):
        raise ValueError(
            "the code only defines functions; nothing in it is carried out. Write the steps that call them, too."
        )
    return Plan(thought=read_thought(reply.before), code=reply.code)


def read_thought(text: str) -> Thought:
    """Split the text before the code into its segments. Missing segments are empty."""
    segments: dict[str, str] = {}
    for segment, body in _segments(text):
        segments[segment] = f"{segments.get(segment, '')}\n{body}".strip()
    segments.pop("code", None)
    rule_ids = tuple(dict.fromkeys(map(str.lower, RULE_ID.findall(segments.get("rules", "")))))
    return Thought(text=_without_last_heading(text), rule_ids=rule_ids, **segments)


def _segments(text: str) -> Iterator[tuple[str, str]]:
    segment, body = "understanding", list[str]()
    for line in text.splitlines():
        heading = _heading(line)
        if heading and (match := _SEGMENT.search(heading[0])):
            yield segment, "\n".join(body)
            segment, body = SEGMENTS[match[1].lower()], [heading[1]] if heading[1] else []
        else:
            body.append(line)
    yield segment, "\n".join(body)


def _without_last_heading(text: str) -> str:
    """Return the text without its last line if this is the heading of the code."""
    lines = text.rstrip().splitlines()
    heading = _heading(lines[-1]) if lines else None
    return "\n".join(lines[:-1] if heading and not heading[1] else lines).strip()


def _heading(line: str) -> tuple[str, str] | None:
    """Return the words of a heading and the text after its colon, or None if the line is not a heading.

    A line that is marked as a heading, such as ``### Plan`` or ``**2. Plan:**``, is always a heading. A line without
    such marks, or with text after the colon, is a heading only if its words are exactly the name of a segment, as in
    ``2. Plan`` or ``Rules: rule_3``.
    """
    stripped = line.strip()
    before_colon, _, after_colon = stripped.partition(":")
    words = _NUMBER.sub("", before_colon.strip(_MARKS), count=1).strip(_MARKS)
    after_colon = after_colon.lstrip(_MARKS)
    if line[:4].isspace() or not words[:1].isalpha() or "*" in words or "#" in words:
        return None
    if stripped.startswith(("#", "**", "__")) and not after_colon:
        return words, ""
    return (words, after_colon) if _SEGMENT.fullmatch(words) else None


def has_call(reply: str) -> bool:
    """Return True if some line of the reply looks like a call and nothing else."""
    return any(map(_CALL.match, reply.split("\n")))


def _does_something(code: str) -> bool:
    """Return True if at least one statement is more than an import, a definition or a no-op."""
    tree = parse(code)
    return isinstance(tree, Fault) or not only_defines(tree)


# JSON. It is never repaired.

_FENCE = re.compile(r"^[ \t]*```(?:json)?[ \t]*$", re.MULTILINE | re.IGNORECASE)
_KINDS: Mapping[type | None, tuple[str, str]] = {
    dict: (r"\{", "an object in braces, {...}"),
    list: (r"\[", "a list in brackets, [...]"),
    None: (r"[{\[]", "a value"),
}
"""Maps each kind of JSON value to a pattern for the bracket that opens it, and to a description for messages.

None stands for a value of any kind.
"""


def as_json(text: str, kind: type | None = None) -> JsonValue:
    """Return the JSON value in a reply. ``kind`` is dict, list, or None for a value of any kind.

    The last value that stands alone between two fences is returned. If there is none, JSON is read from the first
    opening bracket or, if that fails, from the first one that begins a line. Raises ValueError if no value can be read.
    """
    text = as_text(text)
    bracket, description = _KINDS[kind]
    for block in reversed(_FENCE.split(text)):
        with suppress(ValueError):
            value, end = _decode(block.strip())
            if end == len(block.strip()) and (kind is None or isinstance(value, kind)):
                return value
    problem, reason = f"there is no JSON in the reply that can be read as {description}", ""
    for match in filter(None, (re.search(bracket, text), re.search(rf"^{bracket}", text, re.MULTILINE))):
        try:
            return _decode(text[match.end() - 1 :])[0]
        except ValueError as error:
            reason = f": {error}"
    raise ValueError(problem + reason)


def _decode(text: str) -> tuple[JsonValue, int]:
    """Return the JSON value at the beginning of a text, and the position of its end."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    try:
        return decoder.raw_decode(text)
    except json.JSONDecodeError as error:
        place = repr(text[error.pos : error.pos + 30]) if error.pos < len(text) else "the end of the text"
        raise ValueError(f"{error.msg.removesuffix(' at')} at {place}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if repeated := sorted(key for key, times in Counter(key for key, _ in pairs).items() if times > 1):
        raise ValueError(f"the key {repeated[0]!r} appears twice in one object")
    return dict(pairs)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


# Reasoning.

_OPEN = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_CLOSE = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_CLOSE_ALONE = re.compile(r"^[ \t]*</think(?:ing)?>", re.IGNORECASE | re.MULTILINE)
_FENCE_MARK = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
_TAGS = ("<think>", "<thinking>")


def split_reasoning(text: str) -> tuple[str, str]:
    """Return the reasoning at the beginning of a text, and the text after the reasoning.

    If the opening tag is never closed, all of the text is reasoning.
    """
    reasoning, remaining = _tagged_blocks(text)
    closing_tag = _CLOSE_ALONE.search(text) if remaining == text else None
    if closing_tag and len(_FENCE_MARK.findall(text, 0, closing_tag.start())) % 2 == 0:
        reasoning, remaining = text[: closing_tag.start()], text[closing_tag.end() :]
    return reasoning, remaining


def _tagged_blocks(text: str) -> tuple[str, str]:
    """Return the reasoning in the blocks ``<think>...</think>`` at the beginning, and the text after these blocks."""
    reasoning: list[str] = []
    while opening_tag := _OPEN.match(text):
        closing_tag = _CLOSE.search(text, opening_tag.end())
        end, next_start = closing_tag.span() if closing_tag else (len(text), len(text))
        reasoning.append(text[opening_tag.end() : end])
        text = text[next_start:]
    return "\n".join(reasoning), text


def without_reasoning(reply: Reply) -> Reply:
    """Return the reply with its reasoning moved from the field ``text`` to the field ``reasoning``.

    A replayed reply with reasoning was already split. If its text begins with another tag, that tag stays in the text.
    """
    reasoning, text = split_reasoning(reply.text)
    if text == reply.text or (reply.replayed and reply.reasoning):
        return reply
    return reply.model_copy(update={"text": text, "reasoning": f"{reply.reasoning}{reasoning}"})


class ReasoningFilter:
    """Takes the pieces of a reply as they arrive, and passes on only the text after the reasoning.

    If the server has removed the opening tag, reasoning cannot be recognised before it ends, so it is passed on too.
    """

    def __init__(self, on_text: OnText) -> None:
        self._on_text, self._buffer, self._is_past_reasoning = on_text, "", False

    def __call__(self, piece: str) -> bool:
        """Pass the piece on, or hold it back while it may be part of the reasoning. Return False to stop the reply."""
        if self._is_past_reasoning:
            return self._on_text(piece)
        self._buffer += piece
        while opening_tag := _OPEN.match(self._buffer):
            closing_tag = _CLOSE.search(self._buffer, opening_tag.end())
            if closing_tag is None:  # keep as many characters as may be the beginning of the closing tag
                self._buffer = opening_tag[0] + self._buffer[opening_tag.end() :][-len("</thinking>") :]
                return True
            self._buffer = self._buffer[closing_tag.end() :]
        if any(tag.startswith(self._buffer.lstrip().lower()) for tag in _TAGS):
            return True
        self._is_past_reasoning = True
        return self._on_text(self._buffer)
