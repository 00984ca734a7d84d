"""The stages of `planbook build` (AutoManual, section 3.1): learn from episodes, write a manual, export the result.

The module also reports the task types that the learned rules cover.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from planbook.config import FOUND, Config
from planbook.errors import BadArgument
from planbook.knowledge import (
    EVERYTHING,
    KnowledgeState,
    formulating_path,
    group_of,
    learn_once,
    learned_in,
    playing_memory,
    with_manual,
)
from planbook.learning.finding import typed
from planbook.learning.learner import Learner
from planbook.learning.tasks import copy_next, episodes_to_copy
from planbook.manuals import (
    MANUAL_FILE,
    Coverage,
    formulate as ask_formulator,
    goals_of,
    measure_coverage,
    replace_files,
    write_knowledge,
)
from planbook.planner import BudgetEnded, Ending, ModelError, Outcome, Scope, UnusableReply
from planbook.rules import Rule, count_evidence, render_environment
from planbook.runs import Entry, Run
from planbook.store import Watch
from planbook.wording import TYPE_SOLVED
from planbook.workers import EpisodeWorker, Execution, Switches, play_episode, play_in_order, roles_of

LOG = logging.getLogger(__name__)
ENVIRONMENT_FILE = "world.md"
"""Name of a file that describes the environment to people who read the manual. Prompts contain the same text."""
SKIPPED = Ending(outcome=Outcome.NOT_RUN, cause=TYPE_SOLVED)


def build(
    run: Run, on_ending: Callable[[Entry, Ending], None], *, execution: Execution, watch: Watch | None = None
) -> bool:
    """Play the tasks of a run in order, and learn from each. Return False if the run was stopped before the end.

    Calling this again continues a run that was stopped or killed. With ``--from``, no episode is played: all are copied
    from other runs or from files.
    """
    learner = Learner(run, watch)
    copies = episodes_to_copy(run) if run.config.copies else None
    memory = learner if copies else playing_memory(run.config, learner)

    def play_one(entry: Entry, worker: EpisodeWorker) -> Ending:
        if learner.is_skipped(entry):
            scope = Scope(run.journal(entry.path), entry.path)
            scope.get_or_record("outcome", partial(SKIPPED.model_dump, mode="json"))
        ending = copy_next(run, entry, copies) if copies else play_episode(run, memory, entry, worker, watch)
        learner.learn(entry, ending, worker)
        return ending

    return play_in_order(run, play_one, on_ending, execution)


def formulate(run: Run, config: Config) -> None:
    """Write a manual for each group of task types in a run of `planbook build`, from the group's rules.

    ``config`` names the models to ask. The manual is recorded, so a second call with the same rules does not ask the
    model again. Raises BadArgument if there are no rules, UnusableReply if a model gives no usable outline, or
    ModelError or BudgetEnded if a model cannot be asked.
    """
    states = learned_in(run)
    if not any(state.knowledge.rules for state in states.values()):
        raise BadArgument(f"{run.folder} has no rules to formulate; build some with `planbook build`")
    roles = roles_of(run, Switches(), config)
    with run.meter.formulating():
        for group, state in states.items():
            if rules := state.knowledge.rules:
                make = partial(_formulate, rules=rules, config=config)
                learn_once(run, formulating_path(group, state), roles, make)


def formulate_with_reserve(run: Run, ended: BudgetEnded) -> bool:
    """Write the manual of a run of `planbook build` whose budget has ended.

    A share of the budget is reserved for this. Return False if no share is reserved, if episodes still wait for the
    Builder, or if no manual could be written.
    """
    if run.config.learning is None or not run.meter.budget.manual_share(ended.name):
        return False
    if any(state.waiting for state in learned_in(run).values()):
        return False
    try:
        formulate(run, run.config)
    except (BadArgument, UnusableReply, ModelError, BudgetEnded) as error:
        LOG.info("no manual was written: %s", error)
        return False
    return True


def _formulate(scope: Scope, rules: Sequence[Rule], config: Config) -> dict[str, Any]:
    manual = ask_formulator(scope, rules, config.environment, config.environment_options)
    return {"manual": manual.model_dump(mode="json")}


def export(run: Run) -> list[Path]:
    """Write the knowledge of a run of `planbook build` into its folder, as libraries that other runs can use.

    There is one library for each group (a set of task types that share their rules). Return the folders of the
    libraries.
    """
    written: list[Path] = []
    for group, state in learned_in(run).items():
        folder = library_folder(run, group)
        write_knowledge(folder, with_manual(run, group, state))
        environment = render_environment(run.config.environment, run.config.environment_options)
        replace_files(folder / run.config.environment.name, {ENVIRONMENT_FILE: f"{environment}\n"})
        written.append(folder)
    return written


def export_manuals(run: Run) -> list[Path]:
    """Export the knowledge of a run, and return the paths of its manuals."""
    manuals = [folder / run.config.environment.name / MANUAL_FILE for folder in export(run)]
    return [manual for manual in manuals if manual.exists()]


def library_folder(run: Run, group: str) -> Path:
    """Return the folder in a run's folder to which the library of a group is exported."""
    return run.folder / "learnt" if group == EVERYTHING else run.folder / "learnt" / group


# Coverage


def coverage_of(run: Run, group: str, state: KnowledgeState) -> Coverage:
    """Return how well the rules of a group cover the group's task types, and which rules were cited.

    A group is a set of task types that share their rules.
    """
    tasks = [entry.task for entry in run.entries() if group_of(run.config, entry.task.type) == group]
    if run.config.types == FOUND:
        tasks = [typed(run.config, state.knowledge, task) for task in tasks]
        tasks = [task for task in tasks if task.type in state.knowledge.skills]
    cited = {id: evidence.cited for id, evidence in count_evidence(state.citations).items()}
    return measure_coverage(state.knowledge.rules, goals_of(tasks), cited)


def coverage_lines(run: Run, group: str, state: KnowledgeState) -> Iterator[str]:
    """Yield a sentence for each kind of gap in the rules, such as rules that were never cited.

    A kind of gap is skipped if it is due to parts of the knowledge that the run leaves out (``--without``) or does not
    learn (``--libraries-only``).
    """
    left_out = set(run.config.without)
    if "rules" in left_out:
        return
    coverage, title = coverage_of(run, group, state), "" if group == EVERYTHING else f"{group}: "
    if coverage.missing and "types" not in left_out and not run.config.building.libraries_only:
        yield f"{title}No success process (rule with a working solution) seems to cover: {', '.join(coverage.missing)}."
    if coverage.never_cited and "cooperation" not in left_out:
        yield f"{title}Never cited: {', '.join(coverage.never_cited)}."
    if coverage.dangling:
        named = sorted({id for ids in coverage.dangling.values() for id in ids})
        yield f"{title}Cited by rules, but deleted or unknown: {', '.join(named)}."
