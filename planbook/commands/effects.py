"""What each rule and skill is worth: test runs without it beside one with all that is known."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from planbook import errors
from planbook.compare import PartEffect, effect_parts, part_effects
from planbook.config import Config
from planbook.console import console
from planbook.envs import Task
from planbook.knowledge import memory_of
from planbook.learning import tasks_of
from planbook.results import Summary, read_folder
from planbook.terminal.printing import print_parts

STOPPED = (errors.INTERRUPTED, errors.OUT_OF_BUDGET)


class PlayOne(Protocol):
    """Plays a test run into a folder, of the tasks that the configuration selects unless others are given."""

    def __call__(self, config: Config, out: Path, *, tasks: Sequence[Task] | None = None) -> tuple[int, Summary]:
        """Return the exit code and the summary."""


class Effects(BaseModel):
    """The object that ends the standard output of ``planbook effect --json``.

    ``finished`` is False where some parts were not played yet; ``runs`` has the folder of each run.
    """

    model_config = ConfigDict(frozen=True)

    library: str
    tasks: int
    solved: int
    parts: tuple[PartEffect, ...]
    runs: dict[str, str]
    finished: bool


def play_effects(
    config: Config, parts: Sequence[str], out: Path, play_one: PlayOne, *, as_json: bool
) -> tuple[int, Effects]:
    """Play a test run with all that is known, and one without each part, in folders below ``out``; print the effects.

    Without a part only those tasks are played whose planner is told something else. The first run that is stopped, or
    whose budget ends, is the last; the same command goes on. Raises BadArgument, BadRun.
    """
    screen, without = console(as_json), dict[str, Path | None]()
    worst, summary = play_one(config, out / "all")
    known, tasks, finished = memory_of(config), tasks_of(config), worst not in STOPPED
    for part in parts if finished else ():
        lesser = config.model_copy(update={"without": tuple(sorted({*config.without, part}))})
        memory = memory_of(lesser)
        affected = [task for task in tasks if memory.recall(task) != known.recall(task)]
        without[part] = out / f"without-{part.replace(':', '-')}" if affected else None
        if folder := without[part]:
            screen.print(f"Without {part}:")
            code, _ = play_one(lesser, folder, tasks=affected)
            worst = max(worst, code)
            if code in STOPPED:
                finished = False
                del without[part]
                break
    effects = part_effects(
        read_folder(out / "all"), {part: read_folder(folder) if folder else None for part, folder in without.items()}
    )
    if effects:
        print_parts(screen, effect_parts(effects))
    if not finished:
        screen.print(f"Not finished; the same command with --out {out} goes on.", soft_wrap=True)
    runs = {"all": str(out / "all"), **{part: str(folder) for part, folder in without.items() if folder}}
    return worst, Effects(
        library=config.library,
        tasks=summary.tasks,
        solved=summary.solved,
        parts=effects,
        runs=runs,
        finished=finished,
    )
