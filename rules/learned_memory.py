"""The memory of learned knowledge: for each task, it recalls what the planner is shown.

A success process is a rule that says how tasks of one kind are done. A skill is the code that solved an earlier task; a
reflection explains why an earlier task failed. The precedent of a task is the one skill or reflection that is shown.
"""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from pydantic import BaseModel

from planbook.envs import Environment, Task
from planbook.planner import Match, Recall, estimate_tokens
from planbook.rules.book import RuleBook, cited_ids
from planbook.rules.found_types import type_name_from_goal
from planbook.rules.goal_words import scores
from planbook.rules.helper_methods import helper_code, helper_sources
from planbook.rules.matching import candidates, is_doubtful, match, parameter_values
from planbook.rules.procedures import params_ignored, params_read
from planbook.rules.rendering import (
    remove_predefined,
    render_calls,
    render_knowledge,
    render_manual,
    render_rules,
    shorten_helper,
)
from planbook.rules.types import HOW_TO_TYPES, Knowledge, Reflection, Rule, RuleType, Skill, citations
from planbook.sandbox import defined_names


class LearnedMemory:
    """Recalls parts of fixed knowledge, so the same task always gets the same recall. Thread-safe.

    ``ablations`` names the parts of the knowledge to leave out. Without ``by_task``, a planner is shown the manual, or
    all rules if there is none. With ``by_task``, it is shown only the rules that its task needs, rendered by
    ``render``, and, for every other helper method, a line that shows how to call it. In this mode, no code is shown
    twice: helper methods are shown as signatures, because plans can call them without defining them. A skill of the
    task's type is shown instead of the starting example and the examples of success processes.

    ``rule_tokens`` limits the length of the rules, and implies ``by_task``. If the rules are too long, first their
    examples are dropped, then the rules that fit the task least. With ``allow_unrelated``, a skill is shown even if its
    task has no word in common with the new task. With ``skill_helpers``, plans can call the functions of the shown
    skill, as well as the helper methods in rules.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        environment: type[Environment],
        options: BaseModel | None = None,
        *,
        ablations: Collection[str] = frozenset(),
        rule_tokens: int | None = None,
        by_task: bool = False,
        allow_unrelated: bool = False,
        skill_helpers: bool = True,
        render: Callable[[Sequence[Rule]], str] = render_rules,
    ) -> None:
        if knowledge.environment != environment.name:
            raise ValueError(f"knowledge learned in {knowledge.environment!r} cannot be used in {environment.name!r}")
        self.knowledge = ablated(knowledge, ablations)
        self.environment, self.options, self.rule_tokens = environment, options, rule_tokens
        self._by_task, self._render = by_task or rule_tokens is not None, render
        self._allow_unrelated, self._skill_helpers = allow_unrelated, skill_helpers
        self._defines_helpers = "helpers" not in ablations
        self._book = RuleBook.from_rules(self.knowledge.rules)
        self._recall_cache: dict[tuple[str, str, str], Recall] = {}
        self._helper_cache: dict[tuple[str, ...], tuple[str, list[str]]] = {}
        """Maps the sources of helpers to the helpers' code and the names that it defines."""

    def recall(self, task: Task) -> Recall:
        """Return what a planner gets for a task.

        It consists of the rules, the most similar skill or reflection, the helper methods, the starting example, and
        the procedure for the task's type. If the knowledge has found types (task types that planbook found by itself),
        a task without a type is treated as one of the type that its goal matches.
        """
        key = (task.id, task.type, task.goal)
        if key not in self._recall_cache:
            matched = match_found_type(self.knowledge, task)
            recall = self._recall(with_type(task, matched))
            if matched and recall.procedure and not _fits_match(recall.procedure.code, matched, self.knowledge):
                recall = recall.model_copy(update={"procedure": None})
            check = next((each.check for each in self.knowledge.found if matched and each.name == matched.type), "")
            self._recall_cache[key] = recall.model_copy(update={"match": matched, "check": check})
        return self._recall_cache[key]

    def _recall(self, task: Task) -> Recall:
        book, precedent = self._book, precedent_for(self.knowledge, task, allow_unrelated=self._allow_unrelated)
        skills = [precedent] if isinstance(precedent, Skill) and self._skill_helpers else []
        sources = tuple(helper_sources(book, skills)) if self._defines_helpers else ()
        if sources not in self._helper_cache:  # tasks with the same precedent have the same helpers
            code = helper_code(sources, self.environment, self.options)
            self._helper_cache[sources] = code, defined_names(code)
        helpers, predefined = self._helper_cache[sources]
        rules_text = "" if self._by_task else render_manual(self.knowledge)
        example = self.knowledge.example
        if self._by_task:
            example = "" if _is_skill_for(precedent, task) else example
            relevant = RuleBook.from_rules(rules_for(book, task, self.knowledge.skills.get(task.type)))
            book, rules_text = self._render_by_task(task, relevant, predefined, precedent)
            if isinstance(precedent, Skill):
                precedent = precedent.model_copy(update={"code": remove_predefined(precedent.code, predefined)})
        return Recall(
            text=render_knowledge(task, rules_text, precedent),
            example=example,
            helpers=helpers,
            rule_ids=book.ids,
            procedure=self.knowledge.procedures.get(task.type),
        )

    def _render_by_task(
        self, task: Task, book: RuleBook, predefined: Collection[str], precedent: Skill | Reflection | None
    ) -> tuple[RuleBook, str]:
        """Return the rules to show, and their text.

        The text contains no function whose name is ``predefined`` for plans. It contains no example of a success
        process if ``precedent`` is a skill of the task's type.
        """
        covered_types = (RuleType.SUCCESS_PROCESS,) if _is_skill_for(precedent, task) else ()
        shortened_rules = [
            _drop_example(rule) if rule.type in covered_types else shorten_helper(rule, predefined)
            for rule in book.active
        ]
        without_examples = RuleBook.from_rules(map(_drop_example, shortened_rules))
        helpers = other_helpers(self._book, book)
        for rules in (shortened_rules, without_examples.active):
            shown = [rule.model_copy(update={"builds_on": ()}) for rule in rules]
            text = self._render(shown) if shown else render_rules(())
            text = render_calls(text, helpers, predefined)
            if self.rule_tokens is None or estimate_tokens(text) <= self.rule_tokens:
                return RuleBook.from_rules((*book.active, *helpers)), text
        selected = RuleBook.from_rules(select_rules(without_examples, task, self.rule_tokens or 0))
        return selected, render_rules(selected.active)


