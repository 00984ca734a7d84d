"""Run the procedure that the memory knows for the task's type. No model is asked."""

from pydantic import BaseModel

from planner.episode import Episode
from planner.strategies.base import NoStrategyOptions

Options = NoStrategyOptions


def procedures(episode: Episode, options: BaseModel) -> None:
    """Define the procedure's helpers, then run it as one cell; give up where there is none or it fails."""
    procedure = episode.recall().procedure
    if procedure is None:
        return
    with episode.frame("procedure", helpers=procedure.helpers):
        episode.run(f"{procedure.code}\n\nsolve(agent, task)\n", source=procedure.name)
