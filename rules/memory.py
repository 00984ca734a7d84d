"""The memory of learned knowledge: it recalls for each task what the planner is shown."""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from pydantic import BaseModel

from planbook.envs import Environment, Task
from planbook.planner import Match, Recall, estimate_tokens
from planbook.rules.book import RuleBook
from planbook.rules.found_types import plain_type_name
from planbook.rules.helpers import helper_code, helper_sources
from planbook.rules.matching import candidates, is_doubtful, match, parameter_values
from planbook.rules.procedures import params_ignored, params_read
from planbook.rules.retrieval import other_helpers, precedent_for, rules_for, select_rules
from planbook.rules.telling import in_brief, tell_calls, tell_knowledge, tell_manual, tell_rules, without_defined
from planbook.rules.types import Knowledge, Reflection, Rule, RuleType, Skill
from planbook.sandbox import defined_names

RenderRules = Callable[[Sequence[Rule]], str]
"""Renders the rules chosen for a task."""


class LearnedMemory:
    """Recalls from one state of knowledge; the same task always gets the same recall. Thread-safe.

    ``without`` names ablations. With ``by_task``, a planner gets the rules that its task needs, rendered by ``tell``,
    and a line on how to call every other helper method. No code is shown twice: helper methods appear as signatures,
    since they are defined beforehand; the skill of the task's type replaces the starting example and the examples of
    success processes. ``rule_tokens`` limits the tokens of the rules: examples are cut first, then the rules that fit
    the task least. ``allow_unrelated`` shows a skill even if it is for an unrelated task.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        environment: type[Environment],
        options: BaseModel | None = None,
        *,
        without: Collection[str] = frozenset(),
        rule_tokens: int | None = None,
        by_task: bool = False,
        allow_unrelated: bool = False,
        tell: RenderRules = tell_rules,
    ) -> None:
        if knowledge.environment != environment.name:
            raise ValueError(f"knowledge learned in {knowledge.environment!r} cannot be used in {environment.name!r}")
        self.knowledge = ablated(knowledge, without)
        self.environment, self.options, self.rule_tokens = environment, options, rule_tokens
        self._by_task, self._tell = by_task or rule_tokens is not None, tell
        self._allow_unrelated = allow_unrelated
        self._defines_helpers = "helpers" not in without
        self._book = RuleBook.of(self.knowledge.rules)
        self._recalls: dict[tuple[str, str, str], Recall] = {}

    def recall(self, task: Task) -> Recall:
        """Return rules, the matching skill or reflection, helper methods, the starting example, and a procedure.

        If the knowledge has found types, a task without a type gets the one that its goal matches.
        """
        key = (task.id, task.type, task.goal)
        if key not in self._recalls:
            matched = found_type(self.knowledge, task)
            recall = self._recall(with_type(task, matched))
            if matched and recall.procedure and not _fits(recall.procedure.code, matched, self.knowledge):
                recall = recall.model_copy(update={"procedure": None})
            check = next((each.check for each in self.knowledge.found if matched and each.name == matched.type), "")
            self._recalls[key] = recall.model_copy(update={"match": matched, "check": check})
        return self._recalls[key]

    def _recall(self, task: Task) -> Recall:
        book, precedent = self._book, precedent_for(self.knowledge, task, allow_unrelated=self._allow_unrelated)
        helpers = self._helpers(book, [precedent] if isinstance(precedent, Skill) else [])
        rules, example = "" if self._by_task else tell_manual(self.knowledge), self.knowledge.example
        if self._by_task:
            defined = defined_names(helpers)
            example = "" if _is_skill_for(precedent, task) else example
            fitting = RuleBook.of(rules_for(book, task, self.knowledge.skills.get(task.type)))
            book, rules = self._tell_by_task(task, fitting, defined, precedent)
            if isinstance(precedent, Skill):
                precedent = precedent.model_copy(update={"code": without_defined(precedent.code, defined)})
        return Recall(
            text=tell_knowledge(task, rules, precedent),
            example=example,
            helpers=helpers,
            rule_ids=book.ids,
            procedure=self.knowledge.procedures.get(task.type),
        )

    def _tell_by_task(
        self, task: Task, book: RuleBook, defined: Collection[str], precedent: Skill | Reflection | None
    ) -> tuple[RuleBook, str]:
        """Return the rules that are shown, and their text; code that a skill shows is not repeated."""
        without_example = (RuleType.SUCCESS_PROCESS,) if _is_skill_for(precedent, task) else ()
        brief = [
            _drop_example(rule) if rule.type in without_example else in_brief(rule, defined) for rule in book.active
        ]
        bare = RuleBook.of(map(_drop_example, brief))
        others = other_helpers(self._book, book)
        for rules in (brief, bare.active):
            text = (
                self._tell([rule.model_copy(update={"builds_on": ()}) for rule in rules]) if rules else tell_rules(())
            )
            text = tell_calls(text, others, defined)
            if self.rule_tokens is None or estimate_tokens(text) <= self.rule_tokens:
                return RuleBook.of((*book.active, *others)), text
        fewest = RuleBook.of(select_rules(bare, task, self.rule_tokens or 0))
        return fewest, tell_rules(fewest.active)

    def _helpers(self, book: RuleBook, skills: list[Skill]) -> str:
        if not self._defines_helpers:
            return ""
        return helper_code(helper_sources(book, skills), self.environment, self.options)


def found_type(knowledge: Knowledge, task: Task) -> Match | None:
    """Return the match of a task with the found types; None if the task has another type, or no types were found.

    If a task already has a found type, its goal is matched only if its params are incomplete or have the wrong form.
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


