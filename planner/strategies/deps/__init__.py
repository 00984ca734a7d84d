"""DEPS: describe, explain, plan and select; and its baselines, which run a list of goals or a program.

``replanning`` holds DEPS and its baselines. ``goals`` reads a plan, with ``text_matching`` for lines that are not
exact; ``selectors`` choose the next goal, by its predicted horizon if wanted. ``pursuit`` reaches goals, by one action
or by a controller.
"""

from collections.abc import Mapping
from functools import partial

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


def _needs_controller(options: Options, environment: Environment) -> bool:
    """Return True if the environment's goals need a controller."""
    return not environment.goals.direct


def _replans(options: ReplanningOptions, environment: Environment) -> bool:
    """Return True if the method replans, so that failures are explained."""
    return options.replans > 0


_TEMPLATES = PROMPTS.files("deps/*.j2")
_goal_method = partial(
    Method,
    roles=(PLANNER_ROLE, CONTROLLER),
    sometimes={CONTROLLER: _needs_controller},
    spans=(GoalTried,),
    figures=(GoalFigures,),
    templates=_TEMPLATES,
)
_explaining_method = partial(
    _goal_method,
    roles=(PLANNER_ROLE, EXPLAINER, CONTROLLER),
    sometimes={CONTROLLER: _needs_controller, EXPLAINER: _replans},
    demonstrations=(DEMONSTRATION, EXPLAINED),
)
_program_method = partial(Method, roles=(PLANNER_ROLE,), streams=True, templates=_TEMPLATES)

METHODS: Mapping[str, Method] = {
    "chain-of-thought": _goal_method(
        chain_of_thought, PursuitOptions, "one plan, thought through step by step", demonstrations=(THOUGHTS,)
    ),
    "code-as-policies": _program_method(
        code_as_policies, Options, "one program that decides by its observations", demonstrations=(POLICIES,)
    ),
    "dep": _explaining_method(dep, ReplanningOptions, "DEPS without its selector"),
    "deps": _explaining_method(deps, DepsOptions, "goals of a plan, the nearest first; failures are explained"),
    "inner-monologue": _goal_method(
        inner_monologue, PursuitOptions, "one goal at a time, chosen by the result of the last", demonstrations=(LISTS,)
    ),
    "progprompt": _program_method(prog_prompt, Options, "one program with assertions", demonstrations=(ASSERTIONS,)),
    "zero-shot": _goal_method(zero_shot, PursuitOptions, "one plan, never replanned", demonstrations=(LISTS,)),
    "zero-shot-replan": _goal_method(
        zero_shot_replan, ReplanningOptions, "goals, replanned on the bare failure", demonstrations=(LISTS,)
    ),
}
