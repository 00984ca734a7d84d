"""What a building run learned, in blocks: the manual, each rule with its evidence, and procedures."""

from collections.abc import Iterator, Mapping, Sized
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from planbook.knowledge import EVERYTHING, KnowledgeState, learned_in, with_manual
from planbook.report import blocks
from planbook.report.blocks import Block, Part, link, marked
from planbook.results import RunResults, versions_line
from planbook.rules import NO_EVIDENCE, Applied, Evidence, Rule, count, rule_text
from planbook.wording import counted

INERT = ("link", "autolink", "image", "html_inline", "html_block", "reference")
"""Left out of the Markdown of models: where they stand they are shown as they are written."""
BELOW, LOWEST = 3, 6
"""Levels by which headings of a manual are lowered, to stand below those of the page, and the lowest level."""


def learned(run: RunResults) -> Mapping[str, KnowledgeState]:
    """Return what a building run knows in the end, by group of tasks; nothing for a run that learns nothing."""
    return learned_in(run.run) if run.run.config.learning is not None else {}


def learned_in_short(states: Mapping[str, KnowledgeState]) -> tuple[str, str]:
    """Return how much was learned, and how often the rules were changed for that."""
    known = [state.knowledge for state in states.values()]
    kinds: dict[str, list[Sized]] = {
        "rule": [each.rules for each in known],
        "procedure": [each.procedures for each in known],
        "skill": [each.skills for each in known],
        "reflection": [each.reflections for each in known],
    }
    said = [counted(number, name) for name, each in kinds.items() if (number := sum(map(len, each))) or name == "rule"]
    changes = sum(len(state.history.entries) for state in states.values())
    return ", ".join(said), f"{counted(changes, 'change')} of the rules"


def learned_blocks(run: RunResults, anchor: str, states: Mapping[str, KnowledgeState]) -> Iterator[Block]:
    """Give everything that was learned, by group of tasks."""
    for number, (name, state) in enumerate(states.items()):
        if name != EVERYTHING:
            yield blocks.heading(name)
        yield from _group(f"{anchor}-learned-{number}", state, with_manual(run.run, name, state))


def _group(place: str, state: KnowledgeState, known: Any) -> Iterator[Block]:
    rules, evidence = known.rules, count(state.citations)
    if known.manual:
        yield blocks.more("manual", [{"block": "prose", "tree": prose(known.manual)}], "noted manual")
    if known.found:
        yield blocks.paragraph(versions_line(known.found))
    if rules:
        ids = {rule.id for rule in rules}
        shown = [_rule(place, rule, evidence.get(rule.id, NO_EVIDENCE), ids) for rule in rules]
        yield blocks.more(f"{counted(len(rules), 'rule')} in force", shown, "noted rules", is_open=True)
    texts: Mapping[str, list[tuple[str, str, Block]]] = {
        "procedures": [(kind, "", blocks.code(each.code)) for kind, each in sorted(known.procedures.items())],
        "skills": [(kind, each.task.goal, blocks.code(each.code)) for kind, each in sorted(known.skills.items())],
        "reflections": [
            (kind, each.task.goal, blocks.pre(each.text)) for kind, each in sorted(known.reflections.items())
        ],
        "change log": [("", "", blocks.pre("\n".join(state.history.log())))] if state.history.log() else [],
        "not learned": [("", "", blocks.pre("\n".join(state.notes)))] if state.notes else [],
    }
    for name, parts in texts.items():
        if parts:
            inside = [block for kind, goal, each in parts for block in (*_titled(kind, goal), each)]
            yield blocks.more(name, inside, f"noted {name}")


def _titled(kind: str, goal: str) -> list[Block]:
    return [{"block": "h", "line": [kind, " ", marked("small", goal)]}] if kind else []


def _rule(place: str, rule: Rule, evidence: Evidence, ids: set[str]) -> Block:
    kind: list[Part] = [" ", marked("small", rule.type, "flag")] if rule.type else []
    found: list[Block] = [{"block": "h", "line": [rule.id, *kind, " ", marked("small", str(evidence))]}]
    found.append(blocks.pre(rule.content, "content"))
    if rule.example:
        found.append(blocks.more("example", [blocks.code(rule.example)], "long"))
    if rule.builds_on:
        known = [part for id in rule.builds_on for part in (", ", link(id, f"{place}-{id}") if id in ids else id)]
        found.append(blocks.paragraph(["builds on ", *known[1:]], "facts"))
    if rule.log:
        found.append(blocks.more("validation log", [blocks.bullets(rule.log)], "long"))
    return blocks.group(found, "rule", f"{place}-{rule.id}")


def step_text(scope: str, body: Mapping[str, Any]) -> str | None:
    """Return the rules that a step of learning changed, and counts of what was known then; None for other bodies."""
    if "history" not in body:
        return None
    state = KnowledgeState.model_validate(body)
    known, entries = state.knowledge, state.history.entries
    own = [each.change for each in entries if isinstance(each, Applied)]
    changes = [
        rule_text(touched.after).rstrip() if touched.after else f"{touched.id} was deleted"
        for change in own
        if change.batch.where.startswith(f"{scope}/")
        for touched in change.touched
    ]
    kinds = {"rule": known.rules, "skill": known.skills, "reflection": known.reflections}
    counts = [counted(len(each), kind) for kind, each in (kinds | {"procedure": known.procedures}).items()]
    return "\n\n".join([*changes, ", ".join(counts)])


def prose(text: str) -> list[Any]:
    """Return Markdown that a model wrote as a tree: texts, and lists of an HTML tag and what is inside it."""
    return _inside(SyntaxTreeNode(_markdown().parse(text)))


def _inside(node: SyntaxTreeNode) -> list[Any]:
    return [part for child in node.children for part in _parts(child)]


def _parts(node: SyntaxTreeNode) -> list[Any]:
    if node.type in ("text", "html_inline", "html_block"):
        return [node.content]
    if node.type in ("softbreak", "hardbreak"):
        return ["\n"]
    if node.type in ("fence", "code_block", "code_inline"):
        return [["code" if node.type == "code_inline" else "pre", node.content]]
    if node.type == "inline" or node.hidden:
        return _inside(node)
    tag = f"h{min(int(node.tag[1:]) + BELOW, LOWEST)}" if node.type == "heading" else node.tag
    return [[tag, *_inside(node)]]


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(list(INERT))
