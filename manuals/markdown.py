r"""Write a manual as Markdown, and read it back. A manual consists of sections with prose and rules.

The Markdown has the following form. A rule that is written and read back has the same text, byte for byte.

    # Title
    Overview.
    ## Section
    Introduction, with its key points.
    ### rule_3 (Success Process)
    The content of the rule.
    Builds on rule_1, rule_2.
    Example:
    ```python
    ...
    ```

If the content of a rule has characters with a meaning in Markdown, such as asterisks, it is put in a code fence marked
``text``. A fence is longer than any sequence of backticks inside it, so no text needs to be escaped. Only ``\n`` ends a
line; a ``\r`` or another control character is part of the line. But if every line of a file ends in ``\r\n``, as some
editors write it, each ``\r\n`` is read as ``\n``. Validation logs and checks are not written, since planners must not
see them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, NamedTuple

from markdown_it import MarkdownIt
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from planbook.manuals.errors import BadManual
from planbook.planner import fenced
from planbook.rules import Rule, RuleType, read_type, rule_number
from planbook.sandbox import Fault, parse as parse_python

_OPENING = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")


class Piece(NamedTuple):
    """A line of Markdown, or a whole fenced code block with its opening and closing lines.

    ``number`` is the number of the first line, counted from 1. ``info`` is the info string of a code block (the text
    after the opening fence), or None for a line.
    """

    number: int
    lines: tuple[str, ...]
    info: str | None = None

    @property
    def text(self) -> str:
        """The text of the piece, without the line ending of its last line."""
        return "\n".join(self.lines)

    @property
    def body(self) -> str:
        """The text between the opening and closing lines of a fenced code block."""
        return "\n".join(self.lines[1:-1])

    @property
    def level(self) -> int:
        """The number of ``#`` at the beginning of a heading, or 0 for any other line and for code."""
        match = _HEADING.match(self.lines[0]) if self.info is None else None
        return len(match[1]) if match else 0


def pieces(text: str) -> Iterator[Piece]:
    """Yield the pieces of a text. Raises ValueError if a code fence is not closed."""
    lines = text.split("\n")
    start = 0
    while start < len(lines):
        length, info = 1, None
        if opening := _match_opening(lines[start]):
            info = opening["info"].strip()
            length = _fence_length(lines, start, opening["fence"])
        yield Piece(start + 1, tuple(lines[start : start + length]), info)
        start += length


def _match_opening(line: str) -> re.Match[str] | None:
    """Match the opening line of a fenced code block. No other backtick may follow a fence of backticks."""
    match = _OPENING.fullmatch(line)
    return None if match is None or (match["fence"][0] == "`" and "`" in match["info"]) else match


def _fence_length(lines: list[str], start: int, fence: str) -> int:
    closing = re.compile(rf"[ \t]*{re.escape(fence[0])}{{{len(fence)},}}[ \t\r]*")
    for end in range(start + 1, len(lines)):
        if closing.fullmatch(lines[end]):
            return end - start + 1
    raise ValueError(f"line {start + 1}: the code fence {lines[start].strip()!r} is never closed")


_PARSER = MarkdownIt("commonmark")


def _valid_title(text: str) -> str:
    """Return the text as one line. Raises ValueError if it is empty."""
    if not (title := " ".join(text.split())):
        raise ValueError("a title is empty")
    return title


def _valid_prose(text: str) -> str:
    """Return the prose with Unix line endings. Raises ValueError if a manual with it could not be read back."""
    prose = re.sub("\r\n?", "\n", text).strip()
    for piece in pieces(prose):
        if piece.level in (1, 2, 3):
            raise ValueError(
                f"prose contains the heading {piece.text.strip()!r}; headings in prose must begin with #### or more"
            )
    if not _is_closed(prose):
        raise ValueError(f"a code fence or an HTML comment is left open in the prose that begins with {prose[:40]!r}")
    return prose


def _is_closed(prose: str) -> bool:
    """Return True if the prose leaves no fence or HTML block open, which would swallow a heading after it.

    A full Markdown parser decides this, since its rules for fences differ from those of ``pieces``.
    """
    heading = _PARSER.parse(f"{prose}\n\n### after\n")[-3:]
    return heading[0].tag == "h3" and heading[0].level == 0


Title = Annotated[str, AfterValidator(_valid_title)]
Prose = Annotated[str, AfterValidator(_valid_prose)]
"""Markdown without unclosed blocks, and without headings of the first three levels, which structure the manual."""


class Section(BaseModel):
    """A section: rules that belong together. ``introduction`` says what they have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Title
    introduction: Prose = ""
    rule_ids: tuple[str, ...] = ()


class Manual(BaseModel):
    """The title, overview and sections of a manual. The sections go from easy to difficult."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Title
    overview: Prose = ""
    sections: tuple[Section, ...] = ()

    @property
    def rule_ids(self) -> tuple[str, ...]:
        """The rule ids in the sections, in reading order."""
        return tuple(id for section in self.sections for id in section.rule_ids)


