"""The stages of AutoManual (section 3.1): building rules from episodes, formulating them, and playing with them."""

import logging
import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from planbook.config import FOUND, Config
from planbook.envs import Task
from planbook.errors import BadArgument
from planbook.knowledge import (
    EVERYTHING,
    PROCEDURES,
    demonstrating,
    formulating_path,
    learned_in,
    memory_of,
    once,
    with_manual,
)
from planbook.learning.learner import Learner
from planbook.manuals import MANUAL_FILE, replace_files, types_to_build_on, write_knowledge
from planbook.manuals import formulate as ask_formulator
from planbook.planner import BudgetEnded, Ending, Memory, ModelError, Outcome, Scope, UnusableReply, never_stopped
from planbook.rules import Rule, tell_world
from planbook.runs import Entry, Run
from planbook.store import Watch
from planbook.wording import TYPE_SOLVED
from planbook.workers import EpisodeWorker, Hosting, play_episode, play_episodes, play_in_order, roles_of

LOG = logging.getLogger(__name__)
WORLD = "world.md"
"""Describes the environment to readers of the manual; planners get the same in their prompts."""
SHORT_MANUAL = "manual.short.md"
"""A shortened view of the manual."""


def tasks_of(config: Config) -> Sequence[Task]:
    """Return the tasks that a run is to play. Raises BadSelection, BadArgument."""
    return building_tasks(config) if config.learning else config.world.select(config.selection, config.world_options)


def building_tasks(config: Config) -> list[Task]:
    """Return the tasks to build on (appendix D): a number of each type, drawn and shuffled with the run's seed.

    Raises BadArgument, also for what could only be found wrong in the middle of building, and BadSelection.
    """
    assert config.learning is not None
    check_learning(config)
    if config.copies:
        from planbook.learning.given import given_tasks  # the schema takes a while to import, and most runs need none

        return given_tasks(config)
    dice = random.Random(f"building/{config.seed}")
    if config.types == FOUND and not config.selection.ids:
        number = config.selection.limit or config.learning.tasks_per_type
        every = config.world.select(config.selection.model_copy(update={"limit": None}), config.world_options)
        return dice.sample(every, min(number, len(every)))
    tasks = config.world.select(config.selection, config.world_options)
    if config.selection.ids:
        return tasks
    chosen = types_to_build_on(config.world.name, sorted({task.type for task in tasks}))
    drawn: list[Task] = []
    for kind in chosen:
        alike = [task for task in tasks if task.type == kind]
        drawn += dice.sample(alike, min(config.learning.tasks_per_type, len(alike)))
    dice.shuffle(drawn)
    if not drawn:
        raise BadArgument(
            "building leaves out all of the chosen task types, since they repeat others; choose others with --types"
        )
    return drawn


def check_learning(config: Config) -> None:
    """Check that the split on which procedures are verified exists. Raises BadArgument."""
    assert config.learning is not None
    known, verify = config.world.task_splits(config.world_options), config.learning.verify
    split, _, count = verify.partition(":")
    if verify and not (split in known and count.isdecimal() and int(count)):
        raise BadArgument(f"--verify {verify}: write SPLIT:N, such as {known[0]}:20; the splits: {', '.join(known)}")


def build(
    run: Run, on_ending: Callable[[Entry, Ending], None], *, hosting: Hosting, watch: Watch | None = None
) -> bool:
    """Play the building tasks one after the other and learn from each. Returns False if Ctrl-C stopped it.

    A run that was stopped or killed is taken up again by calling this once more. Without ``online``, all episodes are
    played before anything is learned, and none is left out. Episodes that are given are copied instead of being played.
    """
    learner, config = Learner(run, watch), run.config
    offline, copies = "online" in config.without, None
    if config.copies:
        from planbook.learning.given import Copies  # the schema takes a while to import, and most runs need none

        copies = Copies(run)
    memory = learner if copies else playing_memory(config, learner)
    played_first = offline and not copies
    if played_first and not play_episodes(run, memory, on_ending, hosting=hosting, watch=watch):
        return False

    def play_one(entry: Entry, worker: EpisodeWorker) -> Ending:
        left_out = not offline and learner.leaves_out(entry)
        copied = copies.copied(entry, left_out=left_out) if copies else None
        ending = copied or (_leave_out(run, entry) if left_out else play_episode(run, memory, entry, worker, watch))
        learner.learn(entry, ending, worker)
        return ending

    def nothing(entry: Entry, ending: Ending) -> None:
        """Every episode was reported when it was played."""

    return play_in_order(run, play_one, nothing if played_first else on_ending, hosting)


