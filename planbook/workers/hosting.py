"""The settings of one invocation: how many episodes side by side, where, and at what cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from planbook.planner import Budget
from planbook.planner.models.waiting import Timeouts
from planbook.workers.steering import Steering

Executor = Literal["threads", "processes", "ray"]


@dataclass(frozen=True)
class Hosting:
    """How an invocation plays a run; None leaves a setting of the run as it is.

    ``executor`` says where: threads of this process, processes of this machine, or a Ray cluster. ``timeouts`` are for
    model calls. ``unsafe_no_sandbox`` lets plans run where the kernel cannot confine them, ``allow_changed`` lets a run
    go on with other data, prompts or knowledge. ``steering`` stops and pauses this run only.
    """

    jobs: int = 1
    unsafe_no_sandbox: bool = False
    budget: Budget | None = None
    prices: Path | None = None
    timeouts: Timeouts | None = None
    executor: Executor = "threads"
    steering: Steering | None = None
    allow_changed: bool = False

    def recorded(self) -> dict[str, JsonValue]:
        """Return what the run records, so that ``planbook watch`` can resume it with the same settings."""
        recorded: dict[str, JsonValue] = {"jobs": self.jobs, "executor": self.executor}
        if self.unsafe_no_sandbox:
            recorded["unsafe_no_sandbox"] = True
        if self.prices:
            recorded["prices"] = str(self.prices.resolve())
        return recorded


def arguments(recorded: Mapping[str, Any]) -> list[str]:
    """Return the command line options for the settings that an invocation recorded."""
    options = ["--jobs", str(recorded.get("jobs", 1))]
    if recorded.get("executor", "threads") != "threads":
        options += ["--executor", recorded["executor"]]
    if recorded.get("unsafe_no_sandbox"):
        options.append("--unsafe-no-sandbox")
    return options + (["--prices", recorded["prices"]] if "prices" in recorded else [])