def placement_faults(manual: Manual, ids: Iterable[str]) -> list[str]:
    """Return the faults of the sections, which must name each rule in ``ids`` exactly once, and no others."""
    all_ids, named = list(ids), Counter(manual.rule_ids)
    faults = {
        "in no section": [id for id in all_ids if id not in named],
        "named more than once": [id for id, times in named.items() if times > 1],
        "not among the rules": [id for id in named if id not in all_ids],
    }
    return [f"{fault}: {', '.join(faulty)}" for fault, faulty in faults.items() if faulty]


def error_message(error: ValueError) -> str:
    """Return the message of an error, without pydantic's additions."""
    if isinstance(error, ValidationError):
        return error.errors()[0]["msg"].removeprefix("Value error, ")
    return str(error)


# Convert manuals to Markdown and back


EXAMPLE = "Example:"
BUILDS_ON = "Builds on "
_EXAMPLE_LEFT_OUT = "Example: [left out for length]"
"""A line that earlier versions of planbook wrote in place of an example when they shortened a manual."""
_VERBATIM = "text"
"""Info string of the fence around content that cannot be written as prose, or an example that is not Python."""
_RULE = re.compile(r"(\w+)(?: \((.*)\))?")
_BOLD = re.compile(r"\*\*[A-Z][\w ,'-]*:?\*\*")
_MARKUP = re.compile(r"[\\*|~$]|<(?=[A-Za-z/!?])|&(?=\w+;|#)|\](?=[(\[:])|(?<!\w)_|_(?!\w)|:[\w+-]+:|`{3}|  ")
_PLAIN_BEGINNING = re.compile(r" {0,3}(?:[-+] |\d{1,9}[.)] )?(?!\d{1,9}[.)](?: |$))(?:[^\W_]|[\"'(`])")


def render(manual: Manual, rules: Iterable[Rule]) -> str:
    """Return the manual as Markdown. Raises BadManual unless its sections name each rule exactly once."""
    by_id = {rule.id: rule for rule in rules}
    if faults := placement_faults(manual, by_id):
        raise BadManual(f"the manual does not fit its rules: {'; '.join(faults)}")
    parts = [f"# {manual.title}", manual.overview]
    for section in manual.sections:
        parts += [f"## {section.title}", section.introduction]
        parts += [render_rule(by_id[id]) for id in section.rule_ids]
    return "\n\n".join(filter(None, parts)) + "\n"


def render_rule(rule: Rule) -> str:
    """Return one rule as Markdown. Raises BadManual if its id, or the id of a rule that it builds on, is invalid."""
    try:
        for id in (rule.id, *rule.builds_on):
            rule_number(id)
    except ValueError as error:
        raise BadManual(str(error)) from error
    parts = [f"### {rule.id}" + (f" ({rule.type})" if rule.type else "")]
    if rule.content:
        parts.append(rule.content if _is_plain(rule.content) else fenced(rule.content, _VERBATIM))
    if rule.builds_on:
        parts.append(f"{BUILDS_ON}{', '.join(rule.builds_on)}.")
    if rule.example:
        info = _VERBATIM if isinstance(parse_python(rule.example), Fault) else "python"
        parts += [EXAMPLE, fenced(rule.example, info)]
    return "\n\n".join(parts)


def _is_plain(content: str) -> bool:
    """Return True if a rule's content can be written as prose, because neither Markdown nor ``parse`` changes it."""
    lines = content.split("\n")
    return bool(lines[0] and lines[-1]) and all(not line or _is_plain_line(line) for line in lines)


def _is_plain_line(line: str) -> bool:
    """Return True if a line has no characters with a meaning in Markdown. Bold words are allowed."""
    return (
        line.isprintable()
        and not line.endswith(" ")
        and not line.startswith((BUILDS_ON.strip(), EXAMPLE))
        and _PLAIN_BEGINNING.match(_BOLD.sub("B", line)) is not None
        and _MARKUP.search(_BOLD.sub("B", line).lstrip()) is None
    )


class _Part(NamedTuple):
    """A heading of a manual, and the pieces of text between it and the next heading."""

    line: int
    level: int
    title: str
    body: Sequence[Piece]


@lru_cache(maxsize=4)
def parse(text: str) -> tuple[Manual, tuple[Rule, ...]]:
    """Return the manual and its rules. The rules are in reading order, and lack validation logs and checks.

    Raises BadManual if the text is not a valid manual. The message names the line, or quotes the prose.
    """
    try:
        text = text.removeprefix("\ufeff")
        if text.count("\r\n") == text.count("\n"):
            text = text.replace("\r\n", "\n")
        return _read(list(_parts(text)))
    except ValueError as error:
        raise BadManual(error_message(error)) from error


