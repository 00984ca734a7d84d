"""ADaPT, which decomposes tasks when execution fails, and its baselines, all on the same executor.

``controller`` holds ADaPT and the baselines, ``order`` reads a planner's And/Or plan, ``executor`` works on one
subtask.
"""

from collections.abc import Mapping
from functools import partial

from pydantic import BaseModel

from planbook.envs import Environment
from planbook.planner.prompts import PROMPTS
from planbook.planner.roles import PLANNER_ROLE
from planbook.planner.strategies.adapt.controller import (
    PLANNING,
    PLANNING_DETAILED,
    REFLECTOR,
    AdaptOptions,
    DepthOptions,
    PlannedOptions,
    adapt,
    plan_and_execute,
    react,
    reflexion,
    try_again,
)
from planbook.planner.strategies.adapt.executor import DEMONSTRATIONS, EXECUTOR, DecompositionFigures, Subtask
from planbook.planner.strategies.base import Method


def _deep(options: BaseModel, environment: Environment) -> bool:
    """Return whether there is more than one level, or round."""
    return isinstance(options, DepthOptions) and options.deepest(environment.name) > 1


_on_the_executor = partial(
    Method,
    streams=True,
    spans=(Subtask,),
    figures=(DecompositionFigures,),
    templates=PROMPTS.files("adapt/*.j2", "executor/*.j2", "reflexion/*.j2"),
)

METHODS: Mapping[str, Method] = {
    "adapt": _on_the_executor(
        adapt,
        AdaptOptions,
        "execute first, take apart only what fails (ADaPT)",
        (EXECUTOR, PLANNER_ROLE),
        (*DEMONSTRATIONS, PLANNING),
        {PLANNER_ROLE: _deep},
    ),
    "plan-and-execute": _on_the_executor(
        plan_and_execute,
        PlannedOptions,
        "one detailed plan, each step executed",
        (PLANNER_ROLE, EXECUTOR),
        (*DEMONSTRATIONS, PLANNING_DETAILED, PLANNING),
        stand_ins=(PLANNING,),
    ),
    "react": _on_the_executor(
        react, DepthOptions, "ADaPT's executor alone, on the whole task", (EXECUTOR,), DEMONSTRATIONS
    ),
    "reflexion": _on_the_executor(
        reflexion,
        DepthOptions,
        "rounds with a reflection in between",
        (EXECUTOR, REFLECTOR),
        DEMONSTRATIONS,
        {REFLECTOR: _deep},
    ),
    "try-again": _on_the_executor(
        try_again, DepthOptions, "separate rounds, the best counts", (EXECUTOR,), DEMONSTRATIONS
    ),
}
