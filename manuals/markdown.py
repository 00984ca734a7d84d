r"""Write a manual as Markdown and read it back; the rules stay the same, byte for byte.

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

If Markdown would change the content of a rule, for example by dropping asterisks, the content is put in a code fence
marked ``text``. A fence is longer than any sequence of backticks inside it, so no text needs to be escaped. Only ``\n``
ends a line. But if every line of a file ends in ``\r\n``, as some editors write it, each ``\r\n`` is read as ``\n``.
Validation logs are never written, since planners see the manual.

``shorten`` shortens a manual to a number of tokens. ``excerpt`` keeps only the rules that one task needs.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from planbook.manuals.errors import BadManual, TooLong
from planbook.manuals.manual import (
    LEFT_OUT,
    Manual,
    Piece,
    Section,
    error_message,
    heading_level,
    pieces,
    placement_faults,
)
from planbook.planner import estimate_tokens, fence_around
from planbook.rules import Rule, RuleType, read_type, rule_number
from planbook.sandbox import Fault
from planbook.sandbox import parse as parse_python

EXAMPLE = "Example:"
BUILDS_ON = "Builds on "
_VERBATIM = "text"
"""Info string of the fence around content that is not plain prose."""
_RULE = re.compile(r"(\w+)(?: \((.*)\))?")
_BOLD = re.compile(r"\*\*[A-Z][\w ,'-]*:?\*\*")
_MARKUP = re.compile(r"[\\*|~$]|<(?=[A-Za-z/!?])|&(?=\w+;|#)|\](?=[(\[:])|(?<!\w)_|_(?!\w)|:[\w+-]+:|`{3}|  ")
_BEGINS_PLAINLY = re.compile(r" {0,3}(?:[-+] |\d{1,9}[.)] )?(?!\d{1,9}[.)](?: |$))(?:[^\W_]|[\"'(`])")


def render(
    manual: Manual, rules: Iterable[Rule], without_examples: Collection[str] = (), *, introductions: bool = True
) -> str:
    """Return the manual as Markdown. Raises BadManual unless its sections name each rule exactly once.

    The examples of the rules in ``without_examples`` are left out. So are the introductions of sections, unless
    ``introductions`` is set. Each gap is marked, and a manual with gaps cannot be read back.
    """
    by_id = {rule.id: rule for rule in rules}
    if faults := placement_faults(manual, by_id):
        raise BadManual(f"the manual does not fit its rules: {'; '.join(faults)}")
    parts = [f"# {manual.title}", manual.overview]
    for section in manual.sections:
        introduction = section.introduction if introductions or not section.introduction else LEFT_OUT
        parts += [f"## {section.title}", introduction]
        parts += [render_rule(by_id[id], example=id not in without_examples) for id in section.rule_ids]
    return "\n\n".join(filter(None, parts)) + "\n"


def render_rule(rule: Rule, *, example: bool = True) -> str:
    """Return one rule as Markdown. Raises BadManual if the id of the rule, or of one that it builds on, is invalid."""
    try:
        for id in (rule.id, *rule.builds_on):
            rule_number(id)
    except ValueError as error:
        raise BadManual(str(error)) from error
    parts = [f"### {rule.id}" + (f" ({rule.type})" if rule.type else "")]
    if rule.content:
        parts.append(rule.content if _is_plain(rule.content) else _fenced(rule.content, _VERBATIM))
    if rule.builds_on:
        parts.append(f"{BUILDS_ON}{', '.join(rule.builds_on)}.")
    if rule.example:
        info = _VERBATIM if isinstance(parse_python(rule.example), Fault) else "python"
        parts += [EXAMPLE, _fenced(rule.example, info)] if example else [f"{EXAMPLE} {LEFT_OUT}"]
    return "\n\n".join(parts)


def _fenced(text: str, info: str) -> str:
    fence = fence_around(text)
    return f"{fence}{info}\n{text}\n{fence}"


def _is_plain(content: str) -> bool:
    """Return True if content can be written as prose: neither Markdown nor ``parse`` changes it."""
    lines = content.split("\n")
    return bool(lines[0] and lines[-1]) and all(not line or _is_plain_line(line) for line in lines)


def _is_plain_line(line: str) -> bool:
    return (
        line.isprintable()
        and not line.endswith((" ", LEFT_OUT))
        and not line.startswith((BUILDS_ON.strip(), EXAMPLE))
        and _BEGINS_PLAINLY.match(_BOLD.sub("B", line)) is not None
        and _MARKUP.search(_BOLD.sub("B", line).lstrip()) is None
    )


class _Part(NamedTuple):
    """A heading, and the text between it and the next one."""

    line: int
    level: int
    title: str
    body: Sequence[Piece]


def parse(text: str) -> tuple[Manual, tuple[Rule, ...]]:
    """Return the manual and its rules, in reading order and without validation logs.

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
    if gap := next(filter(_marks_gap, lines), None):
        raise ValueError(f"line {gap.number}: {LEFT_OUT}: this is a shortened view of a manual; use the full manual")
    heads = [n for n, piece in enumerate(lines) if piece.info is None and heading_level(piece.text) in (1, 2, 3)]
    first = heads[0] if heads else len(lines)
    if not heads or heading_level(lines[first].text) != 1 or _prose(lines[:first]):
        raise ValueError("line 1: a manual begins with its title, '# TITLE'")
    for head, next_head in zip(heads, [*heads[1:], len(lines)], strict=True):
        line, level = lines[head].text.strip(), heading_level(lines[head].text)
        if not line[level:].strip():
            raise ValueError(f"line {lines[head].number}: a heading without a title")
        yield _Part(lines[head].number, level, line[level:].strip(), lines[head + 1 : next_head])


