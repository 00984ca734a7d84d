"""The stages of AutoManual (section 3.1): build rules from episodes, formulate them, and play with them."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from planbook.config import Config
from planbook.errors import BadArgument
from planbook.knowledge import EVERYTHING, formulating_path, learn_once, learned_in, playing_memory, with_manual
from planbook.learning.learner import Learner
from planbook.manuals import MANUAL_FILE, replace_files, write_knowledge
from planbook.manuals import formulate as ask_formulator
from planbook.planner import BudgetEnded, Ending, ModelError, Outcome, Scope, UnusableReply, never_stopped
from planbook.rules import Rule, tell_environment
from planbook.runs import Entry, Run
from planbook.store import Watch
from planbook.wording import TYPE_SOLVED
from planbook.workers import EpisodeWorker, Hosting, play_episode, play_episodes, play_in_order, roles_of

LOG = logging.getLogger(__name__)
ABOUT = "world.md"
"""Describes the environment to readers of the manual; planners get the same text in their prompts."""
SHORT_MANUAL = "manual.short.md"
"""A shortened view of the manual."""


def build(
    run: Run, on_ending: Callable[[Entry, Ending], None], *, hosting: Hosting, watch: Watch | None = None
) -> bool:
    """Play the building tasks in order and learn from each. Returns False if it was stopped.

    Call this again to continue a run that was stopped or killed. With ``--without online``, all episodes are played
    before anything is learned, and none is left out. Given episodes are copied instead of played.
    """
    learner, config = Learner(run, watch), run.config
    offline, copies = "online" in config.without, None
    if config.copies:
        from planbook.learning.given import Copies  # the schema takes a while to import; most runs copy nothing

        copies = Copies(run)
    memory = learner if copies else playing_memory(config, learner)
    played_first = offline and not copies
    if played_first and not play_episodes(run, memory, on_ending, hosting=hosting, watch=watch):
        return False

    def play_one(entry: Entry, worker: EpisodeWorker) -> Ending:
        left_out = not offline and learner.leaves_out(entry)
        copied = copies.copy_next(entry, left_out=left_out) if copies else None
        ending = copied or (_leave_out(run, entry) if left_out else play_episode(run, memory, entry, worker, watch))
        learner.learn(entry, ending, worker)
        return ending

    # episodes that were played first are reported already
    return play_in_order(run, play_one, (lambda *_: None) if played_first else on_ending, hosting)


def _leave_out(run: Run, entry: Entry) -> Ending:
    ending = Ending(outcome=Outcome.NOT_RUN, cause=TYPE_SOLVED)
    journal = run.journal(entry.path)
    recorded: Any = journal.get(entry.path, "outcome", 0)
    if recorded is None:
        journal.put(entry.path, "outcome", 0, ending.model_dump(mode="json"))
    return ending


def formulate(run: Run, config: Config, tokens: int | None) -> None:
    """Turn the rules of a building run into a manual for each group of tasks with rules. ``config`` names the models.

    This happens once for each state of the rules: a second call answers from the record. Raises BadArgument if there
    are no rules, UnusableReply, ModelError, BudgetEnded.
    """
    states = learned_in(run)
    if not any(state.knowledge.rules for state in states.values()):
        raise BadArgument(f"{run.folder} has no rules to formulate; build some with `planbook build`")
    roles = roles_of(run, never_stopped, config)
    with run.meter.formulating():
        for group, state in states.items():
            if rules := state.knowledge.rules:
                make = partial(_formulate, rules=rules, config=config, tokens=tokens)
                learn_once(run, formulating_path(group, state), roles, make)


def formulate_with_kept(run: Run, ended: BudgetEnded) -> bool:
    """Write the manual of a building run with the share of its budget kept for it. Returns whether it was written."""
    if run.config.learning is None or not run.meter.budget.manual_share(ended.name):
        return False
    try:
        formulate(run, run.config, None)
    except (BadArgument, UnusableReply, ModelError, BudgetEnded) as error:
        LOG.info("no manual was written: %s", error)
        return False
    return True


def _formulate(scope: Scope, rules: Sequence[Rule], config: Config, tokens: int | None) -> dict[str, Any]:
    manual = ask_formulator(scope, rules, config.environment, config.environment_options, tokens=tokens)
    return {"manual": manual.model_dump(mode="json")}


def export(run: Run) -> list[Path]:
    """Write the knowledge of a building run into its folder, as a library for other runs; one for each group."""
    written: list[Path] = []
    for group, state in learned_in(run).items():
        folder = library_folder(run, group)
        write_knowledge(folder, with_manual(run, group, state))
        environment = tell_environment(run.config.environment, run.config.environment_options)
        replace_files(folder / run.config.environment.name, {ABOUT: f"{environment}\n"})
        written.append(folder)
    return written


def export_manuals(run: Run, tokens: int | None) -> list[Path]:
    """Write the knowledge of a building run, and beside each manual a shortened one within a number of tokens.

    Returns the paths of the manuals. A shortened one is for readers: no library reads it back. Raises TooLong.
    """
    export(run)
    written: list[Path] = []
    for group, state in learned_in(run).items():
        home = library_folder(run, group) / run.config.environment.name
        short = "" if tokens is None else with_manual(run, group, state, tokens).manual
        replace_files(home, {SHORT_MANUAL: short})
        written += [home / name for name in (MANUAL_FILE, SHORT_MANUAL) if (home / name).exists()]
    return written


def library_folder(run: Run, group: str) -> Path:
    """Return the folder of a group's library."""
    return run.folder / "learnt" if group == EVERYTHING else run.folder / "learnt" / group
