"""What a manual does not cover: task types no rule says how to do, rules nobody uses, rules that name missing ones.

Whether a success rule is about a task type is written nowhere, so it is read from the rule's scope (its first sentence,
which says what the rule is for), and the report says on what grounds:

- *named*: the scope names the type itself, ``pick_two_obj``, ``pick-two-obj`` or ``pick two obj``.
- *likely*: it names no type, and uses some of this one's words, before its colon if there is one. A type's words are
  those of its name and those that most of its sample goals share; its own words are those that no other type has. The
  scope must use an own word, or, for a type that has none (all of ``pick_and_place`` is in the others, too), any of its
  words and no other type's own word.

*Likely* is a guess, shown with the words it rests on. Types without a rule of either kind are missing.
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
"""Words that say little or nothing about a task."""
SHARED = 0.6
"""Share of a type's sample goals that must have a word for it to belong to the type."""


class CoveredType(BaseModel):
    """A task type and the success rules about it; ``words`` are the words that a *likely* match rests on."""

    model_config = ConfigDict(frozen=True)

    type: str
    grounds: Grounds
    rule_ids: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


class Coverage(BaseModel):
    """``never_cited`` lists rules that no planner named; ``dangling`` maps rules to the unknown ids that they name."""

    model_config = ConfigDict(frozen=True)

    types: tuple[CoveredType, ...]
    never_cited: tuple[str, ...]
    dangling: dict[str, tuple[str, ...]]

    @property
    def missing(self) -> tuple[str, ...]:
        """Task types that no success rule is about."""
        return tuple(each.type for each in self.types if each.grounds == "missing")


def measure_coverage(rules: Iterable[Rule], goals: Mapping[str, Sequence[str]], cited: Mapping[str, int]) -> Coverage:
    """Compare rules with task types, given some goals of each, and with how often planners cited them."""
    kept = list(rules)
    scopes = {rule.id: scope_of(rule) for rule in kept if rule.type is RuleType.SUCCESS_PROCESS}
    words = {kind: _words_of(kind, goals[kind]) for kind in goals}
    named = {id: [kind for kind in goals if _names(scope, kind)] for id, scope in scopes.items()}
    telling = frozenset().union(*words.values())
    unnamed = {id: _words_before_colon(scope, telling) for id, scope in scopes.items() if not named[id]}
    whole = {_stem(word): word for scope in scopes.values() for word in re.findall(r"[a-z]+", scope.lower())}
    ids = {rule.id for rule in kept}
    dangling = {rule.id: tuple(id for id in cites(rule) if id not in ids) for rule in kept}
    return Coverage(
        types=tuple(_in_whole_words(_covered(kind, named, unnamed, words), whole) for kind in goals),
        never_cited=tuple(rule.id for rule in kept if not cited.get(rule.id)),
        dangling={id: unknown for id, unknown in dangling.items() if unknown},
    )


def goals_of(tasks: Iterable[Task]) -> dict[str, list[str]]:
    """Return the goals of tasks by type, without the values of their params."""
    goals: dict[str, list[str]] = {}
    for task in tasks:
        particular = set(re.findall(r"\w+", str(list(task.params.values()))))
        kept = [word for word in re.findall(r"\w+", task.goal) if word not in particular]
        goals.setdefault(task.type, []).append(" ".join(kept))
    return goals


def scope_of(rule: Rule) -> str:
    """Return what the rule says it is for: its first sentence, at most its first paragraph."""
    return re.split(r"(?<=[.!?])\s|\n\s*\n", rule.content.strip(), maxsplit=1)[0]


def _covered(
    kind: str,
    named: Mapping[str, Sequence[str]],
    unnamed: Mapping[str, frozenset[str]],
    words: Mapping[str, frozenset[str]],
) -> CoveredType:
    if naming := tuple(id for id, kinds in named.items() if kind in kinds):
        return CoveredType(type=kind, grounds="named", rule_ids=naming)
    own = {each: _own(each, words) for each in words}
    others = frozenset().union(*(own[each] for each in words if each != kind))
    telling = own[kind] or words[kind]
    found = {id: used & telling for id, used in unnamed.items() if own[kind] or not used & others}
    if likely := {id: shared for id, shared in found.items() if shared}:
        shared = sorted(frozenset().union(*likely.values()))
        return CoveredType(type=kind, grounds="likely", rule_ids=tuple(likely), words=tuple(shared))
    return CoveredType(type=kind, grounds="missing")


def _in_whole_words(covered: CoveredType, whole: Mapping[str, str]) -> CoveredType:
    return covered.model_copy(update={"words": tuple(whole[stem] for stem in covered.words)})


def _own(kind: str, words: Mapping[str, frozenset[str]]) -> frozenset[str]:
    return words[kind].difference(*(words[other] for other in words if other != kind))


def _names(scope: str, kind: str) -> bool:
    """Return whether the name stands by itself, not as part of a longer one."""
    name = r"[\s_-]".join(map(re.escape, re.split(r"[\s_-]", kind)))
    return re.search(rf"(?<![\w-]){name}(?![\w-])", scope, re.IGNORECASE) is not None


def _words_of(kind: str, goals: Sequence[str]) -> frozenset[str]:
    counted = Counter(word for goal in goals for word in _words(goal))
    return _words(kind) | {word for word, times in counted.items() if times >= SHARED * len(goals)}


def _words(text: str) -> frozenset[str]:
    """Return the significant words as stems: ``putting`` and ``put`` are equal, as are ``place`` and ``placed``."""
    found = frozenset(re.findall(r"[a-z]+", text.lower())) - COMMON_WORDS
    return frozenset(_stem(word) for word in found)


def _words_before_colon(scope: str, telling: frozenset[str]) -> frozenset[str]:
    """A scope's words up to its colon, where these tell something already: ``When heating: look for it`` is no look."""
    before = _words(scope.partition(":")[0])
    return before if before & telling else _words(scope)


def _stem(word: str) -> str:
    return re.sub(r"([^aeiou])\1$", r"\1", re.sub(r"(?<=..[^e])(?:ing|ed|es|s|e)$", "", word))


def coverage_table(coverage: Coverage) -> str:
    """Return the report in Markdown, with columns that line up in a terminal as well."""
    heading, rows = ("task type", "success process", "rules"), [*map(_row, coverage.types)]
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    rows = [heading, ("-" * widths[0], "-" * widths[1], "-" * widths[2]), *rows]
    lines = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |" for row in rows]
    dangling = (f"{id} (names {', '.join(unknown)})" for id, unknown in coverage.dangling.items())
    return "\n".join(
        [
            *lines,
            "",
            f"Without a success process: {', '.join(coverage.missing) or 'no task type'}.",
            f"Never cited by a planner: {', '.join(coverage.never_cited) or 'no rule'}.",
            f"Naming rules that are not there: {', '.join(dangling) or 'no rule'}.",
        ]
    )


def _row(covered: CoveredType) -> tuple[str, str, str]:
    grounds = f"likely ({', '.join(covered.words)})" if covered.words else covered.grounds
    return covered.type, grounds, ", ".join(covered.rule_ids) or "-"
