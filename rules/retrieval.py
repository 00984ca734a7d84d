"""Select the rules and the earlier task that fit a new task, and render them for prompts.

Texts are compared by their words, with the BM25 score. A success process is a rule that tells how tasks of one kind are
done. A skill is the code that solved an earlier task; a reflection explains why an earlier task failed.
"""

import ast
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from textwrap import dedent

from pydantic import BaseModel

from planbook.envs import BM25, Environment, Task
from planbook.planner import (
    Conclusion,
    Outcome,
    Procedure,
    Prompts,
    RenderedText,
    Trajectory,
    action_docs,
    estimate_tokens,
    fence_around,
    function_heads,
    function_signatures,
    prompt_block,
)
from planbook.rules.book import RuleBook, cited_ids
from planbook.rules.types import HOW_TO_TYPES, Knowledge, Reflection, Rule, RuleType, Skill, citations, rule_number
from planbook.sandbox import bound_names, parse_source

_WORD = re.compile(r"[a-z]{2,}")
_FUNCTION_WORDS = frozenset(
    "an and any are as at be by do for from if in into is it its no not of on or out so some such that the their them "
    "then there these they this those to up was when which will with you your".split()
)
"""Words that say nothing about the subject of a text, so they are not compared."""
CLEAR_LEAD = 1.1
"""A success process clearly fits best if its score is more than this many times the second-best score."""
_SCORE_DIGITS = 6
"""Number of decimal places to which scores are rounded. Texts with equal scores keep their order."""


def words(text: str) -> list[str]:
    """Return those words of a text that are used to compare texts. A name such as ``put_mug_1`` is split into words.

    Numbers, single letters, and function words such as ``the`` are left out.
    """
    return [word for word in _WORD.findall(text.lower()) if word not in _FUNCTION_WORDS]


def scores(query: str, texts: Sequence[str]) -> list[float]:
    """Return the BM25 score of each text for a query. A word that the query repeats counts only once."""
    corpus, query_words = [words(text) for text in texts], sorted(set(words(query)))
    if not query_words or not any(corpus):
        return [0.0] * len(texts)
    return [round(score, _SCORE_DIGITS) for score in BM25(corpus).scores(query_words)]


def rules_for(book: RuleBook, task: Task, skill: Skill | None = None) -> tuple[Rule, ...]:
    """Return the rules that a planner needs for a task, in the order of their ids.

    ``skill`` is the skill for the task's type, if there is one. If one success process clearly fits the task best, the
    result is this process, and all rules about the environment or about errors that have at least half its score. The
    rules that these name or build on are added. If no success process clearly fits best, all rules are returned.
    """
    rule_scores = _rule_scores(book, task, skill)
    processes = list(filter(_is_process, book.active))
    first, *others = sorted((rule_scores[rule.id] for rule in processes), reverse=True) or [0.0]
    if first <= max([0.0, *others]) * CLEAR_LEAD:
        return book.active
    best = next(rule for rule in processes if rule_scores[rule.id] == first)
    chosen = _with_cited(book, best)
    for rule in book.active:
        if rule.type not in HOW_TO_TYPES and rule_scores[rule.id] * 2 >= first:
            chosen |= _with_cited(book, rule)
    return tuple(rule for rule in book.active if rule.id in chosen)


def other_helpers(book: RuleBook, chosen: RuleBook) -> tuple[Rule, ...]:
    """Return the helper methods of ``book`` that are not among the chosen rules. Any task may need them."""
    return tuple(r for r in book.active if r.type is RuleType.USEFUL_HELPER_METHOD and r.id not in chosen.ids)


def _rule_scores(book: RuleBook, task: Task, skill: Skill | None) -> dict[str, float]:
    """Return a dict that maps the id of each rule to the sum of two scores.

    One tells how well the rule's content fits the goal and type of the task, and the goal of the skill. The other,
    which is halved, tells how well the whole text of the rule fits the code of the skill.
    """
    query = f"{_query(task)} {skill.task.goal}" if skill else _query(task)
    by_words = scores(query, [rule.content for rule in book.active])
    by_code = scores(skill.code if skill else "", [_text_of(rule) for rule in book.active])
    return {id: words + code / 2 for id, words, code in zip(book.ids, by_words, by_code, strict=True)}