def _parts(text: str) -> Iterator[_Part]:
    lines = list(pieces(text))
    headings = [n for n, piece in enumerate(lines) if piece.level in (1, 2, 3)]
    first = headings[0] if headings else len(lines)
    if not headings or lines[first].level != 1 or _prose(lines[:first]):
        raise ValueError("line 1: a manual begins with its title, '# TITLE'")
    for start, end in zip(headings, [*headings[1:], len(lines)], strict=True):
        heading = lines[start]
        title = heading.text.strip()[heading.level :].strip()
        if not title:
            raise ValueError(f"line {heading.number}: a heading without a title")
        yield _Part(heading.number, heading.level, title, lines[start + 1 : end])


def _read(parts: Sequence[_Part]) -> tuple[Manual, tuple[Rule, ...]]:
    sections: list[Section] = []
    rules: dict[str, Rule] = {}
    for part in parts[1:]:
        if part.level == 1:
            raise ValueError(f"line {part.line}: a second title; a manual has one '#' heading, and '##' for sections")
        if part.level == 2:
            sections.append(Section(title=part.title, introduction=_prose(part.body)))
            continue
        rule = _rule(part)
        if not sections or rule.id in rules:
            raise ValueError(f"line {part.line}: {rule.id} occurs {'twice' if sections else 'before any section'}")
        rules[rule.id] = rule
        last = sections[-1]
        sections[-1] = last.model_copy(update={"rule_ids": (*last.rule_ids, rule.id)})
    manual = Manual(title=parts[0].title, overview=_prose(parts[0].body), sections=tuple(sections))
    return manual, tuple(rules.values())


def _rule(part: _Part) -> Rule:
    heading = _RULE.fullmatch(part.title)
    try:
        id, type_name = heading.groups() if heading else (part.title, None)
        rule_number(id)
        rule_type = read_type(type_name, tuple(RuleType)) if type_name is not None else None
    except ValueError as error:
        raise ValueError(f"line {part.line}: {error}. '###' begins a rule: '### rule_3 (Success Process)'") from error
    groups = _split(part.body)
    content = groups[""]
    verbatim = len(content) == 1 and content[0].info == _VERBATIM
    return Rule(
        id=id,
        type=rule_type,
        content=content[0].body if verbatim else "\n".join(piece.text for piece in content),
        builds_on=_ids(groups[BUILDS_ON]),
        example=_example(groups[EXAMPLE]),
    )


def _split(body: Sequence[Piece]) -> Mapping[str, list[Piece]]:
    """Split a rule's body at its keywords, into a dict from keyword to pieces. The content has the key ""."""
    groups: dict[str, list[Piece]] = {"": [], BUILDS_ON: [], EXAMPLE: []}
    current = ""
    for piece in body:
        line = piece.text.rstrip() if piece.info is None else ""
        if line == _EXAMPLE_LEFT_OUT:
            raise ValueError(f"line {piece.number}: this manual was shortened; use the full one, manual.md")
        if line == EXAMPLE or line.startswith(BUILDS_ON):
            keyword = EXAMPLE if line == EXAMPLE else BUILDS_ON
            if groups[keyword]:
                raise ValueError(f"line {piece.number}: {line!r} may occur only once, after the rule's content")
            if groups[EXAMPLE]:
                raise ValueError(f"line {piece.number}: {line!r} must come before {EXAMPLE!r}")
            current = keyword
        groups[current].append(piece)
    return {keyword: _without_blank_ends(group) for keyword, group in groups.items()}


def _without_blank_ends(group: Sequence[Piece]) -> list[Piece]:
    filled = [n for n, piece in enumerate(group) if piece.text.strip()]
    return list(group[filled[0] : filled[-1] + 1]) if filled else []


def _ids(group: Sequence[Piece]) -> tuple[str, ...]:
    if not group:
        return ()
    ids = re.split(r", | and ", group[0].text.rstrip().removeprefix(BUILDS_ON).removesuffix("."))
    try:
        for id in ids:
            rule_number(id)
    except ValueError as error:
        raise ValueError(f"line {group[0].number}: {error}; write 'Builds on rule_1, rule_2.'") from error
    if len(group) > 1:
        raise ValueError(f"line {group[1].number}: the rule's content comes before 'Builds on'")
    return tuple(ids)


def _example(group: Sequence[Piece]) -> str:
    if not group:
        return ""
    code = _without_blank_ends(group[1:])
    if len(code) != 1 or code[0].info is None:
        raise ValueError(f"line {group[0].number}: one code fence, and nothing else, must follow 'Example:'")
    return code[0].body


def _prose(group: Sequence[Piece]) -> str:
    return "\n".join(piece.text for piece in group).strip()


def excerpt(text: str, rules: Sequence[Rule]) -> str:
    """Return the manual with only the given rules.

    The text of the rules is taken from ``rules``, so a caller can pass shortened ones. Sections without a given rule
    are left out. Raises BadManual if ``text`` is not a valid manual, or lacks one of the rules.
    """
    manual, _ = parse(text)
    ids = {rule.id for rule in rules}
    sections = [
        section.model_copy(update={"rule_ids": tuple(id for id in section.rule_ids if id in ids)})
        for section in manual.sections
    ]
    not_empty = tuple(section for section in sections if section.rule_ids)
    return render(manual.model_copy(update={"sections": not_empty}), rules)
