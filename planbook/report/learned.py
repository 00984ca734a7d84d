"""Makes the nodes of a page about what `planbook build` has learned, such as the manual and the rules."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from planbook.knowledge import KnowledgeState, find_learned_state, with_manual
from planbook.report.elements import Node, details
from planbook.results import RunResults
from planbook.results.measures import versions_line
from planbook.rules import NO_EVIDENCE, Evidence, Rule, count_evidence
from planbook.wording import counted

KINDS = ("rule", "procedure", "skill", "reflection")
"""The kinds of knowledge that `planbook build` learns. ``Knowledge`` has an attribute for each, such as ``rules``."""
DISABLED_MARKDOWN = ("link", "autolink", "image", "html_inline", "html_block", "reference")
"""Kinds of Markdown that are shown as plain text, because a model wrote the Markdown."""
HEADING_SHIFT, LOWEST_HEADING = 3, 6
"""Headings in a manual are lowered by ``HEADING_SHIFT`` levels, to at most ``LOWEST_HEADING``, so that they rank below
the headings of the page."""


def count_learned(state: KnowledgeState) -> tuple[str, str]:
    """Return two texts: how much was learned, such as "3 rules, 1 skill", and how often rules were changed."""
    totals = {kind: len(getattr(state.knowledge, f"{kind}s")) for kind in KINDS}
    counts = [counted(total, kind) for kind, total in totals.items() if total or kind == "rule"]
    return ", ".join(counts), f"{counted(state.history.change_count, 'change')} to the rules"


def learned(run: RunResults, state: KnowledgeState | None) -> Iterator[Node]:
    """Yield nodes about everything that a run has learned, or nothing if ``state`` is None."""
    if state is None:
        return
    knowledge, initial = with_manual(run.run, state), find_learned_state(run.run, after=0)
    if knowledge.manual:
        yield details("noted", "manual", ["div.prose", *prose(knowledge.manual)])
    if knowledge.found:
        yield ["p", versions_line(knowledge.found, initial.knowledge.found if initial else ())]
    if knowledge.rules:
        evidence = count_evidence(state.citations)
        rules = (_rule(rule, evidence.get(rule.id, NO_EVIDENCE)) for rule in knowledge.rules)
        yield details("noted open", f"{counted(len(knowledge.rules), 'rule')} in force", *rules)
    by_type: Mapping[str, list[tuple[str, str, Node]]] = {
        "procedures": [(type, "", ["plan", item.code]) for type, item in sorted(knowledge.procedures.items())],
        "skills": [(type, item.task.goal, ["plan", item.code]) for type, item in sorted(knowledge.skills.items())],
        "reflections": [
            (type, item.task.goal, ["pre", item.text]) for type, item in sorted(knowledge.reflections.items())
        ],
    }
    for name, items in by_type.items():
        if items:
            nodes = (node for type, goal, text in items for node in (["h5", type, " ", ["small", goal]], text))
            yield details("noted", name, *nodes)
    for name, lines in {"change log": state.history.log(), "not learned": state.notes}.items():
        if lines:
            yield details("noted", name, ["pre", "\n".join(lines)])


def _rule(rule: Rule, evidence: Evidence) -> Node:
    flag = [" ", ["small.flag", rule.type]] if rule.type else []
    nodes: list[Node] = [["h5", rule.id, *flag, " ", ["small", str(evidence)]], ["pre.content", rule.content]]
    if rule.example:
        nodes.append(details("long", "example", ["plan", rule.example]))
    if rule.builds_on:
        nodes.append(["p.facts", f"builds on {', '.join(rule.builds_on)}"])
    if rule.log:
        nodes.append(details("long", "validation log", ["ul", *(["li", line] for line in rule.log)]))
    return ["article.rule", *nodes]


def prose(text: str) -> list[Any]:
    """Parse Markdown that a model wrote, and return its nodes."""
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
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(list(DISABLED_MARKDOWN))
