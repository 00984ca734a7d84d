"""`planbook effect`: the effect of each rule and skill, measured by test runs without it.

A *part* is a rule or a skill that was learned. Each run without a part is compared with the run that has all parts.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict

from planbook import errors
from planbook.commands.testing import STOPPED, Series, test_config
from planbook.compare.effects import PartEffect, effects_in_words, part_effects
from planbook.config import Config, models_by_role
from planbook.console import console
from planbook.envs import Task
from planbook.knowledge import known_parts, memory_of
from planbook.learning.tasks import tasks_of
from planbook.options import JSON, RUN_FOLDER, SELECTION, Command, options
from planbook.planner import Recall
from planbook.results import read_folder
from planbook.runs import RunFile, is_run, new_folder
from planbook.settings import Settings, split_names
from planbook.terminal import print_parts


class Effects(BaseModel):
    """Output of ``planbook effect --json``.

    ``finished`` is False if a run is missing or not complete. ``runs`` maps "all", and each part that was left out, to
    the folder of its run.
    """

    model_config = ConfigDict(frozen=True)

    library: str
    tasks: int
    solved: int
    parts: tuple[PartEffect, ...]
    runs: dict[str, str]
    finished: bool


@click.command("effect", cls=Command)
@click.argument("library", metavar="RUN", type=RUN_FOLDER)
@click.option("--parts", default="", metavar="NAME,...", help="Leave out only these: rule_3, skill:TYPE.")
@options(*SELECTION, "after", "rule_tokens", "Planning", "Models", "Spending", "Running")
@JSON
def effect_command(library: Path, parts: str, settings: Settings) -> tuple[int, Effects]:
    """Measure what each rule and skill of RUN, a run of `planbook build`, is worth, by playing test tasks without it.

    One run plays with everything. Then, for each part, a run without it plays the tasks that use it.
    """
    building = RunFile.read(library).config if is_run(library) else None
    env = settings.env or (building.env if building else "")
    config = test_config(settings.model_copy(update={"library": str(library), "env": env}))
    known, chosen = known_parts(config), split_names(parts)
    if unknown := sorted(set(chosen) - set(known)):
        raise errors.BadArgument(f"--parts {unknown[0]}: there is no such rule or skill; known: {', '.join(known)}")
    if not models_by_role(settings.models) and not settings.planner:
        models = ", ".join(dict.fromkeys(building.models.values())) if building else ""
        raise errors.BadArgument(
            f"use --model to name the model that plays{f' ({library} was built with {models})' if models else ''}; or "
            "measure the procedures alone, which ask no model, with --planner procedures"
        )
    return play_effects(config, chosen or known, settings.out or new_folder(config), Series(settings))


def play_effects(config: Config, parts: Sequence[str], out: Path, series: Series) -> tuple[int, Effects]:
    """Play a test run with all parts, and for each part a run without it, in folders below ``out``. Print the effects.

    A run without a part plays only the tasks that use it. Stops after the first run that is interrupted or whose budget
    ends; the same command continues from there. Raises BadArgument if the settings of a run are invalid, or BadRun if
    a folder holds a run with other settings.
    """
    screen, folders = console(), dict[str, Path | None]()
    exit_code, summary = series.play(config, out / "all")
    finished = exit_code not in STOPPED
    for part, (ablated, affected) in _ablations(config, parts if finished else ()).items():
        folders[part] = out / f"without-{part.replace(':', '-')}" if affected else None
        if folder := folders[part]:
            screen.print(f"Without {part}:")
            code, _ = series.play(ablated, folder, affected)
            exit_code = max(exit_code, code)
            if code in STOPPED:
                finished = False
                del folders[part]
                break
    effects = part_effects(
        read_folder(out / "all"), {part: read_folder(folder) if folder else None for part, folder in folders.items()}
    )
    if effects:
        print_parts(screen, effects_in_words(effects))
    if not finished:
        larger = " and a larger --budget" if exit_code == errors.OUT_OF_BUDGET else ""
        screen.print(f"Not finished; the same command with --out {out}{larger} continues.", soft_wrap=True)
    runs = {"all": str(out / "all"), **{part: str(folder) for part, folder in folders.items() if folder}}
    return exit_code, Effects(
        library=config.library,
        tasks=summary.tasks,
        solved=summary.solved,
        parts=effects,
        runs=runs,
        finished=finished,
    )


def _ablations(config: Config, parts: Sequence[str]) -> Mapping[str, tuple[Config, list[Task]]]:
    """Map each part to the configuration without it, and to the tasks whose recalled knowledge changes without it."""
    tasks, memory, ablations = tasks_of(config), memory_of(config), dict[str, tuple[Config, list[Task]]]()
    for part in parts:
        ablated = config.model_copy(update={"without": tuple(sorted({*config.without, part}))})
        reduced = memory_of(ablated)
        affected = [task for task in tasks if _used(config, reduced.recall(task)) != _used(config, memory.recall(task))]
        ablations[part] = ablated, affected
    return ablations


def _used(config: Config, recall: Recall) -> Recall:
    """Return the part of the recalled knowledge that is used. Without a model, nobody reads the rules."""
    if config.models:
        return recall
    return recall.model_copy(update={"text": "", "data": "", "example": "", "rule_ids": (), "demonstrations": {}})
