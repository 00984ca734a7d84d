"""DEPS: describe, explain, plan and select; and its baselines, which run a list of goals or a program.

``replanning`` holds DEPS and its baselines. ``goals`` reads a plan, with ``text_matching`` for lines that are not
exact; ``selectors`` choose the next goal, by its predicted horizon if wanted. ``pursuit`` reaches goals, by one action
or by a controller.
"""

from collections.abc import Mapping
from functools import partial

from pydantic import BaseModel

from planbook.envs import Environment
from planbook.planner.prompts import PROMPTS
from planbook.planner.roles import PLANNER_ROLE
from planbook.planner.strategies.base import Method, Options
from planbook.planner.strategies.deps.pursuit import CONTROLLER, GoalFigures, GoalTried, PursuitOptions
from planbook.planner.strategies.deps.replanning import (
    ASSERTIONS,
    DEMONSTRATION,
    EXPLAINED,
    EXPLAINER,
    LISTS,
    POLICIES,
    THOUGHTS,
    DepsOptions,
    ReplanningOptions,
    chain_of_thought,
    code_as_policies,
    dep,
    deps,
    inner_monologue,
    prog_prompt,
    zero_shot,
    zero_shot_replan,
)


def _controlled(options: BaseModel, environment: Environment) -> bool:
    """Return whether the environment's goals need a controller."""
    return not environment.goals.direct


def _replanned(options: BaseModel, environment: Environment) -> bool:
    """Return whether a failure is explained."""
    return isinstance(options, ReplanningOptions) and options.replans > 0


_TEMPLATES = PROMPTS.files("deps/*.j2")
_lists_goals = partial(
    Method,
    roles=(PLANNER_ROLE, CONTROLLER),
    sometimes={CONTROLLER: _controlled},
    spans=(GoalTried,),
    figures=(GoalFigures,),
    templates=_TEMPLATES,
)
_explains = partial(
    _lists_goals,
    roles=(PLANNER_ROLE, EXPLAINER, CONTROLLER),
    sometimes={CONTROLLER: _controlled, EXPLAINER: _replanned},
    demonstrations=(DEMONSTRATION, EXPLAINED),
)
_programs = partial(Method, roles=(PLANNER_ROLE,), streams=True, templates=_TEMPLATES)

METHODS: Mapping[str, Method] = {
    "chain-of-thought": _lists_goals(
        chain_of_thought, PursuitOptions, "one plan, thought through step by step", demonstrations=(THOUGHTS,)
    ),
    "code-as-policies": _programs(
        code_as_policies, Options, "one program that decides by what it sees", demonstrations=(POLICIES,)
    ),
    "dep": _explains(dep, ReplanningOptions, "DEPS without its selector"),
    "deps": _explains(deps, DepsOptions, "goals from a plan, the nearest first; what fails is explained"),
    "inner-monologue": _lists_goals(
        inner_monologue, PursuitOptions, "one goal at a time, by what came of the last", demonstrations=(LISTS,)
    ),
    "progprompt": _programs(prog_prompt, Options, "one program with assertions", demonstrations=(ASSERTIONS,)),
    "zero-shot": _lists_goals(zero_shot, PursuitOptions, "one plan of goals, never mended", demonstrations=(LISTS,)),
    "zero-shot-replan": _lists_goals(
        zero_shot_replan, ReplanningOptions, "goals, replanned on the bare failure", demonstrations=(LISTS,)
    ),
}
