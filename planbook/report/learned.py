"""Makes the blocks of a page about what `planbook build` has learned: the manual, each rule with its evidence, etc."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from planbook.knowledge import EVERYTHING, KnowledgeState, learned_in, with_manual
from planbook.report import blocks
from planbook.report.blocks import Block, Part, marked
from planbook.results import RunResults
from planbook.results.measures import versions_line
from planbook.rules import NO_EVIDENCE, Evidence, Rule, count_evidence
from planbook.wording import counted

KINDS = ("rule", "procedure", "skill", "reflection")
"""The kinds of knowledge that `planbook build` learns. ``Knowledge`` has an attribute for each, such as ``rules``."""
INERT = ("link", "autolink", "image", "html_inline", "html_block", "reference")
"""Kinds of Markdown that are not rendered, but shown as plain text, since a model wrote them."""
HEADING_SHIFT, LOWEST_HEADING = 3, 6
"""Headings in a manual are lowered by ``HEADING_SHIFT`` levels, but not below ``LOWEST_HEADING``. So they are below the
headings of the page."""


def final_states(run: RunResults) -> Mapping[str, KnowledgeState]:
    """Map each group of tasks to what the run had learned about it at its end. Return {} if the run does not learn."""
    return learned_in(run.run) if run.run.config.learning is not None else {}


def count_learned(states: Mapping[str, KnowledgeState]) -> tuple[str, str]:
    """Return two texts: how much was learned, such as "3 rules, 1 skill", and how often the rules were changed."""
    totals = {kind: sum(len(getattr(state.knowledge, f"{kind}s")) for state in states.values()) for kind in KINDS}
    counts = [counted(total, kind) for kind, total in totals.items() if total or kind == "rule"]
    changes = sum(state.history.changes for state in states.values())
    return ", ".join(counts), f"{counted(changes, 'change')} to the rules"


def learned_blocks(run: RunResults, states: Mapping[str, KnowledgeState]) -> Iterator[Block]:
    """Yield blocks about everything that was learned, one group of tasks after another."""
    start = learned_in(run.run, after=0)
    for name, state in states.items():
        if name != EVERYTHING:
            yield blocks.heading(name)
        yield from _group(state, with_manual(run.run, name, state), start[name].knowledge)


def _group(state: KnowledgeState, known: Any, initial: Any) -> Iterator[Block]:
    rules, evidence = known.rules, count_evidence(state.citations)
    if known.manual:
        yield blocks.details("manual", [{"block": "prose", "tree": prose(known.manual)}], "noted manual")
    if known.found:
        yield blocks.paragraph(versions_line(known.found, initial.found))
    if rules:
        rule_blocks = [_rule(rule, evidence.get(rule.id, NO_EVIDENCE)) for rule in rules]
        yield blocks.details(f"{counted(len(rules), 'rule')} in force", rule_blocks, "noted rules", is_open=True)
    texts: Mapping[str, list[tuple[str, str, Block]]] = {
        "procedures": [(type, "", blocks.code(item.code)) for type, item in sorted(known.procedures.items())],
        "skills": [(type, item.task.goal, blocks.code(item.code)) for type, item in sorted(known.skills.items())],
        "reflections": [
            (type, item.task.goal, blocks.pre(item.text)) for type, item in sorted(known.reflections.items())
        ],
        "change log": [("", "", blocks.pre("\n".join(state.history.log())))] if state.history.log() else [],
        "not learned": [("", "", blocks.pre("\n".join(state.notes)))] if state.notes else [],
    }
    for name, parts in texts.items():
        if parts:
            content_blocks = [block for type, goal, content in parts for block in (*_titled(type, goal), content)]
            yield blocks.details(name, content_blocks, f"noted {name}")


def _titled(type: str, goal: str) -> list[Block]:
    return [{"block": "h", "line": [type, " ", marked("small", goal)]}] if type else []


def _rule(rule: Rule, evidence: Evidence) -> Block:
    flag: list[Part] = [" ", marked("small", rule.type, "flag")] if rule.type else []
    parts: list[Block] = [{"block": "h", "line": [rule.id, *flag, " ", marked("small", str(evidence))]}]
    parts.append(blocks.pre(rule.content, "content"))
    if rule.example:
        parts.append(blocks.details("example", [blocks.code(rule.example)], "long"))
    if rule.builds_on:
        parts.append(blocks.paragraph(f"builds on {', '.join(rule.builds_on)}", "facts"))
    if rule.log:
        parts.append(blocks.details("validation log", [blocks.bullets(rule.log)], "long"))
    return blocks.group(parts, "rule")


def prose(text: str) -> list[Any]:
    """Parse Markdown by a model into a tree. A node is a string, or a list of an HTML tag followed by child nodes."""
    return _children(SyntaxTreeNode(_markdown().parse(text)))


def _children(node: SyntaxTreeNode) -> list[Any]:
    return [part for child in node.children for part in _parts(child)]


def _parts(node: SyntaxTreeNode) -> list[Any]:
    if node.type in ("text", "html_inline", "html_block"):
        return [node.content]
    if node.type in ("softbreak", "hardbreak"):
        return ["\n"]
    if node.type in ("fence", "code_block", "code_inline"):
        return [["code" if node.type == "code_inline" else "pre", node.content]]
    if node.type == "inline" or node.hidden:
        return _children(node)
    tag = f"h{min(int(node.tag[1:]) + HEADING_SHIFT, LOWEST_HEADING)}" if node.type == "heading" else node.tag
    return [[tag, *_children(node)]]


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(list(INERT))
