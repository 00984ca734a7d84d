"""What every run asks of learning: its tasks, the memory that it plays with, and where an episode's lessons are."""

import random
from collections.abc import Sequence

from planbook.config import FOUND, Config
from planbook.envs import Task
from planbook.errors import BadArgument
from planbook.knowledge import PROCEDURES, demonstrating, memory_of
from planbook.manuals import types_to_build_on
from planbook.planner import Memory
from planbook.runs import Entry


def tasks_of(config: Config) -> Sequence[Task]:
    """Return the tasks that a run is to play. Raises BadSelection, BadArgument."""
    return (
        building_tasks(config)
        if config.learning
        else config.environment.select(config.selection, config.environment_options)
    )


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
        every = config.environment.select(
            config.selection.model_copy(update={"limit": None}), config.environment_options
        )
        return dice.sample(every, min(number, len(every)))
    tasks = config.environment.select(config.selection, config.environment_options)
    if config.selection.ids:
        return tasks
    chosen = types_to_build_on(config.environment.name, sorted({task.type for task in tasks}))
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
    known, verify = config.environment.task_splits(config.environment_options), config.learning.verify
    split, _, count = verify.partition(":")
    if verify and not (split in known and count.isdecimal() and int(count)):
        raise BadArgument(f"--verify {verify}: write SPLIT:N, such as {known[0]}:20; the splits: {', '.join(known)}")


def playing_memory(config: Config, learned: Memory) -> Memory:
    """Return the memory of a building run's planner: what was learned so far; stored procedures of the library."""
    return memory_of(config) if config.planner == PROCEDURES else demonstrating(config, learned)


def learning_path(entry: Entry) -> str:
    """Return the scope of what is learned from an episode."""
    return f"learn/{entry.index}"
