"""The effect of each rule and skill: test runs without it, compared with one with everything."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from planbook import errors
from planbook.commands.playing import play
from planbook.compare import PartEffect, effect_parts, part_effects
from planbook.config import Config
from planbook.console import console
from planbook.envs import Task
from planbook.knowledge import memory_of
from planbook.learning import tasks_of
from planbook.planner import Budget, Recall, Spent
from planbook.results import Summary, read_folder
from planbook.runs import Run
from planbook.settings import Settings
from planbook.spending import prices_from, spent_so_far
from planbook.terminal.printing import print_parts

STOPPED = (errors.INTERRUPTED, errors.OUT_OF_BUDGET)


class Series:
    """Plays runs one after another, within one budget for all."""

    def __init__(self, settings: Settings, *, as_json: bool) -> None:
        self._hosting, self._store, self._as_json = settings.hosting(), settings.store, as_json
        self._played: list[Path] = []

    def play(self, config: Config, out: Path | None, tasks: Sequence[Task] | None = None) -> tuple[int, Summary]:
        """Play a run of ``tasks``, by default the selected ones, and return its exit code."""
        hosting = self._hosting.model_copy(update={"budget": self._remaining()})
        code, summary = play(config, out, hosting, as_json=self._as_json, store=self._store, tasks=tasks)
        self._played.append(Path(summary.run))
        return code, summary

    def _remaining(self) -> Budget | None:
        if self._hosting.budget is None:
            return None
        return remaining(self._hosting.budget, sum(map(self._spent, self._played), Spent()))

    def _spent(self, folder: Path) -> Spent:
        with closing(Run.open(folder)) as run:
            return spent_so_far(run.own_events(), prices_from(self._hosting.prices))


def remaining(budget: Budget, spent: Spent) -> Budget:
    """Return the unspent part of a budget."""
    limits = {name: getattr(budget, name) for name in ("calls", "tokens", "money", "actions", "seconds")}
    left = {name: max(0, limit - (getattr(spent, name) or 0)) for name, limit in limits.items() if limit is not None}
    return budget.model_copy(update=left)


class Effects(BaseModel):
    """Output of ``planbook effect --json``.

    ``finished`` is False if some parts have not been played; ``runs`` has the folder of each run.
    """

    model_config = ConfigDict(frozen=True)

    library: str
    tasks: int
    solved: int
    parts: tuple[PartEffect, ...]
    runs: dict[str, str]
    finished: bool


def play_effects(
    config: Config, parts: Sequence[str], out: Path, series: Series, *, as_json: bool
) -> tuple[int, Effects]:
    """Play a test run with everything, and one without each part, in folders below ``out``; print the effects.

    A run without a part plays only the tasks whose prompts it changes. Stops after the first run that is interrupted or
    whose budget ends; the same command continues. Raises BadArgument, BadRun.
    """
    screen, without = console(as_json), dict[str, Path | None]()
    worst, summary = series.play(config, out / "all")
    finished = worst not in STOPPED
    for part, (ablated, affected) in _ablations(config, parts if finished else ()).items():
        without[part] = out / f"without-{part.replace(':', '-')}" if affected else None
        if folder := without[part]:
            screen.print(f"Without {part}:")
            code, _ = series.play(ablated, folder, affected)
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
        larger = " and a larger --budget" if worst == errors.OUT_OF_BUDGET else ""
        screen.print(f"Not finished; the same command with --out {out}{larger} continues.", soft_wrap=True)
    runs = {"all": str(out / "all"), **{part: str(folder) for part, folder in without.items() if folder}}
    return worst, Effects(
        library=config.library,
        tasks=summary.tasks,
        solved=summary.solved,
        parts=effects,
        runs=runs,
        finished=finished,
    )


def _ablations(config: Config, parts: Sequence[str]) -> Mapping[str, tuple[Config, list[Task]]]:
    """Return the configuration without each part, and the tasks that it affects."""
    tasks, known, ablations = tasks_of(config), memory_of(config), dict[str, tuple[Config, list[Task]]]()
    for part in parts:
        ablated = config.model_copy(update={"without": tuple(sorted({*config.without, part}))})
        memory = memory_of(ablated)
        affected = [task for task in tasks if _used(config, memory.recall(task)) != _used(config, known.recall(task))]
        ablations[part] = ablated, affected
    return ablations


def _used(config: Config, recall: Recall) -> Recall:
    """Return the part of a recall that is used: without a model, nobody reads the rules."""
    if config.models:
        return recall
    return recall.model_copy(update={"text": "", "data": "", "example": "", "rule_ids": (), "demonstrations": {}})