def select_rules(book: RuleBook, task: Task, token_budget: int) -> tuple[Rule, ...]:
    """Return as many rules for a task as fit into a budget of tokens, in the order of their ids.

    If not all rules fit, those that match the task's goal and type best are chosen first. A rule is chosen together
    with all rules that it names or builds on; if these do not fit into the budget together, the rule is left out.
    """
    texts = [_text_of(rule) for rule in book.active]
    if sum(map(estimate_tokens, texts)) <= token_budget:
        return book.active
    cost = {rule.id: estimate_tokens(text) for rule, text in zip(book.active, texts, strict=True)}
    chosen: set[str] = set()
    tokens_left = token_budget
    for _, rule in sorted(zip(scores(_query(task), texts), book.active, strict=True), key=lambda scored: -scored[0]):
        group = _with_cited(book, rule) - chosen
        needed = sum(cost[id] for id in group)
        if needed <= tokens_left:
            chosen |= group
            tokens_left -= needed
    return tuple(rule for rule in book.active if rule.id in chosen)


def _query(task: Task) -> str:
    return f"{task.goal} {task.type}"


def _text_of(rule: Rule) -> str:
    """Return the text of a rule without its validation log, which planners do not see."""
    return "\n".join(filter(None, (rule.id, rule.type, rule.content, rule.example)))


