"""ADaPT, which takes tasks apart where they fail, and what it is compared with: all of them on one executor.

``recursion`` is ADaPT, and ``order`` reads its plans; the other modules are the executor, how deep it goes, and the
baselines.
"""

from collections.abc import Mapping

from pydantic import BaseModel

from planbook.envs import Environment
from planbook.planner.roles import PLANNER
from planbook.planner.strategies.adapt.baselines import REFLECTOR, plan_and_execute, react, reflexion, try_again
from planbook.planner.strategies.adapt.depth import DepthOptions
from planbook.planner.strategies.adapt.executor import DEMONSTRATIONS, EXECUTOR, Subtask
from planbook.planner.strategies.adapt.figures import Decomposition
from planbook.planner.strategies.adapt.recursion import (
    PLANNING,
    PLANNING_DETAILED,
    AdaptOptions,
    PlannedOptions,
    adapt,
)
from planbook.planner.strategies.base import Method
from planbook.planner.templates import PROMPTS


def _deep(options: BaseModel, world: Environment) -> bool:
    """Whether there is more than one level, or round."""
    return isinstance(options, DepthOptions) and options.deepest(world.name) > 1


_TEMPLATES = PROMPTS.files("adapt/*.j2", "executor/*.j2", "reflexion/*.j2")

METHODS: Mapping[str, Method] = {
    "adapt": Method(
        adapt,
        AdaptOptions,
        "execute first, take apart only what fails (ADaPT)",
        (EXECUTOR, PLANNER),
        (*DEMONSTRATIONS, PLANNING),
        sometimes={PLANNER: _deep},
        streams=True,
        spans=(Subtask,),
        figures=(Decomposition,),
        templates=_TEMPLATES,
    ),
    "plan-and-execute": Method(
        plan_and_execute,
        PlannedOptions,
        "one detailed plan, each step executed",
        (PLANNER, EXECUTOR),
        (*DEMONSTRATIONS, PLANNING_DETAILED, PLANNING),
        stand_ins=(PLANNING,),
        streams=True,
        spans=(Subtask,),
        figures=(Decomposition,),
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
        figures=(Decomposition,),
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
        figures=(Decomposition,),
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
        figures=(Decomposition,),
        templates=_TEMPLATES,
    ),
}