def match_found_type(knowledge: Knowledge, task: Task) -> Match | None:
    """Match a task with the found types. Return None if there are none, or if the task has some other type.

    If the task already has a found type and valid params, they are the match. Otherwise, its goal is matched. If this
    gives no type or doubtful params, the match also lists candidates: found types with a procedure.
    """
    found_type = next((each for each in knowledge.found if each.name == task.type), None)
    if found_type and (params := parameter_values(found_type, task.params)) is not None:
        return Match(type=task.type, params=params)
    if not knowledge.found or (task.type and not found_type):
        return None
    matched = match(knowledge.found, task.goal)
    if matched.type and not is_doubtful(knowledge.found, matched):
        return matched
    with_procedure = [each for each in knowledge.found if each.name in knowledge.procedures]
    return matched.model_copy(update={"candidates": candidates(with_procedure, task.goal)})


def _fits_match(code: str, matched: Match, knowledge: Knowledge) -> bool:
    """Return True if a procedure can be used for a match.

    The match must have every param that the procedure reads. The procedure must read every param whose value is in no
    example: a procedure that ignores a param may contain an example's value as a constant instead.
    """
    types = (each for each in knowledge.found if each.name == matched.type)
    examples = [example.params for found_type in types for example in found_type.examples]
    new_names = {name for name, value in matched.params.items() if all(each.get(name) != value for each in examples)}
    return set(params_read(code)) <= matched.params.keys() and not params_ignored(code, new_names)


def with_type(task: Task, matched: Match | None) -> Task:
    """Return the task with the type and params of its match.

    If the match has no type, the type is named after the first words of the goal. Without a match, the task is
    returned unchanged.
    """
    if matched is None:
        return task
    return task.model_copy(update={"type": matched.type or type_name_from_goal(task.goal), "params": matched.params})


def _is_skill_for(precedent: Skill | Reflection | None, task: Task) -> bool:
    return isinstance(precedent, Skill) and precedent.task.type == task.type


def _drop_example(rule: Rule) -> Rule:
    return rule.model_copy(update={"example": ""})


# Ablations leave out one part of the knowledge, to measure its value (AutoManual, tables 3, 6 and 7).


RULES_PART = re.compile(r"^### Rules\n(?:(?!###).*\n)*", re.MULTILINE)
"""Matches the section of the starting example that names rules, up to the next heading."""


def ablated(knowledge: Knowledge, ablations: Collection[str]) -> Knowledge:
    """Return the knowledge without the parts that the ablations name.

    Ablations that affect only the Builder are ignored. If an ablation removes something from the rules, the manual is
    removed, too, since it may contain the same text.
    """
    fields: dict[str, Any] = {}
    if "examples" in ablations:
        fields["example"] = ""
    if "types" in ablations:
        fields["type"] = None
    rules = () if "rules" in ablations else tuple(rule.model_copy(update=fields) for rule in knowledge.rules)
    update: dict[str, Any] = {"rules": rules}
    if rules != knowledge.rules or "rules" in ablations or "formulation" in ablations:
        update["manual"] = ""
    if "libraries" in ablations:
        update |= {"skills": {}, "reflections": {}}
    if {"rules", "cooperation"} & set(ablations):
        update["example"] = RULES_PART.sub("", knowledge.example)
    return knowledge.model_copy(update=update)


# Select rules and an earlier task. Texts are compared by their words, with the BM25 score.

CLEAR_LEAD = 1.1
"""A success process clearly fits best if its score is more than this many times the second-best score."""