def playing_memory(config: Config, learned: Memory) -> Memory:
    """Return the memory of a building run's planner: what was learned so far; stored procedures of the library."""
    return memory_of(config) if config.planner == PROCEDURES else demonstrating(config, learned)


def _leave_out(run: Run, entry: Entry) -> Ending:
    ending = Ending(outcome=Outcome.NOT_RUN, cause=TYPE_SOLVED)
    journal = run.journal(entry.path)
    recorded: Any = journal.get(entry.path, "outcome", 0)
    if recorded is None:
        journal.put(entry.path, "outcome", 0, ending.model_dump(mode="json"))
    return ending


def formulate(run: Run, config: Config, tokens: int | None) -> None:
    """Turn the rules of a building run into a manual, one for each group of tasks that has rules.

    That is done once for each state of the rules: a second time answers from the record. Raises BadArgument where there
    are no rules, UnusableReply, ModelError, BudgetEnded. ``config`` names the models.
    """
    states = learned_in(run)
    if not any(state.knowledge.rules for state in states.values()):
        raise BadArgument(f"{run.folder} has no rules to formulate; build some with `planbook build`")
    roles = roles_of(run, never_stopped, config)
    with run.meter.formulating():
        for group, state in states.items():
            if rules := state.knowledge.rules:
                ask = partial(_manual, rules=rules, config=config, tokens=tokens)
                once(run, formulating_path(group, state), roles, ask)


def formulate_with_kept(run: Run, ended: BudgetEnded) -> bool:
    """Write the manual of a building run with what its budget kept for it. Returns whether there is one now."""
    if run.config.learning is None or not run.meter.budget.kept(ended.name):
        return False
    try:
        formulate(run, run.config, None)
    except (BadArgument, UnusableReply, ModelError, BudgetEnded) as error:
        LOG.info("no manual was written: %s", error)
        return False
    return True


def _manual(scope: Scope, rules: Sequence[Rule], config: Config, tokens: int | None) -> dict[str, Any]:
    manual = ask_formulator(scope, rules, config.world, config.world_options, tokens=tokens)
    return {"manual": manual.model_dump(mode="json")}


def export(run: Run) -> list[Path]:
    """Write what a building run knows into its folder, as a library that other runs can use; one for each group."""
    written: list[Path] = []
    for group, state in learned_in(run).items():
        folder = library_folder(run, group)
        write_knowledge(folder, with_manual(run, group, state))
        world = tell_world(run.config.world, run.config.world_options)
        replace_files(folder / run.config.world.name, {WORLD: f"{world}\n"})
        written.append(folder)
    return written


def export_manuals(run: Run, tokens: int | None) -> list[Path]:
    """Write what a building run knows, and beside each manual a view of it in so many tokens.

    Returns the manuals that there are. A shortened view is for readers: no library reads it back. Raises TooLong.
    """
    export(run)
    written: list[Path] = []
    for group, state in learned_in(run).items():
        home = library_folder(run, group) / run.config.world.name
        short = "" if tokens is None else with_manual(run, group, state, tokens).manual
        replace_files(home, {SHORT_MANUAL: short})
        written += [home / name for name in (MANUAL_FILE, SHORT_MANUAL) if (home / name).exists()]
    return written


def library_folder(run: Run, group: str) -> Path:
    """Return the folder of a group's library."""
    return run.folder / "learnt" if group == EVERYTHING else run.folder / "learnt" / group
