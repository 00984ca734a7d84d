"""Branches of episodes: an episode as it was, and each run that was forked from it, action by action."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from planbook.errors import BadRun
from planbook.planner import Step, call_of
from planbook.report import blocks
from planbook.report.blocks import Block
from planbook.runs import Fork, Run, branches_of, last_path, recorded_endings
from planbook.wording import counted, outcome_of, score_of

OBSERVED = 160
"""Characters of an observation that are shown."""


def branch_blocks(run: Run) -> Iterator[Block]:
    """Give a table for each episode that was forked: of a run, or of the run that this one was forked from."""
    with ExitStack() as opened:
        there, branches = run, [run]
        try:
            if run.forked:
                there = opened.enter_context(closing(Run.open(Path(run.forked.run))))
            else:
                folders = branches_of(run.folder)
                branches = [opened.enter_context(closing(Run.open(folder))) for folder in folders]
        except BadRun as error:
            yield blocks.paragraph(f"A branch cannot be shown: {error}", "note")
            return
        forked = [(branch.forked, branch) for branch in branches if branch.forked]
        for episode in sorted({fork.episode for fork, _ in forked}):
            yield from _side_by_side(there, episode, [pair for pair in forked if pair[0].episode == episode])


def _side_by_side(there: Run, episode: int, branches: Sequence[tuple[Fork, Run]]) -> Iterator[Block]:
    entry = there.entries()[episode]
    columns = [_actions(there, episode), *(_actions(branch, 0) for _, branch in branches)]
    names = [f"at {fork.at}: {fork.change or 'once more'}" for fork, _ in branches]
    same = min(fork.at for fork, _ in branches)
    while same and len({tuple(column[:same]) for column in columns}) > 1:
        same -= 1
    yield blocks.heading(f"{entry.task.id} (episode {episode}), and {counted(len(branches), 'branch', 'branches')}")
    rows = [[f"1 to {same}", *(["the same"] * len(columns))]] if same else []
    for number in range(same, max(map(len, columns))):
        rows.append([str(number + 1), *(column[number] if number < len(column) else "" for column in columns)])
    ends = [_ended(there, episode), *(_ended(branch, 0) for _, branch in branches)]
    rows.append(["ended", *ends])
    yield blocks.table(["action", "as it was", *names], rows, "branches")


def _actions(run: Run, episode: int) -> list[str]:
    """Return the actions of an episode that had an effect, each with what was observed."""
    entry = run.entries()[episode]
    if episode not in recorded_endings(run):
        return []
    steps = (Step.model_validate(row.body) for row in run.store.events(last_path(run, entry), "act"))
    return [
        f"{call_of(step.action)} -> {step.observation.text[:OBSERVED]}" for step in steps if step.observation.accepted
    ]


def _ended(run: Run, episode: int) -> str:
    ending = recorded_endings(run).get(episode)
    if ending is None:
        return "not ended"
    return f"{outcome_of(ending)} after {counted(ending.actions, 'action')}{score_of(ending)}"