def rules_for(book: RuleBook, task: Task, skill: Skill | None = None) -> tuple[Rule, ...]:
    """Return the rules that a planner needs for a task, in the order of their ids.

    ``skill`` is the skill for the task's type, if there is one. If one success process clearly fits the task best, the
    result is this process, all rules about the environment or errors that have at least half its score, and the rules
    that these name or build on. If no success process clearly fits best, all rules are returned.
    """
    rule_scores = _rule_scores(book, task, skill)
    processes = list(filter(_is_process, book.active))
    best_score, *other_scores = sorted((rule_scores[rule.id] for rule in processes), reverse=True) or [0.0]
    if best_score <= max([0.0, *other_scores]) * CLEAR_LEAD:
        return book.active
    best = next(rule for rule in processes if rule_scores[rule.id] == best_score)
    chosen = _citation_closure(book, best)
    for rule in book.active:
        if rule.type not in HOW_TO_TYPES and rule_scores[rule.id] * 2 >= best_score:
            chosen |= _citation_closure(book, rule)
    return tuple(rule for rule in book.active if rule.id in chosen)


def other_helpers(book: RuleBook, chosen: RuleBook) -> tuple[Rule, ...]:
    """Return the helper methods of ``book`` that are not among the chosen rules. Any task may need them."""
    return tuple(r for r in book.active if r.type is RuleType.USEFUL_HELPER_METHOD and r.id not in chosen.ids)


def _rule_scores(book: RuleBook, task: Task, skill: Skill | None) -> dict[str, float]:
    """Return a dict that maps the id of each rule to the sum of two scores.

    One compares the rule's content with the goal and type of the task, and with the goal of the skill. The other, which
    is halved, compares the whole text of the rule with the code of the skill.
    """
    query = f"{_query(task)} {skill.task.goal}" if skill else _query(task)
    by_words = scores(query, [rule.content for rule in book.active])
    by_code = scores(skill.code if skill else "", [_text_of_rule(rule) for rule in book.active])
    return {id: words + code / 2 for id, words, code in zip(book.ids, by_words, by_code, strict=True)}


def select_rules(book: RuleBook, task: Task, token_budget: int) -> tuple[Rule, ...]:
    """Return as many rules for a task as fit into a budget of tokens, in the order of their ids.

    If not all rules fit, those that match the task's goal and type best are chosen first. A rule is chosen together
    with all rules that it names or builds on, or not at all.
    """
    texts = [_text_of_rule(rule) for rule in book.active]
    if sum(map(estimate_tokens, texts)) <= token_budget:
        return book.active
    cost = {rule.id: estimate_tokens(text) for rule, text in zip(book.active, texts, strict=True)}
    chosen: set[str] = set()
    tokens_left = token_budget
    for _, rule in sorted(zip(scores(_query(task), texts), book.active, strict=True), key=lambda scored: -scored[0]):
        group = _citation_closure(book, rule) - chosen
        needed = sum(cost[id] for id in group)
        if needed <= tokens_left:
            chosen |= group
            tokens_left -= needed
    return tuple(rule for rule in book.active if rule.id in chosen)


def _query(task: Task) -> str:
    return f"{task.goal} {task.type}"


def _text_of_rule(rule: Rule) -> str:
    """Return the text of a rule without its validation log, which planners do not see."""
    return "\n".join(filter(None, (rule.id, rule.type, rule.content, rule.example)))


def _citation_closure(book: RuleBook, rule: Rule) -> set[str]:
    """Return the ids of a rule and of all rules that it names or builds on, directly or indirectly.

    Another success process is included only if the content of one of these rules names it, not if one merely builds on
    it or names it in its example.
    """
    rules = {rule.id: rule for rule in book.active}
    group, todo = set[str](), [rule.id]
    while todo:
        id = todo.pop()
        if id in rules and id not in group:
            group.add(id)
            named = citations(rules[id].content)
            todo += [cited for cited in cited_ids(rules[id]) if cited in named or not _is_process(rules.get(cited))]
    return group


def _is_process(rule: Rule | None) -> bool:
    return rule is not None and rule.type is RuleType.SUCCESS_PROCESS


# Skills and reflections (AutoManual, section 3.2). Only the latest one is kept for each task type.


def precedent_for(knowledge: Knowledge, task: Task, *, allow_unrelated: bool = False) -> Skill | Reflection | None:
    """Return the skill for the task's type, or else the reflection for the type, or else the most similar skill.

    The most similar skill is returned only if its task has a word in common with the new task. With
    ``allow_unrelated``, it is always returned, because it still shows how plans are written.
    """
    if same_type := knowledge.skills.get(task.type) or knowledge.reflections.get(task.type):
        return same_type
    others = [knowledge.skills[task_type] for task_type in sorted(knowledge.skills)]
    similarity = scores(_query(task), [_query(skill.task) for skill in others])
    best = max(similarity, default=0)
    return others[similarity.index(best)] if others and (allow_unrelated or best > 0) else None
