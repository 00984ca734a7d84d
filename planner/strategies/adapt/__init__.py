"""ADaPT, which decomposes tasks when execution fails, and its baselines, all on the same executor.

``controller`` holds ADaPT and the baselines, ``order`` reads a planner's And/Or plan, ``executor`` works on one
subtask.
"""

from collections.abc import Mapping

from pydantic import BaseModel

from planbook.envs import Environment
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
from planbook.planner.templates import PROMPTS


def _deep(options: BaseModel, environment: Environment) -> bool:
    """Return whether there is more than one level, or round."""
    return isinstance(options, DepthOptions) and options.deepest(environment.name) > 1


_TEMPLATES = PROMPTS.files("adapt/*.j2", "executor/*.j2", "reflexion/*.j2")

METHODS: Mapping[str, Method] = {
    "adapt": Method(
        adapt,
        AdaptOptions,
        "execute first, take apart only what fails (ADaPT)",
        (EXECUTOR, PLANNER_ROLE),
        (*DEMONSTRATIONS, PLANNING),
        sometimes={PLANNER_ROLE: _deep},
        streams=True,
        spans=(Subtask,),
        figures=(DecompositionFigures,),
        templates=_TEMPLATES,
    ),
    "plan-and-execute": Method(
        plan_and_execute,
        PlannedOptions,
        "one detailed plan, each step executed",
        (PLANNER_ROLE, EXECUTOR),
        (*DEMONSTRATIONS, PLANNING_DETAILED, PLANNING),
        stand_ins=(PLANNING,),
        streams=True,
        spans=(Subtask,),
        figures=(DecompositionFigures,),
        templates=_TEMPLATES,
    ),
    "react": Method(
        react,
        DepthOptions,
        "ADaPT's executor alone, on the whole task",
        (EXECUTOR,),
        DEMONSTRATIONS,
        streams=True,
        spans=(Subtask,),
        figures=(DecompositionFigures,),
        templates=_TEMPLATES,
    ),
    "reflexion": Method(
        reflexion,
        DepthOptions,
        "rounds with a reflection in between",
        (EXECUTOR, REFLECTOR),
        DEMONSTRATIONS,
        sometimes={REFLECTOR: _deep},
        streams=True,
        spans=(Subtask,),
        figures=(DecompositionFigures,),
        templates=_TEMPLATES,
    ),
    "try-again": Method(
        try_again,
        DepthOptions,
        "separate rounds, the best counts",
        (EXECUTOR,),
        DEMONSTRATIONS,
        streams=True,
        spans=(Subtask,),
        figures=(DecompositionFigures,),
        templates=_TEMPLATES,
    ),
}
