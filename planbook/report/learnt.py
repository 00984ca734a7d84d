"""What a building run learnt, for the page: what it came to, and each step's changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from planbook.knowledge import EVERYTHING, KnowledgeState, learnt_in, with_manual
from planbook.report.markdown import as_html
from planbook.report.rulings import Ruling, rulings
from planbook.rules import Applied, History, Reflection, Skill, rule_text
from planbook.run import Run


@dataclass(frozen=True)
class Learnt:
    """What a group of tasks knows in the end; ``group`` is empty where there is only one.

    ``log`` has a line for each change of the rules, ``notes`` for each thing that learning could not use. Procedures,
    skills and reflections are by task type.
    """

    number: int
    group: str
    manual: Markup
    rules: Sequence[Ruling]
    log: Sequence[str]
    procedures: Mapping[str, str]
    skills: Mapping[str, Skill]
    reflections: Mapping[str, Reflection]
    notes: Sequence[str]

    @property
    def ids(self) -> set[str]:
        """Of every rule that the page shows."""
        return {each.rule.id for each in self.rules}

    @property
    def in_force(self) -> list[Ruling]:
        """The rules as they stand."""
        return [each for each in self.rules if each.in_force]

    @property
    def gone(self) -> list[Ruling]:
        """Those that were deleted."""
        return [each for each in self.rules if not each.in_force]


def learnt(run: Run) -> list[Learnt]:
    """What a run has learnt; nothing for a run that learns nothing."""
    if run.config.learning is None:
        return []
    return [_learnt(run, number, *found) for number, found in enumerate(learnt_in(run).items())]


def _learnt(run: Run, number: int, group: str, state: KnowledgeState) -> Learnt:
    knowledge = with_manual(run, group, state)
    return Learnt(
        number=number,
        group="" if group == EVERYTHING else group,
        manual=as_html(knowledge.manual),
        rules=rulings(state),
        log=state.history.log(),
        procedures={kind: each.code.rstrip() for kind, each in sorted(knowledge.procedures.items())},
        skills=dict(sorted(knowledge.skills.items())),
        reflections=dict(sorted(knowledge.reflections.items())),
        notes=state.notes,
    )


def step_text(scope: str, body: Mapping[str, Any]) -> str | None:
    """What one step changed of the rules, and what was known then; None for a body of another form."""
    if "history" not in body:
        return None
    state = KnowledgeState.model_validate(body)
    known = state.knowledge
    counted = (
        f"{len(known.rules)} rules, {len(known.skills)} skills, {len(known.reflections)} reflections, "
        f"{len(known.procedures)} procedures"
    )
    return "\n\n".join([*_changes(scope, state.history), counted])


def _changes(scope: str, history: History) -> list[str]:
    """The rules that a scope's own batches wrote, changed or deleted."""
    entries = [entry for entry in history.entries if isinstance(entry, Applied)]
    own = [entry.change for entry in entries if entry.change.batch.where.startswith(f"{scope}/")]
    return [
        rule_text(touched.after).rstrip() if touched.after else f"{touched.id} was deleted"
        for change in own
        for touched in change.touched
    ]