def _with_cited(book: RuleBook, rule: Rule) -> set[str]:
    """Return the ids of a rule and of all rules that it names or builds on, directly or indirectly.

    Another success process is included only if the content of one of these rules names it, not if a rule just builds on
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


# The skills and reflections (AutoManual, section 3.2). Only the latest one is kept for each task type.


FAILED = frozenset({Outcome.FAILURE, Outcome.OUT_OF_BUDGET})
"""Outcomes for which the plan may be to blame. Other outcomes of unsolved tasks say nothing about the plan."""


def with_conclusion(knowledge: Knowledge, trajectory: Trajectory, conclusion: Conclusion) -> Knowledge:
    """Return the knowledge with the conclusion of an episode, which replaces earlier ones for the same task type.

    If the task was solved, the conclusion's code becomes the skill for its type. If the task failed, the conclusion's
    text becomes the reflection. An empty conclusion changes nothing.
    """
    task, outcome, scene = trajectory.task, trajectory.ending.outcome, first_observation(trajectory)
    if outcome.solved and conclusion.code.strip():
        skill = Skill(task=task, scene=scene, code=conclusion.code)
        return knowledge.model_copy(update={"skills": {**knowledge.skills, task.type: skill}})
    if outcome in FAILED and conclusion.text.strip():
        reflection = Reflection(task=task, scene=scene, text=conclusion.text)
        return knowledge.model_copy(update={"reflections": {**knowledge.reflections, task.type: reflection}})
    return knowledge


def first_observation(trajectory: Trajectory) -> str:
    """Return the first observation of an episode, or "" if it ended before its first one."""
    return trajectory.rounds[0].observation if trajectory.rounds else ""


def with_procedure(knowledge: Knowledge, procedure: Procedure | None) -> Knowledge:
    """Return the knowledge with a procedure added, or the same knowledge if the procedure is None.

    The procedure replaces an earlier one for the same task type.
    """
    if procedure is None:
        return knowledge
    return knowledge.model_copy(update={"procedures": {**knowledge.procedures, procedure.type: procedure}})


def precedent_for(knowledge: Knowledge, task: Task, *, allow_unrelated: bool = False) -> Skill | Reflection | None:
    """Return the skill for the task's type, or else the reflection for the type, or else the most similar skill.

    The most similar skill is returned only if its task has a word in common with the new task. With
    ``allow_unrelated``, it is always returned, because it still shows how plans are written.
    """
    if own := knowledge.skills.get(task.type) or knowledge.reflections.get(task.type):
        return own
    others = [knowledge.skills[kind] for kind in sorted(knowledge.skills)]
    similarity = scores(_query(task), [_query(skill.task) for skill in others])
    best = max(similarity, default=0)
    return others[similarity.index(best)] if others and (allow_unrelated or best > 0) else None


# Rendering for prompts


PROMPTS = Prompts(Path(__file__).parent / "templates")
"""The prompt templates of this package. A template is named by its path in the folder ``templates``."""
_CODE_BLOCK = re.compile(r"^(`{3,}).*?^\1$", re.DOTALL | re.MULTILINE)
"""Matches a fenced block of code in a manual."""


def render_rules(rules: Iterable[Rule]) -> str:
    """Return the text of rules, in the order of their ids. Each has its type, content and example, but not its log."""
    ordered = sorted(rules, key=lambda rule: rule_number(rule.id))
    shown = [rule.model_dump(include={"id", "type", "content", "example"}) for rule in ordered]
    fence = fence_around(*(rule["example"] for rule in shown))
    return PROMPTS["rules"].render(rules=shown, fence=fence)


def render_knowledge(task: Task, rules: str, precedent: Skill | Reflection | None) -> str:
    """Return the text that a planner is shown before a task: the rules, then the skill or the reflection, if any."""
    skill = precedent if isinstance(precedent, Skill) else None
    reflection = precedent if isinstance(precedent, Reflection) else None
    return PROMPTS["known"].render(
        rules=rules,
        skill=skill,
        reflection=reflection,
        same_type=precedent is not None and precedent.task.type == task.type,
        fence=fence_around(precedent.scene if precedent else "", skill.code if skill else ""),
    )


def render_manual(knowledge: Knowledge) -> str:
    """Return the manual, or a list of the rules if no manual was written."""
    return mark_optional_code(knowledge.manual.strip()) or render_rules(knowledge.rules)


def mark_optional_code(manual: str) -> str:
    """Return the manual with its code marked as blocks that may be left out if a prompt is too long."""
    return _CODE_BLOCK.sub(lambda code: prompt_block(code[0], "example of a rule"), manual)


def shorten_helper(rule: Rule, defined: Collection[str]) -> Rule:
    """Return a helper method without the bodies of its functions, if plans can call all of them anyway.

    ``defined`` holds the names that plans can use without defining them. If one of the helper's names is not in it, or
    the rule is not a helper method, the rule is returned unchanged.
    """
    code = dedent(rule.example)
    names = bound_names(code)  # empty if the example is not code
    if rule.type is not RuleType.USEFUL_HELPER_METHOD or not names or not names <= set(defined):
        return rule
    return rule.model_copy(update={"example": function_heads(code)})


def render_calls(rules_text: str, helpers: Iterable[Rule], defined: Collection[str]) -> str:
    """Return the text of some rules, followed by lines that show how to call the functions of ``helpers``.

    ``helpers`` are helper methods that the text does not contain. The line of each has its id, and the signatures of
    those of its functions that are ``defined`` for plans.
    """
    codes = ((rule.id, dedent(rule.example)) for rule in helpers)
    calls = {
        id: functions for id, code in codes if bound_names(code) and (functions := function_signatures(code, defined))
    }
    return PROMPTS["calls"].render(rules=rules_text, calls=calls) if calls else rules_text


def remove_defined(code: str, defined: Collection[str]) -> str:
    """Return the code without the functions and classes that are already ``defined`` for plans."""
    if bound_names(code).isdisjoint(defined):  # also true if the code cannot be parsed
        return code.strip("\n")
    lines = code.split("\n")
    for node in reversed(parse_source(code).body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in defined:
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines).strip("\n")


def render_environment(environment: type[Environment], options: BaseModel | None = None) -> str:
    """Return a description of an environment and of the functions that plans can call there."""
    return PROMPTS["environment"].render(about=environment.about, action_docs=action_docs(environment, options))


def shortened(text: str, limit: int) -> str:
    """Return the text, cut to about ``limit`` characters if it is longer.

    A third of these characters is from the beginning of the text, two thirds are from its end.
    """
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 3], text[-(limit - limit // 3) :]
    short = f"{head}\n[... {len(text) - limit} characters left out ...]\n{tail}"
    return RenderedText.known(short, text.data_digest) if isinstance(text, RenderedText) else short
