"""Each rule that a building run ever had: what speaks for it, how it came about, and the plans that named it."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from planbook.knowledge import KnowledgeState
from planbook.rules import Applied, Citation, Evidence, Rule, count, rule_text
from planbook.rules.edits import Batch
from planbook.rules.evidence import NONE
from planbook.rules.history import Undone, states
from planbook.rules.naming import rule_number

FROM_EPISODE = re.compile(r"(?:learn|task)/(\d+)(?:/.*)?")
"""The scopes that name an episode: what was learnt from it, and its own."""


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
    """Every rule, by its number; those that are gone among them."""
    history, evidence = state.history, count(state.citations)
    books = states(history.initial, history.entries)
    found: dict[str, Ruling] = {}
    for rule in history.initial.active:
        found[rule.id] = Ruling(
            rule, True, evidence.get(rule.id, NONE), [Step(0, "known before the first episode", "")]
        )
    for number, entry in enumerate(history.entries, start=1):
        before = {rule.id: rule for rule in books[number - 1].active}
        after = {rule.id: rule for rule in books[number].active}
        for id in sorted({*before, *after}, key=rule_number):
            if before.get(id) != after.get(id):
                rule = after.get(id) or before[id]
                told = found.setdefault(id, Ruling(rule, True, evidence.get(id, NONE)))
                told.rule, told.in_force = rule, id in after
                told.steps.append(_step(number, entry, id, before.get(id), after.get(id)))
    for id, told in found.items():
        told.named = list(_named(id, state.citations))
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
    """What a change did beside: rules are merged by one that writes or changes some and deletes others."""
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
    """What is otherwise in a rule that was changed, line by line."""
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
