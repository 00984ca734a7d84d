"""Select the tasks of a run. For a run of `planbook build`, they are drawn at random."""

import random
from collections.abc import Sequence

from planbook.config import FOUND, Config
from planbook.envs import Task
from planbook.errors import BadArgument


def tasks_of(config: Config) -> Sequence[Task]:
    """Return the tasks of a run. Raises BadSelection or BadArgument if the selection is invalid."""
    if config.learning:
        return building_tasks(config)
    return config.environment.select(config.selection, config.environment_options)


def building_tasks(config: Config) -> list[Task]:
    """Return the tasks of a run of `planbook build`: a number of each type, drawn and shuffled with the run's seed.

    This follows appendix D of AutoManual. Raises BadSelection or BadArgument if the selection, or another setting for
    learning, is invalid.
    """
    assert config.learning is not None
    check_learning(config)
    if config.copies:
        from planbook.learning.copying import tasks_to_copy  # slow to import, and rarely needed

        return tasks_to_copy(config)
    rng = random.Random(f"building/{config.seed}")
    any_type = config.types == FOUND and not config.selection.ids
    selection = config.selection.model_copy(update={"limit": None}) if any_type else config.selection
    tasks = config.environment.select(selection, config.environment_options)
    if any_type:
        return rng.sample(tasks, min(config.selection.limit or config.learning.tasks_per_type, len(tasks)))
    if config.selection.ids:
        return tasks
    from planbook.manuals import types_to_build_on  # only building draws tasks

    chosen = types_to_build_on(config.environment.name, sorted({task.type for task in tasks}))
    drawn: list[Task] = []
    for kind in chosen:
        of_type = [task for task in tasks if task.type == kind]
        drawn += rng.sample(of_type, min(config.learning.tasks_per_type, len(of_type)))
    rng.shuffle(drawn)
    if not drawn:
        raise BadArgument(
            "`planbook build` uses none of the chosen task types, since they repeat others; choose others with --types"
        )
    return drawn


def check_learning(config: Config) -> None:
    """Check the setting ``--verify``: a split and a number of tasks. Raises BadArgument if it is invalid."""
    assert config.learning is not None
    known, verify = config.environment.task_splits(config.environment_options), config.learning.verify
    split, _, count = verify.partition(":")
    if verify and not (split in known and count.isdecimal() and int(count)):
        raise BadArgument(f"--verify {verify}: write SPLIT:N, such as {known[0]}:20; the splits: {', '.join(known)}")
