"""The stages of `planbook build` (AutoManual, section 3.1): learn from episodes, write a manual, export the result."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from planbook.config import Config
from planbook.errors import BadArgument
from planbook.knowledge import (
    formulating_scope,
    learn_once,
    learned_state,
    playing_memory,
    with_manual,
)
from planbook.learning.learner import Learner
from planbook.learning.tasks import copy_next, episodes_to_copy
from planbook.manuals import (
    formulate as ask_formulator,
    replace_files,
    write_knowledge,
)
from planbook.planner import BudgetEnded, Ending, ModelError, Outcome, Scope, UnusableReply
from planbook.rules import Rule, render_environment
from planbook.runs import EpisodeEntry, Run
from planbook.store import OnEvent
from planbook.wording import TYPE_SOLVED
from planbook.workers import EpisodeWorker, Execution, Switches, play_episode, play_in_order, roles_of

LOG = logging.getLogger(__name__)
ENVIRONMENT_FILE = "world.md"
"""Name of the file that describes the environment for readers of the manual. Prompts contain the same text."""
SKIPPED = Ending(outcome=Outcome.NOT_RUN, cause=TYPE_SOLVED)


def build(
    run: Run,
    on_ending: Callable[[EpisodeEntry, Ending], None],
    *,
    execution: Execution,
    on_event: OnEvent | None = None,
) -> bool:
    """Play the tasks of a run in order, and learn from each. Return False if the run was stopped before the end.

    Another call continues a run that was stopped or killed. With ``--from``, episodes are not played, but copied from
    other runs or from files.
    """
    learner = Learner(run, on_event)
    copies = episodes_to_copy(run) if run.config.copies_episodes else None
    memory = learner if copies else playing_memory(run.config, learner)

    def play_one(entry: EpisodeEntry, worker: EpisodeWorker) -> Ending:
        if learner.is_skipped(entry):
            scope = Scope(run.journal(entry.path), entry.path)
            scope.get_or_record("outcome", partial(SKIPPED.model_dump, mode="json"))
        ending = copy_next(run, entry, copies) if copies else play_episode(run, memory, entry, worker, on_event)
        learner.learn(entry, ending, worker)
        return ending

    return play_in_order(run, play_one, on_ending, execution)


def formulate(run: Run, config: Config) -> None:
    """Write a manual from the rules of a run of `planbook build`.

    ``config`` names the models to ask. The manual is recorded, so a second call with the same rules does not ask the
    model again. Raises BadArgument if there are no rules, UnusableReply if a model gives no usable outline, or
    ModelError or BudgetEnded if a model cannot be asked.
    """
    state = learned_state(run)
    if not state.knowledge.rules:
        raise BadArgument(f"{run.folder} has no rules to formulate; build some with `planbook build`")
    roles = roles_of(run, Switches(), config)
    with run.meter.formulating():
        formulate_once = partial(_formulate, rules=state.knowledge.rules, config=config)
        learn_once(run, formulating_scope(state), roles, formulate_once)


def formulate_with_reserve(run: Run, ended: BudgetEnded) -> bool:
    """Write the manual of a run of `planbook build` whose budget has ended.

    A share of the budget is reserved for this. Return False if no share is reserved, if episodes still wait for the
    Builder, or if no manual could be written.
    """
    if run.config.learning is None or not run.meter.budget.manual_share(ended.name):
        return False
    if learned_state(run).waiting:
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


def export(run: Run) -> Path:
    """Write the knowledge of a run of `planbook build` into its folder, as a library that other runs can use.

    Return the folder of the library.
    """
    former = run.folder / "learnt"  # an earlier planbook gave it this name
    folder, name = former if former.is_dir() else run.folder / "learned", run.config.environment.name
    write_knowledge(folder, with_manual(run, learned_state(run)))
    environment = render_environment(run.config.environment, run.config.environment_options)
    replace_files(folder / name, {ENVIRONMENT_FILE: f"{environment}\n"})
    return folder
