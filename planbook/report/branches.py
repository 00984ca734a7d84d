"""Branches of episodes: the original episode and the runs that were forked from it, action by action."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from planbook.compare.reruns import actions_taken
from planbook.errors import BadRun
from planbook.report import blocks
from planbook.report.blocks import Block
from planbook.runs import Fork, Run, branches_of, recorded_endings
from planbook.wording import counted, outcome_of, score_of

ACTION_CHARS = 200
"""Characters of an action with its observation that are shown."""


def branch_blocks(run: Run) -> Iterator[Block]:
    """Yield a table for each forked episode of this run; for a fork, for the episode that it was forked from."""
    with ExitStack() as stack:
        original, branches = run, [run]
        try:
            if run.forked:
                original = stack.enter_context(closing(Run.open(Path(run.forked.run))))
            else:
                folders = branches_of(run.folder)
                branches = [stack.enter_context(closing(Run.open(folder))) for folder in folders]
        except BadRun as error:
            yield blocks.paragraph(f"A branch cannot be shown: {error}", "note")
            return
        forked = [(branch.forked, branch) for branch in branches if branch.forked]
        for episode in sorted({fork.episode for fork, _ in forked}):
            yield from _side_by_side(original, episode, [pair for pair in forked if pair[0].episode == episode])


def _side_by_side(original: Run, episode: int, branches: Sequence[tuple[Fork, Run]]) -> Iterator[Block]:
    entry = original.entries()[episode]
    columns = [_actions(original, episode), *(_actions(branch, 0) for _, branch in branches)]
    names = [f"at {fork.at}: {fork.change or 'once more'}" for fork, _ in branches]
    same = min(fork.at for fork, _ in branches)
    while same and len({tuple(column[:same]) for column in columns}) > 1:
        same -= 1
    yield blocks.heading(f"{entry.task.id} (episode {episode}), and {counted(len(branches), 'branch', 'branches')}")
    rows = [[f"1 to {same}", *(["the same"] * len(columns))]] if same else []
    for number in range(same, max(map(len, columns))):
        rows.append([str(number + 1), *(column[number] if number < len(column) else "" for column in columns)])
    rows.append(["ended", _ending(original, episode), *(_ending(branch, 0) for _, branch in branches)])
    yield blocks.table(["action", "as it was", *names], rows, "branches")


def _actions(run: Run, episode: int) -> list[str]:
    """Return the actions of an episode that has ended, each with the beginning of its observation."""
    if episode not in recorded_endings(run):
        return []
    return [line[:ACTION_CHARS] for line in actions_taken(run, run.entries()[episode])]


def _ending(run: Run, episode: int) -> str:
    ending = recorded_endings(run).get(episode)
    if ending is None:
        return "not ended"
    return f"{outcome_of(ending)} after {counted(ending.actions, 'action')}{score_of(ending)}"
