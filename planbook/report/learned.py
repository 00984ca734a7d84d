"""The knowledge of a building run, in blocks: the manual, each rule with its evidence, and procedures."""

from collections.abc import Iterator, Mapping, Sized
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from planbook.knowledge import EVERYTHING, KnowledgeState, learned_in, with_manual
from planbook.report import blocks
from planbook.report.blocks import Block, Part, link, marked
from planbook.results.matches import versions_line
from planbook.results.table import RunResults
from planbook.rules import NO_EVIDENCE, Applied, Evidence, Rule, count, rule_text
from planbook.wording import counted

INERT = ("link", "autolink", "image", "html_inline", "html_block", "reference")
"""Markdown that is not interpreted in a model's text, but shown as written."""
HEADING_SHIFT, LOWEST_HEADING = 3, 6
"""Levels by which headings of a manual are lowered below those of the page, and the lowest level."""


def final_states(run: RunResults) -> Mapping[str, KnowledgeState]:
    """Return the final knowledge of a building run, by group of tasks; nothing for other runs."""
    return learned_in(run.run) if run.run.config.learning is not None else {}


def learned_in_short(states: Mapping[str, KnowledgeState]) -> tuple[str, str]:
    """Return in words the counts of what was learned, and the number of changes to the rules."""
    known = [state.knowledge for state in states.values()]
    kinds: dict[str, list[Sized]] = {
        "rule": [knowledge.rules for knowledge in known],
        "procedure": [knowledge.procedures for knowledge in known],
        "skill": [knowledge.skills for knowledge in known],
        "reflection": [knowledge.reflections for knowledge in known],
    }
    totals = {kind: sum(map(len, groups)) for kind, groups in kinds.items()}
    counts = [counted(total, kind) for kind, total in totals.items() if total or kind == "rule"]
    changes = sum(len(state.history.entries) for state in states.values())
    return ", ".join(counts), f"{counted(changes, 'change')} to the rules"


def learned_blocks(run: RunResults, anchor: str, states: Mapping[str, KnowledgeState]) -> Iterator[Block]:
    """Yield everything that was learned, by group of tasks."""
    begun = learned_in(run.run, after=0)
    for number, (name, state) in enumerate(states.items()):
        if name != EVERYTHING:
            yield blocks.heading(name)
        yield from _group(f"{anchor}-learned-{number}", state, with_manual(run.run, name, state), begun[name].knowledge)


def _group(anchor: str, state: KnowledgeState, known: Any, library: Any) -> Iterator[Block]:
    rules, evidence = known.rules, count(state.citations)
    if known.manual:
        yield blocks.more("manual", [{"block": "prose", "tree": prose(known.manual)}], "noted manual")
    if known.found:
        yield blocks.paragraph(versions_line(known.found, library.found))
    if rules:
        ids = {rule.id for rule in rules}
        rule_blocks = [_rule(anchor, rule, evidence.get(rule.id, NO_EVIDENCE), ids) for rule in rules]
        yield blocks.more(f"{counted(len(rules), 'rule')} in force", rule_blocks, "noted rules", is_open=True)
    texts: Mapping[str, list[tuple[str, str, Block]]] = {
        "procedures": [(type, "", blocks.code(it.code)) for type, it in sorted(known.procedures.items())],
        "skills": [(type, it.task.goal, blocks.code(it.code)) for type, it in sorted(known.skills.items())],
        "reflections": [(type, it.task.goal, blocks.pre(it.text)) for type, it in sorted(known.reflections.items())],
        "change log": [("", "", blocks.pre("\n".join(state.history.log())))] if state.history.log() else [],
        "not learned": [("", "", blocks.pre("\n".join(state.notes)))] if state.notes else [],
    }
    for name, parts in texts.items():
        if parts:
            inside = [block for type, goal, content in parts for block in (*_titled(type, goal), content)]
            yield blocks.more(name, inside, f"noted {name}")


def _titled(type: str, goal: str) -> list[Block]:
    return [{"block": "h", "line": [type, " ", marked("small", goal)]}] if type else []


def _rule(anchor: str, rule: Rule, evidence: Evidence, ids: set[str]) -> Block:
    flag: list[Part] = [" ", marked("small", rule.type, "flag")] if rule.type else []
    parts: list[Block] = [{"block": "h", "line": [rule.id, *flag, " ", marked("small", str(evidence))]}]
    parts.append(blocks.pre(rule.content, "content"))
    if rule.example:
        parts.append(blocks.more("example", [blocks.code(rule.example)], "long"))
    if rule.builds_on:
        links = [part for id in rule.builds_on for part in (", ", link(id, f"{anchor}-{id}") if id in ids else id)]
        parts.append(blocks.paragraph(["builds on ", *links[1:]], "facts"))
    if rule.log:
        parts.append(blocks.more("validation log", [blocks.bullets(rule.log)], "long"))
    return blocks.group(parts, "rule", f"{anchor}-{rule.id}")


def step_text(scope: str, body: Mapping[str, Any]) -> str | None:
    """Return the rules that a step of learning changed, and counts of the knowledge; None for other bodies."""
    if "history" not in body:
        return None
    state = KnowledgeState.model_validate(body)
    known = state.knowledge
    changes = [
        rule_text(touched.after).rstrip() if touched.after else f"{touched.id} was deleted"
        for entry in state.history.entries
        if isinstance(entry, Applied) and entry.change.batch.where.startswith(f"{scope}/")
        for touched in entry.change.touched
    ]
    kinds = {"rule": known.rules, "skill": known.skills, "reflection": known.reflections}
    counts = [counted(len(items), kind) for kind, items in (kinds | {"procedure": known.procedures}).items()]
    return "\n\n".join([*changes, ", ".join(counts)])


def prose(text: str) -> list[Any]:
    """Return a model's Markdown as a tree: texts, and lists of an HTML tag with its content."""
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
    tag = f"h{min(int(node.tag[1:]) + HEADING_SHIFT, LOWEST_HEADING)}" if node.type == "heading" else node.tag
    return [[tag, *_inside(node)]]


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(list(INERT))
