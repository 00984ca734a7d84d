"""Find gaps in learned rules: task types without a success process, and rules that are unused or cite unknown rules.

A success process is a rule with a working solution. Rules do not name the task types to which they apply. So a success
process counts for a task type if the planner cited it in a solved episode of this type, or if the Builder wrote or
updated it after such an episode.
"""

import re
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from planbook.config import FOUND
from planbook.knowledge import KnowledgeState
from planbook.learning.finding import with_found_type
from planbook.rules import RuleType, cited_ids
from planbook.runs import Run
from planbook.store import without_restart


class Coverage(BaseModel):
    """The gaps in the rules of a run.

    ``missing`` lists the task types without a success process, and ``never_cited`` the rules that no planner cited.
    ``dangling`` maps the id of a rule to the unknown ids that it cites.
    """

    model_config = ConfigDict(frozen=True)

    missing: tuple[str, ...]
    never_cited: tuple[str, ...]
    dangling: dict[str, tuple[str, ...]]


def coverage_of(run: Run, state: KnowledgeState) -> Coverage:
    """Return the gaps in the rules of a run."""
    rules, types = state.knowledge.rules, _types_of_episodes(run, state)
    processes = {rule.id for rule in rules if rule.type is RuleType.SUCCESS_PROCESS}
    used = _rules_used_in_solved_episodes(state)
    covered = {types.get(episode) for episode, ids in used if not processes.isdisjoint(ids)}
    cited = {id for citation in state.citations for id in citation.rule_ids}
    known_ids = {rule.id for rule in rules}
    dangling = {rule.id: tuple(id for id in cited_ids(rule) if id not in known_ids) for rule in rules}
    return Coverage(
        missing=tuple(task_type for task_type in dict.fromkeys(types.values()) if task_type not in covered),
        never_cited=tuple(rule.id for rule in rules if rule.id not in cited),
        dangling={id: unknown for id, unknown in dangling.items() if unknown},
    )


def _types_of_episodes(run: Run, state: KnowledgeState) -> dict[str, str]:
    """Return a dict from the path of each episode to its task type.

    If planbook found the types itself, episodes of types without a skill are left out.
    """
    types = {entry.path: with_found_type(run.config, state.knowledge, entry.task).type for entry in run.entries()}
    if run.config.types != FOUND:
        return types
    return {path: task_type for path, task_type in types.items() if task_type in state.knowledge.skills}


def _rules_used_in_solved_episodes(state: KnowledgeState) -> Iterator[tuple[str, list[str]]]:
    """Yield the path of each solved episode with the ids of the rules that it cited.

    Then, for each change by the Builder after a solved episode, yield its path with the ids of the changed rules.
    """
    solved = {
        without_restart(citation.episode): [*citation.rule_ids] for citation in state.citations if citation.solved
    }
    yield from solved.items()
    changes = (entry.change for entry in state.history.entries if entry.kind == "applied")
    for change in changes:
        # the Builder's scope names the episode N: learn/N/..., or learn/M/offline/N/... if it was called later
        episode = re.sub(r".*(?:learn|offline)/(\d+).*", r"task/\1", change.batch.where)
        if change.batch.who == "builder" and episode in solved:
            yield episode, [touched.id for touched in change.touched]


def coverage_lines(run: Run, coverage: Coverage) -> Iterator[str]:
    """Yield a sentence for each kind of gap in the rules.

    A kind of gap is skipped if the run leaves out the affected part of the knowledge (``--without``) or does not learn
    it (``--libraries-only``).
    """
    left_out = set(run.config.without)
    if "rules" in left_out:
        return
    if coverage.missing and "types" not in left_out and not run.config.building.libraries_only:
        types = ", ".join(coverage.missing)
        yield f"No solved episode cited or led to a success process (rule with a working solution) for: {types}."
    if coverage.never_cited and "cooperation" not in left_out:
        yield f"Never cited: {', '.join(coverage.never_cited)}."
    if coverage.dangling:
        citing = (f"{', '.join(unknown)} (by {id})" for id, unknown in coverage.dangling.items())
        yield f"Cited by rules, but deleted or unknown: {', '.join(citing)}."
