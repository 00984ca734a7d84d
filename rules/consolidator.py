"""The Consolidator (AutoManual, section 3.3): merges and deletes rules when there are too many."""

from collections.abc import Mapping
from typing import Final

from planbook.planner import Scope, UnusableReply
from planbook.rules.asking import BuilderSettings, Editor
from planbook.rules.book import RuleBook
from planbook.rules.cases import CONSOLIDATOR
from planbook.rules.edits import RuleChange
from planbook.rules.evidence import Evidence
from planbook.rules.system import Trajectories
from planbook.rules.telling import PROMPTS
from planbook.sandbox import Sandbox

ROLE: Final = "consolidator"
ROUNDS = 4
"""Blocks of edits that the Consolidator may write before the next episode, so that it always ends."""


def consolidate(
    scope: Scope,
    sandbox: Sandbox,
    book: RuleBook,
    evidence: Mapping[str, Evidence],
    trajectories: Trajectories,
    settings: BuilderSettings,
) -> tuple[RuleBook, tuple[RuleChange, ...]]:
    """Reduce the rules towards ``max_rules``, as far as the Consolidator sees fit.

    ``evidence`` maps a rule's id to how often it was used. Unusable replies change nothing more. Raises ModelError,
    BudgetEnded.
    """
    changes: list[RuleChange] = []
    history = [settings.system_message("consolidator/system")]
    message, permissions = "", CONSOLIDATOR.within(settings.form)
    for left in range(ROUNDS, 0, -1):
        editor = Editor(sandbox, book, permissions, ROLE, scope.path, trajectories=trajectories, verify=settings.verify)
        known = {rule.id: evidence[rule.id] for rule in book.active if rule.id in evidence}
        try:
            answer = scope.ask(
                ROLE,
                PROMPTS["consolidator/rules"],
                read=editor.read,
                history=history,
                rules=book.active,
                max_rules=settings.max_rules,
                evidence=known,
                message=message,
                left=left,
            )
        except UnusableReply:
            break
        edited, history = answer.value, list(answer.history)
        if edited.change is not None and edited.change.touched:
            changes.append(edited.change)
            book = edited.change.on(book)
        if edited.stopped:
            break
        message = edited.message or "It printed nothing."
    return book, tuple(changes)
