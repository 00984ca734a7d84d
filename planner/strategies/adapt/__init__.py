"""ADaPT, which decomposes tasks when execution fails, and its baselines. All use the same executor.

``controller`` holds ADaPT and the baselines, ``order`` reads a planner's And/Or plan, ``executor`` works on one
subtask.
"""

from collections.abc import Mapping
from functools import partial

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


def _has_levels(options: DepthOptions, environment: Environment) -> bool:
    """Return True if there is more than one level or round."""
    return options.deepest(environment.name) > 1


_executor_method = partial(
    Method,
    streams=True,
    spans=(Subtask,),
    figures=(DecompositionFigures,),
    templates=PROMPTS.files("adapt/*.j2", "executor/*.j2", "reflexion/*.j2"),
)

METHODS: Mapping[str, Method] = {
    "adapt": _executor_method(
        adapt,
        AdaptOptions,
        "execute first, decompose only what fails (ADaPT)",
        (EXECUTOR, PLANNER_ROLE),
        (*DEMONSTRATIONS, PLANNING),
        {PLANNER_ROLE: _has_levels},
    ),
    "plan-and-execute": _executor_method(
        plan_and_execute,
        PlannedOptions,
        "one detailed plan, each step executed",
        (PLANNER_ROLE, EXECUTOR),
        (*DEMONSTRATIONS, PLANNING_DETAILED, PLANNING),
        stand_ins=(PLANNING,),
    ),
    "react": _executor_method(
        react, DepthOptions, "ADaPT's executor alone, on the whole task", (EXECUTOR,), DEMONSTRATIONS
    ),
    "reflexion": _executor_method(
        reflexion,
        DepthOptions,
        "rounds with a reflection between them",
        (EXECUTOR, REFLECTOR),
        DEMONSTRATIONS,
        {REFLECTOR: _has_levels},
    ),
    "try-again": _executor_method(
        try_again, DepthOptions, "separate rounds, the best counts", (EXECUTOR,), DEMONSTRATIONS
    ),
}
