"""What each rule and skill is worth: test runs without it beside one with all that is known."""

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
    """Plays runs one after the other, all of them within one budget."""

    def __init__(self, settings: Settings, *, as_json: bool) -> None:
        self._hosting, self._store, self._as_json = settings.hosting(), settings.store, as_json
        self._played: list[Path] = []

    def play(self, config: Config, out: Path | None, tasks: Sequence[Task] | None = None) -> tuple[int, Summary]:
        """Play a run of the tasks that the configuration selects, unless others are given; return its exit code."""
        hosting = self._hosting.model_copy(update={"budget": self._left()})
        code, summary = play(config, out, hosting, as_json=self._as_json, store=self._store, tasks=tasks)
        self._played.append(Path(summary.run))
        return code, summary

    def _left(self) -> Budget | None:
        if self._hosting.budget is None:
            return None
        return less(self._hosting.budget, sum(map(self._spent, self._played), Spent()))

    def _spent(self, folder: Path) -> Spent:
        with closing(Run.open(folder)) as run:
            return spent_so_far(run.own_events(), prices_from(self._hosting.prices))


def less(budget: Budget, spent: Spent) -> Budget:
    """Return what is left of a budget."""
    limits = {name: getattr(budget, name) for name in ("calls", "tokens", "money", "actions", "seconds")}
    left = {name: max(0, limit - (getattr(spent, name) or 0)) for name, limit in limits.items() if limit is not None}
    return budget.model_copy(update=left)


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
    config: Config, parts: Sequence[str], out: Path, series: Series, *, as_json: bool
) -> tuple[int, Effects]:
    """Play a test run with all that is known, and one without each part, in folders below ``out``; print the effects.

    Without a part only those tasks are played whose planner is told something else. The first run that is stopped, or
    whose budget ends, is the last; the same command goes on. Raises BadArgument, BadRun.
    """
    screen, without = console(as_json), dict[str, Path | None]()
    worst, summary = series.play(config, out / "all")
    finished = worst not in STOPPED
    for part, (lesser, affected) in _lesser(config, parts if finished else ()).items():
        without[part] = out / f"without-{part.replace(':', '-')}" if affected else None
        if folder := without[part]:
            screen.print(f"Without {part}:")
            code, _ = series.play(lesser, folder, affected)
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
        screen.print(f"Not finished; the same command with --out {out}{larger} goes on.", soft_wrap=True)
    runs = {"all": str(out / "all"), **{part: str(folder) for part, folder in without.items() if folder}}
    return worst, Effects(
        library=config.library,
        tasks=summary.tasks,
        solved=summary.solved,
        parts=effects,
        runs=runs,
        finished=finished,
    )


def _lesser(config: Config, parts: Sequence[str]) -> Mapping[str, tuple[Config, list[Task]]]:
    """Return the configuration without each part, and the tasks that are played otherwise then."""
    tasks, known, found = tasks_of(config), memory_of(config), dict[str, tuple[Config, list[Task]]]()
    for part in parts:
        lesser = config.model_copy(update={"without": tuple(sorted({*config.without, part}))})
        memory = memory_of(lesser)
        affected = [task for task in tasks if _used(config, memory.recall(task)) != _used(config, known.recall(task))]
        found[part] = lesser, affected
    return found


def _used(config: Config, recall: Recall) -> Recall:
    """Return what is used of a recall: where no model is asked, nobody reads the rules."""
    if config.models:
        return recall
    return recall.model_copy(update={"text": "", "data": "", "example": "", "rule_ids": (), "demonstrations": {}})
