"""Gaps in a manual: task types without a success process, rules that nobody cites, and rules that cite missing ones.

Rules do not state their task types. They are derived from a rule's scope, its first sentence, which says what the rule
is for. The report states the grounds:

- *named*: the scope names the type itself, as ``pick_two_obj``, ``pick-two-obj`` or ``pick two obj``.
- *likely*: it names no type, but uses some of the type's words. If a word of any type stands before the scope's
  colon, only the words before it count. A type's words are those of its name and those that most of its sample goals
  share; its own words are those that no other type has. The scope must use one of its own words. If it has none (the
  words of ``pick_and_place`` are all words of other types, too), the scope must use any of its words, and no word that
  is another type's own.

*Likely* is a guess, shown with the words on which it is based. Types without a rule of either kind are missing.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from planbook.envs import Task
from planbook.rules import Rule, RuleType, cites

Grounds = Literal["named", "likely", "missing"]
COMMON_WORDS = frozenset(
    "a an and any are as at be by for from has have in into is it its like must of on one or other s should "
    "some such task tasks that the their them then there these they this to type types where which with".split()
)
"""Words that say little about a task."""
SHARED = 0.6
"""A word counts as a type's if at least this share of the type's sample goals have it."""


class CoveredType(BaseModel):
    """A task type and its success rules; ``words`` are those on which a *likely* match is based."""

    model_config = ConfigDict(frozen=True)

    type: str
    grounds: Grounds
    rule_ids: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


class Coverage(BaseModel):
    """``never_cited`` lists rules that no planner cited; ``dangling`` maps rules to the unknown ids that they cite."""

    model_config = ConfigDict(frozen=True)

    types: tuple[CoveredType, ...]
    never_cited: tuple[str, ...]
    dangling: dict[str, tuple[str, ...]]

    @property
    def missing(self) -> tuple[str, ...]:
        """Task types without a success rule."""
        return tuple(each.type for each in self.types if each.grounds == "missing")


def measure_coverage(rules: Iterable[Rule], goals: Mapping[str, Sequence[str]], cited: Mapping[str, int]) -> Coverage:
    """Compare rules with task types. ``goals`` has sample goals by type; ``cited`` counts citations by rule id."""
    every = list(rules)
    scopes = {rule.id: scope_of(rule) for rule in every if rule.type is RuleType.SUCCESS_PROCESS}
    words = {kind: _words_of(kind, goals[kind]) for kind in goals}
    named = {id: [kind for kind in goals if _names(scope, kind)] for id, scope in scopes.items()}
    type_words = frozenset().union(*words.values())
    unnamed = {id: _scope_words(scope, type_words) for id, scope in scopes.items() if not named[id]}
    whole_words = {_stem(word): word for scope in scopes.values() for word in re.findall(r"[a-z]+", scope.lower())}
    ids = {rule.id for rule in every}
    dangling = {rule.id: tuple(id for id in cites(rule) if id not in ids) for rule in every}
    return Coverage(
        types=tuple(_covered(kind, named, unnamed, words, whole_words) for kind in goals),
        never_cited=tuple(rule.id for rule in every if not cited.get(rule.id)),
        dangling={id: unknown for id, unknown in dangling.items() if unknown},
    )


def goals_of(tasks: Iterable[Task]) -> dict[str, list[str]]:
    """Return the goals of tasks by type, without the values of their params."""
    goals: dict[str, list[str]] = {}
    for task in tasks:
        values = set(re.findall(r"\w+", str(list(task.params.values()))))
        words = [word for word in re.findall(r"\w+", task.goal) if word not in values]
        goals.setdefault(task.type, []).append(" ".join(words))
    return goals


def scope_of(rule: Rule) -> str:
    """Return the rule's own statement of what it is for: its first sentence, at most its first paragraph."""
    return re.split(r"(?<=[.!?])\s|\n\s*\n", rule.content.strip(), maxsplit=1)[0]


def _covered(
    kind: str,
    named: Mapping[str, Sequence[str]],
    unnamed: Mapping[str, frozenset[str]],
    words: Mapping[str, frozenset[str]],
    whole_words: Mapping[str, str],
) -> CoveredType:
    if naming := tuple(id for id, kinds in named.items() if kind in kinds):
        return CoveredType(type=kind, grounds="named", rule_ids=naming)
    own = {each: _own_words(each, words) for each in words}
    others = frozenset().union(*(own[each] for each in words if each != kind))
    significant = own[kind] or words[kind]
    shared = {id: used & significant for id, used in unnamed.items() if own[kind] or not used & others}
    if likely := {id: common for id, common in shared.items() if common}:
        every = tuple(whole_words[stem] for stem in sorted(frozenset().union(*likely.values())))
        return CoveredType(type=kind, grounds="likely", rule_ids=tuple(likely), words=every)
    return CoveredType(type=kind, grounds="missing")


def _own_words(kind: str, words: Mapping[str, frozenset[str]]) -> frozenset[str]:
    return words[kind].difference(*(words[other] for other in words if other != kind))


def _names(scope: str, kind: str) -> bool:
    """Return True if the scope has the type's whole name, not only as part of a longer name."""
    name = r"[\s_-]".join(map(re.escape, re.split(r"[\s_-]", kind)))
    return re.search(rf"(?<![\w-]){name}(?![\w-])", scope, re.IGNORECASE) is not None


def _words_of(kind: str, goals: Sequence[str]) -> frozenset[str]:
    counted = Counter(word for goal in goals for word in _words(goal))
    return _words(kind) | {word for word, times in counted.items() if times >= SHARED * len(goals)}


def _words(text: str) -> frozenset[str]:
    """Return the stems of the significant words: ``putting`` and ``put`` are equal, as are ``place`` and ``placed``."""
    return frozenset(map(_stem, frozenset(re.findall(r"[a-z]+", text.lower())) - COMMON_WORDS))


def _scope_words(scope: str, type_words: frozenset[str]) -> frozenset[str]:
    """Return a scope's words; only those before its colon if a type has one of these, as in ``When heating: look``."""
    before = _words(scope.partition(":")[0])
    return before if before & type_words else _words(scope)


def _stem(word: str) -> str:
    return re.sub(r"([^aeiou])\1$", r"\1", re.sub(r"(?<=..[^e])(?:ing|ed|es|s|e)$", "", word))


def coverage_table(coverage: Coverage) -> str:
    """Return the report in Markdown, with columns aligned for terminals."""
    heading, rows = ("task type", "success process", "rules"), [*map(_row, coverage.types)]
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    rows = [heading, ("-" * widths[0], "-" * widths[1], "-" * widths[2]), *rows]
    lines = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |" for row in rows]
    dangling = (f"{id} (cites {', '.join(unknown)})" for id, unknown in coverage.dangling.items())
    return "\n".join(
        [
            *lines,
            "",
            f"Without a success process: {', '.join(coverage.missing) or 'no task type'}.",
            f"Never cited by a planner: {', '.join(coverage.never_cited) or 'no rule'}.",
            f"Citing rules that do not exist: {', '.join(dangling) or 'no rule'}.",
        ]
    )


def _row(covered: CoveredType) -> tuple[str, str, str]:
    grounds = f"likely ({', '.join(covered.words)})" if covered.words else covered.grounds
    return covered.type, grounds, ", ".join(covered.rule_ids) or "-"
