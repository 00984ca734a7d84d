"""`planbook join`: help to play a run that another process plays."""

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
from planbook.workers import Hosting, join_run


class Joined(BaseModel):
    """Episodes that a process played in a run it joined, and what it spent on them."""

    model_config = ConfigDict(frozen=True)

    episodes: int
    model_calls: int
    tokens: int
    run: str


@click.command("join", cls=Command)
@click.argument("run", type=RUN_FOLDER)
@options("prices", "jobs", "unsafe_no_sandbox")
@JSON
def join_command(run: Path, settings: Settings) -> tuple[int, Joined]:
    """Help to play a RUN that another process plays, on this machine or another one.

    If the events of the run are in PostgreSQL, a copy of its folder is enough. If this process is lost, another one
    continues its episodes. This process ends when the process that plays the run ends.
    """
    return join(run, settings.hosting())


def join(folder: Path, hosting: Hosting) -> tuple[int, Joined]:
    """Help to play a run that another process plays. Raises the error that stops it."""
    with closing(Run.open(folder)) as run:
        check_config(run.config, folder)
        if run.config.learning is not None:
            raise errors.BadArgument(f"{folder} is a building run, which plays one episode after another")
        if not run.is_played:
            raise errors.BadRun(f"no process plays {folder}; resume it with: planbook run --resume {folder}")
        notice_changes(run, hosting)
        report = join_run(run, hosting)
    if report.error is not None and not isinstance(report.error, EpisodeStopped):
        raise report.error
    with closing(Run.open(folder)) as run:
        played = report.episodes(run.store)
    out = console()
    out.print(f"{counted(played, 'episode')} of {folder} played here.", markup=False, soft_wrap=True)
    spent = report.spent
    joined = Joined(episodes=played, model_calls=spent.calls, tokens=spent.tokens, run=str(folder))
    return errors.INTERRUPTED if report.error else errors.OK, joined
