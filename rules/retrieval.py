"""Select the rules and the earlier task that fit a new task.

Texts are compared by their words, with the BM25 score. A success process is a rule that tells how tasks of one kind are
done. A skill is the code that solved an earlier task; a reflection explains why an earlier task failed.
"""

from planbook.envs import Task
from planbook.planner import estimate_tokens
from planbook.rules.book import RuleBook, cited_ids
from planbook.rules.goal_words import scores
from planbook.rules.types import HOW_TO_TYPES, Knowledge, Reflection, Rule, RuleType, Skill, citations

CLEAR_LEAD = 1.1
"""A success process clearly fits best if its score is more than this many times the second-best score."""


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


# Skills and reflections (AutoManual, section 3.2). Only the latest one is kept for each task type.


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
