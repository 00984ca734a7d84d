"""What was learnt, as a planner is told it."""

from collections.abc import Collection

from pydantic import BaseModel

from envs import Environment, Task
from planner import Recall
from rules.ablations import ablated
from rules.book import RuleBook
from rules.helpers import helper_code, helper_sources
from rules.libraries import shown
from rules.retrieval import select_rules
from rules.telling import tell_knowledge, tell_manual, tell_rules
from rules.types import Knowledge, Skill


class LearntMemory:
    """Answers for one state of knowledge; the same task is always told the same.

    ``without`` names ablations (``rules.ablations``). ``rule_tokens``, if given, is how many tokens the rules may have:
    they are then a list of those that fit the task, and no manual. May be asked from several threads at once.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        world: type[Environment],
        options: BaseModel | None = None,
        *,
        without: Collection[str] = frozenset(),
        rule_tokens: int | None = None,
    ) -> None:
        if knowledge.world != world.name:
            raise ValueError(f"what was learnt in world {knowledge.world!r} cannot be told in {world.name!r}")
        self.knowledge = ablated(knowledge, without)
        self.world, self.options, self.rule_tokens = world, options, rule_tokens
        self._defines = "helpers" not in without
        self._book = RuleBook.of(self.knowledge.rules)
        self._recalls: dict[str, Recall] = {}

    def recall(self, task: Task) -> Recall:
        """Rules, then the skill or reflection that fits; helper methods, the start's example, and a procedure."""
        if task.id not in self._recalls:
            self._recalls[task.id] = self._recall(task)
        return self._recalls[task.id]

    def _recall(self, task: Task) -> Recall:
        book, example = self._chosen(task), shown(self.knowledge, task)
        rules = tell_manual(self.knowledge) if self.rule_tokens is None else tell_rules(book.active)
        return Recall(
            text=tell_knowledge(task, rules, example),
            example=self.knowledge.example,
            helpers=self._helpers(book, [example] if isinstance(example, Skill) else []),
            rule_ids=book.ids,
            procedure=self.knowledge.procedures.get(task.type),
        )

    def _chosen(self, task: Task) -> RuleBook:
        """The rules to tell; a planner's first look at the scene comes after this, so it has no say."""
        if self.rule_tokens is None:
            return self._book
        return RuleBook.of(select_rules(self._book, task, "", self.rule_tokens))

    def _helpers(self, book: RuleBook, skills: list[Skill]) -> str:
        if not self._defines:
            return ""
        return helper_code(helper_sources(book, skills), self.world, self.options).code
