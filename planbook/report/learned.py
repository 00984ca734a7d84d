"""What a building run learned: the manual, each rule with its history and the plans that named it, and procedures."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from planbook.knowledge import EVERYTHING, KnowledgeState, learnt_in, with_manual
from planbook.report import blocks
from planbook.report.blocks import Block, Line, Part, link, marked
from planbook.results import RunResults
from planbook.rules import Applied, Citation, Evidence, Rule, count, rule_text
from planbook.rules.edits import Batch
from planbook.rules.evidence import NONE
from planbook.rules.history import Undone, states
from planbook.rules.naming import rule_number
from planbook.wording import counted

FROM_EPISODE = re.compile(r"(?:learn|task)/(\d+)(?:/.*)?")
"""The scopes that name an episode: what was learned from it, and its own."""
INERT = ("link", "autolink", "image", "html_inline", "html_block", "reference")
"""Left out of the Markdown of models: where they stand they are shown as they are written."""
BELOW, LOWEST = 3, 6
"""How far headings of a manual go down, as they stand below those of the page; and how far that can go."""
MOST_NAMED = 40


@dataclass(frozen=True)
class Step:
    """Something that happened to a rule; ``change`` is its number in the log, ``episode`` None where there is none."""

    change: int
    what: str
    who: str
    case: str = ""
    episode: int | None = None
    difference: str = ""


@dataclass(frozen=True)
class Naming:
    """An episode whose plans named a rule."""

    episode: int
    solved: bool
    blamed: bool


@dataclass
class Ruling:
    """A rule as it is, or as it was last."""

    rule: Rule
    in_force: bool
    evidence: Evidence
    steps: list[Step] = field(default_factory=list)
    named: Sequence[Naming] = ()


def rulings(state: KnowledgeState) -> list[Ruling]:
    """Return every rule that ever was, by its number."""
    history, evidence = state.history, count(state.citations)
    books = states(history.initial, history.entries)
    found: dict[str, Ruling] = {}
    for rule in history.initial.active:
        known = Step(0, "known before the first episode", "")
        found[rule.id] = Ruling(rule, True, evidence.get(rule.id, NONE), [known])
    for number, entry in enumerate(history.entries, start=1):
        before = {rule.id: rule for rule in books[number - 1].active}
        after = {rule.id: rule for rule in books[number].active}
        for id in sorted({*before, *after}, key=rule_number):
            if before.get(id) != after.get(id):
                rule = after.get(id) or before[id]
                ruling = found.setdefault(id, Ruling(rule, True, evidence.get(id, NONE)))
                ruling.rule, ruling.in_force = rule, id in after
                ruling.steps.append(_step(number, entry, id, before.get(id), after.get(id)))
    for id, ruling in found.items():
        ruling.named = list(_named(id, state.citations))
    return [found[id] for id in sorted(found, key=rule_number)]


def _step(number: int, entry: Applied | Undone, id: str, before: Rule | None, after: Rule | None) -> Step:
    if isinstance(entry, Undone):
        return Step(number, f"{_what(before, after)}: gone back to before change {entry.entry}", entry.who)
    batch = entry.change.batch
    what = _what(before, after)
    if None in (before, after) and (others := _others(entry, id)):
        what = f"{what}; the same change {others}"
    return Step(number, what, batch.who, str(batch.case or ""), _episode(batch), _difference(before, after))


def _others(entry: Applied, id: str) -> str:
    """Say what else a change did: rules are merged by one that writes or changes some and deletes others."""
    done: dict[str, list[str]] = {}
    for touched in entry.change.touched:
        if touched.id != id:
            word = "wrote" if touched.before is None else "deleted" if touched.after is None else "changed"
            done.setdefault(word, []).append(touched.id)
    return ", ".join(f"{word} {', '.join(ids)}" for word, ids in done.items())


def _what(before: Rule | None, after: Rule | None) -> str:
    if before is None:
        return "written"
    if after is None:
        return "deleted"
    changed = [name for name in Rule.model_fields if getattr(before, name) != getattr(after, name)]
    return f"changed: {', '.join(name.replace('_', ' ') for name in changed)}"


def _episode(batch: Batch) -> int | None:
    found = FROM_EPISODE.fullmatch(batch.where)
    return int(found[1]) if found else None


def _difference(before: Rule | None, after: Rule | None) -> str:
    if before is None or after is None:
        return ""
    lines = difflib.unified_diff(rule_text(before).splitlines(), rule_text(after).splitlines(), lineterm="", n=1)
    return "\n".join(list(lines)[3:])


def _named(id: str, citations: Sequence[Citation]) -> Iterator[Naming]:
    """Of two records of one episode the later counts, as it does in the evidence."""
    last: Mapping[str, Citation] = {each.episode: each for each in citations}
    for citation in last.values():
        found = FROM_EPISODE.fullmatch(citation.episode)
        if found and id in citation.rule_ids:
            yield Naming(int(found[1]), citation.solved, id in citation.blamed_agent)


def learned(run: RunResults) -> Mapping[str, KnowledgeState]:
    """Return what a building run knows in the end, by group of tasks; nothing for a run that learns nothing."""
    return learnt_in(run.run) if run.run.config.learning is not None else {}


def learned_in_short(states: Mapping[str, KnowledgeState]) -> tuple[str, str]:
    """Return how much was learned, and what of it was taken back."""
    every = [ruling for state in states.values() for ruling in rulings(state)]
    known = [state.knowledge for state in states.values()]
    kinds: dict[str, list[Sized]] = {"procedure": [each.procedures for each in known]}
    kinds["skill"] = [each.skills for each in known]
    kinds["reflection"] = [each.reflections for each in known]
    said = [counted(sum(each.in_force for each in every), "rule")]
    said += [counted(number, name) for name, each in kinds.items() if (number := sum(map(len, each)))]
    gone = sum(not each.in_force for each in every)
    changes = sum(len(state.history.entries) for state in states.values())
    deleted = f"; {counted(gone, 'rule')} deleted again" if gone else ""
    return ", ".join(said), f"{counted(changes, 'change')} of the rules{deleted}"


def learned_blocks(run: RunResults, anchor: str, states: Mapping[str, KnowledgeState]) -> Iterator[Block]:
    """Give everything that was learned, by group of tasks."""
    for number, (name, state) in enumerate(states.items()):
        if name != EVERYTHING:
            yield blocks.heading(name)
        yield from _group(run, anchor, f"{anchor}-learned-{number}", state, with_manual(run.run, name, state))


def _group(run: RunResults, anchor: str, place: str, state: KnowledgeState, known: Any) -> Iterator[Block]:
    rules = rulings(state)
    ids = {each.rule.id for each in rules}
    shown = {each.rule.id: _rule(run, anchor, place, each, ids) for each in rules}
    if known.manual:
        yield blocks.more("manual", [{"block": "prose", "tree": prose(known.manual)}], "noted manual")
    if rules:
        gone = [shown[each.rule.id] for each in rules if not each.in_force]
        force = [shown[each.rule.id] for each in rules if each.in_force]
        deleted = [blocks.more(f"{counted(len(gone), 'rule')} deleted", gone, "gone")] if gone else []
        line = f"{counted(len(force), 'rule')} in force"
        yield blocks.more(line, [*force, *deleted], "noted rules", is_open=True)
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


def _rule(run: RunResults, anchor: str, place: str, ruling: Ruling, ids: set[str]) -> Block:
    rule = ruling.rule
    title: list[Part] = [rule.id, " ", marked("small", rule.type, "flag")] if rule.type else [rule.id]
    found: list[Block] = [{"block": "h", "line": [*title, " ", marked("small", str(ruling.evidence))]}]
    found.append(blocks.pre(rule.content, "content"))
    if rule.example:
        found.append(blocks.more("example", [blocks.code(rule.example)], "long"))
    if rule.builds_on:
        known = [link(id, f"{place}-{id}") if id in ids else id for id in rule.builds_on]
        found.append(blocks.paragraph(["builds on ", *_between(known, ", ")], "facts"))
    steps = [_step_line(run, anchor, step) for step in ruling.steps]
    log = [blocks.heading("validation log"), blocks.bullets(rule.log)] if rule.log else []
    history = [blocks.bullets(steps, "history-of", numbered=True), *log]
    found.append(blocks.more(f"history: {counted(len(steps), 'change')}", history, "long"))
    if ruling.named:
        named = [part for each in ruling.named[:MOST_NAMED] for part in _naming(run, anchor, each)]
        rest = len(ruling.named) - MOST_NAMED
        found.append(
            blocks.paragraph(["Named in the plans of ", *named[1:], f" and {rest:,} more" if rest > 0 else ""], "facts")
        )
    return blocks.group(found, "rule" if ruling.in_force else "rule deleted", f"{place}-{rule.id}")


def _between(parts: Sequence[Part], between: str) -> list[Part]:
    return [each for part in parts for each in (between, part)][1:]


def _step_line(run: RunResults, anchor: str, step: Step) -> Line:
    said = step.what + (f" by the {step.who}" if step.who else "") + (f" ({step.case})" if step.case else "")
    line: list[Part] = [said]
    if step.episode is not None:
        line += [", from ", _to_episode(run, anchor, step.episode)]
    if step.change:
        line += [" ", marked("small", f"change {step.change}")]
    return [*line, marked("pre", step.difference, "difference")] if step.difference else line


def _naming(run: RunResults, anchor: str, naming: Naming) -> list[Part]:
    said = "solved" if naming.solved else "not solved"
    kind = "solved" if naming.solved else "unsolved"
    blamed = ", blamed for not following it" if naming.blamed else ""
    return ["; ", _to_episode(run, anchor, naming.episode), " ", marked("span", said + blamed, kind)]


def _to_episode(run: RunResults, anchor: str, index: int) -> Part:
    if index not in run.episodes:
        return f"episode {index}"
    return link(run.episodes[index].entry.task.id, f"{anchor}-{index}")


def step_text(scope: str, body: Mapping[str, Any]) -> str | None:
    """Say what one step of learning changed of the rules, and what was known then; None for a body of another form."""
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
