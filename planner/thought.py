"""Read a planner's reply: its code, and the segments of the text before the code.

The paper AutoManual (section 3.2) asks for these segments, such as the understanding of the situation and the plan.
"""

import re
from collections.abc import Iterator

from planbook.planner.types import Plan, Thought
from planbook.sandbox import Fault, only_defines, parse, read_reply

RULE_ID = re.compile(r"\brule_\d+\b", re.ASCII | re.IGNORECASE)
SEGMENTS = {
    "understanding": "understanding",
    "mistake": "mistakes",
    "rule": "rules",
    "plan": "plan",
    "code": "code",
}
"""Maps words in headings to the segments that they begin. The first of these words in a heading counts."""
_SEGMENT = re.compile(rf"\b({'|'.join(SEGMENTS)})s?\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,2}[.)]\s*")
_MARKS = "#*_` \t"


def as_plan(text: str) -> Plan:
    """Return the text before the code and the code of a reply. Raises ValueError if there is no code to run."""
    reply = read_reply(text)
    if reply.problem is not None:
        raise ValueError(str(reply.problem))
    if not _does_something(reply.code):
        raise ValueError(
            "the code only defines functions; nothing in it is carried out. Write the steps that call them, too."
        )
    return Plan(thought=read_thought(reply.before), code=reply.code)


def read_thought(text: str) -> Thought:
    """Return the text before the code, with its segments. Missing segments are empty."""
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
        if heading and (named := _SEGMENT.search(heading[0])):
            yield segment, "\n".join(body)
            segment, body = SEGMENTS[named[1].lower()], [heading[1]] if heading[1] else []
        else:
            body.append(line)
    yield segment, "\n".join(body)


def _without_last_heading(text: str) -> str:
    """Return the text without its last line if that line is the heading of the code."""
    lines = text.rstrip().splitlines()
    heading = _heading(lines[-1]) if lines else None
    return "\n".join(lines[:-1] if heading and not heading[1] else lines).strip()


def _heading(line: str) -> tuple[str, str] | None:
    """Return the words of a heading and the text after its colon, or None if the line is not a heading.

    A line that is marked as a heading (``### Plan``, ``**2. Plan:**``) is always one. A plain line, or one with text
    after the colon, is a heading only if its words are exactly the name of a segment: ``2. Plan``, ``Rules: rule_3``.
    """
    stripped = line.strip()
    before, _, rest = stripped.partition(":")
    words = _NUMBER.sub("", before.strip(_MARKS), count=1).strip(_MARKS)
    rest = rest.lstrip(_MARKS)
    if line[:4].isspace() or not words[:1].isalpha() or "*" in words or "#" in words:
        return None
    if stripped.startswith(("#", "**", "__")) and not rest:
        return words, ""
    return (words, rest) if _SEGMENT.fullmatch(words) else None


def _does_something(code: str) -> bool:
    """Return True if at least one statement is more than an import, a definition or a no-op."""
    tree = parse(code)
    return isinstance(tree, Fault) or not only_defines(tree)
