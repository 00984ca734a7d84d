"""The memory of what was learned, which a planner is asked for each task."""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from pydantic import BaseModel

from planbook.envs import Environment, Task
from planbook.planner import Match, Recall, estimate_tokens
from planbook.rules.book import RuleBook
from planbook.rules.found_types import type_name
from planbook.rules.helpers import helper_code, helper_sources
from planbook.rules.matching import candidates, is_doubtful, match, parameter_values
from planbook.rules.procedures import params_read
from planbook.rules.retrieval import other_helpers, rules_for, select_rules, shown
from planbook.rules.telling import in_brief, tell_calls, tell_knowledge, tell_manual, tell_rules, without_defined
from planbook.rules.types import Knowledge, Reflection, Rule, RuleType, Skill
from planbook.sandbox import definitions

Tell = Callable[[Sequence[Rule]], str]
"""Renders the rules that were chosen for a task."""


class LearnedMemory:
    """Answers for one state of knowledge; the same task always gets the same answer. Thread-safe.

    ``without`` names ablations (``planbook.rules.memory``). With ``by_task``, a planner gets the rules that its task
    needs, rendered by ``tell``, and a line on how to call each other helper method. No code is shown twice: helper
    methods are signatures, since they are defined beforehand; with the skill of its type come neither the starting
    example nor the examples of success processes. ``rule_tokens`` limits the tokens of the rules: examples are cut
    first, then the rules that fit the task least. ``anyway`` shows a skill even if no similar task is known.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        world: type[Environment],
        options: BaseModel | None = None,
        *,
        without: Collection[str] = frozenset(),
        rule_tokens: int | None = None,
        by_task: bool = False,
        anyway: bool = False,
        tell: Tell = tell_rules,
    ) -> None:
        if knowledge.world != world.name:
            raise ValueError(f"what was learned in {knowledge.world!r} cannot be used in {world.name!r}")
        self.knowledge = ablated(knowledge, without)
        self.world, self.options, self.rule_tokens = world, options, rule_tokens
        self._by_task, self._tell = by_task or rule_tokens is not None, tell
        self._anyway = anyway
        self._defines = "helpers" not in without
        self._book = RuleBook.of(self.knowledge.rules)
        self._recalls: dict[tuple[str, str, str], Recall] = {}

    def recall(self, task: Task) -> Recall:
        """Return rules, the matching skill or reflection, helper methods, the starting example, and a procedure.

        Where task types were found, the type of a task without one is that of its goal.
        """
        key = (task.id, task.type, task.goal)
        if key not in self._recalls:
            matched = found_type(self.knowledge, task)
            recall = self._recall(with_type(task, matched))
            if matched and recall.procedure and not params_read(recall.procedure.code) <= matched.params.keys():
                recall = recall.model_copy(update={"procedure": None})
            check = next((each.check for each in self.knowledge.found if matched and each.name == matched.type), "")
            self._recalls[key] = recall.model_copy(update={"match": matched, "check": check})
        return self._recalls[key]

    def _recall(self, task: Task) -> Recall:
        book, example = self._book, shown(self.knowledge, task, anyway=self._anyway)
        helpers = self._helpers(book, [example] if isinstance(example, Skill) else [])
        rules, form = "" if self._by_task else tell_manual(self.knowledge), self.knowledge.example
        if self._by_task:
            defined = [each.name for each in definitions(helpers)]
            form = "" if _is_skill_for(example, task) else form
            fitting = RuleBook.of(rules_for(book, task, self.knowledge.skills.get(task.type)))
            book, rules = self._told(task, fitting, defined, example)
            example = _in_short(example, defined)
        return Recall(
            text=tell_knowledge(task, rules, example),
            example=form,
            helpers=helpers,
            rule_ids=book.ids,
            procedure=self.knowledge.procedures.get(task.type),
        )

    def _told(
        self, task: Task, book: RuleBook, defined: Collection[str], example: Skill | Reflection | None
    ) -> tuple[RuleBook, str]:
        """Return the rules that are shown, and the text; code that a skill shows is not repeated."""
        spared = (RuleType.SUCCESS_PROCESS,) if _is_skill_for(example, task) else ()
        brief = [_bare(rule) if rule.type in spared else in_brief(rule, defined) for rule in book.active]
        bare = RuleBook.of(map(_bare, brief))
        others = other_helpers(self._book, book)
        for rules in (brief, bare.active):
            text = self._tell([_without_references(rule) for rule in rules]) if rules else tell_rules(())
            text = tell_calls(text, others, defined)
            if self.rule_tokens is None or estimate_tokens(text) <= self.rule_tokens:
                return RuleBook.of((*book.active, *others)), text
        fewest = RuleBook.of(select_rules(bare, task, "", self.rule_tokens or 0))
        return fewest, tell_rules(fewest.active)

    def _helpers(self, book: RuleBook, skills: list[Skill]) -> str:
        if not self._defines:
            return ""
        return helper_code(helper_sources(book, skills), self.world, self.options).code


def found_type(knowledge: Knowledge, task: Task) -> Match | None:
    """Return the found type of a task that has no type of its own, or has a found one; None where none are found.

    The goal decides too where the params of a task with a found type lack a parameter, or have one in another form.
    """
    found = next((each for each in knowledge.found if each.name == task.type), None)
    if found and (params := parameter_values(found, task.params)) is not None:
        return Match(type=task.type, params=params)
    if not knowledge.found or (task.type and not found):
        return None
    matched = match(knowledge.found, task.goal)
    if matched.type and not is_doubtful(knowledge.found, matched):
        return matched
    offered = [each for each in knowledge.found if each.name in knowledge.procedures]
    return matched.model_copy(update={"candidates": candidates(offered, task.goal)})


def with_type(task: Task, matched: Match | None) -> Task:
    """Return a task with its found type and params; where none is certain, with one by its goal alone."""
    if matched is None:
        return task
    return task.model_copy(update={"type": matched.type or type_name(task.goal), "params": matched.params})


def _without_references(rule: Rule) -> Rule:
    return rule.model_copy(update={"builds_on": ()})


def _is_skill_for(example: Skill | Reflection | None, task: Task) -> bool:
    """Return whether code that solved a task of the same type is shown."""
    return isinstance(example, Skill) and example.task.type == task.type


def _in_short(example: Skill | Reflection | None, defined: Collection[str]) -> Skill | Reflection | None:
    """Return a skill without the functions that are defined beforehand."""
    if not isinstance(example, Skill):
        return example
    return example.model_copy(update={"code": without_defined(example.code, defined)})


def _bare(rule: Rule) -> Rule:
    return rule.model_copy(update={"example": ""})


# Ablations: knowledge with one part removed, to measure the value of that part (AutoManual, tables 3, 6 and 7)


ABLATIONS = frozenset({"cooperation", "examples", "formulation", "helpers", "libraries", "rules", "types"})
"""Parts that a memory can leave out; other names are ablations of other parts."""

RULES_NAMED = re.compile(r"^### Rules\n(?:(?!###).*\n)*", re.MULTILINE)
"""The segment of a reply in which the starting example names rules."""


def ablated(knowledge: Knowledge, without: Collection[str]) -> Knowledge:
    """Return the knowledge without the named parts.

    A manual goes too if it still tells what was removed from its rules.
    """
    rules: dict[str, Any] = {}
    if "examples" in without:
        rules["example"] = ""
    if "types" in without:
        rules["type"] = None
    kept = () if "rules" in without else tuple(rule.model_copy(update=rules) for rule in knowledge.rules)
    taken: dict[str, Any] = {"rules": kept}
    if kept != knowledge.rules or "rules" in without or "formulation" in without:
        taken["manual"] = ""
    if "libraries" in without:
        taken |= {"skills": {}, "reflections": {}}
    if {"rules", "cooperation"} & set(without):
        taken["example"] = RULES_NAMED.sub("", knowledge.example)
    return knowledge.model_copy(update=taken)
