"""Retrieval of rules, and of the most similar earlier task, with BM25."""

import re
from collections.abc import Sequence

from planbook.envs import BM25, Task
from planbook.planner import Conclusion, Outcome, Procedure, Trajectory, estimate_tokens
from planbook.rules.book import RuleBook, cites
from planbook.rules.types import HOW_TO_TYPES, Knowledge, Reflection, Rule, RuleType, Skill, citations

_WORD = re.compile(r"[a-z]{2,}")
_FUNCTION_WORDS = frozenset(
    "an and any are as at be by do for from if in into is it its no not of on or out so some such that the their them "
    "then there these they this those to up was when which will with you your".split()
)
"""Words that say nothing about the subject of a text."""
CLEAR_LEAD = 1.1
"""Factor by which a success process must fit a task better than the next best one to be selected alone."""
_SCORE_DIGITS = 6
"""Decimal places to which scores are rounded; ties are decided by the order of the texts."""


def words(text: str) -> list[str]:
    """Return the words to compare: names such as ``put_mug_1`` are split; numbers and function words are left out."""
    return [word for word in _WORD.findall(text.lower()) if word not in _FUNCTION_WORDS]


def scores(query: str, texts: Sequence[str]) -> list[float]:
    """Return the BM25 score of each text. Each word of the query counts once."""
    corpus, query_words = [words(text) for text in texts], sorted(set(words(query)))
    if not query_words or not any(corpus):
        return [0.0] * len(texts)
    return [round(score, _SCORE_DIGITS) for score in BM25(corpus).scores(query_words)]


def rules_for(book: RuleBook, task: Task, skill: Skill | None = None) -> tuple[Rule, ...]:
    """Return the rules that a planner needs for a task, in the order of their ids; ``skill`` is that of its type.

    If one success process clearly fits the task better than all others, these are this process, the rules that it names
    or builds on, and the rules on the environment and on errors that fit at least half as well; otherwise all rules.
    """
    fit = _fit(book, task, skill)
    processes = list(filter(_is_process, book.active))
    first, *others = sorted((fit[rule.id] for rule in processes), reverse=True) or [0.0]
    if first <= max([0.0, *others]) * CLEAR_LEAD:
        return book.active
    best = next(rule for rule in processes if fit[rule.id] == first)
    chosen = _with_cited(book, best)
    for rule in book.active:
        if rule.type not in HOW_TO_TYPES and fit[rule.id] * 2 >= first:
            chosen |= _with_cited(book, rule)
    return tuple(rule for rule in book.active if rule.id in chosen)


def other_helpers(book: RuleBook, chosen: RuleBook) -> tuple[Rule, ...]:
    """Return the helper methods that were not chosen for a task, since any task may need one."""
    return tuple(r for r in book.active if r.type is RuleType.USEFUL_HELPER_METHOD and r.id not in chosen.ids)


def _fit(book: RuleBook, task: Task, skill: Skill | None) -> dict[str, float]:
    """Return each rule's score, by id.

    It is its content's score for the goal, plus half its whole text's score for the skill's code.
    """
    query = f"{_query(task)} {skill.task.goal}" if skill else _query(task)
    by_words = scores(query, [rule.content for rule in book.active])
    by_code = scores(skill.code if skill else "", [_text_of(rule) for rule in book.active])
    return {id: words + code / 2 for id, words, code in zip(book.ids, by_words, by_code, strict=True)}


def select_rules(book: RuleBook, task: Task, token_budget: int) -> tuple[Rule, ...]:
    """Return the rules for a task in the order of their ids: all if they fit the budget, else the best matches.

    Rules are ranked by the task's goal and type. A rule comes with the rules that it names or builds on, and is left
    out if they do not fit the budget together.
    """
    texts = [_text_of(rule) for rule in book.active]
    if sum(map(estimate_tokens, texts)) <= token_budget:
        return book.active
    cost = {rule.id: estimate_tokens(text) for rule, text in zip(book.active, texts, strict=True)}
    chosen: set[str] = set()
    left = token_budget
    for _, rule in sorted(zip(scores(_query(task), texts), book.active, strict=True), key=lambda scored: -scored[0]):
        group = _with_cited(book, rule) - chosen
        needed = sum(cost[id] for id in group)
        if needed <= left:
            chosen |= group
            left -= needed
    return tuple(rule for rule in book.active if rule.id in chosen)