def _fits(code: str, matched: Match, knowledge: Knowledge) -> bool:
    """Return True if a procedure reads only params of the match, and ignores none that has a new value.

    A constant of the plans that never varied is a parameter of a new type, and procedures may still contain it.
    """
    examples = [example.params for found in knowledge.found if found.name == matched.type for example in found.examples]
    new = {name for name, value in matched.params.items() if all(each.get(name) != value for each in examples)}
    return set(params_read(code)) <= matched.params.keys() and not params_ignored(code, new)


def with_type(task: Task, matched: Match | None) -> Task:
    """Return the task with its found type and params; without a certain type, with one named after its goal."""
    if matched is None:
        return task
    return task.model_copy(update={"type": matched.type or plain_type_name(task.goal), "params": matched.params})


def _is_skill_for(precedent: Skill | Reflection | None, task: Task) -> bool:
    return isinstance(precedent, Skill) and precedent.task.type == task.type


def _drop_example(rule: Rule) -> Rule:
    return rule.model_copy(update={"example": ""})


# Ablations: knowledge without one part, to measure the value of that part (AutoManual, tables 3, 6 and 7)


ABLATIONS = frozenset({"cooperation", "examples", "formulation", "helpers", "libraries", "rules", "types"})
"""The ablations of a memory; ``without`` may also name those of other stages."""

RULES_PART = re.compile(r"^### Rules\n(?:(?!###).*\n)*", re.MULTILINE)
"""The part of the starting example's replies that names rules."""


def ablated(knowledge: Knowledge, without: Collection[str]) -> Knowledge:
    """Return the knowledge without the named parts.

    The manual is dropped as well if it may contain what was removed from the rules.
    """
    fields: dict[str, Any] = {}
    if "examples" in without:
        fields["example"] = ""
    if "types" in without:
        fields["type"] = None
    rules = () if "rules" in without else tuple(rule.model_copy(update=fields) for rule in knowledge.rules)
    update: dict[str, Any] = {"rules": rules}
    if rules != knowledge.rules or "rules" in without or "formulation" in without:
        update["manual"] = ""
    if "libraries" in without:
        update |= {"skills": {}, "reflections": {}}
    if {"rules", "cooperation"} & set(without):
        update["example"] = RULES_PART.sub("", knowledge.example)
    return knowledge.model_copy(update=update)
