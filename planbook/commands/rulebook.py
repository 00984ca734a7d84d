"""The command that shows the rules of a run of `planbook build` and their history, and undoes changes."""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import click

from planbook.console import console
from planbook.errors import OK, BadArgument
from planbook.knowledge import KnowledgeState, learned_in
from planbook.learning.stages import coverage_of, export
from planbook.manuals import coverage_table
from planbook.options import JSON, RUN_FOLDER, CommandResult
from planbook.rules import count_evidence, evidence_table, rule_text
from planbook.runs import Run

DIFF_FORM = "diff A..B: numbers of states, or diff N for one change"


def _group(run: Run, name: str | None) -> tuple[str, KnowledgeState]:
    if run.config.learning is None:
        raise BadArgument(f"{run.folder} is not a run of `planbook build`, which makes the rules")
    states = learned_in(run)
    if not states:
        raise BadArgument(f"{run.folder} has not begun to learn; resume it with: planbook build --resume {run.folder}")
    if name is None and len(states) > 1:
        raise BadArgument(f"this run keeps rules by task type; name one with --group: {', '.join(sorted(states))}")
    chosen = name or next(iter(states))
    if chosen not in states:
        raise BadArgument(f"--group {chosen}: no such group; the groups are {', '.join(sorted(states))}")
    return chosen, states[chosen]


def _show(state: KnowledgeState, rule_id: str) -> str:
    if rule_id:
        return rule_text(state.history.book.rule(rule_id))
    rules = state.history.book.active
    if not rules:
        return "There are no rules yet."
    text = "\n".join(rule_text(rule) for rule in rules)
    return f"{text}\n{evidence_table(state.history.book, count_evidence(state.citations))}"


def _log(state: KnowledgeState, _: str) -> str:
    return "\n".join(state.history.log()) or "Nothing has been changed yet."


def _diff(state: KnowledgeState, span: str) -> str:
    first, dots, last = span.partition("..")
    ends = (_number(first or "0", DIFF_FORM), _number(last or str(len(state.history.entries)), DIFF_FORM))
    if span and not dots:  # one change: from the state before it
        ends = (ends[0] - 1, ends[0])
    return state.history.diff(*ends) or "No difference."


def _undo(run: Run, group: str, state: KnowledgeState, entry: int) -> KnowledgeState:
    """Undo the change with the number ``entry``, and record that the run continues without it.

    Raises BadHistory if the change cannot be undone.
    """
    undone = state.with_history(state.history.undo(entry))
    number = sum(1 for _ in run.store.events("undo", "undo"))
    run.store.put("undo", "undo", number, {"group": group, "entry": entry, "after": len(state.history.entries)})
    export(run)
    return undone


def _number(text: str, form: str) -> int:
    if not text.isdecimal():
        raise BadArgument(f"{text or 'nothing'!r} is not a number; write {form}")
    return int(text)


VIEWS: Mapping[str, Callable[[KnowledgeState, str], str]] = {"show": _show, "log": _log, "diff": _diff, "undo": _log}
"""Maps each word for the argument WHAT to the function that renders the output, given the argument WHICH."""
COVERAGE = "coverage"


@click.command()
@click.argument("run", type=RUN_FOLDER)
@click.argument("what", required=False, default="show", type=click.Choice([*VIEWS, COVERAGE]))
@click.argument("which", required=False, default="")
@click.option("--group", default=None, help="The task type, if rules were built for each type separately.")
@JSON
def rules(run: Path, what: str, which: str, group: str | None) -> CommandResult:
    """Show what a run of `planbook build` has learned, and its history: show [ID], log, diff A..B, undo N, coverage."""
    with closing(Run.open(run, to_play=what == "undo")) as opened:
        group, state = _group(opened, group)
        if what == "undo":
            state = _undo(opened, group, state, _number(which, "undo N: the number of a change"))
        coverage = coverage_of(opened, group, state)
    text = coverage_table(coverage) if what == COVERAGE else VIEWS[what](state, which)
    console().print(text.rstrip(), markup=False, soft_wrap=True)
    facts = {
        "group": group,
        "coverage": coverage.model_dump(mode="json") | {"missing": coverage.missing},
        "rules": [rule.model_dump(mode="json") for rule in state.knowledge.rules],
        "changes": len(state.history.entries),
        "evidence": {id: evidence.model_dump() for id, evidence in count_evidence(state.citations).items()},
        "text": text,
    }
    return OK, facts