def most_similar(task: Task, tasks: Sequence[Task], *, allow_unrelated: bool = False) -> int | None:
    """Return the index of the most similar task: same type first, then by goal; None if none is similar.

    With ``allow_unrelated``, that is then the first task, which still shows how plans are written.
    """
    similarity = scores(_query(task), [_query(other) for other in tasks])
    similar = [n for n, other in enumerate(tasks) if allow_unrelated or other.type == task.type or similarity[n] > 0]
    return min(similar, key=lambda n: (tasks[n].type != task.type, -similarity[n], n), default=None)


def _query(task: Task) -> str:
    return f"{task.goal} {task.type}"


def _text_of(rule: Rule) -> str:
    """Return a rule as a planner sees it, without its validation log."""
    return "\n".join(filter(None, (rule.id, rule.type, rule.content, rule.example)))


def _with_cited(book: RuleBook, rule: Rule) -> set[str]:
    """Return the ids of a rule and of all rules that it names or builds on, directly or indirectly.

    Another success process is included only if a rule's content names it; that a rule builds on it is not enough.
    """
    rules = {each.id: each for each in book.active}
    group, todo = set[str](), [rule.id]
    while todo:
        id = todo.pop()
        if id in rules and id not in group:
            group.add(id)
            in_content = citations(rules[id].content)
            todo += [cited for cited in cites(rules[id]) if cited in in_content or not _is_process(rules.get(cited))]
    return group


def _is_process(rule: Rule | None) -> bool:
    return rule is not None and rule.type is RuleType.SUCCESS_PROCESS


# The skill and reflection libraries (AutoManual, section 3.2): the latest one for each task type


FAILED = frozenset({Outcome.FAILURE, Outcome.OUT_OF_BUDGET})
"""Unsolved outcomes that say something about the plan; the others do not."""


def learn(knowledge: Knowledge, trajectory: Trajectory, conclusion: Conclusion) -> Knowledge:
    """Return the knowledge with an episode's conclusion as the latest of its type; an empty one changes nothing."""
    task, outcome, scene = trajectory.task, trajectory.ending.outcome, first_observation(trajectory)
    if outcome.solved and conclusion.code.strip():
        skill = Skill(task=task, scene=scene, code=conclusion.code)
        return knowledge.model_copy(update={"skills": {**knowledge.skills, task.type: skill}})
    if outcome in FAILED and conclusion.text.strip():
        reflection = Reflection(task=task, scene=scene, text=conclusion.text)
        return knowledge.model_copy(update={"reflections": {**knowledge.reflections, task.type: reflection}})
    return knowledge


def first_observation(trajectory: Trajectory) -> str:
    """Return the first observation of an episode; empty if no round has begun."""
    return trajectory.rounds[0].observation if trajectory.rounds else ""


def admit(knowledge: Knowledge, procedure: Procedure | None) -> Knowledge:
    """Return the knowledge with a verified procedure for its type; None changes nothing."""
    if procedure is None:
        return knowledge
    return knowledge.model_copy(update={"procedures": {**knowledge.procedures, procedure.type: procedure}})


def precedent_for(knowledge: Knowledge, task: Task, *, allow_unrelated: bool = False) -> Skill | Reflection | None:
    """Return the skill of the task's type, else its reflection, else the most similar skill.

    ``allow_unrelated`` allows a skill whose task shares no word with this one.
    """
    if own := knowledge.skills.get(task.type) or knowledge.reflections.get(task.type):
        return own
    others = [knowledge.skills[kind] for kind in sorted(knowledge.skills)]
    closest = most_similar(task, [skill.task for skill in others], allow_unrelated=allow_unrelated)
    return None if closest is None else others[closest]
