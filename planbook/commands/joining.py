"""`planbook join`: play episodes of a run that another process has begun and is playing."""

from contextlib import closing
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict

from planbook import errors
from planbook.console import console
from planbook.options import JSON, RUN_FOLDER, Command, options
from planbook.planner import EpisodeStopped
from planbook.resuming import check_config, notice_changes
from planbook.runs import Run
from planbook.settings import Settings
from planbook.wording import counted
from planbook.workers import join_run


class JoinResult(BaseModel):
    """Output of ``join --json``: the episodes that this process played in the run, and what it spent on them."""

    model_config = ConfigDict(frozen=True)

    episodes: int
    model_calls: int
    tokens: int
    run: str


@click.command("join", cls=Command)
@click.argument("run", type=RUN_FOLDER)
@options("prices", "jobs", "unsafe_no_sandbox")
@JSON
def join_command(run: Path, settings: Settings) -> tuple[int, JoinResult]:
    """Help to play a RUN that another process plays, on this machine or another one.

    If the events of the run are in PostgreSQL, a copy of its folder is enough. If this process is lost, another one
    continues its episodes. This process ends when the process that plays the run ends.
    """
    execution = settings.execution()
    with closing(Run.open(run)) as opened:
        if opened.config.learning is not None:
            raise errors.BadArgument(f"{run} learns from one episode after another, so no other process can join it")
        if not opened.is_played:
            raise errors.BadRun(f"no process plays {run}; resume it with: planbook run --resume {run}")
        check_config(opened.config, run)
        notice_changes(opened, execution)
        report = join_run(opened, execution)
        if report.error is not None and not isinstance(report.error, EpisodeStopped):
            raise report.error
        played = opened.store.leases.workers().count(report.worker)
    console().print(f"{counted(played, 'episode')} of {run} played here.", markup=False, soft_wrap=True)
    joined = JoinResult(episodes=played, model_calls=report.spent.calls, tokens=report.spent.tokens, run=str(run))
    return errors.INTERRUPTED if report.error else errors.OK, joined
