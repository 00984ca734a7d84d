"""What a planner's reply says beside its code: the segments of section 3.2 of AutoManual, parsed into fields."""

import re
from collections.abc import Iterator

from planner.types import Plan, Thought
from sandbox.reading import definitions, parse, read_reply
from sandbox.types import Fault

HEADING = re.compile(r"^\s{0,3}(?:#{1,6}\s*|\*\*\s*)([A-Za-z][^\n*:#]*?)\s*:?\s*(?:\*\*)?\s*:?\s*$")
RULE_ID = re.compile(r"\brule_\d+\b")
SEGMENTS = {
    "understanding": "understanding",
    "mistake": "mistakes",
    "rule": "rules",
    "plan": "plan",
    "code": "code",
}
"""The first of these words that a heading holds says which segment begins there."""


def as_plan(text: str) -> Plan:
    """A reply's thought and code. Raises ValueError that says what is missing, where there is no code to run."""
    reply = read_reply(text)
    if reply.problem is not None:
        raise ValueError(str(reply.problem))
    if not _does_something(reply.code):
        raise ValueError(
            "the code only defines functions; nothing in it is carried out. Write the steps that call them, too."
        )
    return Plan(thought=read_thought(reply.before), code=reply.code)


def read_thought(text: str) -> Thought:
    """The segments of what stands before the code; a segment that is not there is empty."""
    found: dict[str, str] = {}
    for segment, body in _segments(text):
        found[segment] = f"{found.get(segment, '')}\n{body}".strip()
    rule_ids = tuple(dict.fromkeys(RULE_ID.findall(found.get("rules", ""))))
    return Thought(
        text=_without_last_heading(text),
        understanding=found.get("understanding", ""),
        mistakes=found.get("mistakes", ""),
        rules=found.get("rules", ""),
        rule_ids=rule_ids,
        plan=found.get("plan", ""),
    )


def _segments(text: str) -> Iterator[tuple[str, str]]:
    segment, body = "understanding", list[str]()
    for line in text.splitlines():
        heading = HEADING.match(line)
        if heading and (begun := _segment_of(heading[1])):
            yield segment, "\n".join(body)
            segment, body = begun, []
        else:
            body.append(line)
    yield segment, "\n".join(body)


def _without_last_heading(text: str) -> str:
    """Without the heading of the code that came after it."""
    lines = text.rstrip().splitlines()
    heading = HEADING.match(lines[-1]) if lines else None
    return "\n".join(lines[:-1] if heading else lines).strip()


def _segment_of(heading: str) -> str | None:
    words = heading.lower()
    found = [(words.index(word), segment) for word, segment in SEGMENTS.items() if word in words]
    return min(found)[1] if found else None


def _does_something(code: str) -> bool:
    """Whether any statement is more than an import or a definition."""
    tree = parse(code)
    if isinstance(tree, Fault):
        return True
    defined = {definition.name for definition in definitions(code)}
    kinds = [type(statement).__name__ for statement in tree.body]
    return len(kinds) > len(defined) + sum(kind in ("Import", "ImportFrom") for kind in kinds)
