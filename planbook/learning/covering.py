"""What the rules of a building run do not cover, and which of them nobody has used."""

from collections.abc import Iterator

from planbook.knowledge.state import EVERYTHING, State, group_of
from planbook.manuals.coverage import Coverage, coverage, goals_of
from planbook.rules import count
from planbook.run import Run


def coverage_of(run: Run, group: str, state: State) -> Coverage:
    """Hold a group's rules against the task types that they were built from, and against what planners cited."""
    learning = run.config.learning
    assert learning is not None
    tasks = [entry.task for entry in run.entries() if group_of(learning, entry.task.type) == group]
    cited = {id: evidence.cited for id, evidence in count(state.citations).items()}
    return coverage(state.knowledge.rules, goals_of(tasks), cited)


def coverage_lines(run: Run, group: str, state: State) -> Iterator[str]:
    """What a user should know of it, in short: nothing where all is well, or where the run left out what would tell."""
    left_out = set(run.config.without)
    if "rules" in left_out:
        return
    found, title = coverage_of(run, group, state), "" if group == EVERYTHING else f"{group}: "
    if found.missing and "types" not in left_out:
        yield f"{title}No success process seems to be for: {', '.join(found.missing)}."
    if found.never_cited and "cooperation" not in left_out:
        yield f"{title}Never cited: {', '.join(found.never_cited)}."
    if found.dangling:
        named = sorted({id for ids in found.dangling.values() for id in ids})
        yield f"{title}Named by rules, and not there any more: {', '.join(named)}."