def _marks_gap(piece: Piece) -> bool:
    return piece.info is None and not heading_level(piece.text) and piece.text.rstrip().endswith(LEFT_OUT)


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
    """Return a dict that maps each keyword in a rule's body to the pieces up to the next. The content's key is ""."""
    groups: dict[str, list[Piece]] = {"": [], BUILDS_ON: [], EXAMPLE: []}
    current = ""
    for piece in body:
        line = piece.text.rstrip() if piece.info is None else ""
        if line == EXAMPLE or line.startswith(BUILDS_ON):
            keyword = EXAMPLE if line == EXAMPLE else BUILDS_ON
            if groups[keyword]:
                raise ValueError(f"line {piece.number}: {line!r} may occur once, after the rule's content")
            if groups[EXAMPLE]:
                raise ValueError(f"line {piece.number}: {line!r} must come before {EXAMPLE!r}")
            current = keyword
        groups[current].append(piece)
    return {keyword: _trimmed(group) for keyword, group in groups.items()}


def _trimmed(group: Sequence[Piece]) -> list[Piece]:
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
    code = _trimmed(group[1:])
    if len(code) != 1 or code[0].info is None:
        raise ValueError(f"line {group[0].number}: one code fence, and nothing else, must follow 'Example:'")
    return code[0].body


def _prose(group: Sequence[Piece]) -> str:
    return "\n".join(piece.text for piece in group).strip()


LEAST_IMPORTANT_FIRST: Sequence[RuleType | None] = (
    RuleType.SPECIAL_PHENOMENON,
    RuleType.SPECIAL_MECHANISM,
    RuleType.UNRESOLVED_ERROR,
    None,
    RuleType.CORRECTED_ERROR,
    RuleType.SUCCESS_PROCESS,
    RuleType.USEFUL_HELPER_METHOD,
)
"""The order in which examples are dropped, by rule type. A helper method's example is its code, so it goes last."""


def shorten(manual: Manual, rules: Iterable[Rule], tokens: int | None, cited: Mapping[str, int] | None = None) -> str:
    """Return the manual as Markdown, shortened to ``tokens`` estimated tokens if necessary. None means no limit.

    Examples are dropped first, in the order of ``LEAST_IMPORTANT_FIRST``. Within a type, the examples of the least
    cited rules go first, and among these the longest. ``cited`` maps rule ids to the number of citations. The
    introductions of sections go last. The content of rules is never dropped, and each gap is marked. Raises TooLong if
    the manual is still too long, or BadManual in the same cases as ``render``.
    """
    all_rules = list(rules)
    ids = [rule.id for rule in sorted(all_rules, key=lambda rule: _importance(rule, cited or {})) if rule.example]
    versions = (render(manual, all_rules, ids[:count]) for count in range(len(ids) + 1))
    for text in chain(versions, [render(manual, all_rules, ids, introductions=False)]):
        length = estimate_tokens(text)
        if tokens is None or length <= tokens:
            return text
    raise TooLong(
        f"without examples and introductions the manual still has about {length} tokens, and {tokens} are allowed: "
        "allow more, or select the rules that a task needs"
    )


def excerpt(text: str, rules: Sequence[Rule]) -> str:
    """Return the manual with only the given rules.

    The text of each given rule replaces its text in the manual, and may be shorter. Raises BadManual if the text is not
    a valid manual, or lacks one of the rules.
    """
    manual, _ = parse(text)
    ids = {rule.id for rule in rules}
    sections = [
        section.model_copy(update={"rule_ids": tuple(id for id in section.rule_ids if id in ids)})
        for section in manual.sections
    ]
    not_empty = tuple(section for section in sections if section.rule_ids)
    return render(manual.model_copy(update={"sections": not_empty}), rules)


def _importance(rule: Rule, cited: Mapping[str, int]) -> tuple[int, int, int]:
    return LEAST_IMPORTANT_FIRST.index(rule.type), cited.get(rule.id, 0), -len(rule.example)
