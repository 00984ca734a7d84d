"""What a building run learnt, for the page: each step's changes, and what it came to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planbook.learning.state import EVERYTHING, State, learnt_in, with_manual
from planbook.run import Run
from rules import Applied, History, count, rule_text
from rules.evidence import table


@dataclass(frozen=True)
class LearntText:
    """What a group of tasks knows in the end, as texts by name; ``group`` is empty where there is only one."""

    group: str
    parts: Mapping[str, str]


def learnt_texts(run: Run) -> list[LearntText]:
    """What a run has learnt; nothing for a run that learns nothing."""
    if run.config.learning is None:
        return []
    return [
        LearntText(
            "" if group == EVERYTHING else group, {name: text for name, text in _parts(run, group, state) if text}
        )
        for group, state in learnt_in(run).items()
    ]


def step_text(scope: str, body: Mapping[str, Any]) -> str | None:
    """What one step changed of the rules, and what was known then; None for a body of another form."""
    if "history" not in body:
        return None
    state = State.model_validate(body)
    known = state.knowledge
    counted = (
        f"{len(known.rules)} rules, {len(known.skills)} skills, {len(known.reflections)} reflections, "
        f"{len(known.procedures)} procedures"
    )
    return "\n\n".join([*_changes(scope, state.history), counted])


def _parts(run: Run, group: str, state: State) -> list[tuple[str, str]]:
    knowledge = with_manual(run, group, state)
    rules = "\n".join(rule_text(rule) for rule in knowledge.rules)
    procedures = "\n\n\n".join(each.code.rstrip() for _, each in sorted(knowledge.procedures.items()))
    parts = [
        ("manual", knowledge.manual),
        ("rules", rules),
        ("evidence", table(state.history.book, count(state.citations)) if knowledge.rules else ""),
        ("change log", "\n".join(state.history.log())),
        ("procedures", procedures),
        ("not learnt", "\n".join(state.notes)),
    ]
    return [(name, text) for name, text in parts if text]


def _changes(scope: str, history: History) -> list[str]:
    """The rules that a scope's own batches wrote, changed or deleted."""
    entries = [entry for entry in history.entries if isinstance(entry, Applied)]
    own = [entry.change for entry in entries if entry.change.batch.where.startswith(f"{scope}/")]
    return [
        rule_text(touched.after).rstrip() if touched.after else f"{touched.id} was deleted"
        for change in own
        for touched in change.touched
    ]
