"""DEPS: describe, explain, plan and select; and its baselines, which run a list of goals or a program.

``replanning`` holds DEPS and its baselines. ``goals`` reads a plan, with ``text_matching`` for lines that are not
exact; ``selectors`` choose the next goal, by its predicted horizon if wanted. ``pursuit`` reaches goals, by one action
or by a controller.
"""

from collections.abc import Mapping

from pydantic import BaseModel

from planbook.envs import Environment
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
from planbook.planner.templates import PROMPTS


def _controlled(options: BaseModel, environment: Environment) -> bool:
    """Return whether the environment's goals need a controller."""
    return not environment.goals.direct


def _replanned(options: BaseModel, environment: Environment) -> bool:
    """Return whether a failure is explained."""
    return isinstance(options, ReplanningOptions) and options.replans > 0


_PURSUING = (PLANNER_ROLE, CONTROLLER)
_EXPLAINED = (PLANNER_ROLE, EXPLAINER, CONTROLLER)
_WHERE_CONTROLLED = {CONTROLLER: _controlled}
_WHERE_EXPLAINED = {CONTROLLER: _controlled, EXPLAINER: _replanned}

_TEMPLATES = PROMPTS.files("deps/*.j2")

METHODS: Mapping[str, Method] = {
    "chain-of-thought": Method(
        chain_of_thought,
        PursuitOptions,
        "one plan, thought through step by step",
        _PURSUING,
        (THOUGHTS,),
        _WHERE_CONTROLLED,
        spans=(GoalTried,),
        figures=(GoalFigures,),
        templates=_TEMPLATES,
    ),
    "code-as-policies": Method(
        code_as_policies,
        Options,
        "one program that decides by what it sees",
        (PLANNER_ROLE,),
        (POLICIES,),
        streams=True,
        templates=_TEMPLATES,
    ),
    "dep": Method(
        dep,
        ReplanningOptions,
        "DEPS without its selector",
        _EXPLAINED,
        (DEMONSTRATION, EXPLAINED),
        _WHERE_EXPLAINED,
        spans=(GoalTried,),
        figures=(GoalFigures,),
        templates=_TEMPLATES,
    ),
    "deps": Method(
        deps,
        DepsOptions,
        "goals from a plan, the nearest first; what fails is explained",
        _EXPLAINED,
        (DEMONSTRATION, EXPLAINED),
        _WHERE_EXPLAINED,
        spans=(GoalTried,),
        figures=(GoalFigures,),
        templates=_TEMPLATES,
    ),
    "inner-monologue": Method(
        inner_monologue,
        PursuitOptions,
        "one goal at a time, by what came of the last",
        _PURSUING,
        (LISTS,),
        _WHERE_CONTROLLED,
        spans=(GoalTried,),
        figures=(GoalFigures,),
        templates=_TEMPLATES,
    ),
    "progprompt": Method(
        prog_prompt,
        Options,
        "one program with assertions",
        (PLANNER_ROLE,),
        (ASSERTIONS,),
        streams=True,
        templates=_TEMPLATES,
    ),
    "zero-shot": Method(
        zero_shot,
        PursuitOptions,
        "one plan of goals, never mended",
        _PURSUING,
        (LISTS,),
        _WHERE_CONTROLLED,
        spans=(GoalTried,),
        figures=(GoalFigures,),
        templates=_TEMPLATES,
    ),
    "zero-shot-replan": Method(
        zero_shot_replan,
        ReplanningOptions,
        "goals, replanned on the bare failure",
        _PURSUING,
        (LISTS,),
        _WHERE_CONTROLLED,
        spans=(GoalTried,),
        figures=(GoalFigures,),
        templates=_TEMPLATES,
    ),
}
