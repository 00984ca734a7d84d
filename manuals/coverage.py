"""Find gaps in learned rules: task types without a rule, rules no planner cited, and rules that cite unknown rules.

A task type is covered if there is a success process for it: a rule on how to solve tasks of this type. A rule has no
field for its task type, so the type is guessed from the scope of the rule: its first sentence. A task type is

- *named* if the scope of a success process contains the type's name, as ``pick_two_obj`` or as ``pick two obj``,
- *likely* to be covered if the scope of a success process names no type, but uses words of the type,
- *missing* otherwise.

The words of a type are those of its name, and those that most of its sample goals contain. Its distinctive words are
those that no other type has. For *likely*, the scope must use a distinctive word of the type. A type may have none: all
words of ``pick_and_place`` are words of other types, too. The scope must then use at least one word of the type, and no
distinctive word of another type. If a word of any type comes before the first colon of the scope, only the words before
the colon count.

A *likely* type is reported with the words on which the guess is based.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Literal

from pydantic import BaseModel, ConfigDict

from planbook.envs import Task
from planbook.rules import Rule, RuleType, cited_ids

COMMON_WORDS = frozenset(
    "a an and any are as at be by for from has have in into is it its like must of on one or other s should "
    "some such task tasks that the their them then there these they this to type types where which with".split()
)
"""Words that say little about a task."""
SHARED = 0.6
"""A word belongs to a type if at least this share of the type's sample goals contain it."""


class CoveredType(BaseModel):
    """A task type, and the ids of its success processes. If it is *likely* covered, the guess is based on ``words``."""

    model_config = ConfigDict(frozen=True)

    type: str
    grounds: Literal["named", "likely", "missing"]
    rule_ids: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


class Coverage(BaseModel):
    """The coverage of task types by rules.

    ``never_cited`` lists the rules that no planner cited. ``dangling`` maps the id of a rule to the unknown ids that it
    cites.
    """

    model_config = ConfigDict(frozen=True)

    types: tuple[CoveredType, ...]
    never_cited: tuple[str, ...]
    dangling: dict[str, tuple[str, ...]]

    @property
    def missing(self) -> tuple[str, ...]:
        """The task types without a success process."""
        return tuple(covered.type for covered in self.types if covered.grounds == "missing")


def measure_coverage(rules: Iterable[Rule], goals: Mapping[str, Sequence[str]], cited: Mapping[str, int]) -> Coverage:
    """Find the task types that the rules cover, and the rules that are never cited or cite unknown rules.

    ``goals`` maps each type to sample goals. ``cited`` maps rule ids to the number of times that planners cited them.
    """
    all_rules = list(rules)
    scopes = {rule.id: scope_of(rule) for rule in all_rules if rule.type is RuleType.SUCCESS_PROCESS}
    words = {task_type: _words_of(task_type, goals[task_type]) for task_type in goals}
    named = {id: [task_type for task_type in goals if _contains_name(scope, task_type)] for id, scope in scopes.items()}
    type_words = frozenset().union(*words.values())
    distinctive = frozenset(word for word, types in Counter(chain(*words.values())).items() if types == 1)
    unnamed = {id: _scope_words(scope, type_words) for id, scope in scopes.items() if not named[id]}
    whole_words = {_stem(word): word for scope in scopes.values() for word in re.findall(r"[a-z]+", scope.lower())}
    ids = {rule.id for rule in all_rules}
    dangling = {rule.id: tuple(id for id in cited_ids(rule) if id not in ids) for rule in all_rules}
    return Coverage(
        types=tuple(_covered(type, words[type], distinctive, named, unnamed, whole_words) for type in goals),
        never_cited=tuple(rule.id for rule in all_rules if not cited.get(rule.id)),
        dangling={id: unknown for id, unknown in dangling.items() if unknown},
    )


def goals_of(tasks: Iterable[Task]) -> dict[str, list[str]]:
    """Return a dict from task type to the goals of its tasks, with the values of params removed from each goal."""
    goals: dict[str, list[str]] = {}
    for task in tasks:
        values = set(re.findall(r"\w+", str(list(task.params.values()))))
        words = [word for word in re.findall(r"\w+", task.goal) if word not in values]
        goals.setdefault(task.type, []).append(" ".join(words))
    return goals


def scope_of(rule: Rule) -> str:
    """Return the scope of a rule: its first sentence, or its first paragraph if that ends earlier."""
    return re.split(r"(?<=[.!?])\s|\n\s*\n", rule.content.strip(), maxsplit=1)[0]


def _covered(
    task_type: str,
    words: frozenset[str],
    distinctive: frozenset[str],
    named: Mapping[str, Sequence[str]],
    unnamed: Mapping[str, frozenset[str]],
    whole_words: Mapping[str, str],
) -> CoveredType:
    if naming := tuple(id for id, types in named.items() if task_type in types):
        return CoveredType(type=task_type, grounds="named", rule_ids=naming)
    own, others = words & distinctive, distinctive - words
    shared = {id: used & (own or words) for id, used in unnamed.items() if own or not used & others}
    if likely := {id: common for id, common in shared.items() if common}:
        common_words = tuple(whole_words[stem] for stem in sorted(frozenset().union(*likely.values())))
        return CoveredType(type=task_type, grounds="likely", rule_ids=tuple(likely), words=common_words)
    return CoveredType(type=task_type, grounds="missing")


def _contains_name(scope: str, task_type: str) -> bool:
    """Return True if the scope contains the name of the type as a whole name, not as part of a longer one."""
    name = r"[\s_-]".join(map(re.escape, re.split(r"[\s_-]", task_type)))
    return re.search(rf"(?<![\w-]){name}(?![\w-])", scope, re.IGNORECASE) is not None


def _words_of(task_type: str, goals: Sequence[str]) -> frozenset[str]:
    counted = Counter(word for goal in goals for word in _words(goal))
    return _words(task_type) | {word for word, times in counted.items() if times >= SHARED * len(goals)}


def _words(text: str) -> frozenset[str]:
    """Return the stems of the significant words, so that ``put`` matches ``putting``."""
    return frozenset(map(_stem, frozenset(re.findall(r"[a-z]+", text.lower())) - COMMON_WORDS))


def _scope_words(scope: str, type_words: frozenset[str]) -> frozenset[str]:
    """Return the stems of the words of a scope.

    If a word before the first colon is a word of a type, the words after the colon are left out. For
    ``When heating: look``, only ``heat`` is returned.
    """
    before = _words(scope.partition(":")[0])
    return before if before & type_words else _words(scope)


def _stem(word: str) -> str:
    return re.sub(r"([^aeiou])\1$", r"\1", re.sub(r"(?<=..[^e])(?:ing|ed|es|s|e)$", "", word))


def coverage_table(coverage: Coverage) -> str:
    """Return a Markdown table of the task types, aligned for terminals, and three lines about gaps."""
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
