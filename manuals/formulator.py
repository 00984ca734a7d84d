"""Write a manual from rules (AutoManual, section 3.4).

The formulator is a model that arranges rules into a manual. In the paper, it copies the text and code of every rule
into the manual, so it may change or forget parts of a rule. Here, it writes only an outline: titles, some prose, and
the ids of the rules in each section. ``planbook.manuals.markdown`` then inserts the rules, so none is missing, and
their text and code are unchanged.
"""

import re
from collections.abc import Collection, Iterator, Sequence, Set
from itertools import pairwise
from pathlib import Path

from pydantic import BaseModel, ValidationError

from planbook.envs import Environment
from planbook.manuals.errors import BadManual
from planbook.manuals.markdown import (
    Manual,
    Piece,
    Section,
    error_message,
    pieces,
    placement_faults,
    render_rule,
)
from planbook.planner import PROMPTS as PLANNER_PROMPTS, Message, Prompts, Scope, action_docs
from planbook.rules import Rule, RuleType, citations

_FENCED_OUTLINE = re.compile(r"^(`{3,})(?:markdown|md)[ \t]*\n(.*)^\1[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_RULES_LINE = re.compile(r"[\s>*_+#-]*rules?\b(?P<qualifier>[^:\d]{0,30})(?::(?P<list>.*))?", re.IGNORECASE)
_REMARK = r"\((?![^)]*rule_\d)[^)]*\)"
_MARKUP = r"\s*_`'\"<>[\]"
_ITEM = re.compile(
    rf"[{_MARKUP}(+-]*(?:\d+[.)])?(?P<ids>(?:[{_MARKUP}),;&]|and\b|{_REMARK}|rule_\d+\b)+)", re.IGNORECASE
)
"""Matches the ids at the beginning of an item in a list of rules, as in ``1. rule_3 and rule_4 (about doors), which``.

Remarks in parentheses between the ids are skipped. The match ends before the first word that is not an id or "and".
"""


def read_outline(text: str, ids: Collection[str]) -> Manual:
    """Return the manual that the outline in a reply describes. Text before the title of the outline is dropped.

    Headings inside a section become bold lines, because only titles, sections and rules have headings in a manual.
    Raises ValueError if there is no title or section, if a section has no rules, or if rules are missing, repeated or
    unknown. The message lists these faults for the model.
    """
    try:
        manual = _build_manual(_parts(list(pieces(_without_fence(text)))))
    except ValidationError as error:
        raise ValueError(error_message(error)) from error
    if faults := list(_faults(manual, ids)):
        raise ValueError("\n".join(f"- {fault}" for fault in faults))
    return manual


def _build_manual(parts: Sequence[Sequence[Piece]]) -> Manual:
    title, *overview = parts[0]
    return Manual(title=_heading(title), overview=_prose(overview), sections=tuple(map(_section, parts[1:])))


def _without_fence(text: str) -> str:
    """Return the outline without the code fence around it, if there is one."""
    text = text.replace("\r\n", "\n")
    wrapped = _FENCED_OUTLINE.search(text)
    return wrapped[2] if wrapped else text


def _parts(reply: Sequence[Piece]) -> list[Sequence[Piece]]:
    """Return the part that begins with the title, followed by one part for each section.

    Everything before the last title is dropped, since it may be notes or a first version.
    """
    titles = [index for index, piece in enumerate(reply) if piece.level == 1]
    if not titles:
        raise ValueError("the outline has no title: a line that begins with '# ', above the first '## '")
    sections = [index for index, piece in enumerate(reply) if piece.level == 2 and index > titles[-1]]
    return [reply[begin:end] for begin, end in pairwise([titles[-1], *sections, len(reply)])]


def _heading(piece: Piece) -> str:
    title = piece.text.strip().lstrip("#").strip().strip("*").strip()
    if not title:
        raise ValueError(f"line {piece.number} of the outline is a heading without a title")
    return title


def _section(part: Sequence[Piece]) -> Section:
    """Return a section. The ids of its rules follow "Rules:", on the same line or in a list. Other text is prose."""
    ids: list[str] = []
    prose: list[Piece] = []
    in_list = False
    for piece in part[1:]:
        line = piece.text if piece.info is None else ""
        if (line_ids := _listed_ids(line)) is not None:
            ids += line_ids
            in_list = not line_ids
        elif in_list and (line_ids := _first_ids(line)):
            ids += line_ids
        else:
            in_list = in_list and not line.strip() and piece.info is None
            prose.append(piece)
    return Section(title=_heading(part[0]), introduction=_prose(prose), rule_ids=tuple(ids))


def _listed_ids(line: str) -> Sequence[str] | None:
    """Return the ids on a line such as ``**Rules in this section:** rule_1``, or None for any other line.

    For a line ``Rules:`` without ids, return ().
    """
    match = _RULES_LINE.fullmatch(line)
    if match is None:
        return None
    id_list = match["list"] or ""
    is_bare = not (match["qualifier"] + id_list).strip("*_ ")
    return citations(id_list) if is_bare or _first_ids(id_list) else None


def _first_ids(text: str) -> Sequence[str]:
    """Return the rule ids at the beginning of ``text``: a list of ids, or one item of such a list."""
    item = _ITEM.match(text)
    return citations(item["ids"]) if item else ()


def _prose(group: Sequence[Piece]) -> str:
    return "\n".join(f"**{_heading(piece)}**" if piece.level else piece.text for piece in group).strip()


def _faults(manual: Manual, ids: Collection[str]) -> Iterator[str]:
    if not manual.sections:
        yield "there is no section; each begins with a line '## TITLE'"
    for section in manual.sections:
        if not section.rule_ids:
            yield f"section {section.title!r} has no rule; end it with a line such as 'Rules: rule_1, rule_4'"
    yield from placement_faults(manual, ids)


PROMPTS = Prompts(Path(__file__).parent / "templates")
"""The prompt templates of the formulator. A template is named by its path in the folder ``templates``."""
FORMULATOR = "formulator"


def formulate(
    scope: Scope,
    rules: Sequence[Rule],
    environment: type[Environment],
    options: BaseModel | None = None,
) -> Manual:
    """Ask a model for a manual in which each rule is in exactly one section.

    Raises BadManual if there are no rules, UnusableReply if no reply is a valid outline, or another error of
    ``Scope.ask`` if the model cannot be asked.
    """
    if not rules:
        raise BadManual("there are no rules for a manual; build some first")
    ids = [rule.id for rule in rules]
    return scope.ask(
        FORMULATOR,
        PROMPTS["formulate"],
        read=lambda text: read_outline(text, ids),
        history=[_system_message(environment, options, {rule.type for rule in rules})],
        rules="\n\n".join(map(render_rule, rules)),
        ids=ids,
    ).value


def _system_message(
    environment: type[Environment], options: BaseModel | None, rule_types: Set[RuleType | None]
) -> Message:
    docs = PLANNER_PROMPTS["action_docs"].render(action_docs=action_docs(environment, options))
    types = environment.task_types(options)
    untyped, no_helpers = rule_types == {None}, RuleType.USEFUL_HELPER_METHOD not in rule_types
    return PROMPTS["formulator"].system(
        about=environment.about, types=types, action_docs=docs, untyped=untyped, no_helpers=no_helpers
    )
