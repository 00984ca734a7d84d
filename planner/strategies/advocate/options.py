"""What Devil's Advocate and the methods that it is compared with can be told, and whom they ask."""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field, JsonValue

from planbook.planner.strategies.base import Options

EVALUATOR, SUMMARIZER = "evaluator", "summarizer"
ROUNDS, ACTIONS = 7, 30
"""Rounds of a task, and actions over all of them (section 4.1)."""


class AdvocateOptions(Options):
    """What Devil's Advocate and the methods that it is compared with have in common."""

    usual_actions: ClassVar[int | None] = ACTIONS
    usual_sampling: ClassVar[Mapping[str, JsonValue]] = {"temperature": 1.0, "max_tokens": 512}

    rounds: int = Field(default=ROUNDS, ge=1, le=100, description="How often the task is begun, at most.")
    whole_subtasks: bool = Field(
        default=True,
        description="Whether code may do a whole sub-task, with loops and functions; false is one action at a time, "
        "as in the paper.",
    )
    summarise_above: int | None = Field(
        default=8_000,
        ge=200,
        description="What there is to be seen is summarised first if it has more characters than this, but for "
        "those who act on it or answer from it; null never asks the summarizer.",
    )
    until_solved: bool = Field(
        default=False,
        description="Whether a task that was held to be complete and is not is begun again while rounds are left; "
        "the paper's agent is not told, and stops.",
    )
